"""The report of a translator: its testing analysis, and what quality to expect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dragoman.analysis.report import testing_page
from dragoman.analysis.task_report import ReportTable, TaskReport
from dragoman.analysis.testing import ScoredSentence, TestingAnalysis
from dragoman.analysis.verdict import verdict
from dragoman.data.pair_encoding import Pair
from dragoman.ranks import current
from dragoman.tasks.translation import figures
from dragoman.tasks.translation.options import DecodingOptions
from dragoman.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.tasks.translation.translator import Translator

SHOWN = 3  # best and worst sentences to show in the terminal; the page has more


@dataclass(frozen=True)
class TranslationReport(TaskReport):
    """A testing analysis with a page of its own: sentences with their differences."""

    analysis: TestingAnalysis = field(kw_only=True)

    def as_dict(self) -> dict[str, Any]:
        return {"verdict": asdict(verdict(self.analysis.judged)), **self.analysis.as_dict()}

    def page(self, name: str, facts: Mapping[str, str], drawn: Mapping[str, str]) -> str:
        return testing_page(self.analysis, name, facts, drawn)

    def screen_tables(self) -> list[ReportTable]:
        """Scores with their intervals and signatures."""
        found = self.analysis
        measured = {
            "error": f"{found.error:.4f}",
            "accuracy": f"{found.accuracy:.4f}",
            "perplexity": f"{found.perplexity:.2f}",
            "exact": f"{found.exact:.1%}",
            "BLEU": f"{found.bleu.value:.2f} ({found.bleu.low:.1f} to {found.bleu.high:.1f})",
            "chrF": f"{found.chrf.value:.2f} ({found.chrf.low:.1f} to {found.chrf.high:.1f})",
        }
        signatures = f"BLEU {found.bleu.signature}\nchrF {found.chrf.signature}"
        title = counted(found.sentences, "sentence")
        return [ReportTable(title, ("score", "value"), list(measured.items()), signatures), *self.tables]


def translation_report(
    translator: Translator,
    pairs: Sequence[Pair],
    options: DecodingOptions,
    tell: Callable[[int], None] = lambda done: None,
) -> TranslationReport:
    """Translate the sources, on all ranks, and compare; `tell` is called with the number of pairs done."""
    analysis = translator.evaluate(pairs, options, tell, current())
    bleu, chrf, expected = analysis.bleu.value, analysis.chrf.value, verdict(analysis.judged)
    search = "greedy" if options.beam == 1 else f"beam of {options.beam}"
    return TranslationReport(
        f"Quality: {expected.expect}.",
        {"bleu": bleu, "chrf": chrf, "error": analysis.error, "accuracy": analysis.accuracy},
        [_lengths(analysis)],
        _figures(analysis, translator),
        note=expected.caveat,
        summary=f"{len(pairs):,} testing pairs, {search}: BLEU {bleu:.1f}, chrF {chrf:.1f}",
        examples={"Worst": [*map(_fields, analysis.worst[:SHOWN])], "Best": [*map(_fields, analysis.best[:SHOWN])]},
        facts={"search": search},
        analysis=analysis,
    )


def _lengths(analysis: TestingAnalysis) -> ReportTable:
    rows = [
        (
            row.words,
            row.sentences,
            "" if row.accuracy is None else f"{row.accuracy:.4f}",
            f"{row.bleu:.1f}",
            f"{row.chrf:.1f}",
        )
        for row in analysis.lengths
    ]
    return ReportTable("By words of the source", ("words", "sentences", "accuracy", "BLEU", "chrF"), rows)


def _fields(scored: ScoredSentence) -> dict[str, str]:
    sentence = scored.sentence
    return {
        "source": sentence.source,
        "reference": sentence.reference,
        "model": sentence.translation,
        "chrF": f"{scored.chrf:.1f}",
    }


def _figures(analysis: TestingAnalysis, translator: Translator) -> dict[str, Callable[[], Figure]]:
    """Training curves, attention of a sentence, word vectors and the architecture."""
    drawn: dict[str, Callable[[], Figure]] = {}
    if translator.directory is not None and (translator.directory / "history.jsonl").exists():
        drawn["Training"] = lambda: figures.history(translator, None)
    if analysis.best:
        drawn["Where a translation looked"] = lambda: figures.attention(translator, analysis.best[0].sentence.source)
    drawn["Word vectors"] = lambda: figures.embeddings(translator, None)
    drawn["Architecture"] = lambda: figures.architecture(translator, None)
    return drawn
