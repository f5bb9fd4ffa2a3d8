"""`dragoman serve` as its users run it: real processes, real signals."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman import Translator
from tests.server.serving import Served, served
from tests.tasks import models
from tests.tasks.models import WORD_PAIRS
from tests.waiting import LONGEST, wait_for

TEXT = "red house"
TEXTS = [source for source, _ in WORD_PAIRS]
DEPLOY = Path(__file__).parents[2] / "examples" / "deploy"


@pytest.fixture(scope="module")
def model(own_cache: None) -> Path:
    return models.taught()


@pytest.fixture(scope="module")
def expected(model: Path) -> str:
    """What the model writes for the text without a server."""
    return Translator.load(model).translate([TEXT])[0]


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[Served]:
    with served(model, "--languages", "en,es", "--connections", "40", "--workers", "2") as found:
        yield found


def test_it_translates(server: Served, expected: str) -> None:
    answer = server.translate(TEXT)
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"translatedText": expected}
    assert server.client.get("/health").json()["status"] == "ok"
    assert server.client.get("/health").json()["workers"] == 2


def test_a_text_gives_the_same_alone_and_among_others(server: Served) -> None:
    texts = TEXTS[:60]
    alone = [server.translate(text).json()["translatedText"] for text in texts[:10]]
    with ThreadPoolExecutor(20) as threads:
        together = [answer.json()["translatedText"] for answer in threads.map(server.translate, texts)]
    assert together[:10] == alone
    assert server.translate(texts).json()["translatedText"] == together


def test_white_space_and_paragraphs_come_back(server: Served, expected: str) -> None:
    text = f"  {TEXT}\n\n\t{TEXT}  \r\n{TEXT}"
    assert server.translate(text).json()["translatedText"] == text.replace(TEXT, expected)


def test_unknown_routes_and_methods_answer_in_json(server: Served) -> None:
    for answer, status in ((server.client.get("/nothing"), 404), (server.client.get("/translate"), 405)):
        assert answer.status_code == status
        assert set(answer.json()) == {"error"}


def test_a_killed_worker_is_replaced_and_nobody_notices(server: Served) -> None:
    """Requests that run on a worker that dies are given to another."""
    before = server.workers()
    assert len(before) == 2
    answers: list[int] = []
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(server.translate, TEXTS) for _ in range(8)]
        _until(lambda: server.client.get("/health").json()["waiting"])
        os.kill(before[0], signal.SIGKILL)
        answers = [future.result().status_code for future in asked]
    assert set(answers) == {200}
    _until(lambda: server.client.get("/health").json().get("workers") == 2)
    assert before[0] not in server.workers()


def test_with_every_worker_dead_requests_wait_for_new_ones(server: Served) -> None:
    for pid in server.workers():
        os.kill(pid, signal.SIGKILL)
    answer = server.translate(TEXT)
    assert answer.status_code == 200 or (answer.status_code == 503 and answer.headers["retry-after"])
    _until(lambda: server.client.get("/health").json().get("workers") == 2)


def test_silent_and_half_closed_connections_harm_nobody(server: Served) -> None:
    """As many idle connections as are allowed: the next one is told, and the others go on when they leave."""
    host, port = server.url.removeprefix("http://").split(":")
    idle = [socket.create_connection((host, int(port))) for _ in range(60)]
    try:
        idle[0].sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Le")  # half a header
        refused = _until(lambda: _turned_away(server))  # a busy machine takes a while to accept
        assert "too many connections" in refused.json()["error"]
        idle[1].shutdown(socket.SHUT_WR)
        idle[1].settimeout(LONGEST)
        assert idle[1].recv(10) == b""  # closed by the server too
    finally:
        for connection in idle:
            connection.close()
    _until(lambda: httpx.get(f"{server.url}/health").status_code == 200)


def _until(condition: Callable[[], Any]) -> Any:
    """Wait for something that a server says, which may be on its way to say it."""
    return wait_for(condition, httpx.TransportError, KeyError)


def _turned_away(server: Served) -> httpx.Response | None:
    answer = httpx.get(f"{server.url}/health")
    return answer if answer.status_code == 503 else None


@pytest.mark.parametrize("raw", [b"nonsense\r\n\r\n", b"\x00\xff" * 100 + b"\r\n\r\n"])
def test_what_is_not_http_gets_400_or_a_clean_close(server: Served, raw: bytes) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=LONGEST) as connection:
        connection.sendall(raw)
        answer = connection.recv(1000)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert server.translate(TEXT).status_code == 200


def test_the_log_names_routes_and_no_texts(server: Served) -> None:
    server.client.post("/translate?q=secretword&source=en&target=es")
    _until(lambda: "POST /translate 200" in server.log())
    assert "secretword" not in server.log()


def test_sighup_loads_a_new_model_without_dropping_a_request(model: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(model, tmp_path / "model"))
    with served(place, "--languages", "en,es") as server, ThreadPoolExecutor(4) as threads:
        before = server.workers()
        metadata = json.loads((place / "model.json").read_text())
        shutil.rmtree(place)
        shutil.copytree(models.undertrained(), place)
        server.signal(signal.SIGHUP)
        answers = set[int]()

        def replaced() -> bool:
            answers.update(answer.status_code for answer in threads.map(server.translate, [TEXT] * 4))
            return not set(server.workers()) & set(before)

        wait_for(replaced)
        assert answers == {200}
        parameters = server.client.get("/v1/models").json()["models"][0]["parameters"]
        assert parameters != metadata["parameters"]
        digest = server.client.get("/v1/models").json()["models"][0]["digest"]
        (place / "weights.safetensors").write_bytes(b"damaged")  # a failed reload keeps the models that work
        server.signal(signal.SIGHUP)
        _until(lambda: "not reloaded" in server.log())
        assert str(place / "weights.safetensors") in "".join(server.log().split("\n"))
        workers = server.workers()
        for pid in workers:  # new ones load what these have loaded
            os.kill(pid, signal.SIGKILL)
        _until(lambda: server.workers() and not set(server.workers()) & set(workers))
        answer = server.translate(TEXT)
        assert (answer.status_code, answer.headers["dragoman-model"]) == (200, f"model={digest}")
        health = server.client.get("/health")
        assert (health.status_code, health.json()["models"]) == (200, {"model": digest})
        assert "not reloaded: model/weights.safetensors" in health.text
        assert str(tmp_path) not in health.text


def test_sigterm_finishes_what_runs_and_refuses_what_comes(model: Path, expected: str) -> None:
    texts = [TEXT, *TEXTS * 4]
    with served(model, "--languages", "en,es") as server, ThreadPoolExecutor(1) as threads:
        running = threads.submit(server.translate, texts)
        _until(lambda: httpx.get(f"{server.url}/health").json()["waiting"] == 1)
        server.signal(signal.SIGTERM)
        assert running.result().json()["translatedText"][0] == expected
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{server.url}/health")
        assert server.process.wait(LONGEST) == 0
        assert not server.workers()


def test_a_model_that_answers_otherwise_than_after_its_training_is_not_served(model: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(model, tmp_path / "model"))
    lines = [json.loads(line) for line in (place / "golden.jsonl").read_text().splitlines()]
    for line in lines[: len(lines) // 2]:
        line["output"] = "something else"
    (place / "golden.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = _refused(place, "--languages", "en,es")
    assert "golden samples differ" in done.stderr


def _refused(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dragoman", "serve", *map(str, arguments), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_the_command_of_the_systemd_unit_serves(model: Path, expected: str) -> None:
    lines = (DEPLOY / "dragoman.service").read_text().splitlines()
    (command,) = (line.removeprefix("ExecStart=") for line in lines if line.startswith("ExecStart="))
    program, verb, place, *options = shlex.split(command)
    assert (program, verb, place) == ("/opt/dragoman/bin/dragoman", "serve", "/srv/dragoman/en-es")
    assert options[options.index("--port") + 1] == "5000"
    kept = options[: options.index("--port")] + options[options.index("--port") + 2 :]
    with served(model, *kept, "--languages", "en,es") as server:
        assert server.translate(TEXT).json() == {"translatedText": expected}
