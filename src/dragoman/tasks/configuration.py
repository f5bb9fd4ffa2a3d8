"""Everything that can be chosen about a training: sections of a TOML file, checked, with one meaning each.

Given settings override the recipe, the recipe overrides the defaults below; `--set section.name=value` overrides the
file.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from dragoman.data.splits import DEFAULT_SHARES, as_shares
from dragoman.data.tokenizer import Kind
from dragoman.errors import ConfigurationError
from dragoman.networks import Configuration, TransformerSettings
from dragoman.tasks.recipes import recipe_for
from dragoman.tasks.start import StartSettings
from dragoman.tasks.task import DEFAULT, find_task

CONFIGURATION_FORMAT = 2  # of configuration.toml; in format 1 columns were counted from 0
UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def seconds(value: object) -> object:
    """Parse '90s', '30m', '1h30m', '1.5h' or a number of seconds."""
    if not isinstance(value, str):
        return value
    parts = re.findall(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d)", value.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != re.sub(r"\s", "", value.lower()):
        raise ValueError(f"a time is written as 90s, 30m, 2h or 1h30m, got '{value}'")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


Seconds = Annotated[float, BeforeValidator(seconds)]
Positive = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, lt=1)]


def _shares_of_one(given: object) -> object:
    """Convert shares in percent to shares of 1."""
    try:
        return as_shares([float(number) for number in given])  # type: ignore[attr-defined]
    except ConfigurationError as error:
        raise ValueError(str(error)) from None
    except (TypeError, ValueError):
        return given  # pydantic reports the error


Shares = Annotated[tuple[float, float, float], BeforeValidator(_shares_of_one)]


def _epochs_and_factors(given: object) -> object:
    """Refuse what is not a list of pairs; pydantic checks the numbers."""
    if isinstance(given, list | tuple) and all(isinstance(entry, list | tuple) and len(entry) == 2 for entry in given):
        return given
    raise ValueError(f"growing batches are written as [[epoch, factor], ...], such as [[3, 2], [5, 4]]; got {given}")


Growth = Annotated[
    tuple[tuple[Annotated[int, Field(ge=2)], Annotated[float, Field(gt=0, le=1e6)]], ...],
    BeforeValidator(_epochs_and_factors),
]


class DataSettings(Configuration):
    """Where the samples come from and how they are split; every task adds how they become numbers."""

    files: tuple[str, ...] = ()
    format: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    on_bad_line: Literal["error", "skip"] = "error"
    split: str = "sample"
    shares: Shares = DEFAULT_SHARES
    tokenizer: Kind = "wordpiece"


class LossSettings(Configuration):
    """The loss index."""

    smoothing: Fraction = 0.0
    regularization: Literal["none", "l1", "l2"] = "none"
    coefficient: float = Field(default=1.0, ge=0)
    class_weights: Literal["none", "balanced"] = "none"
    per_class: bool = False
    clip_logits: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _coefficient_has_a_norm(self) -> Self:
        if self.coefficient != 1.0 and self.regularization == "none":
            raise ValueError("coefficient multiplies a norm: set regularization to l1 or l2, or leave it out")
        return self


class OptimizerSettings(Configuration):
    """The optimization algorithm, its rate, and the batches it steps on."""

    algorithm: Literal["adam", "adamw", "gradient_descent", "momentum", "adagrad", "rmsprop"] = "adam"
    rate: float = Field(default=0.001, gt=0)
    schedule: Literal["cosine", "linear", "constant", "thesis", "thesis_as_printed", "plateau", "learned"] = "constant"
    schedule_steps: Positive | None = None
    warm_up: int | None = Field(default=None, ge=0)
    rate_step: float = Field(default=0.02, ge=0, le=1)
    beta1: Fraction = 0.9
    beta2: Fraction = 0.999
    epsilon_inside: bool = False
    gamma: Fraction = 0.9
    decay: float = Field(default=0.01, ge=0)
    clip: float | None = Field(default=None, gt=0)
    batch: Positive = 64
    tokens: Positive | None = None
    grouped: bool = True
    keep_remainder: bool = True
    growth: Growth = ()
    accumulate: Positive = 1
    averaging: Fraction = 0.0
    scheduled_sampling: Fraction = 0.0

    @model_validator(mode="after")
    def _settings_have_a_reader(self) -> Self:
        """Refuse a setting that the chosen algorithm or schedule would not read."""
        if self.epsilon_inside and self.algorithm not in ("adam", "adamw"):
            raise ValueError(
                f"epsilon_inside is a setting of adam and adamw, not of {self.algorithm}; leave it out (adagrad and "
                "rmsprop always have epsilon inside the root)"
            )
        if self.gamma != 0.9 and self.algorithm != "rmsprop":
            raise ValueError(f"gamma is a setting of rmsprop, not of {self.algorithm}; leave it out")
        if self.rate_step != 0.02 and self.schedule != "learned":
            raise ValueError(f"rate_step is a setting of the schedule 'learned', not of '{self.schedule}'")
        epochs = [epoch for epoch, _ in self.growth]
        if epochs != sorted(set(epochs)):
            raise ValueError(f"the epochs of growth must rise, as in [[3, 2], [5, 4]]; got {epochs}")
        return self


class StoppingSettings(Configuration):
    """When training is over: whatever comes first."""

    epochs: Positive | None = None
    steps: Positive | None = None
    budget: Seconds | None = Field(default=None, gt=0, lt=float("inf"))
    accuracy: float | None = Field(default=None, gt=0, le=1)
    error: float | None = Field(default=None, gt=0)
    patience: Positive | None = None


class CheckpointSettings(Configuration):
    """What is kept while training."""

    keep: Positive = 2
    minutes: float = Field(default=10.0, gt=0)
    best_by: str = "error"
    average: int = Field(default=0, ge=0)


class ProgressSettings(Configuration):
    """What is measured and shown while training."""

    every: Positive | None = None
    scores: tuple[str, ...] = ()
    samples: int = Field(default=0, ge=0)
    tensorboard: bool = False


class TrainingConfiguration(Configuration):
    """A whole training. What is None is decided from the data and written down."""

    task: str = DEFAULT
    architecture: str = "transformer"
    preset: str | None = None
    recipe: str = "modern"
    seed: int = Field(default=0, ge=0, lt=2**63)
    out: str = "model"
    threads: Positive | None = None
    sharded_optimizer: bool = False
    private: bool = False
    data: SerializeAsAny[DataSettings] = DataSettings()
    network: SerializeAsAny[Configuration] = TransformerSettings()
    loss: LossSettings = LossSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    stopping: StoppingSettings = StoppingSettings()
    checkpoints: CheckpointSettings = CheckpointSettings()
    progress: ProgressSettings = ProgressSettings()
    start: StartSettings = StartSettings()


Settings = dict[str, Any]
C = TypeVar("C", bound=Configuration)


def sections(architecture: str, task: str = DEFAULT) -> dict[str, type[Configuration]]:
    """The sections of a configuration; what can be chosen of data and network depends on task and architecture."""
    chosen = find_task(task)
    particular = {"data": chosen.data, "network": chosen.architectures[architecture].settings}
    return {**_inside(TrainingConfiguration), **particular}


def _inside(kind: type[Configuration]) -> dict[str, type[Configuration]]:
    """Return the sections inside a section."""
    kinds = {name: field.annotation for name, field in kind.model_fields.items()}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Configuration)}


def resolved(path: Path) -> TrainingConfiguration:
    """A configuration that a training saved: a missing setting is None, whatever its recipe says."""
    return whole_configuration(read_toml(path), str(path))


def whole_configuration(saved: Settings, where: str) -> TrainingConfiguration:
    """A configuration in which everything was decided."""
    task = find_task(saved.get("task", DEFAULT))
    _one_of("architecture", saved.get("architecture", "transformer"), task.architectures)
    return _whole(saved, where)


def configuration(given: Mapping[str, Any], where: str = "the settings") -> TrainingConfiguration:
    """What is given, on top of its task's recipe, architecture and preset."""
    task = find_task(given.get("task", DEFAULT))
    name, preset = given.get("architecture", task.architecture), given.get("preset")
    _one_of("architecture", name, task.architectures)
    _check_names(given, name, task.name, where)
    architecture, recipe = task.architectures[name], given.get("recipe", "modern")
    _one_of("recipe", recipe, task.recipes)
    if preset is not None:
        _one_of("preset", preset, architecture.presets)
    size = {} if preset is None else architecture.presets[preset]
    from_recipe = recipe_for(task, recipe, preset, architecture.settings.model_fields, name)
    named = {"architecture": name, "network": architecture.named}
    found = _whole(merged(from_recipe, {"network": size}, named, given), where)
    _check_scores("checkpoints.best_by", [found.checkpoints.best_by], ("error", "accuracy", *task.scores), where)
    _check_scores("progress.scores", found.progress.scores, task.scores, where)
    if found.loss.class_weights != "none" and not task.weighs_classes:
        raise ConfigurationError(f"{where}: loss.class_weights: {task.name} has no classes to weigh; leave it out")
    return found


def _check_scores(place: str, asked: Iterable[str], known: tuple[str, ...], where: str) -> None:
    for score in asked:
        if score not in known:
            choices = f"choose from {', '.join(known)}" if known else "this task has none"
            raise ConfigurationError(f"{where}: {place}: there is no score '{score}'; {choices}")


def _whole(settings: Mapping[str, Any], where: str) -> TrainingConfiguration:
    kinds = sections(settings.get("architecture", "transformer"), settings.get("task", DEFAULT))
    settings = {"data": {}, "network": {}, **settings}
    built = {
        name: _built(kinds[name], value, f"{where}: {name}.") if name in kinds else value
        for name, value in settings.items()
    }
    return _built(TrainingConfiguration, built, f"{where}: ")


def _built(kind: type[C], settings: Mapping[str, Any], place: str) -> C:
    """Validate a section; errors name the setting as the user wrote it."""
    inside = {
        name: _built(section, settings[name], f"{place}{name}.")
        for name, section in _inside(kind).items()
        if isinstance(settings.get(name), Mapping)
    }
    try:
        return kind(**{**settings, **inside})
    except ConfigurationError as error:
        message = str(error).removeprefix(f"{kind.__name__}: ")
        message = re.sub(r"; (?=[a-z_0-9.]+: )", f"; {place.rpartition(' ')[2]}", message)
        raise ConfigurationError(
            (place + message).replace(f"{place}the settings together", place.rstrip("."))
        ) from None


def read_toml(path: Path) -> Settings:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(f"{path} does not exist; check the path") from None
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read as TOML: {error}") from None
    format = settings.pop("configuration_format", CONFIGURATION_FORMAT)
    if format != CONFIGURATION_FORMAT:
        raise ConfigurationError(
            f"{path}: its configuration_format is {format!r}, this version reads {CONFIGURATION_FORMAT}; "
            "was it written by another version of Dragoman?"
        )
    return settings


def read_assignments(assignments: Iterable[str]) -> Settings:
    """Parse 'optimizer.rate=0.002' into nested settings; a value that is not TOML is a string."""
    settings: Settings = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError(f"--set takes section.name=value, got '{assignment}'")
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value.strip()
        nested: Any = parsed
        for part in reversed(name.strip().split(".")):
            nested = {part: nested}
        settings = merged(settings, nested)
    return settings


def merged(*layers: Mapping[str, Any]) -> Settings:
    """Merge nested settings; later ones override earlier ones."""
    result: Settings = {}
    for layer in layers:
        for name, value in layer.items():
            if isinstance(value, Mapping):
                below = result.get(name)
                result[name] = merged(below if isinstance(below, Mapping) else {}, value)
            else:
                result[name] = value
    return result


def _check_names(given: Mapping[str, Any], architecture: str, task: str, where: str) -> None:
    """Refuse a setting that does not exist; the error names the nearest one that does."""
    names = setting_names(architecture, task)
    _check_section(given, TrainingConfiguration, sections(architecture, task), names, where)


def _check_section(
    given: Mapping[str, Any],
    kind: type[Configuration],
    kinds: Mapping[str, type[Configuration]],
    names: list[str],
    where: str,
    prefix: str = "",
) -> None:
    for name, value in given.items():
        if name not in kind.model_fields:
            raise ConfigurationError(f"{where}: unknown setting '{prefix}{name}'; {_nearest(name, prefix, names)}")
        if name in kinds:
            if not isinstance(value, Mapping):
                inner = f"{prefix}{name}.{next(iter(kinds[name].model_fields))}"
                raise ConfigurationError(f"{where}: '{prefix}{name}' is a section, such as {inner} = ...")
            _check_section(value, kinds[name], _inside(kinds[name]), names, where, f"{prefix}{name}.")


def setting_names(architecture: str = "transformer", task: str = DEFAULT) -> list[str]:
    """Every setting by its dotted name."""
    return _names(TrainingConfiguration, sections(architecture, task))


def _names(kind: type[Configuration], kinds: Mapping[str, type[Configuration]]) -> list[str]:
    names: list[str] = []
    for name in kind.model_fields:
        inside = _names(kinds[name], _inside(kinds[name])) if name in kinds else []
        names += [f"{name}.{inner}" for inner in inside] or [name]
    return names


def _nearest(name: str, prefix: str, names: list[str]) -> str:
    inside = [other for other in names if other.startswith(prefix)]
    bare = {other.removeprefix(prefix): other for other in inside}  # without the common prefix
    close = [bare[found] for found in difflib.get_close_matches(name, bare, 1, 0.6)]
    elsewhere = [other for other in names if other.rpartition(".")[2] == name]
    sections = sorted({other.partition(".")[0] for other in names if "." in other})
    if not prefix:
        close = difflib.get_close_matches(name, sections, 1, 0.7) or close
    if close or elsewhere:
        return f"did you mean '{(elsewhere or close)[0]}'?"
    return f"available: {', '.join(inside if prefix else names)}"


def _one_of(what: str, name: object, names: Iterable[str]) -> None:
    if not isinstance(name, str) or name not in set(names):
        close = difflib.get_close_matches(str(name), list(names), 1)
        hint = f"did you mean '{close[0]}'?" if close else f"choose one of {', '.join(names)}"
        raise ConfigurationError(f"unknown {what} '{name}'; {hint}")
