from __future__ import annotations

import mmap
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gaug.runs import cost as measure
from gaug.runs.cost import measured, peak_memory_mb

BLOCK_MB = 200


def use_block() -> None:
    """Memory straight from the system: a heap may have some left of what other tests gave back."""
    block = mmap.mmap(-1, BLOCK_MB * 1_000_000)
    np.frombuffer(block, dtype=np.uint8)[:] = 1
    block.close()


def test_the_seconds_are_those_between_begin_and_end(monkeypatch):
    readings = iter([100.0, 102.5])
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: next(readings)))
    with measured() as cost:
        assert cost.seconds == 0.0
    assert cost.seconds == 2.5


def test_a_block_that_raises_is_measured_and_its_error_passes():
    with pytest.raises(KeyError, match="mine"), measured() as cost:
        raise KeyError("mine")
    assert cost.peak_memory_mb > 0


def test_the_peak_holds_memory_that_was_given_back_within_the_block():
    with measured() as idle:
        pass
    with measured() as busy:
        use_block()
    assert busy.peak_memory_mb >= idle.peak_memory_mb + 0.9 * BLOCK_MB


def test_the_peak_is_of_the_block_on_linux_and_of_the_process_elsewhere():
    with measured() as busy:
        use_block()
    with measured() as idle:
        pass
    if sys.platform == "linux":
        assert idle.peak_memory_mb <= busy.peak_memory_mb - 0.9 * BLOCK_MB
    else:
        assert idle.peak_memory_mb >= busy.peak_memory_mb


def test_the_peak_is_in_megabytes_of_a_million_bytes():
    array = np.ones(BLOCK_MB * 1_000_000, dtype=np.uint8)
    assert peak_memory_mb() >= array.nbytes / 1e6
    assert peak_memory_mb() < 1e6  # bytes or kilobytes would be above
