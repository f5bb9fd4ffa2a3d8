"""The custom-net sheet: its closed forms against numerical derivatives, and what happens to them as printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex2mathml.converter import convert

from dragoman.analysis.audit import sheet_corrections, sheet_encoder, sheet_two_layer
from dragoman.analysis.audit.claim import CLAIMS, CORRECTIONS, VISIBLY_WRONG, Claim, Correction, disagreement
from dragoman.analysis.closed_forms import (
    class_row,
    class_token_gradients,
    class_token_paths,
    softmax,
    softmax_jacobian,
    standardize,
    two_layer_gradients,
)
from dragoman.graph import Array, Tensor
from dragoman.graph.gradient_check import DIFFERENCE_TOLERANCE, central_differences, complex_step

SHEET = {module.__name__ for module in (sheet_two_layer, sheet_encoder, sheet_corrections)}
OURS = [claim for claim in CLAIMS if claim.check.__module__ in SHEET]
ERRATA = [correction for correction in CORRECTIONS if correction.check.__module__ in SHEET]
LEDGER = Path(__file__).parents[2] / "docs" / "ledger.tsv"

Arrays = dict[str, Array]
Gradients = Callable[..., Arrays]


def two_layer_sample(n: int = 4, m: int = 3, d: int = 5, k: int = 6, seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    shapes = {"X": (n, m), "W1": (d, m), "B1": (d, n), "W2": (k, d * n), "B2": (k,)}
    sample = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    return {**sample, "y": rng.dirichlet(np.ones(k))}


def encoder_sample(n: int = 6, d0: int = 3, d: int = 5, classes: int = 4, seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    square = dict.fromkeys(("W_q", "W_k", "W_v"), (d, d))
    shapes = {"X": (n, d0), "W1": (d0, d), "class_token": (d,), **square, "W2": (d, classes)}
    sample = {name: rng.standard_normal(shape) * 0.7 for name, shape in shapes.items()}
    return {**sample, "y": rng.dirichlet(np.ones(classes))}


SAMPLES: list[tuple[Gradients, Arrays]] = [
    (two_layer_gradients, two_layer_sample()),
    (class_token_gradients, encoder_sample()),
]


def numerical(method: Callable[..., Array], gradients: Gradients, sample: Arrays) -> Arrays:
    """The derivative of the closed form's own loss by every parameter."""
    reference = {}
    for name in sample.keys() - {"X", "y"}:
        tensor = Tensor(sample[name])

        def loss(name: str = name, tensor: Tensor = tensor) -> Array:
            return gradients(**{**sample, name: tensor.value})["loss"]

        reference[name] = method(loss, tensor)
    return reference


def errors(found: Arrays, reference: Arrays) -> Arrays:
    return {name: disagreement(found[name], reference[name]) for name in reference}


# The closed forms are the derivatives of their loss


@pytest.mark.ledger("C-1.b3-W2", "C-1.b5-W1", "C-1.b6-B2", "C-1.b7-B1")
@pytest.mark.ledger("C-2.b1-W2", "C-2.b2-Wv", "C-2.b6-Wk", "C-2.b8-Wq", "C-2.b11-cls", "C-2.b12-W1")
@pytest.mark.parametrize(("gradients", "sample"), SAMPLES)
@pytest.mark.parametrize(("method", "allowed"), [(central_differences, DIFFERENCE_TOLERANCE), (complex_step, 1e-14)])
def test_closed_form_is_the_derivative(
    gradients: Gradients, sample: Arrays, method: Callable[..., Array], allowed: float
) -> None:
    reference = numerical(method, gradients, sample)
    found = errors(gradients(**sample), reference)
    assert len(found) == len(sample) - 2
    assert max(found.values()) < allowed, found


@pytest.mark.ledger("C-1.0-shapes", "C-1.b3-W2", "C-1.b5-W1", "C-1.b6-B2", "C-1.b7-B1")
@given(sizes=st.tuples(*[st.integers(1, 3)] * 4), seed=st.integers(0, 99))
def test_two_layer_closed_form_at_any_size(sizes: tuple[int, int, int, int], seed: int) -> None:
    sample = two_layer_sample(*sizes, seed=seed)
    reference, found = numerical(complex_step, two_layer_gradients, sample), two_layer_gradients(**sample)
    for name, expected in reference.items():
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-13, err_msg=name, strict=True)


@pytest.mark.ledger("C-2.0-shapes", "C-2.b11-cls", "C-2.b12-W1")
@given(sizes=st.tuples(*[st.integers(1, 3)] * 4), seed=st.integers(0, 99))
def test_encoder_closed_form_at_any_size(sizes: tuple[int, int, int, int], seed: int) -> None:
    sample = encoder_sample(*sizes, seed=seed)
    reference, found = numerical(complex_step, class_token_gradients, sample), class_token_gradients(**sample)
    for name, expected in reference.items():
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-13, err_msg=name, strict=True)


@pytest.mark.ledger("C-1.f8-loss", "C-2.f9-loss")
def test_loss_of_a_closed_form_is_the_sheets() -> None:
    one, two = two_layer_sample(), encoder_sample()
    staged = sheet_two_layer.two_layer_stages(**one)
    assert two_layer_gradients(**one)["loss"] == pytest.approx(staged["loss"], rel=1e-14)
    staged = sheet_encoder.encoder_stages(**two)
    assert class_token_gradients(**two)["loss"] == pytest.approx(staged["loss"], rel=1e-14)


@pytest.mark.parametrize(("gradients", "sample"), SAMPLES)
def test_large_scores_do_not_overflow(gradients: Gradients, sample: Arrays) -> None:
    large = {**sample, "W2": 1e4 * sample["W2"]}
    assert all(np.isfinite(array).all() for array in gradients(**large).values())


@pytest.mark.ledger("C-1.f1-standardise", "C-2.f1-standardise")
@pytest.mark.parametrize("constant", [0.0, 0.1, -1 / 3, 7.7, 1e8 + 0.1])
@pytest.mark.parametrize(("gradients", "sample"), SAMPLES)
def test_constant_input_has_no_direction(gradients: Gradients, sample: Arrays, constant: float) -> None:
    """The sheet divides by 0 here. Standardised to 0, the input gives W1 nothing to learn from, and nothing is NaN."""
    found = gradients(**{**sample, "X": np.full_like(sample["X"], constant)})
    np.testing.assert_array_equal(found["W1"], 0)
    assert all(np.isfinite(array).all() for array in found.values())


# Section 1: the conditions


@pytest.mark.ledger("C-1.b3-W2", "C-1.b5-W1", "C-1.b6-B2", "C-1.b7-B1")
def test_section_1_holds_only_for_a_target_that_totals_1() -> None:
    sample = two_layer_sample()
    doubled = {**sample, "y": 2 * sample["y"]}
    reference = numerical(complex_step, two_layer_gradients, doubled)
    assert min(errors(two_layer_gradients(**doubled), reference).values()) > 0.3
    # s must become s sum y: s (2) - 2 y = 2 (s - y)
    repaired = {name: 2 * array for name, array in two_layer_gradients(**sample).items()}
    assert max(errors(repaired, reference).values()) < 1e-14


@pytest.mark.ledger("C-1.f4-flatten", "C-1.b5-W1", "C-1.b7-B1")
def test_the_way_back_must_fold_in_the_order_of_flatten() -> None:
    c = two_layer_sample()
    found = two_layer_gradients(**c)
    slope = c["W1"] @ standardize(c["X"]).T + c["B1"] > 0
    row_major = (found["B2"] @ c["W2"]).reshape(slope.shape) * slope
    column_major = (found["B2"] @ c["W2"]).reshape(slope.shape, order="F") * slope
    reference = numerical(complex_step, two_layer_gradients, c)
    assert disagreement(row_major, reference["B1"]) < 1e-14
    assert disagreement(column_major, reference["B1"]) > 0.5
    assert disagreement(column_major @ standardize(c["X"]), reference["W1"]) > 0.5


# Section 1: the chain rule on explicit Jacobians, each factor differentiated numerically and by itself


def jacobian(function: Callable[[Array], Array], x: Array) -> Array:
    """d function_i / d x_j by the complex step, with the axes of both: the tensors the sheet writes as factors."""
    tensor = Tensor(x)
    value = function(x)
    rows = [complex_step(lambda i=i: function(tensor.value).flat[i], tensor) for i in range(value.size)]
    return np.array(rows).reshape(*value.shape, *x.shape)


def relu(a: Array) -> Array:
    return a * (a.real > 0)


@pytest.mark.ledger("C-1.b1-b2")
def test_chain_rule_to_the_second_layer() -> None:
    c = two_layer_sample()
    f = sheet_two_layer.two_layer_stages(**c)
    dL_ds = jacobian(lambda s: np.array(-(c["y"] * np.log(s)).sum()), f["s"])
    dL_dh2 = jacobian(lambda h2: np.array(-(c["y"] * np.log(softmax(h2))).sum()), f["h2"])
    ds_dh2 = jacobian(softmax, f["h2"])
    dh2_da2 = jacobian(lambda a2: a2 @ np.eye(6), f["a2"])
    da2_dW2 = jacobian(lambda W2: W2 @ f["pre_a2"] + c["B2"], c["W2"])
    assert [t.shape for t in (dL_ds, ds_dh2, dh2_da2, da2_dW2)] == [(6,), (6, 6), (6, 6), (6, 6, 20)]

    apart = np.einsum("a,ab,bc,cij->ij", dL_ds, ds_dh2, dh2_da2, da2_dW2)
    merged = np.einsum("b,bc,cij->ij", dL_dh2, dh2_da2, da2_dW2)
    np.testing.assert_allclose(apart, merged, rtol=0, atol=1e-14)
    np.testing.assert_allclose(apart, two_layer_gradients(**c)["W2"], rtol=0, atol=1e-14)


@pytest.mark.ledger("C-1.b4", "C-1.b5-W1")
def test_chain_rule_to_the_first_layer() -> None:
    c = two_layer_sample()
    f = sheet_two_layer.two_layer_stages(**c)
    factors = [
        jacobian(lambda h2: np.array(-(c["y"] * np.log(softmax(h2))).sum()), f["h2"]),
        jacobian(lambda a2: a2 @ np.eye(6), f["a2"]),
        jacobian(lambda flat: c["W2"] @ flat + c["B2"], f["pre_a2"]),
        jacobian(lambda h1: h1.reshape(-1), f["h1"]),
        jacobian(relu, f["a1"]),
        jacobian(lambda W1: W1 @ f["pre_a1"].T + c["B1"], c["W1"]),
    ]
    published = [(6,), (6, 6), (6, 20), (20, 5, 4), (5, 4, 5, 4), (5, 4, 5, 3)]
    assert [factor.shape for factor in factors] == published
    chain = np.einsum("a,ab,bc,cde,defg,fgij->ij", *factors)
    np.testing.assert_allclose(chain, two_layer_gradients(**c)["W1"], rtol=0, atol=1e-13)


# Section 2: what each slip costs


@pytest.mark.ledger("C-2.b3-alpha")
def test_alpha_is_the_jacobian_of_softmax() -> None:
    scores = np.random.default_rng(1).standard_normal((1, 7))
    alpha = softmax_jacobian(softmax(scores))
    np.testing.assert_allclose(alpha, jacobian(softmax, scores)[0, :, 0, :], rtol=0, atol=1e-15)
    np.testing.assert_allclose(alpha.sum(axis=0), 0, atol=1e-15)


@pytest.mark.ledger("C-2.b1-W2")
def test_head_gradient_without_its_share_is_off_by_classes_minus_1() -> None:
    c = encoder_sample()
    row = class_row(**c)
    expected = class_token_gradients(**c)["W2"]
    assert disagreement(row.h2.T @ (row.s - c["y"]), expected) == pytest.approx(3, abs=1e-12)  # K - 1
    assert disagreement(row.h2.T @ (row.h2 @ c["W2"] - c["y"]) / 4, expected) > 0.5  # z for s


@pytest.mark.ledger("C-2.b6-Wk", "C-2.b8-Wq")
def test_repaired_transposes_do_not_save_the_printed_forms() -> None:
    """(7) and (9) with every factor turned so that it fits: z for s, scores in alpha and no 1/K remain."""
    example, c = sheet_encoder.encoder(), sheet_corrections.printed()
    expected = example.gradients()
    u = c.g @ c.V.T @ c.alpha()
    assert disagreement(c.h_pre2.T @ u.T @ c.Q, expected["W_k"]) > 1
    assert disagreement(c.h_pre2[-1:].T @ u @ c.K, expected["W_q"]) > 1


@pytest.mark.ledger("C-2.b10-beta")
@pytest.mark.parametrize("n", [1, 3, 6])
def test_beta_adds_unlike_shapes(n: int) -> None:
    """A row 1 x d1 and a matrix d1 x (n + 1) are never two matrices of one shape unless d1 = 1 and n = 0."""
    c = encoder_sample(n=n)
    row = class_row(**c)
    first, second = row.q @ c["W_k"].T, c["W_q"] @ row.K.T
    assert (first.shape, second.shape) == ((1, 5), (5, n + 1))
    with pytest.raises(ValueError, match="broadcast"):
        first + second


@pytest.mark.ledger("C-2.b10-beta", "C-2.b11-cls")
def test_class_token_needs_all_four_paths() -> None:
    c = encoder_sample()
    reference = numerical(complex_step, class_token_gradients, c)["class_token"]
    paths = class_token_paths(class_row(**c), c["W_q"], c["W_k"], c["W_v"])
    assert list(paths) == ["residual", "value", "query", "key"]
    whole = np.sum(list(paths.values()), axis=0)
    assert disagreement(whole, reference) < 1e-14
    for name, path in paths.items():
        assert disagreement(whole - path, reference) > 1e-2, name


@pytest.mark.ledger("C-2.b12-W1")
def test_embedding_has_two_paths_and_no_third() -> None:
    c = encoder_sample()
    row = class_row(**c)
    reference = numerical(complex_step, class_token_gradients, c)["W1"]
    values = row.S[:, :-1].T @ row.g @ c["W_v"].T
    keys = row.u[:, :-1].T @ row.q @ c["W_k"].T
    queries = np.ones((6, 1)) @ row.u @ row.K @ c["W_q"].T
    residual = np.ones((6, 1)) @ row.g

    def error(tokens: Array) -> float:
        return disagreement(row.h0.T @ tokens, reference)

    assert error(values + keys) < 1e-14
    # h0^T 1 need not vanish: only the mean over all elements of h0 is 0, not that of each column
    for wrong in (values, keys, values + keys + residual, values + keys + queries):
        assert error(wrong) > 1e-2


# The audit of the sheet


def claims() -> list[object]:
    return [pytest.param(c, id=c.ids[0], marks=pytest.mark.ledger(*c.ids)) for c in OURS]


def errata() -> list[object]:
    return [pytest.param(c, id=c.id, marks=pytest.mark.ledger(*c.ids)) for c in ERRATA]


@pytest.mark.parametrize("claim", claims())
def test_claim_holds(claim: Claim) -> None:
    evidence = claim.check()
    assert evidence.passed, evidence.errors


@pytest.mark.parametrize("correction", errata())
def test_printed_form_fails_and_corrected_form_holds(correction: Correction) -> None:
    printed, evidence = correction.check()
    assert printed > VISIBLY_WRONG
    assert evidence.passed, evidence.errors


@pytest.mark.parametrize("identifier", ["E-C4", "E-C5", "E-C6", "E-C7", "E-C8", "E-C10"])
def test_printed_form_does_not_fit_together(identifier: str) -> None:
    [correction] = [c for c in ERRATA if c.id == identifier]
    assert correction.check()[0] == np.inf


@pytest.mark.parametrize("parameter", ["W1", "class_token", "W_q", "W_k", "W_v", "W2"])
def test_gradients_are_proved_three_ways(parameter: str) -> None:
    evidence = sheet_encoder.encoder().proof(parameter)
    assert evidence.errors.keys() == {"central differences", "complex step", "back-propagation"}


def test_a_wrong_closed_form_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit of a gradient fails when the closed form is the printed one: no 1/K."""
    right = class_token_gradients

    def wrong(*arguments: Array, **named: Array) -> Arrays:
        return {name: 4 * array for name, array in right(*arguments, **named).items()}

    monkeypatch.setattr(sheet_encoder, "class_token_gradients", wrong)
    evidence = sheet_encoder.head_gradient()
    assert not evidence.passed
    assert evidence.errors["complex step"] == pytest.approx(3)
    assert evidence.errors["back-propagation"] > 0.1


def test_every_statement_of_the_sheet_is_audited_once() -> None:
    statements = [line.split("\t")[0] for line in LEDGER.read_text(encoding="utf-8").splitlines()]
    sheets = sorted(identifier for identifier in statements if identifier.startswith("C-"))
    assert sorted(identifier for claim in OURS for identifier in claim.ids) == sheets
    assert [c.id for c in ERRATA] == [f"E-C{i}" for i in (1, 2, 3, 4, 5, 6, 7, 8, 10)]


@pytest.mark.parametrize(
    "formula", [c.formula for c in OURS] + [formula for c in ERRATA for formula in (c.printed, c.corrected)]
)
def test_formula_renders(formula: str) -> None:
    assert "\\" not in convert(formula), "a command that latex2mathml does not know is left as it is"


@pytest.mark.parametrize("title", [c.title for c in (*OURS, *ERRATA)])
def test_title_fits_its_column(title: str) -> None:
    assert 0 < len(title) <= 60
    assert "\\" not in title
