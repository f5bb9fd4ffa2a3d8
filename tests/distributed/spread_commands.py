"""What every rank runs under torchrun: commands one after the other, in processes that are started once.

    torchrun ... -m tests.distributed.spread_commands DIRECTORY

The directory has commands.json; every rank writes what came of them, with what it printed, to said-RANK.json.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dragoman import Translator
from dragoman.cli import main, spreading
from dragoman.distributed import joined
from dragoman.ranks import Ranks
from dragoman.tasks.translation.task import _scores
from dragoman.training import Callback
from tests.cli.running import text_stream

STANDARD_INPUT = "The man sees the house.\nA friend buys bread.\nThe boy finds an apple.\n"


def run(arguments: list[str], ranks: Ranks) -> dict[str, Any]:
    """One command, as `python -m dragoman` runs it; only the first rank has something on standard input."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    given = text_stream(STANDARD_INPUT.encode() if ranks.first else b"not for you\n")
    joined_before = patch.object(spreading, "joined", lambda: nullcontext(ranks))
    with patch.object(sys, "argv", ["dragoman", *arguments]), patch.object(sys, "stdin", given), joined_before:
        try:
            with redirect_stdout(out), redirect_stderr(err):
                main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def scores(model: str, pairs: list[tuple[str, str]]) -> dict[str, float]:
    """What an evaluation while training measures."""
    return _scores(Translator.load(model), pairs, ("bleu", "chrf"), 0, Callback())


if __name__ == "__main__":
    place = Path(sys.argv[1])
    given = json.loads((place / "commands.json").read_text(encoding="utf-8"))
    with joined() as these:
        said = {name: run(arguments, these) for name, arguments in given["commands"].items()}
        said["scores"] = scores(*given["scores"])
    (place / f"said-{these.rank}.json").write_text(json.dumps(said), encoding="utf-8")
