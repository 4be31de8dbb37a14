"""What is refused or only shown needs no PyTorch, whose import takes seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_HEAVY = ("torch", "torch_geometric", "matplotlib", "scipy", "optuna")
_SCRIPT = f"""
import sys
from gaug.cli.main import main
sys.argv = ["gaug", *sys.argv[1:]]
try:
    main()
finally:
    print("imported:", *(name for name in {_HEAVY!r} if name in sys.modules))
"""


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _SCRIPT, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "200"},
    )


REFUSED = [
    (["train", "karte"], "Unknown graph 'karte'. Choose from:"),
    (["train", "karate", "--model", "gnc"], "Unknown model 'gnc'. Choose from:"),
    (["train", "karate", "--method", "drop"], "Unknown method 'drop'. Choose from:"),
    (["train", "karate", "--set", "epoch=5"], "Unknown setting 'epoch'. Choose from:"),
    (["train", "karate", "--set", "epochs=2.5"], "epochs must be a whole number, got '2.5'."),
    (["train", "karate", "--set", "dropout=nan"], "dropout must be finite, got nan."),
    (["train", "karate", "--split", "rndom"], "Unknown split 'rndom'. Choose from:"),
    (["train", "karate", "--split", "absent.npz"], "There is no split file absent.npz."),
    (["train", "karate", "--runs", "0"], "runs must be at least 1, got 0."),
    (["train", "karate", "--seed", "-1"], "seed must be at least 0, got -1."),
    (["train", "karate", "--workers", "0"], "workers must be at least 1, got 0."),
    (["train", "karate", "--threads", "0"], "threads must be at least 1, got 0."),
    (["train", "karate", "--device", "gpu"], "device must be one of cpu, cuda, mps, xpu"),
    (["train", "karate", "--max-memory", "lots"], "max_memory must be a size such as 4GB"),
    *(
        ([*command, "--max-memory", "-1GB"], "max_memory must be a size such as 4GB, 512MB or")
        for command in (
            ["fit", "karate", "--out", "model"],
            ["predict", "model", "karate", "--out", "classes.csv"],
            ["augment", "karate", "--out", "better"],
            ["search", "karate"],
            ["inspect", "karate"],
            ["reproduce", "table2"],
        )
    ),
    (["train", "--edges", "absent.csv"], "absent.csv"),
    (["train", "karate", "--time-budget", "5"], "--time-budget goes with --method auto."),
    (["train", "karate", "--method", "auto", "--time-budget", "0"], "time_budget must be above 0"),
    (["fit", "karate", "--out", "model", "--method", "auto", "--model", "mlp"], "mlp does not use"),
    (["fit", "karate", "--out", "model", "--method", "drop"], "Unknown method 'drop'."),
    (["augment", "karate", "--out", "better", "--set", "epochs=5"], "has no effect on 'gaug augm"),
    (["inspect", "karate", "--picture", "p.gif"], "must be .png, .svg or .pdf"),
    (["search", "karate", "--trials", "0"], "trials must be at least 1, got 0."),
    (["search", "karate", "--method", "none"], "Method none has no settings to search"),
    (["settings", "dropedges"], "Unknown group of settings 'dropedges'"),
    (["demo", "--out", "figure.gif"], "must be .png, .svg or .pdf"),
    (["demo", "--runs", "0"], "runs must be at least 1, got 0."),
    (["demo", "--seed", "-1"], "seed must be at least 0, got -1."),
    (["reproduce", "all", "--graphs", "cora"], "all takes no --graphs"),
    (["reproduce", "all", "--out", "all.md"], "all writes to a folder, got all.md."),
    (["train", "karate", "--method", "dropedge", "--preset"], "There is no preset for dropedge"),
    (["search", "karate", "--write-preset", "a.json"], "A file of presets must end in .toml"),
    (["reproduce", "table9"], "Unknown study 'table9'."),
    (["reproduce", "table2", "--format", "html"], "Unknown format 'html'. Choose from: csv, json"),
    (["reproduce", "table2", "--graphs", "corra"], "Unknown graph 'corra'."),
    (["reproduce", "table2", "--models", "gnc"], "Unknown model 'gnc'."),
    (["reproduce", "table2", "--methods", "drop"], "Unknown method 'drop'."),
    (["reproduce", "table2", "--settings", "best"], "Unknown settings 'best'."),
    (["reproduce", "figure2", "--settings", "search"], "figure2 takes settings default"),
    (["reproduce", "figure2", "--models", "gcn"], "figure2 has no models to choose from."),
    (["reproduce", "figure5", "--runs", "0"], "runs must be at least 1, got 0."),
    (["reproduce", "figure5", "--seed", "-1"], "seed must be at least 0, got -1."),
    (["reproduce", "figure5", "--out", "figure.jpeg"], "figure.jpeg must end in"),
    (["reproduce", "table3", "--out", "table.png"], "table.png must end in"),
    (["reproduce", "table2", "--trial-runs", "0"], "trial_runs must be at least 1, got 0."),
    (["reproduce", "table2", "--time-budget", "0"], "time_budget must be above 0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"), REFUSED, ids=[" ".join(arguments) for arguments, _ in REFUSED]
)
def test_what_cannot_be_is_refused_before_pytorch_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = start(*arguments)
    assert result.returncode in (1, 2)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == "imported:\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["settings"],
        ["settings", "gaug-o", "--json"],
        *([command, "--help"] for command in ("train", "search", "fit", "predict", "augment")),
        *([command, "--help"] for command in ("inspect", "demo", "datasets", "reproduce")),
    ],
    ids=" ".join,
)
def test_what_is_only_shown_imports_no_pytorch(arguments: list[str]) -> None:
    result = start(*arguments)
    assert result.returncode == 0, result.stderr
    *shown, imported = result.stdout.splitlines()
    assert shown
    assert imported == "imported:"
