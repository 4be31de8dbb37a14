"""The warm-up against the sigmoid that it is a part of."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gaug.methods.gaug_o.warmup import warmed_up

warmups = st.floats(0, 1e6)


@given(st.integers(2, 300), warmups)
def test_the_warm_up_rises_from_0_at_the_first_epoch_to_1_at_the_last(
    num_epochs: int, warmup: float
) -> None:
    shares = [warmed_up(epoch, num_epochs, warmup) for epoch in range(1, num_epochs + 1)]
    if warmup == 0:
        assert shares == [1.0] * num_epochs
        return
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert all(a <= b for a, b in itertools.pairwise(shares))


@given(st.integers(1, 100), st.floats(0.1, 20), st.floats(1.1, 5))
def test_a_larger_warm_up_is_later_in_the_first_half_and_steeper_in_the_middle(
    half: int, warmup: float, factor: float
) -> None:
    num_epochs = 2 * half + 1
    assert warmed_up(half + 1, num_epochs, warmup) == 0.5

    def slope(warmup: float) -> float:
        return warmed_up(half + 2, num_epochs, warmup) - warmed_up(half, num_epochs, warmup)

    assert slope(factor * warmup) >= slope(warmup)
    for epoch in range(1, half + 1):
        later = warmed_up(epoch, num_epochs, factor * warmup)
        assert later <= warmed_up(epoch, num_epochs, warmup)


@given(st.integers(2, 50), st.floats(0.5, 10))
def test_the_warm_up_is_the_part_of_a_sigmoid_from_minus_w_to_w(
    num_epochs: int, warmup: float
) -> None:
    x = torch.linspace(-warmup, warmup, num_epochs, dtype=torch.float64).sigmoid()
    expected = (x - x[0]) / (x[-1] - x[0])
    shares = [warmed_up(epoch, num_epochs, warmup) for epoch in range(1, num_epochs + 1)]
    assert shares == pytest.approx(expected.tolist(), abs=1e-9)


def test_one_epoch_is_not_warmed_up() -> None:
    assert warmed_up(1, 1, 5.0) == 1.0
