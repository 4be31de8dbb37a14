"""Seeds within a block, and the streams of whoever calls beside it."""

from __future__ import annotations

import pytest
import torch

from gaug.seeding import seeded


def test_numbers_come_from_the_seed_and_the_callers_stream_goes_on() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(7)
        expected = torch.rand(2)
        torch.default_generator.manual_seed(7)
        first = torch.rand(1)
        with seeded(3):
            inside = torch.rand(4)
        assert torch.equal(torch.cat([first, torch.rand(1)]), expected)
    assert torch.equal(inside, torch.rand(4, generator=torch.Generator().manual_seed(3)))


@pytest.mark.parametrize("device", [None, torch.device("cpu")])
def test_work_on_the_cpu_leaves_other_devices_alone(
    device: torch.device | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    with seeded(3, device):
        pass
    assert not seeds
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)  # the spy sees what it is there for
    assert seeds
