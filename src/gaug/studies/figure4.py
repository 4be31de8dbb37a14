"""The paper's figure 4: GAug-M by the shares of edges added and removed, on four graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gaug.studies.heat_maps import HeatMaps
from gaug.studies.registry import STUDIES
from gaug.studies.scope import StudyOptions

PREDICTOR = "gae"
#: Shares of the edges; fewer on Flickr, whose runs take ten times as long.
SHARES = tuple(step / 10 for step in range(9))
FEWER_SHARES = {"flickr": SHARES[::2]}


class Figure4(HeatMaps):
    """A GCN on four graphs, by the shares of edges that GAug-M adds and removes with a GAE."""

    name = "figure4"
    title = "Figure 4"
    scope = STUDIES["figure4"].scope
    panel_heading = "graph"

    def panels(self, options: StudyOptions) -> Mapping[str, tuple[str, str, Sequence[float]]]:
        """One per graph."""
        return {
            graph: (graph, PREDICTOR, FEWER_SHARES.get(graph, SHARES))
            for graph in self.scope.chosen(options, "graphs")
        }

    def panel_title(self, panel: str) -> str:
        """The graph."""
        return panel
