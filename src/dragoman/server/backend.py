"""What the routes need of the models: they run elsewhere, and answer in JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from dragoman.server.errors import BadRequest

Payload = dict[str, Any]


@dataclass(frozen=True)
class ModelInfo:
    """A model that is served.

    name     of its directory; unique among the served ones
    source   the code of the language it reads, of a translator
    target   the code of the language it writes
    digest   SHA-256 of its files, which tells what was loaded
    details  what a page needs to know of it: classes, size of images, horizon
    """

    name: str
    task: str
    source: str | None = None
    target: str | None = None
    parameters: int = 0
    digest: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> Payload:
        return asdict(self)


class Backend(Protocol):
    """Runs jobs on models: kinds and payloads are in `server/jobs.py`."""

    def models(self) -> list[ModelInfo]:
        """What is served now; an error while the models are loaded for the first time."""
        ...

    def ready(self) -> bool:
        """Whether every model has answered its golden samples."""
        ...

    def status(self) -> Payload:
        """What `/health` says: status, problems, workers."""
        ...

    async def run(self, kind: str, model: str, payload: Payload) -> Payload:
        """The result of one job."""
        ...

    def stream(self, kind: str, model: str, payload: Payload) -> AsyncIterator[Payload]:
        """The parts of a result as they are made."""
        ...


def find_model(backend: Backend, tasks: tuple[str, ...], name: str | None = None) -> ModelInfo:
    """The served model of some tasks, by its name where several are served."""
    found = [model for model in backend.models() if model.task in tasks and name in (None, model.name)]
    if len(found) == 1:
        return found[0]
    served = ", ".join(model.name for model in backend.models() if model.task in tasks)
    if not served:
        raise BadRequest(f"no model for {' or '.join(tasks)} is served")
    raise BadRequest(f"name a model: {served}" if name is None else f"{name} is not served; choose one of {served}")
