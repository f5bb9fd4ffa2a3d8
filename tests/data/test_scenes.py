"""Drawn scenes: how many there are, that they differ, and that a caption follows from the image."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from dragoman.data.scenes import HELD_OUT, SIZE, Group, Scene, Thing, count_scenes, described, draw, drawing
from dragoman.data.scenes.drawing import BACKGROUND, COLOURS, SHAPES, STEP, WIDTHS
from dragoman.data.scenes.sampling import held_out_scenes, training_scenes
from dragoman.data.scenes.scene import MARGIN, THINGS, apart, covers, sides

SCENES = training_scenes(400)
SMALLER = 24


def test_the_number_of_scenes() -> None:
    assert count_scenes() == 24_699_216
    assert count_scenes([thing for thing in THINGS if not thing.is_held_out]) == 17_105_080


def test_the_number_by_drawing_all_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kinds of things in a smaller image: every placement is tried, and the different images are counted."""
    monkeypatch.setattr(drawing, "SIZE", SMALLER)
    first, second = things = [Thing("blue", "square", "small"), Thing("red", "circle", "large")]
    sets = [[group for k in (1, 2, 3, 4) for group in every_group(thing, k)] for thing in things]
    scenes = [Scene((group,)) for groups in sets for group in groups]
    for one, other in product(*sets):
        if len(one.places) + len(other.places) > 4:
            continue
        held = sides((first.width, second.width), np.array([one.places]), np.array([other.places]))
        scenes += [Scene((one, other), relation) for relation, holds in held.items() if holds[0]]
        if len(other.places) == 1 and covers(first, one.places, second, other.places[0]):
            scenes.append(Scene((one, other), "in front of"))
        if len(one.places) == 1 and covers(second, other.places, first, one.places[0]):
            scenes.append(Scene((one, other), "behind"))
    assert len({draw(scene).tobytes() for scene in scenes}) == len(scenes) == count_scenes(things)
    assert {scene.count for scene in scenes} == {1, 2, 3, 4}
    assert {"left of", "below", "in front of", "behind"} <= {scene.relation for scene in scenes}


def every_group(thing: Thing, k: int) -> list[Group]:
    places = list(product(range(0, SMALLER - thing.width + 1, STEP), repeat=2))
    return [Group(thing, some) for some in combinations(places, k) if apart(thing.width, np.array([some]))[0]]


def test_scenes_are_different_and_the_same_by_seed() -> None:
    assert len({draw(scene).tobytes() for scene in SCENES}) == len(SCENES)
    assert training_scenes(20) == SCENES[:20]
    assert training_scenes(20, seed=1) != SCENES[:20]
    assert {scene.count for scene in SCENES} == {1, 2, 3, 4}
    assert {scene.relation for scene in SCENES} == {
        *("", "left of", "right of", "above", "below"),
        *("in front of", "behind"),
    }


def test_pairs_of_colour_and_shape_that_are_held_out() -> None:
    def pairs(scene: Scene) -> set[tuple[str, str]]:
        return {(group.thing.colour, group.thing.shape) for group in scene.groups}

    assert not any(pairs(scene) & set(HELD_OUT) for scene in SCENES)
    held = held_out_scenes(40)
    assert all(pairs(scene) & set(HELD_OUT) for scene in held)
    trained = set.union(*(pairs(scene) for scene in SCENES))
    assert {colour for colour, _ in trained} == set(COLOURS), "each colour and each shape is known by itself"
    assert {shape for _, shape in trained} == set(SHAPES)


def test_what_stands_in_a_caption() -> None:
    group = Group(Thing("red", "circle", "small"), ((0, 0), (12, 2)))
    other = Group(Thing("yellow", "square", "large"), ((4, 20),))
    assert Scene((group,)).caption == "two small red circles"
    scene = Scene((group, other), "above")
    assert scene.caption == "two small red circles above a large yellow square"
    said = described(scene.caption)
    assert said is not None
    assert (said.count, said.pairs, said.is_held_out) == (3, (("red", "circle"), ("yellow", "square")), False)
    assert described("a dog on a sofa") is None


def test_a_caption_is_that_of_what_is_drawn() -> None:
    """Where the pixels of both colours are says how the groups stand to each other."""
    checked = 0
    for scene in SCENES:
        assert described(scene.caption) is not None
        if len(scene.groups) == 1 or len({group.thing.colour for group in scene.groups}) == 1:
            continue
        image = draw(scene).astype(int)
        first, second = (_pixels(image, group.thing.colour) for group in scene.groups)
        gaps = {
            "left of": second[:, 1].min() - first[:, 1].max(),
            "right of": first[:, 1].min() - second[:, 1].max(),
            "above": second[:, 0].min() - first[:, 0].max(),
            "below": first[:, 0].min() - second[:, 0].max(),
        }
        if scene.relation in gaps:
            assert gaps[scene.relation] > MARGIN
            assert sum(gap > 0 for gap in gaps.values()) == 1, "one relation alone holds"
            checked += 1
    assert checked > 100


def _pixels(image: np.ndarray, colour: str) -> np.ndarray:
    """[n, 2] rows and columns of a colour or its edge."""
    full = np.array(COLOURS[colour])
    return np.argwhere((image == full).all(axis=2) | (image == full // 2).all(axis=2))


@pytest.mark.parametrize("colours", [("blue", "red"), ("red", "red")])
def test_things_that_overlap_have_one_caption(colours: tuple[str, str]) -> None:
    """No image of one thing in front of another could be another caption, even of one colour."""
    captions: dict[bytes, str] = {}
    kinds = list(product(SHAPES, WIDTHS))
    for front, behind in product(kinds, repeat=2):
        one, other = Thing(colours[0], *front), Thing(colours[1], *behind)
        if one == other:
            continue
        first, second = sorted((one, other))
        for place in product(range(0, SIZE - one.width + 1, STEP), repeat=2):
            if not covers(one, (place,), other, (12, 12)):
                continue
            places = {one: (place,), other: ((12, 12),)}
            groups = Group(first, places[first]), Group(second, places[second])
            scene = Scene(groups, "in front of" if first == one else "behind")
            image = draw(scene)
            assert captions.setdefault(image.tobytes(), scene.caption) == scene.caption
            assert len(_pixels(image.astype(int), colours[1])), "what is behind stays visible"
    assert len(captions) > 400


def test_things_stay_inside_the_image() -> None:
    for scene in SCENES:
        image = draw(scene)
        assert image.shape == (SIZE, SIZE, 3)
        assert image.dtype == np.uint8
        for group in scene.groups:
            assert all(0 <= x <= SIZE - group.thing.width for place in group.places for x in place)
    assert (draw(SCENES[0])[0, 0] == BACKGROUND).all()
