"""The testing analysis of a captioner: exact captions, BLEU and chrF, beside one who sees colours alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dragoman.analysis.task_report import Cell, ReportTable, TaskReport
from dragoman.data.scenes import described
from dragoman.errors import ConfigurationError
from dragoman.ranks import current
from dragoman.tasks.captioning.testing import CaptionedImage
from dragoman.text.sentences import collapsed
from dragoman.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.tasks.captioning.captioner import Captioner

MISTAKES = 50  # in the report
WORDS = {"1-5": 5, "6-10": 10, "11-15": 15, "16-20": 20, "21+": 10**9}  # name: most words


@dataclass(frozen=True)
class CaptionScores:
    """Captions that were written, beside the given ones of each image."""

    written: Sequence[str]
    given: Sequence[tuple[str, ...]]

    @property
    def right(self) -> list[bool]:
        """Whether a caption is one of the given ones, white space aside."""
        pairs = zip(self.written, self.given, strict=True)
        return [collapsed(written) in map(collapsed, given) for written, given in pairs]

    @property
    def exact(self) -> float:
        return sum(self.right) / len(self.written)

    @cached_property
    def scores(self) -> dict[str, tuple[float, str]]:
        """BLEU and chrF of the whole, each with its signature."""
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF

        most = max(map(len, self.given))
        streams = [[given[i] if i < len(given) else given[0] for given in self.given] for i in range(most)]
        found = {}
        for name, metric in (("BLEU", BLEU()), ("chrF", CHRF())):
            value = metric.corpus_score(list(self.written), streams).score
            found[name] = float(value), str(metric.get_signature())
        return found

    def select(self, chosen: Sequence[int]) -> CaptionScores:
        return CaptionScores([self.written[i] for i in chosen], [self.given[i] for i in chosen])

    def row(self, name: str) -> tuple[Cell, ...]:
        return name, len(self.written), self.exact, self.scores["BLEU"][0], self.scores["chrF"][0]


def evaluate(captioner: Captioner, samples: Sequence[CaptionedImage]) -> TaskReport:
    """Compare the captions of a model with the given ones.

    Drawn scenes with a pair of colour and shape that training never showed are counted by themselves.
    """
    written = current().spread(
        lambda some: [found.text for found in captioner.captions(some)], [sample.pixels for sample in samples]
    )
    guessed = [captioner.colours.caption(sample.pixels) for sample in samples]
    given = [sample.captions for sample in samples]
    model, baseline = CaptionScores(written, given), CaptionScores(guessed, given)
    said = [described(captions[0]) for captions in given]
    held = [i for i, each in enumerate(said) if each is not None and each.is_held_out]
    others = [i for i in range(len(samples)) if i not in set(held)]
    rows: list[tuple[Cell, ...]] = []
    metrics: dict[str, float] = {}
    for name, short, chosen in (("", "", others), (", pairs held out", "held_out_", held)):
        if chosen:
            scores, guesses = model.select(chosen), baseline.select(chosen)
            rows += [scores.row(f"this model{name}"), guesses.row(f"colours alone{name}")]
            metrics |= {f"{short}exact": scores.exact, f"{short}bleu": scores.scores["BLEU"][0]}
            metrics |= {f"{short}chrf": scores.scores["chrF"][0], f"{short}baseline_exact": guesses.exact}
    if all(each is not None for each in said):
        classes = ("objects", [str(each.count) for each in said if each is not None])
    else:
        classes = ("words", [_length_class(captions[0]) for captions in given])
    tables = [
        _beside(rows, model),
        _by_class(model.select(others), *_chosen(classes, others)),
        _mistakes(model, samples),
    ]
    return TaskReport(_headline(metrics, len(others), len(held)), metrics, tables, _figures(captioner, samples))


def _headline(metrics: dict[str, float], count: int, held: int) -> str:
    if not count:
        return f"{metrics['held_out_exact']:.1%} of {counted(held, 'image')} with held-out pairs captioned exactly"
    beside = f"; with held-out pairs {metrics['held_out_exact']:.1%} of {held:,}" if held else ""
    return (
        f"{metrics['exact']:.1%} of {counted(count, 'image')} captioned exactly, BLEU {metrics['bleu']:.1f} "
        f"(by colours alone {metrics['baseline_exact']:.1%}){beside}"
    )


def _beside(rows: list[tuple[Cell, ...]], model: CaptionScores) -> ReportTable:
    signatures = "; ".join(f"{name}: {signature}" for name, (_, signature) in model.scores.items())
    return ReportTable(
        "Beside the baseline",
        ("captioner", "images", "exact", "BLEU", "chrF"),
        rows,
        "Colours alone: the caption that the training images with the same set of colours have most often. "
        f"Exact: one of the given captions, word for word. {signatures}",
    )


def _chosen(classes: tuple[str, list[str]], chosen: Sequence[int]) -> tuple[str, list[str]]:
    return classes[0], [classes[1][i] for i in chosen]


def _length_class(caption: str) -> str:
    return next(name for name, most in WORDS.items() if len(caption.split()) <= most)


def _by_class(scores: CaptionScores, name: str, classes: list[str]) -> ReportTable:
    """The same by the number of objects of a scene, or of words of a caption."""
    order = sorted(set(classes), key=lambda each: int(each.split("-")[0].rstrip("+")))
    rows = [scores.select([i for i, each in enumerate(classes) if each == found]).row(found) for found in order]
    return ReportTable(f"By {name}", (name, "images", "exact", "BLEU", "chrF"), rows)


def _mistakes(model: CaptionScores, samples: Sequence[CaptionedImage]) -> ReportTable:
    wrong = [i for i, right in enumerate(model.right) if not right][:MISTAKES]
    rows = [(samples[i].name, samples[i].captions[0], model.written[i]) for i in wrong]
    return ReportTable("Other captions than given", ("image", "given", "written"), rows)


def _figures(captioner: Captioner, samples: Sequence[CaptionedImage]) -> dict[str, Callable[[], Figure]]:
    from dragoman.tasks.captioning.figures import attention

    try:
        captioner.look(samples[0].pixels)
    except ConfigurationError:  # no attention
        return {}
    longest = max(samples[:100], key=lambda sample: len(sample.captions[0]))
    return {"Where each word looked": lambda: attention(captioner, longest.pixels)}
