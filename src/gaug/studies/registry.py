"""The tables and figures by name, in the order of the paper."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from gaug.errors import unknown_name

if TYPE_CHECKING:
    from gaug.studies.study import Study

#: Where each study is; it is imported when it is asked for.
STUDIES: dict[str, str] = {
    "table2": "gaug.studies.table2:Table2",
    "table3": "gaug.studies.table3:Table3",
    "figure1": "gaug.studies.figure1:Figure1",
    "figure2": "gaug.studies.figure2:Figure2",
    "figure5": "gaug.studies.figure5:Figure5",
}


def find_study(name: str) -> Study:
    """A study by its name.

    Raises:
        ConfigError: If there is none of that name.
    """
    if name not in STUDIES:
        raise unknown_name("table or figure", name, STUDIES)
    module, _, attribute = STUDIES[name].partition(":")
    study: Study = getattr(importlib.import_module(module), attribute)()
    return study
