"""GAug-O: pretraining, joint training, its variants, what it can be asked, and what it refuses."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import pytest
import scipy.stats
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gaug import GAugO, GAugOConfig
from gaug.data.config import SplitConfig
from gaug.data.splits import make_split
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.errors import ConfigError, DataError, TrainingError
from gaug.graph.adjacency import Adjacency
from gaug.graph.sparse import SparseMatrix
from gaug.graph.valid import standardize
from gaug.methods.gaug_o.config import READINGS, VARIANTS
from gaug.methods.gaug_o.edge_encoder import EdgeEncoder, Embedding
from gaug.methods.gaug_o.run import GAugORun
from gaug.methods.gaug_o.warmup import warmed_up
from gaug.models.base import Linear
from gaug.models.config import ModuleConfig
from gaug.models.gcn import GCN
from gaug.models.registry import MODELS
from gaug.models.spec import ModelSpec
from gaug.training.config import TrainingConfig
from gaug.training.hooks import Round, RoundResult
from gaug.training.loop import RunResult, train_run
from gaug.training.progress import OnEpoch
from gaug.training.task import Task
from tests.batch_of import whole_batch

NUM_NODES = 60
SMALL: dict[str, Any] = {
    "pretrain_predictor_epochs": 10,
    "pretrain_classifier_epochs": 4,
    "edge_hidden": 16,
    "edge_embedding": 8,
    "alpha": 0.3,
}


def planted_task(*, multilabel: bool = False, num_nodes: int = NUM_NODES, **settings: Any) -> Task:
    data = planted_graph(
        SyntheticConfig(num_nodes=num_nodes, num_classes=3, degree=5.0, **settings)
    )
    if multilabel:
        first = functional.one_hot(data.y, 3)
        data.y = (first + functional.one_hot((data.y + 1) % 3, 3)).float()
    kind = "random" if multilabel else "stratified"
    return Task.of(make_split(data, kind, SplitConfig(train_fraction=0.1)).apply(data))


@pytest.fixture(scope="module")
def task() -> Task:
    return planted_task()


def config_of(**settings: Any) -> GAugOConfig:
    return GAugOConfig(**{**SMALL, **settings})


class UserModule(nn.Module):
    """A module of a user's with PyTorch Geometric's signature."""

    def __init__(self, in_features: int, num_classes: int) -> None:
        super().__init__()
        self.embed = nn.Linear(in_features, 8)
        self.conv = GCNConv(8, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.conv(self.embed(x.to_dense()).relu(), edge_index, edge_weight)


class WithoutWeights(UserModule):
    """It takes the weights of edges and leaves them aside."""

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return super().forward(x, edge_index)


MODULES = {"a user's module": UserModule, "a module without weights": WithoutWeights}


def train(
    task: Task,
    config: GAugOConfig,
    training: TrainingConfig | None = None,
    *,
    model: str = "gcn",
    seed: int = 0,
    keep_history: bool = False,
    on_progress: OnEpoch | None = None,
) -> RunResult:
    def build() -> nn.Module:
        if model in MODULES:
            return MODULES[model](task.in_features, task.num_classes)
        return ModelSpec.of(MODELS.config_type(model)(hidden=8)).build(
            task.in_features, task.num_classes
        )

    return train_run(
        task,
        build,
        GAugO(config).prepare(task.visible(), 0),
        ModuleConfig(0.01, 5e-4),
        training or TrainingConfig(epochs=8),
        seed,
        keep_history=keep_history,
        on_progress=on_progress,
    )


def run_of(result: RunResult) -> GAugORun:
    assert isinstance(result.run, GAugORun)
    return result.run


def start(task: Task, seed: int = 0, **settings: Any) -> GAugORun:
    """A run as the loop opens it, with the weights that the seed gives."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        return GAugO(config_of(**settings)).start(task.visible(), generator)


def weights_of(run: GAugORun) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in run.encoder.state_dict().items()}


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


def all_pairs(num_nodes: int = NUM_NODES) -> Tensor:
    return torch.triu_indices(num_nodes, num_nodes, offset=1)


def dense_of(adjacency: Adjacency) -> Tensor:
    dense = torch.zeros(adjacency.num_nodes, adjacency.num_nodes)
    dense[adjacency.edge_index[0], adjacency.edge_index[1]] = 1
    return dense


# Pretraining.


def reference_embeddings(task: Task, first: Tensor, second: Tensor) -> Tensor:
    """The predictor of the docstring on dense matrices: ReLU of Ã Ã X W0 W1.  [N, d]"""
    looped = dense_of(task.adjacency) + torch.eye(task.adjacency.num_nodes)
    scale = looped.sum(dim=1).rsqrt()
    normalized = scale[:, None] * looped * scale[None, :]
    assert isinstance(task.features, SparseMatrix)
    x = task.features.to_torch().to_dense()
    return (normalized @ normalized @ x @ first @ second).relu()


def pretrain(run: GAugORun, task: Task) -> Round:
    """The hooks of the epochs in which the predictor trains alone; the first round."""
    current = run.next_round(None)
    assert current is not None
    for epoch in range(1, (current.epochs or 0) + 1 if current.method_alone else 1):
        run.training_graph(current, whole_batch(task), epoch)
        loss = run.extra_loss()
        assert loss is not None
        loss.backward()
        run.after_step()
    return current


@pytest.mark.parametrize("epochs", [0, 1, 7])
def test_the_predictor_is_pretrained_by_adam_on_the_weighted_cross_entropy(
    task: Task, epochs: int
) -> None:
    run = start(task, pretrain_predictor_epochs=epochs)
    weights = [w.detach().clone() for w in (run.encoder.first, run.encoder.mean)]
    weights = [w.requires_grad_() for w in weights]
    pretrain(run, task)
    optimizer = torch.optim.Adam(weights, lr=run.config.edge_learning_rate)
    target = dense_of(task.adjacency) + torch.eye(NUM_NODES)
    positives = target.sum()
    pos_weight = (target.numel() - positives) / positives
    norm = target.numel() / (2 * (target.numel() - positives))
    for _ in range(epochs):
        optimizer.zero_grad()
        z = reference_embeddings(task, *weights)
        loss = functional.binary_cross_entropy_with_logits(z @ z.t(), target, pos_weight=pos_weight)
        (norm * loss).backward()
        optimizer.step()
    torch.testing.assert_close(run.encoder.first, weights[0], rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(run.encoder.mean, weights[1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("classifier_epochs", [0, 5])
def test_the_classifier_is_pretrained_for_the_asked_epochs_on_the_original_graph(
    task: Task, classifier_epochs: int
) -> None:
    config = config_of(pretrain_classifier_epochs=classifier_epochs)
    result = train(task, config, keep_history=True)
    assert result.epochs == classifier_epochs + 8
    assert [done.round.pretraining for done in result.rounds] == (
        [True, False] if classifier_epochs else [False]
    )
    before, after = result.history[:classifier_epochs], result.history[classifier_epochs:]
    assert all(row["edges"] == task.adjacency.num_pairs for row in before)
    assert all(row["extra_loss"] == 0 for row in before)
    assert all(row["extra_loss"] > 0 for row in after)
    assert len({row["edges"] for row in after}) > 1
    if classifier_epochs:
        assert result.rounds[1].round.keep_weights
        assert after[0]["train_loss"] < before[0]["train_loss"]


def test_pretraining_hands_on_its_best_weights_where_asked(task: Task) -> None:
    """They are the last ones of a pretraining that ends with the best epoch."""
    asked = {"pretrain_classifier_epochs": 400, "pretrain_weights": "best"}
    best = train(task, config_of(**asked), keep_history=True)
    before = best.history[:400]
    order = [(row["val_score"], -row["val_loss"]) for row in before]
    epoch = order.index(max(order)) + 1
    assert 1 < epoch < 400  # it overfits, so the choice matters
    assert best.rounds[0].best_epoch == epoch
    assert best.epochs == 400 + 8
    shorter = train(task, config_of(pretrain_classifier_epochs=epoch))
    for name, weight in shorter.rounds[0].weights.items():
        assert torch.equal(weight, best.rounds[0].weights[name])


def first_joint_epoch(run: GAugORun, task: Task) -> None:
    """The hooks of one joint epoch in the order of the loop, with the edge loss alone."""
    current = pretrain(run, task)
    while current.method_alone or current.pretraining:
        following = run.next_round(
            RoundResult(current, math.nan, math.nan, lambda *_, **__: Tensor())
        )
        assert following is not None
        current = following
    run.training_graph(dataclasses.replace(current, epochs=10), whole_batch(task), 1)
    loss = run.extra_loss()
    assert loss is not None
    loss.backward()


def test_the_predictors_optimizer_starts_afresh_after_pretraining(task: Task) -> None:
    """The first step of a fresh Adam is the learning rate in the direction of the gradient."""
    run = start(task, edge_learning_rate=0.02)
    first_joint_epoch(run, task)
    weight = run.encoder.mean
    assert weight.grad is not None
    before, grad = weight.detach().clone(), weight.grad.clone()
    run.after_step()
    expected = before - 0.02 * grad / (grad.abs() + 1e-8)
    torch.testing.assert_close(weight.detach(), expected, rtol=0, atol=1e-6)
    assert float((weight.detach() - before).abs().max()) > 0.019


def test_a_gradient_is_used_once(task: Task) -> None:
    run = start(task)
    first_joint_epoch(run, task)
    run.after_step()
    assert all(w.grad is None or not bool(w.grad.any()) for w in run.encoder.parameters())


# Joint training.


def pretrained(task: Task, **settings: Any) -> dict[str, Tensor]:
    run = start(task, **settings)
    with torch.random.fork_rng():
        pretrain(run, task)
    return weights_of(run)


@pytest.mark.parametrize("engine", ["blocked", "dense"])
@pytest.mark.parametrize("model", ["gcn", "gsage", "jknet", "gat", "a user's module"])
def test_the_classification_loss_alone_moves_the_predictor(
    task: Task, model: str, engine: str
) -> None:
    last = TrainingConfig(epochs=3, selection="last")
    moved = train(task, config_of(beta=0.0, engine=engine), last, model=model)
    assert not same(weights_of(run_of(moved)), pretrained(task, engine=engine))


@pytest.mark.parametrize("engine", ["blocked", "dense"])
def test_without_influence_and_without_edge_loss_the_predictor_stays_as_pretrained(
    task: Task, engine: str
) -> None:
    last = TrainingConfig(epochs=3, selection="last")
    config = config_of(alpha=0.0, beta=0.0, engine=engine)
    result = train(task, config, last, keep_history=True)
    assert same(weights_of(run_of(result)), pretrained(task, engine=engine))
    assert all(row["edges"] == task.adjacency.num_pairs for row in result.history)


def test_without_influence_the_edge_loss_still_trains_the_predictor(task: Task) -> None:
    last = TrainingConfig(epochs=3, selection="last")
    result = train(task, config_of(alpha=0.0, beta=1.0), last)
    assert not same(weights_of(run_of(result)), pretrained(task))


def test_the_variant_without_edge_loss_is_a_beta_of_0_to_the_last_bit(task: Task) -> None:
    without = train(task, config_of(variant="no-edge-loss", beta=2.0), keep_history=True)
    zero = train(task, config_of(beta=0.0), keep_history=True)
    full = train(task, config_of(beta=2.0))
    assert torch.equal(without.probabilities, zero.probabilities)
    assert without.history == zero.history
    assert same(weights_of(run_of(without)), weights_of(run_of(zero)))
    assert not torch.equal(without.probabilities, full.probabilities)


def test_both_engines_train_the_same_classifier(task: Task) -> None:
    """But for rounding, which a few epochs do not let grow."""
    results = [train(task, config_of(engine=name)) for name in ("blocked", "dense")]
    torch.testing.assert_close(
        results[0].probabilities, results[1].probabilities, rtol=1e-3, atol=1e-4
    )
    pairs = all_pairs()
    first, second = (run_of(result).edge_probabilities(pairs) for result in results)
    torch.testing.assert_close(first, second, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("model", [*MODELS, "a user's module"])
def test_every_model_trains_with_every_variant(task: Task, model: str, variant: str) -> None:
    config = config_of(variant=variant, alpha=0.6)
    result = train(task, config, TrainingConfig(epochs=3), model=model)
    lost = "This model uses no edges: the method gaug-o is lost on it." if model == "mlp" else None
    assert result.warning == lost
    assert bool(torch.isfinite(result.probabilities).all())


@pytest.mark.parametrize(
    ("variant", "reading"),
    [*((variant, "max-normalized") for variant in VARIANTS), ("full", "sigmoid")],
)
def test_a_module_without_edge_weights_is_told_that_the_predictor_learns_nothing_of_it(
    task: Task, variant: str, reading: str
) -> None:
    config = config_of(variant=variant, alpha=0.6, edge_probability=reading)
    result = train(task, config, model="a module without weights")
    if variant == "random":  # which learns nothing anyway
        assert result.warning is None
    else:
        assert result.warning is not None
        assert "did not reach GAug-O's edge predictor" in result.warning


def test_it_trains_where_a_node_has_several_labels() -> None:
    task = planted_task(multilabel=True)
    result = train(task, config_of(), TrainingConfig(epochs=60), keep_history=True)
    assert result.test_score is not None
    assert result.test_score > 50
    assert result.history[-1]["edges"] > 0
    assert "intra_edges" not in result.history[-1]


def test_what_it_learns_joins_nodes_of_one_class() -> None:
    task = planted_task(num_nodes=120, homophily=0.8)
    config = config_of(pretrain_predictor_epochs=60)
    run = run_of(train(task, config, TrainingConfig(epochs=30)))
    u, v = pairs = all_pairs(120)
    p = run.edge_probabilities(pairs)
    new = dense_of(task.adjacency)[u, v] == 0
    alike = task.labels[u] == task.labels[v]
    assert float(p[new & alike].mean()) > 1.5 * float(p[new & ~alike].mean())


@pytest.mark.parametrize("beta", [0.0, 1.0])
@pytest.mark.parametrize("engine", ["blocked", "sparse"])
@pytest.mark.parametrize("model", ["gae", "vgae"])
def test_the_same_seed_gives_the_same_run_with_and_without_history(
    task: Task, model: str, engine: str, beta: float
) -> None:
    config = config_of(edge_model=model, engine=engine, beta=beta)
    first, second = (train(task, config, keep_history=kept) for kept in (True, False))
    other = train(task, config, seed=1)
    assert torch.equal(first.probabilities, second.probabilities)
    assert same(weights_of(run_of(first)), weights_of(run_of(second)))
    assert not torch.equal(first.probabilities, other.probabilities)


# The variants.


def test_random_edges_learn_nothing_and_are_as_many_as_the_graph_has(task: Task) -> None:
    result = train(task, config_of(variant="random"), TrainingConfig(epochs=100), keep_history=True)
    run = run_of(result)
    assert same(weights_of(run), weights_of(start(task)))
    assert all(row["extra_loss"] == 0 for row in result.history)
    p = run.edge_probabilities(all_pairs()).double()
    assert float(p.sum()) == pytest.approx(task.adjacency.num_pairs, rel=1e-5)
    joint = [row["edges"] for row in result.history if row["epoch"] > 4]
    # 100 sums of independent pairs: their mean is within 5 standard errors.
    error = float((p * (1 - p)).sum().sqrt()) / math.sqrt(len(joint))
    assert abs(sum(joint) / len(joint) - task.adjacency.num_pairs) < 5 * error
    assert len(set(joint)) > 1


def test_random_edges_are_as_likely_by_either_reading(task: Task) -> None:
    """The reading is of learned scores, and there are none."""
    pairs = all_pairs()
    p = [
        run_of(
            train(task, config_of(variant="random", edge_probability=reading))
        ).edge_probabilities(pairs)
        for reading in READINGS
    ]
    assert torch.equal(*p)


def test_random_edges_know_every_other_pair_alike(task: Task) -> None:
    u, v = pairs = all_pairs()
    p = start(task, variant="random").edge_probabilities(pairs)
    known = dense_of(task.adjacency)[u, v] == 1
    share = task.adjacency.num_pairs / u.numel()
    torch.testing.assert_close(p[~known], torch.full_like(p[~known], 0.3 * share))
    torch.testing.assert_close(p[known], torch.full_like(p[known], 0.7 + 0.3 * share))


def test_rounding_joins_the_pairs_above_one_half_each_time(task: Task) -> None:
    result = train(task, config_of(variant="rounding", alpha=0.9))
    run = run_of(result)
    pairs = all_pairs()
    p = run.edge_probabilities(pairs)
    expected = {tuple(pair) for pair in pairs[:, p > 0.5].t().tolist()}
    for _ in range(2):
        graph = run.sample_graph()
        assert {(u, v) for u, v in graph.edge_index.t().tolist() if u < v} == expected
    assert expected


def test_without_sampling_the_history_counts_no_edges_and_the_graph_has_all_pairs(
    task: Task,
) -> None:
    result = train(task, config_of(variant="no-sampling"), keep_history=True)
    assert "edges" not in result.history[-1]
    run = run_of(result)
    graph = run.sample_graph()
    torch.testing.assert_close(graph.edge_weight, run.edge_probabilities(graph.edge_index))
    listed = torch.zeros(NUM_NODES, NUM_NODES)
    listed[graph.edge_index[0], graph.edge_index[1]] = 1
    u, v = pairs = all_pairs()
    assert torch.equal(listed[u, v] == 1, run.edge_probabilities(pairs) > 0)


# The warm-up.


def test_the_predictors_learning_rate_follows_the_warm_up(task: Task) -> None:
    config = config_of(warmup=3.0, edge_learning_rate=0.02)
    result = train(task, config, TrainingConfig(epochs=6), keep_history=True)
    rates = [row["edge_learning_rate"] for row in result.history[4:]]
    assert rates == pytest.approx([0.02 * warmed_up(epoch, 6, 3.0) for epoch in range(1, 7)])


def test_the_first_epoch_of_a_warm_up_leaves_the_predictor_as_pretrained(task: Task) -> None:
    run = start(task, warmup=3.0)
    first_joint_epoch(run, task)
    run.after_step()
    assert same(weights_of(run), pretrained(task))


# What is logged.


def test_the_history_has_the_edge_loss_and_how_well_edges_are_told_from_other_pairs(
    task: Task,
) -> None:
    result = train(task, config_of(beta=2.0), keep_history=True)
    assert all("edge_auc" not in row for row in result.history[:4])
    for row in result.history[4:]:
        assert row["extra_loss"] == pytest.approx(2 * row["edge_loss"], rel=1e-5)
        assert 0.5 < row["edge_auc"] <= 1
        assert row["edges"] == row["intra_edges"] + row["inter_edges"]


def joined_by(task: Task, pairs: Tensor) -> Task:
    """The same nodes with other edges."""
    return dataclasses.replace(task, adjacency=Adjacency.of_pairs(pairs, NUM_NODES))


@pytest.mark.parametrize("settings", [{"beta": 0.0}, {"variant": "no-edge-loss"}], ids=str)
def test_the_history_has_the_edge_loss_where_it_does_not_count(
    task: Task, settings: dict[str, Any]
) -> None:
    def history(**settings: Any) -> list[dict[str, float]]:
        config = config_of(pretrain_classifier_epochs=0, **settings)
        return train(task, config, keep_history=True).history

    told, counted = history(**settings), history(beta=1e-30)
    assert [row["extra_loss"] for row in told] == [0.0] * len(told)
    assert [row["edge_loss"] for row in told] == pytest.approx(
        [row["edge_loss"] for row in counted], rel=1e-3
    )


def test_where_all_pairs_are_edges_there_is_no_edge_auc(task: Task) -> None:
    whole = joined_by(task, all_pairs())
    history = train(whole, config_of(), TrainingConfig(epochs=2), keep_history=True).history
    assert "edge_loss" in history[-1]
    assert "edge_auc" not in history[-1]


def test_nothing_is_logged_where_no_history_is_kept(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def log(run: GAugORun) -> dict[str, float]:
        calls.append(1)
        return {}

    monkeypatch.setattr(GAugORun, "log", log)
    train(task, config_of())
    assert not calls
    train(task, config_of(), keep_history=True)
    assert len(calls) == 4 + 8


# Inference, and what a run can be asked.


def test_inference_is_on_the_original_graph(task: Task) -> None:
    result = train(task, config_of())
    joint = result.rounds[-1]
    assert joint.round.adjacency is task.adjacency
    assert torch.equal(result.probabilities, joint.predict(task.adjacency))


@pytest.mark.parametrize(
    ("reading", "model"), [("max-normalized", "gae"), ("sigmoid", "gae"), ("sigmoid", "vgae")]
)
def test_edge_probabilities_are_those_of_the_best_epochs_predictor(
    task: Task, reading: str, model: str
) -> None:
    config = config_of(edge_probability=reading, edge_model=model)
    best = train(task, config, TrainingConfig(epochs=60))
    assert best.best_epoch < 60
    there = train(task, config, TrainingConfig(epochs=best.best_epoch, selection="last"))
    pairs = all_pairs()
    p = run_of(best).edge_probabilities(pairs)
    assert torch.equal(p, run_of(there).edge_probabilities(pairs))
    further = train(task, config, TrainingConfig(epochs=60, selection="last"))
    assert not torch.equal(p, run_of(further).edge_probabilities(pairs))


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("reading", ["max-normalized", "sigmoid"])
def test_edge_probabilities_are_the_formula_symmetric_and_0_on_the_diagonal(
    task: Task, reading: str, alpha: float
) -> None:
    run = run_of(train(task, config_of(alpha=alpha, edge_probability=reading)))
    node = torch.arange(NUM_NODES)
    pairs = torch.cartesian_prod(node, node).t()
    p = run.edge_probabilities(pairs).view(NUM_NODES, NUM_NODES)
    assert float(p.min()) >= 0
    assert float(p.max()) <= 1
    assert torch.equal(p, p.t())
    assert not bool(p.diagonal().any())
    with torch.no_grad():
        z = run.encoder.eval()(task.features, task.adjacency).z
    scores = z @ z.t()
    learned = scores.sigmoid() if reading == "sigmoid" else scores / scores.max()
    expected = alpha * learned + (1 - alpha) * dense_of(task.adjacency)
    expected.fill_diagonal_(0)
    torch.testing.assert_close(p, expected)


def test_sampled_graphs_have_the_frequencies_of_the_edge_probabilities() -> None:
    """By an exact binomial test of each pair, 1e-4 for all together."""
    task = planted_task(num_nodes=33)
    run = run_of(train(task, config_of(alpha=0.8)))
    u, v = pairs = all_pairs(33)
    p = run.edge_probabilities(pairs)
    draws, total = 300, torch.zeros(33, 33)
    for _ in range(draws):
        graph = run.sample_graph()
        total[graph.edge_index[0], graph.edge_index[1]] += 1
    assert torch.equal(total, total.t())
    for count, share in zip(total[u, v].tolist(), p.tolist(), strict=True):
        assert scipy.stats.binomtest(int(count), draws, share).pvalue > 1e-4 / p.numel()


def test_a_sampled_graph_is_a_valid_graph_without_weights(task: Task) -> None:
    graph = run_of(train(task, config_of())).sample_graph()
    assert isinstance(graph, Data)
    valid, notes = standardize(graph, require_features=False)
    assert not notes
    assert torch.equal(valid.edge_index, graph.edge_index)
    assert graph.num_nodes == NUM_NODES
    assert "edge_weight" not in graph


def test_no_pairs_have_no_probabilities(task: Task) -> None:
    assert start(task).edge_probabilities(torch.empty(2, 0, dtype=torch.long)).shape == (0,)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (torch.tensor([0, 1]), r"pairs must have shape \[2, n\], got \[2\]"),
        (torch.tensor([[0], [60]]), r"pairs must hold node ids from 0 to 59, got 60"),
        (torch.tensor([[-1], [3]]), r"pairs must hold node ids from 0 to 59, got -1"),
        (torch.tensor([[0.0], [3.0]]), r"pairs must hold whole numbers, got torch.float32"),
    ],
)
def test_pairs_that_are_none_are_refused(task: Task, pairs: Tensor, message: str) -> None:
    with pytest.raises(DataError, match=message):
        start(task).edge_probabilities(pairs)


@pytest.mark.parametrize("variant", ["full", "random"])
def test_progress_counts_every_epoch_of_both_halves(task: Task, variant: str) -> None:
    config = config_of(variant=variant)
    told: list[float] = []
    result = train(task, config, on_progress=lambda now: told.append(now.epochs))
    of_the_predictor = 0 if variant == "random" else config.pretrain_predictor_epochs
    assert told == list(range(1, GAugO(config).max_epochs(8) + 1))
    assert result.epochs == len(told) - of_the_predictor == 12


def test_progress_never_exceeds_its_total_if_the_predictor_is_pretrained_again(task: Task) -> None:
    config = config_of(edge_learning_rate=10.0)
    told: list[float] = []
    result = train(task, config, on_progress=lambda now: told.append(now.epochs))
    assert run_of(result).encoder.input_scale is not None
    again = list(range(1, config.pretrain_predictor_epochs + 1))
    assert told == again + list(range(1, GAugO(config).max_epochs(8) + 1))


# What goes wrong.


@pytest.mark.parametrize("variant", ["full", "rounding", "no-sampling"])
@pytest.mark.parametrize("engine", ["blocked", "dense"])
def test_a_predictor_that_knows_nothing_leaves_the_graph_with_its_share_and_no_nan(
    task: Task, engine: str, variant: str
) -> None:
    """Features of zeros give embeddings of zeros, whose greatest score is 0."""
    blank = dataclasses.replace(task, features=torch.zeros(NUM_NODES, 4))
    alpha = 0.3 if variant != "rounding" else 0.7
    result = train(blank, config_of(engine=engine, variant=variant, alpha=alpha))
    assert result.warning is not None
    assert "has learned nothing" in result.warning
    assert bool(torch.isfinite(result.probabilities).all())
    u, v = pairs = all_pairs()
    p = run_of(result).edge_probabilities(pairs)
    torch.testing.assert_close(p, (1 - alpha) * dense_of(task.adjacency)[u, v])


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("edge_model", ["gae", "vgae"])
def test_either_predictor_learns_to_tell_edges_by_either_reading(
    task: Task, edge_model: str, reading: str
) -> None:
    config = config_of(
        edge_model=edge_model, edge_probability=reading, pretrain_predictor_epochs=60
    )
    result = train(task, config, keep_history=True)
    assert result.warning is None
    assert min(row["edge_auc"] for row in result.history if "edge_auc" in row) > 0.65


def test_one_that_dies_in_pretraining_starts_again_with_scaled_features(task: Task) -> None:
    config = config_of(edge_learning_rate=10.0)
    result = train(task, config)
    run = run_of(result)
    assert result.warning is None
    assert run.encoder.input_scale is not None
    assert bool(run.learned_edges().prepared.any())
    again = run_of(train(task, config))
    assert torch.equal(again.learned_edges().prepared, run.learned_edges().prepared)


def test_one_that_learns_takes_features_as_they_are(task: Task) -> None:
    assert run_of(train(task, config_of())).encoder.input_scale is None


def test_a_predictor_that_dies_of_its_learning_rate_says_so(task: Task) -> None:
    """A large step makes every embedding negative, and the ReLU leaves no way back."""
    dead = train(task, config_of(edge_learning_rate=10.0, pretrain_predictor_epochs=0))
    assert dead.warning is not None
    assert "no better than chance. Scale features by column" in dead.warning
    assert dead.warning.endswith("or lower edge_learning_rate.")
    assert train(task, config_of()).warning is None


def test_a_predictor_to_which_all_pairs_are_the_same_says_so_if_it_was_to_tell_edges(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = EdgeEncoder.forward

    def forward(*inputs: Any) -> Embedding:
        embedding = whole(*inputs)
        return embedding._replace(z=embedding.z * 0 + 1)

    monkeypatch.setattr(EdgeEncoder, "forward", forward)
    told = train(task, config_of(beta=1.0)).warning
    assert told is not None
    assert "no better than chance" in told
    assert train(task, config_of(beta=0.0)).warning is None


@pytest.mark.parametrize(
    "training",
    [TrainingConfig(epochs=1), TrainingConfig(epochs=5, selection="last")],
    ids=["one epoch", "the last of five"],
)
def test_a_predictor_that_ends_without_numbers_says_so(
    task: Task, training: TrainingConfig
) -> None:
    broken = train(
        task,
        config_of(edge_probability="sigmoid", edge_learning_rate=1e25, pretrain_predictor_epochs=0),
        training,
    )
    assert bool(run_of(broken).edge_probabilities(all_pairs()).isnan().any())
    assert broken.warning is not None
    assert "edge predictor is broken" in broken.warning
    if training.epochs > 1:
        assert "The loss became nan in epoch 2" in broken.warning
        assert "method nan" in broken.warning
    assert broken.warning.count("Try a lower edge_learning_rate.") == training.epochs // 5 + 1


def test_a_predictor_that_broke_in_the_best_epoch_is_not_kept(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Validation, on the original graph, does not notice."""
    whole = train(task, config_of(), TrainingConfig(epochs=5))
    assert whole.best_epoch > 1
    steps = itertools.count(1)
    step = GAugORun.after_step

    current: list[Round] = []
    training_graph = GAugORun.training_graph

    def watched(run: GAugORun, now: Round, *others: Any) -> Adjacency:
        current[:] = [now]
        return training_graph(run, now, *others)

    def after_step(run: GAugORun) -> None:
        step(run)
        in_pretraining = run._embedding is None or current[0].method_alone
        if not in_pretraining and next(steps) == whole.best_epoch:
            nn.init.constant_(run.encoder.first, math.nan)

    monkeypatch.setattr(GAugORun, "training_graph", watched)
    monkeypatch.setattr(GAugORun, "after_step", after_step)
    broken = train(task, config_of(), TrainingConfig(epochs=50))
    assert broken.best_epoch == whole.best_epoch
    assert bool(torch.isfinite(run_of(broken).edge_probabilities(all_pairs())).all())


class Breaking:
    """The encoder, whose embeddings are not numbers from a certain call on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, whole_calls: int) -> None:
        whole = EdgeEncoder.forward
        self.calls = 0

        def forward(encoder: EdgeEncoder, *inputs: Any) -> Embedding:
            self.calls += encoder.training
            embedding = whole(encoder, *inputs)
            if encoder.training and self.calls > whole_calls:
                return embedding._replace(z=embedding.z * math.nan)
            return embedding

        monkeypatch.setattr(EdgeEncoder, "forward", forward)


@pytest.mark.parametrize("engine", ["blocked", "dense"])
@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_a_predictor_that_breaks_in_joint_training_stops_it_and_keeps_the_best_epoch(
    task: Task, monkeypatch: pytest.MonkeyPatch, beta: float, engine: str
) -> None:
    config = config_of(beta=beta, engine=engine)
    whole = train(task, config, TrainingConfig(epochs=5))
    Breaking(monkeypatch, whole_calls=10 + 5)
    broken = train(task, config, TrainingConfig(epochs=50))
    assert broken.warning is not None
    assert "The loss became nan in epoch 6" in broken.warning
    assert "method nan" in broken.warning
    assert "kept the best weights so far" in broken.warning
    either = " or learning_rate" if engine == "dense" else ""  # where the classification breaks
    assert broken.warning.endswith(f"Try a lower edge_learning_rate{either}.")
    assert broken.best_epoch == whole.best_epoch
    assert torch.equal(broken.probabilities, whole.probabilities)
    assert same(weights_of(run_of(broken)), weights_of(run_of(whole)))
    pairs = all_pairs()
    assert torch.equal(
        run_of(broken).edge_probabilities(pairs), run_of(whole).edge_probabilities(pairs)
    )


def test_a_predictor_that_breaks_in_its_pretraining_is_an_error_with_the_epoch(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    Breaking(monkeypatch, whole_calls=3)
    message = (
        r"The edge predictor's loss became nan in epoch 4 of its pretraining."
        r" Try a lower edge_learning_rate."
    )
    with pytest.raises(TrainingError, match=message):
        train(task, config_of())


def test_a_classifier_that_breaks_in_its_pretraining_is_an_error_with_the_epoch(
    task: Task,
) -> None:
    def build() -> nn.Module:
        model = ModelSpec.of(MODELS.config_type("gcn")(hidden=8)).build(
            task.in_features, task.num_classes
        )
        assert isinstance(model, GCN)
        first = model.layers[0]
        assert isinstance(first, Linear)
        nn.init.constant_(first.weight, math.inf)
        return model

    method = GAugO(config_of())
    with pytest.raises(TrainingError, match="The loss became nan in epoch 1 of pretraining"):
        train_run(task, build, method, ModuleConfig(0.01, 0.0), TrainingConfig(), 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, "temperature must be above 0, got 0"),
        ({"temperature": -1.0}, "temperature must be above 0, got -1"),
        ({"alpha": -0.1}, r"alpha must be in \[0, 1\], got -0.1"),
        ({"alpha": 1.1}, r"alpha must be in \[0, 1\], got 1.1"),
        ({"beta": -0.5}, "beta must be at least 0, got -0.5"),
        ({"beta": math.nan}, "beta must be finite, got nan"),
        ({"warmup": -1.0}, "warmup must be at least 0, got -1"),
        ({"pretrain_predictor_epochs": -1}, "pretrain_predictor_epochs must be at least 0, got -1"),
        ({"edge_learning_rate": 0.0}, "edge_learning_rate must be above 0, got 0"),
        ({"variant": "all"}, "Unknown variant 'all'. Choose from: full, no-edge-loss"),
        ({"engine": "gpu"}, "Unknown engine 'gpu'. Choose from: auto, blocked, dense, sparse"),
        ({"edge_model": "ra"}, "Unknown edge_model 'ra'. Choose from: gae, vgae"),
        (
            {"variant": "no-sampling", "edge_probability": "sigmoid"},
            "variant=no-sampling needs edge_probability=max-normalized, got 'sigmoid'",
        ),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        GAugOConfig(**settings)


def test_a_graph_without_edges_is_refused(task: Task) -> None:
    none = Adjacency.of_pairs(torch.empty(2, 0, dtype=torch.long), NUM_NODES)
    bare = dataclasses.replace(task.visible(), adjacency=none)
    with pytest.raises(DataError, match="GAug-O learns from edges, but this graph has none"):
        GAugO().prepare(bare, 0)


def test_a_weighted_graph_is_refused(task: Task) -> None:
    data = task.adjacency.to_data()
    data.edge_weight = torch.rand(data.num_edges)
    weighted = dataclasses.replace(task.visible(), adjacency=Adjacency.of(data))
    with pytest.raises(DataError, match=r"this graph has edge weights. Leave them out"):
        GAugO().prepare(weighted, 0)


def test_a_run_that_samples_the_original_graph_says_so(task: Task) -> None:
    warning = GAugO(config_of(alpha=0.0)).start(task.visible(), torch.Generator()).warning
    assert warning is not None
    assert warning.startswith("GAug-O changed no edge: with alpha=0")
    assert GAugO(config_of(alpha=0.1)).start(task.visible(), torch.Generator()).warning is None


@pytest.mark.parametrize("reading", ["max-normalized", "sigmoid"])
def test_rounding_that_can_change_no_edge_says_so(task: Task, reading: str) -> None:
    last = TrainingConfig(epochs=3, selection="last")

    def trained(alpha: float) -> RunResult:
        config = config_of(variant="rounding", alpha=alpha, edge_probability=reading)
        return train(task, config, last, keep_history=True)

    same, other = trained(0.49), trained(0.9)
    assert same.warning is not None
    assert same.warning.startswith("GAug-O changed no edge: with alpha=0.49")
    assert all(row["edges"] == task.adjacency.num_pairs for row in same.history)
    assert other.warning is None
    assert other.history[-1]["edges"] != task.adjacency.num_pairs
