"""The paper's figure 7: GAug-M on Cora with different edge predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gaug.studies.heat_maps import HeatMaps
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions

GRAPH = "cora"
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8)
#: The seven predictors of the paper, and then ours.
PREDICTORS = {
    "gae": "GAE",
    "vgae": "VGAE",
    "llhn": "LLHN",
    "ra": "RA",
    "car": "CAR",
    "lnb": "LNB",
    "jaccard": "Jaccard",
    "features": "features (ours)",
    "smoothed": "smoothed features (ours)",
    "structure": "structure (ours)",
}


class Figure7(HeatMaps):
    """A GCN on Cora, by the shares of edges that GAug-M adds and removes, for each predictor."""

    name = "figure7"
    title = "Figure 7"
    scope = STUDIES["figure7"].scope
    panel_heading = "predictor"

    def panels(self, options: StudyOptions) -> Mapping[str, tuple[str, str, Sequence[float]]]:
        """One per predictor."""
        return {name: (GRAPH, name, SHARES) for name in PREDICTORS}

    def panel_title(self, panel: str) -> str:
        """The predictor."""
        return PREDICTORS[panel]
