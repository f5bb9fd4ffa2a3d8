"""What translators of so many pairs deserve: read off measured curves (docs/measurements.md, Sizes)."""

from __future__ import annotations

import math


def preset_for(pairs: int, architecture: str = "transformer") -> str:
    """The size that translates best after so many training pairs (docs/measurements.md, Sizes).

    Transformers were measured; recurrent networks train more slowly and stay small for longer.
    """
    if architecture != "transformer" and pairs < 30_000:
        return "small"
    return "medium" if pairs < 300_000 else "large"


def dropout_for(pairs: int, preset: str) -> float | None:
    """The dropout that was best for a Transformer and so many training pairs; None: that of the recipe."""
    if preset == "small":
        return 0.2 if pairs < 10_000 else None
    return 0.3 if pairs < 10_000 else 0.2 if pairs < 80_000 else None


def epochs_for(pairs: int) -> int:
    """About 20 for 70,000 pairs; few pairs need more passes, many pairs fewer."""
    return max(3, min(100, round(20 * math.sqrt(71_378 / pairs))))


def enough_epochs(pairs: int) -> float:
    """With fewer epochs than these, a smaller network comes further in the same time."""
    return epochs_for(pairs) * (0.5 if pairs < 10_000 else 0.25)
