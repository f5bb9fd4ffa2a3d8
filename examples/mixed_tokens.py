"""Mixed tokens: one encoder class learns text, image patches, a series and a set, and words and patches in one set.

Run it with `python examples/mixed_tokens.py`; it takes seconds. Explained in docs/examples/mixed_tokens.md.
"""

from collections.abc import Callable

import numpy as np

from dragoman import Batch
from dragoman.loss import LossIndex
from dragoman.networks import Encoder, EncoderConfiguration
from dragoman.operations import patches
from dragoman.optimization import Adam, Cosine
from dragoman.training import Stopping, train

STEPS, SAMPLES = 300, 32
SIZES = {"outputs": 2, "depth": 16, "perceptron_depth": 32, "heads": 2, "block": "pre"}
WORDS = 4  # "upper left", "upper right", "lower left", "lower right"
Draw = Callable[[int, np.random.Generator], Batch]


def batch(tokens: np.ndarray, classes: np.ndarray) -> Batch:
    """Samples of equally many tokens: tokens [B, T] labels or [B, T, d] rows, and a class for each sample."""
    count, length = tokens.shape[:2]
    return Batch(tokens.reshape(-1, *tokens.shape[2:]), np.arange(count + 1) * length, classes, per="sample")


def text(count: int, rng: np.random.Generator) -> Batch:
    """Six words of eight; class 1: word 0 comes before word 1."""
    words = np.array([np.concatenate(([0, 1], rng.integers(2, 8, 4))) for _ in range(count)])
    words = rng.permuted(words, axis=1)
    return batch(words, ((words == 0).argmax(axis=1) < (words == 1).argmax(axis=1)).astype(int))


def bars(count: int, rng: np.random.Generator) -> Batch:
    """Patches of 2 x 2 pixels of an 8 x 8 image with a line; class 1: it is vertical."""
    images, classes = rng.normal(0, 0.1, (count, 8, 8, 1)), rng.integers(0, 2, count)
    for image, vertical, place in zip(images, classes, rng.integers(0, 8, count), strict=True):
        (image.swapaxes(0, 1) if vertical else image)[place] += 1
    return batch(patches(images, size=(2, 2)).reshape(count, 16, 4), classes)


def series(count: int, rng: np.random.Generator) -> Batch:
    """Twelve values of a wave; class 1: it is the faster one of two."""
    classes, phases = rng.integers(0, 2, count), rng.uniform(0, 2 * np.pi, count)
    values = np.sin(phases[:, None] + np.outer(0.5 + 0.7 * classes, np.arange(12)))
    return batch(values[:, :, None] + rng.normal(0, 0.05, (count, 12, 1)), classes)


def set_of_numbers(count: int, rng: np.random.Generator) -> Batch:
    """Four numbers of eight in any order; class 1: number 0 is among them."""
    numbers, classes = rng.integers(1, 8, (count, 4)), rng.integers(0, 2, count)
    numbers[classes == 1, 0] = 0
    return batch(rng.permuted(numbers, axis=1), classes)


def word_and_patches(count: int, rng: np.random.Generator) -> Batch:
    """A word and the four patches of an image in one set of tokens; class 1: the word says where the image is bright.

    A token has columns for words and columns for pixels, and zeros in those of the other kind.
    """
    bright, classes = rng.integers(0, WORDS, count), rng.integers(0, 2, count)
    said = np.where(classes == 1, bright, (bright + rng.integers(1, WORDS, count)) % WORDS)
    pixels = rng.normal(0, 0.1, (count, WORDS, 4))
    pixels[np.arange(count), bright] += 1
    tokens = np.zeros((count, 1 + WORDS, WORDS + 4))
    tokens[np.arange(count), 0, said] = 1
    tokens[:, 1:, WORDS:] = pixels
    return batch(tokens, classes)


KINDS: dict[str, tuple[Draw, dict[str, object]]] = {
    "text": (text, {"vocabulary": 8, "positions": "learned", "maximum_length": 6}),
    "patches": (bars, {"inputs": 4, "positions": "learned", "maximum_length": 16}),
    "series": (series, {"inputs": 1, "positions": "learned", "maximum_length": 12}),
    "a set": (set_of_numbers, {"vocabulary": 8, "positions": "none"}),
    "a word and patches": (
        word_and_patches,
        {"inputs": WORDS + 4, "positions": "learned", "maximum_length": 1 + WORDS},
    ),
}


def trained(draw: Draw, settings: dict[str, object], steps: int = STEPS) -> float:
    """Accuracy on 500 samples that were not trained on."""
    rng = np.random.default_rng(0)
    network, loss_index = Encoder(EncoderConfiguration(**SIZES, **settings)), LossIndex()
    batches = (draw(SAMPLES, rng) for _ in range(steps))
    train(network, batches, Adam(), Cosine(0.01, steps), Stopping(steps), loss_index)
    return loss_index.evaluate(network, draw(500, rng)).accuracy


def main() -> None:
    for name, (draw, settings) in KINDS.items():
        accuracy = trained(draw, settings)
        print(f"{name}: accuracy {accuracy:.3f}")
        assert accuracy > 0.95, name


if __name__ == "__main__":
    main()
