from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from gaug.choosing.scores import ValidationScores
from gaug.graph.homophily import Homophily
from gaug.inspection.advice import Evidence, advise
from gaug.inspection.description import Labels, Shape
from gaug.inspection.inspect import Inspection
from gaug.report.inspection import draw_inspection, inspection_lines

SHAPE = Shape(1200, 3400, True, 5.7, 4.5, 60, 7, 9, 1100, 20, 0.25)
EVIDENCE = Evidence(
    features=ValidationScores((80.0, 82.0), 400),
    edges=ValidationScores((60.0, 60.0), 400),
    places=ValidationScores((30.0, 31.0), 400),
    guess=ValidationScores((25.0,), 400),
)
BARE = Inspection("shops", SHAPE, [7, 3, 0, 2], remark="The graph has no labels.")
FULL = Inspection(
    "shops",
    SHAPE,
    [7, 3, 0, 2],
    Labels({"cash $x^2$ & <b>": 10, "two\nlines": 30}, 40, 1160),
    Homophily(0.5, 0.25, 80),
    "public",
    EVIDENCE,
    advise(EVIDENCE),
)


def drawn_as_svg(found: Inspection, folder: Path) -> str:
    path = folder / "picture.svg"
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        draw_inspection(found, path)
    assert list(folder.iterdir()) == [path]
    return path.read_text(encoding="utf-8")


def test_every_number_is_told_in_words():
    text = "\n".join(inspection_lines(FULL))
    for words in (
        "1,200, of them 7 isolated",
        "3,400, with weights",
        "mean 5.7, median 4.5, largest 60",
        "9, the largest with 1,100 nodes (92%)",
        "20, 25.0% of the entries not zero",
        "40 of 1,200 nodes have one",
        "two lines: 30, cash $x^2$ & <b>: 10",
        "0.50 of the 80 edges between training and validation nodes are within a class, 0.25 by",
        "400 nodes of split public, 2 runs",
        "features alone (MLP)               81.0 ± 1.4",
        "21.0 points above a GCN",
    ):
        assert words in text


def test_without_labels_there_is_a_sentence_and_one_panel(tmp_path):
    lines = inspection_lines(BARE)
    assert lines[-1] == "The graph has no labels."
    assert not any("classes" in line or "validation" in line for line in lines)
    text = drawn_as_svg(BARE, tmp_path)
    assert "Degrees" in text
    assert "Classes" not in text


def test_names_of_users_are_texts_in_the_picture(tmp_path):
    text = drawn_as_svg(FULL, tmp_path)
    for words in (
        "cash $x^2$ &amp; &lt;b&gt;",
        "two lines",
        "no label",
        "What predicts the classes",
    ):
        assert words in text


def test_many_classes_are_put_together():
    counts = {f"class {number}": 100 - number for number in range(50)}
    labels = Labels(counts, sum(counts.values()), 0)
    found = Inspection("shops", SHAPE, [1], labels)
    (line,) = (line for line in inspection_lines(found) if line.startswith("  classes"))
    others = sum(100 - number for number in range(11, 50))
    assert line.endswith(f"class 10: 90, 39 others: {others:,}")


@pytest.mark.parametrize("degrees", [[5], [0, 5], [1, 0, 0, 0, 100_000]])
def test_any_degrees_can_be_drawn(tmp_path, degrees):
    draw_inspection(Inspection("shops", SHAPE, degrees), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
