"""Which model is trained: by name, by settings, or a user's own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from gaug import GCN, GCNConfig, NoAugmentation, load_graph
from gaug.errors import ConfigError
from gaug.models.spec import ModelSpec


class Mine(nn.Module):
    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        out: Tensor = self.linear(x)
        return out


class Transposed(Mine):
    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        return super().forward(x, edge_index, edge_weight).t()


def test_a_name_settings_and_a_class_are_models() -> None:
    assert isinstance(ModelSpec.of("gcn").build(3, 2), GCN)
    built = ModelSpec.of(GCNConfig(hidden=7)).build(3, 2)
    assert isinstance(built, GCN)
    assert built.config.hidden == 7
    assert isinstance(ModelSpec.of(Mine).build(3, 2), Mine)
    assert isinstance(ModelSpec.of(lambda i, c: Mine(i, c)).build(3, 2), Mine)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="got an instance of Mine"):
        ModelSpec.of(Mine(3, 2))
    with pytest.raises(ConfigError, match="got 3"):
        ModelSpec.of(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Unknown model 'gnc'"):
        ModelSpec.of("gnc")
    with pytest.raises(ConfigError, match=r"must make a torch.nn.Module, got int"):
        ModelSpec.of(lambda i, c: i).build(3, 2)  # type: ignore[arg-type,return-value]


def test_a_module_of_the_wrong_shape_is_refused_before_training() -> None:
    with pytest.raises(ConfigError, match=r"Transposed must give .* \[34, 2\], got \[2, 34\]"):
        NoAugmentation(model=Transposed).fit(load_graph("karate"))


def test_a_module_of_a_user_sees_dense_features_if_they_came_dense() -> None:
    layouts = []

    class Looking(Mine):
        def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
            layouts.append(x.layout)
            return super().forward(x, edge_index, edge_weight)

    data = load_graph("karate")
    data.x = torch.eye(34)  # sparse enough to be kept sparse for the models of this package
    fitted = NoAugmentation(model=Looking, epochs=2, learning_rate=0.5).fit(data)
    fitted.predict(data)
    assert set(layouts) == {torch.strided}
    assert fitted.fitted.model.config.learning_rate == 0.5
