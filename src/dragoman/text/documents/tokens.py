"""HTML as tags, text and the rest, cut where browsers cut it (WHATWG, 13.2.5 "Tokenization").

Joined, the tokens are the document. Nothing is an error: a tag or a comment that never ends takes all that follows, as
in browsers. The time is linear: every repetition is possessive, and nothing is searched for twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple


def names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


SPACE = r"\t\n\f\r "
_ATTRIBUTE = (
    rf"(?P<name>[^{SPACE}/>][^{SPACE}/>=]*+)"
    rf"(?:[{SPACE}]*+=[{SPACE}]*+(?P<value>\"[^\"]*+\"|'[^']*+'|[^{SPACE}>\"'][^{SPACE}>]*+|(?=>))|(?![{SPACE}]*+=))"
)
_UNNAMED = re.sub(r"\?P<\w+>", "?:", _ATTRIBUTE)
_TAG = re.compile(rf"<(/?+)([A-Za-z][^{SPACE}/>]*+)(?>(?:[{SPACE}/]*+{_UNNAMED})*)[{SPACE}/]*+>")
_ATTRIBUTES = re.compile(rf"[{SPACE}/]*+{_ATTRIBUTE}")
_MARKUP = re.compile(r"<(?:[A-Za-z!?]|/(?=.))", re.DOTALL)  # any other < is text: 3 < 4, <3
_COMMENT = re.compile(r"<!--(?:-?+>|.*?--!?+>)", re.DOTALL)
_OTHER = re.compile(r"<[^>]*+>")
# What stands in these elements is no markup, up to their own closing tag.
_RAW = names("script style textarea xmp iframe noembed noframes noscript title")
_SCRIPT = re.compile(rf"<!--|-->|<(/?+)script(?=[{SPACE}/>])", re.IGNORECASE)


class Kind(Enum):
    TEXT = auto()
    OPEN = auto()
    CLOSE = auto()
    RAW = auto()  # scripts and the like; tags that never end
    OTHER = auto()  # comments, doctypes, instructions


class Token(NamedTuple):
    """A part of the document, and of a tag its name in small letters."""

    kind: Kind
    raw: str
    name: str = ""


def tokens(html: str) -> Iterator[Token]:
    at = 0
    while at < len(html):
        found = _MARKUP.search(html, at)
        start = found.start() if found else len(html)
        if start > at:
            yield Token(Kind.TEXT, html[at:start])
        if not found:
            return
        token = _markup(html, start)
        yield token
        at = start + len(token.raw)
        if token.kind is Kind.OPEN and token.name in _RAW:
            stop = _raw_end(html, at, token.name)
            if stop > at:
                yield Token(Kind.TEXT if token.name == "title" else Kind.RAW, html[at:stop])
            at = stop
        elif token.name == "plaintext" and token.kind is Kind.OPEN:
            yield Token(Kind.RAW, html[at:])
            return


def attributes(tag: str) -> dict[str, str]:
    """The attributes of a tag, names in small letters; of several with one name the first counts."""
    found: dict[str, str] = {}
    start = re.match(rf"<[^{SPACE}/>]*+", tag)
    for match in _ATTRIBUTES.finditer(tag, start.end() if start else 0):
        value = match["value"] or ""
        found.setdefault(match["name"].lower(), value[1:-1] if value[:1] in ('"', "'") else value)
    return found


def _markup(html: str, at: int) -> Token:
    """The tag, comment or the like that begins here."""
    after = html[at + 1 : at + 3].lstrip("/")[:1]
    if after.isascii() and after.isalpha():
        if tag := _TAG.match(html, at):
            return Token(Kind.CLOSE if tag[1] else Kind.OPEN, tag[0], tag[2].lower())
        return Token(Kind.RAW, html[at:])
    found = (_COMMENT if html.startswith("<!--", at) else _OTHER).match(html, at)
    return Token(Kind.OTHER, found[0]) if found else Token(Kind.RAW, html[at:])


def _raw_end(html: str, at: int, name: str) -> int:
    """Where the closing tag begins that ends an element without markup."""
    if name == "script":
        return _script_end(html, at)
    found = re.compile(rf"</{name}(?=[{SPACE}/>])", re.IGNORECASE).search(html, at)
    return found.start() if found else len(html)


def _script_end(html: str, at: int) -> int:
    """The same of a script: one that it writes inside a comment, <!-- <script></script> -->, does not end it."""
    in_comment = in_script = False
    while found := _SCRIPT.search(html, at):
        at = found.end()
        if found[0] == "<!--":
            in_comment, at = True, at - 2  # <!--> ends itself
        elif found[0] == "-->":
            in_comment = in_script = False
        elif not found[1]:
            in_script = in_comment
        elif in_script:
            in_script = False
        else:
            return found.start()
    return len(html)
