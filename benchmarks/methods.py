"""One run of a GCN with each method at its default settings: time and peak memory.

Run as ``python -m benchmarks.methods GRAPH METHOD``; prints seconds and megabytes as JSON.
"""

from __future__ import annotations

import json
import sys

from benchmarks.graphs import benchmark_graph
from gaug import evaluate
from gaug.methods.spec import MethodSpec

METHODS = ("none", "dropedge", "adaedge", "bgcn", "gaug-m", "gaug-o")


def main() -> None:
    name, method = sys.argv[1:]
    data, title = benchmark_graph(name)
    (record,) = evaluate(data, model="gcn", method=MethodSpec.of(method).build(), runs=1).records
    cost = {"seconds": record.seconds, "peak_memory_mb": record.peak_memory_mb}
    print(json.dumps({"graph": title, **cost}))


if __name__ == "__main__":
    main()
