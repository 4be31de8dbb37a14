"""Mean slopes against numerical integrals of the definition."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import scipy.integrate
import torch

from gaug.pairs import tile_work
from gaug.pairs.mean_slope import MeanSlopes

TEMPERATURES = (0.05, 0.3, 0.5, 1.0, 2.1)
PROBABILITIES = (2e-6, 1e-4, 0.003, 0.2, 0.5, 0.6, 0.97, 0.999)


@pytest.fixture(params=["eager", "fused"])
def form(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "fused":
        pytest.importorskip("numba", reason="needs numba: pip install 'gaug[fast]'")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "eager":
            patch.setattr(tile_work, "_compiled", lambda: None)
        yield request.param


def integral(p: float, temperature: float, low: float, high: float) -> float:
    """Of the slope over noise whose logit is in a range."""
    logit = math.log(p / (1 - p))

    def bump(x: float) -> float:
        return math.exp(-abs(x)) / (1 + math.exp(-abs(x))) ** 2

    def slope(at: float) -> float:
        return bump((logit - at) / temperature) / (temperature * p * (1 - p)) * bump(at)

    near = [at for at in (logit + k * temperature for k in (-9, -3, 3, 9)) if low < at < high]
    return float(scipy.integrate.quad(slope, low, high, points=near, limit=500)[0])


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_mean_slopes_are_integrals_over_the_noise_of_each_outcome(temperature: float) -> None:
    slopes = MeanSlopes(temperature)
    for p in PROBABILITIES:
        logit, at = math.log(p / (1 - p)), torch.tensor([p])
        undrawn = integral(p, temperature, logit, 37.0) / (1 - p)
        drawn = integral(p, temperature, -37.0, logit) / p
        # Next to 1 the distance from 1 has few digits in single precision.
        digits = 1e-4 if p < 0.99 else 1e-3
        assert float(slopes.of_undrawn(at)) == pytest.approx(undrawn, rel=digits)
        assert float(slopes.of_drawn(at)) == pytest.approx(drawn, rel=digits)


def test_at_temperature_one_and_one_half_both_outcomes_have_a_slope_of_two_thirds() -> None:
    """By hand: s = 1 - n, of which the slope is 4 n (1 - n); its mean is 2 / 3."""
    half = torch.tensor([0.5])
    slopes = MeanSlopes(1.0)
    assert float(slopes.of_drawn(half)) == pytest.approx(2 / 3, rel=1e-5)
    assert float(slopes.of_undrawn(half)) == pytest.approx(2 / 3, rel=1e-5)


@pytest.mark.parametrize("temperature", [1e-30, 0.3, 1.0, 1e30])
def test_a_tile_is_multiplied_by_the_slopes_of_its_pairs(form: str, temperature: float) -> None:
    generator = torch.Generator().manual_seed(0)
    p = torch.rand(40, 27, generator=generator) ** 6
    p.view(-1)[:6] = torch.tensor([0.0, 1.0, 1e-7, 1e-6, 0.5, 1 - 1e-7])
    values = torch.randn(40, 27, generator=generator)
    slopes = MeanSlopes(temperature)
    expected = values * slopes.of_undrawn(p)
    slopes.multiply_undrawn(values, p)
    torch.testing.assert_close(values, expected, rtol=1e-5, atol=1e-30)
    assert bool(torch.isfinite(values).all())
    assert not bool(values.view(-1)[:3].any())
    assert float(values.view(-1)[5]) == 0
