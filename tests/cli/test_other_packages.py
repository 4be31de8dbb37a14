"""A method, a model and a predictor of another installed package, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

METHOD = """
from dataclasses import dataclass
from typing import ClassVar

from gaug import Method, MethodConfig
from gaug.config import Range, setting
from gaug.training.hooks import AugmentedRun


@dataclass(frozen=True)
class HalvedConfig(MethodConfig):
    name: ClassVar[str] = "halved"
    title: ClassVar[str] = "Halved"

    kept_share: float = setting(0.5, "Share of the edges kept.", within=Range(0, 1))


class HalvedRun(AugmentedRun):
    def training_graph(self, current, batch, epoch):
        import torch

        number = torch.rand(batch.adjacency.num_pairs, generator=self.generator)
        return batch.adjacency.keep_pairs(number < self.kept_share)


class Halved(Method[HalvedConfig]):
    config_type = HalvedConfig

    def start(self, visible, generator):
        run = HalvedRun(visible, generator)
        run.kept_share = self.config.kept_share
        return run
"""
MODEL = """
from dataclasses import dataclass
from typing import ClassVar

from gaug import GNN, ModelConfig
from gaug.models.base import Linear


@dataclass(frozen=True)
class StepConfig(ModelConfig):
    name: ClassVar[str] = "step"
    title: ClassVar[str] = "One step"


class Step(GNN):
    config_type = StepConfig

    def __init__(self, in_features, num_classes, config=None):
        super().__init__()
        self.layer = Linear(in_features, num_classes)

    def classify(self, h, adjacency):
        return adjacency.layer(0).symmetric(self.layer(h)) + self.layer.bias
"""
PREDICTOR = """
from dataclasses import dataclass
from typing import ClassVar

from gaug import EdgePredictor, PredictorConfig
from gaug.config import setting


@dataclass(frozen=True)
class CloseConfig(PredictorConfig):
    name: ClassVar[str] = "close"
    title: ClassVar[str] = "close ids"

    sign: float = setting(-1.0, "What the distance of the ids is multiplied by.")


class Close(EdgePredictor):
    config_type = CloseConfig

    def _learn(self, data, seed, on_share):
        pass

    def _adapt(self, data):
        pass

    def edge_logits(self, pairs):
        return self.config.sign * (pairs[0] - pairs[1]).abs()
"""
ENTRY_POINTS = """[gaug.methods]
halved = their_package.method:Halved
broken = their_package.broken:Broken

[gaug.models]
step = their_package.model:Step

[gaug.predictors]
close = their_package.predictor:Close
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which a package lies as pip would have put it."""
    folder = tmp_path / "site"
    package = folder / "their_package"
    package.mkdir(parents=True)
    for name, text in (("method", METHOD), ("model", MODEL), ("predictor", PREDICTOR)):
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "broken.py").write_text("import no_such_library\n", encoding="utf-8")
    about = folder / "their_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return folder


def gaug(installed: Path, command: str) -> subprocess.CompletedProcess[str]:
    source = Path(__file__).parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(installed)])}
    environment["COLUMNS"] = "200"
    return subprocess.run(
        [sys.executable, "-m", "gaug", *command.split()],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_method_and_a_model_of_another_package_train(installed: Path) -> None:
    wish = "--method halved --model step --runs 1 --split stratified"
    settings = "--set epochs=5 --set kept_share=0.7"
    done = gaug(installed, f"train karate {wish} {settings} -q --json")
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    assert config["method"] == {"kept_share": 0.7}


def test_a_predictor_of_another_package_stands_in_a_sum_and_is_saved(
    installed: Path, tmp_path: Path
) -> None:
    wish = f"--out {tmp_path / 'model'} --method gaug-m --model step"
    settings = "--set predictor=ra+2*close --set sign=-2 --set epochs=5"
    done = gaug(installed, f"fit karate {wish} {settings} -q --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["config"]["predictors"]["close"] == {"sign": -2.0}
    done = gaug(installed, f"predict {tmp_path / 'model'} karate --out {tmp_path / 'out.csv'}")
    assert done.returncode == 0, done.stderr


def test_their_settings_are_listed_and_help_names_them(installed: Path) -> None:
    rows = json.loads(gaug(installed, "settings --json").stdout)
    found = {(row["group"], row["name"]) for row in rows}
    assert ("--method halved", "kept_share") in found
    assert ("predictor=close", "sign") in found
    assert any(group == "--model step" for group, _ in found)
    text = gaug(installed, "train --help").stdout
    assert "step" in text
    assert "halved" in text


def test_a_package_that_cannot_be_imported_is_named_and_breaks_nothing_else(
    installed: Path,
) -> None:
    done = gaug(installed, "train karate --method broken")
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "gaug: The method 'broken' of the package their-package cannot be imported: No module named"
        " 'no_such_library'. Repair or uninstall it."
    )
