"""The settings of a stack: those of both parts by name, and what cannot be stacked."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import pytest

from gaug import DropEdgeConfig, GAugMConfig, GAugOConfig, MethodConfig
from gaug.config import Range, Span, apply_settings, searched_settings, setting
from gaug.errors import ConfigError
from gaug.methods.registry import METHODS
from gaug.methods.spec import MethodSpec
from gaug.methods.stack.config import stack_config, stack_config_type
from gaug.runs.plan import Plan


@dataclass(frozen=True)
class ThinConfig(MethodConfig):
    """A method of a user's with a setting that DropEdge has, too."""

    name: ClassVar[str] = "thin-out"
    title: ClassVar[str] = "Thin out"
    changes: ClassVar[str | None] = "once"

    drop_fraction: float = setting(0.2, "Share.", within=Range(0, 1), search=Span(0, 1, 0.1))


def test_a_stack_has_the_settings_of_both_parts() -> None:
    both = METHODS.config_type("gaug-m+gaug-o")()
    assert both.to_dict() == GAugMConfig().to_dict() | GAugOConfig().to_dict()
    expected = searched_settings(GAugMConfig) | searched_settings(GAugOConfig)
    assert searched_settings(type(both)) == expected


def test_its_parts_are_what_it_was_made_of() -> None:
    first, second = GAugMConfig(add_fraction=0.7), DropEdgeConfig(drop_fraction=0.2)
    both = stack_config(first, second)
    assert both.parts == (first, second)
    assert both.changing == first
    assert (both.name, both.title) == ("gaug-m+dropedge", "GAug-M + DropEdge")


def test_settings_of_both_parts_are_set_by_name() -> None:
    settings = ["predictor=ra", "add_fraction=0.4", "dropedge.drop_fraction=0.1", "epochs=7"]
    plan = Plan.of("karate", method="gaug-m+dropedge", settings=settings)
    expected = GAugMConfig(predictor="ra", add_fraction=0.4), DropEdgeConfig(drop_fraction=0.1)
    assert plan.method.config == stack_config(*expected)
    assert list(plan.method.predictors) == ["ra"]
    assert plan.training.epochs == 7


def test_each_part_checks_its_settings() -> None:
    stack = METHODS.config_type("gaug-m+gaug-o")
    with pytest.raises(ConfigError, match=r"add_fraction must be in \[0, 1\], got 2"):
        stack(add_fraction=2)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="no-sampling needs edge_probability=max-normalized"):
        stack(variant="no-sampling", edge_probability="sigmoid")  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="Unknown predictor 'nothing'"):
        stack(predictor="nothing")  # type: ignore[call-arg]


def test_a_name_that_both_parts_have_must_say_which() -> None:
    both = stack_config(ThinConfig(), DropEdgeConfig())
    assert both.to_dict() == {
        "thin_out_drop_fraction": 0.2,
        "dropedge_drop_fraction": 0.5,
        "layer_wise": False,
    }
    message = "'drop_fraction' is not unique. Write thin-out.drop_fraction or dropedge.drop_fra"
    with pytest.raises(ConfigError, match=message):
        apply_settings({"method": both}, ["drop_fraction=0.1"])
    names = [both.spelled(f"{part}.drop_fraction") for part in ("thin-out", "dropedge")]
    assert names == ["method.thin_out_drop_fraction", "method.dropedge_drop_fraction"]
    changed = apply_settings({"method": both}, [f"{names[0]}=0.3", f"{names[1]}=0.1"])["method"]
    assert changed == stack_config(ThinConfig(0.3), DropEdgeConfig(0.1))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("dropedge+gaug-m", "they are the other way round: write gaug-m+dropedge"),
        ("dropedge+gaug-o", "each part varies the graph in each epoch"),
        ("gaug-m+adaedge", "each part changes the graph once"),
        ("bgcn+dropedge", "bgcn does neither"),
        ("none+bgcn", "none and bgcn do neither"),
    ],
)
def test_other_pairs_are_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(ConfigError, match="A stack is a method that changes the graph once") as got:
        MethodSpec.of(name)
    assert reason in str(got.value)


def test_three_parts_and_unknown_ones_are_refused() -> None:
    with pytest.raises(ConfigError, match="A stack has two parts, got 3"):
        MethodSpec.of("gaug-m+dropedge+gaug-o")
    with pytest.raises(ConfigError, match=r"Unknown method 'gaug-m\+.*'gaug-m\+dropedge'\?"):
        MethodSpec.of("gaug-m+dropegde")


def test_it_survives_the_way_to_a_worker() -> None:
    both = stack_config(ThinConfig(), DropEdgeConfig(drop_fraction=0.1))
    again = pickle.loads(pickle.dumps(both))
    assert again == both
    assert type(again) is type(both) is stack_config_type(ThinConfig, DropEdgeConfig)


def test_auto_is_decided_for_each_part() -> None:
    resolved = METHODS.config_type("adaedge+gaug-o")().resolved(1_000_000)
    assert resolved.to_dict()["engine"] == "sparse"


def test_the_stacks_of_built_in_methods_are_listed() -> None:
    stacks = [name for name in METHODS if name not in METHODS.singles()]
    assert sorted(stacks) == [
        "adaedge+dropedge", "adaedge+gaug-o", "gaug-m+dropedge", "gaug-m+gaug-o",
    ]  # fmt: skip
