"""Train `lstm-attention` and `gru-attention` beside PyTorch twins: is a low score the cell's fault, or ours?

    python benchmarks/lstm_twin.py phrases --epochs 4 --rates 0.002,0.005

All contenders get the same pairs, sizes, batches in the same order, schedule, clipping, dropout rate, label smoothing
and moving average of the weights. They differ in this:

ours    Dragoman
twin    nn.LSTM, nn.LSTMCell (or nn.GRU, nn.GRUCell), autograd and torch.optim.Adam, with our initial values
torch   the same with PyTorch's default initial values

Before training, the twin's error and gradient are compared with ours, without dropout. An LSTM's must be equal.
PyTorch's GRU applies the reset gate after the product, another formula: its error is close, its gradient differs.
Prints the validation error after every epoch, and at the end accuracy and BLEU of greedy outputs on the same part. One
thread each. `rnn` has no twin here: `--cells rnn --contenders ours`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import sacrebleu
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.batch import END, START, Batch
from dragoman.bench.material import IGNORED, padded
from dragoman.data.batching import BatchStream
from dragoman.decoding import Greedy, decode
from dragoman.graph import Array
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.networks import EncoderDecoder
from dragoman.networks.encoder_decoder import EMBEDDING_DEVIATION
from dragoman.optimization import Schedule
from dragoman.tasks import components
from dragoman.tasks.configuration import configuration
from dragoman.tasks.preparation import Preparation
from dragoman.training import Callback, Validation
from dragoman.training.loop import Training

BLOCKS = {  # ours in PyTorch's order, with the sign that makes our gate PyTorch's
    "lstm": (("input", 1), ("forget", 1), ("memory", 1), ("output", 1)),
    "gru": (("reset", 1), ("update", -1), ("state", 1)),
}
LONGEST = 40  # labels of an output


class Twin(nn.Module):
    """A bidirectional encoder, and a decoder that attends by the additive score before every step (book, (7.22))."""

    def __init__(self, c: Any) -> None:
        super().__init__()
        self.cell, self.dropout, half = c.cell, c.dropout, c.units // 2
        self.source = nn.Embedding(c.source_vocabulary, c.depth)
        self.reference = nn.Embedding(c.target_vocabulary, c.depth)
        layers, cells = {"lstm": (nn.LSTM, nn.LSTMCell), "gru": (nn.GRU, nn.GRUCell)}[c.cell]
        self.encoder = layers(c.depth, half, batch_first=True, bidirectional=True)
        self.decoder = cells(c.depth + c.units, c.units)
        self.query = nn.Linear(c.units, c.units, bias=False)
        self.key = nn.Linear(c.units, c.units, bias=False)
        self.score = nn.Linear(c.units, 1, bias=False)
        self.output = nn.Linear(c.units, c.target_vocabulary)
        for name, parameter in self.named_parameters():
            if "bias_hh" in name:  # a second bias of the same gates; ours has one
                nn.init.zeros_(parameter)
                parameter.requires_grad_(False)

    def drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training)

    def encode(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Any]:
        """Rows and keys of the sources [B, S, m], where they are real, and the decoder's first state."""
        labels, _ = padded(batch.labels, batch.offsets)
        x = self.drop(self.source(torch.from_numpy(labels)))
        lengths = torch.from_numpy(np.diff(batch.offsets))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        rows, last = self.encoder(packed)
        v, _ = pad_packed_sequence(rows, batch_first=True)
        hidden = torch.arange(v.shape[1]) >= lengths[:, None]
        joined = tuple(torch.cat((part[0], part[1]), dim=1) for part in (last if self.cell == "lstm" else (last,)))
        return v, self.key(v), hidden, joined

    def step(self, y: Tensor, encoded: tuple[Tensor, Tensor, Tensor], state: Any) -> Any:
        v, keys, hidden = encoded
        scores = self.score(torch.tanh(self.query(state[0])[:, None] + keys))[..., 0]
        alpha = scores.masked_fill(hidden, -torch.inf).softmax(dim=1)
        x = torch.cat((y, (alpha[:, None] @ v)[:, 0]), dim=1)
        return self.decoder(x, state) if self.cell == "lstm" else (self.decoder(x, state[0]),)

    def forward(self, batch: Batch) -> Tensor:
        """Logits [B, T, V]"""
        *encoded, state = self.encode(batch.source)
        labels, _ = padded(batch.labels, batch.offsets)
        y = self.drop(self.reference(torch.from_numpy(labels)))
        states = []
        for t in range(y.shape[1]):
            state = self.step(y[:, t], encoded, state)
            states.append(state[0])
        return self.output(self.drop(torch.stack(states, dim=1)))

    def loss(self, batch: Batch, smoothing: float = 0.0) -> tuple[Tensor, int, int]:
        """The mean error of the targets, how many are predicted, and how many there are."""
        targets = torch.from_numpy(padded(batch.targets, batch.offsets, IGNORED)[0])
        logits, real = self(batch), targets != IGNORED
        error = F.cross_entropy(logits[real], targets[real], label_smoothing=smoothing)
        return error, int((logits.argmax(dim=2) == targets)[real].sum()), int(real.sum())

    @torch.no_grad()
    def greedy(self, sources: list[Array]) -> list[Array]:
        *encoded, state = self.encode(Batch.pack(sources))
        label, written = torch.full((len(sources),), START), []
        for _ in range(LONGEST):
            state = self.step(self.reference(label), encoded, state)
            logits = self.output(state[0])
            logits[:, :END] = -torch.inf
            label = logits.argmax(dim=1)
            written.append(label)
            if (torch.stack(written) == END).any(dim=0).all():
                break
        rows = torch.stack(written, dim=1).numpy()
        return [row[: np.argmax(row == END)] if (row == END).any() else row for row in rows]


def pairs_of_parameters(
    network: EncoderDecoder, twin: Twin, arrays: dict[str, Array]
) -> Iterator[tuple[Tensor, Array]]:
    """(a parameter of the twin, what corresponds to it in arrays that are named as our parameters)"""
    blocks = BLOCKS[twin.cell]
    cells = {"encoder.forward.0": (twin.encoder, "_l0"), "encoder.backward.0": (twin.encoder, "_l0_reverse")}
    for name, (module, ending) in {**cells, "decoder.cells.forward.0": (twin.decoder, "")}.items():
        for ours, theirs in (("weights", "weight_ih"), ("recurrent_weights", "weight_hh"), ("biases", "bias_ih")):
            parts = [sign * arrays[f"{name}.{gate}.{ours}"].T for gate, sign in blocks]
            yield getattr(module, theirs + ending), np.concatenate(parts)
    yield twin.source.weight, arrays["source_embedding.table"]
    yield twin.reference.weight, arrays["reference_embedding.table"]
    yield twin.query.weight, arrays["decoder.attention.weights"].T
    yield twin.key.weight, arrays["decoder.attention.key_weights"].T
    yield twin.score.weight, arrays["decoder.attention.score_weights"][None]
    yield twin.output.weight, arrays["output.weights"].T
    yield twin.output.bias, arrays["output.biases"]


def compared(network: EncoderDecoder, twin: Twin, batch: Batch) -> str:
    """The relative difference of error and gradient on one batch, without dropout."""
    loss, gradient = LossIndex().differentiate(network, batch)
    twin.eval()
    error, _, _ = twin.loss(batch)
    error.backward()
    kept = network.theta.values.copy()
    network.theta.assign(gradient)
    gradients = {name: array.copy() for name, array in network.named_arrays()}
    network.theta.assign(kept)
    apart = [
        np.abs(ours - theirs.grad.numpy()).max() / np.abs(ours).max()
        for theirs, ours in pairs_of_parameters(network, twin, gradients)
    ]
    return f"error {loss.error:.6f} and {error.item():.6f}, gradients apart by {max(apart):.1e} of their largest value"


def bleu(prepared: Preparation, written: list[Array]) -> float:
    part, tokenizer = prepared.dataset.part("validation"), prepared.dataset.encoders["target"]
    return sacrebleu.corpus_bleu(tokenizer.decode(written), [list(part.texts("target"))]).score


class Contest:
    """One cell at one rate: the data, the settings, and each contender's training."""

    def __init__(self, arguments: argparse.Namespace, cell: str, rate: float) -> None:
        given = {
            "architecture": cell if arguments.plain else f"{cell}-attention",
            "preset": "small",
            "seed": arguments.seed,
            "threads": 1,
            "data": {"files": [arguments.file], "shares": [0.8, 0.1, 0.1], "protect": False},
            "network": {"dropout": 0.1},
            "optimizer": {"rate": rate},
            "stopping": {"epochs": arguments.epochs},
        }
        self.prepared = Preparation(given, configuration(given), None, Callback(), lambda text: None)
        self.settings, self.network = self.prepared.settings, self.prepared.network
        if arguments.deviation is not None:
            drawn = self.network.configuration.depth**-0.5 if cell == "rnn" else EMBEDDING_DEVIATION
            for embedding in (self.network.source_embedding, self.network.reference_embedding):
                embedding.table.value *= arguments.deviation / drawn
        part, tokenizer = self.prepared.dataset.part("validation"), self.prepared.dataset.encoders["source"]
        marks = lambda labels: np.concatenate(([START], labels, [END]))  # noqa: E731
        self.sources = [marks(labels) for labels in tokenizer.encode(list(part.texts("source")))]

    @property
    def schedule(self) -> Schedule:
        return components.schedule(self.settings.optimizer)

    def batches(self) -> BatchStream:
        settings = self.settings
        return BatchStream(
            self.prepared.dataset.part("training"), components.batching(settings.optimizer), settings.seed
        )

    def validation(self) -> Iterator[Batch]:
        return components.fixed_batches(self.prepared.dataset.part("validation"))

    def ours(self) -> tuple[list[float], float, float]:
        s = self.settings
        training = Training(
            self.network,
            self.batches(),
            components.optimizer(s.optimizer),
            self.schedule,
            components.stopping(s.stopping),
            LossIndex(CrossEntropy(s.loss.smoothing)),
            components.step_settings(s.optimizer, s.seed),
            validation=Validation(self.validation),
        )
        records = training.run().records
        self.network.theta.assign(training.step.average)
        best = [found[0].labels for found in decode(self.network, self.sources, Greedy(), LONGEST, batch=128)]
        losses = [record.validation for record in records]
        return [loss.error for loss in losses], losses[-1].accuracy, bleu(self.prepared, best)

    def twin(self, copy: bool = True) -> tuple[list[float], float, float]:
        s = self.settings
        torch.manual_seed(s.seed)
        twin = Twin(self.network.configuration)
        if copy:
            with torch.no_grad():
                for parameter, array in pairs_of_parameters(self.network, twin, dict(self.network.named_arrays())):
                    parameter.copy_(torch.from_numpy(array))
            print("  " + compared(self.network, twin, next(iter(self.batches()))), flush=True)
        learnt = [parameter for parameter in twin.parameters() if parameter.requires_grad]
        average = [parameter.detach().clone() for parameter in learnt]
        adam, schedule = torch.optim.Adam(learnt, betas=(s.optimizer.beta1, s.optimizer.beta2)), self.schedule
        stream, errors, accuracy, t = self.batches(), [], 0.0, 0
        supply = iter(stream)
        while len(errors) < s.stopping.epochs:
            twin.train()
            error, _, _ = twin.loss(next(supply), s.loss.smoothing)
            adam.zero_grad()
            error.backward()
            nn.utils.clip_grad_norm_(learnt, s.optimizer.clip)
            t += 1
            for group in adam.param_groups:
                group["lr"] = schedule(t)
            adam.step()
            decay = min(s.optimizer.averaging, t / (t + 9))
            with torch.no_grad():
                for mean, parameter in zip(average, learnt, strict=True):
                    mean.lerp_(parameter, 1 - decay)
            if stream.position == stream.batches_in_epoch:
                kept = [parameter.detach().clone() for parameter in learnt]
                assign(learnt, average)
                found, accuracy = self._evaluated(twin)
                errors.append(found)
                if len(errors) < s.stopping.epochs:
                    assign(learnt, kept)
        order = np.argsort([len(source) for source in self.sources], kind="stable")
        written: list[Any] = [None] * len(order)
        for some in np.split(order, range(128, len(order), 128)):
            for i, labels in zip(some, twin.greedy([self.sources[i] for i in some]), strict=True):
                written[i] = labels
        return errors, accuracy, bleu(self.prepared, written)

    @torch.no_grad()
    def _evaluated(self, twin: Twin) -> tuple[float, float]:
        twin.eval()
        found = np.array([(error.item() * n, hits, n) for error, hits, n in map(twin.loss, self.validation())])
        error, hits, n = found.sum(axis=0)
        return error / n, hits / n

    def run(self, contender: str) -> tuple[list[float], float, float]:
        return self.ours() if contender == "ours" else self.twin(copy=contender == "twin")


def assign(parameters: list[Tensor], values: list[Tensor]) -> None:
    with torch.no_grad():
        for parameter, value in zip(parameters, values, strict=True):
            parameter.copy_(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="pairs, or the built-in corpus `phrases`")
    parser.add_argument("--cells", default="lstm,gru")
    parser.add_argument("--rates", default="0.005")
    parser.add_argument("--contenders", default="ours,twin,torch")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deviation", type=float, help="of the initial embeddings, instead of what the network draws")
    parser.add_argument("--plain", action="store_true", help="without attention, of which there is no twin")
    arguments = parser.parse_args()
    if arguments.plain and arguments.contenders != "ours":
        parser.error("--plain needs --contenders ours")
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for cell in arguments.cells.split(","):
            for rate in map(float, arguments.rates.split(",")):
                for contender in arguments.contenders.split(","):
                    began, contest = time.monotonic(), Contest(arguments, cell, rate)
                    errors, accuracy, score = contest.run(contender)
                    by_epoch = ", ".join(f"{error:.3f}" for error in errors)
                    print(
                        f"| {cell} | {contender} | {rate:g} | {by_epoch} | {accuracy:.4f} | {score:.1f} | "
                        f"{time.monotonic() - began:.0f} s |",
                        flush=True,
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
