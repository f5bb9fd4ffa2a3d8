"""Predictions of images: their class or a caption, and where the network looked."""

from __future__ import annotations

import base64
import binascii
import io
import re
from typing import Any

from dragoman.data.images import Picture
from dragoman.data.images.picture import read_picture
from dragoman.data.tokenizer import MARK
from dragoman.errors import ConfigurationError, DataError
from dragoman.server.answers.values import Payload, as_json, flag_of, whole_of
from dragoman.server.answers.words import Word, word_weights, words_of
from dragoman.server.bounds import BEAM, BEST, IMAGES
from dragoman.server.errors import BadRequest, TooLarge
from dragoman.tasks.translation.options import DecodingOptions

MOST_BYTES = 32 * 2**20  # of an image file; the server's own limit is lower
_PREFIX = re.compile(r"data:image/[a-z+.-]{1,20};base64,")


def of_images(model: Any, payload: Payload) -> list[dict[str, Any]]:
    """A class or captions for each image; with `attention`, where the network looked, or null if it cannot be told."""
    given = payload.get("images")
    if not isinstance(given, list) or not 1 <= len(given) <= IMAGES:
        raise BadRequest(f"'images' must be a list of 1 to {IMAGES} images, each a PNG or JPEG file in base64")
    resize, attention = flag_of(payload, "resize"), flag_of(payload, "attention")
    pictures = [_picture(model, image, number, resize) for number, image in enumerate(given, start=1)]
    if model.task == "captioning":
        best = whole_of(payload, "best", 1, 1, BEST)
        options = DecodingOptions(beam=whole_of(payload, "beam", max(4, best), 1, BEAM), alternatives=best)
        found = [as_json(each.as_dict()) for each in model.captions(pictures, options)]
    else:
        found = [as_json(each.as_dict()) for each in model.predict(pictures)]
    if attention:
        looked = _caption_attention if model.task == "captioning" else _class_attention
        for picture, prediction in zip(pictures, found, strict=True):
            prediction["attention"] = _or_none(looked, model, picture, prediction)
    return found


def _picture(model: Any, image: Any, number: int, resize: bool) -> Picture:
    """Decode an image in bounded memory, in the size and the channels of the model's."""
    name, shape = f"image {number}", model.images.shape
    data = _bytes(image, name)
    size = (shape.height, shape.width)
    try:
        found = read_picture(io.BytesIO(data), shape.channels, size if resize else None, name)
    except DataError as error:
        raise BadRequest(str(error)) from None
    if found.shape != shape:
        raise BadRequest(
            f"{name} has {found.shape.height} x {found.shape.width} pixels (height x width), the model reads "
            f"{shape.height} x {shape.width}; with 'resize' true it is resized"
        )
    return found


def _bytes(image: Any, name: str) -> bytes:
    if not isinstance(image, str) or not image:
        raise BadRequest(f"{name} must be a PNG or JPEG file in base64")
    if len(image) > MOST_BYTES * 4 // 3:
        raise TooLarge(f"{name} has more than {MOST_BYTES:,} bytes")
    try:
        return base64.b64decode(_PREFIX.sub("", image[:64], count=1) + image[64:], validate=True)
    except (binascii.Error, ValueError):
        raise BadRequest(f"{name} is not valid base64") from None


def _or_none(looked: Any, model: Any, picture: Picture, prediction: dict[str, Any]) -> Any:
    try:
        return looked(model, picture, prediction)
    except ConfigurationError:  # a network that pays no attention to parts of an image
        return None


def _class_attention(model: Any, picture: Picture, prediction: dict[str, Any]) -> dict[str, Any]:
    """{"maps": {name: [rows, columns]}}: all layers together, and every head of the last one."""
    from dragoman.tasks.image_classification.figures import attention_maps

    rows, columns = model.network.configuration.grid
    return {"rows": rows, "columns": columns, "maps": as_json(attention_maps(model, picture.pixels), 5)}


def _caption_attention(model: Any, picture: Picture, prediction: dict[str, Any]) -> dict[str, Any]:
    """{"words": [...], "weights": [words, rows, columns]}: where each word of the caption looked."""
    found = model.look(picture, prediction["caption"])
    tokenizer = model.tokenizer
    words = _caption_words(tokenizer, prediction["caption"], len(found.tokens))
    count, rows, columns = found.weights.shape
    weights = word_weights(found.weights.reshape(count, rows * columns), words).reshape(len(words), rows, columns)
    texts = [word.text for word in words]
    return {"rows": rows, "columns": columns, "words": texts, "weights": as_json(weights, 5)}


def _caption_words(tokenizer: Any, caption: str, count: int) -> list[Word]:
    """The words of a caption and their tokens. (`look` gives tokens without their space marks.)"""
    pieces = tokenizer.pieces(tokenizer.encode([caption])[0])[:count]
    return words_of(pieces or [MARK], not tokenizer.has_bytes) if pieces else []
