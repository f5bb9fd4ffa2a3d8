"""ICU messages: of {count, plural, one {# file} other {# files}} the texts of the branches are translated.

A text is one if it has an argument with a type, {name, type ...}. Such an argument is a placeholder in the text around
it. The branches of plural, select and selectordinal are texts of their own, and may have such arguments again. Every
other argument stays as it is, and so does one that breaks ICU's rules; one that is never closed takes all that follows.
What is written has the arguments and branches of what was read, or it is what was read.

An apostrophe before a brace (or #) begins what is meant literally, '{like this}'; two apostrophes are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LEVELS = 8  # of branches in branches; what is deeper stays as it is
_BRANCHED = "plural|selectordinal|select"
_TYPED = re.compile(
    rf"\{{\s*+[\w.-]{{1,64}}+\s*+,\s*+(?:(?P<branched>{_BRANCHED})\s*+,"
    r"|(?:number|date|time|spellout|ordinal|duration|list|choice)\s*+[,}])"
)
_OFFSET = re.compile(r"\s*+offset\s*+:\s*+\d{1,9}+")
_SELECTOR = re.compile(r"\s*+(?:=-?\d{1,9}+|[^\s{}',#=]{1,64}+)\s*+\{")
_CLOSED = re.compile(r"\s*+\}")
_MARKS = re.compile(r"['{}]")
_QUOTED = re.compile(r"''|'(?=[{}#])[^']*+(?:''[^']*+)*+(?:'|$)")
_SPECIAL = re.compile(rf"{_QUOTED.pattern}|#")
_PLACEHOLDER = re.compile(r"\{'(\d+)\}")  # how the texts have what they do not show; no argument has such a name
_ANY = re.compile("'")
_TO_DOUBLE = re.compile(r"'(?=[{}#']|\Z)")


def arguments(text: str) -> Iterator[tuple[int, int]]:
    """Where the arguments with a type start and stop, in order; one that is never closed takes all that follows."""
    at = 0
    while match := _TYPED.search(text, at):
        at = _end(text, match.start())
        yield match.start(), at


def _end(text: str, start: int) -> int:
    """Where the brace closes that opens here."""
    depth, at = 0, start
    while match := _MARKS.search(text, at):
        at = match.end()
        if match[0] == "'":
            quoted = _QUOTED.match(text, match.start())
            at = quoted.end() if quoted else at
        else:
            depth += 1 if match[0] == "{" else -1
            if not depth:
                return at
    return len(text)


@dataclass(frozen=True)
class Message:
    """A text with arguments, each of them and everything that is quoted a placeholder.

    plain    what is translated
    kept     what its placeholders stand for
    doubled  whether it writes every apostrophe twice
    """

    plain: str
    kept: tuple[str | Argument, ...]
    doubled: bool = False

    @classmethod
    def read(cls, text: str, level: int = 0) -> Message:
        plain, kept = list[str](), list[str | Argument]()

        def keep(part: str | Argument) -> str:
            kept.append(part)
            return f"{{'{len(kept) - 1}}}"

        def hide(special: re.Match[str]) -> str:
            if special[0] == "''":
                return "'"
            return keep(special[0]) if level or special[0] != "#" else "#"

        at = 0
        for start, stop in [*arguments(text), (len(text), len(text))]:
            plain.append(_SPECIAL.sub(hide, text[at:start]))
            if start < stop:
                plain.append(keep(_argument(text[start:stop], level) or text[start:stop]))
            at = stop
        return cls("".join(plain), tuple(kept), "''" in text)

    def messages(self) -> Iterator[Message]:
        """The message itself, and those of all branches, in the order in which `write` takes their translations."""
        yield self
        for part in self.kept:
            if isinstance(part, Argument):
                for branch in part.branches:
                    yield from branch.messages()

    def write(self, translations: Iterator[str]) -> str:
        text = next(translations)
        kept = [part if isinstance(part, str) else part.write(translations) for part in self.kept]
        parts = _PLACEHOLDER.split(text)  # every other one is the number of a placeholder
        apostrophes = _ANY if self.doubled else _TO_DOUBLE
        parts[::2] = [apostrophes.sub("''", part) for part in parts[::2]]
        parts[1::2] = [kept[int(number)] if int(number) < len(kept) else "" for number in parts[1::2]]
        return "".join(parts)

    def shape(self) -> list[tuple[str, ...]]:
        """What a translation has in common with its source."""
        kept = [part for message in self.messages() for part in message.kept]
        whole = sorted(part for part in kept if isinstance(part, str))
        return [*(part.between for part in kept if isinstance(part, Argument)), tuple(whole)]


@dataclass(frozen=True)
class Argument:
    """One with branches: between[i] stands before branches[i], and the last one behind them all."""

    between: tuple[str, ...]
    branches: tuple[Message, ...]

    def write(self, translations: Iterator[str]) -> str:
        written = [branch.write(translations) for branch in self.branches]
        return "".join(part for pair in zip(self.between, [*written, ""], strict=True) for part in pair)


def _argument(text: str, level: int) -> Argument | None:
    """An argument with its branches; None for any other, and for one that is not well-formed."""
    begun = _TYPED.match(text)
    if not begun or not begun["branched"] or level == LEVELS:
        return None
    offset = _OFFSET.match(text, begun.end()) if begun["branched"] != "select" else None
    at = offset.end() if offset else begun.end()
    between, branches, start = list[str](), list[Message](), 0
    while selector := _SELECTOR.match(text, at):
        at = _end(text, selector.end() - 1)
        content = text[selector.end() : at - 1]
        inner = content.strip()
        before = len(content) - len(content.lstrip())
        between.append(text[start : selector.end() + before])
        start = selector.end() + before + len(inner)
        branches.append(Message.read(inner, level + 1))
    if not branches or not _CLOSED.fullmatch(text, at):
        return None
    return Argument((*between, text[start:]), tuple(branches))


def message_of(text: str) -> Message | None:
    """The text as a message, if it has an argument with a type."""
    return Message.read(text) if _TYPED.search(text) else None


def written(message: Message, text: str, translations: Sequence[str]) -> str:
    """The message with its translations; the text that it was read from if something is not as it was."""
    found = message.write(iter(translations))
    return found if Message.read(found).shape() == message.shape() else text
