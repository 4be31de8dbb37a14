"""Which method to train with: by name, by settings, or a user-defined one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from gaug import DropEdge, DropEdgeConfig, GAugM, GAugMConfig, Method, MethodConfig
from gaug.edge_predictors.config import GAEConfig
from gaug.errors import ConfigError
from gaug.methods.spec import MethodSpec
from gaug.training.config import TrainingConfig
from gaug.training.hooks import AugmentedRun, Visible


@dataclass(frozen=True)
class MineConfig(MethodConfig):
    name: ClassVar[str] = "mine"


class Mine(Method[MineConfig]):
    config_type = MineConfig

    def start(self, visible: Visible, generator: torch.Generator) -> AugmentedRun:
        return AugmentedRun(visible, generator)


class Own:
    def fit(self, data: Any) -> None:
        pass

    def edge_logits(self, pairs: Tensor) -> Tensor:
        return pairs.sum(dim=0)


def test_a_name_settings_and_a_method_come_to_the_same() -> None:
    by_name, by_settings = MethodSpec.of("gaug-m"), MethodSpec.of(GAugMConfig())
    by_method = MethodSpec.of(GAugM(seed=4, epochs=3))
    assert by_name == by_settings == by_method == MethodSpec.of(by_method)
    assert by_name.predictors == {"gae": GAEConfig()}
    assert (by_name.name, by_name.title, by_name.instance) == ("gaug-m", "GAug-M", None)


def test_it_builds_with_model_training_and_seed() -> None:
    method = MethodSpec.of(DropEdge(drop_fraction=0.3)).build(
        model="gat", training=TrainingConfig(epochs=7), seed=5
    )
    assert isinstance(method, DropEdge)
    assert method.config == DropEdgeConfig(drop_fraction=0.3)
    assert (method.model.name, method.training.epochs, method.seed) == ("gat", 7, 5)


def test_a_user_defined_method_is_built_as_a_copy() -> None:
    mine = Mine(model="gsage", epochs=9)
    spec = MethodSpec.of(mine)
    assert (spec.name, spec.title, spec.instance) == ("mine", "mine", mine)
    built = spec.build(seed=2)
    assert built is not mine
    assert isinstance(built, Mine)
    assert (built.model.name, built.training.epochs, built.seed) == ("gsage", 9, 2)
    assert spec.build(model="mlp").model.name == "mlp"
    assert (mine.model.name, mine.seed) == ("gsage", 0)


def test_a_user_defined_predictor_is_kept() -> None:
    spec = MethodSpec.of(GAugM(predictor=Own(), add_fraction=0.1))
    assert spec.instance is not None
    assert spec.predictors == {}
    assert spec.build(seed=3).is_custom


def test_who_looks_at_labels_is_known() -> None:
    assert MethodSpec.of(GAugM(predictor="ra+omniscient")).looks_at_labels
    assert MethodSpec.of(GAugMConfig(predictor="omniscient")).looks_at_labels
    assert not MethodSpec.of("gaug-m").looks_at_labels
    assert not MethodSpec.of(Mine()).looks_at_labels


def test_what_is_no_method_is_refused() -> None:
    with pytest.raises(ConfigError, match="Unknown method 'drop'"):
        MethodSpec.of("drop")
    with pytest.raises(ConfigError, match="Unknown method 'mine'"):
        MethodSpec.of(MineConfig())
    with pytest.raises(ConfigError, match=r"such as GAugO\(alpha=0.3\), got 3"):
        MethodSpec.of(3)  # type: ignore[arg-type]
