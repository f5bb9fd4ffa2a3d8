"""A sample of sequence transduction (thesis, Figure 2.1), and its translation written word by word (book, 7.17)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dragoman.analysis.figures.diagram import Diagram, Part
from dragoman.analysis.figures.picture import plain
from dragoman.batch import END, START, Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array
from dragoman.networks import Transformer
from dragoman.wording import counted

Words = Callable[[int], str]  # of a label


def sample_diagram(batch: Batch, network: Transformer, source_word: Words, reference_word: Words) -> Diagram:
    """Source and reference below, the network between, and above each position the label that comes next (2.1)."""
    if batch.source is None or batch.targets is None or len(batch) != 1:
        raise ShapeError("a sample is one pair with its targets; build it with Batch.pairs")
    source, reference, targets = batch.source.labels, batch.labels, batch.targets
    diagram = Diagram((0.18, 0.34), equal=False)
    start = len(source) + 1
    for j, label in enumerate(source):
        diagram.box(f"source {j}", j, 0, Part("embedding", plain(source_word(int(label))), f"{label}"))
    for j, (label, target) in enumerate(zip(reference, targets, strict=True)):
        text, following = plain(reference_word(int(label))), plain(reference_word(int(target)))
        diagram.box(f"reference {j}", start + j, 0, Part("perceptron", text, f"{label}"))
        diagram.box(f"target {j}", start + j, 2, Part("output", following, f"$e_{{{target}}}$"))
        diagram.arrow(f"reference {j}", "network", sides=("north", "south"))
        diagram.arrow("network", f"target {j}", sides=("north", "south"))
    for j in range(len(source)):
        diagram.arrow(f"source {j}", "network", sides=("north", "south"))
    last = start + len(reference) - 1
    about = f"{network.count():,} parameters"
    diagram.box("network", 0, 1, Part("attention", type(network).__name__, about), until=last)
    diagram.note("source", 0, -1, f"source sequence $x_S$, $m_S$ = {len(source)}", until=len(source) - 1)
    diagram.note("reference", start, -1, f"reference sequence $x_R$, $m_R$ = {len(reference)}", until=last)
    size = network.configuration.target_vocabulary
    diagram.note("target", start, 3, rf"target sequence $\hat{{y}}$: unit vectors, $v_R$ = {size}", until=last)
    return diagram


def written_steps(network: Transformer, source: Array, most: int = 12) -> list[tuple[int, float]]:
    """The labels that greedy search writes, one iteration after the other, each with its probability (7.34)."""
    steps: list[tuple[int, float]] = []
    state, labels = network.encode(Batch.pack([source])), np.array([START])
    while len(steps) < most and labels[0] != END:
        logits, state = network.step(state, labels)
        shares = np.exp(logits[0] - logits[0].max())
        labels = logits.argmax(axis=1)
        steps.append((int(labels[0]), float(shares[labels[0]] / shares.sum())))
    return steps


def writing_diagram(
    network: Transformer, source: Sequence[str], steps: Sequence[tuple[str, float]], shown: int = 4
) -> Diagram:
    """The encoder once, then the decoder in every iteration on all that was written so far (Figure 7.17)."""
    c, steps = network.configuration, list(steps)[:shown]
    diagram = Diagram((0.5, 0.4))
    diagram.text("source", 0, 0, plain("\n".join(source)))
    diagram.box("encoder", 0, 1, Part("perceptron", "Encoder", f"{counted(c.layers, 'block')}, $d$ = {c.depth}"))
    diagram.box("z", 0, 2, Part("context", "$z^*$", f"{len(source)} × {c.depth}"))
    diagram.chain("source", "encoder", "z")
    written = ["<start>"]
    for t, (word, probability) in enumerate(steps, start=1):
        diagram.text(f"read {t}", t, 0, plain("\n".join(written)))
        diagram.box(f"decoder {t}", t, 1, Part("attention", "Decoder", f"iteration {t}"))
        diagram.box(f"word {t}", t, 3, Part("output", plain(word), f"probability {probability:.2f}"))
        diagram.chain(f"read {t}", f"decoder {t}", f"word {t}")
        diagram.arrow("z", f"decoder {t}", (t - 0.25, 2), sides=("east", "north"), at=(0, -0.3))
        if t > 1:
            path = ((t - 0.5, 3), (t - 0.5, 0))
            diagram.arrow(f"word {t - 1}", f"read {t}", *path, sides=("east", "west"), dashed=True, colour="0.45")
        written.append(word)
    return diagram
