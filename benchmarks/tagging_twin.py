"""The PyTorch twin of benchmarks/tagging.py: torch.nn's own modules on Dragoman's batches."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dragoman.batch import Batch
from dragoman.data.batching import Batching, BatchStream, plan_epoch
from dragoman.data.dataset import Dataset
from dragoman.data.readers.conll import SEPARATOR
from dragoman.tasks.components import EVALUATED, batching, fixed_batches, schedule
from dragoman.tasks.preparation import Preparation
from dragoman.tasks.tagging.evaluation import TagScores

IGNORED = -100  # the target of a piece that is not the first of its word


class Twin(nn.Module):
    """An embedding, a bidirectional LSTM and a linear layer of the sizes of our network."""

    def __init__(self, network: Any, vocabulary: int, outputs: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, network.depth)
        nn.init.normal_(self.embedding.weight, std=network.depth**-0.5)
        self.drop = nn.Dropout(network.dropout)
        dropout = network.dropout if network.layers > 1 else 0.0
        self.lstm = nn.LSTM(
            network.depth, network.units // 2, network.layers, bidirectional=True, batch_first=True, dropout=dropout
        )
        self.output = nn.Linear(network.units, outputs)

    def forward(self, labels: Tensor, lengths: Tensor) -> Tensor:
        """labels [B, T], lengths [B] -> logits [B, T, tags]"""
        embedded = self.drop(self.embedding(labels))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        logits: Tensor = self.output(pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0])
        return logits


def run(prepared: Preparation, seed: int, rate: float) -> dict[str, Any]:
    """Train the twin, keep the weights with the lowest validation error, and test them."""
    torch.manual_seed(seed)
    s: Any = prepared.settings
    dataset, optimizer = prepared.dataset, s.optimizer
    model = Twin(s.network, **prepared.task.sizes(dataset.encoders))
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(optimizer.averaging))
    began = time.perf_counter()
    best = _train(model, average, dataset, s, seed, rate)
    seconds = time.perf_counter() - began
    scores = _test(average, dataset)
    return {
        "scores": scores,
        "validation_error": best,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "steps": optimizer.schedule_steps,
        "seconds": seconds,
    }


def _train(model: nn.Module, average: AveragedModel, dataset: Dataset, s: Any, seed: int, rate: float) -> float:
    """Leave the best moving average in `average`; its validation error."""
    optimizer = s.optimizer
    rates = schedule(optimizer.model_copy(update={"rate": rate}))
    adam = torch.optim.Adam(model.parameters(), rate, betas=(optimizer.beta1, optimizer.beta2))
    error_of = nn.CrossEntropyLoss(label_smoothing=s.loss.smoothing)
    stream = BatchStream(dataset.part("training"), batching(optimizer), seed)
    best, kept = math.inf, average.state_dict()
    for step in range(1, optimizer.schedule_steps + 1):
        model.train()
        labels, lengths, targets = _tensors(next(stream))
        adam.param_groups[0]["lr"] = rates(step)
        adam.zero_grad()
        error_of(model(labels, lengths).flatten(0, 1), targets.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), optimizer.clip)
        adam.step()
        average.update_parameters(model)
        if step % stream.batches_in_epoch == 0:
            measured = _evaluate(average, dataset, "validation")[0]
            if measured < best:
                best, kept = measured, {name: value.clone() for name, value in average.state_dict().items()}
    average.load_state_dict(kept)
    return best


def _tensors(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Padded labels [B, T], lengths [B] and targets [B, T]."""
    assert batch.targets is not None
    assert batch.loss_weights is not None
    rows, longest = len(batch), int(batch.lengths.max())
    labels, targets = np.zeros((rows, longest), np.int64), np.full((rows, longest), IGNORED, np.int64)
    for i, (a, b) in enumerate(zip(batch.offsets[:-1], batch.offsets[1:], strict=True)):
        labels[i, : b - a] = batch.labels[a:b]
        targets[i, : b - a] = np.where(batch.loss_weights[a:b] > 0, batch.targets[a:b], IGNORED)
    return torch.from_numpy(labels), torch.from_numpy(batch.lengths), torch.from_numpy(targets)


def _evaluate(model: nn.Module, dataset: Dataset, part: str) -> tuple[float, list[Any]]:
    """The mean error of a word; (predicted, true) tags of the words of each batch."""
    model.eval()
    error, words, found = 0.0, 0, []
    with torch.no_grad():
        for batch in fixed_batches(dataset.part(part)):
            labels, lengths, targets = _tensors(batch)
            logits = model(labels, lengths)
            error += float(nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum"))
            words += int((targets >= 0).sum())
            found.append((logits.argmax(-1)[targets >= 0].numpy(), targets[targets >= 0].numpy()))
    return error / words, found


def _test(model: nn.Module, dataset: Dataset) -> TagScores:
    """The scores of the testing part, sentence by sentence in the order of the batches: scores are sums over them."""
    part, classes = dataset.part("testing"), dataset.encoders["tags"]
    plan, texts = plan_epoch(part.lengths(), Batching(EVALUATED), 0, 0), list(part.texts("sentence"))
    predicted, true, unseen = [], [], []
    for items, (said, right) in zip(plan, _evaluate(model, dataset, "testing")[1], strict=True):
        start = 0
        for item in items:
            words = texts[item].split(SEPARATOR)
            predicted.append([classes.names[i] for i in said[start : start + len(words)]])
            true.append([classes.names[i] for i in right[start : start + len(words)]])
            unseen += [word not in dataset.encoders["words"] for word in words]
            start += len(words)
        assert start == len(said), "a sentence was cut; raise data.maximum"
    return TagScores(classes.names, true, predicted, np.array(unseen))
