"""What choosing gains: the study of races and searches, on graphs of the user's own."""

from __future__ import annotations

import dataclasses
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gaug.choosing.auto import choose_method
from gaug.choosing.candidates import (
    ADAEDGE,
    CANDIDATES,
    DROPEDGE,
    FEATURES,
    NONE,
    Candidate,
    built_upon,
)
from gaug.choosing.comparison import Comparison
from gaug.choosing.race import race
from gaug.choosing.run_scores import RunScores
from gaug.choosing.search import SearchResult
from gaug.choosing.trial import Trial
from gaug.drawing.table import Code, Scores, Table, render
from gaug.errors import ConfigError, DataError
from gaug.methods.dropedge.config import DropEdgeConfig
from gaug.presets import preset as presets
from gaug.presets.preset import Preset, write_preset
from gaug.runs.execute import execute
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.runs.store import Store
from gaug.studies import race_and_search
from gaug.studies.choices import STACKS, Choices
from gaug.studies.choices_summary import places_of
from gaug.studies.chooser import Chooser, Chosen, Given
from gaug.studies.engine import run_cells
from gaug.studies.outcome import Outcome, from_lines, to_lines
from gaug.studies.race_and_search import Race, Search, chosen_of
from gaug.studies.scope import StudyOptions
from gaug.studies.study import Cell, CellResult
from tests.known import known
from tests.studies.conftest import Trainings


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with one graph of one's own, of two classes of thirty nodes."""
    folder = tmp_path / "data" / "own" / "school"
    folder.mkdir(parents=True)
    nodes = range(60)
    edges = [(node, (node + 2 * step) % 60) for node in nodes for step in (1, 2)]
    (folder / "edges.csv").write_text("".join(f"{a},{b}\n" for a, b in edges))
    (folder / "labels.csv").write_text("node,class\n" + "".join(f"{n},{n % 2}\n" for n in nodes))
    rows = "".join(f"{n},{n % 2},{n % 7},1\n" for n in nodes)
    (folder / "features.csv").write_text("node,a,b,c\n" + rows)
    return tmp_path / "data"


def options(root: Path, **others: Any) -> StudyOptions:
    return StudyOptions(root=root, models=["gcn"], **{"runs": 2, **others})


def cell_of(root: Path, chooser: Chooser, runs: int = 2) -> Cell:
    """A GCN on that graph, for a few epochs."""
    (plain,) = (cell for cell in Choices().cells(options(root)) if cell.key[1:] == ("gcn", "none"))
    plan = plain.plan.with_settings(["epochs=2"])
    return Cell(("school", "gcn", "stack"), plan, range(runs), chooser)


@pytest.fixture
def _few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only candidates that are quick to run take part in races."""
    quick = (DROPEDGE, ADAEDGE, Candidate(DropEdgeConfig(drop_fraction=0.2)))
    monkeypatch.setitem(known(race.__kwdefaults__), "candidates", quick)


#: A race and a search with more time than they need.
RACE = Race(1000.0)
SEARCH = Search(("dropedge", "adaedge"), 4, 1000.0)


def run(cells: list[Cell], store: Store, **others: Any) -> list[CellResult]:
    return run_cells(cells, store=store, graphs=Graphs(), trial_runs=1, **others)


def test_every_graph_at_hand_has_all_rows(root: Path) -> None:
    cells = Choices().cells(StudyOptions(root=root))
    rows = ["none", "auto-60", "auto-300", "gaug-m", "gaug-o", "stack"]
    assert [cell.key for cell in cells] == [
        ("school", "mlp", "none"),
        *(("school", model, name) for model in ("gcn", "gat") for name in rows),
    ]
    assert all(list(cell.runs) == list(range(10)) for cell in cells)
    # A tenth of each class of thirty trains, and a fifth validates.
    split = Graphs(root).split(cells[0].plan)
    assert (split.train.numel(), split.val.numel(), split.test.numel()) == (6, 12, 42)


def test_without_a_graph_at_hand_it_says_where_they_belong(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No graph is in the data folder"):
        Choices().cells(StudyOptions(root=tmp_path))


def test_only_graphs_that_are_there_can_be_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUG_DATA", str(root))
    scope = Choices.scope
    scope.check("choices", StudyOptions(graphs=["school", "cora"], root=root))
    with pytest.raises(ConfigError, match=r"Unknown graph 'scool'\. .* school\. Did you"):
        scope.check("choices", StudyOptions(graphs=["scool"], root=root))
    with pytest.raises(ConfigError, match="Unknown graph 'school'"):
        scope.check("choices", StudyOptions(graphs=["school"], root=root / "elsewhere"))
    # A graph of the catalog that is named but absent has cells, which say what is missing.
    cells = Choices().cells(options(root, graphs=["cora"]))
    (result, *_) = run(cells[:1], Store("sqlite://"))
    assert "gaug datasets fetch cora" in known(result.failure)


def test_a_preset_is_the_result_of_a_search(root: Path) -> None:
    settings = {"predictor": "ra", "add_fraction": 0.25}
    own = Preset("school", "gcn", "gaug-m", "stratified-0", settings, 80.0, 40, "gaug search")
    write_preset(own, presets.FOLDER / "gaug-m.toml")
    cells = Choices(trials=8, search_seconds=5.0).cells(options(root))
    found = {cell.key[2]: cell for cell in cells if cell.key[1] == "gcn"}
    assert found["gaug-m"].chooser == Given("preset", 40)
    assert found["gaug-m"].plan.config["method"]["add_fraction"] == 0.25
    assert found["gaug-o"].chooser == Search(("gaug-o",), 8, 5.0)
    assert found["stack"].chooser == Search(STACKS, 8, 5.0)


@pytest.mark.usefixtures("_few_candidates")
def test_a_race_is_that_of_auto_and_its_runs_are_gone_on_with(
    root: Path, store: Store, trainings: Trainings
) -> None:
    cell = cell_of(root, RACE)
    (result,) = run([cell], store)
    chosen = known(result.chosen)
    comparison = choose_method(cell.plan, time_budget=1000.0, runs=1)
    assert chosen.method == comparison.chosen.plan.method.name
    assert chosen.applied_to(cell.plan).config == comparison.chosen.plan.config
    # DropEdge with two shares, and AdaEdge; no augmentation is none of them.
    assert chosen.trials == len(comparison.tried) == 3
    alone = execute(comparison.chosen.plan, runs=2)
    assert result.scores == [record.test_score for record in alone]
    assert result.failure is None
    # A second time everything is on record, the outcome of the race, too.
    before = len(trainings)
    (again,) = run([cell], store, time_budget=0.0)
    assert (again.chosen, again.scores) == (result.chosen, result.scores)
    assert len(trainings) == before


@pytest.mark.parametrize("candidate", [*CANDIDATES, *built_upon(FEATURES)], ids=str)
def test_a_choice_on_record_is_the_same_method_with_the_same_settings(
    root: Path, candidate: Candidate
) -> None:
    plan = cell_of(root, RACE).plan
    trial = candidate.trial(plan)
    read = Chosen(**json.loads(json.dumps(chosen_of(trial, {}, 1).to_dict())))
    assert read.method == trial.plan.method.name
    assert read.applied_to(plan).config == trial.plan.config


@pytest.mark.usefixtures("_few_candidates")
def test_a_race_does_not_profit_from_runs_that_were_made_before(
    root: Path, store: Store, trainings: Trainings
) -> None:
    run([cell_of(root, RACE)], store)
    first = len(trainings)
    run([cell_of(root, Race(2000.0))], store)
    # All candidates again; only the test runs of the same method are shared.
    assert len(trainings) - first >= first - 2


class PowerCutError(BaseException):
    pass


@pytest.mark.usefixtures("_few_candidates")
@pytest.mark.parametrize("chooser", [RACE, SEARCH], ids=["race", "search"])
@pytest.mark.parametrize("runs", [2, 5, 9])
def test_a_study_that_was_killed_ends_with_the_same_table(
    root: Path,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chooser: Chooser,
    runs: int,
) -> None:
    plain = dataclasses.replace(cell_of(root, Given()), key=("school", "gcn", "none"))
    cells = [plain, cell_of(root, chooser)]
    expected = shown(run(cells, store), root)
    assert len(store.all()) >= 9
    add = Store.add
    written: list[RunRecord] = []

    def dying(self: Store, record: RunRecord) -> int:
        written.append(record)
        if len(written) == runs:
            raise PowerCutError
        return add(self, record)

    with closing(Store(str(tmp_path / "other.sqlite"))) as other:
        with monkeypatch.context() as patched:
            patched.setattr(Store, "add", dying)
            with pytest.raises(PowerCutError):
                run(cells, other)
        assert shown(run(cells, other), root) == expected


def shown(results: list[CellResult], root: Path) -> str:
    study = Choices()
    return render(study.table(study.outcomes(results, Graphs(), options(root))), "markdown")


@pytest.mark.parametrize("chooser", [Race(60.0), Search(("dropedge",), 4, 60.0)], ids=str)
def test_a_choice_is_not_begun_if_its_time_is_not_left(
    root: Path, store: Store, chooser: Chooser
) -> None:
    (result,) = run([cell_of(root, chooser)], store, time_budget=30.0)
    assert (result.chosen, result.failure) == (None, "0 of 2 runs in the time given")
    assert store.all() == []


@pytest.mark.usefixtures("_few_candidates")
@pytest.mark.parametrize("chooser", [RACE, SEARCH], ids=["race", "search"])
def test_a_finished_choice_is_not_made_again_to_finish_its_test_runs(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch, chooser: Chooser
) -> None:
    (first,) = run([cell_of(root, chooser)], store)
    monkeypatch.setattr(race_and_search, "choose_method", None)
    monkeypatch.setattr(race_and_search, "search_settings", None)
    (result,) = run([cell_of(root, chooser, runs=4)], store)
    assert result.scores[:2] == first.scores
    assert len(result.scores) == 4


@pytest.mark.usefixtures("_few_candidates")
@pytest.mark.parametrize("chooser", [RACE, SEARCH], ids=["race", "search"])
def test_labels_of_test_nodes_are_hidden_while_choosing(
    root: Path, store: Store, trainings: Trainings, chooser: Chooser
) -> None:
    (result,) = run([cell_of(root, chooser)], store)
    seen = [labels == {-1} for labels in trainings.labels_of_test_nodes]
    assert False not in seen[:-2], "only the last two runs, which are for the test score"
    scored = [record for record in store.all() if record.test_score is not None]
    assert [record.test_score for record in scored] == result.scores


def found_by_search(plan: Plan, points: float, probability: float) -> SearchResult:
    """One setting with so many points, and more probable right classes, above no augmentation."""

    def tried(candidate: Trial, score: float, probable: float) -> Trial:
        right = np.arange(1000) < 10 * score
        nodes = np.tile(np.where(right, 100.0, 0.0), (2, 1))
        runs = RunScores((0, 1), (score, score), nodes, np.full((2, 1000), probable))
        return candidate.with_runs(runs)

    best = tried(Trial("best", plan), 70 + points, 50 + probability)
    return SearchResult(
        Comparison(tried(NONE.trial(plan), 70, 50), [best, best], None, True), {}, ""
    )


@pytest.mark.parametrize(
    ("dropedge", "adaedge", "best"),
    [
        ((3.0, 1.0), (1.0, 2.0), "dropedge"),
        ((2.0, 0.0), (1.0, 6.0), "adaedge"),  # by score and probability
        ((-1.0, 9.0), (1.0, 1.0), "adaedge"),  # no better score is no gain
    ],
)
def test_of_several_methods_the_best_on_validation_nodes_is_taken(
    root: Path,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    dropedge: tuple[float, float],
    adaedge: tuple[float, float],
    best: str,
) -> None:
    gains = {"dropedge": dropedge, "adaedge": adaedge}

    def search(plan: Plan, **others: Any) -> SearchResult:
        return found_by_search(plan, *gains[plan.method.name])

    monkeypatch.setattr(race_and_search, "search_settings", search)
    (result,) = run([cell_of(root, SEARCH)], store)
    chosen = known(result.chosen)
    assert chosen.method == best
    assert chosen.facts["gain"] == pytest.approx(gains[best][0])
    assert result.records[0].method == best
    assert result.trials == 4


def test_where_every_method_fails_the_cell_says_why(root: Path, store: Store) -> None:
    cell = cell_of(root, SEARCH)
    broken = cell.plan.with_settings(["learning_rate=1e38", "epochs=50"])
    (result,) = run([dataclasses.replace(cell, plan=broken)], store)
    assert result.records == []
    assert "learning_rate" in known(result.failure)


OUTCOMES = [
    Outcome(("school", "mlp", "none"), scores=[60.0, 62.0]),
    Outcome(("school", "gcn", "none"), scores=[70.0, 72.0]),
    Outcome(
        ("school", "gcn", "auto-60"),
        scores=[74.0, 76.0],
        val_scores=[80.0, 82.0],
        settings={"predictor": "ra"},
        chosen="race",
        trials=30,
        facts={"method": "gaug-m", "gain": 4.25, "error": 1.0, "confidence": 0.97},
    ),
    Outcome(("school", "gcn", "gaug-m"), scores=[77.0, 79.0]),
    Outcome(("club", "mlp", "none"), scores=[90.0, 92.0]),
    Outcome(("club", "gcn", "none"), scores=[80.0, 82.0]),
    Outcome(
        ("club", "gcn", "auto-60"),
        scores=[77.0, 77.2],
        chosen="race",
        trials=30,
        facts={"method": "none", "gain": None, "error": None, "confidence": None},
    ),
    Outcome(("club", "gcn", "gaug-m"), failure="0 of 2 runs in the time given"),
]


def part(found: Table, title: str) -> list[list[Any]]:
    (table,) = (one for one in found.details if one.title == title)
    return [list(row) for row in table.rows]


def test_the_summary_is_that_of_the_scores() -> None:
    found = Choices().table(OUTCOMES)
    assert part(found, "Over all graphs") == [
        # Gains of 4 and -4; below 78 and 91, the best, by 3 and 13.9.
        ["GCN", "original", 2, None, "8.5", None],
        ["GCN", "auto, 60 s", 2, "+0.0", "8.5", "club"],
        ["GCN", "GAug-M, searched", 1, "+7.0", "0.0", None],
        ["GCN", "MLP", 2, "+0.0", "8.5", "school"],
    ]


def test_a_loss_within_the_spread_is_no_harm() -> None:
    outcomes = [
        Outcome(("club", "gcn", "none"), scores=[80.0, 84.0]),
        Outcome(("club", "gcn", "auto-60"), scores=[79.5, 80.5]),
        Outcome(("club", "gcn", "gaug-m"), scores=[78.5, 79.5]),
    ]
    place = places_of(outcomes)["club", "gcn"]
    # Two points below, of a spread of 2.8; three below.
    assert not place.does_harm("auto-60")
    assert place.does_harm("gaug-m")


def test_the_best_in_hindsight_is_told_apart_from_choices() -> None:
    found = Choices().table(OUTCOMES)
    (last,) = (row for row in found.rows if row[1] == "best in hindsight")
    assert [str(value) for value in last] == [
        "GCN",
        "best in hindsight",
        "78.0 ± 1.4",
        "91.0 ± 1.4",
    ]
    assert found.rows[-1] is last
    assert part(found, "Best in hindsight") == [
        ["school", "GCN", "GAug-M, searched", Scores([77.0, 79.0]), "+7.0"],
        ["club", "GCN", "MLP", Scores([90.0, 92.0]), "+10.0"],
    ]
    assert any("no choice anybody could make" in note for note in found.notes)


def test_what_auto_took_is_told_with_its_validation_gain() -> None:
    found = part(Choices().table(OUTCOMES), "What was chosen")
    assert found == [
        [
            "school",
            "GCN",
            "auto, 60 s",
            Code("gaug-m predictor=ra"),
            "of 30",
            "+4.2 ± 1.0",
            "97%",
            "81.0 ± 1.4",
        ],
        ["club", "GCN", "auto, 60 s", Code("none"), "of 30", None, None, None],
    ]


def test_a_race_without_time_for_a_candidate_is_told_too() -> None:
    facts = {"method": "none", "gain": None, "error": None, "confidence": None}
    key = ("club", "gcn", "auto-60")
    (row,) = part(
        Choices().table([Outcome(key, scores=[77.0], chosen="race", trials=0, facts=facts)]),
        "What was chosen",
    )
    assert row[:5] == ["club", "GCN", "auto, 60 s", Code("none"), "of 0"]


def test_a_record_is_enough_for_the_page() -> None:
    name, read = from_lines(to_lines("choices", OUTCOMES), "choices.jsonl")
    assert name == "choices"
    for form in ("markdown", "latex", "csv", "json"):
        assert render(Choices().table(read), form) == render(Choices().table(OUTCOMES), form)


def test_a_race_and_a_search_count_with_their_time() -> None:
    assert Race(60.0).effort(100.0, 3).seconds == 60.0
    assert (Search(STACKS, 8, 50.0).effort(1.0, 3)) == Search(STACKS, 24, 50.0).effort(1.0, 1)
    assert Search(STACKS, 8, 50.0).effort(1.0, 3).seconds == 24.0
    assert Search(STACKS, 8, 50.0).effort(9.0, 3).seconds == 50.0
