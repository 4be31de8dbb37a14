from __future__ import annotations

import csv
import dataclasses
import json
import re
from contextlib import closing

import pytest

from gaug.cli import reproduce
from gaug.data.catalog import readers
from gaug.data.catalog.entries import CATALOG, Entry
from gaug.runs.store import Store
from gaug.studies import figure5, settling, table2
from gaug.studies.registry import STUDIES
from tests.known import known

CELL = ("reproduce", "table2", "--graphs", "cora", "--models", "gcn", "--methods", "none")

ENDINGS = {"markdown": "md", "latex": "tex", "csv": "csv", "json": "json"}


@pytest.fixture(autouse=True)
def _karate_in_the_place_of_cora(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = Entry("cora", "", "", (), readers.read_karate, "as-is", "stratified", "embedded")
    monkeypatch.setitem(CATALOG, "cora", stand_in)


def scores() -> list[float]:
    with closing(Store()) as store:
        return [known(record.test_score) for record in store.all()]


def test_the_table_has_the_paper_s_number_beside_ours(gaug, tmp_path):
    path = tmp_path / "out" / "table2.md"
    result = gaug(*CELL, "--runs", "2", "--data-root", str(tmp_path), "--out", str(path))
    assert result.code == 0
    first, second = scores()
    mean, deviation = (first + second) / 2, abs(first - second) / 2**0.5
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[2] == "| model | method | cora |"
    assert lines[4] == f"| GCN | original | {mean:.1f} ± {deviation:.1f} (81.6) |"
    assert "2 runs" in path.read_text(encoding="utf-8")
    assert lines[4] in result.out
    assert [file.name for file in path.parent.iterdir()] == ["table2.md"]


def test_the_table_says_which_command_made_it(gaug, tmp_path):
    where = ("--data-root", str(tmp_path), f"--out={tmp_path / 'a.md'}", "--quiet")
    result = gaug(*CELL[:-1], "none ,none", "--runs", "1", *where)
    assert f"Made by `gaug {' '.join(CELL[:-1])} 'none ,none' --runs 1`." in result.out
    assert str(tmp_path) not in result.out


def test_a_second_call_trains_nothing_and_gives_the_same_table(gaug, tmp_path, request):
    arguments = (*CELL, "--runs", "2", "--data-root", str(tmp_path))
    first = gaug(*arguments)
    request.getfixturevalue("no_training")
    second = gaug(*arguments)
    assert second.code == 0
    assert second.out == first.out
    assert len(scores()) == 2


def test_more_runs_do_only_the_missing_ones(gaug, tmp_path):
    for number in ("1", "3"):
        gaug(*CELL, "--runs", number, "--data-root", str(tmp_path), "--workers", "1")
    assert len(scores()) == 3


def test_a_method_s_settings_are_chosen_on_validation_and_told(gaug, tmp_path):
    cell = ("reproduce", "table2", "--graphs", "cora", "--models", "gcn", "--methods", "dropedge")
    result = gaug(*cell, "--runs", "2", "--data-root", str(tmp_path))
    assert result.code == 0
    with closing(Store()) as store:
        records = store.all()
    by_share: dict[float, list[float]] = {}
    for record in records:
        share = record.config["method"]["drop_fraction"]
        by_share.setdefault(share, []).append(known(record.val_score))
    best = max(by_share, key=lambda share: sum(by_share[share]))
    assert set(by_share) == {0.05, 0.2, 0.4, 0.6, 0.8}
    assert f"| cora | GCN | DropEdge | `drop_fraction={best}` | of 5 |" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["figure2", "--runs", "0"], "runs must be at least 1, got 0."),
        (
            ["figure2", "--out", "figure.jpeg"],
            "figure.jpeg must end in .md, .tex, .csv, .json, .png, .svg, .pdf or .jsonl.",
        ),
        (["table3", "--out", "a.png"], "a.png must end in .md, .tex, .csv, .json or .jsonl."),
        (
            ["table9"],
            "Unknown study 'table9'. Choose from: choices, figure1, figure2, figure4, figure5,",
        ),
        (["figure5", "--runs", "0"], "runs must be at least 1, got 0."),
        (["figure5", "--out", "figure.jpeg"], "figure.jpeg must end in .md, .tex, .csv, .json,"),
        (
            ["table3", "--models", "mlp"],
            "Unknown model 'mlp'. Choose from: gat, gcn, gsage, jknet.",
        ),
        (["table3", "--runs", "0"], "runs must be at least 1, got 0."),
        (
            [*CELL[1:-1], "dropedge", "--settings", "published"],
            "There are no published settings for dropedge with gcn on cora.",
        ),
        (["table2", "--graphs", "cora,corra"], "Unknown graph 'corra'. Choose from:"),
        (["table2", "--models", "gnc"], "Unknown model 'gnc'. Choose from:"),
        (["table2", "--methods", "drop"], "Unknown method 'drop'. Choose from:"),
        (["table2", "--graphs", ","], "Unknown graph ','. Choose from:"),
        (["table2", "--settings", "best"], "Unknown settings 'best'. Choose from: default,"),
        (["table3", "--settings", "search"], "table3 takes settings published or default, got"),
        (["table2", "--format", "html"], "Unknown format 'html'. Choose from: csv, json,"),
        (["figure2", "--graphs", "cora"], "figure2 has no graphs to choose from. Leave them out."),
        (["table2", "--models", "mlp", "--methods", "bgcn"], "No cell is selected: an MLP uses"),
        ([*CELL[1:], "--time-budget", "inf"], "time_budget must be above 0 and finite, got inf."),
        ([*CELL[1:], "--seed", "-1"], "seed must be at least 0, got -1."),
        ([*CELL[1:], "--seed", str(2**31)], "seed must be at most 2147483647, got 2147483648."),
        ([*CELL[1:], "--runs", "0"], "runs must be at least 1, got 0."),
        ([*CELL[1:], "--trial-runs", "0"], "trial_runs must be at least 1, got 0."),
        ([*CELL[1:], "--workers", "0"], "workers must be at least 1, got 0."),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, list) else "",
)
def test_what_cannot_be_is_refused_before_any_training(
    gaug, tmp_path, no_training, arguments, message
):
    result = gaug("reproduce", *arguments, "--data-root", str(tmp_path))
    assert result.code == 2
    assert result.err.startswith(f"gaug: {message}")
    assert result.err.count("\n") == 1


def test_missing_data_is_one_line_and_exit_1(gaug, tmp_path, no_training):
    result = gaug("reproduce", "table2", "--graphs", "citeseer", "--data-root", str(tmp_path))
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert "gaug datasets fetch citeseer" in result.err


def test_a_table_that_cannot_be_written_is_one_line_and_keeps_the_runs(gaug, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    path = blocker / "table2.md"
    result = gaug(*CELL, "--runs", "1", "--data-root", str(tmp_path), "--out", str(path))
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert str(path) in result.err
    assert len(scores()) == 1
    assert blocker.read_text() == "mine"


def test_figure_2_counts_edges_by_kind_and_draws_them(gaug, tmp_path):
    picture, table = tmp_path / "figure2.png", tmp_path / "figure2.md"
    arguments = ("--out", str(picture), "--out", str(table), "--data-root", str(tmp_path))
    result = gaug("reproduce", "figure2", "--runs", "1", *arguments)
    assert result.code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = [line for line in table.read_text(encoding="utf-8").splitlines() if "%" in line]
    assert len(rows) == 44
    # The karate club has 78 edges, 67 of them within a faction.
    start = [row for row in rows if "| 0% | 67 | 11 |" in row]
    gone = [row for row in rows if row.startswith("| Removed") and "| 100% | 0 | 0 |" in row]
    assert (len(start), len(gone)) == (4, 2)
    assert table.read_text(encoding="utf-8").strip() in result.out


@pytest.fixture
def _short_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    short = {"alpha": 0.3, "pretrain_predictor_epochs": 3, "pretrain_classifier_epochs": 2}
    for module in (settling, figure5):
        monkeypatch.setattr(
            module,
            "published_settings",
            lambda graph, model, method: {} if method == "none" else short | {"epochs": 4},
        )


@pytest.mark.usefixtures("_short_settings")
def test_published_settings_are_taken_and_told(gaug, tmp_path):
    cell = (*CELL[:-1], "gaug-o", "--settings", "published", "--runs", "1")
    result = gaug(*cell, "--data-root", str(tmp_path))
    assert result.code == 0
    assert "| cora | GCN | GAug-O | `alpha=0.3 " in result.out
    assert "| published |" in result.out
    assert len(scores()) == 1


@pytest.mark.usefixtures("_short_settings")
def test_table_3_has_every_variant_with_the_paper_s_number(gaug, tmp_path):
    path = tmp_path / "table3.md"
    command = ("reproduce", "table3", "--models", "gcn", "--runs", "2", "--workers", "1")
    result = gaug(*command, "--data-root", str(tmp_path), "--out", str(path))
    assert result.code == 0
    with closing(Store()) as store:
        records = store.all()
    by_variant: dict[str, list[float]] = {}
    for record in records:
        variant = record.config["method"].get("variant", "original")
        by_variant.setdefault(variant, []).append(known(record.test_score))
    titles = {
        "original": ("original graph", " (81.6)"),
        "no-sampling": ("no sampling", " (82.8)"),
        "rounding": ("rounding", " (82.5)"),
        "no-edge-loss": ("no edge loss", " (82.8)"),
        "random": ("random edges", ""),
        "full": ("GAug-O", " (83.6)"),
    }
    assert by_variant.keys() == titles.keys()
    rows = path.read_text(encoding="utf-8").splitlines()[4:10]
    best = max(f"{sum(scores) / 2:.1f}" for scores in by_variant.values())
    for row, (variant, (title, paper)) in zip(rows, titles.items(), strict=True):
        first, second = by_variant[variant]
        mean, deviation = (first + second) / 2, abs(first - second) / 2**0.5
        bold = "**" if f"{mean:.1f}" == best else ""
        assert row == f"| {title} | {bold}{mean:.1f} ± {deviation:.1f}{paper}{bold} |"


@pytest.mark.usefixtures("_short_settings")
def test_figure_5_shows_the_history_of_joint_training(gaug, tmp_path):
    picture, table = tmp_path / "figure5.svg", tmp_path / "figure5.md"
    command = ("reproduce", "figure5", "--runs", "2", "--workers", "1")
    result = gaug(
        *command, "--data-root", str(tmp_path), "--out", str(picture), "--out", str(table)
    )
    assert result.code == 0
    assert "Edges of the sampled graphs" in picture.read_text(encoding="utf-8")
    with closing(Store()) as store:
        histories = [known(record.history) for record in store.all()]
    assert [len(history) for history in histories] == [102, 102]  # two of pretraining
    joint = [history[2] for history in histories]
    edges = sum(row["edges"] for row in joint) / 2
    share = sum(row["intra_edges"] / row["edges"] for row in joint) / 2
    lines = table.read_text(encoding="utf-8").splitlines()
    rows = [[field.strip() for field in line.split("|")[1:-1]] for line in lines if "|" in line]
    # The club has 78 friendships, 67 of them within a faction.
    assert ["original graph", "78", "85.9%", "", "", ""] in rows
    assert [row[1:3] for row in rows if row[0] == "1"] == [[f"{edges:,.0f}", f"{share:.1%}"]]
    assert [int(row[0]) for row in rows[3:]] == [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100]


@pytest.mark.usefixtures("_short_settings")
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("published", "the settings that the paper's authors published"),
        ("default", "its defaults"),
    ],
)
def test_figure_5_says_whose_settings_it_has(gaug, tmp_path, monkeypatch, settings, words):
    monkeypatch.setattr(figure5.Figure5.__init__, "__defaults__", (2,))
    result = gaug(
        "reproduce", "figure5", "--runs", "1", "--settings", settings, "--data-root", tmp_path
    )
    assert result.code == 0
    assert f"GAug-O with {words}:" in result.out


def test_figure_5_without_runs_is_an_empty_table_that_says_why(gaug, tmp_path):
    table, picture = tmp_path / "f5.md", tmp_path / "f5.svg"
    command = ("reproduce", "figure5", "--data-root", tmp_path, "--time-budget", "1e-9", "--out")
    result = gaug(*command, table)
    assert result.code == 0, result.err
    assert "0 of 10 runs in the time given" in table.read_text(encoding="utf-8")
    assert "| original graph" not in result.out
    result = gaug(*command, picture)
    assert result.code == 1
    assert result.err.endswith("gaug: There is nothing to draw: 0 of 10 runs in the time given.\n")
    assert not picture.exists()


def test_every_format_is_printed_and_written_by_its_ending(gaug, tmp_path):
    paths = {form: tmp_path / f"table.{end}" for form, end in ENDINGS.items()}
    outs = [part for path in paths.values() for part in ("--out", path)]
    for form, path in paths.items():
        arguments = (*CELL, "--runs", "1", "--data-root", tmp_path, *outs, "--format", form)
        result = gaug(*arguments)
        assert result.code == 0
        assert result.out == path.read_text(encoding="utf-8")
    (score,) = scores()
    (row,) = json.loads(paths["json"].read_text(encoding="utf-8"))["rows"]
    assert row["cora"]["mean"] == pytest.approx(score, abs=1e-3)
    header, first = csv.reader(paths["csv"].read_text(encoding="utf-8").splitlines())
    assert float(dict(zip(header, first, strict=True))["cora mean"]) == pytest.approx(
        score, abs=1e-3
    )
    assert f"GCN & original & {score:.1f} (81.6)" in paths["latex"].read_text(encoding="utf-8")


def test_when_the_time_is_over_what_is_there_is_drawn_and_the_rest_told(gaug, tmp_path):
    gaug(*CELL, "--runs", "1", "--data-root", tmp_path)
    (score,) = scores()
    both = (*CELL[:4], "--models", "gcn,gat", "--methods", "none")
    result = gaug(*both, "--runs", "2", "--data-root", tmp_path, "--time-budget", "1e-9")
    assert result.code == 0
    assert f"| GCN | original | {score:.1f} (81.6) |" in result.out
    assert "| GAT | original | missing |" in result.out
    assert "cora, gcn, none: 1 of 2 runs in the time given" in result.out
    assert "cora, gat, none: 0 of 2 runs in the time given" in result.out


def test_figure_1_is_that_of_the_demo(gaug, tmp_path):
    picture = tmp_path / "figure1.png"
    shown = gaug("reproduce", "figure1", "--runs", "2", "--format", "json", "--out", picture)
    rows = {row["graph"]: row for row in json.loads(shown.out)["rows"]}
    demo = json.loads(gaug("demo", "--runs", "2", "--json", "--out", tmp_path / "demo.png").out)
    for variant in demo["variants"]:
        row = next(row for name, row in rows.items() if name.lower() == variant["graph"])
        assert row["tested on original"]["mean"] == pytest.approx(
            sum(variant["original"]) / 2, abs=1e-3
        )
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_record_has_a_line_for_each_cell_and_is_added_to(gaug, tmp_path):
    path = tmp_path / "table2.jsonl"
    common = ("--runs", "2", "--data-root", tmp_path, "--out", path)
    for models in ("gcn", "mlp"):
        result = gaug(*CELL[:4], "--models", models, "--methods", "none", *common)
        assert result.code == 0
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["key"] for line in lines] == [["cora", "gcn", "none"], ["cora", "mlp", "none"]]
    first = scores()[:2]
    assert lines[0]["scores"] == pytest.approx(first, abs=1e-3)
    assert lines[0]["mean"] == pytest.approx(sum(first) / 2, abs=1e-3)
    command = "gaug reproduce table2 --graphs cora --models gcn --methods none --runs 2"
    assert lines[0]["command"] == command
    assert (lines[0]["runs"], lines[0]["chosen"]) == (2, "default")


def test_a_record_of_another_study_is_left_alone(gaug, tmp_path):
    path = tmp_path / "record.jsonl"
    gaug("reproduce", "figure9", "--runs", "1", "--out", path)
    before = path.read_text(encoding="utf-8")
    result = gaug(*CELL, "--runs", "1", "--data-root", tmp_path, "--out", path)
    assert result.code == 2
    assert "has the record of figure9, not of table2" in result.err
    assert path.read_text(encoding="utf-8") == before


def test_a_dry_run_trains_nothing_and_says_what_it_would_take(gaug, tmp_path, no_training):
    result = gaug(*CELL, "--runs", "2", "--data-root", tmp_path, "--dry-run")
    assert result.code == 0
    assert re.search(r"^\| table2 \| 1 \| 0 \| 2 \| \d+ s \|$", result.out, re.MULTILINE)
    assert "To finish it all takes about" in result.out


def test_choices_are_those_of_your_own_graphs_too(gaug, tmp_path, no_training):
    folder = tmp_path / "own" / "school"
    folder.mkdir(parents=True)
    (folder / "edges.csv").write_text("".join(f"{n},{(n + 1) % 40}\n" for n in range(40)))
    (folder / "labels.csv").write_text(
        "node,class\n" + "".join(f"{n},{n % 2}\n" for n in range(40))
    )
    arguments = ("reproduce", "choices", "--models", "gcn", "--data-root", tmp_path, "--dry-run")
    result = gaug(*arguments)
    assert result.code == 0, result.err
    # Cora's stand-in, which needs no file, and the folder: plain, MLP, two races, three searches.
    assert "| choices | 14 | 0 |" in result.out
    assert "| choices | 7 | 0 |" in gaug(*arguments, "--graphs", "school").out
    assert "Unknown graph 'scool'" in gaug(*arguments, "--graphs", "scool").err


@pytest.fixture
def _two_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a table whose graph is there, one whose graph is not, and a figure without training."""
    small = {name: STUDIES[name] for name in ("table2", "figure9")}
    scope = dataclasses.replace(
        small["table2"].scope, graphs=("cora", "citeseer"), models=("gcn", "mlp"), methods=("none",)
    )
    monkeypatch.setattr(table2.Table2, "scope", scope)
    monkeypatch.setattr(reproduce, "STUDIES", small)


@pytest.mark.usefixtures("_two_studies")
def test_all_runs_what_it_can_and_tells_the_rest(gaug, tmp_path):
    out = tmp_path / "results"
    result = gaug("reproduce", "all", "--runs", "1", "--data-root", tmp_path, "--out", out)
    assert result.code == 0, result.err
    assert re.search(r"^\| table2 \| 4 \| 2 \| 2 \| \d+ s \|$", result.out, re.MULTILINE)
    assert "table2: Graph 'citeseer' is not in the data folder" in result.out
    assert len(scores()) == 2
    assert sorted(path.name for path in out.iterdir()) == [
        *(f"figure9.{ending}" for ending in ("csv", "jsonl", "md", "png", "svg")),
        *(f"table2.{ending}" for ending in ("csv", "jsonl", "md")),
    ]
    table = (out / "table2.md").read_text(encoding="utf-8")
    assert "| GCN | original | " in table
    assert "missing |" in table


def test_all_writes_what_it_can_and_tells_of_which_studies_there_is_nothing(
    gaug, tmp_path, monkeypatch, no_training
):
    names = ("figure5", "figure4", "table2")
    monkeypatch.setattr(reproduce, "STUDIES", {name: STUDIES[name] for name in names})
    out = tmp_path / "results"
    result = gaug("reproduce", "all", "--dry-run", "--data-root", tmp_path, "--out", out)
    assert result.code == 0, result.err
    for name in names:
        assert re.search(rf"^\| {name} \| \d+ \| 0 \|", result.out, re.MULTILINE)
        assert {f"{name}.md", f"{name}.jsonl"} <= {path.name for path in out.iterdir()}
    assert "figure5: There is nothing to draw: 0 of 10 runs in the time given." in result.out
    assert (out / "figure4.png").exists()


@pytest.mark.usefixtures("_two_studies")
def test_all_ends_in_time_and_goes_on_where_it_stopped(gaug, tmp_path):
    arguments = ("reproduce", "all", "--runs", "1", "--data-root", tmp_path)
    assert gaug(*arguments, "--time-budget", "1e-9").code == 0
    assert scores() == []
    first = gaug(*arguments)
    assert len(scores()) == 2
    assert gaug(*arguments).out == first.out
    assert len(scores()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--graphs", "cora"], "all takes no --graphs: every study has its own. Leave it out."),
        (["--settings", "default"], "all takes no --settings"),
        (["--out", "a.md"], "all writes to a folder, got a.md. Give a name without ending."),
    ],
)
def test_what_does_not_go_with_all_is_refused(gaug, no_training, arguments, message):
    result = gaug("reproduce", "all", *arguments)
    assert result.code == 2
    assert result.err.startswith(f"gaug: {message}")
