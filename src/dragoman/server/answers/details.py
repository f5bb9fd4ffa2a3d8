"""What a client has to know of a model to use it, by task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.data.timeline import Timeline
from dragoman.server.answers.values import as_json
from dragoman.server.bounds import CLASSES
from dragoman.tasks.task import find_task


def details(model: Any) -> dict[str, Any]:
    """Sizes, names of classes and columns, and what can be asked of the model."""
    found = {
        "architecture": model.metadata.architecture,
        "preset": model.metadata.preset,
        "summary": model.network.configuration.summary(),
        "features": not find_task(model.task).reads_images and model.task != "forecasting",
        **_DETAILS[model.task](model),
    }
    return as_json(found)  # type: ignore[no-any-return]


def _translation(model: Any) -> dict[str, Any]:
    sizes = [model.source_tokenizer.size, model.target_tokenizer.size]
    return {"vocabulary": sizes, "longest": list(model.metadata.longest), "attention": _attends(model)}


def _attends(model: Any) -> bool:
    """Whether there is attention from a translation to its source."""
    return bool(getattr(model.network.configuration, "context", "attention") == "attention")


def _language_model(model: Any) -> dict[str, Any]:
    m = model.metadata
    return {"vocabulary": model.tokenizer.size, "tokenizer": m.tokenizer, "context": m.context}


def _classification(model: Any) -> dict[str, Any]:
    return {**_classes(model), "several": model.classes.several, **_text(model)}


def _text(model: Any) -> dict[str, Any]:
    return {"vocabulary": model.tokenizer.size, "longest": model.metadata.maximum, "explains": True}


def _tagging(model: Any) -> dict[str, Any]:
    return {**_classes(model), "vocabulary": model.pieces.size, "longest": model.metadata.maximum}


def _image_classification(model: Any) -> dict[str, Any]:
    from dragoman.networks import VisionTransformer

    return {**_classes(model), **_image(model), "attention": isinstance(model.network, VisionTransformer)}


def _captioning(model: Any) -> dict[str, Any]:
    sizes = {"vocabulary": model.tokenizer.size, "longest": model.metadata.longest}
    return {**_image(model), **sizes, "attention": _attends(model)}


def _image(model: Any) -> dict[str, Any]:
    return {"image": dict(model.images.shape._asdict())}


def _classes(model: Any) -> dict[str, Any]:
    names = model.classes.names
    return {"classes": list(names[:CLASSES]), "class_count": len(names)}


def _forecasting(model: Any) -> dict[str, Any]:
    e, m = model.encoding, model.metadata
    timeline = Timeline.from_dict(m.timeline) if m.timeline else Timeline()
    return {
        "columns": list(e.names),
        "time": m.time if isinstance(m.time, str) and m.time != "none" else None,
        "spacing": timeline.spacing(),
        "context": e.context,
        "horizon": e.horizon,
        "period": e.period,
        "levels": [round(100 * level, 6) for level in m.intervals.usable] if m.intervals else [],
    }


_DETAILS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "translation": _translation,
    "language-model": _language_model,
    "classification": _classification,
    "regression": _text,
    "tagging": _tagging,
    "image-classification": _image_classification,
    "captioning": _captioning,
    "forecasting": _forecasting,
}
