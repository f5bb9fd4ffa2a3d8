"""The engine of a command: chosen once, when the command starts."""

from __future__ import annotations

import os
import warnings

from dragoman.cli.options import console
from dragoman.errors import DragomanWarning


def choose_engine(one_text: bool = False) -> None:
    """Choose the fastest engine, or NumPy where compiled kernels would take longer to get ready than the work itself.

    one_text  the command handles one text; loading kernels takes most of a second

    Kernels that cannot be cached would be compiled by every command. $DRAGOMAN_ENGINE overrides both.
    """
    from dragoman.engines import KEEP, READ_ONLY, VARIABLE, kernels_kept, use_fastest
    from dragoman.graph import use_engine

    if VARIABLE not in os.environ:
        if one_text:
            return use_engine("numpy")
        if not kernels_kept():
            warnings.warn(f"{READ_ONLY}, so the slower NumPy engine runs; {KEEP}", DragomanWarning, stacklevel=2)
            return use_engine("numpy")
    use_fastest(tell=lambda text: console(stderr=True).print(text, style="dim", highlight=False))
    return None
