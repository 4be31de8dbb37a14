"""The files that a study leaves: numbers, pictures and records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gaug.cli.writing import write_text, writing
from gaug.drawing.suffixes import FORMAT_OF_SUFFIX, RECORD_SUFFIX
from gaug.drawing.table import render
from gaug.errors import ConfigError, reason_of
from gaug.studies.outcome import Outcome, from_lines, merged, to_lines
from gaug.studies.study import Study

# What is written of every study, and of those with a picture.
_NUMBERS, _PICTURES = (".md", ".csv", RECORD_SUFFIX), (".png", ".svg")


def write_files(study: Study, outcomes: Sequence[Outcome], paths: Sequence[Path]) -> None:
    """Write outcomes, each file in the format of its extension."""
    for path in paths:
        if path.suffix in FORMAT_OF_SUFFIX:
            write_text(render(study.full_table(outcomes), FORMAT_OF_SUFFIX[path.suffix]), path)
        elif path.suffix == RECORD_SUFFIX:
            _add_to_record(study, outcomes, path)
        else:
            with writing("picture", path):
                study.draw(outcomes, path)


def write_folder(study: Study, outcomes: Sequence[Outcome], folder: Path) -> None:
    """Write everything about a study into a folder, each file under its name."""
    suffixes = (*_NUMBERS, *(_PICTURES if study.scope.has_picture else ()))
    write_files(study, outcomes, [folder / f"{study.name}{suffix}" for suffix in suffixes])


def read_record(path: Path) -> tuple[str, list[Outcome]]:
    """The study and the outcomes in a record."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"The record {path} cannot be read: {reason_of(error)}.") from error
    return from_lines(text, str(path))


def _add_to_record(study: Study, outcomes: Sequence[Outcome], path: Path) -> None:
    before: list[Outcome] = []
    if path.exists() and path.stat().st_size:
        name, before = read_record(path)
        if name != study.name:
            raise ConfigError(f"{path} has the record of {name}, not of {study.name}.")
    write_text(to_lines(study.name, merged(before, outcomes)), path)
