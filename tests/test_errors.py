from __future__ import annotations

import pytest

from gaug import errors


@pytest.mark.parametrize(
    "kind",
    [
        errors.ConfigError,
        errors.DataError,
        errors.MissingDataError,
        errors.StoreError,
        errors.TrainingError,
    ],
)
def test_every_error_is_caught_as_a_gaug_error(kind):
    with pytest.raises(errors.GaugError, match="what went wrong"):
        raise kind("what went wrong")


@pytest.mark.parametrize("kind", [errors.ConfigError, errors.DataError])
def test_a_bad_value_is_a_value_error_for_those_who_do_not_know_gaug(kind):
    assert issubclass(kind, ValueError)


def test_missing_data_is_a_missing_file_and_keeps_its_message():
    error = errors.MissingDataError("Graph 'cora' is not there.")
    assert isinstance(error, FileNotFoundError)
    assert str(error) == "Graph 'cora' is not there."


def test_an_unknown_name_is_a_config_error_that_lists_the_known_names_in_order():
    error = errors.unknown_name("method", "dropegde", ["none", "dropedge"])
    assert isinstance(error, errors.ConfigError)
    assert (
        str(error)
        == "Unknown method 'dropegde'. Choose from: dropedge, none. Did you mean 'dropedge'?"
    )
