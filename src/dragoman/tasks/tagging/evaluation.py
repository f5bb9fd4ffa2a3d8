"""The testing analysis of a tagger: accuracy, F1 of each tag, entities, words that training never saw."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.entities import are_spans, entities
from dragoman.analysis.task_report import Cell, ReportTable, TaskReport
from dragoman.data.readers.conll import SEPARATOR
from dragoman.errors import DragomanWarning
from dragoman.graph import Array
from dragoman.ranks import current
from dragoman.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.tasks.tagging.tagger import Tagger

CONFUSED = 15  # pairs of tags in the table
Tags = list[list[str]]


@dataclass(frozen=True)
class TagScores:
    """Predicted tags beside the true ones.

    names  of all tags, those of the model first
    """

    names: tuple[str, ...]
    true: Tags
    predicted: Tags
    unseen: Array  # [words] whether training never saw the word

    @cached_property
    def counts(self) -> Array:
        """[C, C] words by true tag and predicted tag."""
        numbers = {name: i for i, name in enumerate(self.names)}
        pairs = [[numbers[tag] for tag in chain.from_iterable(sentences)] for sentences in (self.true, self.predicted)]
        found = np.zeros((len(self.names), len(self.names)), np.int64)
        np.add.at(found, tuple(np.array(side, np.int64) for side in pairs), 1)
        return found

    @cached_property
    def right(self) -> Array:
        """[words] whether the tag is right."""
        pairs = zip(chain.from_iterable(self.true), chain.from_iterable(self.predicted), strict=True)
        return np.array([true == predicted for true, predicted in pairs], bool)

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())

    @property
    def unseen_accuracy(self) -> float:
        return float(self.right[self.unseen].mean()) if self.unseen.any() else float("nan")

    @property
    def sentence_accuracy(self) -> float:
        same = [true == predicted for true, predicted in zip(self.true, self.predicted, strict=True)]
        return sum(same) / len(same)

    @cached_property
    def by_tag(self) -> list[tuple[str, float, float, float, int]]:
        """(tag, precision, recall, F1, words) of the tags that occur, or are predicted."""
        hits, true, said = np.diag(self.counts), self.counts.sum(axis=1), self.counts.sum(axis=0)
        rows = []
        for name, hit, support, predicted in zip(self.names, hits, true, said, strict=True):
            if support or predicted:
                rows.append((name, *precision_recall(int(hit), int(predicted), int(support)), int(support)))
        return rows

    @property
    def macro_f1(self) -> float:
        """The mean over the tags that occur or are predicted, as scikit-learn has it."""
        return float(np.mean([f1 for _, _, _, f1, _ in self.by_tag]))

    @cached_property
    def entities(self) -> tuple[float, float, float]:
        """Precision, recall and F1 of whole entities."""
        hits = said = true = 0
        for right, found in zip(self.true, self.predicted, strict=True):
            wanted, given = entities(right), entities(found)
            hits, said, true = hits + len(wanted & given), said + len(given), true + len(wanted)
        return precision_recall(hits, said, true)

    @property
    def confused(self) -> list[tuple[str, str, int, float]]:
        """(true tag, predicted tag, words, their share of the true tag), the most frequent first."""
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:CONFUSED]
        pairs = [np.unravel_index(place, wrong.shape) for place in order]
        return [
            (self.names[i], self.names[j], int(wrong[i, j]), float(wrong[i, j] / self.counts[i].sum()))
            for i, j in pairs
            if wrong[i, j]
        ]


def precision_recall(hits: int, predicted: int, true: int) -> tuple[float, float, float]:
    """Precision, recall and F1; 0 where nothing is right."""
    if not hits:
        return 0.0, 0.0, 0.0
    return hits / predicted, hits / true, 2 * hits / (predicted + true)


def evaluate(tagger: Tagger, samples: Sequence[tuple[str, str]]) -> TaskReport:
    """Compare the tags of a model, and those of one who knows the words alone, with the true ones."""
    words, true = ([sample[side].split(SEPARATOR) for sample in samples] for side in (0, 1))
    predicted = current().spread(lambda some: [list(found.tags) for found in tagger.predict(some)], words)
    lexicon = tagger.lexicon
    guessed = [[lexicon.tag(word) for word in sentence] for sentence in words]
    unseen = np.array([word not in lexicon for sentence in words for word in sentence], bool)
    unknown = _warn_of_unknown(true, tagger)
    names = (*tagger.classes.names, *unknown)
    model, baseline = (TagScores(names, true, found, unseen) for found in (predicted, guessed))
    spans = are_spans(names)
    return TaskReport(
        _headline(model, baseline, spans),
        _metrics(model, baseline, spans),
        [_beside(model, baseline, spans), _by_tag(model), _confused(model)],
        {"Tags that are taken for others": lambda: _figure(model)},
    )


def _warn_of_unknown(true: Tags, tagger: Tagger) -> tuple[str, ...]:
    """The tags that training never saw; each word that has one is counted as wrong."""
    tags = [tag for sentence in true for tag in sentence if tag not in tagger.classes]
    unknown = tuple(sorted(set(tags)))
    if unknown:
        warnings.warn(
            f"{counted(len(tags), 'word')} with tags that training never saw ({', '.join(unknown[:10])}) are counted "
            f"as wrong; {tagger.classes.suggestion(unknown[0])}",
            DragomanWarning,
            stacklevel=4,
        )
    return unknown


def _headline(model: TagScores, baseline: TagScores, spans: bool) -> str:
    entity = f", entity F1 {model.entities[2]:.1%}" if spans else ""
    return (
        f"{model.accuracy:.1%} of {counted(len(model.right), 'word')} tagged right{entity} "
        f"(the most frequent tag of each word: {baseline.accuracy:.1%})"
    )


def _metrics(model: TagScores, baseline: TagScores, spans: bool) -> dict[str, float]:
    found = {"accuracy": model.accuracy, "macro_f1": model.macro_f1}
    if spans:
        found |= dict(zip(("entity_precision", "entity_recall", "entity_f1"), model.entities, strict=True))
    return found | {
        "unseen_accuracy": model.unseen_accuracy,
        "sentence_accuracy": model.sentence_accuracy,
        "baseline_accuracy": baseline.accuracy,
    }


def _beside(model: TagScores, baseline: TagScores, spans: bool) -> ReportTable:
    columns = ["tagger", "accuracy", "macro F1", "unseen words", "whole sentences"]
    rows: list[tuple[Cell, ...]] = []
    for name, each in (("this model", model), ("most frequent tag", baseline)):
        measured = (each.accuracy, each.macro_f1, each.unseen_accuracy, each.sentence_accuracy)
        rows.append((name, *measured, each.entities[2]) if spans else (name, *measured))
    share = model.unseen.mean()
    return ReportTable(
        "Beside the baseline",
        (*columns, "entity F1") if spans else tuple(columns),
        rows,
        f"Most frequent tag: each word gets the tag it has most often in the training part. {share:.1%} of the words "
        "do not occur there.",
    )


def _by_tag(model: TagScores) -> ReportTable:
    rows = sorted(model.by_tag, key=lambda row: -row[-1])
    return ReportTable("Tags", ("tag", "precision", "recall", "F1", "words"), rows)


def _confused(model: TagScores) -> ReportTable:
    return ReportTable("Most confused", ("true tag", "predicted", "words", "share of the true tag"), model.confused)


def _figure(model: TagScores) -> Figure:
    from dragoman.analysis.figures import confusion_figure

    title = "Per cent of the words of each true tag, by predicted tag"
    return confusion_figure(model.counts, model.names, title)
