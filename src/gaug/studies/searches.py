"""What studies search for each method, stage by stage; the same for every graph and model."""

from __future__ import annotations

from gaug.choosing.grid import Stage

#: The stages by method.
SEARCHES: dict[str, tuple[Stage, ...]] = {
    "none": (),
    "dropedge": (Stage({"drop_fraction": (0.05, 0.2, 0.4, 0.6, 0.8)}),),
    "adaedge": (
        Stage(
            {"add_fraction": (0.05, 0.3), "remove_fraction": (0.0, 0.1, 0.3)},
            over=({"add_confidence": 0.5, "remove_confidence": 0.5},),
        ),
        Stage({"add_confidence": (0.5, 0.9), "remove_confidence": (0.5, 0.9)}),
        Stage({"order": ("add-first", "remove-first")}),
    ),
    "bgcn": (
        Stage({"prediction": ("class", "probabilities"), "anchor": (1.0, 4.0)}),
        Stage({"dropout_samples": (10, 0)}),
    ),
    "gaug-m": (
        Stage(
            {
                "predictor": (
                    "gae",
                    "gae+vgae",
                    "features",
                    "smoothed",
                    "features+smoothed",
                    "structure",
                ),
                "allocation": ("global", "per-node"),
            },
            # Only additions: the second stage decides whether to remove edges, too.
            over=(
                {"add_fraction": 0.1, "remove_fraction": 0.0},
                {"add_fraction": 0.5, "remove_fraction": 0.0},
                {"add_fraction": 1.0, "remove_fraction": 0.0},
            ),
        ),
        Stage({"add_fraction": (0.1, 0.5, 1.0), "remove_fraction": (0.0, 0.1, 0.3, 0.5)}),
    ),
    "gaug-o": (
        Stage({"alpha": (0.1, 0.3, 0.6, 1.0)}, over=({"patience": 50},)),
        Stage({"beta": (1.0, 3.0)}),
        Stage({"pretrain_classifier_epochs": (30, 200)}),
        Stage({"warmup": (0.0, 8.0)}),
    ),
}
