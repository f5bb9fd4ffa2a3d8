"""Contenders given the same weights compute the same numbers. No time is asserted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.bench.contenders import MatrixProducts, Ours, configuration_of, linear_layers, packed_batch
from dragoman.bench.material import padded
from dragoman.bench.preparation import prepare_steps
from dragoman.bench.sentences import Sentences
from dragoman.bench.worker import answer, make_contender
from dragoman.bench.workloads import TRAINING, new_network
from dragoman.engines import VARIABLE
from dragoman.layers import ForwardContext
from tests.bench.materials import TINY, decoding_material, relative_material, steps_material


@pytest.mark.parametrize("workload", TRAINING)
def test_error_and_gradient_norm_are_those_of_pytorch(workload: str, tmp_path: Path) -> None:
    material = steps_material(tmp_path, workload)
    ours, theirs = make_contender("dragoman", material, 1), make_contender("torch", material, 1)
    assert ours.check() == pytest.approx(theirs.check(), rel=1e-4)


@pytest.mark.parametrize("workload", ["language-model", "classifier"])
@pytest.mark.parametrize("block", ["pre", "post"])
def test_relative_positions_of_one_stack_are_those_of_pytorch(workload: str, block: str, tmp_path: Path) -> None:
    """Of biases that tell distances and sides apart, and texts of different lengths."""
    rng, changed = np.random.default_rng(0), replace(TRAINING[workload], block=block, positions="relative")
    network = new_network(changed, TINY)
    dict(network.named_arrays())["blocks.0.self_attention.distance_bias"][...] = 3 * rng.standard_normal((2, 33))
    material = prepare_steps(tmp_path, network, Sentences().batches(changed, TINY), 0.0)
    ours, theirs = make_contender("dragoman", material, 1), make_contender("torch", material, 1)
    assert ours.check() == pytest.approx(theirs.check(), rel=1e-4)


@pytest.mark.parametrize("workload", ["equal", "long", "language-model", "classifier"])
def test_steps_without_dropout_lead_to_the_same_place(workload: str, tmp_path: Path) -> None:
    """Clipping and Adam are the same on both sides too."""
    material = steps_material(tmp_path, workload, dropout=0.0)
    ours, theirs = make_contender("dragoman", material, 1), make_contender("torch", material, 1)
    before = ours.check()
    for contender in (ours, theirs):
        contender.steps(5)
    assert ours.check() == pytest.approx(theirs.check(), rel=1e-3)
    assert ours.check()[0] < before[0]


def test_both_sides_drop_as_much(tmp_path: Path) -> None:
    """Masks differ, so their mean over many steps is compared: what dropout adds to the error."""
    torch = pytest.importorskip("torch")
    material = steps_material(tmp_path, "grouped")
    ours, theirs = make_contender("dragoman", material, 1), make_contender("torch", material, 1)
    assert theirs.network.training
    assert {module.p for module in theirs.network.modules() if type(module).__name__ == "Dropout"} == {0.1}
    batch, index = ours.batches[0], ours.training.loss_index
    dropped = [index.differentiate(ours.network, batch, ForwardContext(noise))[0].error for noise in _noises(200)]
    torch.manual_seed(0)
    theirs_dropped = [float(theirs._error(theirs.batches[0]).detach()) for _ in range(200)]
    assert np.mean(dropped) == pytest.approx(np.mean(theirs_dropped), abs=4 * np.std(dropped) * (2 / 200) ** 0.5)
    assert np.std(dropped) == pytest.approx(np.std(theirs_dropped), rel=0.3)


def _noises(count: int) -> list[Any]:
    from dragoman.operations import DropoutKey

    return [DropoutKey(0, step) for step in range(count)]


@pytest.mark.parametrize("block", ["pre", "post"])
def test_greedy_labels_are_those_of_pytorch(block: str, tmp_path: Path) -> None:
    material = decoding_material(tmp_path, block)
    ours, theirs = make_contender("dragoman", material, 1), make_contender("torch", material, 1)
    written = ours.decode("greedy", 8, 24)
    assert written == theirs.decode("greedy", 8, 24)
    assert written[:3] == ours.decode("greedy", 1, 3) == theirs.decode("greedy", 1, 3)
    assert len({len(labels) for labels in written}) > 3  # some end early, some late


@pytest.mark.parametrize("block", ["pre", "post"])
def test_greedy_labels_are_those_of_ctranslate2(block: str, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is a peer in decoding: pip install 'dragoman[bench]'")
    material = decoding_material(tmp_path, block)
    ours, theirs = make_contender("dragoman", material, 1), make_contender("ctranslate2-float32", material, 1)
    assert ours.decode("greedy", 8, 24) == theirs.decode("greedy", 8, 24)
    pairs = zip(ours.decode("beam", 8, 24), theirs.decode("beam", 8, 24), strict=True)
    assert sum(mine == its for mine, its in pairs) > 6  # it stops by another rule
    assert len(make_contender("ctranslate2-int8", material, 1).decode("greedy", 8, 24)) == 24


@pytest.mark.parametrize("peer", ["torch", "ctranslate2-float32"])
def test_relative_positions_are_the_same_on_both_sides(peer: str, tmp_path: Path) -> None:
    pytest.importorskip(peer.partition("-")[0], reason="a peer in decoding: pip install 'dragoman[bench]'")
    material = relative_material(tmp_path)
    written = make_contender("dragoman", material, 1).decode("greedy", 8, 24)
    assert written == make_contender(peer, material, 1).decode("greedy", 8, 24)
    assert len(set(map(tuple, written))) > 12  # which depend on what is read


def test_the_numba_engine_computes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    material = steps_material(tmp_path, "grouped")
    monkeypatch.setenv(VARIABLE, "numpy")
    reference = make_contender("dragoman", material, 2).check()
    monkeypatch.setenv(VARIABLE, "numba")
    assert make_contender("dragoman", material, 2).check() == pytest.approx(reference, rel=1e-4)


@pytest.mark.parametrize("workload", ["unsorted", "language-model", "classifier"])
def test_the_products_are_those_of_the_network(workload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every `linear` of a pass: as many, and of the same shapes, as the bound is made of."""
    from dragoman.layers import attention, perceptron

    seen = []

    def spy(x: Any, weights: Any, *rest: Any, **options: Any) -> Any:
        seen.append((*x.shape, weights.shape[1]))
        return original(x, weights, *rest, **options)

    original = perceptron.linear
    monkeypatch.setattr(perceptron, "linear", spy)
    monkeypatch.setattr(attention, "linear", spy)
    material = steps_material(tmp_path, workload)
    batch = packed_batch(next(material.batches()))
    new_network(TRAINING[workload], TINY)(batch)
    assert sorted(seen) == sorted(linear_layers(configuration_of(material), batch))


@pytest.mark.parametrize("workload", ["unsorted", "language-model", "classifier"])
def test_the_products_run_on_the_same_shards(workload: str, tmp_path: Path) -> None:
    material = steps_material(tmp_path, workload)
    products, ours = MatrixProducts(material, 2), Ours(material, 2)
    assert [len(shards) for shards in products.layers] == [len(batch.shards(2)) for batch in ours.batches]
    products.steps(3)
    assert products.done == 3


def test_a_padded_batch_says_where_it_is_real() -> None:
    matrix, real = padded(np.array([7, 8, 9]), np.array([0, 1, 3]), fill=-100)
    assert matrix.tolist() == [[7, -100], [8, 9]]
    assert real is not None
    assert real.tolist() == [[True, False], [True, True]]
    assert padded(np.array([7, 8]), np.array([0, 1, 2]))[1] is None


def test_a_worker_answers_every_request(tmp_path: Path) -> None:
    contender = make_contender("dragoman", steps_material(tmp_path / "steps", "equal"), 1)
    assert answer(contender, {"do": "check"}).keys() == {"error", "norm"}
    assert answer(contender, {"do": "steps", "count": 2}).keys() == {"seconds"}
    assert contender.training.optimizer.t == 2
    assert answer(contender, {"do": "memory"})["bytes"] > 2**20
    reader = make_contender("dragoman", decoding_material(tmp_path / "decoding", "pre"), 1)
    asked = {"do": "decode", "method": "beam", "batch": 4, "count": 5, "times": 2}
    assert answer(reader, asked)["labels"] is None
    assert len(answer(reader, {**asked, "show": True})["labels"]) == 5


@pytest.mark.parametrize("workload", ["grouped", "language-model", "classifier"])
def test_material_keeps_batches_as_they_were(workload: str, tmp_path: Path) -> None:
    material = steps_material(tmp_path, workload)
    for saved, batch in zip(material.batches(), Sentences().batches(TRAINING[workload], TINY), strict=True):
        again: Batch = packed_batch(saved)
        assert (again.labels == batch.labels).all()
        assert (again.offsets == batch.offsets).all()
        assert (again.targets == batch.targets).all()
        assert again.per == batch.per
        assert (again.source is None) == (batch.source is None) == (workload != "grouped")
        if again.source is not None and batch.source is not None:
            assert (again.source.labels == batch.source.labels).all()
