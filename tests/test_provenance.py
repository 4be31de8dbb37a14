"""Records say which software made them."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

from gaug.provenance import checkout_commit, software_versions


def test_versions_are_those_that_are_installed() -> None:
    assert software_versions()["torch"] == version("torch")
    assert set(software_versions()) == {"gaug", "torch", "torch_geometric", "numpy", "python"}


def test_in_a_checkout_the_commit_is_gits() -> None:
    root = Path(__file__).parents[1]
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    expected = result.stdout.strip() if result.returncode == 0 else None
    assert checkout_commit() == expected
