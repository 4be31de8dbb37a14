"""The paper's figures 6 and 8: scores by the number of training nodes, on Cora."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from gaug.data.splits import Split
from gaug.drawing.picture import BLUE, GRAY, GREEN, draw_band, picture
from gaug.drawing.table import Field, Table, with_best
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.runs.graphs import Graphs
from gaug.studies.notes import (
    best_note,
    failures,
    provenance,
    settings_tables,
    taken_over_note,
)
from gaug.studies.outcome import Outcome
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.settling import paper_cell
from gaug.studies.study import Cell, Study, paper_plan

GRAPH = "cora"
#: Training nodes of each class; Cora has 7 classes, and 20 nodes of each in its split.
PER_CLASS = (5, 10, 15, 20)
_COLORS = {"gaug-m": BLUE, "gaug-o": GREEN}


class Figure8(Study):
    """Every GNN on Cora by the number of training nodes, with GAug-M and with GAug-O."""

    name = "figure8"
    title = "Figure 8"
    scope = STUDIES["figure8"].scope

    def cells(self, options: StudyOptions) -> list[Cell]:
        """Every model and method with each number of training nodes."""
        graphs = Graphs(options.root)
        plan = paper_plan(GRAPH, "gcn", "none", {}, options)
        labels, whole = graphs.load(plan).data.y, graphs.split(plan)
        found = []
        for count in PER_CLASS:
            split = fewer_training_nodes(whole, labels, count, options.seed)
            for model in self._models(options):
                for method in ("none", *_COLORS):
                    key = (split.train.numel(), model, method)
                    cell = paper_cell(key, GRAPH, model, method, self.scope, options)
                    fewer = dataclasses.replace(cell.plan, split=split)
                    found.append(dataclasses.replace(cell, plan=fewer, searched=cell.plan))
        return found

    def _models(self, options: StudyOptions) -> Sequence[str]:
        return self.scope.chosen(options, "models") or ("gcn",)

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per model and method, one column per number of training nodes."""
        by_key = {outcome.key: outcome for outcome in outcomes}
        counts = sorted({count for count, _, _ in by_key})
        rows: list[list[Field]] = [
            [
                MODELS.title(model),
                METHODS.title(method),
                *(by_key[count, model, method].beside(None) for count in counts),
            ]
            for model in self.scope.models or ("gcn",)
            for method in ("none", *_COLORS)
            if (counts[0], model, method) in by_key
        ]
        rows = with_best(rows, block=lambda row: row[0])
        return Table(
            self.title,
            ["model", "method", *(f"{count} training nodes" for count in counts)],
            rows,
            [
                *provenance(outcomes, paper=False),
                "Cora; the same validation and test nodes throughout.",
                *taken_over_note(outcomes, f"with {counts[-1]} training nodes"),
                *best_note(rows, "model"),
                *failures(outcomes),
            ],
            settings_tables(
                [outcome for outcome in outcomes if outcome.key[0] == counts[-1]],
                lambda key: [GRAPH, MODELS.title(key[1]), METHODS.title(key[2])],
            ),
        )

    def draw(self, outcomes: Sequence[Outcome], path: Path) -> None:
        """Write the picture: one row per method, one column per model, plain training dotted."""
        by_key = {outcome.key: outcome for outcome in outcomes}
        counts = sorted({count for count, _, _ in by_key})
        models = list(dict.fromkeys(model for _, model, _ in by_key))
        alone = len(models) == 1
        shape = (1, len(_COLORS)) if alone else (len(_COLORS), len(models))
        with picture(path, *shape, width=3.4, height=2.9, sharex=True) as (_, axes):
            for row, (method, color) in zip(
                axes.T if alone else axes, _COLORS.items(), strict=True
            ):
                for axis, model in zip(row, models, strict=True):
                    for name, tint, style in (("none", GRAY, ":"), (method, color, "-")):
                        scores = [by_key[count, model, name].scores for count in counts]
                        label = "original" if name == "none" else METHODS.title(name)
                        draw_band(axis, counts, scores, tint, label, style)
                    axis.set_title(f"{MODELS.title(model)}, {METHODS.title(method)}")
                    axis.set_xticks(counts)
                    axis.legend(loc="lower right")
            for axis in axes[:, 0]:
                axis.set_ylabel("test micro-F1, %")
            for axis in axes[-1]:
                axis.set_xlabel("training nodes")


class Figure6(Figure8):
    """A GCN on Cora by the number of training nodes, with GAug-M and with GAug-O."""

    name = "figure6"
    title = "Figure 6"
    scope = STUDIES["figure6"].scope


def fewer_training_nodes(split: Split, labels: Tensor, per_class: int, seed: int) -> Split:
    """A split with at most so many training nodes of each class; smaller ones are part of larger.

    Args:
        split: The whole split.
        labels: The class of each node.
        per_class: Training nodes to keep of each class.
        seed: Seed of the order in which training nodes are kept.
    """
    generator = torch.Generator().manual_seed(seed)
    order = split.train[torch.randperm(split.train.numel(), generator=generator)]
    kept = [order[labels[order] == label][:per_class] for label in range(int(labels.max()) + 1)]
    train = torch.cat(kept).sort().values
    if train.numel() == split.train.numel():
        return split
    return Split(f"{split.name}-{per_class}-per-class", train, split.val, split.test)
