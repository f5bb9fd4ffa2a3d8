"""What models of every task answer: by the command line, from Python, and over HTTP."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tools.manifest import commands, models, requests, server, values

LINES = "data/lines.txt"
TEXTS = ["The man sees the house.", "A friend buys bread. The boy pays 12 euros!", "Hello, {name}: an apple!", ""]
MOODS = ["the film is wonderful", "the plot is dull and awful", ""]
SHAPE, PHOTO, CAPTIONED = "data/shapes/disc/001.png", "data/photos/disc/001.png", "data/captioned/01.png"


def record() -> Iterator[tuple[str, Any]]:
    found = models.answering_all()
    for task, place in found.items():
        yield f"model / {task}", values.directory(Path(place))
    yield from by_command(found)
    yield from from_python(found)
    yield from over_http(found)


# By the command line


def by_command(found: dict[str, str]) -> Iterator[tuple[str, Any]]:
    lines = Path(LINES).read_bytes()
    for task, several in commands_of(found, lines).items():
        for arguments in several:
            line, stdin = ([*arguments[:-1]], arguments[-1]) if isinstance(arguments[-1], bytes) else (arguments, b"")
            what = " ".join(str(each) for each in line)
            yield f"command / {task} / {what}{' < lines' if stdin else ''}", commands.run(*line, stdin=stdin)
    for task, place in found.items():
        said = commands.run("evaluate", place)  # its report stays in the directory, and the server tells it
        reports = {each.name: values.file(each) for each in sorted(Path(place).glob("report*"))}
        yield f"command / {task} / evaluate", {"said": said, **reports}
        out = f"evaluated/{task}"
        yield f"command / {task} / evaluate --json", commands.run("evaluate", place, "--json", "--out", out)
        yield f"command / {task} / inspect", commands.run("inspect", place)
        yield f"command / {task} / inspect --json", commands.run("inspect", place, "--json")
        packed = f"packed-{task}.zip"
        said = commands.run("pack", place, "--out", packed)
        unpacked = commands.run("unpack", packed, "--out", f"unpacked/{task}")
        found_files = values.directory(Path(f"unpacked/{task}"))
        yield f"command / {task} / pack", {"said": said, "file": size_of(packed), "unpacked": unpacked, **found_files}


def size_of(place: str) -> list[str]:
    """The names in a packed model."""
    with zipfile.ZipFile(place) as archive:
        return [f"{each.filename} {each.compress_type} {each.date_time}" for each in archive.infolist()]


def commands_of(found: dict[str, str], lines: bytes) -> dict[str, list[list[Any]]]:
    """Commands of each task; bytes at the end are standard input."""
    translator, writer, critic, rater, tagger, reader, describer, forecaster = found.values()
    nearest = ["--nearest", "the boy buys bread"]
    return {
        "translation": [
            ["translate", translator, TEXTS[0]],
            ["translate", translator, TEXTS[1], "--best", "3", "--json"],
            ["translate", translator, LINES],
            ["translate", translator, LINES, "--beam", "1"],
            ["translate", translator, "--json", lines],
            ["translate", translator, "data/pairs.jsonl", "--column", "en", "--beam", "2"],
            ["translate", translator, TEXTS[0], "--sample", "--seed", "3", "--temperature", "0.7", "--top-k", "9"],
            ["translate", translator, TEXTS[0], "--prefix", "La mujer", "--length-penalty", "0.5"],
            ["translate", translator, TEXTS[0], "--maximum", "2"],
            ["translate", translator, TEXTS[0], "--beam", "2", "--best", "3"],
            ["translate", translator, "missing.tsv"],
            ["translate", critic, TEXTS[0]],
            ["features", translator, TEXTS[0]],
            ["features", translator, LINES, *nearest, "--top", "2", "--json"],
            ["features", translator, LINES, "--out", "vectors.tsv", "--level", "sentence"],
            ["plot", translator, "--list"],
            ["evaluate", translator, "data/pairs.tsv", "--beam", "1", "--most", "20", "--json", "--out", "evaluated/a"],
        ],
        "language-model": [
            ["generate", writer, "the ", "--tokens", "40", "--seed", "1"],
            ["generate", writer, "the ", "--tokens", "30", "--greedy", "--json"],
            [
                "generate",
                writer,
                "the ",
                "--tokens",
                "30",
                "--samples",
                "2",
                "--top-p",
                "0.8",
                "--stop",
                "\\n",
                "--json",
            ],
            ["score", writer, "the cat sat on the mat"],
            ["score", writer, LINES, "--json"],
            ["score", writer, LINES, "--whole"],
            ["generate", translator, "a"],
            ["features", writer, "the cat"],
        ],
        "classification": [
            ["predict", critic, MOODS[0]],
            ["predict", critic, LINES, "--json"],
            ["predict", critic, MOODS[1], "--explain"],
            ["predict", critic, "--explain", "--json", lines],
            ["features", critic, MOODS[0]],
        ],
        "regression": [
            ["predict", rater, MOODS[0]],
            ["predict", rater, MOODS[1], "--explain", "--json"],
            ["predict", rater, "data/moods.csv", "--column", "text", "--out", "rated.txt"],
        ],
        "tagging": [
            ["predict", tagger, "Tom likes the house."],
            ["predict", tagger, LINES, "--json"],
            ["predict", tagger, "Tom likes.", "--explain"],
            ["features", tagger, "Tom likes the house.", "--level", "sentence"],
        ],
        "image-classification": [
            ["predict", reader, SHAPE],
            ["predict", reader, "data/shapes/disc", "--json"],
            ["predict", reader, PHOTO],
            ["predict", reader, PHOTO, "--resize", "--json"],
            ["predict", reader, LINES],
        ],
        "captioning": [
            ["caption", describer, CAPTIONED],
            ["caption", describer, "data/captioned", "--beam", "1"],
            ["caption", describer, CAPTIONED, "--best", "2", "--json"],
            ["caption", describer, CAPTIONED, "--sample", "--seed", "2", "--temperature", "0.5"],
            ["caption", describer, SHAPE],
        ],
        "forecasting": [
            ["forecast", forecaster, "data/recent.csv"],
            ["forecast", forecaster, "data/recent.csv", "--horizon", "11", "--level", "50", "--json"],
            ["forecast", forecaster, "data/gaps.csv"],
            ["forecast", forecaster, "data/gaps.csv", "--fill", "seasonal"],
            ["forecast", forecaster, LINES],
        ],
        "vectors": [
            ["vectors", "train", "data/book.txt", "--out", "words.txt", "--depth", "8", "--epochs", "2"],
            ["vectors", "nearest", "words.txt", "cat"],
            ["vectors", "analogy", "words.txt", "cat", "dog", "mat"],
            ["vectors", "cosine", "words.txt", "cat", "dog", "the"],
        ],
        "equations": [["check", "softmax"], ["check", "T-4.3.7-LNx", "--json"], ["inspect", "--preset", "small"]],
    }


# From Python


def from_python(found: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name, call in python_calls(found).items():
        try:
            yield f"python / {name}", call()
        except Exception as error:
            yield f"python / {name}", f"{type(error).__name__}: {error}"


def python_calls(found: dict[str, str]) -> dict[str, Callable[[], Any]]:
    import numpy as np

    import dragoman

    kinds = ("Translator", "TextGenerator", "Classifier", "Regressor", "Tagger", "ImageClassifier", "Captioner")
    loaded = [
        getattr(dragoman, kind).load(place) for kind, place in zip((*kinds, "Forecaster"), found.values(), strict=True)
    ]
    translator, writer, critic, rater, tagger, reader, describer, forecaster = loaded
    pairs = [(TEXTS[0], "El hombre ve la casa."), (TEXTS[1], "Un amigo compra pan.")]
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8, 1)
    return {
        "names": lambda: [name for name in dir(dragoman) if not name.startswith("_")],
        **{
            f"{task} / metadata": lambda model=model: values.plain(model.metadata.model_dump(mode="json"))
            for task, model in zip(found, loaded, strict=True)
        },
        "translate": lambda: translator.translate(TEXTS),
        "translate one": lambda: translator.translate(TEXTS[0]),
        "translate greedily": lambda: translator.translate(TEXTS, beam=1),
        "translate wide": lambda: translator.translate(TEXTS, beam=6, length_penalty=0.3),
        "translate sampled": lambda: translator.translate(TEXTS, sample=True, seed=5, top_p=0.9),
        "translate a number": lambda: translator.translate([5]),
        "translate with nothing": lambda: translator.translate(TEXTS, nothing=1),
        "translations": lambda: translator.translations(TEXTS),
        "translations of HTML": lambda: translator.translations(["<p>The <b>boy</b> sees.</p>"], form="html"),
        "translations with prefixes": lambda: translator.translations(TEXTS[:1], prefixes=["La"]),
        "score pairs": lambda: translator.score(pairs),
        "align": lambda: translator.align(TEXTS[0]),
        "features of a translator": lambda: translator.features(TEXTS[:2]),
        "evaluate a translator": lambda: translator.evaluate(pairs),
        "generate": lambda: "".join(writer.generate("the ", tokens=30, seed=7)),
        "generate greedily": lambda: list(writer.generate("the ", tokens=10, temperature=0)),
        "score texts": lambda: writer.score(["the cat sat", "zzz", "é"]),
        "features of a language model": lambda: writer.features(["the cat"]),
        "classes": lambda: [each.as_dict() for each in critic.predict(MOODS)],
        "class probabilities": lambda: critic.probabilities(MOODS).tolist(),
        "class explained": lambda: critic.explain(MOODS[1]),
        "numbers": lambda: [each.as_dict() for each in rater.predict(MOODS)],
        "number explained": lambda: rater.explain(MOODS[1]),
        "tags": lambda: [each.as_dict() for each in tagger.predict(["Tom likes the house.", ["They", "play"], ""])],
        "tag probabilities": lambda: tagger.probabilities([["Tom", "walks"]]),
        "features of a tagger": lambda: tagger.features(["Tom walks."]),
        "classes of images": lambda: [each.as_dict() for each in reader.predict([SHAPE, pixels])],
        "images resized": lambda: reader.probabilities([PHOTO], resize=True).tolist(),
        "attention of an image": lambda: reader.attention(SHAPE),
        "an image of another size": lambda: reader.predict([PHOTO]),
        "captions": lambda: [each.as_dict() for each in describer.captions([CAPTIONED])],
        "caption": lambda: describer.caption([CAPTIONED], beam=1),
        "look": lambda: describer.look(CAPTIONED),
        "forecast": lambda: forecaster.forecast("data/recent.csv").as_dict(),
        "forecast rows": lambda: forecaster.forecast(np.ones((40, 2)), horizon=3, level=80).as_dict(),
        "forecast too little": lambda: forecaster.forecast(np.ones((1, 2))),
        "words": lambda: dragoman.WordVectors.load("words.txt").nearest("cat", 3),
    }


# Over HTTP


def over_http(found: dict[str, str]) -> Iterator[tuple[str, Any]]:
    limits = ("--characters", requests.CHARACTERS, "--sentences", requests.SENTENCES, "--body", requests.BODY)
    with server.served(*found.values(), *limits) as running:
        tables = {
            "about": requests.described(),
            "libretranslate": requests.libretranslate(),
            "v1 translation": requests.of_translators(),
            "v1 others": requests.of_others(),
        }
        for table, several in tables.items():
            for name, request in several.items():
                yield f"http / {table} / {name}", exchanged(running, request)
        for name, content in requests.BROKEN.items():
            yield f"http / broken / {name}", server.parsed(running.send(content), running.port)
    Path("keys.txt").write_text(f"{requests.KEY}\n", encoding="utf-8")
    options = ("--keys", "keys.txt", "--metrics", "--suggestions", "suggested.jsonl", "--cors", "https://example.org")
    with server.served(found["translation"], *options, environment={"DRAGOMAN_METRICS_TOKEN": "token"}) as running:
        for name, request in requests.with_keys().items():
            yield f"http / with keys / {name}", exchanged(running, request)
        metrics = running.ask("GET", "/metrics", {"Authorization": "Bearer token"})
        yield "http / with keys / metrics", {**metrics, "headers": None, "body": named_only(str(metrics["body"]))}
    suggested = [json.loads(line) for line in Path("suggested.jsonl").read_text(encoding="utf-8").splitlines()]
    yield "http / with keys / suggestions", [{**each, "time": "..."} for each in suggested]


def exchanged(running: server.Served, request: requests.Request) -> Any:
    """The answer, and that of the link in it."""
    if not request.follow:
        return running.ask(request.method, request.path, request.headers, request.body)
    host = {"Host": f"127.0.0.1:{running.port}"}
    answer = running.send(server.written(request.method, request.path, {**host, **request.headers}, request.body))
    found = server.parsed(answer, running.port)
    link = re.search(rb'/download_file/[^"]+', answer)
    return {**found, "linked": running.ask("GET", link[0].decode(), {}) if link else None}


def named_only(text: str) -> list[str]:
    """The names and labels of metrics; their numbers are counts of a clock."""
    return [line.rpartition(" ")[0] if not line.startswith("#") else line for line in text.splitlines()]
