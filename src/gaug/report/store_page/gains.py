"""What searches and races tried, compared with no augmentation in the same runs.

The truth of validation nodes is not in a store, so a gain is the difference of the scores of whole
runs here; `gaug.auto` compares node by node and says how sure a gain is.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaug.choosing.candidates import ADDED
from gaug.drawing.names import cut
from gaug.report.page.charts import rows
from gaug.report.page.document import Section, figure, paragraphs
from gaug.report.page.html import Html, counted, join, tag
from gaug.report.page.tables import Cell, html_table, signed
from gaug.report.store_page.experiment_data import experiment_link, score_cell, settings_cell
from gaug.report.store_page.experiments import CHOSEN, TRIED, Experiment, trained_as, tried_as
from gaug.runs.summary import spread

_NONE = "none"
# Comparisons on the page, rows of each table, and rows of each chart.
_MOST_COMPARISONS, _LISTED, _DRAWN = 20, 60, 12


@dataclass(frozen=True)
class Tried:
    """An experiment beside no augmentation.

    Attributes:
        experiment: The experiment.
        gains: Points of its validation score above no augmentation, for each run that both have.
        taken: The experiment in which its test score was read in the end, if it was: the same one,
            or that of the given split and training if it was tried with others.
    """

    experiment: Experiment
    gains: Sequence[float]
    taken: Experiment | None = None

    @property
    def mean(self) -> float:
        """The mean gain."""
        return statistics.fmean(self.gains)


@dataclass(frozen=True)
class GainComparison:
    """What was tried on one graph with one model and split.

    Attributes:
        plain: No augmentation.
        tried: What was tried; those with most runs first, and of these the largest gain.
    """

    plain: Experiment
    tried: Sequence[Tried]


def compare_gains(experiments: Sequence[Experiment]) -> list[GainComparison]:
    """Everything that was tried where there are runs without augmentation, newest first."""
    alike: dict[str, list[Experiment]] = {}
    for one in experiments:
        alike.setdefault(_beside(one), []).append(one)
    taken = {key: one for one in experiments if one.chosen == CHOSEN for key in tried_as(one)}
    found = []
    for members in alike.values():
        unchanged = [one for one in members if one.first.method == _NONE]
        if not unchanged:
            continue
        plain = min(unchanged, key=lambda one: len(_added(one)))
        others = [one for one in members if one is not plain and one.chosen in (TRIED, CHOSEN)]
        pairs = [
            Tried(one, gains, taken.get(trained_as(one)))
            for one in others
            if (gains := _gains(one, plain))
        ]
        pairs.sort(key=lambda one: (len(one.gains), one.mean), reverse=True)
        if any(one.experiment.chosen == TRIED for one in pairs):
            found.append(GainComparison(plain, pairs))
    return found


def _beside(one: Experiment) -> str:
    """What experiments must share to be compared: all but the method and what auto may add."""
    first = one.first
    config = {
        name: part
        for name, part in (first.config or {}).items()
        if name not in ("method", "predictors", "user_code")
    }
    training = _training(one)
    config["training"] = {name: training[name] for name in training if name not in ADDED}
    version = (first.versions or {}).get("gaug")
    shared = (first.graph, first.graph_hash, first.split, first.model, first.protocol, version)
    return json.dumps((shared, config), sort_keys=True)


def _added(one: Experiment) -> list[str]:
    """What is added to its training."""
    training = _training(one)
    return [name for name in ADDED if training.get(name)]


def _training(one: Experiment) -> Mapping[str, Any]:
    """Its settings of training; none where another version recorded something else."""
    training = (one.first.config or {}).get("training")
    return training if isinstance(training, Mapping) else {}


def _gains(one: Experiment, plain: Experiment) -> list[float]:
    scores = {
        (record.seed, record.run, record.split_hash): record.val_score
        for record in plain.records
        if record.val_score is not None
    }
    return [
        record.val_score - scores[key]
        for record in one.records
        if record.val_score is not None
        and (key := (record.seed, record.run, record.split_hash)) in scores
    ]


def gain_sections(experiments: Sequence[Experiment], charts: dict[str, Any]) -> list[Section]:
    """The comparisons as a section; none if nothing can be compared.

    Args:
        experiments: All experiments, newest first.
        charts: Where the charts are put.
    """
    found = compare_gains(experiments)
    if not found:
        return []
    parts: list[Html] = [
        paragraphs(
            "What searches and auto tried, compared with no augmentation in the same"
            " runs: points of validation micro-F1 above it. The best of many is best partly by"
            " chance, most of all with few runs, so those with most runs come first. A test score"
            " was read only of what was taken in the end."
        )
    ]
    for place, one in enumerate(found[:_MOST_COMPARISONS]):
        parts.append(_comparison(one, f"gains-{place}", charts))
    if len(found) > _MOST_COMPARISONS:
        parts.append(paragraphs(f"{len(found) - _MOST_COMPARISONS:,} more are not shown."))
    return [Section("gains", "Gains over no augmentation", join(parts))]


def _comparison(one: GainComparison, name: str, charts: dict[str, Any]) -> Html:
    first = one.plain.first
    where = f"{cut(first.graph)}, {cut(first.model)}, split {cut(first.split or '', 40)}"
    charts[name] = rows(
        [_bar(tried) for tried in one.tried[:_DRAWN]],
        {"title": "points above no augmentation"},
        zero=True,
    )
    header = ["method", "settings", "validation", "gain", "runs compared", "test"]
    listed = [_row(tried) for tried in one.tried[:_LISTED]]
    table = html_table(f"Gains over no augmentation: {where}", header, listed, numeric=(2, 3, 4, 5))
    left = len(one.tried) - _LISTED
    taken = ", ".join(cut(tried.experiment.first.method) for tried in one.tried if tried.taken)
    words = f"orange: taken ({taken})" if taken else "none of them was taken"
    return join(
        [
            tag("h3", where),
            figure(
                name,
                f"Gain of each run as a point, with mean and spread; {words}",
                f"Gains of {counted(len(one.tried[:_DRAWN]), 'setting')} over no augmentation.",
            ),
            table,
            paragraphs(f"{left:,} with fewer runs or smaller gains are left out.")
            if left > 0
            else "",
        ]
    )


def _bar(tried: Tried) -> dict[str, Any]:
    return {
        "name": cut(tried.experiment.first.method, 30),
        "note": cut(tried.experiment.settings_text, 200),
        "points": [round(gain, 2) for gain in tried.gains],
        "value": round(tried.mean, 2),
        "spread": round(spread(tried.gains), 2),
        "text": str(signed(tried.mean, 1).shown),
        "color": "c4" if tried.taken else "c0",
        "shape": "square" if tried.taken else "circle",
    }


def _row(tried: Tried) -> list[object]:
    one = tried.experiment
    gain = signed(tried.mean, 1)
    if len(tried.gains) > 1:
        gain = Cell(Html(f"{gain.shown} ± {spread(tried.gains):.1f}"), gain.value)
    return [
        Cell(experiment_link(one, cut(one.first.method, 30)), one.first.method),
        settings_cell(one),
        score_cell(one.vals),
        gain,
        len(tried.gains),
        score_cell(tried.taken.tests if tried.taken else ()),
    ]
