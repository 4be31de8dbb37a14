"""Work that is done ahead of its use; what batches hold is tested with those of training."""

from __future__ import annotations

import threading

import pytest

from gaug.errors import ConfigError
from gaug.graph.neighborhood_batches import made_ahead


def test_the_next_one_is_made_while_one_is_in_use() -> None:
    begun = [threading.Event() for _ in range(3)]

    def make(number: int) -> int:
        begun[number].set()
        return number

    made = made_ahead(make, range(3), 1)
    assert next(made) == 0
    assert begun[1].wait(timeout=30)  # though nobody has asked for it yet
    assert list(made) == [1, 2]


def test_what_fails_in_the_background_is_raised() -> None:
    def make(number: int) -> int:
        if number == 1:
            raise ConfigError("no more")
        return number

    made = made_ahead(make, range(3), 1)
    assert next(made) == 0
    with pytest.raises(ConfigError, match="no more"):
        next(made)
