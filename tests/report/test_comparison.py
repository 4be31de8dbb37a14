"""The picture of a comparison shows its gains, and which trial is which."""

from __future__ import annotations

import dataclasses
import itertools
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gaug.choosing.comparison import Comparison
from gaug.choosing.run_scores import RunScores
from gaug.choosing.trial import Trial
from gaug.drawing import picture as drawing
from gaug.drawing.picture import BLUE, GRAY, GREEN
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.report.comparison import MOST_TRIALS, draw_comparison
from gaug.runs.plan import Plan
from tests.known import known

PLAN = Plan.of("karate")
NODES = 1000


def trial(name: str, gain: float = 0.0, *, confirmed: bool = False, runs: int = 4) -> Trial:
    """A trial with so many points above one with 700 right nodes, and a few other nodes a run."""
    rows = []
    for run in range(runs):
        right = np.arange(NODES) < round(700 + 10 * gain)
        rows.append(100.0 * np.roll(right, run))
    nodes = np.array(rows)
    outcomes = RunScores(tuple(range(runs)), tuple(nodes.mean(axis=1)), nodes)
    other = DropEdgeConfig(drop_fraction=zlib.crc32(name.encode()) / 2**33)  # each its own
    plan = PLAN if name == "none" else PLAN.with_method(other)
    return dataclasses.replace(Trial(name, plan).with_runs(outcomes, 1.0), confirmed=confirmed)


def compared(*others: Trial) -> Comparison:
    return Comparison(trial("none"), list(others))


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are written, to look at what was drawn."""
    found: list[Figure] = []
    write = drawing.write_picture

    def noted(canvas: Figure, path: Path) -> None:
        canvas.draw_without_rendering()
        found.append(canvas)
        write(canvas, path)

    monkeypatch.setattr(drawing, "write_picture", noted)
    return found


def svg_of(comparison: Comparison, folder: Path, **options: object) -> str:
    path = folder / "race.svg"
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        draw_comparison(comparison, path, **options)  # type: ignore[arg-type]
    assert list(folder.iterdir()) == [path]
    return path.read_text(encoding="utf-8")


def rows_of(axis: Axes) -> list[tuple[float, list[float], str]]:
    """For each row, from the top: where its point is, its interval and its color."""
    lines = axis.get_lines()[1:]  # the first one marks no augmentation
    found = []
    for interval, point in zip(lines[::2], lines[1::2], strict=True):
        ends = [float(x) for x in np.asarray(interval.get_xdata())]
        (x,) = np.asarray(point.get_xdata())
        found.append((float(x), ends, str(point.get_color())))
    return found


def test_each_trial_is_drawn_at_its_gain_with_its_interval_the_best_first(
    tmp_path: Path, figures: list[Figure]
) -> None:
    comparison = compared(trial("small", 0.5), trial("large", 6.0, confirmed=True), trial("b", -2))
    draw_comparison(comparison, tmp_path / "race.png")
    axis = figures[0].axes[0]
    ranked = comparison.ranked()
    assert [label.get_text() for label in axis.get_yticklabels()] == ["large", "small", "b"]
    for (point, ends, _), one in zip(rows_of(axis), ranked, strict=True):
        gain = known(comparison.gain_of(one))
        assert point == pytest.approx(gain.points)
        assert ends == pytest.approx(gain.interval(0.9))
    low, high = axis.get_ylim()
    assert low > high, "the first is at the top"


def test_finalists_those_looked_at_and_the_chosen_one_are_told_apart(
    tmp_path: Path, figures: list[Figure]
) -> None:
    comparison = compared(
        trial("best", 6.0, confirmed=True),
        trial("second", 3.0, confirmed=True),
        trial("seen", 5.0),
    )
    assert comparison.chosen.name == "best"
    text = svg_of(comparison, tmp_path)
    assert [color for *_, color in rows_of(figures[0].axes[0])] == [GREEN, BLUE, GRAY]
    for words in ("chosen", "ran again with new seeds", "looked at"):
        assert f">{words}<" in text


def test_where_nothing_is_chosen_nothing_is_marked(tmp_path: Path, figures: list[Figure]) -> None:
    comparison = compared(trial("a", 0.1, confirmed=True), trial("b", -1.0))
    assert not comparison.helps
    assert ">chosen<" not in svg_of(comparison, tmp_path)
    assert GREEN not in [color for *_, color in rows_of(figures[0].axes[0])]
    # A search has a best trial all the same.
    (tmp_path / "race.svg").unlink()
    assert ">chosen<" in svg_of(comparison, tmp_path, taken=comparison.others[0])


def overlapping(axis: Axes) -> list[str]:
    """Labels of rows that run into the next one, as drawn."""
    labels = [label for label in axis.get_yticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    boxes.sort(key=lambda box: -box.y0)
    return [str(box) for box, after in itertools.pairwise(boxes) if after.y1 > box.y0]


def test_forty_long_names_are_readable(tmp_path: Path, figures: list[Figure]) -> None:
    name = "gaug-m predictor=smoothed add_fraction=0.5 remove_fraction=0.0 allocation=per-node"
    end = "rounds=2 second_remove_fraction=0.6"
    others = [trial(f"{name} {end}{number:02}", number / 10) for number in range(40)]
    text = svg_of(compared(*others), tmp_path, title="cora, gcn")
    axis = figures[0].axes[0]
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert len({" ".join(one.split()) for one in names}) == 40, "all are told apart"
    assert all(re.search(r"fraction=0\.6\d\d$", one) for one in names)
    assert overlapping(axis) == []
    left = min(label.get_window_extent().x0 for label in axis.get_yticklabels())
    assert left >= 0, "nothing is cut off"
    assert "cora, gcn" in text


def test_of_more_trials_the_best_are_drawn_and_the_rest_is_told(
    tmp_path: Path, figures: list[Figure]
) -> None:
    others = [trial(f"a{number}", number / 20, runs=1) for number in range(MOST_TRIALS + 7)]
    text = svg_of(compared(*others), tmp_path)
    words = " ".join(" ".join(re.findall(r">([^<]+)<", text)).split())
    assert "7 others with smaller gains are not drawn." in words
    names = [label.get_text() for label in figures[0].axes[0].get_yticklabels()]
    assert names == [one.name for one in compared(*others).ranked()[:MOST_TRIALS]]


def test_one_far_below_does_not_hide_the_rest(tmp_path: Path, figures: list[Figure]) -> None:
    text = svg_of(compared(trial("good", 2.0), trial("awful", -40.0)), tmp_path)
    axis = figures[0].axes[0]
    low, high = axis.get_xlim()
    assert low > -20
    assert high > 2
    assert any(line.get_marker() == "<" for line in axis.get_lines())
    assert "-40.0" in text, "its gain is told as a number"


def test_names_are_texts_whatever_is_in_them(tmp_path: Path) -> None:
    text = svg_of(compared(trial("cash $x^2$ & <b>\x07", 1.0)), tmp_path, title="a $b$ graph")
    assert "cash $x^2$ &amp; &lt;b&gt;" in text
    assert "a $b$ graph" in text


def test_without_any_other_trial_there_is_a_sentence(tmp_path: Path) -> None:
    failed = dataclasses.replace(Trial("gaug-o", PLAN), failure="no time was left")
    assert "Only the trial without augmentation was finished." in svg_of(compared(failed), tmp_path)


def test_a_trial_without_known_nodes_has_no_interval(tmp_path: Path, figures: list[Figure]) -> None:
    bare = dataclasses.replace(trial("bare", 2.0), outcomes=None)
    draw_comparison(compared(bare), tmp_path / "race.pdf")
    ((point, ends, _),) = rows_of(figures[0].axes[0])
    assert point == pytest.approx(2.0)
    assert ends == pytest.approx([2.0, 2.0])
    assert (tmp_path / "race.pdf").read_bytes().startswith(b"%PDF")


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    found: Sequence[Trial] = [trial("a", 1.0), trial("b", -1.0)]
    for name in ("one.svg", "two.svg"):
        draw_comparison(compared(*found), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
