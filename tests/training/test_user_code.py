"""User-defined code is part of a run's identity."""

from __future__ import annotations

import functools

import torch
from torch import nn

from gaug import GAugM, Plan, Store, evaluate, load_graph
from gaug.runs.graphs import Graphs
from gaug.training.user_code import user_code_fingerprint


class Degrees:
    """Scores a pair by its nodes' ids, scaled."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def fit(self, data: object) -> None:
        pass

    def edge_logits(self, pairs: torch.Tensor) -> torch.Tensor:
        return self.scale * pairs.sum(dim=0).float()


def first_model() -> type[nn.Module]:
    class Net(nn.Module):
        def __init__(self, features: int, classes: int) -> None:
            super().__init__()
            self.linear = nn.Linear(features, classes)

        def forward(self, x, edge_index, edge_weight=None):
            return self.linear(x.to_dense())

    return Net


def other_model() -> type[nn.Module]:
    class Net(nn.Module):
        def __init__(self, features: int, classes: int) -> None:
            super().__init__()
            self.linear = nn.Linear(features, classes, bias=False)

        def forward(self, x, edge_index, edge_weight=None):
            return 2 * self.linear(x.to_dense())

    other = Net
    other.__qualname__ = first_model().__qualname__
    return other


def identity(**options) -> str:
    return Graphs().place(Plan.of("karate", **options)).identity(0)


def test_the_same_code_has_the_same_fingerprint() -> None:
    assert user_code_fingerprint(Degrees(2.0)) == user_code_fingerprint(Degrees(2.0))
    assert identity(model=first_model()) == identity(model=first_model())


def test_attributes_and_source_change_it() -> None:
    assert user_code_fingerprint(Degrees(2.0)) != user_code_fingerprint(Degrees(3.0))
    methods = [GAugM(predictor=Degrees(scale)) for scale in (2.0, 2.0, 3.0)]
    same, again, other = (identity(method=method) for method in methods)
    assert same == again != other


def test_a_fit_does_not_change_it() -> None:
    predictor = Degrees(2.0)
    before = user_code_fingerprint(predictor)
    predictor.scale = 5.0  # as a fit might
    assert user_code_fingerprint(predictor) == before


def test_class_attributes_defaults_and_partials_change_it() -> None:
    def sized(hidden: int) -> type:
        return type("Net", (), {"hidden": hidden, "__module__": __name__})

    def called(size: int = 4) -> int:
        return size

    def also_called(size: int = 400) -> int:
        return size

    also_called.__qualname__ = called.__qualname__
    assert user_code_fingerprint(sized(4)) != user_code_fingerprint(sized(400))
    assert user_code_fingerprint(called) != user_code_fingerprint(also_called)
    four, more = functools.partial(called, 4), functools.partial(called, 5)
    assert user_code_fingerprint(four) != user_code_fingerprint(more)


def test_another_class_of_the_same_name_is_not_taken_for_it() -> None:
    assert first_model().__qualname__ == other_model().__qualname__
    assert identity(model=first_model()) != identity(model=other_model())


def test_a_changed_model_of_the_same_name_is_trained_anew(tmp_path) -> None:
    store, data = Store(str(tmp_path / "runs.sqlite")), load_graph("karate")
    first = evaluate(data, first_model(), runs=1, store=store, resume=True, epochs=2)
    again = evaluate(data, first_model(), runs=1, store=store, resume=True, epochs=2)
    other = evaluate(data, other_model(), runs=1, store=store, resume=True, epochs=2)
    assert again.records[0].id == first.records[0].id
    assert other.records[0].id != first.records[0].id


def test_settings_reach_a_method_with_a_user_defined_part() -> None:
    method = GAugM(predictor=Degrees(), add_fraction=0.1)
    plan = Plan.of("karate", method=method, settings=["add_fraction=0.4"])
    built = plan.method.build()
    assert built.config.add_fraction == 0.4
    assert method.config.add_fraction == 0.1
