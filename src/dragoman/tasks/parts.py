"""The parts of a corpus: folders of part files, and checks of the sizes of parts."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dragoman.data.parallel_preparation import NAME as PREPARED
from dragoman.data.source import Source
from dragoman.data.splits import PARTS, unusual_parts
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.tasks.configuration import DataSettings, TrainingConfiguration
from dragoman.tasks.task import find_task
from dragoman.wording import counted

CALLED = {  # what files of a part are called, at the end of their names
    "training": ("training", "train"),
    "validation": ("validation", "valid", "dev"),
    "testing": ("testing", "test"),
}
FREE = ("files", "languages")  # settings that a prepared folder does not decide
FEWEST = 10  # training pairs that a new model is trained on
FEW = 1000  # training pairs below which a new model is warned of


def consequence(part: str, samples: str) -> str:
    """What follows from an empty part."""
    if part == "validation":
        return "nothing is validated, and the last weights are kept instead of the best"
    return f"`dragoman evaluate` will need a file of {samples}"


def is_folder(settings: DataSettings) -> bool:
    """Return whether the data are a folder of parts, which must then be the only name."""
    folders = [name for name in settings.files if name and Path(name).is_dir()]
    if folders and len(settings.files) > 1:
        raise ConfigurationError(f"'{folders[0]}' is a folder and must be the only argument; give its files instead")
    if not folders and settings.split == "given":
        raise ConfigurationError(
            f"data.split = 'given' uses the parts of a folder that `dragoman data split` wrote; "
            f"{', '.join(settings.files)} is not a folder"
        )
    return bool(folders)


def files_of(folder: str) -> dict[str, Path]:
    """Return the file of each part in a folder that `dragoman data split` wrote, without empty parts."""
    files = {name: Path(folder) / f"{name}.tsv" for name in PARTS}
    if not files["training"].is_file():
        wanted = ", ".join(path.name for path in files.values())
        raise DataError(
            f"{folder} is a folder without training.tsv; expected one that `dragoman data split` wrote ({wanted}), "
            "or the names of files"
        )
    return {name: path for name, path in files.items() if name == "training" or _has_content(path)}


def find_parts(folder: str, extensions: Collection[str]) -> dict[str, Path]:
    """The file of each part in a folder: training.conll, validation.conll.gz, or en_ewt-ud-train.conllu, -dev, -test.

    extensions  of the formats that hold such samples, without that of a compression
    """
    files = [path for path in sorted(Path(folder).iterdir()) if path.is_file() and not path.name.startswith(".")]
    files = [path for path in files if Source(str(path)).extension in extensions]
    found: dict[str, Path] = {}
    for name, words in CALLED.items():
        ending = re.compile(rf"(.*[-_.])?({'|'.join(words)})", re.IGNORECASE)
        fitting = [
            path for path in files if ending.fullmatch(path.name.partition(f".{Source(str(path)).extension}")[0])
        ]
        exact = [path for path in fitting if path.name.startswith(f"{name}.")] or fitting
        if len(exact) > 1:
            raise DataError(f"{folder} has several files of the {name} part: {exact[0].name}, {exact[1].name}")
        if exact and (name == "training" or _has_content(exact[0])):
            found[name] = exact[0]
    if "training" not in found:
        wanted = ", ".join(f"{name}.{next(iter(extensions))}" for name in PARTS)
        raise DataError(f"{folder} is a folder without a training part; expected {wanted} in it, or the names of files")
    return found


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def refuse_splitting(folder: str, given: Mapping[str, Any]) -> None:
    """Raise an error for splitting options with a folder of parts, unless they come from a saved configuration."""
    if given.get("split") == "given":
        return
    for name in ("split", "shares"):
        if name in given:
            raise ConfigurationError(f"{folder} is a folder, whose parts are used as they are; leave data.{name} out")


def check_enough(counts: Mapping[str, int]) -> None:
    """Raise an error if there are too few pairs to train a new model."""
    if counts["training"] < FEWEST:
        raise DataError(
            f"{counted(counts['training'], 'pair')} to train on: a model needs at least {FEWEST}, and thousands to "
            "translate sentences it has not seen; add pairs, or start with a built-in corpus: dragoman train phrases"
        )


def few_pairs(counts: Mapping[str, int]) -> list[str]:
    """Return a warning if there are too few training pairs for a useful model."""
    if counts["training"] >= FEW:
        return []
    return [
        f"only {counts['training']:,} pairs to train on: expect a model that memorizes them and fails on new "
        "sentences; useful models need 10,000 pairs and more"
    ]


def with_parts(settings: DataSettings, counts: Mapping[str, int]) -> DataSettings:
    """Update the data settings of a folder of parts: split `given`, the actual shares, how it was prepared."""
    if settings.split != "given":
        return settings
    total = sum(counts.values())
    shares = tuple(counts[name] / total for name in PARTS)
    if notes := prepared_notes(settings.files[0]):
        before = type(settings)(**notes["settings"])
        names = [name for name in type(settings).model_fields if name not in FREE or getattr(settings, name) is None]
        settings = settings.model_copy(update={name: getattr(before, name) for name in names} | {"split": "given"})
    return settings.model_copy(update={"shares": shares})


def warnings_of(settings: DataSettings, counts: Mapping[str, int], samples: str = "pairs") -> list[str]:
    """What a user should know about the sizes of the parts before training."""
    if settings.split == "given":
        if not _has_part_files(settings.files[0]):
            empty_parts = [name for name in PARTS if not counts[name]]
            return [f"the {name} part is empty: {consequence(name, samples)}" for name in empty_parts]
        empty = {name: part_path(settings.files[0], name) for name in PARTS if not counts[name]}
        return [f"{path} is {_what_is_wrong(path)}: {consequence(name, samples)}" for name, path in empty.items()]
    if settings.split == "time":  # windows overlap, so their numbers are no shares of the rows
        return [f"the {name} part is empty: {consequence(name, samples)}" for name in PARTS if not counts[name]]
    found = unusual_parts(counts, settings.shares, samples)
    return [
        f"{part.what}{'' if counts[name] else f': {consequence(name, samples)}'}. {part.advice}"
        for name, part in found.items()
    ]


def is_prepared(folder: str) -> bool:
    """Whether a folder was written by `dragoman data prepare`."""
    return (Path(folder) / PREPARED).is_file()


def prepared_notes(folder: str) -> dict[str, Any]:
    """What a prepared folder says about its preparation: digest, teaching, settings; empty for other folders."""
    if not is_prepared(folder):
        return {}
    try:
        notes = json.loads((Path(folder) / PREPARED).read_text(encoding="utf-8"))
        return {"digest": str(notes["digest"]), "teaching": notes["teaching"], "settings": {**notes["settings"]}}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{Path(folder) / PREPARED} cannot be read: {error!r}; prepare the pairs again") from None


def _has_part_files(folder: str) -> bool:
    return Path(folder).is_dir() and not is_prepared(folder)


def part_path(folder: str, name: str) -> Path:
    """Where a part that is missing is expected: beside the training part, with its extension."""
    training = sorted(path for path in Path(folder).glob("training.*") if path.is_file())
    return Path(folder) / (f"{name}{''.join(training[0].suffixes)}" if training else f"{name}.tsv")


def _what_is_wrong(path: Path) -> str:
    if not path.exists():
        return "missing"
    return "without a usable pair" if _has_content(path) else "empty"


def check_validation(settings: TrainingConfiguration, counts: Mapping[str, int]) -> None:
    """An error when the validation part is empty and a setting needs it."""
    if counts["validation"]:
        return
    s = settings
    needing = {
        "stopping.patience": s.stopping.patience is not None,
        "progress.every": s.progress.every is not None,
        "progress.scores": bool(s.progress.scores),
        "progress.samples": bool(s.progress.samples),
        "checkpoints.best_by": s.checkpoints.best_by != "error",  # the default uses the last weights instead
        "checkpoints.average": s.checkpoints.average > 1,
    }
    names = [name for name, needs in needing.items() if needs]
    if not names:
        return
    if settings.data.split == "given" and is_prepared(settings.data.files[0]):
        remedy = "prepare the pairs with a larger second share (dragoman data prepare --shares)"
    elif settings.data.split == "given" and not Path(settings.data.files[0]).is_dir():
        remedy = "name another file as data.validation"
    elif settings.data.split == "given":
        samples = find_task(settings.task).samples
        remedy = f"put {samples} into {part_path(settings.data.files[0], 'validation')}"
    else:
        remedy = "raise the second of data.shares, add pairs, try another --seed"
    *others, last = names
    listed, them = (f"{', '.join(others)} and {last} need", "them") if others else (f"{last} needs", "it")
    raise DataError(f"the validation part is empty, but {listed} it; {remedy}, or leave {them} out")
