"""Presets: what a search found is written, read and used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gaug.choosing.search import search_settings
from gaug.data.catalog.entries import CATALOG
from gaug.errors import ConfigError, DataError
from gaug.presets import preset as presets
from gaug.presets.preset import (
    Preset,
    find_preset,
    get_preset,
    presets_of,
    read_presets,
    write_preset,
)
from gaug.runs.plan import Plan
from gaug.studies.chooser import Given, Grid
from gaug.studies.scope import Scope, StudyOptions
from gaug.studies.searches import SEARCHES
from gaug.studies.settling import paper_cell
from gaug.studies.table6 import Table6

SCOPE = Scope(runs=2, settings=("search", "default"))


def preset_of(
    graph: str = "cora", model: str = "gcn", method: str = "gaug-m", **settings: object
) -> Preset:
    settings = settings or {"predictor": "ra", "add_fraction": 0.25}
    return Preset(graph, model, method, "public", settings, 81.5, 40, "gaug search cora")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of the package's."""
    monkeypatch.setattr(presets, "FOLDER", tmp_path)
    return tmp_path


def test_what_is_written_is_read_again_in_order_of_graphs_and_models(tmp_path: Path) -> None:
    path = tmp_path / "gaug-m.toml"
    cora, gat, karate = preset_of(), preset_of(model="gat"), preset_of("karate", alone=True, n=3)
    for one in (karate, gat, cora):
        write_preset(one, path)
    assert read_presets(path) == [gat, cora, karate]
    assert path.read_text(encoding="utf-8").startswith("# Settings that 'gaug search' found")


def test_a_new_preset_takes_the_place_of_the_one_for_the_same_graph_and_model(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gaug-m.toml"
    for fraction in (0.1, 0.7):
        write_preset(preset_of(add_fraction=fraction), path)
    (found,) = read_presets(path)
    assert found.settings == {"add_fraction": 0.7}


def test_a_file_has_presets_of_one_method(tmp_path: Path) -> None:
    path = tmp_path / "presets.toml"
    write_preset(preset_of(), path)
    with pytest.raises(ConfigError, match="has presets of gaug-m, not of dropedge"):
        write_preset(preset_of(method="dropedge"), path)


@pytest.mark.parametrize("text", ["[", "method = 'gaug-m'", "method = 'a'\n[[preset]]\nx = 1"])
def test_what_is_no_file_of_presets_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="must be a file of presets") as told:
        read_presets(path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("settings", '"abc"', "settings must be a table, got 'abc'"),
        ("trials", "1.5", "trials must be a whole number, got 1.5"),
        ("trials", "true", "trials must be a whole number, got True"),
        ("validation", '"high"', "validation must be a number, got 'high'"),
        ("graph", "3", "graph must be a text, got 3"),
    ],
)
def test_a_field_of_another_type_is_told_in_one_line(
    tmp_path: Path, field: str, value: str, message: str
) -> None:
    fields = {
        "graph": '"cora"',
        "model": '"gcn"',
        "split": '"public"',
        "validation": "81",
        "trials": "4",
        "command": '"gaug"',
        "settings": "{}",
    }
    path = tmp_path / "odd.toml"

    def write(**others: str) -> None:
        lines = [f"{name} = {text}" for name, text in {**fields, **others}.items()]
        path.write_text("\n".join(["method = 'gaug-m'", "[[preset]]", *lines]), encoding="utf-8")

    write()
    assert [preset.validation for preset in read_presets(path)] == [81]
    write(**{field: value})
    with pytest.raises(DataError, match=re.escape(message)) as told:
        read_presets(path)
    assert "\n" not in str(told.value)


def test_a_search_becomes_a_preset_that_trains_the_same(folder: Path) -> None:
    plan = Plan.of(
        "karate", method="dropedge", split="stratified", settings={"epochs": 3, "patience": 2}
    )
    result = search_settings(plan, trials=2, trial_runs=1, fixed=["patience"])
    given = {"patience": "2", "epochs": "3"}
    made = Preset.of(result, graph="karate", split="stratified-0", command="gaug …", given=given)
    write_preset(made, folder / "dropedge.toml")
    found = find_preset("karate", "gcn", "dropedge")
    assert found.trials == 2
    assert found.validation == pytest.approx(result.best.mean, abs=0.01)
    again = Plan.of("karate", method="dropedge", split="stratified", settings=found.texts)
    assert again.config == result.plan.config


def test_where_there_is_none_those_that_there_are_are_named(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is none for gaug-m yet\."):
        find_preset("cora", "gcn", "gaug-m")
    write_preset(preset_of(), folder / "gaug-m.toml")
    with pytest.raises(
        ConfigError, match=r"no preset for gaug-m with gat on cora\. There are: gcn"
    ):
        find_preset("cora", "gat", "gaug-m")
    assert get_preset("cora", "gat", "gaug-m") is None


def test_a_study_takes_a_preset_as_the_result_of_its_search(folder: Path, tmp_path: Path) -> None:
    write_preset(preset_of(), folder / "gaug-m.toml")
    options = StudyOptions(root=tmp_path)
    cell = paper_cell(("a",), "cora", "gcn", "gaug-m", SCOPE, options)
    assert cell.chooser == Given("preset", 40)
    assert cell.settings == {"predictor": "ra", "add_fraction": 0.25}
    assert cell.plan.method.config.to_dict()["add_fraction"] == 0.25
    # Asked for defaults, or without a preset for the model, it is as before.
    default = paper_cell(("a",), "cora", "gcn", "gaug-m", SCOPE, StudyOptions(settings="default"))
    other = paper_cell(("a",), "cora", "gat", "gaug-m", SCOPE, options)
    assert (default.chooser, default.settings) == (Given(), {})
    assert other.chooser == Grid(SEARCHES["gaug-m"])


def test_cells_that_differ_in_one_setting_take_the_same_preset(
    folder: Path, tmp_path: Path
) -> None:
    write_preset(preset_of(), folder / "gaug-m.toml")
    options = StudyOptions(graphs=["cora"], models=["gcn"], root=tmp_path)
    _, modified, original = Table6().cells(options)
    assert original.settings == {**modified.settings, "inference": "original"}
    assert original.plan.method.config.to_dict()["inference"] == "original"


def test_a_preset_of_another_split_is_not_taken(folder: Path, tmp_path: Path) -> None:
    write_preset(preset_of(), folder / "gaug-m.toml")
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "cora.npz").write_bytes(b"")
    cell = paper_cell(("a",), "cora", "gcn", "gaug-m", SCOPE, StudyOptions(root=tmp_path))
    assert cell.chooser.source == "search"


FILES = sorted(Path(presets.__file__).parent.glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_preset_of_the_package_can_be_run(path: Path) -> None:
    for found in presets_of(path.stem):
        assert found.method == path.stem
        assert found.graph in CATALOG
        assert found.command.startswith(f"gaug search {found.graph} ")
        assert found.trials > 0
        Plan.of(found.graph, model=found.model, method=found.method, settings=found.texts)
