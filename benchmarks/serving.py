"""`dragoman serve` under load, beside a minimal server around CTranslate2 with the same weights.

    python benchmarks/serving.py MODEL [FILE] [--rounds 5] [--seconds 15] [--minutes 10] [--json FILE]

1, 8 and 64 clients send sentences of FILE (the sources of its pairs; default: the testing part of the model), one a
request, each client the next one when it has its answer. Both servers run on this machine, their clients too, and take
turns. CTranslate2's server gets the fastest of several settings, tried with 64 clients before the rounds.

The overhead of serving is measured at batch load: 64 sentences at a time through `Translator.translations` in a process
of its own, the same as requests with lists of 64 sentences, and as 64 clients with one sentence each.

--minutes adds a long run of `dragoman serve` alone, so many minutes for each number of clients, with its memory.
Ratios above 1 mean that Dragoman is better. Close other programs first.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from serving_servers import Server, converted, dragoman_server, peer_server, peer_settings

CLIENTS = (1, 8, 64)
BATCH = 64
LISTS = 2  # clients that send lists: while one is translated the other is on its way
PAUSE = 0.5  # seconds between two runs
SAMPLES = 40  # of the memory in a long run
COMPARED = 200  # sentences whose translations are compared


@dataclass(frozen=True)
class Corpus:
    """Sentences in random order, and their languages."""

    sentences: list[str]
    languages: tuple[str, str]

    def requests(self, lists: bool, turn: int) -> dict[str, Any]:
        """What the clients send in one run; each turn begins elsewhere, for both servers alike."""
        start = 9_973 * turn % len(self.sentences)
        turned = self.sentences[start:] + self.sentences[:start]
        texts: Any = [turned[i : i + BATCH] for i in range(0, len(turned) - BATCH, BATCH)] if lists else turned
        return {"texts": texts, "source": self.languages[0], "target": self.languages[1]}


def read_corpus(model: Path, file: Path | None, languages: str) -> Corpus:
    from dragoman.tasks.translation.testing import load_testing

    if file is None:
        sources = [source for source, _ in load_testing(model)]
    else:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
            sources = [line.split("\t")[0] for line in lines]
    distinct = sorted({source.strip() for source in sources if source.strip()})
    random.Random(0).shuffle(distinct)
    first, _, second = languages.partition(",")
    return Corpus(distinct, (first, second))


def load(
    server: Server, corpus: Corpus, clients: int, seconds: float, turn: int, lists: bool = False
) -> dict[str, Any]:
    """Let clients loose on a server; what they measured, and what the processes of the server used meanwhile."""
    time.sleep(PAUSE)
    before = server.cpu_seconds()
    command = [sys.executable, str(Path(__file__).with_name("serving_load.py")), str(server.port)]
    done = subprocess.run(
        [*command, str(clients), str(seconds)],
        input=json.dumps(corpus.requests(lists, turn)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    sentences = BATCH if lists else 1
    written = max(1, found["answers"] * sentences)
    used = {name: 1e6 * (after - before.get(name, 0.0)) / written for name, after in server.cpu_seconds().items()}
    return {
        "server": server.name,
        "clients": clients,
        "lists": lists,
        "sentences_per_second": sentences * found["requests_per_second"],
        **found,
        "cpu_microseconds": {**used, "clients": 1e6 * found["client_seconds"] / written},
        "memory": server.memory(),
    }


def translate_inside(model: Path, sentences: Sequence[str], threads: int, pipe: Connection) -> None:
    """For each number of seconds received, translate batches that long and send back the sentences per second."""
    from dragoman import Translator
    from dragoman.engines import use_fastest
    from dragoman.tasks.translation.options import DecodingOptions
    from dragoman.training.workers import Workers

    use_fastest()
    translator = Translator.load(model)
    translator.workers = Workers(threads)
    while order := pipe.recv():
        seconds, start = order
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            batch = [sentences[(start + done + i) % len(sentences)] for i in range(BATCH)]
            translator.translations(batch, DecodingOptions(beam=4))
            done += BATCH
        pipe.send(done / (time.perf_counter() - began))


@contextmanager
def inside(model: Path, corpus: Corpus, threads: int) -> Iterator[Any]:
    """A function that measures translation without a server."""
    context = multiprocessing.get_context("spawn")
    pipe, end = context.Pipe()
    process = context.Process(target=translate_inside, args=(model, corpus.sentences, threads, end), daemon=True)
    process.start()

    def measure(seconds: float, turn: int) -> dict[str, Any]:
        time.sleep(PAUSE)
        pipe.send((seconds, 9_973 * turn % len(corpus.sentences)))
        return {"server": "inside", "clients": 0, "lists": True, "sentences_per_second": float(pipe.recv())}

    measure(1.0, 0)
    yield measure
    pipe.send(None)
    process.join(10)


def fastest_peer(model: Path, directory: Path, corpus: Corpus, cores: int, seconds: float) -> tuple[int, int, int]:
    """The setting of CTranslate2's server with the most sentences per second for 64 clients."""
    found = {}
    for setting in peer_settings(cores):
        with peer_server(model, directory, setting) as server:
            load(server, corpus, BATCH, 1.0, 0)
            found[setting] = load(server, corpus, BATCH, seconds, 1)["sentences_per_second"]
        tell(f"CTranslate2, {setting[0]} processes x {setting[1]} x {setting[2]} threads: {found[setting]:.0f}/s")
    return max(found, key=lambda setting: found[setting])


def same_translations(servers: Sequence[Server], corpus: Corpus) -> float:
    """The share of sentences that both servers translate alike."""
    texts = corpus.sentences[:COMPARED]
    source, target = corpus.languages
    ours, theirs = (server.translate(texts, source, target) for server in servers)
    return sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(texts)


def soak(server: Server, corpus: Corpus, minutes: float) -> list[dict[str, Any]]:
    """A long run for each number of clients, in parts after which the memory is read."""
    rows = []
    for clients in CLIENTS:
        parts = [load(server, corpus, clients, 60 * minutes / SAMPLES, part) for part in range(SAMPLES)]
        row = {
            "clients": clients,
            "minutes": minutes,
            "answers": sum(part["answers"] for part in parts),
            "errors": sum(part["errors"] for part in parts),
            "sentences_per_second": statistics.mean(part["sentences_per_second"] for part in parts),
            **{key: statistics.median(part[key] for part in parts) for key in ("p50", "p95", "p99")},
            "worst_p99": max(part["p99"] for part in parts),
            "memory": [part["memory"] for part in parts],
        }
        rows.append(row)
        tell(f"{clients} clients: {row['answers']:,} answers, {row['errors']} errors")
    return rows


def rounds(servers: Sequence[Server], measure: Any, corpus: Corpus, count: int, seconds: float) -> list[dict[str, Any]]:
    """Runs of all contenders in turn, in the other order every second round."""
    rows: list[dict[str, Any]] = []
    for turn in range(count):
        for clients in CLIENTS:
            for server in servers if turn % 2 else reversed(servers):
                rows.append({"round": turn, **load(server, corpus, clients, seconds, turn)})
        kinds = [
            lambda turn=turn: measure(seconds, turn),
            lambda turn=turn: load(servers[0], corpus, LISTS, seconds, turn, lists=True),
        ]
        rows += [{"round": turn, **kind()} for kind in (kinds if turn % 2 else reversed(kinds))]
        tell(f"round {turn + 1} of {count}")
    return rows


def chosen(rows: Sequence[dict[str, Any]], server: str, clients: int, key: str, lists: bool = False) -> list[float]:
    """One figure of a contender in every round."""
    return [row[key] for row in rows if (row["server"], row["clients"], row["lists"]) == (server, clients, lists)]


def spread(values: Sequence[float], form: str = ".0f") -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def quotients(first: Sequence[float], second: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(first, second, strict=True)]


def load_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    names = ("clients", "server", "sentences/s", "p50 ms", "p95 ms", "p99 ms", "errors", "MB", "ratio", "p99 ratio")
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for clients in CLIENTS:
        for server in ("dragoman", "ctranslate2"):
            speed = chosen(rows, server, clients, "sentences_per_second")
            times = " | ".join(spread(chosen(rows, server, clients, key), ".1f") for key in ("p50", "p95", "p99"))
            memory = max(chosen(rows, server, clients, "memory")) / 1e6
            ratios = [""] * 2
            if server == "dragoman":
                theirs = chosen(rows, "ctranslate2", clients, "sentences_per_second")
                late = (chosen(rows, name, clients, "p99") for name in ("ctranslate2", "dragoman"))
                ratios = [spread(quotients(speed, theirs), ".2f"), spread(quotients(*late), ".2f")]
            errors = sum(chosen(rows, server, clients, "errors"))
            cells = [f"{clients}", server, spread(speed), times, f"{errors:.0f}", f"{memory:.0f}", *ratios]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def overhead_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = ["| 64 sentences at a time | sentences/s | overhead |", "|---|---|---|"]
    base = chosen(rows, "inside", 0, "sentences_per_second", lists=True)
    lines.append(f"| in process | {spread(base)} | |")
    for name, clients, lists in (("requests with 64 sentences", LISTS, True), ("64 clients, 1 sentence", BATCH, False)):
        speed = chosen(rows, "dragoman", clients, "sentences_per_second", lists)
        lines.append(f"| {name} | {spread(speed)} | {spread([a - 1 for a in quotients(base, speed)], '.1%')} |")
    return lines


def cpu_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """CPU time of each sentence, which other programs disturb less than they do the wall clock."""
    lines = ["| CPU microseconds a sentence | front | worker | clients |", "|---|---|---|---|"]
    for server, clients, lists in (
        *((server, clients, False) for server in ("dragoman", "ctranslate2") for clients in CLIENTS),
        ("dragoman", LISTS, True),
    ):
        used = [row for row in rows if (row["server"], row["clients"], row["lists"]) == (server, clients, lists)]
        shown = [
            f"{statistics.median(row['cpu_microseconds'].get(name, 0.0) for row in used):.0f}"
            for name in ("front", "worker", "clients")
        ]
        kind = f"{server}, {clients} clients{', lists' if lists else ''}"
        lines.append(f"| {kind} | {' | '.join(shown)} |")
    return lines


def soak_table(rows: Sequence[dict[str, Any]]) -> list[str]:
    names = ("clients", "minutes", "answers", "errors", "sentences/s", "p50 ms", "p95 ms", "p99 ms", "MB, begin to end")
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for row in rows:
        times = " | ".join(f"{row[key]:.1f}" for key in ("p50", "p95", "p99"))
        begin, end = row["memory"][1] / 1e6, row["memory"][-1] / 1e6
        lines.append(
            f"| {row['clients']} | {row['minutes']:g} | {row['answers']:,} | {row['errors']} "
            f"| {row['sentences_per_second']:.0f} | {times} | {begin:.0f} to {end:.0f} |"
        )
    return lines


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure_all(arguments: argparse.Namespace) -> dict[str, Any]:
    from dragoman.bench.machine import machine_facts
    from dragoman.training.workers import physical_cores

    corpus = read_corpus(arguments.model, arguments.file, arguments.languages)
    found: dict[str, Any] = {"machine": machine_facts(None), "model": arguments.model.name}
    found |= {"sentences": len(corpus.sentences), "options": arguments.serve}
    cores = physical_cores()
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        served = dragoman_server(arguments.model, arguments.languages, arguments.serve.split())
        if arguments.rounds:
            converted(arguments.model, work)
            setting = fastest_peer(arguments.model, work, corpus, cores, min(5.0, arguments.seconds))
            ours, theirs = stack.enter_context(served), stack.enter_context(peer_server(arguments.model, work, setting))
            measure = stack.enter_context(inside(arguments.model, corpus, cores))
            found["peer"] = dict(zip(("processes", "inter_threads", "intra_threads"), setting, strict=True))
            found["same"] = same_translations([ours, theirs], corpus)
            for server in (ours, theirs):
                load(server, corpus, BATCH, 1.0, 0)  # warm up
            found["rounds"] = rounds([ours, theirs], measure, corpus, arguments.rounds, arguments.seconds)
        else:
            ours = stack.enter_context(served)
        if arguments.minutes:
            found["soak"] = soak(ours, corpus, arguments.minutes)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path, nargs="?", help="pairs, separated by tabs")
    parser.add_argument("--languages", default="en,es")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each run")
    parser.add_argument("--minutes", type=float, default=0.0, help="of a long run for each number of clients")
    parser.add_argument("--serve", default="", help="more options of dragoman serve: --serve='--workers 2'")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # the servers are stopped too
    found = measure_all(arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if "rounds" in found:
        print(
            f"The fastest setting of CTranslate2: {found['peer']}; {found['same']:.1%} of translations are the same\n"
        )
        for table in (load_table, overhead_table, cpu_table):
            print("\n".join(table(found["rounds"])) + "\n")
    if "soak" in found:
        print("\n".join(soak_table(found["soak"])))


if __name__ == "__main__":
    main()
