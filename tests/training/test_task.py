"""A task hides what a method must not see and refuses what cannot be trained on."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from gaug.errors import DataError
from gaug.graph.valid import standardize
from gaug.training.task import Task


def path_of_six(labels: torch.Tensor) -> Data:
    edge_index = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    data, _ = standardize(Data(x=torch.eye(6), edge_index=edge_index, y=labels))
    order = torch.arange(6)
    data.train_mask, data.val_mask, data.test_mask = order < 2, order // 2 == 1, order >= 4
    return data


def test_labels_outside_training_are_hidden_from_methods() -> None:
    visible = Task.of(path_of_six(torch.tensor([0, 1, 0, 1, 0, 1]))).visible()
    assert visible.labels.tolist() == [0, 1, -1, -1, -1, -1]


def test_several_labels_a_node_are_hidden_as_zeros() -> None:
    visible = Task.of(path_of_six(torch.ones(6, 3))).visible()
    assert visible.labels.sum(dim=1).tolist() == [3, 3, 0, 0, 0, 0]


def test_a_task_for_choosing_has_no_label_of_a_test_node() -> None:
    task = Task.of(path_of_six(torch.tensor([0, 1, 0, 1, 0, 1])))
    hidden = task.without_test_labels()
    assert hidden.labels.tolist() == [0, 1, 0, 1, -1, -1]
    assert torch.equal(hidden.test, task.test)  # what is predicted for them is kept
    assert (task.test_hidden, hidden.test_hidden) == (False, True)
    assert hidden.to("cpu").test_hidden
    assert task.labels.tolist() == [0, 1, 0, 1, 0, 1], "the given task is untouched"
    several = Task.of(path_of_six(torch.ones(6, 3))).without_test_labels()
    assert several.labels.sum(dim=1).tolist() == [3, 3, 3, 3, 0, 0]


def test_hidden_labels_leave_the_number_of_classes_as_it_was() -> None:
    labels = torch.tensor([0, 1, 0, 1, 2, 2])
    assert Task.of(path_of_six(labels)).without_test_labels().num_classes == 3


def test_one_class_only_in_training_is_refused() -> None:
    with pytest.raises(DataError, match="two classes at least"):
        Task.of(path_of_six(torch.tensor([0, 0, 1, 1, 1, 1])))


def test_an_unlabeled_node_in_a_part_is_refused() -> None:
    with pytest.raises(DataError, match="val nodes must have labels"):
        Task.of(path_of_six(torch.tensor([0, 1, -1, 0, 0, 1])))


@pytest.mark.parametrize("part", ["val", "test"])
def test_parts_that_overlap_are_refused(part: str) -> None:
    data = path_of_six(torch.tensor([0, 1, 0, 1, 0, 1]))
    data[f"{part}_mask"] = data[f"{part}_mask"] | data.train_mask
    message = rf"The train and {part} nodes must not overlap, got 2 in both \(node 0 for one\)"
    with pytest.raises(DataError, match=message):
        Task.of(data)


def test_a_missing_mask_is_refused_with_the_remedy() -> None:
    data = path_of_six(torch.tensor([0, 1, 0, 1, 0, 1]))
    del data.val_mask
    with pytest.raises(DataError, match=r"no val_mask\. Give it a split"):
        Task.of(data)


def test_what_is_wrong_with_one_class_depends_on_where_it_is_the_only_one() -> None:
    with pytest.raises(DataError, match=r"^The labels must be of two classes .* right column"):
        Task.of(path_of_six(torch.zeros(6, dtype=torch.long)))
    with pytest.raises(DataError, match=r"^The training nodes must .* Choose another split"):
        Task.of(path_of_six(torch.tensor([0, 0, 1, 1, 0, 1])))
