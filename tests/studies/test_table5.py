"""Table 5: large graphs in mini-batches, and at once."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from gaug.choosing.grid import StagedGrid
from gaug.drawing.table import render
from gaug.runs.graphs import Graphs
from gaug.runs.store import Store
from gaug.studies.chooser import Given, Grid
from gaug.studies.engine import run_cells
from gaug.studies.paper import table5_score
from gaug.studies.scope import StudyOptions
from gaug.studies.table5 import BATCHES, SEARCHES, Table5


@pytest.fixture
def ogb_root(tmp_path: Path) -> Path:
    """A small graph in the format of OGB: 60 papers of two subjects, which cite their own."""
    random = np.random.default_rng(0)
    labels = np.arange(60) % 2
    features = random.normal(labels[:, None] * 3.0, 1.0, (60, 8))
    edges = [(u, v) for u in range(60) for v in random.choice(np.arange(u % 2, 60, 2), 3) if u != v]
    order = random.permutation(60)
    tables = {
        "raw/node-feat": features,
        "raw/edge": np.array(edges),
        "raw/node-label": labels[:, None],
        "split/time/train": order[:30, None],
        "split/time/valid": order[30:45, None],
        "split/time/test": order[45:, None],
    }
    for name, table in tables.items():
        path = tmp_path / "OGB" / "ogbn_arxiv" / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(",".join(map(str, row)) + "\n" for row in table.tolist())
        path.write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_the_cells_are_every_method_in_mini_batches_and_at_once() -> None:
    cells = Table5().cells(StudyOptions(graphs=["pubmed"]))
    assert [cell.key[1:] for cell in cells] == [
        (method, way) for method in ("none", "gaug-m", "gaug-o") for way in ("mini-batch", "full")
    ]
    sizes = {cell.key[2]: cell.plan.training.batch_size for cell in cells}
    assert sizes == {"mini-batch": BATCHES["pubmed"]["batch_size"], "full": None}
    assert all(cell.plan.model.name == "gcn" for cell in cells)


def test_every_setting_that_is_searched_can_be_set() -> None:
    for cell in Table5().cells(StudyOptions(graphs=["pubmed"])):
        stages = SEARCHES[cell.key[1]]
        assert cell.chooser == (Grid(stages) if stages else Given())
        assert not stages or StagedGrid(cell.plan, stages).propose()


def test_files_in_the_format_of_ogb_are_trained_and_stand_beside_the_paper(
    ogb_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BATCHES, "ogbn-arxiv", {"batch_size": 10, "fanout": 2})
    options = StudyOptions(
        graphs=["ogbn-arxiv"], methods=["none", "gaug-o"], runs=2, settings="default", root=ogb_root
    )
    study, graphs = Table5(), Graphs(ogb_root)
    results = run_cells(
        study.cells(options), store=Store(str(ogb_root / "s.sqlite")), graphs=graphs
    )
    assert all(len(result.scores) == 2 for result in results)
    assert {result.records[0].config["training"]["fanout"] for result in results} == {2, None}
    assert min(result.scores[0] for result in results) > 80  # the classes are far apart
    text = render(study.table(study.outcomes(results, graphs, options)), "markdown")
    mean, _ = table5_score("ogbn-arxiv", "gaug-o")
    rows = [line for line in text.splitlines() if line.startswith("| GAug-O |")]
    assert f"({mean})" in rows[0]
    assert rows[0].startswith("| GAug-O | mini-batches |")
    assert "(" not in rows[1]
    assert "batch_size=10, fanout=2" in text
