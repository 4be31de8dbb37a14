"""The work on a tile of pairs, eager and fused, against formulas in double precision."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from gaug.graph import compiling
from gaug.pairs import tile_work
from gaug.pairs.noise import row_keys, row_noise
from gaug.pairs.tile_work import find_hits, multiply_by_slopes, softplus_to_sigmoid


@pytest.fixture(params=["eager", "fused"], autouse=True)
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each test runs with both forms."""
    if request.param == "fused":
        pytest.importorskip("numba", reason="needs numba: pip install 'gaug[fast]'")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "eager":
            patch.setattr(tile_work, "_compiled", lambda: None)
        yield request.param


@pytest.fixture(params=[1, 3], autouse=True)
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """And with one thread and with several."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def normal(rows: int, cols: int, scale: float, seed: int = 0) -> Tensor:
    return torch.randn(rows, cols, generator=torch.Generator().manual_seed(seed)) * scale


def probabilities(rows: int, cols: int, seed: int = 0) -> Tensor:
    """Small ones and large ones, and the ends of the range."""
    p = normal(rows, cols, 4.0, seed).sigmoid()
    p.view(-1)[::7] *= 1e-4
    p.view(-1)[1::31] = 0
    p.view(-1)[2::31] = 1
    return p


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0, 300.0])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (40, 27), (128, 257)])
def test_softplus_is_summed_and_its_slope_left(shape: tuple[int, int], scale: float) -> None:
    scores = normal(*shape, scale)
    expected = torch.logaddexp(scores.double(), torch.zeros(())).sum()
    slopes = scores.double().sigmoid()
    total = softplus_to_sigmoid(scores)
    assert total == pytest.approx(float(expected), rel=2e-6)
    torch.testing.assert_close(scores.double(), slopes, rtol=0, atol=1e-6)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 60), st.integers(1, 300), st.integers(0, 10**6), st.booleans())
def test_hits_are_the_pairs_above_their_noise(
    rows: int, cols: int, first_column: int, on_diagonal: bool
) -> None:
    if on_diagonal:
        cols = rows
    p, keys = probabilities(rows, cols), row_keys(5, rows)
    noise = row_noise(keys, first_column, first_column + cols)
    for slack in (0.0, 0.05):
        places, margins = find_hits(p.clone(), keys, first_column, slack, on_diagonal=on_diagonal)
        expected = p - noise > -torch.tensor(slack)
        if on_diagonal:
            expected = expected.triu(1)
        assert torch.equal(places, expected.nonzero().t())
        assert torch.equal(margins, (p - noise)[expected])


def test_without_keys_the_noise_is_one_half() -> None:
    p = torch.tensor([[0.4, 0.6], [0.5, 0.9]])
    places, _ = find_hits(p, None, 0, 0.0, on_diagonal=False)
    assert places.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("temperature", [0.1, 0.5, 1.0, 2.1])
@pytest.mark.parametrize("on_diagonal", [True, False])
def test_slopes_are_the_derivative_of_the_relaxed_sample(
    temperature: float, on_diagonal: bool
) -> None:
    """By autograd of the definition in double precision."""
    size, first_column = 150, 1000
    p, keys, values = probabilities(size, size), row_keys(5, size), normal(size, size, 1.0, 3)
    exact = p.double().requires_grad_()
    noise = row_noise(keys, first_column, first_column + size).double()
    relaxed = torch.sigmoid((torch.logit(exact) - torch.logit(noise)) / temperature)
    (slope,) = torch.autograd.grad(relaxed.sum(), exact)
    inside = (p >= 1e-6) & (p <= 1 - 1e-6)
    expected = torch.where(inside, slope, 0.0) * values.double()
    if on_diagonal:
        expected = expected.triu(1)
    before = p.clone()
    multiply_by_slopes(values, p, keys, first_column, temperature, on_diagonal=on_diagonal)
    assert torch.equal(p, before)
    # Next to 1 the distance from 1 has few digits in single precision, in either form.
    digits = torch.where(p > 0.999, 0.05, 2e-4 / min(temperature, 1.0))
    error = (values.double() - expected).abs()
    assert bool((error <= digits * expected.abs() + 1e-7).all())


def test_the_forms_agree(form: str) -> None:
    """A difference between them that the formulas' tolerance hides would show here."""
    if form == "eager":
        pytest.skip("the fused form is compared with the eager one")
    p, keys, values = probabilities(90, 400), row_keys(1, 90), normal(90, 400, 1.0)
    fused = values.clone()
    multiply_by_slopes(fused, p, keys, 7, 0.7, on_diagonal=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile_work, "_compiled", lambda: None)
        multiply_by_slopes(values, p, keys, 7, 0.7, on_diagonal=False)
    torch.testing.assert_close(fused, values, rtol=2e-5, atol=1e-7)


def test_other_precisions_are_not_fused() -> None:
    scores = normal(4, 4, 1.0).double()
    expected = functional.softplus(scores).sum()
    assert softplus_to_sigmoid(scores) == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize("temperature", [1e-39, 1e-37, 1e-3, 1e30])
def test_slopes_at_extreme_temperatures_are_numbers(temperature: float) -> None:
    p, keys, values = probabilities(20, 30), row_keys(1, 20), torch.ones(20, 30)
    multiply_by_slopes(values, p, keys, 0, temperature, on_diagonal=False)
    assert bool(torch.isfinite(values).all())
    if temperature < 1e-30:  # the relaxed sample is 0 or 1, and flat
        assert not bool(values.any())


def test_a_numba_that_cannot_be_imported_is_told_and_done_without(form: str) -> None:
    if form == "eager":
        pytest.skip("it is about the fused form")
    expected, scores = normal(4, 4, 1.0), normal(4, 4, 1.0)
    total = softplus_to_sigmoid(expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "gaug.pairs.fused", None)
        patch.delattr("gaug.pairs.fused", raising=False)
        compiling.compiled_form.cache_clear()
        with pytest.warns(UserWarning, match="Numba cannot be used, so some work"):
            assert softplus_to_sigmoid(scores) == pytest.approx(total, rel=1e-6)
    compiling.compiled_form.cache_clear()
    torch.testing.assert_close(scores, expected)
