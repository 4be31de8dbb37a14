from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from torch_geometric.data import Data

from gaug.graph.change import GraphChange
from gaug.report.figure1 import draw_figure1
from gaug.studies.figure1 import Figure1, Variant

SIGNATURES = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}


def pairs(*edges: tuple[int, int]) -> torch.Tensor:
    return torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()


@pytest.fixture
def figure(path_graph: Data) -> Figure1:
    """The path 0 - 1 - 2 - 3 as it is, and with two edges more and one less."""
    change = GraphChange(added=pairs((0, 2), (0, 3)), removed=pairs((1, 2)))
    return Figure1(
        path_graph,
        [
            Variant("Original", None, [80.0, 90.0], [80.0, 90.0], None, 92.4),
            Variant("Changed", change, [60.0, 70.0], [50.0, 50.0], 90.4, 91.0),
        ],
        runs=2,
    )


def drawn_as_svg(figure: Figure1, folder: Path) -> str:
    path = folder / "figure.svg"
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        draw_figure1(figure, path)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", SIGNATURES)
def test_the_format_follows_the_ending(figure, tmp_path, ending):
    path = tmp_path / f"figure{ending}"
    draw_figure1(figure, path)
    assert path.read_bytes().startswith(SIGNATURES[ending])
    assert list(tmp_path.iterdir()) == [path]


def test_each_graph_has_its_name_and_scores(figure, tmp_path):
    text = drawn_as_svg(figure, tmp_path)
    for words in ("Original", "Changed"):
        assert words in text
    assert text.count("on the original graph: 85.0 ± 7.1") == 1
    assert text.count("on the modified graph: 65.0 ± 7.1") == 1
    assert text.count("on the original graph: 50.0 ± 0.0") == 1
    assert text.count("on the modified graph") == 1


def test_edges_are_drawn_as_kept_added_and_removed(figure, tmp_path):
    text = drawn_as_svg(figure, tmp_path)
    strokes = re.findall(r"stroke: (#[0-9a-f]{6})", text)
    dashed = text.count("stroke-dasharray")
    legend = 1
    # Three edges of the original and the two that the change keeps, and one in the legend.
    assert strokes.count("#555555") == 3 + 2 + legend
    # Two edges added and one removed, and both in the legend; only what is removed is dashed.
    assert strokes.count("#0060c0") == 2 + 1 + 2 * legend
    assert dashed == 1 + legend


def test_an_older_picture_is_replaced_and_no_figure_stays_open(figure, tmp_path):
    path = tmp_path / "figure.png"
    path.write_text("old")
    before = plt.get_fignums()
    draw_figure1(figure, path)
    assert path.read_bytes().startswith(SIGNATURES[".png"])
    assert plt.get_fignums() == before


def test_a_picture_that_cannot_be_written_leaves_nothing_behind(figure, tmp_path):
    path = tmp_path / "figure.png"
    path.mkdir()
    before = plt.get_fignums()
    with pytest.raises(OSError):
        draw_figure1(figure, path)
    assert list(tmp_path.iterdir()) == [path]
    assert list(path.iterdir()) == []
    assert plt.get_fignums() == before
