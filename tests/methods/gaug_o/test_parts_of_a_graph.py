"""Samples drawn for a part of a graph: nodes at its border keep their degree in the whole graph."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from gaug.graph.adjacency import Adjacency
from gaug.graph.neighborhood import Neighborhoods
from gaug.methods.gaug_o.config import GAugOConfig
from gaug.methods.gaug_o.learned_edges import LearnedEdges
from gaug.methods.gaug_o.run import GAugORun
from gaug.models.calling import apply_model
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec
from gaug.training.batch import Batch
from gaug.training.hooks import Round, Visible

# A path of seven nodes.
PATH = Adjacency.of_pairs(torch.stack([torch.arange(6), torch.arange(1, 7)]), 7)
ENGINES = ("dense", "blocked", "sparse")


def part() -> Adjacency:
    """Nodes 1 to 5: one edge leads out at either end."""
    return Neighborhoods(PATH).around(torch.tensor([3]), hops=2).adjacency


def learned(config: GAugOConfig, z: Tensor) -> LearnedEdges:
    return LearnedEdges.of(config, z, part())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("model", [name for name in MODELS if name != "mlp"])
def test_without_influence_of_the_predictor_a_model_sees_the_plain_part(
    engine: str, model: str
) -> None:
    torch.manual_seed(0)
    z, x = torch.rand(5, 3), torch.rand(5, 4)
    network = ModelSpec.of(MODELS.config_type(model)(hidden=8)).build(4, 2).eval()
    sample = learned(GAugOConfig(alpha=0, engine=engine), z).sample(0)
    expected = apply_model(network, x, part())
    torch.testing.assert_close(apply_model(network, x, sample), expected)
    # Node 3 is at the center: it gets what it gets in the whole graph.
    features = torch.cat([torch.zeros(1, 4), x, torch.zeros(1, 4)])
    if network.hops == 2:
        whole = apply_model(network, features, PATH)
        torch.testing.assert_close(apply_model(network, x, sample)[2], whole[3])


@pytest.mark.parametrize(
    ("settings", "share"),
    [
        # The scores of the edges 1-2 to 4-5 are 1, 0.5, 0.25 and 0.5: in the mean 0.5625.
        ({"alpha": 0.4}, 0.4 * 0.5625 + 0.6),
        ({"alpha": 0.4, "variant": "no-sampling"}, 0.4 * 0.5625 + 0.6),
        ({"alpha": 0.9, "variant": "rounding"}, 3 / 4),  # 0.9 * 0.25 + 0.1 is below one half
    ],
)
def test_of_the_edges_that_lead_out_as_many_are_left_as_of_the_others(
    settings: dict[str, float | str], share: float
) -> None:
    z = torch.tensor([[1.0], [1.0], [0.5], [0.5], [1.0]])
    sample = learned(GAugOConfig(**settings), z).sample(0)  # type: ignore[arg-type]
    assert sample.outside is not None
    expected = share * torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0])
    torch.testing.assert_close(sample.outside, expected)


def test_a_part_that_is_the_whole_graph_has_no_border() -> None:
    whole = Neighborhoods(PATH).around(torch.tensor([3]), hops=3).adjacency
    sample = LearnedEdges.of(GAugOConfig(alpha=0.4), torch.ones(7, 1), whole).sample(0)
    assert sample.outside is None


@pytest.mark.parametrize("engine", ENGINES)
def test_the_edge_loss_of_a_part_is_that_of_its_own_edges(engine: str) -> None:
    """By hand: nodes 1 to 5 of the path, of which 1 and 5 have two neighbors in the whole graph."""
    torch.manual_seed(0)
    x, adjacency = torch.rand(7, 4), part()
    visible = Visible(x, PATH, torch.zeros(7, dtype=torch.long), torch.tensor([3]), 2)
    config = GAugOConfig(engine=engine, beta=3.0, pretrain_classifier_epochs=0)
    run = GAugORun(visible, torch.Generator().manual_seed(0), config, edge_bytes=96)
    batch = Batch(x[1:6], adjacency, torch.tensor([2]), torch.zeros(1), nodes=torch.arange(1, 6))
    target = torch.eye(5) + dense_of(adjacency)
    normalized = target / 3  # each node has two neighbors, and itself
    z = (normalized @ normalized @ x[1:6] @ run.encoder.first @ run.encoder.mean).relu()
    share = target.mean()  # 13 of 25
    expected = functional.binary_cross_entropy_with_logits(
        z @ z.t(), target, pos_weight=(1 - share) / share
    ) / (2 * (1 - share))
    alone = run.next_round(None)
    assert alone is not None
    assert alone.method_alone
    for current, weight in ((alone, 1.0), (Round(PATH, epochs=5), 3.0)):
        run.training_graph(current, batch, 1)
        torch.testing.assert_close(run.extra_loss(), weight * expected)
        assert run.log()["edge_loss"] == pytest.approx(float(expected.detach()), rel=1e-5)


def dense_of(adjacency: Adjacency) -> Tensor:
    dense = torch.zeros(adjacency.num_nodes, adjacency.num_nodes)
    dense[adjacency.pattern.row, adjacency.pattern.col] = 1
    return dense
