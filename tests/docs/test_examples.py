"""Every command and every Python block of the README and the docs runs as printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gaug.augment import GAugOConfig
from gaug.cli.main import main
from gaug.data.catalog import CATALOG

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, body)
        for page in PAGES
        for found, body in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if found == language
    ]


def commands() -> list[tuple[str, str]]:
    lines = [(page, line) for page, body in blocks("bash") for line in body.splitlines()]
    return list(dict.fromkeys((page, line.split("  #")[0].strip()) for page, line in lines if line))


def fits_before(command: str) -> list[str]:
    """The commands of the same block that make the model which this one uses."""
    if not command.startswith("gaug predict "):
        return []
    for _, body in blocks("bash"):
        lines = [line.split("  #")[0].strip() for line in body.splitlines()]
        if command in lines:
            return [line for line in lines[: lines.index(command)] if line.startswith("gaug fit ")]
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
    for line in [*fits_before(command), command]:
        arguments = shlex.split(line)
        # Fewer runs and epochs show as well that the command works.
        if arguments[1] in ("train", "reproduce", "inspect"):
            arguments += ["--runs", "1"]
        if arguments[1] in ("train", "fit", "inspect"):
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
def test_each_printed_python_block_runs(source: str, tmp_path: Path) -> None:
    namespace: dict[str, object] = {"__name__": "example"}
    exec(compile(source, "example", "exec"), namespace)


def test_the_table_of_gaug_o_has_every_setting_with_its_default() -> None:
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    section = page.split("## GAug-O")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \|", section, re.MULTILINE)
    expected = [(name, str(value)) for name, value in GAugOConfig().to_dict().items()]
    assert rows == expected


def test_the_tree_holds_no_large_file() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            assert (ROOT / name).stat().st_size <= 1_000_000, name
