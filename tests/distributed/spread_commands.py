"""What every rank runs under torchrun: commands one after the other, in processes that are started once.

    torchrun ... -m tests.distributed.spread_commands DIRECTORY

The directory has commands.json; every rank writes what came of them, with what it printed, to said-RANK.json.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dragoman import Translator
from dragoman.cli import main, spreading
from dragoman.distributed import joined
from dragoman.ranks import Ranks
from dragoman.tasks.captioning.captioner import Captioner
from dragoman.tasks.classification.text_model import TextModel
from dragoman.tasks.forecasting.forecaster import Forecaster
from dragoman.tasks.image_classification.classifier import ImageClassifier
from dragoman.tasks.language_model import scoring
from dragoman.tasks.tagging.tagger import Tagger
from dragoman.tasks.translation.task import _scores
from dragoman.training import Callback
from tests.cli.running import text_stream

PREDICTIONS: tuple[tuple[Any, str], ...] = (  # called with a model and what to predict for
    (Translator, "translations"),
    (TextModel, "logits"),
    (Tagger, "predict"),
    (Captioner, "captions"),
    (ImageClassifier, "probabilities"),
    (Forecaster, "predict"),
    (scoring, "_judged"),
)
STANDARD_INPUT = "The man sees the house.\nA friend buys bread.\nThe boy finds an apple.\n"


@contextmanager
def counted_work() -> Iterator[list[int]]:
    """Count what predictions are made for; language models read a little at a time."""
    done = [0]
    with ExitStack() as patches:
        patches.enter_context(patch.object(scoring, "ROWS", 64))
        for owner, name in PREDICTIONS:
            patches.enter_context(patch.object(owner, name, _counting(getattr(owner, name), done)))
        yield done


def _counting(predict: Callable[..., Any], done: list[int]) -> Callable[..., Any]:
    def counted(model: Any, given: Any, *more: Any, **options: Any) -> Any:
        done[0] += len(given)
        return predict(model, given, *more, **options)

    return counted


def run(arguments: list[str], ranks: Ranks) -> dict[str, Any]:
    """One command, as `python -m dragoman` runs it; only the first rank has something on standard input."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    given = text_stream(STANDARD_INPUT.encode() if ranks.first else b"not for you\n")
    joined_before = patch.object(spreading, "joined", lambda: nullcontext(ranks))
    with patch.object(sys, "argv", ["dragoman", *arguments]), patch.object(sys, "stdin", given), joined_before:
        try:
            with counted_work() as done, redirect_stdout(out), redirect_stderr(err):
                main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "done": done[0]}


def scores(model: str, pairs: list[tuple[str, str]]) -> dict[str, float]:
    """What an evaluation while training measures, and on how many sentences of this rank."""
    with counted_work() as done:
        return {**_scores(Translator.load(model), pairs, ("bleu", "chrf"), 0, Callback()), "done": done[0]}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    given = json.loads((place / "commands.json").read_text(encoding="utf-8"))
    with joined() as these:
        said = {name: run(arguments, these) for name, arguments in given["commands"].items()}
        said["scores"] = scores(*given["scores"])
    (place / f"said-{these.rank}.json").write_text(json.dumps(said), encoding="utf-8")
