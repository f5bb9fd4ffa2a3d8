"""Work that each model does once before it is served: kernels are compiled then, and no request waits for it."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dragoman.server.scheduling import Scheduler

TEXT = "a few words, 1 number. "
LONG = 8 * TEXT  # attention over many tokens has kernels of its own
SENTENCES = 1_000
Payload = dict[str, Any]


def warm_up(models: Mapping[str, Any], answers: Mapping[str, Any]) -> list[str]:
    """Have each model do every kind of job; what failed, in words. Refused jobs are no failures."""
    replies: dict[int, Payload] = {}

    def receive(reply: Payload) -> None:
        replies[reply["id"]] = reply

    scheduler, kinds = Scheduler(models, answers, receive, SENTENCES), list[tuple[str, str]]()
    for name, model in models.items():
        for kind, payload in _jobs(model):
            scheduler.add({"id": len(kinds), "kind": kind, "model": name, "payload": payload})
            kinds.append((name, kind))
    while scheduler.busy:
        scheduler.step()
    failed = [number for number, reply in replies.items() if reply.get("status", 200) >= 500]
    said = (f"{kinds[number][0]}: {kinds[number][1]} fails: {replies[number]['error']}" for number in failed)
    return list(dict.fromkeys(said))


def _jobs(model: Any) -> Iterator[tuple[str, Payload]]:
    if model.task == "translation":
        yield "translate", {"texts": [TEXT, LONG], "format": "text", "alternatives": 1}
        yield "translate", {"texts": [f"<p>{TEXT} <b>bold</b></p>"], "format": "html", "alternatives": 0}
        yield "explain", {"text": TEXT, "best": 2, "attention": True}
        yield "score", {"pairs": [[TEXT, TEXT]]}
    elif model.task == "language-model":
        yield "generate", {"prompt": TEXT, "tokens": 3}
        yield "score", {"texts": [TEXT]}
    elif model.task == "forecasting":
        rows = 4 * model.encoding.context + model.encoding.horizon
        columns = {name: np.sin(np.arange(rows)).tolist() for name in model.encoding.names}
        yield "predict", {"series": {"columns": columns}}
        return
    elif hasattr(model, "images"):
        yield "predict", {"images": [_image(model.images.shape)], "attention": True}
        return
    else:
        yield "predict", {"texts": [TEXT, LONG]}
        if hasattr(model, "explain"):
            yield "predict", {"texts": [TEXT], "explain": True}
    yield "features", {"texts": [TEXT, LONG]}


def _image(shape: Any) -> str:
    """A black image of the size that a model reads, as clients send it."""
    from PIL import Image

    file = io.BytesIO()
    Image.new("L" if shape.channels == 1 else "RGB", (shape.width, shape.height)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
