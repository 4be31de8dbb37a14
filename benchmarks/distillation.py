"""GAug-O as a teacher: what a student that is trained on the original graph learns from it.

GAug-O trains on sampled graphs and predicts on the original one, which its classifier has not been
trained on. KDGA (Wu et al., NeurIPS 2022) lets a student, which is trained on the original graph,
take over what the teacher predicts. ``python -m benchmarks.distillation GRAPH …`` compares, with
few labels per class, validation scores of a GCN without augmentation, GAug-O, and three students:
one that is trained from random weights, one that begins with the teacher's weights, and, as a
control, one whose teacher is the GCN without augmentation, so that it shows what distillation alone
gains.

A student minimizes the cross-entropy of the training nodes plus ``WEIGHT`` times the mean over all
nodes of the Kullback-Leibler divergence to the teacher's probabilities: the mean over ``SAMPLES``
sampled graphs, or those on the original graph for the control. All choose their epoch on the
validation nodes. Test nodes are not looked at.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div

from gaug.data.config import SplitConfig
from gaug.graph.adjacency import Adjacency
from gaug.methods.gaug_o.run import GAugORun
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.summary import mean_and_spread
from gaug.seeding import run_seed, seeded
from gaug.training.loop import RunResult
from gaug.training.run import PreparedRuns

_EPOCHS = 100
WEIGHT = 1.0
SAMPLES = 8
#: Title of each student, its teacher, and whether it begins with the teacher's weights.
STUDENTS = {
    "student": ("gaug-o", False),
    "student, shared": ("gaug-o", True),
    "student of plain": ("none", False),
}
METHODS = {"none": "plain", "gaug-o": "GAug-O"}


def main() -> None:
    """Print a row for each graph and number of labels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="+", help="Graphs of the catalog.")
    parser.add_argument("--labels", nargs="+", type=int, default=[5, 10, 20])
    parser.add_argument("--runs", type=int, default=4)
    given = parser.parse_args()
    titles = [*METHODS.values(), *STUDENTS]
    print(f"| graph | labels per class | {' | '.join(titles)} |")
    print(f"|{' --- |' * (len(titles) + 2)}")
    for graph in given.graphs:
        for labels in given.labels:
            found = scores(graph, labels, given.runs)
            cells = [mean_and_spread(found[title]) for title in titles]
            print(f"| {graph} | {labels} | {' | '.join(cells)} |", flush=True)


def scores(graph: str, labels: int, runs: int) -> dict[str, list[float]]:
    """Validation scores of each method and student, one per run."""
    graphs = Graphs()
    prepared = {name: _prepared(graphs, graph, name, labels) for name in METHODS}
    found: dict[str, list[float]] = {title: [] for title in [*METHODS.values(), *STUDENTS]}
    for run in range(runs):
        results = {name: one.train(run) for name, one in prepared.items()}
        for name, title in METHODS.items():
            found[title].append(results[name].val_score or 0.0)
        for title, (teacher, shared) in STUDENTS.items():
            found[title].append(_student(prepared[teacher], results[teacher], run, shared))
    return found


def _prepared(graphs: Graphs, graph: str, method: str, labels: int) -> PreparedRuns:
    plan = Plan.of(
        graph,
        method=method,
        split="per-class",
        split_config=SplitConfig(labels_per_class=labels),
        settings=[f"epochs={_EPOCHS}"],
    )
    return graphs.prepare(graphs.place(plan), hide_test=True)


def _student(prepared: PreparedRuns, taught: RunResult, run: int, shared: bool) -> float:
    """The best validation score of a student over its epochs."""
    task, config = prepared.task, prepared.model.config
    target = _taught(taught)
    with seeded(run_seed(prepared.seed, run), task.labels.device):
        model = prepared.build_model()
        if shared:
            weights: Mapping[str, Tensor] = taught.rounds[-1].weights
            model.load_state_dict(dict(weights))
        optimizer = torch.optim.Adam(
            model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        best = 0.0
        for _ in range(_EPOCHS):
            optimizer.zero_grad()
            logits = model.train().classify(task.features, task.adjacency)  # type: ignore[operator]
            loss = cross_entropy(logits[task.train], task.labels[task.train])
            divergence = kl_div(logits.log_softmax(dim=1), target, reduction="batchmean")
            loss = loss + WEIGHT * divergence
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                logits = model.eval().classify(task.features, task.adjacency)  # type: ignore[operator]
            right = logits[task.val].argmax(dim=1) == task.labels[task.val]
            best = max(best, 100 * right.double().mean().item())
    return best


def _taught(taught: RunResult) -> Tensor:
    """What a student takes over.  [N, C]"""
    if not isinstance(taught.run, GAugORun):
        return taught.probabilities
    drawn = [Adjacency.of(taught.run.sample_graph()) for _ in range(SAMPLES)]
    return torch.stack([taught.rounds[-1].predict(graph) for graph in drawn]).mean(dim=0)


if __name__ == "__main__":
    main()
