"""A training that is killed between every two changes of its directory, and resumed: it must end with the same bits.

Run as a module in a working directory with the corpora; prints JSON. Every training is a fork of this process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.manifest import commands, models, values

# functions that change a directory, and which of their arguments is the name that appears; None: it is not shown
CHANGES = ((os, "rename", 1), (os, "replace", 1), (os, "fsync", None), (os, "mkdir", 0), (shutil, "rmtree", None))
OPTIONS = ("stopping.steps=3", "checkpoints.minutes=0.000001", "progress.every=2", "checkpoints.keep=2")
FLUSH = "fsync"  # changes nothing that another process sees
ARGUMENTS = models.arguments("translation", "transformer", *OPTIONS)
RANDOM = re.compile(r"\.partial-\w{8}\b")


def train(out: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """Train in a fork; its exit code, or minus the signal that ended it."""
    process = os.fork()
    if not process:
        code = 1
        try:
            prepare()
            done = commands.run("train", *ARGUMENTS, "--out", out)
            code = 0 if done["code"] == 0 else 1
            if code:
                print(done, file=sys.stderr)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def hook(seen: Callable[[str], None]) -> None:
    """Call `seen` before each change of a file or directory."""
    for module, name, shown in CHANGES:
        original = getattr(module, name)

        def changing(
            *arguments: Any, original: Any = original, name: str = name, shown: int | None = shown, **options: Any
        ) -> Any:
            place = "" if shown is None else f" {RANDOM.sub('.partial-X', Path(arguments[shown]).name)}"
            seen(f"{name}{place}")
            return original(*arguments, **options)

        setattr(module, name, changing)


def main() -> None:
    log = Path("changes.txt").resolve()

    def noting() -> None:
        log.write_text("", encoding="utf-8")
        hook(lambda change: log.write_text(log.read_text(encoding="utf-8") + change + "\n", encoding="utf-8"))

    commands.must("train", *ARGUMENTS, "--out", "killed/cached")  # imports everything, prepares the dataset
    assert train(Path("killed/whole"), noting) == 0
    changes, whole = log.read_text(encoding="utf-8").splitlines(), values.directory(Path("killed/whole"))
    found: dict[str, Any] = {"changes": changes, "whole": whole}
    for number in (i for i, change in enumerate(changes) if change != FLUSH):
        found[f"killed before {number:03} {changes[number]}"] = killed(number, whole)
    print(json.dumps(values.plain(found)))


def killed(number: int, whole: dict[str, Any]) -> Any:
    """What differs in a training that was killed before a change and resumed."""
    out, left = Path("killed/whole"), number

    def kill_at() -> None:
        def seen(change: str) -> None:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

        hook(seen)

    shutil.rmtree(out)
    ended = train(out, kill_at)
    resumed = train(out)
    now = values.directory(out)
    differing = [name for name in sorted(whole.keys() | now.keys()) if whole.get(name) != now.get(name)]
    return {"ended": ended, "resumed": resumed, "differing": differing}


if __name__ == "__main__":
    main()
