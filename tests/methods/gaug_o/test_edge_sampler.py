"""GAug-O's sampler and DropEdge for a loop of one's own."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gaug import GCN, EdgeSampler, drop_edges, load_graph
from gaug.errors import ConfigError, DataError
from gaug.graph.edges import undirected_pairs
from gaug.graph.sparse import SparseMatrix
from gaug.methods.gaug_o.config import GAugOConfig

PAIRS = torch.triu_indices(34, 34, 1)


@pytest.fixture
def data() -> Data:
    return load_graph("karate")


def test_graphs_are_drawn_by_their_probabilities(data: Data) -> None:
    sampler = EdgeSampler(data, alpha=0.5, edge_embedding=4)
    pairs = torch.cat([data.edge_index[:, :40], torch.triu_indices(34, 34, 1)[:, :60]], dim=1)
    p = sampler.edge_probabilities(pairs)
    draws = 400
    keys = pairs.min(dim=0).values * 34 + pairs.max(dim=0).values
    counts = torch.zeros(pairs.size(1))
    with torch.no_grad():
        for _ in range(draws):
            drawn = undirected_pairs(sampler().edge_index)
            counts += torch.isin(keys, drawn[0] * 34 + drawn[1])
    bound = 4.5 * (p * (1 - p) / draws).sqrt() + 1e-6  # 100 pairs: 1 of 1,500 such tests fails
    assert bool(((counts / draws - p).abs() <= bound).all())


@pytest.mark.parametrize("own_model", [True, False])
def test_the_loss_reaches_the_predictor(data: Data, own_model: bool) -> None:
    sampler = EdgeSampler(data, alpha=0.5)
    graph = sampler()
    if own_model:
        logits = GCN(34, 2)(data.x, graph)
    else:
        logits = GCNConv(34, 2)(data.x.to_dense(), graph.edge_index, graph.weight)
    functional.cross_entropy(logits, data.y).backward()
    first = sampler.encoder.first.grad
    assert first is not None
    assert float(first.abs().sum()) > 0


def test_the_edge_loss_teaches_which_pairs_are_edges(data: Data) -> None:
    sampler = EdgeSampler(data, alpha=1.0)
    optimizer = torch.optim.Adam(sampler.parameters(), lr=0.01)

    def auc() -> float:
        pairs = torch.triu_indices(34, 34, 1)
        edges = undirected_pairs(data.edge_index)
        is_edge = torch.isin(pairs[0] * 34 + pairs[1], edges[0] * 34 + edges[1])
        return float(roc_auc_score(is_edge, sampler.edge_probabilities(pairs)))

    before = auc()
    for _ in range(60):
        optimizer.zero_grad()
        sampler()
        sampler.edge_loss().backward()
        optimizer.step()
    assert auc() > before


@pytest.mark.parametrize("edge_model", ["gae", "vgae"])
def test_the_same_seed_gives_the_same_graphs(data: Data, edge_model: str) -> None:
    first, second, other = (EdgeSampler(data, seed=s, edge_model=edge_model) for s in (3, 3, 4))
    graphs = []
    for number, sampler in enumerate((first, second, other)):
        torch.manual_seed(number)  # which is not that of the sampler
        graphs.append(sampler().edge_index)
    assert torch.equal(graphs[0], graphs[1])
    assert not torch.equal(graphs[0], graphs[2])
    assert not torch.equal(first().edge_index, graphs[0])


def test_the_edge_loss_is_that_of_the_weights_as_they_are(data: Data) -> None:
    sampler, fresh = EdgeSampler(data), EdgeSampler(data, seed=1)
    with torch.no_grad():
        sampler()
    before = sampler.edge_loss()
    before.backward()
    sampler.load_state_dict(fresh.state_dict())
    after = sampler.edge_loss()
    after.backward()  # nothing of an earlier call is in its way
    assert after.item() == fresh.edge_loss().item() != before.item()


def test_asking_for_probabilities_does_not_change_the_loss(data: Data) -> None:
    """A VGAE's loss has a part that does not come from the embeddings themselves."""
    gradients = []
    for asks in (False, True):
        sampler = EdgeSampler(data, edge_model="vgae")
        sampler()
        if asks:
            sampler.edge_probabilities(data.edge_index)
        sampler.edge_loss().backward()
        gradients.append([weight.grad for weight in sampler.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=0)


@pytest.mark.parametrize("edge_model", ["gae", "vgae"])
def test_a_copy_goes_on_by_itself(data: Data, edge_model: str) -> None:
    sampler = EdgeSampler(data, alpha=0.8, edge_model=edge_model)
    sampler()
    twin = copy.deepcopy(sampler)
    assert torch.equal(twin().edge_index, sampler().edge_index)
    sampler.encoder.mean.data.zero_()
    assert not torch.equal(twin.edge_probabilities(PAIRS), sampler.edge_probabilities(PAIRS))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "no-edge-loss"}, "leave edge_loss\\(\\) out of your loss"),
        ({"beta": 2.0}, "beta is a setting of GAug-O's own loop"),
        ({"warmup": 2.0}, "warmup is a setting of GAug-O's own loop"),
        ({"pretrain_weights": "best"}, "pretrain_weights is a setting of GAug-O's own loop"),
    ],
)
def test_what_is_up_to_the_loop_is_refused(
    data: Data, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        EdgeSampler(data, **settings)


@pytest.mark.parametrize("setting", [{"beta": 2.0}, {"warmup": 3.0}], ids=str)
def test_what_is_up_to_the_loop_is_refused_in_a_config_too(
    data: Data, setting: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match="is a setting of GAug-O's own loop"):
        EdgeSampler(data, GAugOConfig(**setting))


def test_every_parameter_of_the_sampler_learns(data: Data) -> None:
    sampler = EdgeSampler(data, edge_model="vgae", alpha=0.3)
    sampler.edge_loss().backward()
    assert all(weight.grad is not None for weight in sampler.parameters())


@pytest.mark.parametrize(
    "settings", [{"engine": "dense"}, {"edge_probability": "sigmoid", "alpha": 1.0}], ids=str
)
def test_what_does_not_fit_is_refused(
    data: Data, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=200_010_000))
    EdgeSampler(data)
    with pytest.raises(ConfigError, match=r"needs about 0 MB for 34 nodes"):
        EdgeSampler(data, **settings)


def test_it_moves_with_its_graph(data: Data) -> None:
    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.sampler = EdgeSampler(data)

    sampler = Whole().to("meta").sampler  # the one other device that is everywhere
    assert sampler.encoder.first.device.type == "meta"
    assert sampler.adjacency.pattern.col.device.type == "meta"
    features = sampler.features
    assert isinstance(features, SparseMatrix)
    assert features.values.device.type == "meta"


def test_another_precision_is_refused_and_nothing_changed(data: Data) -> None:
    sampler = EdgeSampler(data, seed=1)
    with pytest.raises(ConfigError, match=r"float32. Do not convert it to torch.float64"):
        sampler.double()
    assert torch.equal(sampler().edge_index, EdgeSampler(data, seed=1)().edge_index)


def test_what_cannot_be_sampled_is_refused(data: Data) -> None:
    with pytest.raises(ConfigError, match="learns no edges"):
        EdgeSampler(data, variant="random")
    data.edge_weight = torch.ones(data.num_edges)
    with pytest.raises(DataError, match="this graph has edge weights"):
        EdgeSampler(data)


def test_dropped_edges_go_in_both_directions_and_take_their_weights(data: Data) -> None:
    weight = data.edge_index.sum(dim=0).float()
    data.edge_weight = weight
    before = data.edge_index.clone()
    part = drop_edges(data, 0.3, torch.Generator().manual_seed(0))
    assert part.num_edges == 2 * (78 - 23)
    kept = set(map(tuple, part.edge_index.t().tolist()))
    assert kept == {(v, u) for u, v in kept} <= set(map(tuple, before.t().tolist()))
    assert torch.equal(part.edge_weight, part.edge_index.sum(dim=0).float())
    assert torch.equal(data.edge_index, before)
    assert torch.equal(data.edge_weight, weight)
    again = drop_edges(data, 0.3, torch.Generator().manual_seed(0))
    assert torch.equal(again.edge_index, part.edge_index)
    assert torch.equal(drop_edges(data, 0.0).edge_index, before)


def test_everything_that_belongs_to_edges_goes_with_them(data: Data) -> None:
    """Whatever its shape: with the edges first, or last as in an index, or a list."""
    data.edge_attr = data.edge_index.t().float()
    data.edge_label_index = data.edge_index.clone()
    data.edge_name = [f"{u}-{v}" for u, v in data.edge_index.t().tolist()]
    part = drop_edges(data, 0.5, torch.Generator().manual_seed(0))
    assert part.num_edges == 78
    assert torch.equal(part.edge_attr, part.edge_index.t().float())
    assert torch.equal(part.edge_label_index, part.edge_index)
    assert part.edge_name == [f"{u}-{v}" for u, v in part.edge_index.t().tolist()]


def test_a_share_out_of_range_is_refused(data: Data) -> None:
    with pytest.raises(ConfigError, match="drop_fraction must be in"):
        drop_edges(data, 1.2)
