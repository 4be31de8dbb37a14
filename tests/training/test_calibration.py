"""Calibrated probabilities: the best temperature by a search, and what does not depend on it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from gaug.training.calibration import calibrated_probabilities


def drawn(seed: int, nodes: int = 200, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities, and labels drawn from them: they are calibrated but for chance."""
    generator = torch.Generator().manual_seed(seed)
    probabilities = torch.randn(nodes, classes, generator=generator).softmax(dim=1)
    return probabilities, torch.multinomial(probabilities, 1, generator=generator).ravel()


def sharpened(probabilities: torch.Tensor, power: float) -> torch.Tensor:
    powers = probabilities**power
    return powers / powers.sum(dim=1, keepdim=True)


@pytest.mark.parametrize("power", [0.3, 1.0, 4.0])
def test_no_other_temperature_has_less_cross_entropy(power):
    calibrated, labels = drawn(0)
    probabilities = sharpened(calibrated, power)
    found = calibrated_probabilities(probabilities, labels)
    tried = [sharpened(probabilities, float(p)) for p in np.geomspace(0.1, 10, 2001)]
    best = min(tried, key=lambda one: log_loss(labels.numpy(), one.numpy()))
    expected = 100 * best[torch.arange(len(labels)), labels]
    torch.testing.assert_close(found, expected, atol=0.1, rtol=0)


@given(seed=st.integers(0, 1000), power=st.floats(0.3, 3.0))
def test_how_certain_a_model_is_of_all_its_predictions_does_not_matter(seed, power):
    probabilities, labels = drawn(seed)
    other = sharpened(probabilities.double(), power)
    torch.testing.assert_close(
        calibrated_probabilities(other, labels),
        calibrated_probabilities(probabilities.double(), labels),
        atol=0.05,
        rtol=0,
    )


def test_calibrated_probabilities_stay_about_as_they_are():
    probabilities, labels = drawn(1, nodes=20_000)
    found = calibrated_probabilities(probabilities, labels)
    right = 100 * probabilities[torch.arange(len(labels)), labels]
    torch.testing.assert_close(found, right, atol=1.0, rtol=0)


def test_predictions_that_say_nothing_are_no_better_than_guessing():
    generator = torch.Generator().manual_seed(2)
    probabilities = torch.randn(5000, 4, generator=generator).mul(3).softmax(dim=1)
    labels = torch.randint(4, (5000,), generator=generator)
    found = calibrated_probabilities(probabilities, labels)
    assert found.mean().item() == pytest.approx(25.0, abs=0.5)


def test_probabilities_of_exactly_0_and_1_are_no_trouble():
    probabilities = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    found = calibrated_probabilities(probabilities, torch.tensor([0, 1, 1]))
    assert found.isfinite().all()
    assert found[2] < 50 < found[0]
    assert (
        calibrated_probabilities(probabilities[:0], torch.zeros(0, dtype=torch.long)).numel() == 0
    )
