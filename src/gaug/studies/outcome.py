"""The outcome of a cell as plain values, and records of outcomes as JSON lines.

Tables and pictures are made of outcomes alone. So a record, which is a small text file, is enough
to make them again: without the store, the graphs, or any training.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gaug.drawing.table import Scores
from gaug.errors import DataError

if TYPE_CHECKING:
    from gaug.studies.study import CellResult

# Digits of recorded numbers after the point; tables show one.
_DIGITS = 3


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell.

    Attributes:
        key: The position of the cell in its study.
        scores: Test micro-F1 in percent of each run.
        val_scores: Validation micro-F1 in percent of each run.
        seconds: Mean time of a run.
        settings: Chosen or given settings that differ from the defaults.
        chosen: Where they come from: ``default``, ``published``, ``preset``, ``search`` or
            ``race``.
        trials: Number of settings among which they were chosen; 0 without a search.
        failure: Why runs are missing.
        made: Day of the newest run, as YYYY-MM-DD.
        versions: Versions of the software.
        command: The command that made it.
        facts: Other numbers, such as edges of a changed graph.
    """

    key: tuple[Any, ...]
    scores: Sequence[float] = field(default_factory=list)
    val_scores: Sequence[float] = field(default_factory=list)
    seconds: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    chosen: str = "default"
    trials: int = 0
    failure: str | None = None
    made: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, result: CellResult, **facts: Any) -> Outcome:
        """The outcome of a cell that was run.

        Args:
            result: The cell with its runs.
            facts: Other numbers.
        """
        records = result.records
        days = [record.created_utc for record in records if record.created]
        return cls(
            result.cell.key,
            scores=[rounded(score) for score in result.scores],
            val_scores=[rounded(score) for score in result.val_scores],
            seconds=rounded(sum(r.seconds for r in records) / len(records)) if records else None,
            settings=result.settings,
            chosen=result.cell.chooser.source,
            trials=result.trials,
            failure=result.failure,
            made=f"{max(days):%Y-%m-%d}" if days else None,
            versions=dict(records[-1].versions or {}) if records else {},
            facts={**(_plain(result.chosen.facts) if result.chosen else {}), **facts},
        )

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.scores)

    def beside(self, paper: tuple[float, float | None] | None) -> Scores:
        """Its scores with those of the paper."""
        return Scores(self.scores, paper, self.failure)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, with mean and spread for readers of the record."""
        shown = Scores(self.scores)
        return {
            "key": list(self.key),
            "mean": None if shown.mean is None else rounded(shown.mean),
            "std": None if shown.deviation is None else rounded(shown.deviation),
            "runs": self.runs,
            **{name: value for name, value in dataclasses.asdict(self).items() if name != "key"},
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Outcome:
        """The outcome that was written by `to_dict`."""
        names = {part.name for part in dataclasses.fields(cls)}
        values = {name: value for name, value in found.items() if name in names}
        return cls(**{**values, "key": tuple(found["key"])})


def rounded(value: float) -> float:
    """A number with as many digits as records have."""
    return round(value, _DIGITS)


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts with numbers rounded."""
    return {
        name: rounded(value) if isinstance(value, float) else value for name, value in facts.items()
    }


def to_lines(study: str, outcomes: Iterable[Outcome]) -> str:
    """Outcomes as JSON lines, one per cell.

    Args:
        study: Name of their study.
        outcomes: The outcomes.
    """
    lines = [{"study": study, **outcome.to_dict()} for outcome in outcomes]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def from_lines(text: str, source: str) -> tuple[str, list[Outcome]]:
    """The study and its outcomes from JSON lines.

    Args:
        text: The lines.
        source: Where they come from, for errors.

    Raises:
        DataError: If they are no outcomes, or of several studies.
    """
    studies, outcomes = set(), []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            found = json.loads(line)
            studies.add(found["study"])
            outcomes.append(Outcome.from_dict(found))
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{source}, line {number}, must be a JSON object of 'gaug reproduce', with study"
                " and key. Remove the line and run the command again."
            ) from error
    if len(studies) != 1:
        raise DataError(
            f"{source} must have the outcomes of one study, got {len(studies)}."
            " Write each study to a file of its own."
        )
    return studies.pop(), outcomes


def merged(before: Sequence[Outcome], new: Sequence[Outcome]) -> list[Outcome]:
    """Outcomes on record, with new ones in the place of those of the same cells.

    A new outcome without any run does not replace one that has some.
    """
    found = {outcome.key: outcome for outcome in before}
    for outcome in new:
        if outcome.runs or outcome.facts or outcome.key not in found:
            found[outcome.key] = outcome
    return list(found.values())
