"""The programs in examples/ do what their first lines say."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def program(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_csv_to_predictions_gives_every_blog_a_topic_in_the_given_ids(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = program("csv_to_predictions").main(
        ["--epochs", "60", "--out", str(tmp_path / "predictions.csv")]
    )
    blogs = rows(EXAMPLES / "blogs" / "features.csv")
    topics = {row["blog"]: row["topic"] for row in rows(EXAMPLES / "blogs" / "labels.csv")}
    predicted = rows(out)
    assert [row["node"] for row in predicted] == [row["blog"] for row in blogs]
    assert {row["node"]: row["known"] for row in predicted if row["known"]} == topics
    for row in predicted:
        numbers = {topic: float(row[topic]) for topic in set(topics.values())}
        assert sum(numbers.values()) == pytest.approx(1, abs=0.003)
        assert numbers[row["class"]] == max(numbers.values())
    right = sum(row["class"] == row["known"] for row in predicted)
    assert right / len(topics) > 0.7  # a guess has a quarter
    assert "GAug-M predicts" in capsys.readouterr().out


@pytest.mark.real
def test_a_better_graph_for_blogcatalog_is_worth_ten_points() -> None:
    scores = program("mend_blogcatalog").main(["--runs", "1", "--epochs", "20"])
    assert scores["GAug-M"] > scores["plain GCN"] + 10


@pytest.mark.real
def test_all_loops_of_ones_own_learn() -> None:
    scores = program("own_training_loop").main(["--epochs", "20", "--pretrain", "30"])
    assert set(scores) == {"plain", "DropEdge", "GAug-O"}
    assert min(scores.values()) > 55  # a guess has 30 at most


def test_the_programs_are_short_and_say_how_to_run_them() -> None:
    programs = sorted(EXAMPLES.glob("*.py"))
    assert len(programs) == 3
    for path in programs:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) < 80
        assert f"python examples/{path.name}" in text
