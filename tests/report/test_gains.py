"""Gains of what was tried, against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaug.choosing.resampling import RESAMPLED
from gaug.report.store_page.experiments import CHOSEN, TRIED, group
from gaug.report.store_page.gains import compare_gains, gain_sections
from gaug.report.store_page.page import store_page
from tests.report.page.test_html import read
from tests.report.test_store_page import plan, record, store_of


def test_a_gain_is_the_difference_in_the_runs_that_both_have() -> None:
    records = [record(plan(), run, id=run, val_score=[70.0, 80.0, 90.0][run]) for run in range(3)]
    tried = plan("dropedge", drop_fraction=0.1)
    records += [
        record(tried, run, id=10 + run, val_score=score, test_score=None)
        for run, score in ((1, 81.0), (2, 94.0), (3, 10.0))
    ]
    (found,) = compare_gains(group(records, {11, 12, 13}))
    assert [one.experiment.chosen for one in found.tried] == [TRIED]
    assert [(one.gains, one.taken) for one in found.tried] == [([1.0, 4.0], None)]


def test_those_with_most_runs_come_first_then_the_largest_gain() -> None:
    records = [record(plan(), run, id=run, val_score=70.0) for run in range(2)]
    for place, (share, scores) in enumerate(
        {0.1: [99.0], 0.2: [71.0, 71.0], 0.3: [75.0] * 2}.items()
    ):
        tried = plan("dropedge", drop_fraction=share)
        records += [
            record(tried, run, id=10 * (place + 1) + run, val_score=score, test_score=None)
            for run, score in enumerate(scores)
        ]
    (found,) = compare_gains(group(records, {one.id for one in records if one.id >= 10}))
    assert [(len(one.gains), one.mean) for one in found.tried] == [(2, 5.0), (2, 1.0), (1, 29.0)]


def resampled(run: int, **changes: Any) -> dict[str, Any]:
    name = f"public{RESAMPLED}"
    return {"split": name, "split_hash": f"{run:012}", "test_score": None, **changes}


def test_what_was_tried_on_resampled_splits_and_then_trained_was_chosen() -> None:
    best, other = plan("dropedge", drop_fraction=0.1), plan("dropedge", drop_fraction=0.2)
    records = []
    for run in range(3):
        records += [
            record(plan(), run, id=run, **resampled(run, identity=f"a{run}", val_score=60.0)),
            record(best, run, id=10 + run, **resampled(run, identity=f"b{run}", val_score=62.0)),
            record(other, run, id=20 + run, **resampled(run, identity=f"c{run}", val_score=61.0)),
            record(best, run, id=30 + run, test_score=77.0),
        ]
    experiments = group(records, {one.id for one in records if one.id < 30})
    chosen = {one.settings_text: one.chosen for one in experiments if one.tests}
    assert chosen == {"drop_fraction=0.1": CHOSEN}
    (found,) = compare_gains(experiments)
    assert [one.gains for one in found.tried] == [[2.0] * 3, [1.0] * 3]
    taken = [one.taken for one in found.tried]
    assert taken[0] is not None
    assert (taken[0].tests, taken[1]) == ([77.0] * 3, None)


def test_what_a_race_tried_with_patience_and_was_then_trained_without_was_chosen() -> None:
    patient: dict[str, Any] = {"epochs": 400, "patience": 100}
    records = [
        *(record(plan(**patient), run, id=run, val_score=60.0) for run in range(2)),
        *(
            record(
                plan("dropedge", drop_fraction=share, **patient),
                run,
                id=gain + run,
                val_score=60.0 + gain,
                test_score=None,
            )
            for share, gain in ((0.1, 10), (0.2, 20))
            for run in range(2)
        ),
        record(plan("dropedge", drop_fraction=0.1, epochs=400), id=30, test_score=77.0),
    ]
    experiments = group(records, {one.id for one in records if one.id < 30})
    (found,) = compare_gains(experiments)
    taken = {one.mean: one.taken for one in found.tried}
    assert taken[20.0] is None
    assert taken[10.0] is not None
    assert taken[10.0].tests == [77.0]


def test_nothing_is_compared_without_plain_runs_or_without_a_choice() -> None:
    tried = record(plan("dropedge", drop_fraction=0.1), id=1, test_score=None)
    given = record(plan("dropedge", drop_fraction=0.2), id=2)
    assert compare_gains(group([tried], {1})) == []
    assert compare_gains(group([record(plan(), id=3), given], set())) == []
    charts: dict[str, Any] = {}
    assert gain_sections(group([tried], {1}), charts) == []
    assert charts == {}


def test_the_page_shows_gains_and_what_was_taken(tmp_path: Path) -> None:
    page = store_page(
        store_of(
            tmp_path,
            *(record(plan(), run, val_score=70.0 + run) for run in range(2)),
            *(
                record(plan("dropedge", drop_fraction=share), run, test_predictions=b"x", **scores)
                for share, scores in (
                    (0.1, {"val_score": 72.0}),
                    (0.3, {"val_score": 60.0, "test_score": None}),
                )
                for run in range(2)
            ),
        )
    )
    words = read(page.render()).text
    assert "orange: taken (dropedge)" in words
    assert "+1.5 ± 0.7" in words
    assert "−10.5 ± 0.7" in words
    (first, second) = page.data["charts"]["gains-0"]["rows"]
    assert (first["points"], first["shape"]) == ([2.0, 1.0], "square")
    assert second["value"] == pytest.approx(-10.5)


def test_what_auto_adds_to_the_training_is_compared_with_the_training_without() -> None:
    scores = [
        (plan("none", students=1), 75.0),
        (plan("none"), 70.0),
        (plan("dropedge", students=1), 76.0),
    ]
    made = [
        record(settled, id=place, identity=str(place), val_score=score, test_score=None)
        for place, (settled, score) in enumerate(scores)
    ]
    (found,) = compare_gains(group(made, {0, 1, 2}))
    assert found.plain.vals == [70.0]
    gains = {one.experiment.first.method: one.mean for one in found.tried}
    assert gains == {"dropedge": 6.0, "none": 5.0}
