from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest
import torch

from gaug.cli import options
from gaug.cli.main import main
from gaug.training import run as training_run


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gaug", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_help_names_every_command():
    result = start("--help")
    assert result.returncode == 0
    for command in ("demo", "datasets", "train", "reproduce"):
        assert command in result.stdout


@pytest.mark.parametrize("command", ["", "train", "demo", "reproduce", "datasets"])
def test_help_does_not_import_pytorch(command):
    script = (
        "import sys, gaug.cli.main as cli\n"
        f"sys.argv = {['gaug', *command.split(), '--help']!r}\n"
        "try:\n    cli.main()\n"
        "except SystemExit as ended:\n    assert not ended.code\n"
        "assert not {'torch', 'torch_geometric', 'matplotlib', 'sqlalchemy'} & set(sys.modules)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert "Usage" in result.stdout


def test_version_is_that_of_the_package(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gaug", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert capsys.readouterr().out == f"gaug {version('gaug')}\n"


def test_an_error_is_one_line_without_a_traceback():
    result = start("reproduce", "table9")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == (
        "gaug: Unknown study 'table9'. Choose from: choices, figure1, figure2, figure4, figure5,"
        " figure6, figure7, figure8, figure9, table2, table3, table5, table6, table7. Did you mean"
        " 'table7'?\n"
    )


def test_debug_shows_the_traceback_of_an_error():
    result = start("reproduce", "table2", "--graphs", "corra", "--debug")
    assert result.returncode != 0
    assert "Traceback (most recent call last)" in result.stderr
    assert "Unknown graph 'corra'" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["train"], ["tran", "karate"], ["train", "karate", "--epochs", "5"]]
)
def test_a_wrong_command_line_is_refused_with_exit_2(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["gaug", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    assert ended.value.code == 2
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_an_interruption_is_one_line_and_exit_130(monkeypatch, capsys, tmp_path):
    def interrupted(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(training_run, "train_run", interrupted)
    monkeypatch.setattr(options.state, "debug", False)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "argv", ["gaug", "demo", "--out", str(tmp_path / "a.png")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "gaug: Interrupted.\n"
    assert list(tmp_path.iterdir()) == []


def test_lack_of_memory_of_a_gpu_is_one_line_and_exit_1(gaug, monkeypatch, tmp_path):
    def lacking(*arguments: Any, **options: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(training_run, "train_run", lacking)
    result = gaug("fit", "karate", "--out", tmp_path / "model", "--quiet")
    assert result.code == 1
    assert result.err == "gaug: There is not enough memory for this. Try smaller settings.\n"
