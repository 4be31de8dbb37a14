"""A table in every format: what was put in can be read again."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaug.drawing.suffixes import FORMAT_OF_SUFFIX
from gaug.drawing.table import FORMATS, Code, Field, Scores, Table, render, with_best

#: Everything that some format takes for more than itself.
NASTY = r'50% of a|b & {c}_d^2 ~ $x$ #1 \ "q", <t> @ `v`'
SETTINGS = Table("Settings", ["graph", "settings"], [["cora", Code("drop_fraction=0.05")]])
TABLE = Table(
    NASTY,
    ["model", NASTY, "cora"],
    [
        ["GCN", NASTY, Scores([80.0, 84.0], (81.6, 0.7))],
        ["GAT", "two\nlines", Scores([70.0])],
        ["MLP", 12345, Scores([], failure="It broke, sadly.")],
        ["JK-Net", None, None],
    ],
    ["Over 2 runs.", NASTY, "a note\nof two lines"],
    [SETTINGS],
)


def markdown_rows(text: str) -> list[list[str]]:
    """The rows of the tables, split where a Markdown parser splits them."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    split = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [[field.strip().replace("\\|", "|") for field in row] for row in split]


def test_every_format_has_a_suffix_and_the_other_way_round():
    assert set(FORMAT_OF_SUFFIX.values()) == set(FORMATS)


def test_scores_read_as_mean_deviation_and_the_paper_s_mean():
    assert str(Scores([80.0, 84.0], (81.6, 0.7))) == "82.0 ± 2.8 (81.6)"
    assert str(Scores([80.0], (81.6, None))) == "80.0 (81.6)"
    assert str(Scores([80.0, 80.0])) == "80.0 ± 0.0"
    assert str(Scores([], (81.6, 0.7))) == "–"
    assert str(Scores([], failure="It broke.")) == "missing"
    assert str(Scores([80.0], failure="1 of 2 runs in the time given")) == "80.0"


@pytest.mark.parametrize(
    ("ours", "paper", "difference", "verdict"),
    [
        (82.04, (81.6, 0.4), 0.4, "within"),  # 82.0 as it is shown
        (82.06, (81.6, 0.4), 0.5, "above"),
        (81.2, (81.6, 0.4), -0.4, "within"),
        (81.1, (81.6, 0.4), -0.5, "below"),
        (90.0, (81.6, None), 8.4, None),
        (90.0, None, None, None),
    ],
)
def test_a_mean_is_above_within_or_below_the_paper_s_as_it_is_shown(
    ours, paper, difference, verdict
):
    scores = Scores([ours], paper)
    assert (scores.difference, scores.verdict) == (difference, verdict)


def test_the_best_of_each_block_and_column_is_bold_and_so_are_its_equals():
    rows: list[list[Field]] = [
        ["a", Scores([80.0]), Scores([70.0])],
        ["a", Scores([81.04]), Scores([])],
        ["a", Scores([80.96]), None],
        ["b", Scores([99.0]), "text"],
    ]
    table = Table("t", ["block", "x", "y"], with_best(rows, block=lambda row: row[0]))
    assert markdown_rows(render(table, "markdown"))[2:] == [
        ["a", "80.0", "70.0"],
        ["a", "**81.0**", "–"],
        ["a", "**81.0**", "–"],
        ["b", "99.0", "text"],
    ]
    assert render(table, "latex").count(r"\textbf{81.0}") == 2


def test_markdown_has_the_same_columns_in_every_row_and_every_field_in_its_place():
    text = render(TABLE, "markdown")
    rows = markdown_rows(text)
    assert [len(row) for row in rows[:6]] == [3] * 6
    assert rows[0] == ["model", NASTY, "cora"]
    assert rows[1] == ["---"] * 3
    assert rows[2] == ["GCN", NASTY, "82.0 ± 2.8 (81.6)"]
    assert rows[3] == ["GAT", "two lines", "70.0"]
    assert rows[4] == ["MLP", "12,345", "missing"]
    assert rows[5] == ["JK-Net", "–", "–"]
    assert text.endswith("\n")


def test_markdown_has_notes_as_paragraphs_and_details_as_a_section():
    lines = render(TABLE, "markdown").splitlines()
    assert lines[0] == f"# {NASTY}"
    for note in ("Over 2 runs.", NASTY, "a note of two lines"):
        place = lines.index(note)
        assert lines[place - 1] == ""
    assert "## Settings" in lines
    assert "| cora | `drop_fraction=0.05` |" in lines


def latex_fields(line: str) -> list[str]:
    """The fields of a row, split where LaTeX splits them."""
    body = line.strip().removesuffix(r"\\").strip()
    return [field.strip() for field in re.split(r"(?<!\\)&", body)]


def latex_text(field: str) -> str:
    """What LaTeX shows for a text."""
    words = {
        "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^",
        "textless": "<", "textgreater": ">",
    }  # fmt: skip
    field = field.replace(r"$\pm$", "±")
    field = re.sub(r"\\(text\w+)\{\}", lambda found: words[found[1]], field)
    return re.sub(r"\\([&%#_${}])", r"\1", field)


def test_latex_shows_every_text_as_it_is():
    lines = render(TABLE, "latex").splitlines()
    (caption,) = (line for line in lines if r"\caption" in line and "50" in line)
    assert latex_text(caption.strip().removeprefix(r"\caption{").removesuffix("}")) == NASTY
    start = lines.index(r"    \midrule")
    rows = [latex_fields(line) for line in lines[start + 1 : start + 5]]
    assert [len(row) for row in rows] == [3] * 4
    assert latex_text(latex_fields(lines[start - 1])[1]) == NASTY
    assert [latex_text(field) for field in rows[0]] == ["GCN", NASTY, "82.0 ± 2.8 (81.6)"]
    assert rows[1] == ["GAT", "two lines", "70.0"]
    assert rows[3] == ["JK-Net", "--", "--"]


def assert_balanced(text: str) -> None:
    """Every brace and environment that opens is closed, and no command is left to a comment."""
    code = "\n".join(re.sub(r"(?<!\\)%.*", "", line) for line in text.splitlines())
    open_ones: list[str] = []
    for begin, end in re.findall(r"\\begin\{(\w+)\}|\\end\{(\w+)\}", code):
        if begin:
            open_ones.append(begin)
        else:
            assert open_ones.pop() == end
    assert open_ones == []
    bare = re.sub(r"\\[&%#_${}\\]", "", code)
    depth = 0
    for letter in bare:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert not set(bare) & set("#^~_")


@given(st.text())
def test_latex_is_balanced_and_escaped_whatever_a_text_holds(text):
    assert_balanced(render(Table(text, [text, "b"], [[text, Code(text)]], [text]), "latex"))


def test_latex_has_the_notes_as_comments_and_the_details_as_a_table():
    text = render(TABLE, "latex")
    assert_balanced(text)
    lines = text.splitlines()
    assert f"% {NASTY}" in lines
    assert "% a note of two lines" in lines
    assert text.count(r"\begin{table}") == 2
    assert r"    cora & \texttt{drop\_fraction=0.05} \\" in lines


def test_csv_has_a_column_for_each_number():
    header, *rows = csv.reader(io.StringIO(render(TABLE, "csv")))
    numbers = ["mean", "std", "runs", "paper_mean", "paper_std"]
    numbers += ["difference", "verdict", "failure"]
    assert header == ["model", NASTY, *(f"cora {name}" for name in numbers)]
    assert {len(row) for row in rows} == {len(header)}
    first = dict(zip(header, rows[0], strict=True))
    assert (first["model"], first[NASTY]) == ("GCN", NASTY)
    assert float(first["cora mean"]) == 82.0
    assert float(first["cora std"]) == pytest.approx(8**0.5)
    assert (first["cora runs"], first["cora paper_mean"], first["cora paper_std"]) == (
        "2", "81.6", "0.7",
    )  # fmt: skip
    assert rows[1][1] == "two\nlines"
    assert (first["cora difference"], first["cora verdict"]) == ("0.4", "within")
    assert rows[2][1:] == ["12345", "", "", "0", "", "", "", "", "It broke, sadly."]
    assert rows[3][1:] == [""] * 9


def test_json_has_everything():
    found = json.loads(render(TABLE, "json"))
    assert (found["title"], found["notes"]) == (TABLE.title, list(TABLE.notes))
    first, second, third, last = found["rows"]
    assert first["cora"] == {
        "mean": 82.0,
        "std": pytest.approx(8**0.5),
        "runs": 2,
        "paper_mean": 81.6,
        "paper_std": 0.7,
        "difference": 0.4,
        "verdict": "within",
        "failure": None,
    }
    assert (first["model"], first[NASTY]) == ("GCN", NASTY)
    assert second["cora"]["std"] is None
    assert third[NASTY] == 12345
    assert third["cora"]["failure"] == "It broke, sadly."
    assert last == {"model": "JK-Net", NASTY: None, "cora": None}
    (details,) = found["details"]
    assert details["rows"] == [{"graph": "cora", "settings": "drop_fraction=0.05"}]


# Python's writer of CSV files leaves these two as they are, and its reader stumbles over them.
LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"))


@given(st.lists(st.lists(LINES, min_size=2, max_size=2)))
def test_any_texts_come_back_from_json_and_csv(rows):
    table = Table("t", ["a", "b"], rows)
    found = json.loads(render(table, "json"))["rows"]
    assert [[row["a"], row["b"]] for row in found] == rows
    assert list(csv.reader(io.StringIO(render(table, "csv"), newline="")))[1:] == rows


def test_a_note_is_added_below_the_others_and_the_table_stays_as_it_was():
    more = TABLE.with_note("Made by hand.")
    assert list(more.notes) == [*TABLE.notes, "Made by hand."]
    assert len(TABLE.notes) == 3
