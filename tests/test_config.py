from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaug.config import Config, Range, apply_settings, parse_value, setting
from gaug.errors import ConfigError


@dataclass(frozen=True)
class Baking(Config):
    minutes: int = setting(30, "Time in the oven.", within=Range(1))
    salt: float = setting(0.5, "Share of salt.", within=Range(0, 1, high_open=True))
    fan: bool = setting(False, "Whether the fan is on.")
    flour: str = setting("wheat", "Kind of flour.", choices=("wheat", "rye"))
    rest: int | None = setting(None, "Minutes of rest.", within=Range(0))


@dataclass(frozen=True)
class Frying(Config):
    minutes: int = setting(5, "Time in the pan.", within=Range(1))
    fat: str = setting("butter", "Fat.")


GROUPS = {"baking": Baking(), "frying": Frying()}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("minutes", 0, "minutes must be at least 1, got 0."),
        ("minutes", 2.5, "minutes must be a whole number, got 2.5."),
        ("minutes", True, "minutes must be a whole number, got True."),
        ("minutes", None, "minutes must be a whole number, got None."),
        ("salt", 1.0, r"salt must be in \[0, 1\), got 1."),
        ("salt", float("nan"), "salt must be finite, got nan."),
        ("salt", float("inf"), "salt must be finite, got inf."),
        ("salt", "much", "salt must be a number, got 'much'."),
        ("fan", 1, "fan must be true or false, got 1."),
        ("flour", "oat", "Unknown flour 'oat'. Choose from: rye, wheat."),
        ("rest", -1, "rest must be at least 0, got -1."),
        ("rest", "long", "rest must be a whole number or none, got 'long'."),
    ],
)
def test_a_bad_value_is_refused_with_setting_rule_and_value(name, value, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        Baking(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("minutes", 1), ("salt", 0), ("salt", 0.999), ("rest", None), ("rest", 0), ("flour", "rye")],
)
def test_a_value_on_the_allowed_side_of_its_bound_is_kept(name, value):
    assert getattr(Baking(**{name: value}), name) == value


def test_settings_survive_json():
    config = Baking(minutes=7, salt=0.25, fan=True, flour="rye", rest=3)
    assert Baking(**json.loads(json.dumps(config.to_dict()))) == config


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Baking().minutes = 3  # type: ignore[misc]


@given(
    low=st.integers(-5, 5),
    width=st.integers(0, 5),
    low_open=st.booleans(),
    high_open=st.booleans(),
    value=st.integers(-12, 12),
)
def test_a_range_holds_exactly_the_numbers_between_its_bounds(
    low, width, low_open, high_open, value
):
    high = low + width
    excluded = ({low} if low_open else set()) | ({high} if high_open else set())
    expected = value in set(range(low, high + 1)) - excluded
    assert (value in Range(low, high, low_open, high_open)) == expected


def test_a_range_without_bounds_holds_everything():
    assert -1e300 in Range()
    assert 1e300 in Range()


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Range(1), "at least 1"),
        (Range(0, low_open=True), "above 0"),
        (Range(0, 1), "in [0, 1]"),
        (Range(0, 0.5, True, True), "in (0, 0.5)"),
    ],
)
def test_a_range_reads_as_words(interval, text):
    assert str(interval) == text


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("minutes", "50", 50),
        ("salt", "1e-3", 0.001),
        ("salt", "0", 0.0),
        ("fan", "true", True),
        ("fan", "No", False),
        ("flour", "1", "1"),
        ("rest", "none", None),
        ("rest", "None", None),
        ("rest", "4", 4),
    ],
)
def test_a_text_is_read_as_the_type_of_its_setting(name, text, value):
    read = parse_value(Baking, name, text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("minutes", "2.5", "a whole number"),
        ("minutes", "none", "a whole number"),
        ("salt", "much", "a number"),
        ("fan", "perhaps", "true or false"),
        ("rest", "long", "a whole number or none"),
    ],
)
def test_a_text_of_another_type_is_refused_with_setting_rule_and_text(name, text, rule):
    with pytest.raises(ConfigError, match=f"^{name} must be {rule}, got '{text}'.$"):
        parse_value(Baking, name, text)


def test_assignments_reach_their_group_and_leave_the_given_groups_alone():
    groups = {"baking": Baking(), "frying": Frying()}
    changed = apply_settings(groups, ["fat=oil", "salt = 0.1", "frying.minutes=9"])
    assert changed == {"baking": Baking(salt=0.1), "frying": Frying(minutes=9, fat="oil")}
    assert groups == {"baking": Baking(), "frying": Frying()}


def test_no_assignment_changes_nothing():
    assert apply_settings(GROUPS, []) == GROUPS


def test_the_last_of_two_assignments_counts():
    assert apply_settings(GROUPS, ["fat=oil", "fat=lard"])["frying"] == Frying(fat="lard")


def test_a_text_may_hold_an_equals_sign():
    assert apply_settings(GROUPS, ["fat=a=b"])["frying"] == Frying(fat="a=b")


def test_a_name_of_two_groups_must_be_written_with_its_group():
    with pytest.raises(ConfigError, match=r"Write baking\.minutes or frying\.minutes\.$"):
        apply_settings(GROUPS, ["minutes=3"])


def test_an_unknown_setting_is_refused_with_the_known_names():
    with pytest.raises(
        ConfigError, match=r"^Unknown setting 'sugar'. Choose from: .*salt"
    ) as error:
        apply_settings(GROUPS, ["sugar=1"])
    assert all(field.name in str(error.value) for field in dataclasses.fields(Baking))


def test_an_unknown_group_is_refused_with_the_full_names():
    with pytest.raises(ConfigError, match=r"^Unknown setting 'grilling\.salt'.*baking\.salt"):
        apply_settings(GROUPS, ["grilling.salt=1"])


@pytest.mark.parametrize("assignment", ["salt", "=1", " = 1", ""])
def test_an_assignment_without_name_or_equals_sign_is_refused(assignment):
    with pytest.raises(ConfigError, match=r"^A setting must read name=value, got"):
        apply_settings(GROUPS, [assignment])


def test_an_assigned_value_is_checked_like_any_other():
    with pytest.raises(ConfigError, match=r"^minutes must be at least 1, got 0.$"):
        apply_settings(GROUPS, ["frying.minutes=0"])


def test_an_assigned_number_must_be_finite():
    with pytest.raises(ConfigError, match=r"^salt must be finite, got nan.$"):
        apply_settings(GROUPS, ["salt=nan"])


def test_a_range_without_lower_bound_reads_as_words():
    assert str(Range(high=1)) == "at most 1"
    assert str(Range(high=1, high_open=True)) == "below 1"
