"""Which nodes train and which validate where a user does not say."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from gaug.data.fitting_split import with_fitting_masks
from gaug.errors import DataError


def graph(labels: list[int], **masks: torch.Tensor) -> Data:
    return Data(
        x=torch.eye(len(labels)),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        y=torch.tensor(labels),
        **masks,
    )


@given(st.lists(st.integers(-1, 2), min_size=2, max_size=60), st.integers(0, 3))
def test_a_fifth_of_each_class_validates_and_all_others_train(labels: list[int], seed: int) -> None:
    sizes = [labels.count(label) for label in range(3)]
    if max(sizes) < 2:
        with pytest.raises(DataError, match=r"no (nodes to validate on|training nodes)"):
            with_fitting_masks(graph(labels), seed=seed)
        return
    split = with_fitting_masks(graph(labels), seed=seed)
    for label, size in enumerate(sizes):
        members = split.y == label
        expected = max(size // 5, 1) if size > 1 else 0
        assert int((split.val_mask & members).sum()) == expected
        assert int((split.train_mask & members).sum()) == size - expected
    assert not bool((split.train_mask & split.val_mask).any())
    assert not bool(split.test_mask.any())


def test_masks_that_are_there_are_used() -> None:
    first = torch.tensor([True, True, False, False, False, False])
    data = graph([0, 1, 0, 1, 0, -1], val_mask=first)
    split = with_fitting_masks(data)
    assert split.val_mask.tolist() == first.tolist()
    assert split.train_mask.tolist() == [False, False, True, True, True, False]
    split = with_fitting_masks(graph([0, 0, 1, 1, 0, 1], train_mask=~first))
    assert split.val_mask.nonzero().flatten().tolist() in ([2], [3], [5])
    assert not bool((split.val_mask & first).any())


def test_without_a_choice_by_validation_all_labeled_nodes_train() -> None:
    split = with_fitting_masks(graph([0, 1, 0, -1]), validate=False)
    assert split.train_mask.tolist() == [True, True, True, False]
    assert not bool(split.val_mask.any())


def test_a_mask_of_another_kind_is_refused() -> None:
    with pytest.raises(DataError, match=r"val_mask must have one truth value per node \(3\)"):
        with_fitting_masks(graph([0, 1, 0], val_mask=torch.tensor([0, 1])))
    with pytest.raises(DataError, match="no labels y"):
        with_fitting_masks(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]])))
