"""The three forms of the auto-encoder's loss."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from gaug.edge_predictors.edge_loss import edge_loss
from gaug.graph.adjacency import Adjacency


def random_graph(num_nodes: int, seed: int) -> Adjacency:
    generator = torch.Generator().manual_seed(seed)
    upper = (torch.rand(num_nodes, num_nodes, generator=generator) < 0.3).triu(1)
    return Adjacency.of_pairs(upper.nonzero().t(), num_nodes)


def reference(z: Tensor, adjacency: Adjacency) -> Tensor:
    """Kipf and Welling's weighted cross-entropy as it is usually written."""
    num_nodes = z.size(0)
    target = torch.eye(num_nodes, dtype=z.dtype)
    target[adjacency.edge_index[0], adjacency.edge_index[1]] = 1
    total, count = num_nodes**2, target.sum()
    weight = (total - count) / count
    norm = total / (2 * (total - count))
    return norm * functional.binary_cross_entropy_with_logits(z @ z.t(), target, pos_weight=weight)


@given(st.integers(3, 15), st.integers(1, 5), st.integers(0, 1000), st.integers(1, 20))
def test_dense_and_exact_equal_the_usual_form_in_value_and_gradient(
    num_nodes: int, width: int, seed: int, tile: int
) -> None:
    z = torch.randn(num_nodes, width, dtype=torch.float64, requires_grad=True)
    adjacency = random_graph(num_nodes, seed)
    assume(adjacency.num_pairs < num_nodes * (num_nodes - 1) // 2)
    expected = reference(z, adjacency)
    (expected_grad,) = torch.autograd.grad(expected, z)
    for form in ("dense", "exact"):
        value = edge_loss(z, adjacency, form, tile=tile)
        torch.testing.assert_close(value, expected)
        (grad,) = torch.autograd.grad(value, z)
        torch.testing.assert_close(grad, expected_grad)


@pytest.mark.parametrize("columns", [1, 4])
def test_sampled_has_the_exact_value_and_gradient_on_average(columns: int) -> None:
    """Within 5 standard errors, for the value and for each number of the gradient."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(12, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    adjacency, draws = random_graph(12, 0), 3000
    expected = edge_loss(z, adjacency, "dense")
    (expected_grad,) = torch.autograd.grad(expected, z)
    values, grads = [], []
    for _ in range(draws):
        value = edge_loss(z, adjacency, "sampled", generator, columns=columns)
        grads.append(torch.autograd.grad(value, z)[0])
        values.append(value.detach())
    for drawn, exact in ((torch.stack(values), expected), (torch.stack(grads), expected_grad)):
        error = 5 * drawn.std(dim=0) / math.sqrt(draws)
        assert bool(((drawn.mean(dim=0) - exact).abs() < error).all())


@pytest.mark.parametrize("num_nodes", [5, 200])
def test_sampled_with_a_pair_for_each_pair_is_exact(num_nodes: int) -> None:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(num_nodes, 3, generator=generator, requires_grad=True)
    adjacency = random_graph(num_nodes, 0)
    exact, sampled = (
        edge_loss(z, adjacency, form, generator, columns=num_nodes) for form in ("exact", "sampled")
    )
    torch.testing.assert_close(sampled, exact)
    grads = [torch.autograd.grad(value, z)[0] for value in (exact, sampled)]
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-6)


def test_sampled_varies_with_its_generator_alone_and_not_with_the_threads() -> None:
    z = torch.randn(400, 3, generator=torch.Generator().manual_seed(0))
    adjacency, before, values = random_graph(400, 0), torch.get_num_threads(), []
    for threads, seed in ((1, 1), (3, 1), (1, 2)):
        torch.set_num_threads(threads)
        generator = torch.Generator().manual_seed(seed)
        values.append(float(edge_loss(z, adjacency, "sampled", generator, columns=8)))
    torch.set_num_threads(before)
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert values[0] != pytest.approx(values[2], rel=1e-6)


def test_exact_survives_scores_that_overflow_an_exponential() -> None:
    z = 100 * torch.randn(6, 3, requires_grad=True)
    value = edge_loss(z, random_graph(6, 0), "exact")
    (grad,) = torch.autograd.grad(value, z)
    torch.testing.assert_close(value, edge_loss(z, random_graph(6, 0), "dense"))
    assert bool(torch.isfinite(grad).all())


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Unknown edge loss 'all'. Choose from: dense, exact"):
        edge_loss(torch.zeros(2, 1), random_graph(2, 0), "all")


def test_a_second_derivative_of_the_exact_form_is_refused_not_wrong() -> None:
    z = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    loss = edge_loss(z, random_graph(5, 0), "exact").square()
    (grad,) = torch.autograd.grad(loss, z, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()
