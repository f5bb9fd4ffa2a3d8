"""Numbers in messages."""

from __future__ import annotations


def counted(count: float, what: str) -> str:
    """'1 step', '1,102 steps', '0.5 epochs'."""
    shown = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{shown} {what}" if count == 1 else f"{shown} {what}s"
