"""Attention of nodes over others: over their neighbors, or over all nodes.

`attend` takes memory proportional to edges times heads, `attend_to_all` that of a block of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gaug.graph.dropout import dropout_dense
from gaug.graph.sparse import Pattern, multiply, sampled_products

_SLOPE = 0.2  # of the leaky ReLU, as published
_TINY = 1e-30  # below this a sum of exponentials has lost its precision
#: Entries over all heads up to which they attend together where no gradient is needed.
HEADS_TOGETHER = 1 << 24
_BLOCK = 1 << 19  # entries of a block of attention to all, over all heads: what a cache holds


def attend(
    pattern: Pattern,
    z: Tensor,
    target_score: Tensor,
    source_score: Tensor,
    weight: Tensor | None = None,
    dropout: float = 0.0,
) -> Tensor:
    r"""Softmax attention of each node over its row of the pattern, head by head.  [H, N, C]

    $$
    e_{ij} = w_{ij} \exp(\mathrm{LeakyReLU}(t_i + s_j)), \qquad
    o_i = \frac{\sum_j m_{ij} e_{ij} z_j}{\sum_j e_{ij}}
    $$

    with a dropout mask $m$. With $G = \partial L / \partial o$ and $T_i$ the
    denominator, the gradient of the logit is
    $e_{ij} (m_{ij} \langle G_i, z_j \rangle - \langle G_i, o_i \rangle) / T_i$: nothing
    of the size of edges times features is stored, which autograd would do.

    Args:
        pattern: Row i lists the nodes that i attends to, itself included.
        z: What is attended to.  [H, N, C]
        target_score: The attending node's part t of the logit.  [H, N]
        source_score: The attended node's part s of the logit.  [H, N]
        weight: A factor w of each entry, not negative; ones by default.  [nnz]
        dropout: Share of the attention that is dropped.

    Without gradients, heads of large graphs attend one after the other.
    """
    large = z.size(0) * pattern.nnz > HEADS_TOGETHER
    if large and z.size(0) > 1 and not dropout and not torch.is_grad_enabled():
        heads = [slice(head, head + 1) for head in range(z.size(0))]
        return torch.cat(
            [attend(pattern, z[one], target_score[one], source_score[one], weight) for one in heads]
        )
    result: Tensor = _Attend.apply(z, target_score, source_score, weight, pattern, dropout)  # type: ignore[no-untyped-call]
    return result


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        z: Tensor,
        target: Tensor,
        source: Tensor,
        weight: Tensor | None,
        pattern: Pattern,
        dropout: float,
    ) -> Tensor:
        heads, num_nodes, width = z.shape
        blocks = pattern.repeat(heads)  # all heads as one product with a block-diagonal matrix
        ones = z.new_ones(heads * num_nodes, 1)
        sums = target.index_select(1, pattern.row)
        sums += source.index_select(1, pattern.col)  # [H, nnz]
        logits = functional.leaky_relu(sums, _SLOPE)
        # Any shift gives the same softmax. The largest logit that a node could have is cheap and
        # almost always near enough; where it is not, the exact maximum is taken.
        shift = functional.leaky_relu(target + source.amax(dim=1, keepdim=True), _SLOPE)
        exponentials = (logits - shift.index_select(1, pattern.row)).exp_()
        scores = exponentials if weight is None else exponentials * weight
        total = multiply(blocks, scores.flatten(), ones)  # [H * N, 1]
        if bool((total < _TINY).any()):
            if weight is not None:  # an entry of weight 0 is not there, however large its logit
                logits = logits.masked_fill(weight == 0, -torch.inf)
            shift = torch.segment_reduce(
                logits.t().contiguous(), "max", offsets=pattern.crow, axis=0
            ).t()
            exponentials = (logits - shift.index_select(1, pattern.row)).exp_()
            scores = exponentials if weight is None else exponentials * weight
            total = multiply(blocks, scores.flatten(), ones)
        mask = dropout_dense(torch.ones_like(scores), dropout, True) if dropout else None
        dropped = scores if mask is None else scores * mask
        attended = multiply(blocks, dropped.flatten(), z.flatten(0, 1)) / total
        ctx.pattern = pattern
        ctx.save_for_backward(
            z, total, attended, exponentials, weight, mask, dropped, sums.sign_().clamp_(_SLOPE)
        )
        return attended.view(heads, num_nodes, width)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
        z, total, attended, exponentials, weight, mask, dropped, slope = ctx.saved_tensors
        pattern: Pattern = ctx.pattern
        heads, num_nodes, _ = z.shape
        blocks = pattern.repeat(heads)
        order = pattern.transpose_order
        grad = grads[0].flatten(0, 1) / total  # [H * N, C]
        dropped_back = dropped.index_select(1, order).flatten()
        grad_z = multiply(blocks.transpose, dropped_back, grad).view_as(z)
        # The gradient of each score: its own part, and its part in the denominator.
        inner = (grad * attended).sum(dim=1).view(heads, num_nodes)
        grad_scores = sampled_products(blocks, grad, z.flatten(0, 1)).view(heads, -1)
        if mask is not None:
            grad_scores *= mask
        grad_scores -= inner.index_select(1, pattern.row)
        grad_logits = grad_scores * exponentials
        grad_weight = None
        if weight is not None:
            grad_weight = grad_logits.sum(dim=0) if ctx.needs_input_grad[3] else None
            grad_logits *= weight
        grad_sums = grad_logits.mul_(slope)
        ones = z.new_ones(heads * num_nodes, 1)
        grad_target = multiply(blocks, grad_sums.flatten(), ones).view(heads, num_nodes)
        sums_back = grad_sums.index_select(1, order).flatten()
        grad_source = multiply(blocks.transpose, sums_back, ones).view(heads, num_nodes)
        return grad_z, grad_target, grad_source, grad_weight, None, None


def attend_to_all(
    weights_of: Callable[[slice], Tensor],
    z: Tensor,
    target_score: Tensor,
    source_score: Tensor,
    dropout: float = 0.0,
) -> Tensor:
    """`attend` with a weight for every pair of nodes.  [H, N, C]

    A block of nodes at a time attends; the backward pass computes each block anew.

    Args:
        weights_of: The weights of some nodes for all, as rows; those of nodes for themselves are
            not 0.
        z: What is attended to.  [H, N, C]
        target_score: The attending node's part of the logit.  [H, N]
        source_score: The attended node's part of the logit.  [H, N]
        dropout: Share of the attention that is dropped.
    """
    heads, num_nodes, _ = z.shape

    def attend_from(rows: slice) -> Tensor:
        weights = weights_of(rows)
        # A factor of an exponential is a summand of its exponent. The logarithm of 0 is filled in,
        # for its own gradient is not a number.
        positive = weights.clamp(min=torch.finfo(weights.dtype).tiny)
        log_weights = positive.log().masked_fill(weights == 0, -torch.inf)
        sums = target_score[:, rows].unsqueeze(2) + source_score.unsqueeze(1)  # [H, rows, N]
        attention = (functional.leaky_relu(sums, _SLOPE) + log_weights).softmax(dim=2)
        return dropout_dense(attention, dropout, True) @ z

    size = max(1, _BLOCK // (heads * num_nodes))
    blocks = [slice(start, start + size) for start in range(0, num_nodes, size)]
    return torch.cat([checkpoint(attend_from, rows, use_reentrant=False) for rows in blocks], dim=1)
