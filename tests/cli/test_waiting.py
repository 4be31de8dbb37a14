"""Threads of a command that have no work leave the core to others."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gaug.cli.waiting import wait_briefly

SHOW = (
    "import os, sys, gaug.cli.main as cli\n"
    "assert 'torch' not in sys.modules\n"
    "sys.argv = ['gaug', '--version']\n"
    "try:\n    cli.main()\nexcept SystemExit:\n    print(os.environ.get('GOMP_SPINCOUNT'))\n"
)


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_what_the_user_has_set_is_left_alone(name: str) -> None:
    environment = {name: "7"}
    wait_briefly(environment)
    assert environment == {name: "7"}


def test_a_command_decides_before_pytorch_is_there() -> None:
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
    environment = {key: value for key, value in os.environ.items() if key not in names}
    shown = subprocess.run(
        [sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True, check=True
    )
    assert shown.stdout.split()[-1] == "10000"
