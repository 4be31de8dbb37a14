"""What needs something that is not installed is left out, and one line says so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HIDING = "import sys\nsys.modules.update(dict.fromkeys(['ray', 'psycopg']))\n"


@pytest.mark.parametrize("spread", [(), ("-n", "1", "--dist", "loadgroup")])
def test_without_ray_and_psycopg_one_line_each_says_how_many_tests_are_left_out(
    spread: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "hiding.py").write_text(HIDING)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    tests = ("tests/cli/test_cluster.py", "tests/whole/test_postgresql.py", "src/gaug/runs")
    command = [sys.executable, "-m", "pytest", "-p", "hiding", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *spread, *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    told = [re.sub(r"^\d+ tests? w\w+ ", "", line) for line in done.stdout.splitlines()]
    assert [line for line in told if "left out" in line] == [
        "left out: needs psycopg: pip install 'gaug[postgresql]'",
        "left out: needs ray: pip install 'gaug[cluster]'",
    ]
