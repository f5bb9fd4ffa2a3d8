"""How a gradient is cut into the slices that several ranks sum one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.graph.theta import Theta

LARGE = 1 << 16  # numbers; smaller parameters are summed together
SLICE = 1 << 20  # numbers that are sent at a time


@dataclass(frozen=True)
class Slices:
    """How a gradient is cut.

    large  (id of a parameter, its slices), in the order in which they are summed
    small  the segments of all other parameters
    """

    large: list[tuple[int, list[slice]]]
    small: list[slice]

    @property
    def count(self) -> int:
        """Sums that a gradient takes; the small parameters are one."""
        return sum(len(parts) for _, parts in self.large) + bool(self.small)


def slices_of(theta: Theta) -> Slices:
    large, small = [], []
    for parameter in reversed(theta.parameters):
        slot = parameter.slot
        if slot is None or slot.start == slot.stop or parameter.frozen:
            continue
        if slot.stop - slot.start < LARGE:
            small.append(slot)
            continue
        starts = range(slot.start, slot.stop, SLICE)
        large.append((id(parameter), [slice(start, min(start + SLICE, slot.stop)) for start in starts]))
    return Slices(large, small)
