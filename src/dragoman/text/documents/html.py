"""HTML as a document: the text is translated, the markup is kept as it is.

Inline tags (<b>, <a href="x">) are part of their sentence, and the translator places them; all other tags, and <br>,
end it. Not translated: scripts, styles, <pre>, <textarea>, <template>, comments, attributes, and whatever has
translate="no" or the class "notranslate". <code>, <kbd>, formulas and pictures are kept whole inside their sentence.

The text of a translation never becomes markup. The markup of the document itself is not cleaned: who gets HTML from
strangers cleans it afterwards, as without translation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dragoman.text.documents import tokens
from dragoman.text.documents.document import Document, Part, Split, document_of
from dragoman.text.documents.inline import parts_of_line
from dragoman.text.documents.items import STANDIN, Item, Kind, atoms
from dragoman.text.documents.tokens import Token, attributes, names
from dragoman.text.sentences import split_sentences

_INLINE = names(
    "a abbr acronym b bdi bdo big cite del dfn em font i ins label mark nobr q ruby rb s small span strike strong sub "
    "sup time u wbr"
)
_WORDS = names("code kbd samp tt var math rt rp")  # kept whole, inside a sentence
_PICTURES = names("svg picture img input embed")
_IN_LINE = _INLINE | _WORDS | _PICTURES
_KEPT = frozenset((*_WORDS, *_PICTURES, "pre", "template"))
_VOID = names("area base br col embed hr img input link meta param source track wbr")
# Elements that a tag ends which stand before it without a closing tag; a paragraph ends before any block.
_ENDS = {
    "li": names("li"),
    "dt": names("dt dd"),
    "dd": names("dt dd"),
    "td": names("td th"),
    "th": names("td th"),
    "tr": names("td th tr"),
    "thead": names("td th tr thead tbody tfoot"),
    "tbody": names("td th tr thead tbody tfoot"),
    "tfoot": names("td th tr thead tbody tfoot"),
    "option": names("option"),
    "optgroup": names("option optgroup"),
}
_PARAGRAPH = names("p")


def split_html(html: str, split: Split = split_sentences) -> Document:
    """Cut an HTML document, or a part of one, into sentences."""
    reader = _Reader(split)
    for token in tokens.tokens(html):
        reader.take(token)
    reader.end_line()
    return document_of(reader.parts)


class _Reader:
    """Collects the items of a line, and knows which elements are open and whether their text is translated."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.parts: list[Part] = []
        self.opened: list[tuple[str, bool]] = []
        self.names: Counter[str] = Counter()
        self.line: list[Item] = []
        self.kept: list[str] = []  # the beginning of what is kept whole
        self.kept_kind: Kind | None = None  # None: it ends the line
        self.keeps = False

    def take(self, token: Token) -> None:
        keeps = self._enter(token) if token.kind is tokens.Kind.OPEN else self.keeps
        ends_line = token.kind is tokens.Kind.RAW or (token.name != "" and token.name not in _IN_LINE)
        if keeps:
            self._keep(token, ends_line)
        elif ends_line:
            self.end_line()
            self.parts.append(token.raw)
        else:
            self._end_kept()
            self.line += _items(token)
        if token.kind is tokens.Kind.CLOSE:
            self._leave(token.name)

    def end_line(self) -> None:
        self._end_kept()
        if self.line:
            self.parts += parts_of_line(self.line, self.split)
            self.line = []

    def _enter(self, token: Token) -> bool:
        """Open an element; return whether it is kept as it is."""
        ended = _ENDS.get(token.name) or (frozenset() if token.name in _IN_LINE else _PARAGRAPH)
        while self.opened and self.opened[-1][0] in ended:
            self._leave(self.opened[-1][0])
        keeps = _is_kept(token, self.keeps)
        if token.name not in _VOID:
            self.opened.append((token.name, keeps))
            self.names[token.name] += 1
            self.keeps = keeps
        return keeps

    def _leave(self, name: str) -> None:
        """Close an element and all that was opened in it; a closing tag of none is ignored."""
        if self.names[name]:
            last = ""
            while last != name:
                last = self.opened.pop()[0]
                self.names[last] -= 1
            self.keeps = bool(self.opened) and self.opened[-1][1]

    def _keep(self, token: Token, ends_line: bool) -> None:
        if not self.kept:
            self.kept_kind = Kind.PICTURE if token.name in _PICTURES else Kind.WORD
        self.kept_kind = None if ends_line else self.kept_kind
        self.kept.append(token.raw)

    def _end_kept(self) -> None:
        if not self.kept:
            return
        raw, self.kept = "".join(self.kept), []
        if self.kept_kind is None:
            self.end_line()
            self.parts.append(raw)
        else:
            self.line.append(Item(self.kept_kind, raw, STANDIN))


def _is_kept(token: Token, outside: bool) -> bool:
    """Whether an element is kept as it is, by its name, its attributes, or as the element around it."""
    if "translate" in token.raw.lower():
        found = attributes(token.raw)
        if "notranslate" in found.get("class", "").lower().split() or found.get("translate", "").lower() == "no":
            return True
        if found.get("translate", "no").lower() in ("", "yes"):
            return False
    return outside or token.name in _KEPT


def _items(token: Token) -> Iterable[Item]:
    if token.kind is tokens.Kind.TEXT:
        return atoms(token.raw)
    if token.kind is tokens.Kind.OTHER or token.name == "wbr":
        return (Item(Kind.HIDDEN, token.raw),)
    return (Item(Kind.OPEN if token.kind is tokens.Kind.OPEN else Kind.CLOSE, token.raw, name=token.name),)
