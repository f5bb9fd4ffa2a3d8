"""A minimal server around CTranslate2 for benchmarks/serving.py: FastAPI, uvicorn, our weights, our tokenizers.

    python benchmarks/serving_peer.py convert MODEL DIRECTORY
    python benchmarks/serving_peer.py serve MODEL DIRECTORY PORT PROCESSES INTER INTRA

`convert` writes the weights of a model as a CTranslate2 model; it imports PyTorch, so it is a process of its own. Each
request is a call of `translate_batch` on a thread, so that CTranslate2 can run several requests beside each other.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel

BEAM, BATCH = 4, 64
THREADS = 128  # requests that wait for CTranslate2 at a time
LONGEST = 1024  # labels, where positions come from a table
VARIABLE = "DRAGOMAN_SERVING_PEER"  # tells the processes of uvicorn what to load


class TranslateRequest(BaseModel):
    q: str | list[str]
    source: str = ""
    target: str = ""


def convert(model: Path, directory: Path) -> None:
    """Write a CTranslate2 model with the weights of ours."""
    from dragoman.bench.ctranslate2_worker import write_model
    from dragoman.bench.preparation import prepare_decoding
    from dragoman.bench.trained import read_model

    network, sources = read_model(model, 1)
    write_model(prepare_decoding(directory, network, sources, LONGEST), directory / "ctranslate2", None)


def load_translate(model: Path, directory: Path, inter: int, intra: int) -> Callable[[list[str]], list[str]]:
    """What a request needs: texts to labels, labels through CTranslate2, labels to texts."""
    import ctranslate2

    from dragoman.bench.ctranslate2_worker import vocabulary
    from dragoman.data.pair_encoding import add_marks
    from dragoman.tasks.model import load_encoders, load_metadata

    encoders = load_encoders(load_metadata(model), model)
    source, target = encoders["source"], encoders["target"]
    names = vocabulary(source.size)
    translator = ctranslate2.Translator(
        str(directory / "ctranslate2"), compute_type="float32", inter_threads=inter, intra_threads=intra
    )

    def translate(texts: list[str]) -> list[str]:
        sentences = [[names[label] for label in add_marks(labels, None)[0]] for labels in source.encode(texts)]
        longest = 2 * max(map(len, sentences)) + 10
        found = translator.translate_batch(
            sentences, beam_size=BEAM, max_batch_size=BATCH, max_decoding_length=longest, min_decoding_length=0
        )
        written: list[str] = target.decode([[int(token) for token in result.hypotheses[0]] for result in found])
        return written

    return translate


def make_app() -> Any:
    """The application; each process of uvicorn makes its own."""
    import anyio.to_thread
    from fastapi import FastAPI

    model, directory, inter, intra = json.loads(os.environ[VARIABLE])
    translate = load_translate(Path(model), Path(directory), inter, intra)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/translate")
    def translate_text(request: TranslateRequest) -> dict[str, Any]:
        if isinstance(request.q, str):
            return {"translatedText": translate([request.q])[0]}
        return {"translatedText": translate(request.q)}

    return app


def serve(model: str, directory: str, port: str, processes: str, inter: str, intra: str) -> None:
    import uvicorn

    os.environ[VARIABLE] = json.dumps([model, directory, int(inter), int(intra)])
    uvicorn.run(
        "serving_peer:make_app",
        factory=True,
        app_dir=str(Path(__file__).parent),
        port=int(port),
        workers=int(processes),
        loop="asyncio",
        http="h11",
        ws="none",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_level="warning",
    )


if __name__ == "__main__":
    if sys.argv[1] == "convert":
        convert(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        serve(*sys.argv[2:])
