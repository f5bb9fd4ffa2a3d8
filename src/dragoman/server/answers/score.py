"""How probable given texts are: translations to a translator, texts to a language model."""

from __future__ import annotations

from typing import Any

from dragoman.engines.compute import fast_compute
from dragoman.server.answers.values import Payload, as_json, checked, texts_of
from dragoman.server.bounds import PAIR_TOKENS
from dragoman.server.errors import BadRequest

Pair = tuple[str, str]


def score(model: Any, payload: Payload) -> dict[str, Any]:
    """{"pairs": [[source, target]]} for a translator, {"texts": [...]} for a language model."""
    if model.task == "translation":
        pairs = _pairs(payload)
        return {"scores": [_scored(model, number, pair) for number, pair in enumerate(pairs, start=1)]}
    if model.task == "language-model":
        texts = texts_of(payload)
        found = (each.as_dict() for each in model.score(texts))
        return {"scores": [as_json({name: value for name, value in each.items() if name != "text"}) for each in found]}
    raise BadRequest(f"a model for {model.task} gives no scores to texts")


def _pairs(payload: Payload) -> list[Pair]:
    found = payload.get("pairs")
    if not isinstance(found, list) or not found:
        raise BadRequest("'pairs' must be a list of pairs of texts: a source and its translation")
    for pair in found:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise BadRequest("'pairs' must be a list of pairs of texts: a source and its translation")
    return [(checked(source, "pairs"), checked(target, "pairs")) for source, target in found]


def _scored(model: Any, number: int, pair: Pair) -> dict[str, Any]:
    """log p(target | source) with its end token: of one pair at a time, so that memory stays small."""
    limit = model.network.maximum_length or PAIR_TOKENS
    for text, tokenizer in zip(pair, (model.source_tokenizer, model.target_tokenizer), strict=True):
        tokens = len(tokenizer.encode([text])[0]) + 2
        if tokens > min(limit, PAIR_TOKENS):
            raise BadRequest(
                f"pair {number} has a side of {tokens:,} tokens, more than the {min(limit, PAIR_TOKENS):,} that can be "
                "scored; cut it into sentences"
            )
    with fast_compute():
        (batch,) = model.scorer.batches([pair])
        (value,) = model.scorer.score([pair])
    tokens = int(batch.lengths[0])
    return as_json({"log_probability": value, "per_token": value / tokens, "tokens": tokens})  # type: ignore[no-any-return]
