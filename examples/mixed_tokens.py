"""Mixed tokens: one encoder learns from text, image patches, a series and a set, and from words and patches together.

Run it with `python examples/mixed_tokens.py`; it takes seconds. Explained in docs/examples/mixed_tokens.md.
"""

from collections.abc import Callable

import numpy as np

from dragoman import Batch
from dragoman.graph import Array
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.networks import Encoder, EncoderConfiguration
from dragoman.operations import patches
from dragoman.optimization import Adam, Cosine
from dragoman.training import Stopping, train

WORDS = ["film", "plot", "the", "is", "not", "good", "bad"]
PLACES = [("upper", "left"), ("upper", "right"), ("lower", "left"), ("lower", "right")]
QUESTION = ["upper", "lower", "left", "right"]
PATTERNS = np.stack([np.indices((4, 4))[0] % 2, np.indices((4, 4))[1] % 2, np.indices((4, 4)).sum(axis=0) % 2])
TOGETHER, UNSEEN = 64, 1000


def samples(tokens: Array, targets: Array) -> Batch:
    """tokens [B, T, width]: B token sets of T rows each, with one target for each set"""
    count, length, width = tokens.shape
    offsets = np.arange(0, count * length + 1, length)
    return Batch(tokens.reshape(-1, width), offsets, targets, per="sample")


def text(count: int, rng: np.random.Generator) -> tuple[Batch, float]:
    """Five words in any order: with "not" among them, good is bad. Baseline: guessing."""
    negated, good = rng.integers(0, 2, (2, count))
    words = np.array([[0, 2, 3, 4 if no else 1, 5 if yes else 6] for no, yes in zip(negated, good, strict=True)])
    words = rng.permuted(words, axis=1)
    return samples(np.eye(len(WORDS))[words], negated ^ good), 0.5


def images(shown: Array, rng: np.random.Generator) -> Array:
    """shown [B, 4], a pattern for each quarter -> the patches of noisy images of 8 x 8 pixels, [B, 4, 16]"""
    quarters = PATTERNS[shown].reshape(-1, 2, 2, 4, 4)
    pixels = quarters.transpose(0, 1, 3, 2, 4).reshape(-1, 8, 8, 1) + rng.normal(0, 0.3, (len(shown), 8, 8, 1))
    return patches(pixels, size=(4, 4)).reshape(len(shown), 4, 16)


def picture(count: int, rng: np.random.Generator) -> tuple[Batch, float]:
    """Do the upper left and the lower right quarter show the same pattern? Baseline: guessing."""
    shown, same = rng.integers(0, 3, (count, 4)), rng.integers(0, 2, count)
    shown[:, 3] = np.where(same, shown[:, 0], (shown[:, 0] + rng.integers(1, 3, count)) % 3)
    return samples(images(shown, rng), same), 0.5


def series(count: int, rng: np.random.Generator) -> tuple[Batch, float]:
    """The next value of a sine of any phase and frequency. Baseline: the last value."""
    phase, frequency = rng.uniform(0, 2 * np.pi, (count, 1)), rng.uniform(0.4, 1.2, (count, 1))
    values = np.sin(phase + frequency * np.arange(9))
    return samples(values[:, :8, None], values[:, 8:]), float(np.square(values[:, 8] - values[:, 7]).mean())


def number_set(count: int, rng: np.random.Generator) -> tuple[Batch, float]:
    """How far apart are the largest and the smallest of five numbers? Baseline: the mean answer."""
    numbers = rng.uniform(-1, 1, (count, 5, 1))
    spread = np.ptp(numbers, axis=1)
    return samples(numbers, spread), float(spread.var())


def question(count: int, rng: np.random.Generator) -> tuple[Batch, float]:
    """Two words name a quarter of the image: which pattern is there? Baseline: the image's most frequent pattern.

    A row has four columns for words and sixteen for pixels, so the two words and the four patches are one token set.
    """
    shown, place = rng.integers(0, 3, (count, 4)), rng.integers(0, 4, count)
    tokens = np.zeros((count, 6, 20))
    tokens[:, :2, :4] = np.eye(4)[[[QUESTION.index(word) for word in PLACES[p]] for p in place]]
    tokens[:, 2:, 4:] = images(shown, rng)
    most = np.array([np.bincount(quarters).argmax() for quarters in shown])
    answers = shown[np.arange(count), place]
    return samples(tokens, answers), float((most == answers).mean())


def learnt(
    draw: Callable[[int, np.random.Generator], tuple[Batch, float]], outputs: int, steps: int, ordered: bool = True
) -> tuple[float, float]:
    """Accuracy on unseen samples (mean squared error where there is one output), and that of the baseline."""
    rng = np.random.default_rng(0)
    unseen, baseline = draw(UNSEEN, rng)
    configuration = EncoderConfiguration(
        inputs=unseen.labels.shape[1],
        outputs=outputs,
        depth=32,
        perceptron_depth=64,
        heads=4,
        positions="learned" if ordered else "none",
        maximum_length=8,
        pooling="mean",
    )
    network, loss_index = Encoder(configuration), LossIndex(MeanSquaredError()) if outputs == 1 else LossIndex()
    batches = (draw(TOGETHER, rng)[0] for _ in range(steps))
    train(network, batches, Adam(), Cosine(0.01, steps, warm_up=20), Stopping(steps), loss_index)
    found = loss_index.evaluate(network, unseen)
    return (found.error if outputs == 1 else found.accuracy), baseline


def main() -> None:
    print("one encoder, trained on one kind of token after the other")
    for name, draw, outputs, steps, ordered in (
        ("text", text, 2, 120, True),
        ("patches", picture, 2, 240, True),
        ("series", series, 1, 200, True),
        ("set", number_set, 1, 200, False),
        ("words and patches in one set", question, 3, 200, True),
    ):
        found, baseline = learnt(draw, outputs, steps, ordered)
        measure = "accuracy" if outputs > 1 else "mean squared error"
        print(f"  {name}: {measure} {found:.3f}, baseline {baseline:.3f}")
        assert (found > 0.95) if outputs > 1 else (found < baseline / 10)


if __name__ == "__main__":
    main()
