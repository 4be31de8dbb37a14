"""What is wrong with a request is told before PyTorch is imported, which takes seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from pathlib import Path

from gaug.data.catalog.entries import find_entry
from gaug.data.config import DataConfig, SplitConfig, check_split
from gaug.data.files.graph_files import GraphFiles
from gaug.data.source import GraphSource
from gaug.errors import GaugError

here = Path.cwd()
nowhere = here / "nowhere.csv"
edges = GraphFiles(edges=here / "whole" / "edges.csv")
attempts = {
    "Unknown graph 'coar'": lambda: GraphSource("coar").check(),
    "Unknown graph 'crao'": lambda: find_entry("crao"),
    "'cora' is not in the data folder": lambda: GraphSource("cora").check(here),
    "'karate' is a graph of the catalog": lambda: GraphSource("karate", edges).check(),
    "holds no edges.csv": lambda: GraphSource(str(here)).check(),
    "There is no file": lambda: GraphSource("whole", GraphFiles(labels=nowhere)).check(),
    "a file of edges has no meaning beside it": lambda: GraphSource("g.pt", edges).check(),
    "must be a folder, a .pt file": lambda: GraphSource("whole/edges.csv").check(),
    "Unknown features to make": lambda: GraphSource("whole", GraphFiles(make_features="x")).check(),
    "Unknown split 'rndom'": lambda: check_split("rndom"),
    "nowhere.csv.": lambda: check_split(str(nowhere)),
    "train_fraction must be in": lambda: SplitConfig(train_fraction=2.0),
    "got 0.6 + 0.5": lambda: SplitConfig(val_fraction=0.5).resolved(),
    "Unknown feature_scaling": lambda: DataConfig(feature_scaling="x"),
}
for message, attempt in attempts.items():
    try:
        attempt()
    except GaugError as error:
        assert message in str(error), (message, str(error))
    else:
        raise AssertionError(f"nothing was raised: {message}")
for good in (GraphSource("whole"), GraphSource("karate"), GraphSource("g.pt")):
    good.check()
slow = {"torch", "torch_geometric", "numpy", "scipy", "pandas"} & set(sys.modules)
assert not slow, slow
"""


def test_words_come_without_torch(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "edges.csv").write_text("a,b\n")
    (tmp_path / "g.pt").write_text("not read here")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
