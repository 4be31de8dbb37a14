"""Describe a graph, and measure how informative its features and edges are."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch

from gaug.choosing.engine import TrialRunner
from gaug.choosing.limits import TRIAL_RUNS
from gaug.choosing.scores import ValidationScores
from gaug.choosing.trial import Trial
from gaug.config import check_count
from gaug.data.config import KINDS, SplitConfig
from gaug.data.loaded import LoadedGraph
from gaug.edge_predictors.structural import StructuralSimilarity
from gaug.errors import DataError
from gaug.graph.homophily import Homophily, measure_homophily
from gaug.inspection.advice import Advice, Evidence, advise
from gaug.inspection.description import Labels, Shape, count_labels, describe_shape
from gaug.methods.spec import MethodSpec
from gaug.models.spec import ModelSpec
from gaug.runs.executor import Executor, OnProgress
from gaug.runs.executors import choose_executor
from gaug.runs.graphs import Graphs
from gaug.runs.plan import GraphLike, Plan
from gaug.runs.store import Store
from gaug.training.config import TrainingConfig
from gaug.training.metrics import micro_f1
from gaug.training.task import Task

#: Trained models: an MLP on features, a GCN, and an MLP on positions in the graph.
NUM_MODELS = 3


@dataclass(frozen=True)
class Inspection:
    """The result of `inspect`.

    Attributes:
        graph: Name of the graph.
        shape: Sizes, degrees, components.
        degrees: How many nodes have degree 0, 1, 2, ….
        labels: Class counts; None without labels.
        homophily: Homophily of the edges between training and validation nodes, or between all
            labeled nodes without a split; None if there is no such edge or nodes have several
            labels.
        split: Name of the split; None if there is none.
        evidence: Validation scores of the models; None if they were not trained.
        advice: The advice; None without evidence.
        remark: Why nothing was trained, in a sentence.
    """

    graph: str
    shape: Shape
    degrees: list[int]
    labels: Labels | None = None
    homophily: Homophily | None = None
    split: str | None = None
    evidence: Evidence | None = None
    advice: Advice | None = None
    remark: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything but the degrees as plain values, ready for JSON."""
        found: dict[str, Any] = {"graph": self.graph, **dataclasses.asdict(self.shape)}
        found["labels"] = None if self.labels is None else dataclasses.asdict(self.labels)
        found["homophily"] = None
        if self.homophily is not None:
            found["homophily"] = dataclasses.asdict(self.homophily)
            found["homophily"]["adjusted"] = self.homophily.adjusted
        found["split"], found["validation"], found["advice"] = self.split, None, None
        if self.evidence is not None:
            scores = {name: getattr(self.evidence, name) for name in SOURCES}
            found["validation"] = {
                name: {"scores": list(s.values), "mean": s.mean, "spread": s.spread}
                for name, s in scores.items()
            }
            found["validation"]["nodes"] = self.evidence.guess.num_nodes
        if self.advice is not None:
            found["advice"] = {
                "kind": self.advice.kind,
                "reason": self.advice.reason,
                "try": [str(candidate) for candidate in self.advice.candidates],
            }
        found["remark"] = self.remark
        return found


#: Label of each score of the evidence.
SOURCES = {
    "features": "features alone (MLP)",
    "edges": "features and edges (GCN)",
    "places": "degrees and triangles alone (MLP)",
    "guess": "the most frequent class",
}


def inspect(
    graph: GraphLike,
    *,
    split: str | None = None,
    split_config: SplitConfig | None = None,
    train: bool = True,
    training: TrainingConfig | None = None,
    runs: int = TRIAL_RUNS,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    threads: int = 1,
    device: str | None = None,
    store: Store | None = None,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Inspection:
    """Describe a graph and suggest methods.

    Labels of test nodes are counted but not used otherwise. Without labels, or with too few for a
    split, everything that needs none is still reported.

    Args:
        graph: Any `Data`, an opened graph, or anything that `gaug.open_graph` takes.
        split: The kind of split or a path; None for the graph's default.
        split_config: Fractions, counts and seed of a drawn split.
        train: Whether to train models, which takes most of the time, and to give advice.
        training: Settings of training.
        runs: Runs of each of the three models.
        seed: Seed from which the seeds of all runs are derived.
        workers: Number of worker processes at most, one by default; on a cluster, of runs at a
            time.
        cluster: Address of a Ray cluster to run on: ``auto``, ``host:port`` or
            ``ray://host:port``.
        threads: Threads per run.
        device: Where to compute; by default where the graph is.
        store: Where runs are recorded and reused from.
        on_progress: Called regularly with the number of finished runs, of three times ``runs``.
        settings: Individual settings of training or of the split by name.

    Example:
        >>> from gaug import inspect, open_graph
        >>> found = inspect(open_graph("karate"), train=False)
        >>> found.shape.edges, found.shape.largest_degree, found.labels.counts
        (78, 17, {'0': 17, '1': 17})
    """
    plan = Plan.of(
        graph,
        settings=settings,
        training=training,
        split=split,
        split_config=split_config,
        seed=seed,
        threads=threads,
        device=device,
    )
    graphs = Graphs()
    with choose_executor(workers, cluster, plans=[plan], graphs=graphs) as executor:
        return inspect_plan(
            plan,
            train=train,
            runs=runs,
            graphs=graphs,
            executor=executor,
            store=store,
            on_progress=on_progress,
        )


def inspect_plan(
    plan: Plan,
    *,
    train: bool = True,
    runs: int = TRIAL_RUNS,
    graphs: Graphs | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
    on_progress: OnProgress | None = None,
) -> Inspection:
    """`inspect` for a plan; its model and method are ignored.

    Args:
        plan: Graph, split and training.
        train: Whether to train models and to give advice.
        runs: Runs of each of the three models.
        graphs: Graphs that are already loaded.
        executor: Where to run; by default in this process.
        store: Where runs are recorded and reused from.
        on_progress: Called regularly with the number of finished runs.
    """
    check_count("runs", runs)
    graphs = graphs or Graphs()
    loaded = graphs.load(plan)
    data = loaded.data
    shape, degrees = describe_shape(data)
    found = Inspection(loaded.name, shape, degrees)
    if data.y is None:
        remark = "The graph has no labels, so its features and edges cannot be evaluated."
        return dataclasses.replace(found, remark=remark)
    found = dataclasses.replace(found, labels=count_labels(loaded))
    try:
        placed = graphs.place(plan)
    except DataError as error:
        # A given split file must be valid; a drawn split may lack labels.
        if plan.split is not None and plan.split not in KINDS:
            raise
        remark = f"Features and edges cannot be evaluated: {error}"
        return dataclasses.replace(found, homophily=measure_homophily(data, data.y), remark=remark)
    known = torch.full_like(data.y, -1)
    for nodes in (placed.split.train, placed.split.val):
        known[nodes] = data.y[nodes]
    found = dataclasses.replace(
        found, split=placed.split.name, homophily=measure_homophily(data, known)
    )
    if not train:
        return dataclasses.replace(found, remark="No model was trained, as requested.")
    runner = TrialRunner(graphs, runs, executor, store)
    features, edges, places = (
        _validated(trial, runner, number, on_progress)
        for number, trial in enumerate(_trials(plan, loaded))
    )
    task = placed.task.without_test_labels()
    evidence = Evidence(features, edges, places, _guess(task), found.homophily)
    return dataclasses.replace(found, evidence=evidence, advice=advise(evidence))


def _trials(plan: Plan, loaded: LoadedGraph) -> list[Trial]:
    """Three plain models: on features, on features and edges, and on positions in the graph."""
    places = StructuralSimilarity()
    places.fit(loaded.data, plan.seed)
    data = loaded.data.clone()
    data.x = places.embeddings_.float()
    in_places = dataclasses.replace(loaded, data=data)
    on_graph = dataclasses.replace(plan, graph=loaded)
    mlp = dataclasses.replace(on_graph, model=ModelSpec.of("mlp"), method=MethodSpec.of("none"))
    gcn = dataclasses.replace(mlp, model=ModelSpec.of("gcn"))
    of_places = dataclasses.replace(mlp, graph=in_places)
    return [Trial("features", mlp), Trial("edges", gcn), Trial("places", of_places)]


def _validated(
    trial: Trial, runner: TrialRunner, number: int, on_progress: OnProgress | None
) -> ValidationScores:
    def tell(done: float) -> None:
        if on_progress is not None:
            on_progress((number + done) * runner.runs)

    scores = runner.run_one(trial, tell).scores
    assert scores is not None
    return scores


def _guess(task: Task) -> ValidationScores:
    """The score of the most frequent class; with several labels, of those that most nodes have."""
    labels = task.labels[task.train]
    if task.multilabel:
        logits = labels.mean(dim=0) - 0.5
    else:
        logits = torch.bincount(labels, minlength=task.num_classes).double()
    rows = logits.expand(task.val.numel(), -1)
    return ValidationScores((micro_f1(rows, task.labels[task.val]),), task.val.numel())
