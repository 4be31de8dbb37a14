"""The wheel works in a clean environment, away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gaug"


def run(folder: Path, *command: str | Path) -> str:
    """What a command prints that runs in the folder, without this checkout on its path."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the backend itself, which needs no network."""
    out = tmp_path_factory.mktemp("wheel")
    run(ROOT, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment that has the wheel, and only borrows its dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    run(folder, *pip, "install", "--quiet", "--no-index", "--no-deps", wheel)
    packages = run(folder, python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    # Path files in borrowed folders are not read: an editable gaug there stays out of sight.
    borrowed = [path for path in sys.path if path.endswith("-packages")]
    Path(packages.strip(), "borrowed.pth").write_text("\n".join(borrowed), encoding="utf-8")
    return programs


def test_every_file_of_the_package_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = {
        path.relative_to(ROOT / "src").as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "gaug/py.typed" in packed
    assert packed == files


def test_the_program_runs_from_the_wheel(wheel: Path, programs: Path, tmp_path: Path) -> None:
    home = run(tmp_path, programs / "python", "-c", "import gaug; print(gaug.__file__)")
    assert Path(home.strip()).is_relative_to(programs.parent)
    assert run(tmp_path, programs / "gaug", "--version") == f"gaug {wheel.name.split('-')[1]}\n"
    run(tmp_path, programs / "gaug", "demo", "--runs", "1", "--quiet", "--out", "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
