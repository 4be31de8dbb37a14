"""What every model promises, checked for each one by name; and that the checks can fail."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from gaug.models.registry import MODELS
from gaug.testing import check_model


@pytest.mark.parametrize("name", MODELS)
def test_a_registered_model_keeps_its_promises(name: str) -> None:
    check_model(name)


class Convolution(nn.Module):
    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.layer = GCNConv(in_features, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        out: Tensor = self.layer(x, edge_index, edge_weight)
        return out


class Ordered(Convolution):
    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        return super().forward(x, edge_index, edge_weight).cumsum(dim=0)


class Noisy(Convolution):
    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        out = super().forward(x, edge_index, edge_weight)
        return out + torch.rand(out.shape, generator=self.generator)

    generator = torch.Generator()


class Unused(Convolution):
    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__(in_features, num_classes)
        self.other = nn.Linear(2, 2)


class Unweighted(Convolution):
    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        weight = None if edge_weight is None else edge_weight + 1
        return super().forward(x, edge_index, weight)


def test_a_user_defined_module_can_be_checked() -> None:
    check_model(Convolution)


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Ordered, "Ordered must not depend on the order of the nodes"),
        (Noisy, "must not be random in evaluation mode"),
        (Unused, "must use all its parameters, but other.weight has no gradient"),
        (Unweighted, "must give the same for edge weights of 1 as for none"),
    ],
)
def test_a_broken_promise_is_named(broken: type[nn.Module], promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_model(broken)
