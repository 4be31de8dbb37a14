"""From CSV files to a file of predictions, in your own ids.

The folder `examples/blogs` has 240 made-up blogs: who follows whom, how often each uses 50 words,
and for 160 of them the topic. Three methods are fitted: the plain graph, GAug-M, which mends it by
the words, and GAug-O, which trains through many variants of it. The one with the best validation
score predicts a topic for every blog, the 80 unknown ones included; where two are even, the
simpler.

    python examples/csv_to_predictions.py
    python examples/csv_to_predictions.py my-folder --scaling columns --out predictions.csv

It takes a few seconds, and GAug-M should win by some points. There is no test score, for every
label is used; `gaug train` keeps some aside and repeats. On a tiny graph the few validation nodes
are a choice, not a proof: in `examples/clubs` they are 8 people, and one of them is 12.5 points.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

from gaug import GAugM, GAugO, GraphInfo, NoAugmentation, open_graph


def main(arguments: Sequence[str] | None = None) -> Path:
    """Fit three methods, keep the best by validation, write what it predicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=Path(__file__).parent / "blogs")
    parser.add_argument("--scaling", default="as-is", help="columns: where they differ in scale")
    parser.add_argument("--out", type=Path, default=Path("predictions.csv"))
    parser.add_argument("--epochs", type=int, default=100, help="epochs of each fit")
    options = parser.parse_args(arguments)

    graph = open_graph(options.folder, scaling=options.scaling)
    print(*graph.notes, sep="\n")
    ids = list(graph.ids)
    info = GraphInfo(node_ids=ids, class_names=graph.class_names)
    fractions = {"add_fraction": 1.0, "remove_fraction": 0.3}
    methods = {
        "plain GCN": NoAugmentation(epochs=options.epochs),
        "GAug-M": GAugM(
            predictor="features", **fractions, allocation="per-node", epochs=options.epochs
        ),
        # Blogs are alike in how often they use common words: larger steps would blur them all.
        "GAug-O": GAugO(alpha=0.3, edge_learning_rate=0.001, epochs=options.epochs),
    }
    fitted = {name: method.fit(graph.data, info=info) for name, method in methods.items()}
    for name, classifier in fitted.items():
        print(f"{name:10} validation {classifier.summary.val_score:.1f}")
    best = max(fitted, key=lambda name: fitted[name].summary.val_score or 0.0)

    probabilities = fitted[best].predict_proba(graph.data, info=info)
    with options.out.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["node", "known", "class", *graph.class_names])
        for node, label, row in zip(ids, graph.data.y, probabilities, strict=True):
            known = graph.class_names[label] if label >= 0 else ""
            numbers = [f"{p:.3f}" for p in row.tolist()]
            table.writerow([node, known, graph.class_names[row.argmax()], *numbers])
    print(f"{best} predicts; written to {options.out}")
    return options.out


if __name__ == "__main__":
    main()
