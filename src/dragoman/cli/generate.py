"""dragoman generate: a language model writes on from a text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.engine import choose_engine
from dragoman.errors import ConfigurationError


def generate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A language model that `dragoman train` wrote.")],
    prompt: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="What the text begins with; - reads standard input.")
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, help="Tokens to write at most.")] = 500,
    temperature: Annotated[
        float, typer.Option(help="Below 1 is more cautious, above 1 more varied; 0 is --greedy.")
    ] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Draw from the k most probable tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw from the most probable tokens that add up to this probability.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed writes the same text.")] = 0,
    stop: Annotated[
        list[str] | None, typer.Option(help="End before this text; \\n is a line end. May be given several times.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="How many texts to write.")] = 1,
    greedy: Annotated[bool, typer.Option("--greedy", help="Always write the most probable token.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per text and line: prompt, text, seed, sample.")
    ] = False,
) -> None:
    """Write on from a text, printed as it is written. Ctrl-C ends it."""
    from dragoman.tasks.language_model.generator import GenerationOptions, TextGenerator

    if greedy and (top_k is not None or top_p is not None):
        raise ConfigurationError("--greedy draws nothing, so it takes no --top-k and no --top-p")
    if greedy and samples > 1:
        raise ConfigurationError("--greedy always writes the same text; leave --samples out")
    ends = tuple(text.replace("\\n", "\n").replace("\\t", "\t") for text in stop or ())
    options = GenerationOptions(tokens, 0.0 if greedy else temperature, top_k, top_p, seed, ends)
    generator = TextGenerator.load(model)
    choose_engine(one_text=True)
    beginning = sys.stdin.read() if prompt == "-" else prompt or ""
    for number, pieces in enumerate(generator.samples(beginning, samples, options)):
        if as_json:
            found = {"prompt": beginning, "text": "".join(pieces), "seed": seed, "sample": number}
            typer.echo(json.dumps(found, ensure_ascii=False))
            continue
        if number:
            typer.echo("\n---")
        sys.stdout.write(beginning)
        for text in pieces:
            sys.stdout.write(text)
            sys.stdout.flush()
        sys.stdout.write("\n")
        sys.stdout.flush()
