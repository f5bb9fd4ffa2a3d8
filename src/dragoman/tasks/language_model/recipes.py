"""How language models are trained, and what a text's size decides.

Rates and dropout of the recipe `modern` are those that measured best at medium in 500 steps on War and Peace
(docs/language-models.md); small and large follow the rule of the translators: the larger, the lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RECIPES: dict[str, dict[str, Any]] = {
    "thesis": {
        "network": {"block": "post", "normalization": "outside", "dropout": 0.0, "tied": "none"},
        "optimizer": {"rate": 0.001, "schedule": "thesis", "beta2": 0.999},
        "stopping": {"accuracy": 0.90, "epochs": 100},
    },
    "modern": {
        "network": {"block": "pre", "positions": "relative", "relative_reach": 64},
        "optimizer": {
            "rate": 0.008,
            "schedule": "cosine",
            "beta2": 0.98,
            "clip": 1.0,
            "averaging": 0.999,
            "batch": 32,
        },
    },
}
RECIPES_BY_PRESET: dict[str, dict[str, dict[str, Any]]] = {
    "modern": {"large": {"optimizer": {"rate": 0.004}}, "small": {"optimizer": {"rate": 0.012}}}
}
SMALL, MEDIUM = 300_000, 10_000_000  # tokens of the training part up to which a preset is chosen
DROPOUT, PLENTY = 0.1, 1_000_000  # of so many tokens a network of these sizes learns nothing by heart
SEEN = 20_000_000  # tokens that a training reads, unless epochs are given


def decided(given: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """What a text decides where it is left open."""
    tokens = training_tokens(about)
    preset = given.get("preset") or ("small" if tokens <= SMALL else "medium" if tokens <= MEDIUM else "large")
    if given.get("recipe", "modern") != "modern":
        return {"preset": preset}
    network: dict[str, Any] = {"dropout": DROPOUT if tokens < PLENTY else 0.0}
    if about["encoding"]["kind"] != "characters" and given.get("architecture", "transformer") == "transformer":
        network["tied"] = "output"  # a table of many labels is learnt from both sides
    return {"preset": preset, "network": network}


def training_tokens(about: Mapping[str, Any]) -> int:
    tokens: int = about["bounds"][1]
    return tokens


def epochs_for(about: Mapping[str, Any]) -> int:
    return max(1, min(50, round(SEEN / training_tokens(about))))
