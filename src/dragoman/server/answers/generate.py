"""A language model writes on from a text, part by part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.server.answers.values import Payload, checked, number_of, text_of, whole_of
from dragoman.server.bounds import PROMPT, STOP_CHARACTERS, STOPS
from dragoman.server.errors import BadRequest, TooLarge
from dragoman.tasks.language_model.generator import GenerationOptions

MOST_TOKENS = 100_000  # the server's own limit is lower


def generate(model: Any, payload: Payload) -> Iterator[dict[str, Any]]:
    """{"text": ...} for every piece of text as it is written, and last {"done": true, "tokens": ..., "reason": ...}.

    Mistakes in the payload are raised here, not when the first part is asked for.
    """
    if model.task != "language-model":
        raise BadRequest(f"a model for {model.task} does not write on from a text")
    prompt = text_of(payload, "prompt", "")
    if len(prompt) > PROMPT:
        raise TooLarge(f"'prompt' has {len(prompt):,} characters, more than {PROMPT:,}; send its end only")
    (written,) = model.samples(prompt, 1, _options(payload))
    return _parts(written)


def _parts(written: Any) -> Iterator[dict[str, Any]]:
    try:
        while True:
            try:
                yield {"text": next(written)}
            except StopIteration as end:
                yield {"done": True, "tokens": end.value.tokens, "reason": end.value.reason}
                return
    finally:
        written.close()


def _options(payload: Payload) -> GenerationOptions:
    temperature = number_of(payload, "temperature", 1.0)
    assert temperature is not None
    return GenerationOptions(
        tokens=whole_of(payload, "tokens", 200, 1, MOST_TOKENS),
        temperature=temperature,
        top_k=None if payload.get("top_k") is None else whole_of(payload, "top_k", 1, 1, 10_000_000),
        top_p=number_of(payload, "top_p", None),
        seed=whole_of(payload, "seed", 0, 0, 2**63 - 1),
        stop=_stops(payload.get("stop") or []),
    )


def _stops(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list | tuple) or len(given) > STOPS:
        raise BadRequest(f"'stop' must be a list of at most {STOPS} texts")
    if not all(isinstance(text, str) and 0 < len(text) <= STOP_CHARACTERS for text in given):
        raise BadRequest(f"every text of 'stop' must have 1 to {STOP_CHARACTERS} characters")
    return tuple(checked(text, "stop") for text in given)
