"""Names and texts in a narrow terminal and in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from dragoman.cli.fields import print_field

TEXT = "nrefs:1|bs:1000|seed:0|case:mixed|eff:no|tok:13a|smooth:exp [bold]¿sí?[/]"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_long_text_stays_in_its_column_or_on_its_line(terminal: bool) -> None:
    out = io.StringIO()
    screen = Console(file=out, width=40, force_terminal=terminal, no_color=True, soft_wrap=not terminal)
    print_field("BLEU", TEXT, 10, screen)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    if not terminal:
        assert lines == [f"  BLEU      {TEXT}"]
        return
    assert lines[0].startswith("  BLEU      nrefs")
    assert all(line.startswith(" " * 12) and len(line) <= 40 for line in lines[1:])
    assert "".join(line[12:] for line in lines).replace(" ", "") == TEXT.replace(" ", "")
