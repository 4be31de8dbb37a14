"""Colors that people can tell apart, with or without a color vision deficiency."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from gaug.report.page.document import asset

Color = NDArray[np.float64]

# What a color looks like to dichromats, in linear RGB: Machado, Oliveira and Fernandes (2009).
VISIONS: dict[str, NDArray[np.float64]] = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
CLASSES = [*(f"c{i}" for i in range(8)), "other"]
# A difference of 2.3 is just noticeable side by side; dots are small and lie apart.
LEAST_DISTANCE = 10.0


def colors(scheme: str) -> dict[str, Color]:
    """The named colors of the style sheet in linear RGB."""
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", asset("page.css"))
    return {name: linear(light if scheme == "light" else dark) for name, light, dark in pairs}


def linear(code: str) -> Color:
    value = np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(color: Color) -> Color:
    """CIE L*a*b* under D65."""
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x = np.array(matrix) @ np.clip(color, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(first: Color, second: Color) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(float(color @ [0.2126, 0.7152, 0.0722]) for color in (first, second))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_colors_can_be_told_apart(scheme: str, vision: str) -> None:
    found = {name: lab(VISIONS[vision] @ color) for name, color in colors(scheme).items()}
    for names in (CLASSES, ["added", "removed", "kept"]):
        for a, b in itertools.combinations(names, 2):
            assert np.linalg.norm(found[a] - found[b]) > LEAST_DISTANCE, (a, b)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_stands_out_from_the_ground(scheme: str) -> None:
    found = colors(scheme)
    for name in (*CLASSES, "added", "removed", "kept"):
        assert contrast(found[name], found["ground"]) >= 3, name
    for name in ("ink", "soft", "accent"):
        for ground in ("ground", "raised"):
            assert contrast(found[name], found[ground]) >= 4.5, (name, ground)
