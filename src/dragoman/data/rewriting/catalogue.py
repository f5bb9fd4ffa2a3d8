"""Rewrite gettext PO catalogues: msgstr is mended, or emptied if the pair is dropped; nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

from dragoman.data.readers.layout import Layout
from dragoman.data.readers.po import po_units
from dragoman.data.records import ReadErrors
from dragoman.data.rewriting.edits import Edits
from dragoman.data.source import Source


def rewrite_po(sources: Sequence[Source], layout: Layout, edits: Edits, out: BinaryIO) -> None:
    (source,) = sources
    texts = []
    for unit, records in po_units(source, layout, ReadErrors("skip")):
        forms = [str(text) for text in getattr(unit.target, "strings", [unit.target or ""])]
        if not edits.keep(len(records)):
            _write(unit, [""] * len(forms))
        elif records:
            mended = [edits.mend(form) for form in forms]
            if edits.done():
                _write(unit, mended)
        texts.append(str(unit))
    out.write("\n".join(texts).encode())


def _write(unit: Any, forms: list[str]) -> None:
    unit.target = forms if unit.hasplural() else forms[0]
