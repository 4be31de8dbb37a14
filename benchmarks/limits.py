"""Runs under a hard limit of memory: each must fit or be refused, and none may be killed.

Run as ``python -m benchmarks.limits [SIZE …] [--nodes N …]``, for example ``1GB 2GB``. Each case is
run in its own process, whose private memory the system limits (``RLIMIT_DATA``), and prints whether
it ran, with its peak, or was refused, with the message. Ranking all pairs of a million nodes takes
a quarter of an hour. Linux only.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from dataclasses import asdict

from benchmarks.memory import Case
from gaug.errors import ConfigError, GaugError
from gaug.memory import parse_size, size_text
from gaug.runs.cost import peak_memory_mb
from gaug.runs.execute import execute

LIMITS = ("1.2GB", "2GB", "4GB")
CASES = tuple(
    Case(nodes, model, method, settings=settings)
    for nodes in (10_000, 100_000, 300_000, 1_000_000)
    for model, method, settings in (
        ("gcn", "none", {}),
        ("gcn", "none", {"batch_size": "auto", "fanout": 10}),
        ("gat", "none", {}),
        ("gat", "none", {"batch_size": "auto", "fanout": 10}),
        ("jknet", "dropedge", {}),
        ("gcn", "adaedge", {"rounds": 1}),
        ("gcn", "bgcn", {"graphs": 1}),
        ("gcn", "gaug-m", {"predictor": "gae"}),
        ("gcn", "gaug-o", {}),
        ("gcn", "gaug-o", {"batch_size": "auto", "fanout": 10}),
        ("gat", "gaug-o", {"alpha": 0.01}),
    )
)


def main() -> None:
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(_run(Case(**json.loads(sys.argv[3])), int(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits")
    parser.add_argument("sizes", nargs="*", default=LIMITS, help="limits, such as 2GB")
    parser.add_argument("--nodes", nargs="+", type=int, help="sizes of graphs; by default all")
    chosen = parser.parse_args()
    bad = 0
    for text in chosen.sizes:
        limit = parse_size(text)
        for case in CASES:
            if chosen.nodes and case.nodes not in chosen.nodes:
                continue
            outcome, fine = _limited(case, limit)
            bad += not fine
            print(f"{text}: {case}: {outcome}", flush=True)
    print(f"{bad} neither fit nor were refused.")
    sys.exit(bool(bad))


def _limited(case: Case, limit: int) -> tuple[str, bool]:
    """What became of a case, and whether it fit or was refused."""
    command = [sys.executable, "-m", "benchmarks.limits", "--case", str(limit)]
    command.append(json.dumps(asdict(case)))
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode != 0:
        last = (found.stderr.strip().splitlines() or [""])[-1]
        return f"KILLED (exit code {found.returncode}) {last}", False
    outcome = json.loads(found.stdout)
    peak = size_text(outcome["peak"])
    if outcome["refused"]:
        return f"refused ({peak} held): {outcome['message']}", True
    if outcome["message"]:
        return f"RAN OUT ({peak} held): {outcome['message']}", False
    return f"ran, peak {peak}", outcome["peak"] <= limit


def _run(case: Case, limit: int) -> dict[str, object]:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    message, refused = "", False
    try:
        execute(case.plan(), runs=1)
    except ConfigError as error:
        message, refused = str(error), True
    except (GaugError, MemoryError) as error:
        message = str(error) or type(error).__name__
    return {"message": message, "refused": refused, "peak": peak_memory_mb() * 1e6}


if __name__ == "__main__":
    main()
