"""Commands of the product, in this process or in one of their own, with an environment that is the same every time."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
UNSET = ("DRAGOMAN_", "OMP_", "OPENBLAS_", "MKL_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "FORCE_COLOR")
FIXED = {
    "COLUMNS": "100",
    "LINES": "40",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "OPENBLAS_CORETYPE": "Haswell",  # not those of the processor: the bits of every model depend on them
    "OPENBLAS_L2_SIZE": "512",
}
DRAGOMAN = [sys.executable, "-c", "from dragoman.cli import main; main()"]
TIMED = re.compile(r"tokens/s|pairs/s|^\s*\d+\.\d\d +\d+ |compiling kernels|^epoch \d| seconds$")
SECONDS = re.compile(r"\([\d.,]+ s\)")


def environment(work: Path) -> dict[str, str]:
    """The variables of every process; the cache of datasets is in the working directory."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(UNSET)}
    places = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    path = os.pathsep.join([*(str(Path(place).resolve()) for place in places), str(ROOT)])
    return {**kept, **FIXED, "PYTHONPATH": path, "XDG_CACHE_HOME": str(work / "cache")}


def without_place(text: str) -> str:
    """A text without the working directory, which has another name in each recording."""
    return text.replace(str(Path.cwd()), "WORK")


def without_times(text: str) -> str:
    """The lines that no clock has written, without seconds in brackets."""
    return SECONDS.sub("(N s)", "".join(line for line in text.splitlines(keepends=True) if not TIMED.search(line)))


class Kept(io.BytesIO):
    """What was written stays when the stream around it is closed."""

    def close(self) -> None:
        pass


def structured(text: str) -> Any:
    """What JSON says, a text or one value a line: its times can be left out then."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return text


def run(*arguments: Any, stdin: bytes = b"") -> dict[str, Any]:
    """Exit code, output and errors of `dragoman ...` in this process; a bug is recorded as its exception."""
    from dragoman.cli import main

    written = Kept(), Kept()
    out, err = (io.TextIOWrapper(each, "utf-8", newline="\n", write_through=True) for each in written)
    given = io.TextIOWrapper(io.BytesIO(stdin), "utf-8", newline="\n")
    code: Any = 0
    with (
        mock.patch.object(sys, "argv", ["dragoman", *map(str, arguments)]),
        mock.patch.object(sys.modules["__main__"], "__package__", None),  # else the usage names this program
        mock.patch.multiple(sys, stdin=given, stdout=out, stderr=err),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        except Exception as error:
            code = f"{type(error).__name__}: {error}"
    texts = (without_times(without_place(each.getvalue().decode(errors="replace"))) for each in written)
    out_text, err_text = texts
    return {"code": code, "out": structured(out_text), "err": err_text}


def must(*arguments: Any, stdin: bytes = b"") -> dict[str, Any]:
    """The same of a command that what follows needs."""
    done = run(*arguments, stdin=stdin)
    if done["code"] != 0:
        raise RuntimeError(f"dragoman {' '.join(map(str, arguments))}: {done}")
    return done


def spawn(command: Sequence[Any], more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, which must succeed."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env={**os.environ, **(more or {})}, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done
