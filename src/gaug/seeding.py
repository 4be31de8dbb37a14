"""Random numbers from a seed, separate from the caller's random streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from gaug.errors import ConfigError


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Seed PyTorch's own random numbers within a block.

    Afterward they continue as if nothing had been drawn, on the CPU and on ``device`` if it is a
    CUDA device. Other devices are left alone.

    Args:
        seed: The seed.
        device: Where the work is done; by default the CPU.
    """
    kind = "cpu" if device is None else device.type
    forked = [device.index or 0] if device is not None and kind == "cuda" else []
    with torch.random.fork_rng(devices=forked):
        if kind == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)
        yield


def draw_seed(generator: torch.Generator) -> int:
    """A new seed, drawn from a random stream."""
    return int(torch.randint(2**62, (1,), generator=generator))


def run_seed(seed: int, run: int) -> int:
    """The seed of one run, derived from the common seed; independent for each run."""
    if seed < 0:
        raise ConfigError(f"seed must be at least 0, got {seed}.")
    low, high = np.random.SeedSequence([seed, run]).generate_state(2).tolist()
    return int(low | (high & 0x7FFFFFFF) << 32)
