"""The memory of runs: measured peaks against the estimates of `gaug.runs.memory`.

Run as ``python -m benchmarks.memory``, which measures each case in its own process and prints a
table. The constants of the estimate are fitted to such measurements.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil

from gaug import Plan
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.methods.gaug_m.method import GAugM
from gaug.methods.gaug_o.method import GAugO
from gaug.runs.cost import measured
from gaug.runs.evaluate import evaluate
from gaug.runs.graphs import Graphs
from gaug.runs.memory import plan_memory

_IMPORTED = (GAugM, GAugO, evaluate)  # so that they do not count as memory of the run
_EPOCHS: dict[str, dict[str, Any]] = {
    "gaug-m": {"epochs": 3, "predictor_epochs": 3},
    "adaedge": {"epochs": 3, "rounds": 1},
    "bgcn": {"epochs": 3, "graphs": 1},
    "gaug-o": {"epochs": 1, "pretrain_predictor_epochs": 1, "pretrain_classifier_epochs": 1},
}


@dataclass(frozen=True)
class Case:
    """A run on a synthetic graph.

    Attributes:
        nodes: Nodes of the graph.
        model: The model.
        method: The method.
        degree: Mean degree of the graph.
        settings: Any settings.
    """

    nodes: int
    model: str
    method: str
    degree: float = 10.0
    settings: dict[str, Any] = field(default_factory=dict)

    def plan(self) -> Plan:
        """A plan with few epochs: the first ones take as much memory as the last."""
        graph = SyntheticConfig(num_nodes=self.nodes, degree=self.degree, num_features=128)
        data = planted_graph(graph)
        del data.ideal_edge_index
        settings = {**_EPOCHS.get(self.method, {"epochs": 3}), **self.settings}
        return Plan.of(data, model=self.model, method=self.method, settings=settings)

    def __str__(self) -> str:
        changed = "".join(f" {name}={value}" for name, value in self.settings.items())
        return f"{self.nodes:,} nodes, degree {self.degree:g}, {self.model} {self.method}{changed}"


CASES = (
    *(
        Case(nodes, model, method)
        for nodes in (10_000, 100_000, 300_000)
        for model in ("gcn", "gsage", "gat", "jknet")
        for method in ("none", "dropedge")
    ),
    *(Case(nodes, model, "none", 20) for nodes in (20_000, 60_000) for model in ("gat", "jknet")),
    *(Case(100_000, model, "none", 40) for model in ("gcn", "gat", "jknet")),
    *(Case(nodes, model, "gaug-m") for nodes in (10_000, 100_000) for model in ("gcn", "jknet")),
    *(
        Case(nodes, model, "gaug-o", settings={"alpha": alpha})
        for model in ("gcn", "gat", "jknet")
        for nodes, alpha in ((10_000, 0.02), (30_000, 0.001))
    ),
    *(Case(100_000, "gcn", method) for method in ("adaedge", "bgcn")),
    *(
        Case(100_000, model, method, settings={"batch_size": 512, "fanout": 10, **settings})
        for model in ("gcn", "gat", "jknet")
        for method, settings in (("none", {}), ("gaug-o", {"edge_model": "vgae"}))
    ),
    Case(100_000, "gcn", "gaug-m", settings={"predictor": "vgae", "predictor_hidden": 256}),
)


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(_measure(Case(**json.loads(sys.argv[1])))))
        return
    for case in CASES:
        command = [sys.executable, "-m", "benchmarks.memory", json.dumps(asdict(case))]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        cost = json.loads(found.stdout)
        share = (cost["held"] + cost["estimate"]) / cost["peak"]
        print(
            f"{case}: peak {cost['peak'] / 1e6:,.0f} MB, of which {cost['held'] / 1e6:,.0f} MB are"
            f" there before; estimated {share:.2f} times that",
            flush=True,
        )


def _measure(case: Case) -> dict[str, float]:
    graphs = Graphs()
    placed = graphs.place(case.plan())
    held = psutil.Process().memory_info().rss
    with measured() as cost:
        graphs.prepare(placed, hide_test=False).train(0)
    peak = cost.peak_memory_mb * 1e6
    return {"held": held, "estimate": plan_memory(placed).peak, "peak": peak}


if __name__ == "__main__":
    main()
