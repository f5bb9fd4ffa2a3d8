"""Every network: its parameters as they begin, its dropout sites, and the path that trains it and searches with it."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

from tools.manifest import inner, models, values

NETWORK_STEPS = 3
BATCH = "optimizer.batch=8"
# networks that small models of the tasks do not have: a task, an architecture, assignments, an error
VARIANTS: dict[str, tuple[str, str, list[str]]] = {
    **{
        f"positions {kind}": ("translation", "transformer", [f"network.positions={kind}", "network.maximum_length=60"])
        for kind in ("half_sinusoid", "interleaved_sinusoid", "one_hot", "learned", "joint", "none")
    },
    **{
        f"tied {kind}": ("translation", "transformer", [f"network.tied={kind}", "data.joint=true"])
        for kind in ("output", "all")
    },
    **{
        f"activation {kind}": ("translation", "transformer", [f"network.activation={kind}"])
        for kind in ("identity", "gelu", "tanh", "logistic")
    },
    "thesis's normalization": ("translation", "transformer", ["network.normalization=outside", "network.epsilon=0.1"]),
    "no kernel for such heads": ("translation", "transformer", ["network.depth=12"]),
    "two hidden layers": ("translation", "transformer", ["network.hidden_layers=2"]),
    "no biases in attention": ("translation", "transformer", ["network.attention_biases=false"]),
    "two layers, reversed": ("translation", "gru", ["network.layers=2", "network.reversed=true"]),
    "both directions": ("translation", "lstm", ["network.bidirectional=true"]),
    **{
        f"score {kind}": ("translation", "gru-attention", [f"network.score={kind}"])
        for kind in ("dot", "general", "additive", "concatenation")
    },
    **{
        f"pooling {kind}": ("classification", "transformer", [f"network.pooling={kind}"])
        for kind in ("mean", "max", "attention", "class_token")
    },
    **{
        f"recurrent pooling {kind}": ("classification", "lstm", [f"network.pooling={kind}"])
        for kind in ("last", "mean", "max", "attention")
    },
    "balanced classes": ("classification", "bag", ["loss.class_weights=balanced"]),
    "two layers of states": ("language-model", "lstm", ["network.layers=2"]),
}


def record() -> Iterator[tuple[str, Any]]:
    warnings.simplefilter("ignore")
    seen = set()
    for task in inner.tasks().values():
        for name, architecture in task.architectures.items():
            blocks = ("pre", "post") if "block" in architecture.settings.model_fields else (None,)
            for block in blocks:
                more = [] if block is None else [f"network.block={block}"]
                network, found = of_task(task, name, [*more, "network.dropout=0.1"])
                seen.add(type(network).__name__)
                yield f"{task.name} / {name}{f' / {block}-norm' if block else ''}", found
    for what, (task_name, name, options) in VARIANTS.items():
        try:
            yield f"variants / {task_name} / {name} / {what}", of_task(inner.tasks()[task_name], name, options)[1]
        except Exception as error:  # a setting that is refused stays refused
            yield f"variants / {task_name} / {name} / {what}", f"{type(error).__name__}: {error}"
    for name, (kind, configured, batch, error) in inner.document_networks().items():
        seen.add(name)
        yield f"documents / {name}", described(kind(configured), [batch], error)
    yield "classes", sorted(inner.network_classes())
    yield "classes that are not in the tables", sorted(inner.network_classes() - seen)


def of_task(task: Any, name: str, options: list[str]) -> tuple[Any, dict[str, Any]]:
    """The network of a small training of a task, and what is recorded of it."""
    has = task.architectures[name].settings.model_fields
    options = [each for each in options if each != "network.dropout=0.1" or "dropout" in has]
    training = inner.begun(models.settings(task.name, name, BATCH, *options))
    batches = list(itertools.islice(training.batches, NETWORK_STEPS))
    return training.network, described(training.network, batches, training.error)


def described(network: Any, batches: list[Any], error: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"class": type(network).__name__, "count": network.count()}
    found["configuration"] = repr(network.configuration)
    found["parameters"] = [
        {"name": name, "shape": list(each.value.shape), "start": each.slot.start, "initial": values.array(each.value)}
        for name, each in network.named_parameters()
    ]
    found["saved"] = {name: values.array(each) for name, each in network.named_arrays()}
    found["dropout sites"] = {name: sites for name, layer in network.named_layers() if (sites := sites_of(layer))}
    found["path"] = values.plain(inner.path_of(network, batches[0], error))
    inner.scatter(network)
    found["plain"] = values.array(inner.output(network, batches[0]))
    with inner.paths_counted() as counts:
        for step, batch in enumerate(batches * (NETWORK_STEPS // len(batches))):
            loss, gradient = inner.differentiate(network, batch, error, step)
            found[f"step {step}"] = {"loss": values.plain(loss), "gradient": values.array(gradient)}
        if inner.searches(network):
            for width in (1, 3):
                found[f"search {width}"] = values.plain(inner.searched(network, batches[0], width))
    found["paths taken"] = dict(sorted(counts.items()))
    return found


def sites_of(layer: Any) -> dict[str, Any]:
    """What a layer says of dropout: attributes called site, sites, output_site and the like, and the rate."""
    sites = {name: values.plain(value) for name, value in vars(layer).items() if "site" in name}
    rate = vars(layer).get("dropout")
    return {**sites, "rate": rate} if sites and isinstance(rate, float) else sites
