"""A graph ready for use, with the user's names for its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch_geometric.data import Data

from gaug.data.config import TRAIN_FRACTION
from gaug.data.node_ids import NodeIds


@dataclass(frozen=True)
class LoadedGraph:
    """A valid graph with the names of its nodes, classes and features.

    Attributes:
        name: What it is called in records.
        data: The graph, valid in the sense of `gaug.graph.valid`; with ``train_mask``,
            ``val_mask`` and ``test_mask`` if it came with a split, without ``y`` if it came
            without labels.
        ids: The id of each node, as the user has it.
        class_names: The name of each class, as the user has it; empty without labels.
        feature_names: A name for each column of ``x``; empty where they have none. The column of a
            category is called ``column=category``.
        notes: One sentence for each thing that was changed or decided on the way.
        default_split: The split that is used where none is asked for.
        default_train_fraction: Share of the labeled nodes that train where none is set.
        default_scaling: How features are scaled where nothing is asked for.
        column_means: What stands for a missing number, by the name of a column of a table.
    """

    name: str
    data: Data
    ids: NodeIds
    class_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    default_split: str = "stratified"
    default_train_fraction: float = TRAIN_FRACTION
    default_scaling: str = "as-is"
    column_means: Mapping[str, float] = field(default_factory=dict)
