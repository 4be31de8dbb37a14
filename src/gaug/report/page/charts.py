"""What the script of a page draws, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

_BINS = 60


def xy(
    series: Sequence[Mapping[str, Any]], x: Mapping[str, Any], y: Mapping[str, Any]
) -> dict[str, Any]:
    """Lines, points or steps in two dimensions.

    Args:
        series: For each its ``name``, ``kind`` (``line``, ``points`` or ``steps``), ``color``,
            ``x`` and ``y``, and possibly ``low`` and ``high`` of a band around it.
        x: Title and scale of the horizontal axis.
        y: The same of the vertical one.
    """
    return {"kind": "xy", "series": list(series), "x": dict(x), "y": dict(y)}


def rows(parts: Sequence[Mapping[str, Any]], x: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """One row per category: a bar of ``value``, or ``points`` with their mean and ``spread``.

    Args:
        parts: For each row its ``name``, and ``value``, ``points``, ``spread``, ``mark``, ``text``
            and ``color`` as they are known.
        x: Title and scale of the axis.
        more: ``markName``, what a mark is.
    """
    return {"kind": "rows", "rows": list(parts), "x": dict(x), **more}


def histogram(
    parts: Sequence[tuple[str, Tensor, str, Mapping[str, Any]]], x: str, y: str
) -> dict[str, Any]:
    """Counts of values in equal bins, one series each, on a logarithmic scale.

    Args:
        parts: For each its name, values, color, and how it is drawn.
        x: What the values are.
        y: What is counted.
    """
    known = [values.double().numpy() for _, values, _, _ in parts]
    known = [values[np.isfinite(values)] for values in known]
    edges = bins(np.concatenate(known)) if any(values.size for values in known) else np.arange(2.0)
    width = float(edges[1] - edges[0])
    series = []
    for (name, _, color, more), values in zip(parts, known, strict=True):
        if values.size:
            counts = np.histogram(values, edges)[0]
            series.append(
                {
                    "name": f"{name} ({values.size:,})",
                    "kind": "steps",
                    "color": color,
                    "x": [float(f"{edge:.6g}") for edge in edges[:-1]],
                    "y": counts.tolist(),
                    "width": width,
                    **more,
                }
            )
    return xy(
        series,
        {"title": x, "low": float(edges[0]), "high": float(edges[-1])},
        {"title": y, "log": True, "low": 0.5},
    )


def bins(values: np.ndarray) -> np.ndarray:
    """Edges of equal bins; a single bin if the values hardly differ.

    >>> bins(np.array([3.0, 3.0])).tolist()
    [1.5, 4.5]
    """
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if high - low <= 1e-6 * max(abs(low), abs(high)):
        width = max(abs(low), 1.0)
        return np.array([low - width / 2, low + width / 2])
    return np.linspace(low, high, _BINS + 1)
