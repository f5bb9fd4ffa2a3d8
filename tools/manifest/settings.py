"""Resolved configurations, refusals, and the help of every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.manifest import commands, inner, refusals

COMMANDS = (
    *("", "train", "translate", "generate", "caption", "score", "predict", "forecast", "features", "evaluate"),
    *("serve", "pack", "unpack", "inspect", "plot", "plan", "check", "bench", "data", "data check", "data clean"),
    *("data split", "data prepare", "data fetch", "vectors", "vectors train", "vectors nearest", "vectors analogy"),
    *("vectors cosine", "vectors plot"),
)


def record() -> Iterator[tuple[str, Any]]:
    for command in COMMANDS:
        yield f"help / dragoman {command}".strip(), commands.run(*command.split(), "--help")
    for task in inner.tasks().values():
        for architecture, about in task.architectures.items():
            for recipe in task.recipes:
                for preset in (None, *about.presets):
                    given = {"task": task.name, "architecture": architecture, "recipe": recipe}
                    given |= {} if preset is None else {"preset": preset}
                    yield f"resolved / {task.name} / {architecture} / {recipe} / {preset or 'open'}", toml(given)
    for line in refusals.COMMANDS:
        yield f"refused / {' '.join(line)}", commands.run(*line)
    for name, text in refusals.FILES.items():
        Path(name).write_text(text, encoding="utf-8")
        yield f"refused / {name}: {text!r}", commands.run("train", name)


def toml(given: dict[str, Any]) -> Any:
    try:
        return inner.resolved_toml(given)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
