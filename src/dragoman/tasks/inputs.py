"""What the methods of models take: one text (or image, or pair) or any iterable of them, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from dragoman.data.images.picture import Picture
from dragoman.errors import DataError

P = ParamSpec("P")
Item = TypeVar("Item", contravariant=True)
Result = TypeVar("Result")
Given = TypeVar("Given")
Found = TypeVar("Found")

EXCERPT = 60
_SURROGATE = re.compile("[\ud800-\udfff]")


class OneOrSeveral(Protocol[Item, P, Result]):
    """A method that gives one result for one item, and a list for several."""

    @overload
    def __call__(self, items: Item, *options: P.args, **more: P.kwargs) -> Result: ...
    @overload
    def __call__(self, items: Iterable[Item], *options: P.args, **more: P.kwargs) -> list[Result]: ...
    def __get__(self, instance: object, owner: Any = None) -> OneOrSeveral[Item, P, Result]: ...


Method = Callable[Concatenate[Any, Sequence[Given], P], list[Found]]


def takes_texts(method: Method[str, P, Found]) -> OneOrSeveral[str, P, Found]:
    """Let a method that takes a list of texts take one text, too, or any iterable; refuse everything else."""
    return cast(OneOrSeveral[str, P, Found], _taking(method, _is_text, check_text))


def takes_sentences(method: Method[str | Sequence[str], P, Found]) -> OneOrSeveral[str | Sequence[str], P, Found]:
    """The same for texts that may be lists of words."""
    return cast(OneOrSeveral[str | Sequence[str], P, Found], _taking(method, _is_text, _check_sentence))


def takes_pairs(method: Method[tuple[str, str], P, Found]) -> OneOrSeveral[tuple[str, str], P, Found]:
    """The same for pairs of texts."""
    return cast(OneOrSeveral[tuple[str, str], P, Found], _taking(method, _is_pair, check_pair))


def takes_images(method: Method[Any, P, Found]) -> Callable[..., Any]:
    """The same for images: paths, arrays, or pictures."""
    return _taking(method, _is_image, _check_image)


def _taking(
    method: Callable[..., Any], is_one: Callable[[object], bool], check: Callable[[Any, str], None]
) -> Callable[..., Any]:
    name = list(signature(method).parameters)[1]

    @wraps(method)
    def take(self: Any, *given: Any, **options: Any) -> Any:
        items, more = (options.pop(name), ()) if name in options else (given[0], given[1:])
        if is_one(items):
            check(items, "")
            return method(self, [items], *more, **options)[0]
        return method(self, listed(items, check), *more, **options)

    return take


def listed(items: Iterable[Given], check: Callable[[Any, str], None]) -> list[Given]:
    """The items of any iterable, each checked."""
    try:
        found = list(items)
    except TypeError:
        raise DataError(f"got {_shown(items)}, expected one item or a list of them") from None
    for number, item in enumerate(found):
        check(item, f"item {number}")
    return found


def check_text(text: object, place: str = "") -> None:
    """Refuse what is no text, and half a surrogate pair."""
    if not isinstance(text, str):
        raise DataError(f"{place or 'it'} is {_shown(text)}, expected a text")
    if _SURROGATE.search(text):
        shown = repr(text[:EXCERPT])
        raise DataError(f"{place or 'the text'} has half a surrogate pair, from a wrong decoding: {shown}")


def _check_sentence(text: object, place: str) -> None:
    if isinstance(text, list | tuple):
        for number, word in enumerate(text):
            check_text(word, f"word {number} of {place}")
    else:
        check_text(text, place)


def check_pair(pair: object, place: str) -> None:
    """Refuse what is not a source and its translation."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise DataError(f"{place} is {_shown(pair)}, expected a pair of texts")
    for side, text in zip(("source", "target"), pair, strict=True):
        check_text(text, f"the {side} of {place or 'the pair'}")


def _check_image(image: object, place: str) -> None:
    arrays = hasattr(image, "__array__") or hasattr(image, "__array_interface__") or isinstance(image, list)
    if not arrays and not isinstance(image, str | Path | Picture):
        raise DataError(f"{place} is {_shown(image)}, expected an image: a path, an array [H, W, C], or a Picture")


def _is_text(items: object) -> bool:
    return isinstance(items, str)


def _is_pair(items: object) -> bool:
    return isinstance(items, tuple) and len(items) == 2 and all(isinstance(side, str) for side in items)


def _is_image(items: object) -> bool:
    """An array is one image if it has rows and columns, and colours at most; otherwise it holds several."""
    if isinstance(items, np.ndarray):
        return items.ndim == 2 or (items.ndim == 3 and items.shape[2] in (1, 3, 4))
    return isinstance(items, str | Path | Picture)


def _shown(value: object) -> str:
    text = repr(value)
    text = text if len(text) <= EXCERPT else text[:EXCERPT] + "..."
    return text if value is None else f"{text} ({type(value).__name__})"
