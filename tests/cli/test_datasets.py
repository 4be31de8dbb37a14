from __future__ import annotations

import json
import sys

import pytest
import torch_geometric.datasets
from typer.testing import CliRunner

from gaug.cli import options
from gaug.cli.main import app, main
from gaug.data.catalog.entries import CATALOG
from gaug.errors import MissingDataError


@pytest.fixture(autouse=True)
def _no_network_and_no_debug(monkeypatch):
    def download(dataset):
        raise OSError("Network is unreachable")

    for kind in ("Planetoid", "AttributedGraphDataset", "Airports"):
        monkeypatch.setattr(getattr(torch_geometric.datasets, kind), "download", download)
    monkeypatch.setattr(options.state, "debug", False)


def invoke(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_list_names_every_graph_and_whether_it_is_there(make_airports):
    root = make_airports()
    lines = {
        line.split()[0]: line.split()
        for line in invoke("datasets", "--data-root", root).splitlines()
    }
    for name in CATALOG:
        assert lines[name][-1] == ("yes" if name in ("karate", "air-usa") else "no")
    assert lines["karate"][1:4] == ["34", "78", "34"]
    assert lines["air-usa"][1:4] == ["5", "5", "3"]


def test_the_list_says_where_it_looked_and_how_to_get_what_is_missing(make_airports):
    root = make_airports()
    output = " ".join(invoke("datasets", "--data-root", root).split())
    assert f"Data folder: {root}" in output
    assert "Missing: cora, citeseer, pubmed," in output
    assert "'gaug datasets fetch NAME' downloads one." in output


def test_as_json_the_list_is_one_object_a_graph_with_its_statistics(make_airports):
    rows = json.loads(invoke("datasets", "--json", "--data-root", make_airports()))
    assert [row["name"] for row in rows] == list(CATALOG)
    by_name = {row["name"]: row for row in rows}
    airports = by_name["air-usa"]
    assert airports["present"] is True
    assert (airports["nodes"], airports["edges"], airports["features"]) == (5, 5, 3)
    assert airports["classes"] == 4
    assert airports["feature_density"] == 1 / 3
    assert airports["edge_homophily"] == 0.0
    assert by_name["cora"]["present"] is False
    assert "nodes" not in by_name["cora"]


def test_the_list_writes_nothing_to_the_data_root(make_airports):
    root = make_airports()
    before = {path: path.stat().st_mtime_ns for path in [root, *root.rglob("*")]}
    invoke("datasets", "--data-root", root)
    assert {path: path.stat().st_mtime_ns for path in [root, *root.rglob("*")]} == before


def test_a_data_root_that_does_not_exist_has_only_the_embedded_graph(tmp_path):
    rows = json.loads(invoke("datasets", "--json", "--data-root", tmp_path / "nowhere"))
    assert [row["name"] for row in rows if row["present"]] == ["karate"]
    assert not (tmp_path / "nowhere").exists()


def test_fetching_a_graph_that_is_there_says_where(make_airports):
    root = make_airports()
    output = invoke("datasets", "fetch", "air-usa", "--data-root", root)
    assert output == f"air-usa is in {root / 'Airports'}\n"


def test_fetching_karate_says_that_it_is_embedded(tmp_path):
    assert invoke("datasets", "fetch", "karate", "--data-root", tmp_path) == "karate is embedded.\n"


def test_the_program_ends_with_0_when_all_is_well(gaug, tmp_path):
    code, out, err = gaug("datasets", "--json", "--data-root", tmp_path)
    assert code == 0
    assert len(json.loads(out)) == len(CATALOG)
    assert err == ""


def test_fetching_without_network_ends_with_1_and_one_line_on_standard_error(gaug, tmp_path):
    code, out, err = gaug("datasets", "fetch", "air-usa", "--data-root", tmp_path)
    assert code == 1
    assert out == ""
    assert err.startswith("gaug: Graph 'air-usa' could not be downloaded (Network is unreachable).")
    assert "Airports/usa/raw/{usa-airports.edgelist, labels-usa-airports.txt}" in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_fetching_an_unknown_graph_ends_with_2_and_one_line_with_the_names(gaug, tmp_path):
    code, out, err = gaug("datasets", "fetch", "coar", "--data-root", tmp_path)
    assert code == 2
    assert out == ""
    known = ", ".join(sorted(CATALOG))
    assert err == f"gaug: Unknown graph 'coar'. Choose from: {known}. Did you mean 'cora'?\n"


def test_a_damaged_graph_is_listed_as_damaged_with_its_error_below_and_the_others_as_ever(
    gaug, make_airports
):
    _, whole, _ = gaug("datasets", "--data-root", make_airports())
    code, out, _ = gaug("datasets", "--data-root", make_airports(labels="node label\n10 0\n"))
    assert code == 0
    lines, undamaged = (
        {line.split()[0]: line.split() for line in o.splitlines()} for o in (out, whole)
    )
    assert lines["air-usa"] == ["air-usa", *["–"] * 6, "damaged"]
    for name in CATALOG:
        if name != "air-usa":
            assert lines[name] == undamaged[name]
    (error,) = (line for line in out.splitlines() if line.startswith("Graph 'air-usa' in "))
    assert error.endswith("run 'gaug datasets fetch air-usa'.")
    assert out.index(error) > out.index("ogbn-arxiv")  # below the last row
    (missing,) = (line for line in out.splitlines() if line.startswith("Missing: "))
    assert "air-usa" not in missing


def test_as_json_a_damaged_graph_has_its_error_in_place_of_its_statistics(gaug, make_airports):
    root = make_airports(labels="node label\n10 0\n")
    code, out, err = gaug("datasets", "--json", "--data-root", root)
    assert (code, err) == (0, "")
    by_name = {row["name"]: row for row in json.loads(out)}
    assert list(by_name) == list(CATALOG)
    assert by_name["air-usa"]["error"].startswith("Graph 'air-usa' in ")
    assert by_name["air-usa"]["present"] is True
    assert "nodes" not in by_name["air-usa"]
    assert by_name["karate"]["nodes"] == 34
    assert [name for name, row in by_name.items() if "error" in row] == ["air-usa"]


def test_a_graph_that_is_cut_off_is_listed_as_damaged_with_its_counts(gaug, make_airports):
    root = make_airports("10 20\n20 30\n30 40\n40 50\n", size=(5, 5))
    code, out, _ = gaug("datasets", "--data-root", root)
    assert code == 0
    assert "it has 5 nodes and 4 edges, where it should have 5 and 5." in out


@pytest.mark.parametrize("arguments", [("--no-such-option",), ("fetch",), ("burn", "cora")])
def test_a_command_that_is_not_understood_ends_with_2(gaug, arguments):
    code, out, err = gaug("datasets", *arguments)
    assert code == 2
    assert out == ""
    assert "Traceback" not in err


def test_with_debug_the_error_itself_comes_through(monkeypatch, tmp_path):
    arguments = ["gaug", "datasets", "fetch", "air-usa", "--debug", "--data-root", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(MissingDataError, match="Network is unreachable"):
        main()


def test_a_data_root_before_the_word_fetch_counts(make_airports, monkeypatch, tmp_path):
    monkeypatch.setenv("GAUG_DATA", str(tmp_path / "another"))
    root = make_airports()
    output = invoke("datasets", "--data-root", root, "fetch", "air-usa")
    assert output == f"air-usa is in {root / 'Airports'}\n"


def test_a_data_root_after_the_word_fetch_counts_before_one_before_it(make_airports, tmp_path):
    root = make_airports()
    before = tmp_path / "another"
    output = invoke("datasets", "--data-root", before, "fetch", "air-usa", "--data-root", root)
    assert output == f"air-usa is in {root / 'Airports'}\n"


@pytest.mark.real
def test_the_list_has_the_statistics_of_the_real_graphs(data_root):
    rows = json.loads(invoke("datasets", "--json", "--data-root", data_root))
    by_name = {row["name"]: row for row in rows}
    cora = by_name["cora"]
    assert (cora["nodes"], cora["edges"], cora["features"], cora["classes"]) == (
        2708,
        5278,
        1433,
        7,
    )
    assert cora["edge_homophily"] == pytest.approx(0.81, abs=0.005)
    assert by_name["ppi"]["edge_homophily"] is None  # several labels a node
    assert by_name["flickr"]["feature_density"] == pytest.approx(0.002, abs=0.0005)
