"""Every command and every Python block of the README and the docs runs as printed."""

from __future__ import annotations

import os
import pydoc
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

from gaug.cli.main import main
from gaug.data.catalog.entries import CATALOG
from gaug.edge_predictors.registry import PREDICTORS
from gaug.methods.registry import METHODS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (page.relative_to(ROOT).as_posix().removeprefix("docs/"), body)
        for page in PAGES
        for found, body in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if found == language
    ]


def commands() -> list[tuple[str, str]]:
    lines = [(page, line) for page, body in blocks("bash") for line in command_lines(body)]
    return list(dict.fromkeys(lines))


def command_lines(body: str) -> list[str]:
    """The commands of a block, without comments; a line may go on after a backslash."""
    lines = re.sub(r"\s*\\\n\s*", " ", body).splitlines()
    return [line.split("  #")[0].strip() for line in lines if line]


#: The commands that make what another one uses.
MAKERS = {"predict": ("fit",), "explain": ("augment",), "report": ("augment", "train")}


def made_before(command: str) -> list[str]:
    """The commands of the same block that make what this one uses."""
    makers = tuple(f"gaug {name} " for name in MAKERS.get(command.split()[1], ()))
    for _, body in blocks("bash"):
        lines = command_lines(body)
        if makers and command in lines:
            return [line for line in lines[: lines.index(command)] if line.startswith(makers)]
    return []


def needs_real_graphs(command: str) -> bool:
    embedded = {name for name, entry in CATALOG.items() if not entry.files}
    return any(re.search(rf"\b{name}\b", command) for name in set(CATALOG) - embedded)


def parameters() -> list[object]:
    return [
        pytest.param(
            command,
            id=f"{page}: {command}",
            marks=[pytest.mark.real] if needs_real_graphs(command) else [],
        )
        for page, command in commands()
        if command.startswith("gaug ")
    ]


@pytest.fixture(autouse=True)
def _beside_the_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pages are read at the root of the project; nothing is written there."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", parameters())
def test_each_printed_command_succeeds(
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for line in [*made_before(command), command]:
        arguments = shlex.split(os.path.expandvars(line))
        # Fewer runs and epochs show as well that the command works.
        if arguments[1] in ("train", "search", "reproduce", "inspect"):
            arguments += ["--runs", "1"]
        if arguments[1] == "search":
            arguments += ["--trials", "2", "--trial-runs", "1"]
        if arguments[1] in ("train", "search", "fit", "inspect"):
            arguments += ["--set", "epochs=3"]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as leave:
            main()
        assert leave.value.code in (0, None), capsys.readouterr().err
        assert capsys.readouterr().out.strip()


def test_only_known_programs_are_printed() -> None:
    programs = {command.split()[0] for _, command in commands()}
    assert programs <= {"gaug", "make", "export", "source"}


def test_each_printed_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {command.split()[1] for _, command in commands() if command.startswith("make ")}
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("source", [pytest.param(body, id=page) for page, body in blocks("python")])
def test_each_printed_python_block_runs(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)  # classes look for their module
    known = dict(CATALOG)
    try:
        # Without what this file imports from __future__, as somebody would paste it.
        exec(compile(source, "example", "exec", dont_inherit=True), module.__dict__)
    finally:  # a block may add a graph to the catalog
        CATALOG.clear()
        CATALOG.update(known)


def references() -> list[str]:
    """What the pages take from docstrings: ``::: name``, of which some may show certain members."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8") + "\n"
        for name, options in re.findall(r"^::: (\S+)\n((?: +.*\n)*)", text, re.MULTILINE):
            members = re.search(r"members: \[(.*)\]", options)
            found += (
                [f"{name}.{member}" for member in members[1].split(", ")] if members else [name]
            )
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("name", references())
def test_everything_that_a_page_takes_from_docstrings_exists_and_has_one(name: str) -> None:
    assert getattr(pydoc.locate(name), "__doc__", None)


@pytest.mark.parametrize("method", sorted(set(METHODS.singles()) - {"none"}))
def test_the_page_of_a_method_has_every_setting_with_its_default(method: str) -> None:
    rows = settings_table(f"{method.replace('-', '_')}.md")
    expected = METHODS.config_type(method)().to_dict()
    assert rows == [(name, str(value).lower()) for name, value in expected.items()]


def test_the_page_of_predictors_has_every_setting_with_its_default() -> None:
    every = [PREDICTORS.config_type(name)().to_dict() for name in PREDICTORS]
    expected = {name: str(value).lower() for settings in every for name, value in settings.items()}
    assert settings_table("predictors.md") == list(expected.items())


def settings_table(page: str) -> list[tuple[str, str]]:
    text = (ROOT / "docs" / "methods" / page).read_text(encoding="utf-8")
    section = text.split("\n## Settings\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \| (\S+) \|", section, re.MULTILINE)


def test_the_page_of_predictors_names_every_predictor() -> None:
    text = (ROOT / "docs" / "methods" / "predictors.md").read_text(encoding="utf-8")
    table = text.split("\n## ")[0]
    assert {name for name in PREDICTORS if f"`{name}`" not in table} == set()


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    listed = re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


def test_the_tree_holds_no_large_file() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            assert (ROOT / name).stat().st_size <= 1_000_000, name
