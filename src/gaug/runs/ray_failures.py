"""What to raise for the ways in which a training by processes of a Ray cluster can end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gaug.errors import GaugError, TrainingError, reason_of
from gaug.runs.ray_calls import cause_of
from gaug.training.ranks import RankLostError


def failure_of(error: Exception, checkpoint: Path | None) -> Exception:
    """What to raise for what Ray Train raised: what a rank raised itself comes first.

    Args:
        error: With what each rank failed of, as ``worker_failures``; with what kept them from
            starting, as ``controller_failure``; or with the ranks on machines that were taken
            away, in ``preemption_info``.
        checkpoint: The caller's file to go on from, if any.
    """
    started = getattr(error, "controller_failure", None)
    if started is not None:
        reason = reason_of(started).rstrip(".")
        return TrainingError(f"Ray Train could not start the processes: {reason}.")
    drained = getattr(error, "preemption_info", None)
    if drained is not None:
        return TrainingError(
            f"The machine of {_named(drained.preempted_ranks)} was drained. {_again(checkpoint)}"
        )
    failures = getattr(error, "worker_failures", None)
    if failures is None:
        return lost(reason_of(error), checkpoint) if _is_of_ray(error) else error
    ended = []
    for rank, failure in sorted(failures.items()):
        own = getattr(failure, "_base_exc", failure)  # wrapped by older versions
        if _is_of_ray(own):
            ended.append(rank)
        elif not isinstance(own, RankLostError):  # which the others raise, who are still there
            if isinstance(own, GaugError):
                own.told = False
            return cause_of(own)
    return lost(_named(ended), checkpoint)


def lost(which: str, checkpoint: Path | None) -> TrainingError:
    """The error for a process that was lost.

    Args:
        which: Which one, or what is known of it; empty if nothing is.
        checkpoint: The caller's file to go on from, if any.
    """
    known = f" ({which})" if which else ""
    return TrainingError(
        f"A process of this training or its machine was lost{known}. Its memory may have run out."
        f" {_again(checkpoint)}"
    )


def _again(checkpoint: Path | None) -> str:
    if checkpoint is None or not checkpoint.exists():
        return "Start it again."
    return "Start it again: it goes on from the last checkpoint."


def _named(ranks: Sequence[int]) -> str:
    return f"rank {', '.join(map(str, ranks))}" if ranks else ""


def _is_of_ray(error: Exception) -> bool:
    """Whether these are Ray's own words for a loss, not something that a rank raised."""
    return type(error).__module__.partition(".")[0] == "ray"
