"""Heat maps of GAug-M over the shares of edges added and removed, for figures 4 and 7."""

from __future__ import annotations

import math
import statistics
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.image import AxesImage

from gaug.drawing.picture import picture
from gaug.drawing.table import Field, Table
from gaug.studies.notes import failures, provenance
from gaug.studies.outcome import Outcome
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, Study, paper_plan

MODEL = "gcn"
_COLUMNS = 5
# The difference from the plain score, in points, that gets the full color is at least this.
_REACH = 1.0
# How far from the middle of the colors, from 0 to 0.5, a field is dark.
_DARK = 0.3


class HeatMaps(Study):
    """A GCN on graphs that GAug-M changed, one map per panel, compared with the plain graph.

    The origin of each map is the unchanged graph; its score is white, better ones are red and worse
    ones blue, as in the paper. Gains and losses have scales of their own, so that large losses do
    not hide small gains.
    """

    #: What a panel shows.
    panel_heading: str

    @abstractmethod
    def panels(self, options: StudyOptions) -> Mapping[str, tuple[str, str, Sequence[float]]]:
        """Graph, edge predictor and shares of each panel, by its name."""

    @abstractmethod
    def panel_title(self, panel: str) -> str:
        """The name of a panel in words."""

    def cells(self, options: StudyOptions) -> list[Cell]:
        """One per panel, share added and share removed."""
        found = []
        for panel, (graph, predictor, shares) in self.panels(options).items():
            for added in shares:
                for removed in shares:
                    settings: dict[str, Any] = {
                        "predictor": predictor,
                        "add_fraction": added,
                        "remove_fraction": removed,
                    }
                    changed = added > 0 or removed > 0
                    plan = paper_plan(
                        graph,
                        MODEL,
                        "gaug-m" if changed else "none",
                        settings if changed else {},
                        options,
                    )
                    key = (panel, added, removed)
                    found.append(Cell(key, plan, self.scope.run_numbers(options)))
        return found

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """One row per panel and share added, one column per share removed."""
        by_key = {outcome.key: outcome for outcome in outcomes}
        removals = sorted({removed for _, _, removed in by_key})
        rows: list[list[Field]] = []
        for panel in dict.fromkeys(key[0] for key in by_key):
            shares = sorted({added for name, added, _ in by_key if name == panel})
            for added in shares:
                found = [by_key.get((panel, added, removed)) for removed in removals]
                fields = [None if one is None else one.beside(None) for one in found]
                rows.append([self.panel_title(panel), f"{added:.0%}", *fields])
        header = [
            self.panel_heading,
            "added",
            *(f"{removed:.0%} removed" for removed in removals),
        ]
        notes = [
            "A GCN on the graph that GAug-M changed, by shares of the edges that are added and"
            " removed; the first score of each map is the unchanged graph's. These are test scores:"
            " no setting was chosen by them.",
            *provenance(outcomes, paper=False),
        ]
        return Table(self.title, header, rows, [*notes, *failures(outcomes)])

    def draw(self, outcomes: Sequence[Outcome], path: Path) -> None:
        """Write the picture: one map per panel."""
        names = list(dict.fromkeys(outcome.key[0] for outcome in outcomes))
        columns = min(_COLUMNS, len(names)) if len(names) != 4 else 2
        rows = math.ceil(len(names) / columns)
        with picture(path, rows, columns, width=3.6, height=3.2) as (canvas, axes):
            for axis in axes.flat[len(names) :]:
                axis.set_axis_off()
            for axis, name in zip(axes.flat, names, strict=False):
                means = mean_scores([one for one in outcomes if one.key[0] == name])
                image = _draw_map(axis, means)
                if image is not None:
                    canvas.colorbar(image, ax=axis, label="test micro-F1, %")
                axis.set_title(self.panel_title(name))
            for axis in axes[-1]:
                axis.set_xlabel("added, % of the edges")
            for axis in axes[:, 0]:
                axis.set_ylabel("removed, % of the edges")


def mean_scores(outcomes: Sequence[Outcome]) -> dict[tuple[float, float], float]:
    """The mean score of each share added and share removed; NaN where there are no runs."""
    return {
        (outcome.key[1], outcome.key[2]): statistics.fmean(outcome.scores)
        if outcome.scores
        else math.nan
        for outcome in outcomes
    }


def _draw_map(axis: Axes, means: Mapping[tuple[float, float], float]) -> AxesImage | None:
    """Draw a map, and return its image; None if no field has runs."""
    additions = sorted({added for added, _ in means})
    removals = sorted({removed for _, removed in means})
    values = np.array([[means.get((a, r), math.nan) for a in additions] for r in removals])
    if not np.isfinite(values).any():
        axis.text(0.5, 0.5, "no runs", ha="center", va="center", transform=axis.transAxes)
        axis.set_xticks([])
        axis.set_yticks([])
        return None
    plain = means.get((0.0, 0.0), math.nan)
    center = plain if math.isfinite(plain) else float(np.nanmean(values))
    worst = min(float(np.nanmin(values)), center - _REACH)
    best = max(float(np.nanmax(values)), center + _REACH)
    scale = TwoSlopeNorm(center, worst, best)
    image = axis.imshow(values, cmap="RdBu_r", norm=scale, origin="lower", aspect="auto")
    axis.set_xticks(range(len(additions)), [f"{100 * share:.0f}" for share in additions])
    axis.set_yticks(range(len(removals)), [f"{100 * share:.0f}" for share in removals])
    for row, col in np.ndindex(values.shape):
        value = values[row, col]
        dark = abs(float(scale(value)) - 0.5) > _DARK
        if math.isfinite(value):
            axis.text(
                col,
                row,
                f"{value:.0f}" if len(additions) > 5 else f"{value:.1f}",
                ha="center",
                va="center",
                fontsize=6 if len(additions) > 5 else 7,
                color="white" if dark else "black",
            )
    return image
