"""Methods as estimators: settings by keyword, warnings, and what fit refuses."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv
from torch_geometric.transforms import Compose, ToUndirected

from gaug import (
    BGCN,
    DropEdge,
    DropEdgeConfig,
    GAugM,
    GAugO,
    GAugOConfig,
    GCNConfig,
    GraphInfo,
    NoAugmentation,
    load_graph,
)
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError, DataError
from gaug.training.config import TrainingConfig


def test_settings_come_as_keywords_or_as_objects() -> None:
    by_name = GAugO(alpha=0.3, hidden=16, epochs=5)
    by_object = GAugO(
        GAugOConfig(alpha=0.3), model=GCNConfig(hidden=16), training=TrainingConfig(epochs=5)
    )
    assert by_name.config == by_object.config
    assert by_name.model == by_object.model
    assert by_name.training == by_object.training
    assert DropEdge(DropEdgeConfig(drop_fraction=0.1), layer_wise=True).config == DropEdgeConfig(
        drop_fraction=0.1, layer_wise=True
    )


def test_it_prints_what_is_not_the_default() -> None:
    assert repr(GAugO()) == "GAugO()"
    assert repr(DropEdge(drop_fraction=0.1, model="gat", hidden=8, epochs=3)) == (
        "DropEdge(drop_fraction=0.1, hidden=8, epochs=3, model='gat')"
    )


def test_an_unknown_or_impossible_setting_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"Unknown setting 'alpa'.*Did you mean 'alpha'"):
        GAugO(alpa=0.3)
    with pytest.raises(ConfigError, match=r"alpha must be in \[0, 1\], got 3"):
        GAugO(alpha=3.0)
    with pytest.raises(ConfigError, match="Unknown setting 'alpha'"):
        GAugM(alpha=0.3)
    with pytest.raises(ConfigError, match="seed must be at least 0, got -1"):
        BGCN(seed=-1)


def test_gaug_m_is_still_a_transform() -> None:
    data = load_graph("karate")
    better = Compose(
        [ToUndirected(), GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.1)]
    )(data)
    assert better.added_edges.shape == (2, 15)


def test_gaug_o_can_be_asked_about_edges() -> None:
    data = load_graph("karate")
    fitted = GAugO(
        alpha=0.3, epochs=3, pretrain_predictor_epochs=2, pretrain_classifier_epochs=2
    ).fit(data)
    edge, loop = data.edge_index[:, :1], torch.tensor([[4], [4]])
    non_edge = torch.tensor([[0], [33]])
    p = fitted.edge_probabilities(torch.cat([edge, non_edge, loop], dim=1))
    assert 0.7 <= float(p[0]) <= 1  # 1 - alpha for being an edge, and what the predictor adds
    assert 0 <= float(p[1]) <= 0.3
    assert float(p[2]) == 0
    first, second, again = (fitted.sample_graph(seed) for seed in (1, 2, 1))
    assert torch.equal(first.edge_index, again.edge_index)
    assert not torch.equal(first.edge_index, second.edge_index)
    assert not torch.equal(fitted.sample_graph().edge_index, fitted.sample_graph().edge_index)


def test_a_graph_that_is_made_valid_is_told() -> None:
    data = load_graph("karate")
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    with pytest.warns(UserWarning, match="Made the graph undirected: added 78 reverse edges"):
        fitted = NoAugmentation(epochs=2).fit(data)
    with pytest.warns(UserWarning, match="Made the graph undirected"):
        assert torch.equal(fitted.predict_proba(data), fitted.predict_proba(load_graph("karate")))


def test_a_fit_that_changed_no_edge_warns() -> None:
    with pytest.warns(UserWarning, match="DropEdge changed no edge"):
        fitted = DropEdge(drop_fraction=0.0, epochs=2).fit(load_graph("karate"))
    assert fitted.summary.warning is not None


def test_several_labels_a_node() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=40, num_classes=3, degree=4.0))
    data.y = torch.nn.functional.one_hot(data.y, 3).float()
    data.y[:, 0] = 1
    fitted = NoAugmentation(epochs=30).fit(data)
    assert fitted.predict(data).shape == (40, 3)
    assert bool((fitted.predict(data)[:, 0] == 1).all())
    assert torch.equal(fitted.predict(data), (fitted.predict_proba(data) > 0.5).long())


def test_it_learns_what_is_there_to_learn() -> None:
    """Unlabeled nodes of a planted graph are predicted far better than by chance."""
    data = planted_graph(SyntheticConfig(num_nodes=300, degree=8.0, num_classes=3))
    hidden = torch.arange(300) % 3 == 0
    known = data.clone()
    known.y = torch.where(hidden, -1, data.y)
    right = NoAugmentation(epochs=50).fit(known).predict(known)[hidden] == data.y[hidden]
    assert float(right.double().mean()) > 0.7


def test_without_labels_there_is_nothing_to_fit() -> None:
    data = load_graph("karate")
    with pytest.raises(DataError, match="no labels y"):
        NoAugmentation().fit(Data(x=data.x, edge_index=data.edge_index))


def test_names_that_do_not_fit_are_refused_before_training(monkeypatch) -> None:
    monkeypatch.setattr("gaug.training.run.train_run", lambda *a, **k: pytest.fail("trained"))
    for info in (GraphInfo(class_names=["a"]), GraphInfo(node_ids=["x"] * 34)):
        with pytest.raises(DataError, match=r"class_names must have 2|must all be different"):
            NoAugmentation().fit(load_graph("karate"), info=info)
    with pytest.raises(ConfigError, match="threads must be at least 1, got 0"):
        NoAugmentation().fit(load_graph("karate"), threads=0)


def test_settings_that_are_not_named_are_refused_with_an_example() -> None:
    with pytest.raises(ConfigError, match=r"GAugO takes its settings by name, or as a GAugOConfig"):
        GAugO(0.3)  # type: ignore[arg-type]


class OnDenseFeatures(torch.nn.Module):
    """Gathers rows of features, which PyTorch has no way to do of sparse ones."""

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.conv = SAGEConv(in_features, num_classes)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor | None
    ) -> torch.Tensor:
        return self.conv(x, edge_index)


def test_a_module_that_takes_no_sparse_features_is_told_what_to_do() -> None:
    data, method = load_graph("karate"), NoAugmentation(model=OnDenseFeatures, epochs=2)
    assert data.x.layout == torch.sparse_csr
    message = r"OnDenseFeatures fails on this graph, whose features are sparse .*data\.x\.to_dense"
    with pytest.raises(ConfigError, match=message):
        method.fit(data)
    data.x = data.x.to_dense()
    assert method.fit(data).predict(data).shape == (34,)


class Unfinished(torch.nn.Module):
    """Fails without a word."""

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor | None
    ) -> torch.Tensor:
        raise NotImplementedError


def test_a_module_that_fails_without_a_word_is_told_by_the_kind_of_its_error() -> None:
    with pytest.raises(ConfigError, match=r"features are sparse \(NotImplementedError\)\. If it"):
        NoAugmentation(model=Unfinished).fit(load_graph("karate"))


def test_a_fit_that_does_not_fit_into_memory_is_refused_before_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GAUG_MAX_MEMORY", "1MB")  # so that it is restored afterwards
    told: list[str] = []
    message = (
        r"^A fit of gcn, gaug-m needs about \d+ MB for 34 nodes, and 0 MB of the 1 MB of max_memory"
        r" are left\. Set a smaller batch_size"
    )
    with pytest.raises(ConfigError, match=message):
        GAugM(predictor="ra").fit(
            load_graph("karate"), on_progress=lambda now: told.append(now.note)
        )
    assert told == []


def test_a_fit_tells_how_far_its_preparation_is() -> None:
    told: list[tuple[float, str]] = []
    GAugM(predictor="gae", predictor_epochs=4, epochs=2).fit(
        load_graph("karate"), on_progress=lambda now: told.append((now.epochs, now.note))
    )
    before = [note for epochs, note in told if epochs == 0]
    assert [note.partition(", about")[0] for note in before[:4]] == [
        f"preparing GAug-M: {share}%" for share in (12, 25, 38, 50)
    ]
    assert told[-1][0] == 2
