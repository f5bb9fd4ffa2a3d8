"""Draw the figures of docs/figures.md again: python tools/gallery.py

Small palettes and at most 1000 pixels of width, so that the pictures weigh little in the repository.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from dragoman.analysis.figures.documents import FIGURES
from dragoman.graph import use_engine

PLACE = Path(__file__).parent.parent / "docs" / "figures" / "documents"
WIDEST, DPI, COLOURS = 1000, 96, 48


def main() -> None:
    use_engine("numpy")
    PLACE.mkdir(parents=True, exist_ok=True)
    for figure in FIGURES:
        if figure.draw is None:
            continue
        data = io.BytesIO()
        figure.draw().savefig(data, format="png", dpi=DPI)
        image = Image.open(data).convert("RGB")
        if image.width > WIDEST:
            image = image.resize((WIDEST, round(image.height * WIDEST / image.width)), Image.Resampling.LANCZOS)
        image.quantize(COLOURS, dither=Image.Dither.NONE).save(PLACE / f"{figure.number}.png", optimize=True)


if __name__ == "__main__":
    main()
