"""Draw scenes at random, all of them different."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dragoman.data.scenes.drawing import SIZE, STEP, positions
from dragoman.data.scenes.scene import RELATIONS, THINGS, Group, Place, Scene, Thing, apart, covers, sides
from dragoman.graph import Array

CANDIDATES = 64  # placements that are tried at a time
TRIES = 4  # times, before another scene is drawn
OFTEN = (0.1, 0.3, 0.3, 0.3)  # how often a scene has one to four things
TOGETHER = 0.25  # share of the scenes of several things that have one group
TRAINING, HELD = 0, 1  # streams of random numbers


def training_scenes(count: int, seed: int = 0) -> list[Scene]:
    """Different scenes without the pairs of colour and shape that are held out."""
    return _different(count, np.random.default_rng([seed, TRAINING]), lambda scene: not scene.is_held_out)


def held_out_scenes(count: int, seed: int = 0) -> list[Scene]:
    """Different scenes, each with a pair of colour and shape that is held out."""
    return _different(count, np.random.default_rng([seed, HELD]), lambda scene: scene.is_held_out)


def _different(count: int, rng: np.random.Generator, wanted: Callable[[Scene], bool]) -> list[Scene]:
    found: dict[Scene, None] = {}
    while len(found) < count:
        scene = _random_scene(rng)
        if scene is not None and wanted(scene):
            found[scene] = None
    return list(found)


def _random_scene(rng: np.random.Generator) -> Scene | None:
    """A scene; None if no place was found for its things."""
    count = int(rng.choice(len(OFTEN), p=OFTEN)) + 1
    if count == 1 or rng.random() < TOGETHER:
        thing = THINGS[rng.integers(len(THINGS))]
        places = _first(rng, (thing.width,), (count,), lambda places: apart(thing.width, places[0]))
        return None if places is None else Scene((Group(thing, places[0]),))
    first, second = sorted(THINGS[i] for i in rng.choice(len(THINGS), 2, replace=False))
    relation = RELATIONS[rng.integers(len(RELATIONS))]
    if relation in ("in front of", "behind"):
        return _overlapping(rng, first, second, relation, count - 1)
    share = int(rng.integers(1, count))
    widths = first.width, second.width

    def fitting(places: list[Array]) -> Array:
        return sides(widths, *places)[relation] & apart(widths[0], places[0]) & apart(widths[1], places[1])

    places = _first(rng, widths, (share, count - share), fitting)
    return None if places is None else Scene((Group(first, places[0]), Group(second, places[1])), relation)


def _overlapping(rng: np.random.Generator, first: Thing, second: Thing, relation: str, count: int) -> Scene | None:
    """So many equal things in front of another one."""
    front, behind = (first, second) if relation == "in front of" else (second, first)

    def fitting(places: list[Array]) -> Array:
        near = np.flatnonzero(_reach(front, places[0], behind, places[1]) & apart(front.width, places[0]))
        fits = np.zeros(len(places[0]), bool)
        for i in near:  # the first one that fits is enough
            if covers(front, _tuples(places[0][i]), behind, _tuples(places[1][i])[0]):
                fits[i] = True
                break
        return fits

    places = _first(rng, (front.width, behind.width), (count, 1), fitting, near=True)
    if places is None:
        return None
    groups = Group(front, places[0]), Group(behind, places[1])
    return Scene(groups if front is first else groups[::-1], relation)


def _reach(front: Thing, places: Array, behind: Thing, place: Array) -> Array:
    """[n] whether all boxes in front overlap the box behind."""
    after, before = places - place < behind.width, place - places < front.width
    return np.asarray((after & before).all(axis=(1, 2)))


def _first(
    rng: np.random.Generator,
    widths: tuple[int, ...],
    counts: tuple[int, ...],
    fitting: Callable[[list[Array]], Array],
    near: bool = False,
) -> list[tuple[Place, ...]] | None:
    """The first random placement of groups that fits; those that are to overlap are drawn near each other."""
    for _ in range(TRIES):
        places = [
            STEP * rng.integers(0, positions(width), (CANDIDATES, count, 2))
            for width, count in zip(widths, counts, strict=True)
        ]
        if near:
            reach = places[1] + STEP * rng.integers(1 - widths[0] // STEP, widths[1] // STEP, places[0].shape)
            places[0] = np.clip(reach, 0, SIZE - widths[0])
        valid = np.flatnonzero(fitting(places))
        if len(valid):
            return [_tuples(group[valid[0]]) for group in places]
    return None


def _tuples(places: Array) -> tuple[Place, ...]:
    return tuple(sorted((int(x), int(y)) for x, y in places))
