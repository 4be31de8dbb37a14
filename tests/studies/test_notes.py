"""The notes below a table say only what holds of it."""

from __future__ import annotations

from gaug.drawing.table import Scores, with_best
from gaug.studies.notes import best_note, provenance
from gaug.studies.outcome import Outcome


def outcome(*scores: float) -> Outcome:
    return Outcome(("cora", "gcn", "none"), scores=scores)


def test_a_single_run_has_no_mean_and_no_deviation() -> None:
    (note,) = provenance([outcome(80.0)], paper=False)
    assert note == "Test micro-F1 in percent of 1 run. Epochs were selected on validation nodes."
    (note,) = provenance([outcome(80.0), outcome(80.0, 82.0)], paper=False)
    assert "mean and sample standard deviation over 1 or 2 runs" in note


def test_bold_is_explained_only_where_something_is_bold() -> None:
    alone = with_best([["GCN", Scores([80.0])]], block=lambda row: row[0])
    assert best_note(alone, "model") == []
    two = with_best([["GCN", Scores([80.0])], ["GCN", Scores([81.0])]], block=lambda row: row[0])
    assert best_note(two, "model") == ["Bold: the best of each model in a column."]
    assert best_note(two, None) == ["Bold: the best of each column."]
