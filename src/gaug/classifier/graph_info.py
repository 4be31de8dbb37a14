"""Names of the nodes, classes and features of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gaug.errors import DataError


@dataclass(frozen=True)
class GraphInfo:
    """Names of the parts of a graph; all are optional.

    Attributes:
        node_ids: The name of each node; by default its number.
        class_names: The name of each class; by default its number.
        feature_names: The name of each feature.
        feature_scaling: How the features were scaled (see `gaug.data.scaling`).
        column_means: What replaced missing values in numeric columns, by column name.
    """

    node_ids: Sequence[str] | None = None
    class_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    feature_scaling: str | None = None
    column_means: Mapping[str, float] | None = None

    def check(self, num_nodes: int, num_classes: int, num_features: int) -> None:
        """Raise unless the numbers of names are right and all node ids are different."""
        for name, names, count in (
            ("node_ids", self.node_ids, num_nodes),
            ("class_names", self.class_names, num_classes),
            ("feature_names", self.feature_names, num_features),
        ):
            if names is not None and len(names) != count:
                raise DataError(f"{name} must have {count} names, got {len(names)}.")
        if self.node_ids is not None and len(set(self.node_ids)) != num_nodes:
            raise DataError("node_ids must all be different, got duplicates.")
