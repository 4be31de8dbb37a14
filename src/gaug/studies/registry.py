"""The studies by name: tables and figures in the order of the paper, and what else is shown."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gaug.errors import unknown_name
from gaug.studies.paper import TABLE2_GRAPHS, TABLE3_MODELS, TABLE5_GRAPHS
from gaug.studies.scope import Scope

if TYPE_CHECKING:
    from gaug.studies.study import Study


@dataclass(frozen=True)
class StudyEntry:
    """Information about a study that is available before it is imported.

    Attributes:
        home: Location of its class, as ``module:name``.
        scope: Its options.
        of_paper: Whether it is a table or figure of the paper.
    """

    home: str
    scope: Scope
    of_paper: bool = True

    def load(self) -> Study:
        """The study itself."""
        module, _, name = self.home.partition(":")
        study: Study = getattr(importlib.import_module(module), name)()
        return study


#: The studies by name; names and options are checked before one is imported.
STUDIES: dict[str, StudyEntry] = {
    "table2": StudyEntry(
        "gaug.studies.table2:Table2",
        Scope(
            graphs=(*TABLE2_GRAPHS, "pubmed"),
            models=(*TABLE3_MODELS, "mlp"),
            methods=("none", "dropedge", "adaedge", "bgcn", "gaug-m", "gaug-o"),
            settings=("search", "default", "published"),
        ),
    ),
    "table3": StudyEntry(
        "gaug.studies.table3:Table3", Scope(models=TABLE3_MODELS, settings=("published", "default"))
    ),
    "table5": StudyEntry(
        "gaug.studies.table5:Table5",
        Scope(
            graphs=TABLE5_GRAPHS,
            methods=("none", "gaug-m", "gaug-o"),
            runs=10,
            settings=("search", "default"),
        ),
    ),
    "table6": StudyEntry(
        "gaug.studies.table6:Table6",
        Scope(graphs=TABLE2_GRAPHS, models=TABLE3_MODELS, settings=("search", "default")),
    ),
    "table7": StudyEntry(
        "gaug.studies.table7:Table7",
        Scope(
            models=TABLE3_MODELS,
            methods=("none", "gaug-m", "gaug-o"),
            settings=("search", "default"),
        ),
    ),
    "figure1": StudyEntry("gaug.studies.figure1:Figure1", Scope(has_picture=True)),
    "figure2": StudyEntry("gaug.studies.figure2:Figure2", Scope(runs=10, has_picture=True)),
    "figure4": StudyEntry(
        "gaug.studies.figure4:Figure4",
        Scope(graphs=("cora", "citeseer", "flickr", "air-usa"), runs=5, has_picture=True),
    ),
    "figure5": StudyEntry(
        "gaug.studies.figure5:Figure5",
        Scope(runs=10, settings=("published", "default"), has_picture=True),
    ),
    "figure6": StudyEntry(
        "gaug.studies.figure8:Figure6",
        Scope(runs=10, settings=("search", "default"), has_picture=True),
    ),
    "figure7": StudyEntry("gaug.studies.figure7:Figure7", Scope(runs=5, has_picture=True)),
    "figure8": StudyEntry(
        "gaug.studies.figure8:Figure8",
        Scope(models=TABLE3_MODELS, runs=10, settings=("search", "default"), has_picture=True),
    ),
    "figure9": StudyEntry("gaug.studies.figure9:Figure9", Scope(has_picture=True)),
    "choices": StudyEntry(
        "gaug.studies.choices:Choices",
        Scope(
            graphs=(*TABLE2_GRAPHS, "pubmed"), models=("gcn", "gat"), runs=10, has_own_graphs=True
        ),
        of_paper=False,
    ),
}


def find_study(name: str) -> StudyEntry:
    """The entry of a study.

    Raises:
        ConfigError: If there is no study of that name.
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    return STUDIES[name]
