"""The paper's tables and figures from the records of a store, with the paper's values beside.

Cells are filled by the names of graph, model and method, and by settings; those of a study with
splits of its own by these, too, if the graph is at hand.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gaug.data.config import DataConfig, SplitConfig
from gaug.data.splits import Split
from gaug.drawing.table import Table
from gaug.edge_predictors.registry import PREDICTORS
from gaug.errors import ConfigError, GaugError
from gaug.report.page.html import counted
from gaug.report.store_page.experiments import CHOSEN, TRIED, Experiment, changed_settings
from gaug.report.store_page.paper_tables import settings_table, with_runs
from gaug.runs.graphs import Graphs
from gaug.runs.record import RunRecord
from gaug.studies.chooser import Chosen, Given, Grid
from gaug.studies.figure1 import SPLIT
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions
from gaug.studies.searches import SEARCHES
from gaug.studies.study import Cell, CellResult, Study

_NOTE = (
    "Of several experiments for one cell, the one with the settings of a preset counts, else those"
    " whose settings a search chose, and of these the one with the best validation score."
)
# A control, no method.
_RANDOM = "random"


@dataclass(frozen=True)
class PaperPart:
    """A table or figure of the paper with what the store has of it.

    Attributes:
        name: Its name on the command line.
        title: Its title.
        results: Its cells with their runs.
        table: Its numbers; None if there are none, or if they need the graph.
        is_begun: Whether it has runs that no earlier table or figure shows, as those of plain
            training are a part of many.
    """

    name: str
    title: str
    results: Sequence[CellResult]
    table: Table | None
    is_begun: bool = True

    @property
    def filled(self) -> int:
        """Number of cells with runs."""
        return sum(bool(result.records) for result in self.results)


def paper_parts(experiments: Sequence[Experiment]) -> list[PaperPart]:
    """Every table and figure of the paper, in its order."""
    found, shown = [], set[int]()
    for name in [name for name, entry in STUDIES.items() if entry.of_paper]:
        part = _part(name, experiments)
        runs = {record.id for record in records_of(part)}
        found.append(dataclasses.replace(part, is_begun=not runs <= shown))
        shown |= runs
    return found


def _part(name: str, experiments: Sequence[Experiment]) -> PaperPart:
    entry = STUDIES[name]
    study = entry.load()
    if name == "figure1":
        results = _by_identity(study, experiments)
    else:
        tried = [
            _by_settings(study, StudyOptions(settings=source), experiments)
            for source in (
                entry.scope.settings if "search" not in entry.scope.settings else (None,)
            )
        ]
        results = max(tried, key=lambda found: sum(bool(one.records) for one in found))
    table = None
    # Other numbers than scores need the graph, which is at hand only if it is embedded.
    from_scores = type(study).outcomes is Study.outcomes or name == "figure1"
    if any(one.records for one in results) and from_scores:
        table = study.table(study.outcomes(results, Graphs(), StudyOptions()))
        details = settings_table(results) if name in ("table2", "table5") else []
        table = with_runs(dataclasses.replace(table, details=details))
        if details:
            table = table.with_note(_NOTE)
    title = study.title if name != "figure1" else "Figure 1"
    return PaperPart(name, title, results, table)


def _by_identity(study: Study, experiments: Sequence[Experiment]) -> list[CellResult]:
    """The cells of figure 1, by the exact identity of each run; to know them takes training."""
    known = {
        record.identity: record
        for one in experiments
        if (one.first.graph, one.first.split) == ("karate", SPLIT)
        for record in one.records
    }
    if not known:
        return []
    graphs, found = Graphs(), []
    for cell in study.cells(StudyOptions()):
        try:
            placed = graphs.place(cell.plan)
        except GaugError:
            continue
        records = [known[key] for key in map(placed.identity, cell.runs) if key in known]
        found.append(CellResult(cell, records))
    return found


def _by_settings(
    study: Study, options: StudyOptions, experiments: Sequence[Experiment]
) -> list[CellResult]:
    kinds: dict[tuple[str, str, str], list[Experiment]] = {}
    for one in experiments:
        kinds.setdefault((one.first.graph, one.first.model, one.first.method), []).append(one)
    found = []
    try:
        cells = study.cells(options)
    except GaugError:  # no published settings for some cell, or a graph that is not at hand
        return []
    for cell in cells:
        graph = getattr(cell.plan.graph, "name", "")
        alike = kinds.get((graph, cell.plan.model.name, cell.plan.method.name), [])
        best = _best(cell, alike)
        records = [] if best is None else [one for one in best.records if one.run in cell.runs]
        scored = [record for record in records if record.test_score is not None]
        settings = {} if best is None else best.settings
        chosen = Chosen(settings, _trials(cell, best, alike))
        # Its own settings are among those of the experiment.
        found.append(CellResult(dataclasses.replace(cell, settings={}), scored, chosen))
    return found


def _trials(cell: Cell, best: Experiment | None, alike: Sequence[Experiment]) -> int:
    """Number of settings among which those of a cell were chosen; 0 if they were given."""
    chooser = cell.chooser
    if isinstance(chooser, Given) and best is not None and best.settings == _wanted(cell):
        return chooser.trials
    searched = chooser.source in ("search", "preset")
    return sum(one.chosen in (CHOSEN, TRIED) for one in alike) if searched else 0


def _wanted(cell: Cell) -> dict[str, Any]:
    return changed_settings(cell.plan.config, cell.plan.model.name, cell.plan.method.name)


def _best(cell: Cell, alike: Sequence[Experiment]) -> Experiment | None:
    """The experiment that fills a cell."""
    wanted = _wanted(cell)
    chooser = cell.chooser
    if chooser.source == "preset":  # another search than the one behind it may fill the cell, too
        chooser = Grid(SEARCHES[cell.plan.method.name])
    searched = chooser.settings if isinstance(chooser, Grid) else set()
    free = searched | ({"predictor"} if searched else set())
    split = cell.plan.split.hash if isinstance(cell.plan.split, Split) else None
    candidates = [
        one
        for one in alike
        if one.tests
        and split in (None, one.first.split_hash)
        and _settled(one.settings, free) == _settled(wanted, free)
        and not (searched and _is_control(one))
    ]
    return max(
        candidates,
        key=lambda one: (
            cell.chooser.source == "preset" and one.settings == wanted,
            one.chosen == CHOSEN,
            len(one.tests) > 1,
            one.val_mean,
        ),
        default=None,
    )


def _settled(settings: Mapping[str, Any], free: set[str]) -> dict[str, Any]:
    """The settings that must be the same: not those of graph and split, and none that is free."""
    others = {
        field.name for part in (DataConfig, SplitConfig) for field in dataclasses.fields(part)
    }
    return {
        name: value
        for name, value in settings.items()
        if name not in others and name not in free and not (free and "." in name)
    }


def _is_control(one: Experiment) -> bool:
    for name in (one.first.config or {}).get("predictors") or {}:
        try:
            if name == _RANDOM or PREDICTORS.config_type(name).looks_at_labels:
                return True
        except ConfigError:
            continue
    return False


def missing_runs(part: PaperPart) -> str:
    """What a table or figure that was begun lacks, in a few words; empty if nothing."""
    total = len(part.results)
    short = [one for one in part.results if 0 < len(one.records) < len(one.cell.runs)]
    words = []
    if part.filled < total:
        words.append(f"{total - part.filled:,} of {counted(total, 'cell')} have no runs")
    if short:
        runs = statistics.fmean(len(one.records) for one in short)
        wanted = max(len(one.cell.runs) for one in short)
        have = "has" if len(short) == 1 else "have"
        words.append(
            f"{counted(len(short), 'cell')} {have} {runs:.0f} of {wanted:,} runs"
            + (" on average" if len(short) > 1 else "")
        )
    return "; ".join(words)


def records_of(part: PaperPart) -> list[RunRecord]:
    """All runs that a table or figure uses."""
    return [record for result in part.results for record in result.records]
