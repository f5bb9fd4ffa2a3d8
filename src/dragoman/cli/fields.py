"""Print a name and its value on one line, or on several in a narrow terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_field(name: str, text: str, width: int, screen: Console, style: str = "") -> None:
    """Print the text from column `width` + 2 on, wrapped in a terminal; a pipe gets one line, however long."""
    if not screen.is_terminal:
        screen.print(f"  {name:<{width}}{text}", style=style, highlight=False, markup=False)
        return
    grid = Table.grid()
    grid.add_column(width=width + 2, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"  {name}", style), Text(text, style))
    screen.print(grid)
