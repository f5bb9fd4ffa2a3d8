"""Answers in the shapes of the real routes, made up from small rules."""

from __future__ import annotations

import math
import re
from typing import Any

Json = dict[str, Any]

PAIRS = """
the la, plant planta, is es, green verde, my mi, sister hermana, has tiene, a un, new nuevo, car coche, hello hola,
house casa, white blanca, big grande, and y, we nosotros, live vivimos, in en, good buenos, morning días, where dónde
"""
WORDS: dict[str, str] = dict(map(str.split, PAIRS.split(",")))
BACK = {spanish: english for english, spanish in WORDS.items()}


def model(name: str, task: str, parameters: int = 120_000, **details: Any) -> Json:
    source, target = name.split("-") if task == "translation" else (None, None)
    shown = {"architecture": "transformer", "preset": "small", "summary": "transformer, depth 64, 4 heads"} | details
    return {
        "name": name,
        "task": task,
        "source": source,
        "target": target,
        "parameters": parameters,
        "details": shown,
    }


MODELS = {
    each["name"]: each
    for each in [
        model("en-es", "translation", 357_213),
        model("es-en", "translation", 351_004),
        model("writer", "language-model", context=128),
        model("critic", "classification", classes=["negative", "neutral", "positive"]),
        model("stars", "regression"),
        model("tagger", "tagging", classes=["O", "B-PER", "I-PER", "B-LOC", "NOUN", "VERB", "DET", "ADJ"]),
        model(
            "weather",
            "forecasting",
            columns=["temperature"],
            time="day",
            horizon=14,
            context=28,
            spacing="every day",
            levels=[50, 80, 90],
        ),
        model("digits", "image-classification", image={"height": 8, "width": 8, "channels": 1}),
        model("describer", "captioning", image={"height": 32, "width": 32, "channels": 3}),
    ]
}

SETTINGS: Json = {
    "charLimit": 2000,
    "frontendTimeout": 500,
    "apiKeys": False,
    "keyRequired": False,
    "suggestions": False,
    "filesTranslation": True,
    "supportedFilesFormat": [".txt", ".html"],
    "language": {"source": {"code": "en", "name": "English"}, "target": {"code": "es", "name": "Spanish"}},
}


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


def _word(word: str, table: dict[str, str]) -> str:
    found = table.get(word.lower(), word)
    return found.capitalize() if word[:1].isupper() else found


def translation(text: str, body: Json) -> Json:
    """A sentence word by word; adjectives do not move, and words that are not in the list are doubtful."""
    table = WORDS if body["target"] == "es" else BACK
    pieces = re.split(r"(\w+)", text)
    whole = "".join(_word(piece, table) for piece in pieces)
    source, target = tokens(text), tokens(whole)
    sure = [
        0.35 if word.lower() not in table and word.isalpha() else 0.97 - 0.04 * (i % 5) for i, word in enumerate(source)
    ]
    mean = math.exp(sum(map(math.log, sure)) / len(sure)) if sure else 1.0
    best = {"text": whole, "score": math.log(mean), "confidence": mean}
    words = [{"text": word, "confidence": each} for word, each in zip(target, sure, strict=True)]
    others = [_other(text, mean) for text in [whole.lower(), whole.replace(".", "!")][: body.get("best", 1) - 1]]
    found: Json = {
        "source": body["source"],
        "target": body["target"],
        "model": f"{body['source']}-{body['target']}",
        "translations": [{**best, "words": words}, *others],
        "pieces": 1,
        "warnings": ["it has letters that the model never saw"] if "Щ" in text else [],
        "alignment": alignment(source, target),
        "attention": None,
    }
    if body.get("attention"):
        found["attention"] = {"layers": [layer(name, source, target) for name in LAYERS]}
    return found


def _other(text: str, sure: float) -> Json:
    words = [{"text": word, "confidence": 0.6} for word in tokens(text)]
    return {"text": text, "score": -1.2, "confidence": 0.6 * sure, "words": words}


LAYERS = ("encoder.0.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention")


def alignment(source: list[str], target: list[str]) -> Json:
    weights = [[max(0.0, 0.72 - 0.3 * abs(i - j)) / 1.1 for i in range(len(source))] for j in range(len(target))]
    links = [[j, j, weights[j][j]] for j in range(min(len(source), len(target)))]
    return {"source": source, "target": target, "links": links, "weights": weights}


def layer(name: str, source: list[str], target: list[str]) -> Json:
    keys, queries = ([*source, "[END]"], [*target, "[END]"])
    if name.startswith("encoder"):
        queries = keys
    elif "self" in name:
        keys = ["[START]", *target]
    heads = [_head(len(queries), len(keys), number) for number in range(4)]
    return {"name": name, "source": keys, "target": queries, "heads": heads}


def _head(rows: int, columns: int, number: int) -> list[list[float]]:
    raw = [[math.exp(-abs(j - i - number + 1) * (0.6 + 0.3 * number)) for j in range(columns)] for i in range(rows)]
    return [[value / sum(row) for value in row] for row in raw]


def prediction(about: Json, body: Json) -> Json:
    made = {
        "classification": _classes,
        "regression": _number,
        "tagging": _tags,
        "forecasting": _forecast,
        "image-classification": _image,
        "captioning": _caption,
    }[about["task"]]
    return {
        "model": about["name"],
        "task": about["task"],
        "predictions": [made(each, body) for each in body.get("texts", [""])],
    }


def _effects(text: str) -> list[Json]:
    good = {"wonderful": 2.1, "great": 1.6, "bad": -1.9, "not": -0.8, "boring": -1.4}
    return [{"word": word, "effect": good.get(word.lower(), 0.03 * (len(word) - 4))} for word in tokens(text)]


def _classes(text: str, body: Json) -> Json:
    effects = _effects(text)
    positive = 1 / (1 + math.exp(-sum(each["effect"] for each in effects)))
    found = {"negative": (1 - positive) * 0.9, "neutral": 0.1 - 0.05 * positive, "positive": positive * 0.95 + 0.0}
    total = sum(found.values())
    shares = {name: value / total for name, value in found.items()}
    label = max(shares, key=lambda name: shares[name])
    sign = 1 if label == "positive" else -1
    effects = [{**each, "effect": sign * each["effect"]} for each in effects]
    why = {"explanation": {"of": f"log-odds of {label}", "words": effects}} if body.get("explain") else {}
    return {"label": label, "probability": shares[label], "probabilities": shares, **why}


def _number(text: str, body: Json) -> Json:
    effects = _effects(text)
    return {"number": 3 + sum(e["effect"] for e in effects), "explanation": {"of": "the number", "words": effects}}


def _tags(text: str, body: Json) -> Json:
    words = tokens(text)
    known = {"the": "DET", "a": "DET", "is": "VERB", "reads": "VERB", "green": "ADJ", "Ana": "B-PER", "Madrid": "B-LOC"}
    tags = [known.get(word, "NOUN" if word.isalpha() else "O") for word in words]
    return {"words": words, "tags": tags, "probabilities": [0.62 if tag == "ADJ" else 0.97 for tag in tags]}


def _forecast(_: str, body: Json) -> Json:
    rows = [line.split(",") for line in body["csv"].strip().splitlines()[1:]]
    known = [float(row[1]) for row in rows]
    steps = []
    for i in range(body.get("horizon") or 14):
        value = known[-14:][i % len(known[-14:])]
        spread = 0.6 + 0.15 * i
        steps.append(
            {"time": f"+{i + 1}", "temperature": {"value": value, "low": value - spread, "high": value + spread}}
        )
    return {
        "level": 0.9,
        "columns": ["temperature"],
        "forecast": steps,
        "notes": ["2 missing values were filled"],
        "known": {"times": [row[0] for row in rows], "columns": {"temperature": known}},
    }


def _grid(row: int, column: int) -> list[list[float]]:
    return [[math.exp(-((i - row) ** 2 + (j - column) ** 2) / 2) / 6 for j in range(8)] for i in range(8)]


def _image(_: str, body: Json) -> Json:
    shares = {str(digit): 0.02 for digit in range(10)} | {"7": 0.82}
    maps = {"all layers": _grid(3, 4), "head 1": _grid(1, 2), "head 2": _grid(6, 5)}
    return {
        "label": "7",
        "probability": 0.82,
        "probabilities": shares,
        "attention": {"rows": 8, "columns": 8, "maps": maps},
    }


def _caption(_: str, body: Json) -> Json:
    words = ["a", "red", "circle", "above", "a", "blue", "square"]
    weights = [_grid(i, 7 - i) for i in range(len(words))]
    return {
        "caption": " ".join(words),
        "captions": [
            {"text": " ".join(words), "score": -0.1},
            {"text": "a red circle and a blue square", "score": -0.7},
        ],
        "attention": {"rows": 8, "columns": 8, "words": words, "weights": weights},
    }
