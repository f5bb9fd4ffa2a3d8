"""The built-in corpus of drawn scenes: small images of coloured shapes, each with the caption that describes it."""

from dragoman.data.scenes.counting import count_scenes
from dragoman.data.scenes.drawing import SIZE, draw
from dragoman.data.scenes.sampling import held_out_scenes, training_scenes
from dragoman.data.scenes.scene import HELD_OUT, Group, Scene, Thing, described

__all__ = [
    "HELD_OUT",
    "SIZE",
    "Group",
    "Scene",
    "Thing",
    "count_scenes",
    "described",
    "draw",
    "held_out_scenes",
    "training_scenes",
]
