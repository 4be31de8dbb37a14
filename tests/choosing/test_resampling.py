"""Other splits of the labeled nodes: as many training nodes of each class, all others validate."""

from __future__ import annotations

import pytest
import torch

from gaug.choosing.resampling import FEW, MANY, Resampling
from gaug.data.splits import Split

LABELS = torch.tensor([0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, -1, -1])
SPLIT = Split("given", torch.tensor([0, 5, 6, 9]), torch.tensor([1, 2, 7, 10]), torch.tensor([3]))


def test_each_run_has_as_many_training_nodes_of_each_class_and_the_same_nodes_in_all():
    drawn = [Resampling(SPLIT, LABELS, seed=1).split_of(run) for run in range(1, 20)]
    for split in drawn:
        assert LABELS[split.train].bincount().tolist() == [1, 2, 1]
        together = torch.cat([split.train, split.val]).sort().values
        assert together.tolist() == [0, 1, 2, 5, 6, 7, 9, 10]
        assert split.test.tolist() == [3]
    assert len({split.hash for split in drawn}) > 10


def test_the_same_seed_and_run_draw_the_same():
    one, same, other = (Resampling(SPLIT, LABELS, seed) for seed in (1, 1, 2))
    assert one.split_of(4).hash == same.split_of(4).hash
    assert [one.split_of(r).hash for r in range(5)] != [other.split_of(r).hash for r in range(5)]


def test_with_several_labels_per_node_as_many_train_as_before():
    labels = torch.zeros(13, 3)
    split = Resampling(SPLIT, labels).split_of(1)
    assert (split.train.numel(), split.val.numel()) == (4, 4)


def sized(train: int, val: int) -> Split:
    nodes = torch.arange(train + val + 1)
    return Split("sized", nodes[:train], nodes[train : train + val], nodes[train + val :])


def drawn(train: int, val: int) -> Resampling | None:
    split = sized(train, val)
    return Resampling.of(split, torch.zeros(train + val + 1, dtype=torch.long), seed=0, final=3)


def test_the_first_run_has_the_given_split():
    assert Resampling(SPLIT, LABELS).split_of(0) is SPLIT


def test_every_node_validates_as_often_as_every_other_of_its_class_or_once_more():
    drawing = Resampling(SPLIT, LABELS, seed=3)
    for runs in range(1, 12):
        val = torch.cat([drawing.split_of(run).val for run in range(runs)])
        times = val.bincount(minlength=len(LABELS))
        for group in ([0, 1, 2], [5, 6, 7], [9, 10]):
            assert times[group].max() - times[group].min() <= 1


def test_splits_do_not_depend_on_the_order_in_which_runs_ask_for_them():
    forwards, backwards = Resampling(SPLIT, LABELS), Resampling(SPLIT, LABELS)
    one = [forwards.split_of(run).hash for run in range(6)]
    assert [backwards.split_of(run).hash for run in reversed(range(6))] == one[::-1]


def test_with_more_training_nodes_the_final_validates_on_those_alone_and_equally_often():
    split = sized(600, 200)
    drawing = drawn(600, 200)
    assert drawing is not None
    assert all(drawing.split_of(run).hash == split.hash for run in range(3))
    final = [drawing.split_of(run) for run in range(3, 9)]
    assert all(one.val.numel() == 200 and one.train.numel() == 600 for one in final)
    assert torch.cat([one.val for one in final]).bincount().tolist() == [2] * 600
    assert all(torch.isin(split.val, one.train).all() for one in final)


def test_where_fewer_nodes_of_a_class_train_than_validate_the_final_keeps_its_share():
    """Of 600 and 400 nodes, 30 of the second class train and 60 validate."""
    split = sized(600, 400)
    labels = torch.zeros(1001, dtype=torch.long)
    labels[570:660] = 1
    drawing = Resampling.of(split, labels, seed=0, final=3)
    assert drawing is not None
    assert not drawing.fresh
    for run in range(3, 9):
        one = drawing.split_of(run)
        assert labels[one.val].bincount().tolist() == [340, 60]
        assert labels[one.train].bincount().tolist() == [570, 30]
    # With 60 of each, nobody's share is at risk.
    even = torch.zeros(1001, dtype=torch.long)
    even[540:660] = 1
    assert Resampling.of(split, even, seed=0, final=3) == Resampling(split, even, 0, 3, fresh=True)


def test_with_fewer_training_nodes_the_final_draws_from_both():
    split = sized(300, 600)
    drawing = drawn(300, 600)
    assert drawing is not None
    assert all(drawing.split_of(run).hash == split.hash for run in range(3))
    final = [drawing.split_of(run) for run in range(3, 9)]
    assert all((one.train.numel(), one.val.numel()) == (300, 600) for one in final)
    # With the given split, each of the 900 nodes has validated in 4 or 5 of 7 runs.
    times = torch.cat([one.val for one in [split, *final]]).bincount(minlength=900)
    assert set(times[:900].tolist()) <= {4, 5}


@pytest.mark.parametrize(
    ("train", "val", "expected"),
    [
        (300, 300, "fresh"),  # as many training nodes
        (299, 300, "final"),
        (200, 500, "final"),
        (200, 501, "given"),  # too few to make up for other training nodes
        (199, 300, "given"),
        (140, 500, "given"),
        (1900, MANY - 1, "final"),
        (1900, MANY, "given"),
        (10 * MANY, MANY - 1, "fresh"),
        (10 * MANY, MANY, "given"),
        (FEW, FEW, "fresh"),
        (FEW, FEW - 1, "all"),
        (20, FEW - 1, "all"),
    ],
)
def test_who_draws_depends_on_the_numbers_of_training_and_validation_nodes(train, val, expected):
    found = drawn(train, val)
    if found is None:
        kind = "given"
    else:
        kind = "fresh" if found.fresh else {1: "all", 3: "final"}[found.first]
    assert kind == expected
