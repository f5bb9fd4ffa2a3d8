"""Print the quality to expect of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from dragoman.analysis.verdict import Verdict, verdict
from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.tasks.translation.translator import Translator

TESTED = 200  # pairs to translate after training: takes seconds, enough for a rule of thumb


def print_verdict(found: Verdict, screen: Console) -> None:
    screen.print(f"Quality: {found.expect}.", style="bold", highlight=False, markup=False)
    screen.print(found.caveat, style="dim", highlight=False, markup=False)


def print_quality(model: Any, screen: Console) -> None:
    """Evaluate a model on some samples that training never saw, if it keeps any, and say what to expect."""
    from dragoman.tasks.task import find_task

    task = find_task(model.metadata.task)
    if task.name == "translation":
        _print_translations(model, screen)
        return
    try:
        samples = [] if model.directory is None else task.load_testing(model.directory)
        if len(samples):
            screen.print(task.evaluate(model, samples).headline, style="bold", highlight=False, markup=False)
    except DragomanError as error:  # the model is trained and saved all the same
        screen.print(f"The quality was not measured: {error}", highlight=False, markup=False)


def _print_translations(translator: Translator, screen: Console) -> None:
    from dragoman.tasks.translation.testing import load_testing
    from dragoman.tasks.translation.translator import DecodingOptions

    if translator.directory is None:
        return
    try:
        pairs = load_testing(translator.directory)[:TESTED]
        if not pairs:
            return
        found = translator.evaluate(pairs, DecodingOptions(beam=1, scored=False))
    except DragomanError as error:  # the model is trained and saved anyway
        screen.print(f"The quality was not measured: {error}", highlight=False, markup=False)
        return
    screen.print(
        f"{len(pairs):,} testing pairs, greedy: BLEU {found.bleu.value:.1f}, chrF {found.chrf.value:.1f}",
        highlight=False,
    )
    print_verdict(verdict(found.bleu.value, found.chrf.value, len(pairs)), screen)
