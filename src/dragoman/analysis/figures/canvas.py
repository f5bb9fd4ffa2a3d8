"""Create figures and save them reproducibly."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dragoman.data.output import write_atomically
from dragoman.errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 120
METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # None: leave it out of the file


def require_matplotlib() -> None:
    """Raise an error that says how to install it, if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConfigurationError("figures need matplotlib; install it with: pip install 'dragoman[plot]'") from None


def new_figure(
    width: float, height: float, layout: Literal["constrained", "compressed"] | None = "constrained"
) -> Figure:
    """Create a figure, sized in inches, without a window or global state."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout, dpi=DPI)
    FigureCanvasAgg(figure)  # keeps one renderer: without it every text is measured with a new one
    return figure


def text_width(words: Iterable[str], size: float) -> float:
    """Return the width of the widest of these words in inches."""
    require_matplotlib()
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size)
    widths = [text_to_path.get_text_width_height_descent(word, font, ismath=False)[0] for word in words]
    return float(max(widths)) / 72


def in_lines(title: str, width: float) -> str:
    """Break a title into lines of about `width` inches."""
    wide = text_width([title], 12)
    if wide <= width:
        return title
    return "\n".join(textwrap.wrap(title, max(8, int(len(title) * width / wide))))


def save_figure(figure: Figure, path: Path | str, make: bool = False) -> None:
    """Write a figure as PNG or SVG, as the file's name says; make its directory on request.

    A figure that cannot be drawn, or not be written whole, leaves no file and no directory.
    """
    path = Path(path)
    ending = check_ending(path)
    data = _svg(figure).encode() if ending == ".svg" else _png(figure)
    if make:
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise DataError(f"{path.parent} cannot be created: {error}") from None
    with write_atomically(path) as file:
        file.write(data)


def check_ending(path: Path) -> str:
    """Return the kind of file its name asks for: .png or .svg."""
    ending = path.suffix.lower()
    if ending not in (".png", ".svg"):
        raise ConfigurationError(f"{path}: figures are written as .png or .svg, not as '{ending or path.name}'")
    return ending


def as_svg(figure: Figure) -> str:
    """Return the figure as an <svg> element for an HTML page."""
    svg = _svg(figure)
    return svg[svg.index("<svg") :]


def _png(figure: Figure) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format="png")
    return data.getvalue()


def _svg(figure: Figure) -> str:
    """Letters are drawn as outlines, so that the figure looks the same without its font."""
    from matplotlib import rc_context

    text = io.StringIO()
    with rc_context({"svg.hashsalt": "dragoman", "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata=METADATA)
    return text.getvalue()
