"""What is told of a training by processes of a Ray cluster that has failed."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from gaug.errors import ConfigError, TrainingError
from gaug.runs.ray_failures import failure_of
from gaug.training.ranks import RankLostError


class OfRayError(Exception):
    """A lost process, as Ray tells it."""

    __module__ = "ray.train"


class OfRanksError(Exception):
    """What Ray Train raises for its ranks."""

    def __init__(self, **failures: Exception) -> None:
        self.worker_failures = {int(rank[1:]): failure for rank, failure in failures.items()}


class OfStartError(Exception):
    """What Ray Train raises if it cannot start the ranks."""

    controller_failure = OfRayError("A worker failed.")


class OfDrainError(Exception):
    """What Ray Train raises for machines that were taken away."""

    preemption_info = SimpleNamespace(preempted_ranks=[1, 3])


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OfRanksError(r0=RankLostError("it"), r1=ConfigError("own")), ConfigError, "^own$"),
        (OfRanksError(r0=OfRayError(), r1=ZeroDivisionError("own")), ZeroDivisionError, "^own$"),
        (OfRanksError(r1=ImportError("gaug 2 there")), ConfigError, "lacks .* gaug 2 there"),
        (OfRanksError(r0=RankLostError("it"), r2=OfRayError()), TrainingError, r"lost \(rank 2\)"),
        (OfRanksError(r0=OfRayError(), r2=OfRayError()), TrainingError, r"lost \(rank 0, 2\)"),
        (OfRanksError(r0=RankLostError("it")), TrainingError, r"its machine was lost\. Its"),
        (OfStartError(), TrainingError, r"could not start the processes: A worker failed\.$"),
        (OfDrainError(), TrainingError, r"^The machine of rank 1, 3 was drained\. Start it again"),
        (OfRayError("no word"), TrainingError, r"lost \(no word\)"),
        (ZeroDivisionError("own"), ZeroDivisionError, "^own$"),
    ],
)
def test_what_a_rank_raised_itself_comes_before_the_loss_of_others(
    error: Exception, kind: type[Exception], words: str
) -> None:
    found = failure_of(error, None)
    assert type(found) is kind
    assert re.search(words, str(found))


@pytest.mark.parametrize("error", [OfRanksError(r0=OfRayError()), OfDrainError(), OfRayError()])
def test_a_checkpoint_to_go_on_from_is_told_only_if_there_is_one(
    error: Exception, tmp_path: Path
) -> None:
    file = tmp_path / "fit.checkpoint"
    for checkpoint in (None, file):
        assert str(failure_of(error, checkpoint)).endswith("Start it again.")
    file.touch()
    assert str(failure_of(error, file)).endswith(
        "Start it again: it goes on from the last checkpoint."
    )
