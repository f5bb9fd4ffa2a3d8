"""What a model tells of its training and its testing analysis, made up."""

from __future__ import annotations

import math
from typing import Any

Json = dict[str, Any]


def about(found: Json) -> Json:
    history = [_line(i) for i in range(1, 21)]
    metadata = {
        "task": found["task"],
        "dragoman": "0.1.0",
        "architecture": "transformer",
        "parameters": found["parameters"],
        "preset": "small",
        "recipe": "modern",
        "seed": 0,
        "network": {
            "depth": 64,
            "layers": 1,
            "heads": 4,
            "dropout": 0.1,
            "source_vocabulary": 998,
            "target_vocabulary": 1621,
            "positions": "relative",
        },
        "data": {
            "corpora": ["phrases"],
            "files": 0,
            "parts": {"training": 27922, "validation": 1564, "testing": 1554},
            "split": "source",
        },
        "training": {"steps": 8000, "epochs": 20.0, "seconds": 611.0, "ended": "20 epochs were trained"},
    }
    evaluation = (
        translator_report()
        if found["task"] == "translation"
        else None
        if found["task"] == "regression"
        else task_report()
    )
    return {"metadata": metadata, "history": history, "evaluation": evaluation}


def translator_report() -> Json:
    def scored(source: str, reference: str, made: str, chrf: float) -> Json:
        return {"sentence": {"source": source, "reference": reference, "translation": made}, "chrf": chrf}

    bleu = "nrefs:1|bs:1000|seed:0|case:mixed|eff:no|tok:13a|smooth:exp|version:2.5.1"
    chrf = "nrefs:1|bs:1000|seed:0|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.5.1"
    return {
        "facts": {"tested on": "its own testing part", "search": "beam of 4"},
        "verdict": {
            "level": "light",
            "expect": "expect light post-editing: most sentences are right or nearly right",
            "caveat": "A rule of thumb from BLEU and chrF; read some translations yourself.",
        },
        "sentences": 1554,
        "positions": 11210.0,
        "error": 0.312,
        "accuracy": 0.921,
        "perplexity": 1.366,
        "exact": 0.612,
        "bleu": {"value": 71.32, "low": 69.8, "high": 72.9, "signature": bleu},
        "chrf": {"value": 83.14, "low": 82.1, "high": 84.2, "signature": chrf},
        "lengths": [
            {"words": "1-5", "sentences": 803, "accuracy": 0.94, "bleu": 75.2, "chrf": 85.9},
            {"words": "6-10", "sentences": 690, "accuracy": 0.91, "bleu": 70.1, "chrf": 82.0},
            {"words": "11-15", "sentences": 61, "accuracy": None, "bleu": 61.5, "chrf": 76.3},
        ],
        "worst": [
            scored("He ran <b>away</b>.", "Él se escapó.", "Corrió lejos.", 11.2),
            scored("Shut up!", "¡Cállate!", "Cierra.", 14.8),
        ],
        "best": [scored("The plant is green.", "La planta es verde.", "La planta es verde.", 100.0)],
    }


def task_report() -> Json:
    rows = [
        {"class": name, "precision": 0.9 - i / 50, "recall": 0.88 + i / 60, "F1": 0.89, "texts": 120 + i}
        for i, name in enumerate(("negative", "neutral", "positive"))
    ]
    mistakes = [
        {"text": "Not <i>bad</i> at all, really.", "true": "positive", "predicted": "negative", "probability": 0.81}
    ]
    return {
        "facts": {"tested on": "its own testing part"},
        "headline": "91.2% of 400 texts are classified right; the most frequent class would be right in 41.0%",
        "metrics": {"accuracy": 0.912, "macro_f1": 0.902, "baseline_accuracy": 0.41, "calibration_error": 0.031},
        "tables": [
            {"title": "By class", "rows": rows, "note": "F1 is the harmonic mean of precision and recall."},
            {"title": "The surest mistakes", "rows": mistakes},
        ],
    }


def _line(i: int) -> Json:
    """An evaluation of a training."""
    fall = math.exp(-i / 5)
    return {
        "step": 400 * i,
        "epoch": float(i),
        "training_error": 6 * fall + 0.5,
        "training_accuracy": 1 - 0.9 * fall,
        "validation_error": 6 * fall + 0.9 + 0.01 * i,
        "validation_accuracy": 0.93 - 0.8 * fall,
        "rate": 0.001 * min(i / 4, (4 / i) ** 0.5),
        "gradient_norm": 1.0 + 2 / i,
        "seconds": 30.0 * i,
        "best": i == 18,
        "bleu": 60 * (1 - fall),
    }
