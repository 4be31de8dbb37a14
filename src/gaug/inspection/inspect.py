"""What a graph looks like, and how much its features and edges tell about the labels."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch_geometric.data import Data

from gaug.choosing.scores import ValidationScores, validate_repeatedly, without_test
from gaug.data.config import KINDS, PARTS, SplitConfig
from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.data.opening import split_graph
from gaug.edge_predictors.structural import StructuralSimilarity
from gaug.errors import ConfigError, DataError
from gaug.graph.homophily import Homophily, measure_homophily
from gaug.graph.labels import num_classes
from gaug.graph.valid import standardize
from gaug.inspection.advice import Advice, Evidence, advise
from gaug.inspection.description import Labels, Shape, count_labels, describe_shape
from gaug.methods.none.method import NoAugmentation
from gaug.models.config import GCNConfig, MLPConfig
from gaug.models.spec import ModelSpec
from gaug.runs.executors import OnProgress
from gaug.training.config import TrainingConfig
from gaug.training.metrics import micro_f1
from gaug.training.task import Task

#: Models that are trained: an MLP of the features, a GCN, and an MLP of the places.
NUM_MODELS = 3
#: Runs of each model.
RUNS = 3


@dataclass(frozen=True)
class Inspection:
    """What `inspect_graph` found.

    Attributes:
        graph: What the graph is called.
        shape: Sizes, degrees, components.
        degrees: How many nodes have degree 0, 1, 2, ….
        labels: Class counts; None without labels.
        homophily: Of the edges between training and validation nodes; of all labeled nodes where
            there is no split; None where there is no such edge or a node has several labels.
        split: Name of the split; None where there is none.
        evidence: What models score on the validation nodes; None where they were not trained.
        advice: What follows from it.
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
                "try": [candidate.options for candidate in self.advice.candidates],
            }
        found["remark"] = self.remark
        return found


#: What each score of the evidence stands for, in words.
SOURCES = {
    "features": "features alone (MLP)",
    "edges": "features and edges (GCN)",
    "places": "degrees and triangles alone (MLP)",
    "guess": "the most frequent class",
}


def inspect_graph(
    graph: LoadedGraph | Data,
    *,
    split: str | None = None,
    split_config: SplitConfig | None = None,
    train: bool = True,
    training: TrainingConfig | None = None,
    runs: int = RUNS,
    seed: int = 0,
    threads: int = 1,
    device: str = "cpu",
    on_progress: OnProgress | None = None,
) -> Inspection:
    """What a graph looks like, and which method is likely to help.

    Labels of test nodes are counted, and not looked at otherwise. Where there are no labels, or too
    few for a split, everything is said that needs none.

    Args:
        graph: A graph as `gaug.open_graph` gives it, or any `Data`.
        split: The kind of split or a path; None for the graph's own default.
        split_config: Fractions, counts and seed of a split that is drawn.
        train: Whether to train models, which takes most of the time, and give advice.
        training: Settings of the loop.
        runs: Runs of each of the three models.
        seed: Seed that the seeds of all runs derive from.
        threads: Threads of each run.
        device: Where to compute.
        on_progress: Called now and then with the number of runs done, of three times ``runs``.

    Example:
        >>> from gaug import inspect_graph, open_graph
        >>> found = inspect_graph(open_graph("karate"), train=False)
        >>> found.shape.edges, found.shape.largest_degree, found.labels.counts
        (78, 17, {'0': 17, '1': 17})
    """
    if runs < 1:
        raise ConfigError(f"runs must be at least 1, got {runs}.")
    loaded = _loaded(graph) if isinstance(graph, Data) else graph
    data = loaded.data
    shape, degrees = describe_shape(data)
    found = Inspection(loaded.name, shape, degrees)
    if data.y is None:
        remark = "The graph has no labels, so nothing is known of what features and edges tell."
        return dataclasses.replace(found, remark=remark)
    found = dataclasses.replace(found, labels=count_labels(loaded))
    try:
        parts = split_graph(loaded, split, split_config)
        task = without_test(Task.of(parts.apply(data)).to(device))
    except DataError as error:
        # A file of a split that is asked for is to be right; what is drawn may lack labels.
        if split is not None and split not in KINDS:
            raise
        remark = f"What features and edges tell cannot be measured: {error}"
        return dataclasses.replace(found, homophily=measure_homophily(data, data.y), remark=remark)
    known = torch.full_like(data.y, -1)
    for nodes in (parts.train, parts.val):
        known[nodes] = data.y[nodes]
    found = dataclasses.replace(found, split=parts.name, homophily=measure_homophily(data, known))
    if not train:
        return dataclasses.replace(found, remark="No model was trained, as asked.")
    evidence = _evidence(
        task, data, found.homophily, training or TrainingConfig(), runs, seed, threads, on_progress
    )
    return dataclasses.replace(found, evidence=evidence, advice=advise(evidence))


def _loaded(data: Data) -> LoadedGraph:
    valid, notes = standardize(data.clone().cpu())
    if notes:
        warnings.warn(" ".join(notes), stacklevel=3)
    classes = tuple(map(str, range(num_classes(valid)))) if valid.y is not None else ()
    masks = all(valid.get(f"{part}_mask") is not None for part in PARTS)
    ids = NodeIds.numbered(int(valid.num_nodes))
    kind = "public" if masks else "stratified"
    return LoadedGraph("a graph in memory", valid, ids, classes, default_split=kind)


def _evidence(
    task: Task,
    data: Data,
    homophily: Homophily | None,
    training: TrainingConfig,
    runs: int,
    seed: int,
    threads: int,
    on_progress: OnProgress | None,
) -> Evidence:
    places = StructuralSimilarity()
    places.fit(data, seed)
    in_places = places.embeddings_.float().to(task.labels.device)
    of_places = dataclasses.replace(task, features=in_places)
    scores = []
    for number, (config, on) in enumerate(
        ((MLPConfig(), task), (GCNConfig(), task), (MLPConfig(), of_places))
    ):

        def report(done: float, before: int = number * runs) -> None:
            if on_progress is not None:
                on_progress(before + done)

        scores.append(
            validate_repeatedly(
                on,
                ModelSpec.of(config),
                NoAugmentation(),
                training,
                runs=runs,
                seed=seed,
                threads=threads,
                on_progress=report,
            )
        )
    features, edges, structure = scores
    return Evidence(features, edges, structure, _guess(task), homophily)


def _guess(task: Task) -> ValidationScores:
    """The score of the most frequent class; of several labels, of those that most nodes have."""
    labels = task.labels[task.train]
    if task.multilabel:
        logits = labels.mean(dim=0) - 0.5
    else:
        logits = torch.bincount(labels, minlength=task.num_classes).double()
    rows = logits.expand(task.val.numel(), -1)
    return ValidationScores((micro_f1(rows, task.labels[task.val]),), task.val.numel())
