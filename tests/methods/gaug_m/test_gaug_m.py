"""GAug-M: exact counts, an untouched input, one fit for many settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import Compose, NormalizeFeatures

from gaug import DropEdge, build_predictor
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.edge_predictors.config import GAEConfig, VGAEConfig
from gaug.edge_predictors.local_indices import Jaccard
from gaug.errors import ConfigError, DataError, TrainingError
from gaug.graph.edges import undirected_pairs
from gaug.graph.fingerprint import graph_hash
from gaug.graph.valid import standardize
from gaug.methods.gaug_m.method import GAugM
from gaug.training.run import computing_threads
from gaug.training.task import Task
from tests.tie_hash import tie_hash


@pytest.fixture(scope="module")
def data() -> Data:
    return planted_graph(SyntheticConfig(num_nodes=80, degree=6.0))


def pair_set(pairs: Tensor) -> set[tuple[int, ...]]:
    return {tuple(pair) for pair in pairs.t().tolist()}


@settings(max_examples=30, deadline=None)
@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from(["ra", "features", "random", "ra+features"]),
    st.sampled_from(["global", "per-node"]),
)
def test_exactly_the_asked_edges_change(
    add: float, remove: float, predictor: str, allocation: str
) -> None:
    data = planted_graph(SyntheticConfig(num_nodes=80, degree=6.0))
    before = graph_hash(data)
    better = GAugM(
        predictor=predictor, add_fraction=add, remove_fraction=remove, allocation=allocation
    )(data)
    old, new = (
        pair_set(undirected_pairs(data.edge_index)),
        pair_set(undirected_pairs(better.edge_index)),
    )
    assert pair_set(better.added_edges) == new - old
    assert pair_set(better.removed_edges) == old - new
    assert len(new - old) == math.floor(add * len(old))
    assert len(old - new) == math.floor(remove * len(old))
    assert pair_set(better.edge_index) == {(v, u) for u, v in pair_set(better.edge_index)}
    assert all(u != v for u, v in new)
    assert graph_hash(data) == before


def test_fractions_of_zero_are_the_identity(data: Data) -> None:
    better = GAugM(predictor="ra", add_fraction=0.0, remove_fraction=0.0)(data)
    assert torch.equal(better.edge_index, data.edge_index)


def test_by_hand_on_a_square_with_a_tail() -> None:
    """Square 0-1-2-3, tail 3-4: Jaccard of (0,2) and (1,3) is 1 and 2/3; 3-4 shares nothing."""
    square = Data(x=torch.eye(5), edge_index=torch.tensor([[0, 1, 2, 0, 3], [1, 2, 3, 3, 4]]))
    valid, _ = standardize(square)
    better = GAugM(predictor="jaccard", add_fraction=0.4, remove_fraction=0.2)(valid)
    assert better.added_edges.t().tolist() == [[0, 2], [1, 3]]
    torch.testing.assert_close(better.added_logits, torch.tensor([1.0, 2 / 3]))
    # All edges score 0: the tie goes to the lowest hash.
    assert better.removed_edges.t().tolist() == [[0, 3]]


def test_it_composes_with_transforms_of_pytorch_geometric(data: Data) -> None:
    dense = data.clone()
    dense.x = data.x.to_dense()
    better = Compose(
        [NormalizeFeatures(), GAugM(predictor="ra", add_fraction=0.1, remove_fraction=0.0)]
    )(dense)
    assert better.num_edges == data.num_edges + 2 * math.floor(0.1 * data.num_edges / 2)


class SmallestIds:
    """A predictor of a user's: the smaller the ids, the better."""

    fits = 0

    def fit(self, data: Data) -> SmallestIds:
        type(self).fits += 1
        return self

    def edge_logits(self, pairs: Tensor) -> Tensor:
        return -pairs.sum(dim=0).float()


def test_a_users_own_predictor_is_used(data: Data) -> None:
    better = GAugM(predictor=SmallestIds(), add_fraction=0.02, remove_fraction=0.0)(data)
    absent = sorted(
        {(u, v) for v in range(80) for u in range(v)} - pair_set(undirected_pairs(data.edge_index)),
        key=lambda pair: (sum(pair), tie_hash(pair)),
    )
    assert [tuple(pair) for pair in better.added_edges.t().tolist()] == absent[:4]


class NotANumber(SmallestIds):
    def edge_logits(self, pairs: Tensor) -> Tensor:
        return torch.full((pairs.size(1),), float("nan"))


def test_a_predictor_that_gives_no_numbers_is_refused(data: Data) -> None:
    with pytest.raises(TrainingError, match="not numbers"):
        GAugM(predictor=NotANumber(), add_fraction=0.1, remove_fraction=0.0)(data)


def test_several_settings_on_one_graph_fit_the_predictor_once(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[int] = []
    monkeypatch.setattr(Jaccard, "fit", _counting(Jaccard.fit, fits))
    fresh = planted_graph(SyntheticConfig(num_nodes=70, degree=6.0, seed=99))
    for add in (0.1, 0.5, 0.2):
        GAugM(predictor="jaccard", add_fraction=add, remove_fraction=0.1)(fresh)
    fresh.y = None  # what a predictor does not look at makes no other graph of it
    GAugM(predictor="jaccard", add_fraction=0.2, remove_fraction=0.1)(fresh)
    assert len(fits) == 1


def _counting(original: Callable[..., object], calls: list[int]) -> Callable[..., object]:
    def fit(self: object, *arguments: object, **options: object) -> object:
        calls.append(1)
        return original(self, *arguments, **options)

    return fit


def test_inference_may_be_on_the_original_graph(data: Data) -> None:
    task = Task.of(make_split(data, "stratified").apply(data))
    method = GAugM(
        predictor="ra", add_fraction=0.3, remove_fraction=0.1, inference="original"
    ).prepare(task.visible(), 0)
    run = method.start(task.visible(), torch.Generator())
    current = run.next_round(None)
    assert current is not None
    assert current.adjacency is task.adjacency
    trained_on = current.trained_on
    assert trained_on is not None
    assert trained_on.num_pairs != task.adjacency.num_pairs


def test_the_modified_graph_of_training_is_that_of_the_transform(data: Data) -> None:
    task = Task.of(make_split(data, "stratified").apply(data))
    settings = {"gae": GAEConfig(predictor_epochs=5)}
    method = GAugM(
        predictor="gae", add_fraction=0.3, remove_fraction=0.1, predictors=settings
    ).prepare(task.visible(), 0)
    better = GAugM(predictor="gae", add_fraction=0.3, remove_fraction=0.1, predictors=settings)(
        data
    )
    assert pair_set(method.adjacency_.edge_index) == pair_set(better.edge_index)


def test_fractions_of_less_than_one_edge_each_are_told(data: Data) -> None:
    task = Task.of(make_split(data, "stratified").apply(data))
    visible, less = task.visible(), 0.5 / task.adjacency.num_pairs
    run = (
        GAugM(predictor="ra", add_fraction=less, remove_fraction=less)
        .prepare(visible, 0)
        .start(visible, torch.Generator())
    )
    assert run.warning is not None
    assert run.warning.startswith("GAug-M changed no edge: add_fraction=0.00")
    assert run.warning.endswith("are less than one each. Raise one of them.")
    for fractions in ((3 * less, less), (less, 3 * less)):
        run = (
            GAugM(predictor="ra", add_fraction=fractions[0], remove_fraction=fractions[1])
            .prepare(visible, 0)
            .start(visible, torch.Generator())
        )
        assert run.warning is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"add_fraction": 1.3}, r"add_fraction must be in \[0, 1\], got 1.3"),
        ({"remove_fraction": -0.1}, r"remove_fraction must be in \[0, 1\], got -0.1"),
        ({"predictor": "gea"}, "Unknown predictor 'gea'"),
        ({"allocation": "local"}, "Unknown allocation 'local'"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        GAugM(**settings)


def test_more_additions_than_non_edges_are_refused_with_the_largest_fraction() -> None:
    pairs = torch.triu_indices(5, 5, offset=1)[:, :9]  # all but one of the ten pairs
    valid, _ = standardize(Data(x=torch.eye(5), edge_index=pairs))
    with pytest.raises(DataError, match=r"largest possible fraction is 0\.1111"):
        GAugM(predictor="random", add_fraction=0.5, remove_fraction=0.0)(valid)


def test_an_unfitted_predictor_and_pairs_out_of_range_are_refused(data: Data) -> None:
    with pytest.raises(TrainingError, match="Jaccard is not fitted yet"):
        Jaccard().top_non_edges(3)
    with pytest.raises(DataError, match="node ids from 0 to 79, got 80"):
        Jaccard().fit(data).edge_logits(torch.tensor([[0], [80]]))


def test_a_graph_of_two_nodes_has_nothing_to_add() -> None:
    valid, _ = standardize(Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]])))
    assert GAugM(predictor="ra", add_fraction=0.0, remove_fraction=1.0)(valid).num_edges == 0


def test_a_directed_graph_with_repeats_is_made_valid_with_a_warning() -> None:
    edge_index = torch.tensor([[0, 1, 1, 2, 3, 3], [1, 2, 2, 3, 0, 3]])
    raw = Data(x=torch.eye(4), edge_index=edge_index)
    with pytest.warns(UserWarning, match="Made the graph undirected"):
        better = GAugM(predictor="jaccard", add_fraction=0.25, remove_fraction=0.0)(raw)
    # A cycle of four nodes: both diagonals share two neighbors, the first is added.
    assert better.added_edges.t().tolist() == [[0, 2]]
    assert better.num_edges == 10
    assert torch.equal(raw.edge_index, edge_index)


def test_a_graph_without_features_is_enough_for_predictors_that_look_at_edges_only() -> None:
    raw = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
    with pytest.warns(UserWarning, match="undirected"):
        assert GAugM(predictor="ra", add_fraction=0.5, remove_fraction=0.0)(raw).num_edges == 8
    with pytest.raises(DataError, match="no features x"):
        GAugM(predictor="gae", add_fraction=0.5, remove_fraction=0.0)(raw)


def test_it_prints_its_settings() -> None:
    assert repr(GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.1)).startswith(
        "GAugM(predictor='ra', add_fraction=0.2, remove"
    )


def test_a_sum_takes_over_the_parts_that_were_fitted_before(monkeypatch) -> None:
    fits: list[int] = []
    fresh = planted_graph(SyntheticConfig(num_nodes=70, degree=6.0, seed=98))
    expected = build_predictor("ra+jaccard").fit(fresh).top_non_edges(20)
    monkeypatch.setattr(Jaccard, "fit", _counting(Jaccard.fit, fits))
    GAugM(predictor="jaccard", add_fraction=0.3, remove_fraction=0.1)(fresh)
    found = GAugM(predictor="ra+jaccard", add_fraction=0.3, remove_fraction=0.1)(fresh)
    assert torch.equal(found.added_edges[:, :20], expected.pairs)
    assert len(fits) == 1


def test_dense_features_come_back_dense() -> None:
    data = planted_graph(SyntheticConfig(num_nodes=60, degree=5.0, feature_density=0.05))
    data.x = data.x.to_dense()
    better = GAugM(predictor="features", add_fraction=0.2, remove_fraction=0.1)(data)
    assert better.x.layout == torch.strided
    assert torch.equal(better.x, data.x)


def test_settings_of_a_predictor_may_be_a_plain_mapping(data: Data) -> None:
    by_mapping = GAugM(predictor="gae", predictors={"gae": {"predictor_epochs": 3}})
    assert by_mapping.predictors == {"gae": GAEConfig(predictor_epochs=3)}
    with pytest.raises(ConfigError, match=r"GAugM has no predictor 'vgae'\. Its predictors: gae"):
        GAugM(predictor="gae", predictors={"vgae": {}})
    with pytest.raises(ConfigError, match=r"DropEdge has no predictor 'gae'\. Its"):
        DropEdge(predictors={"gae": {}})
    with pytest.raises(ConfigError, match=r"of predictor 'gae' must be a GAEConfig or a mapping"):
        GAugM(predictors={"gae": VGAEConfig()})
    with pytest.raises(ConfigError, match="Unknown setting 'epochs'"):
        GAugM(predictors={"gae": {"epochs": 3}})


def test_a_setting_of_a_predictor_may_be_given_by_its_name_where_that_is_unique() -> None:
    assert GAugM(embedding=5).predictors == {"gae": GAEConfig(embedding=5)}
    assert GAugM(predictor="ra+gae", embedding=5).predictors["gae"] == GAEConfig(embedding=5)
    assert repr(GAugM(embedding=5)) == "GAugM(embedding=5)"
    with pytest.raises(ConfigError, match=r"'embedding' is not unique. Write gae.embedding or"):
        GAugM(predictor="gae+vgae", embedding=5)
    with pytest.raises(ConfigError, match="Unknown setting 'embedding'"):
        GAugM(predictor="ra", embedding=5)


class _Own:
    def __init__(self, scores: Any) -> None:
        self.scores = scores

    def fit(self, data: Data) -> None:
        pass

    def edge_logits(self, pairs: torch.Tensor) -> Any:
        return self.scores(pairs)


def test_a_predictor_of_a_user_may_answer_with_numpy(data: Data) -> None:
    by_sum = GAugM(
        predictor=_Own(lambda pairs: pairs.sum(dim=0).float()),
        add_fraction=0.1,
        remove_fraction=0.0,
    )(data)
    by_numpy = GAugM(
        predictor=_Own(lambda pairs: pairs.sum(dim=0).numpy()),
        add_fraction=0.1,
        remove_fraction=0.0,
    )(data)
    assert torch.equal(by_sum.added_edges, by_numpy.added_edges)


def test_what_is_no_predictor_is_told_at_once(data: Data) -> None:
    with pytest.raises(ConfigError, match="must be an object, got the class _Own"):
        GAugM(predictor=_Own)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="object has no fit"):
        GAugM(predictor=object())  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"one score per pair \(\d+\), got shape \[3\]"):
        GAugM(predictor=_Own(lambda pairs: torch.zeros(3)))(data)


def test_a_predictor_that_looks_at_features_asks_for_them() -> None:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    with pytest.raises(DataError, match="GAE uses features, but the graph has none"):
        build_predictor("gae").fit(Data(edge_index=edges, num_nodes=3))


def test_the_omniscient_control_says_what_it_is(data: Data) -> None:
    task = Task.of(make_split(data, "stratified").apply(data))
    method = GAugM(predictor="omniscient", add_fraction=0.3, remove_fraction=0.1)
    method.prepare(task.visible(all_labels=method.looks_at_labels), 0)
    run = method.start(task.visible(), torch.Generator())
    assert run.warning is not None
    assert "labels of all nodes" in run.warning


def test_a_predictor_is_reused_by_whoever_computes_with_as_many_threads(data: Data) -> None:
    def fitted(threads: int) -> object:
        with computing_threads(threads):
            return GAugM(predictor="ra", seed=11).fit_predictor(data).predictor

    assert fitted(1) is fitted(1)
    assert fitted(2) is not fitted(1)
