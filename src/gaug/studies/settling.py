"""Cells of the paper's graphs, with settings as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gaug.data.config import is_split_file
from gaug.presets.preset import Preset, get_preset
from gaug.runs.plan import Plan
from gaug.studies.chooser import Chooser, Given, Grid
from gaug.studies.paper import published_settings
from gaug.studies.scope import Scope, StudyOptions
from gaug.studies.searches import SEARCHES
from gaug.studies.study import Cell, paper_plan


def paper_cell(
    key: tuple[Any, ...],
    graph: str,
    model: str,
    method: str,
    scope: Scope,
    options: StudyOptions,
    fixed: Mapping[str, Any] | None = None,
) -> Cell:
    """A cell whose settings are the defaults, published ones, or searched on validation nodes.

    Where the package has a preset for the same split, that is the result of the search.

    Args:
        key: Its position in the study.
        graph: Name of the graph.
        model: Name of the model.
        method: Name of the method.
        scope: The options of the study.
        options: Those that were given.
        fixed: Settings that make this cell another than that of table 2. A search does without
            them, so cells that differ in them alone share one search.
    """
    source = scope.source_of_settings(options)
    if source == "search" and not SEARCHES[method]:
        source = "default"
    settings = published_settings(graph, model, method) if source == "published" else {}
    bare = paper_plan(graph, model, method, {}, options)
    chooser: Chooser = Grid(SEARCHES[method]) if source == "search" else Given(source)
    preset = preset_for(bare) if source == "search" else None
    if preset is not None:
        settings, chooser = dict(preset.settings), Given("preset", preset.trials)
    fixed = fixed or {}
    plan = paper_plan(graph, model, method, {**settings, **fixed}, options)
    return Cell(
        key,
        plan,
        scope.run_numbers(options),
        chooser,
        {**settings, **fixed},
        searched=bare if isinstance(chooser, Grid) and fixed else None,
    )


def preset_for(plan: Plan) -> Preset | None:
    """The preset of the package for the graph, split, model and method of a plan, if any."""
    graph = getattr(plan.graph, "name", "")
    preset = get_preset(graph, plan.model.name, plan.method.name)
    return preset if preset is not None and preset.split == _split_name(plan) else None


def _split_name(plan: Plan) -> str:
    """The name that the split of a plan has in records."""
    kind = str(plan.split)
    if is_split_file(kind):
        return Path(kind).stem
    return kind if kind == "public" else f"{kind}-{plan.split_config.split_seed}"
