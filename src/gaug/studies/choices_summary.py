"""What the choices of a study are worth: gains over plain training, and what was missed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gaug.choosing.gains import percent
from gaug.drawing.table import Code, Field, Scores, Table, with_best
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.runs.summary import mean_and_spread
from gaug.studies.outcome import Outcome

#: Row of plain training.
PLAIN = "none"
#: The model that uses no edges, which is a row beside those of each other model.
MLP = "mlp"
#: Title of the row that is chosen by test score.
HINDSIGHT = "best in hindsight"

_TITLES = {
    "gaug-m": "GAug-M, searched",
    "gaug-o": "GAug-O, searched",
    "stack": "best stack, searched",
    MLP: "MLP",
}


@dataclass(frozen=True)
class Place:
    """All rows of a graph and a model, with that of the MLP on this graph.

    Attributes:
        rows: Test scores by row; rows without runs are left out.
    """

    rows: Mapping[str, Scores] = field(default_factory=dict)

    @property
    def hindsight(self) -> str | None:
        """The row with the highest mean test score, the first of equal ones."""
        return max(self.rows, key=self._mean, default=None)

    @property
    def best_scores(self) -> Scores | None:
        """The scores of that row."""
        return None if self.hindsight is None else self.rows[self.hindsight]

    def gain(self, row: str) -> float | None:
        """Points of a row above plain training; None if one of the two has no runs."""
        if row not in self.rows or PLAIN not in self.rows:
            return None
        return self._mean(row) - self._mean(PLAIN)

    def missed(self, row: str) -> float | None:
        """Points of a row below the best in hindsight."""
        best = self.hindsight
        return None if best is None or row not in self.rows else self._mean(best) - self._mean(row)

    def does_harm(self, row: str) -> bool:
        """Whether a row is below plain training by more than the larger of the two spreads."""
        gain = self.gain(row)
        if gain is None:
            return False
        return gain < -max(self.rows[one].deviation or 0.0 for one in (row, PLAIN))

    def _mean(self, row: str) -> float:
        mean = self.rows[row].mean
        assert mean is not None, "rows without runs are left out"
        return mean


#: Places by graph and model.
Places = Mapping[tuple[str, str], Place]


def places_of(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], Place]:
    """The rows of each graph and model.

    Args:
        outcomes: The outcomes of a study, with the keys graph, model and row.
    """
    there = {outcome.key: Scores(outcome.scores) for outcome in outcomes if outcome.runs}
    asked = dict.fromkeys(
        (graph, model) for graph, model, _ in (outcome.key for outcome in outcomes) if model != MLP
    )
    places = {}
    for graph, model in asked:
        rows = {key[2]: scores for key, scores in there.items() if key[:2] == (graph, model)}
        if (graph, MLP, PLAIN) in there:
            rows[MLP] = there[graph, MLP, PLAIN]
        places[graph, model] = Place(rows)
    return places


def row_title(row: str) -> str:
    """A row in words.

    >>> row_title("auto-60"), row_title("gaug-m"), row_title("none")
    ('auto, 60 s', 'GAug-M, searched', 'original')
    """
    if row.startswith("auto-"):
        return f"auto, {row.removeprefix('auto-')} s"
    return _TITLES[row] if row in _TITLES else METHODS.title(row)


def score_rows(outcomes: Sequence[Outcome], graphs: Sequence[str]) -> list[list[Field]]:
    """The test scores of each model and row, one column per graph; the MLP first.

    Args:
        outcomes: The outcomes of the study.
        graphs: The graphs.
    """
    places = places_of(outcomes)
    scores = {outcome.key: outcome.beside(None) for outcome in outcomes}
    models = dict.fromkeys(model for _, model, _ in scores)
    shown: list[list[Field]] = []
    for model in sorted(models, key=lambda name: name != MLP):
        title = MODELS.title(model)
        names = dict.fromkeys(row for _, found, row in scores if found == model)
        rows: list[list[Field]] = [
            [title, row_title(row), *(scores.get((graph, model, row)) for graph in graphs)]
            for row in names
        ]
        shown += with_best(rows, block=lambda row: row[0])
        if model != MLP:
            best = [places.get((graph, model), Place()).best_scores for graph in graphs]
            shown.append([title, HINDSIGHT, *best])
    return shown


def summary_table(places: Places) -> Table:
    """Each row over all graphs: what it gains, what it misses, and where it does harm.

    Args:
        places: The rows of each graph and model.
    """
    models = list(dict.fromkeys(model for _, model in places))
    rows: list[list[Field]] = []
    for model in models:
        own = {graph: place for (graph, found), place in places.items() if found == model}
        names = dict.fromkeys(row for place in own.values() for row in place.rows)
        for row in names:
            gains = [gain for one in own.values() if (gain := one.gain(row)) is not None]
            missed = [points for one in own.values() if (points := one.missed(row)) is not None]
            harmed = [graph for graph, one in own.items() if one.does_harm(row)]
            rows.append(
                [
                    MODELS.title(model),
                    row_title(row),
                    len(gains),
                    None if row == PLAIN or not gains else f"{statistics.fmean(gains):+.1f}",
                    f"{statistics.fmean(missed):.1f}",
                    ", ".join(harmed) or None,
                ]
            )
    header = [
        "model",
        "method",
        "graphs",
        "mean gain",
        "below the best in hindsight",
        "below original by more than the spread",
    ]
    return Table(
        "Over all graphs",
        header,
        rows,
        [
            "Mean gain: points of test micro-F1 above the original graph, over the graphs on which"
            " both have runs. The spread is the larger of the two sample standard deviations."
        ],
    )


def chosen_table(outcomes: Sequence[Outcome]) -> list[Table]:
    """What was chosen for each graph and model, and how sure that was; empty without a choice.

    Args:
        outcomes: The outcomes of the study.
    """
    rows: list[list[Field]] = []
    for outcome in outcomes:
        graph, model, row = outcome.key
        made = outcome.trials or "method" in outcome.facts  # a race may have had time for none
        if outcome.chosen not in ("race", "search", "preset") or not made:
            continue
        method = outcome.facts.get("method", row)
        took = [method, *(f"{name}={value}" for name, value in outcome.settings.items())]
        rows.append(
            [
                graph,
                MODELS.title(model),
                row_title(row),
                Code(" ".join(took)),
                f"of {outcome.trials}",
                _gain(outcome),
                _confidence(outcome),
                mean_and_spread(outcome.val_scores) if outcome.val_scores else None,
            ]
        )
    if not rows:
        return []
    header = ["graph", "model", "row", "took", "tried", "gain", "sure", "validation"]
    notes = [
        "Gain: on the validation nodes, in points above the original graph, with its standard"
        " error. Sure: that there is a gain at all, considering how many were tried. Where auto"
        " took none, both are those of the best candidate, if any was above the original graph."
        " The last column has the validation score over all runs."
    ]
    return [Table("What was chosen", header, rows, notes)]


def hindsight_table(places: Places) -> list[Table]:
    """Which row is the best by test score, and what it gains; empty without runs.

    Args:
        places: The rows of each graph and model.
    """
    rows: list[list[Field]] = []
    for (graph, model), place in places.items():
        best = place.hindsight
        if best is None:
            continue
        gain = place.gain(best)
        shown = None if gain is None else f"{gain:+.1f}"
        rows.append([graph, MODELS.title(model), row_title(best), place.best_scores, shown])
    header = ["graph", "model", "row", "test", "gain"]
    notes = ["Chosen by test score, which is no honest choice: a bound for those above."]
    return [Table("Best in hindsight", header, rows, notes)] if rows else []


def _gain(outcome: Outcome) -> str | None:
    gain, error = outcome.facts.get("gain"), outcome.facts.get("error")
    return None if gain is None or error is None else f"{gain:+.1f} ± {error:.1f}"


def _confidence(outcome: Outcome) -> str | None:
    sure = outcome.facts.get("confidence")
    return None if sure is None else percent(sure)
