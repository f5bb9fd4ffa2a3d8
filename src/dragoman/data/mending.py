"""Mend the text of sentence pairs, each kind of damage by itself."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Collection

# UTF-8 that was read as Windows-1252: what becomes of its bytes 80 to 9F there, as the characters of Latin-1.
_FROM_1252 = {ord(bytes([byte]).decode("cp1252", "ignore") or chr(byte)): byte for byte in range(0x80, 0xA0)}
_LATER = "".join(map(chr, [*range(0x80, 0xC0), *_FROM_1252]))  # what the second byte of a letter looks like
_MAYBE = re.compile(f"[\xc2-\xf4][{re.escape(_LATER)}]")
_SURELY = re.compile(
    rf"Ã[{re.escape(_LATER)}]|(?<![A-Z])Â[\xa0-\xbf]|â€[{re.escape(_LATER)}]|ðŸ[{re.escape(_LATER)}]{{2}}"
)
_TIMES = 3  # that text may have been decoded wrongly

_SEPARATORS = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x9f]")
_SPACES = re.compile("[ \t]{2,}|\t")
_LINES = re.compile("[\u2028\u2029]")
# The joiners U+200C and U+200D belong to spelling and stay.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\ufeff]")
_NO_BREAK = re.compile("[\u00a0\u202f]")
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,6}|#x[0-9a-f]{1,6});", re.IGNORECASE)
_QUOTES = str.maketrans({**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛‹›", "'")})
_DASHES = str.maketrans({**dict.fromkeys("‐‑‒−", "-"), **dict.fromkeys("–―", "—")})


def mend_mojibake(text: str) -> str:
    """Undo a wrong decoding: niÃ±o becomes niño.

    A text whose every letter beyond ASCII fits is decoded again as a whole, so that «Ñ» stays; otherwise only what is
    nothing else (Ã©, â€œ) is.
    """
    for _ in range(_TIMES):
        if text.isascii() or not _MAYBE.search(text):
            return text
        whole = _decoded(text)
        if whole is not None and (len(text) - len(whole) > 1 or _SURELY.search(text)):
            text = whole
        else:
            mended = _SURELY.sub(lambda found: _decoded(found.group()) or found.group(), text)
            if mended == text:
                return text
            text = mended
    return text


def _decoded(text: str) -> str | None:
    try:
        return text.translate(_FROM_1252).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None


# What each repair does and how; those of DEFAULT undo damage, the others are a matter of taste or of the language.
REPAIRS: dict[str, tuple[str, Callable[[str], str]]] = {
    "mojibake": ("letters of a wrong decoding mended: niÃ±o to niño", mend_mojibake),
    "control": ("control characters removed", lambda text: _CONTROL.sub("", _SEPARATORS.sub(" ", text))),
    "spaces": ("doubled spaces and tabs made one space", lambda text: _SPACES.sub(" ", text)),
    "invisible": ("invisible characters removed", lambda text: _INVISIBLE.sub("", _LINES.sub(" ", text))),
    "nbsp": ("no-break spaces made plain", lambda text: _NO_BREAK.sub(" ", text)),
    "html": (
        "HTML entities made characters",
        lambda text: _ENTITY.sub(lambda found: html.unescape(found.group()), text),
    ),
    "quotes": ("quotation marks made straight", lambda text: text.translate(_QUOTES)),
    "dashes": ("one kind of hyphen and one kind of dash", lambda text: text.translate(_DASHES)),
}
DEFAULT = ("mojibake", "control", "spaces")


def repair_text(text: str, repairs: Collection[str]) -> tuple[str, list[str]]:
    """Repair a text; also return the names of the repairs that changed it."""
    changed = []
    for name, (_, repair) in REPAIRS.items():
        if name in repairs:
            after = repair(text)
            if after != text:
                changed.append(name)
            text = after
    return text, changed
