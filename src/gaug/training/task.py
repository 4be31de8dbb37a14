"""A graph with a split, laid out for training once and shared by all runs."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch_geometric.data import Data

from gaug.errors import DataError
from gaug.graph.adjacency import Adjacency
from gaug.graph.labels import is_multilabel, num_classes
from gaug.models.base import Features, as_features
from gaug.training.hooks import Visible
from gaug.training.ranks import Ranks


@dataclass(frozen=True)
class Task:
    """What the training loop works on.

    Attributes:
        features: Dense or sparse features.  [N, F]
        adjacency: The original graph.
        labels: Class ids [N] or 0/1 [N, C].
        train: Ids of the training nodes.
        val: Ids of the validation nodes; may be empty where no epoch is chosen by them.
        test: Ids of the test nodes.
        num_classes: Number of classes.
        test_hidden: Whether the labels of the test nodes were taken out.
        ranks: This process among those that train on it together.
    """

    features: Features
    adjacency: Adjacency
    labels: Tensor
    train: Tensor
    val: Tensor
    test: Tensor
    num_classes: int
    test_hidden: bool = False
    ranks: Ranks = field(default_factory=Ranks)

    @classmethod
    def of(cls, data: Data) -> Task:
        """The task of a valid graph with ``train_mask``, ``val_mask`` and ``test_mask``."""
        parts = {}
        for part in ("train", "val", "test"):
            mask = data.get(f"{part}_mask")
            if mask is None:
                raise DataError(
                    f"The graph has no {part}_mask. Give it a split, for instance by"
                    " torch_geometric.transforms.RandomNodeSplit."
                )
            parts[part] = mask.nonzero().flatten()
        for one, other in itertools.combinations(parts, 2):
            shared = parts[one][torch.isin(parts[one], parts[other])]
            if shared.numel():
                raise DataError(
                    f"The {one} and {other} nodes must not overlap, got {shared.numel()} in both"
                    f" (node {int(shared[0])} for one). Choose another split."
                )
        if not is_multilabel(data):
            for part, nodes in parts.items():
                if bool((data.y[nodes] < 0).any()):
                    raise DataError(f"The {part} nodes must have labels, got some without.")
            if data.y[data.y >= 0].unique().numel() < 2:
                raise DataError(
                    "The labels must be of two classes at least, got one class only. Check that"
                    " they are the right column or tensor."
                )
            if data.y[parts["train"]].unique().numel() < 2:
                raise DataError(
                    "The training nodes must belong to two classes at least, got one class only."
                    " Choose another split."
                )
        return cls(
            features=as_features(data.x),
            adjacency=Adjacency.of(data),
            labels=data.y,
            num_classes=num_classes(data),
            **parts,
        )

    def to(self, device: str) -> Task:
        """The task on another device."""
        return dataclasses.replace(
            self,
            features=self.features.to(device),
            adjacency=self.adjacency.to(device),
            labels=self.labels.to(device),
            train=self.train.to(device),
            val=self.val.to(device),
            test=self.test.to(device),
        )

    def without_test_labels(self) -> Task:
        """The task for choosing: the labels of the test nodes are gone, so nothing can see them."""
        labels = self.labels.clone()
        labels[self.test] = 0 if self.multilabel else -1
        return dataclasses.replace(self, labels=labels, test_hidden=True)

    @property
    def in_features(self) -> int:
        """Width of the features."""
        return int(self.features.shape[1])

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several labels."""
        return self.labels.dim() == 2

    def visible(self, *, all_labels: bool = False) -> Visible:
        """The task as an augmentation may see it: no validation or test label.

        Args:
            all_labels: Whether to show them after all, to a control that looks at labels.
        """
        labels = self.labels
        if not all_labels:
            hidden = torch.zeros_like if self.multilabel else (lambda y: torch.full_like(y, -1))
            labels = hidden(self.labels)
            labels[self.train] = self.labels[self.train]
        return Visible(
            self.features, self.adjacency, labels, self.train, self.num_classes, self.ranks
        )
