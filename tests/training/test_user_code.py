"""User-defined code is part of a run's identity."""

from __future__ import annotations

import dataclasses
import functools
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
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


def of_source(source: str, name: str = "make", **others: Any) -> Any:
    """What a module of the user with this source has under a name."""
    namespace: dict[str, Any] = {"__name__": "a_module_of_the_user", **others}
    exec(source, namespace)
    return namespace[name]


NETS = {
    "a function": """
def scaled(x): return {0} * x
def make(features, classes): return scaled(features)
""",
    "a layer": """
class Layer:
    def forward(self, x): return {0} * x
class make:
    def __init__(self): self.layer = Layer()
""",
    "what a function calls in turn": """
def twice(x): return {0} * x
def scaled(x): return twice(x) + 1
class make:
    def forward(self, x): return [scaled(one) for one in x]
""",
    "a class in a closure": """
def outer(kind):
    def make(features, classes): return kind()
    return make
class Net:
    size = {0}
make = outer(Net)
""",
    "a constant": """
HIDDEN = {0}
def make(features, classes): return features * HIDDEN
""",
}


@pytest.mark.parametrize("kind", NETS)
def test_what_code_refers_to_changes_it(kind: str) -> None:
    one, again, other = (of_source(NETS[kind].format(number)) for number in (1000, 1000, 2000))
    assert user_code_fingerprint(one) == user_code_fingerprint(again)
    assert user_code_fingerprint(one) != user_code_fingerprint(other)


def test_a_function_of_another_module_of_the_user_changes_it() -> None:
    def helpers(number: int) -> ModuleType:
        module = ModuleType("helpers_of_the_user")
        exec(f"def scaled(x): return {number} * x", vars(module))
        vars(module)["helpers"] = module  # as a package that imports its own parts
        return module

    source = "def make(features, classes): return helpers.scaled(features)"
    one, again, other = (of_source(source, helpers=helpers(number)) for number in (2, 2, 3))
    assert user_code_fingerprint(one) == user_code_fingerprint(again)
    assert user_code_fingerprint(one) != user_code_fingerprint(other)


def test_code_that_refers_to_itself_has_a_fingerprint() -> None:
    source = """
def make(depth): return Net() if depth == 0 else [make(depth - 1)]
class Net:
    def again(self): return make({0})
"""
    one, other = (of_source(source.format(number)) for number in (1, 2))
    assert user_code_fingerprint(one) != user_code_fingerprint(other)


class Factory:
    def __init__(self, hidden: int) -> None:
        self.hidden = hidden

    def make(self, features: int, classes: int) -> nn.Module:
        return nn.Linear(features, self.hidden)


def test_the_object_of_a_bound_method_changes_it() -> None:
    four, again, more = Factory(4), Factory(4), Factory(400)
    assert user_code_fingerprint(four.make) == user_code_fingerprint(again.make)
    assert user_code_fingerprint(four.make) != user_code_fingerprint(more.make)
    before = user_code_fingerprint(four.make)
    four.hidden = 5  # as a fit might
    assert user_code_fingerprint(four.make) == before


def test_an_object_without_a_hash_has_a_fingerprint() -> None:
    @dataclasses.dataclass
    class Sized:
        hidden: int

        def __call__(self, features: int, classes: int) -> nn.Module:
            return nn.Linear(features, classes)

    assert user_code_fingerprint(Sized(4)) == user_code_fingerprint(Sized(4))
    assert user_code_fingerprint(Sized(4)) != user_code_fingerprint(Sized(5))


def test_objects_that_are_equal_are_not_the_same() -> None:
    class Sized:
        def __init__(self, hidden: int) -> None:
            self.hidden = hidden

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Sized)

        def __hash__(self) -> int:
            return 0

    four, five = Sized(4), Sized(5)
    assert user_code_fingerprint(four) != user_code_fingerprint(five)


def test_a_function_written_in_c_is_told_by_its_name() -> None:
    def net(act: Any) -> type:
        return type("Net", (), {"act": act, "__module__": __name__})

    relu, tanh = torch.Tensor.relu, torch.Tensor.tanh
    assert user_code_fingerprint(net(relu)) == user_code_fingerprint(net(relu))
    assert user_code_fingerprint(net(relu)) != user_code_fingerprint(net(tanh))


def test_another_process_gives_the_same(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        """
from abc import ABC, abstractmethod
from torch import nn
from gaug.training.user_code import user_code_fingerprint
SIZES = (4, "relu")
def layer(size): return nn.Linear(size, max(SIZES[:1]))
class Base(ABC):
    @abstractmethod
    def made(self): ...
class Net(Base, nn.Module):
    kinds = {"one", "other"}
    def made(self): return layer(3), nn.functional.relu
print(user_code_fingerprint(Net))
"""
    )
    command = [sys.executable, str(tmp_path / "mine.py")]
    one, other = (subprocess.run(command, capture_output=True, check=True) for _ in range(2))
    assert one.stdout == other.stdout != b""
