"""Tables for the page that tells how close table 2 is to the paper's, and why."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from gaug.drawing.table import Field, Scores, Table
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.runs.summary import mean_and_spread
from gaug.studies.outcome import Outcome
from gaug.studies.paper import table2_score

_VERDICTS = ("above", "within", "below")


def verdicts_table(outcomes: Sequence[Outcome]) -> Table:
    """How many cells of each method are above, within and below the paper's spread.

    Args:
        outcomes: The cells of table 2.
    """
    by_method: dict[str, list[Scores]] = {}
    for outcome in outcomes:
        scores = outcome.beside(table2_score(*outcome.key))
        if scores.verdict is not None:
            by_method.setdefault(METHODS.title(outcome.key[2]), []).append(scores)
    every = [scores for found in by_method.values() for scores in found]
    rows: list[list[Field]] = []
    for method, found in [*by_method.items(), ("all", every)] if every else ():
        counts = [sum(scores.verdict == verdict for scores in found) for verdict in _VERDICTS]
        differences = [scores.difference for scores in found if scores.difference is not None]
        low, middle, high = min(differences), statistics.median(differences), max(differences)
        shown = f"{_signed(low)} to {_signed(high)}"
        rows.append([method, len(found), *counts, _signed(middle), shown])
    header = ["method", "cells", *_VERDICTS, "median difference", "from … to"]
    return Table("Above, within and below", header, rows)


def selection_table(chosen: Sequence[Outcome], published: Sequence[Outcome]) -> Table:
    """Cells with settings that we chose, and with those that the authors chose by test score.

    Args:
        chosen: Cells with settings chosen on validation nodes.
        published: Cells with the authors' settings.
    """
    ours = {outcome.key: outcome for outcome in chosen if outcome.runs}
    rows: list[list[Field]] = []
    for theirs in published:
        mine, paper = ours.get(theirs.key), table2_score(*theirs.key)
        if mine is None or not theirs.runs or paper is None:
            continue
        graph, model, method = theirs.key
        rows.append(
            [
                *(graph, MODELS.title(model), METHODS.title(method)),
                *(mean_and_spread(one.val_scores) for one in (mine, theirs)),
                *(mean_and_spread(one.scores) for one in (mine, theirs)),
                f"{paper[0]:.1f}",
            ]
        )
    header = ["graph", "model", "method", "validation: ours", "theirs"]
    return Table("Settings", [*header, "test: ours", "theirs", "paper"], rows)


def cost_table(records: Mapping[str, Iterable[Outcome]]) -> Table:
    """Runs on record of each study, and the time they took, all cores together.

    Args:
        records: The outcomes of each record, by its name.
    """
    rows: list[list[Field]] = []
    runs, hours = 0, 0.0
    for name, outcomes in records.items():
        timed = [outcome for outcome in outcomes if outcome.seconds is not None]
        if not timed:
            continue
        of_study = sum(outcome.runs for outcome in timed)
        spent = sum(outcome.runs * (outcome.seconds or 0.0) for outcome in timed) / 3600
        rows.append([name, len(timed), of_study, f"{spent:.1f}"])
        runs, hours = runs + of_study, hours + spent
    rows.append(["all", "", runs, f"{hours:.1f}"])
    return Table("Cost", ["record", "cells", "runs", "core-hours"], rows)


def _signed(points: float) -> str:
    return f"{round(points, 1) + 0.0:+.1f}"  # no minus before zero
