"""The paper's figure 2: edges added and removed on Cora, as learned and at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaug.augment import GAugM
from gaug.data.catalog import load_graph
from gaug.experiment import Experiment, run_experiment
from gaug.graph import undirected_pairs
from gaug.store import RunRecord, Store
from gaug.studies.table2 import table2_split

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


def run_figure2(
    store: Store,
    *,
    runs: int,
    workers: int,
    root: Path | None,
    seed: int,
    on_progress: Callable[[float], None] | None = None,
) -> list[Series]:
    """Count edges within and between classes, and train a GCN, at every step.

    Args:
        store: Where runs are looked up and written.
        runs: Runs a step.
        workers: Processes to spread the runs over.
        root: The data root.
        seed: Seed of the predictors, and of the seeds of all runs.
        on_progress: Called with the number of steps done, of ``NUM_SERIES * len(STEPS)``.
    """
    split = table2_split(GRAPH, root)
    series = [Series(p, action, []) for action in ACTIONS for p in PREDICTORS]
    done = 0
    for part in series:
        for fraction, intra, inter in _edge_counts(part, root, seed):
            experiment = Experiment.of(
                GRAPH,
                method="gaug-m",
                settings=_settings(part, fraction),
                split=split,
                seed=seed,
            )
            records = run_experiment(
                experiment, runs=runs, workers=workers, root=root, store=store, resume=True
            )
            part.steps.append(Step(fraction, intra, inter, records))
            done += 1
            if on_progress is not None:
                on_progress(done)
    return series


def _settings(part: Series, fraction: float) -> dict[str, Any]:
    shares = {f"{action}_fraction": 0.0 for action in ACTIONS}
    return {"predictor": part.predictor, **shares, f"{part.action}_fraction": fraction}


def _edge_counts(part: Series, root: Path | None, seed: int) -> Iterator[tuple[float, int, int]]:
    """For each step its share and the edges within and between classes."""
    data = load_graph(GRAPH, root)
    for fraction in STEPS:
        method = GAugM(**_settings(part, fraction), seed=seed)
        edges = undirected_pairs(method(data).edge_index)
        within = int((data.y[edges[0]] == data.y[edges[1]]).sum())
        yield fraction, within, edges.size(1) - within
