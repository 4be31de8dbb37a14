"""The time of a run, estimated roughly in advance."""

from __future__ import annotations

from gaug.data.catalog.entries import CATALOG
from gaug.runs.plan import Plan

# Rough time of other models and methods, relative to a plain run; measured on Cora.
_TIMES_PLAIN = {
    "gat": 5.0,
    "jknet": 2.0,
    "adaedge": 3.0,
    "bgcn": 7.0,
    "gaug-m": 1.5,
    "gaug-o": 15.0,
}
# Time of a plain run of 200 epochs, and additional time per edge.
_SECONDS, _SECONDS_PER_EDGE = 0.5, 2e-5
_EDGES_OF_UNKNOWN_GRAPH = 1_000


def estimated_seconds(plan: Plan) -> float:
    """A rough estimate of the time of a run, to order runs and show the remaining time."""
    entry = CATALOG.get(getattr(plan.graph, "name", ""))
    num_edges = entry.size[1] if entry is not None and entry.size else _EDGES_OF_UNKNOWN_GRAPH
    times = _TIMES_PLAIN.get(plan.method.name, 1.0) + plan.training.students
    times *= _TIMES_PLAIN.get(plan.model.name, 1.0)
    return times * (_SECONDS + _SECONDS_PER_EDGE * num_edges) * plan.training.epochs / 200
