"""Registries: built in and added by other packages, without PyTorch until it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from gaug.config import NamedConfig
from gaug.edge_predictors.registry import PREDICTORS
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.models.registry import MODELS
from gaug.registry import Registry

HERE = "tests.test_registry"


@dataclass(frozen=True)
class OneConfig(NamedConfig):
    name: ClassVar[str] = "one"
    title: ClassVar[str] = "The One"


@dataclass(frozen=True)
class TwoConfig(NamedConfig):
    name: ClassVar[str] = "two"
    title: ClassVar[str] = "Number 2"


class One:
    config_type = OneConfig


class Two:
    config_type = TwoConfig


class Untitled:
    config_type = NamedConfig


def registry(monkeypatch: pytest.MonkeyPatch, **added: str) -> Registry[Any, Any]:
    entries = [EntryPoint(name, value, "gaug.things") for name, value in added.items()]
    monkeypatch.setattr("gaug.registry.entry_points", lambda group: entries)
    return Registry("thing", "gaug.things", [(f"{HERE}:OneConfig", f"{HERE}:One")])


def test_built_ins_come_first_and_others_behind_them(monkeypatch: pytest.MonkeyPatch) -> None:
    things = registry(monkeypatch, two=f"{HERE}:Two")
    assert list(things) == things.names() == ["one", "two"]
    assert things.config_types() == {"one": OneConfig, "two": TwoConfig}
    assert [things.title(name) for name in things] == ["The One", "Number 2"]
    assert things.class_of("two") is things.class_of(TwoConfig()) is Two


def test_an_unknown_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"Unknown thing 'on'\. Choose from: one\. Did you mean"):
        registry(monkeypatch).config_type("on")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_package:Two", "No module named 'no_such_package'"),
        (f"{HERE}:NoSuchClass", "has no attribute 'NoSuchClass'"),
        (f"{HERE}:OneConfig", "must be a class with a config_type"),
        (f"{HERE}:Untitled", "must have a name in NamedConfig"),
        (f"{HERE}:One", "must have the name of its entry point in OneConfig, got 'one'"),
    ],
)
def test_what_cannot_be_used_says_so_by_its_name_alone(
    monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    things = registry(monkeypatch, two=value)
    with pytest.raises(ConfigError, match="The thing 'two' of the package") as caught:
        things.class_of("two")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert things.config_types() == {"one": OneConfig}
    assert things.class_of("one") is One


def test_a_name_in_two_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    things = registry(monkeypatch, one=f"{HERE}:One")
    assert things.names() == ["one"]
    with pytest.raises(ConfigError, match=r"'one' is in more than one package: gaug, .*Rename"):
        things.config_type("one")


def test_settings_of_another_class_with_the_same_name_are_refused() -> None:
    @dataclass(frozen=True)
    class Other(NamedConfig):
        name: ClassVar[str] = "gcn"

    with pytest.raises(ConfigError, match="The model 'gcn' takes GCNConfig, got Other"):
        MODELS.class_of(Other())  # type: ignore[arg-type]


@pytest.mark.parametrize("known", [MODELS, METHODS, PREDICTORS])
def test_each_class_has_the_settings_that_the_registry_names(known: Registry[Any, Any]) -> None:
    for name in known:
        own = known.class_of(name).config_type
        assert own is known.config_type(name) or (
            "+" in name and issubclass(known.config_type(name), own)
        )
        assert known.config_type(name).name == name
        assert known.title(name)


def test_names_and_settings_are_known_without_pytorch() -> None:
    code = """
import sys
from gaug.edge_predictors.registry import PREDICTORS
from gaug.edge_predictors.terms import predictor_configs
from gaug.methods.registry import METHODS
from gaug.methods.spec import MethodSpec
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec
from gaug.training.config import TrainingConfig
import gaug.cli.options
for registry in (METHODS, MODELS, PREDICTORS):
    for name in registry:
        registry.config_type(name)()
        registry.title(name)
for name in METHODS:
    MethodSpec.of(name)
for name in MODELS:
    ModelSpec.of(name)
predictor_configs("gae+2*features")
heavy = {"torch", "torch_geometric", "numpy", "scipy"} & set(sys.modules)
assert not heavy, heavy
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
