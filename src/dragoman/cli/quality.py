"""Print the quality to expect of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from dragoman.analysis.verdict import Verdict, verdict
from dragoman.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.tasks.translator import Translator

TESTED = 200  # pairs to translate after training: takes seconds, enough for a rule of thumb


def print_verdict(found: Verdict, screen: Console) -> None:
    screen.print(f"Quality: {found.expect}.", style="bold", highlight=False, markup=False)
    screen.print(found.caveat, style="dim", highlight=False, markup=False)


def print_quality(translator: Translator, screen: Console) -> None:
    """Translate some testing pairs, if the model has any, and print the quality to expect."""
    from dragoman.tasks.model import load_testing
    from dragoman.tasks.translator import DecodingOptions

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
