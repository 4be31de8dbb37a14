"""Other splits of the labeled nodes: as many training nodes of each class, all others validate."""

from __future__ import annotations

import torch

from gaug.choosing.engine import resampling_of
from gaug.choosing.resampling import Resampling
from gaug.data.splits import Split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.runs.graphs import Graphs
from gaug.runs.plan import Plan
from tests.choosing.conftest import karate

LABELS = torch.tensor([0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, -1, -1])
SPLIT = Split("given", torch.tensor([0, 5, 6, 9]), torch.tensor([1, 2, 7, 10]), torch.tensor([3]))


def test_each_run_has_as_many_training_nodes_of_each_class_and_the_same_nodes_in_all():
    drawn = [Resampling(SPLIT, LABELS, seed=1).split_of(run) for run in range(20)]
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
    split = Resampling(SPLIT, labels).split_of(0)
    assert (split.train.numel(), split.val.numel()) == (4, 4)


def test_it_is_for_few_validation_nodes_only():
    assert resampling_of(Graphs(), karate("none")) is not None
    data = planted_graph(SyntheticConfig(num_nodes=1200))
    many = Plan.of(data, split="random")
    graphs = Graphs()
    assert graphs.split(many).val.numel() >= 200
    assert resampling_of(graphs, many) is None
