"""The paper's figure 2: edges added and removed on Cora, as learned and at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gaug.data.catalog.loading import load_graph
from gaug.graph.edges import undirected_pairs
from gaug.methods.gaug_m.method import GAugM
from gaug.runs.executors import OnProgress
from gaug.runs.store import RunRecord
from gaug.studies.conditions import Conditions

GRAPH = "cora"
PREDICTORS = ("gae", "random")
ACTIONS = ("add", "remove")
STEPS = tuple(step / 10 for step in range(11))
NUM_SERIES = len(PREDICTORS) * len(ACTIONS)


@dataclass(frozen=True)
class Step:
    """The graph after a share of the edges was added or removed.

    Attributes:
        fraction: Which share of |E|.
        intra: Edges that join nodes of one class.
        inter: Edges that join nodes of different classes.
        records: Runs of a GCN on it.
    """

    fraction: float
    intra: int
    inter: int
    records: list[RunRecord]

    @property
    def scores(self) -> list[float]:
        """Test micro-F1 in percent, a run each."""
        return [record.test_score for record in self.records]


@dataclass(frozen=True)
class Series:
    """One panel of the figure: a way to change the graph, step by step."""

    predictor: str
    action: str
    steps: list[Step]


def run_figure2(conditions: Conditions, on_progress: OnProgress | None = None) -> list[Series]:
    """Count edges within and between classes, and train a GCN, at every step.

    Args:
        conditions: How runs are done.
        on_progress: Called with the number of steps done, of ``NUM_SERIES * len(STEPS)``.
    """
    series = [Series(p, action, []) for action in ACTIONS for p in PREDICTORS]
    done = 0
    for part in series:
        for fraction, intra, inter in _edge_counts(part, conditions):
            records = conditions.run(GRAPH, "gcn", "gaug-m", _settings(part, fraction))
            part.steps.append(Step(fraction, intra, inter, records))
            done += 1
            if on_progress is not None:
                on_progress(done)
    return series


def _settings(part: Series, fraction: float) -> dict[str, Any]:
    shares = {f"{action}_fraction": 0.0 for action in ACTIONS}
    return {"predictor": part.predictor, **shares, f"{part.action}_fraction": fraction}


def _edge_counts(part: Series, conditions: Conditions) -> Iterator[tuple[float, int, int]]:
    """For each step its share and the edges within and between classes."""
    data = load_graph(GRAPH, conditions.root)
    for fraction in STEPS:
        method = GAugM(**_settings(part, fraction), seed=conditions.seed)
        edges = undirected_pairs(method(data).edge_index)
        within = int((data.y[edges[0]] == data.y[edges[1]]).sum())
        yield fraction, within, edges.size(1) - within
