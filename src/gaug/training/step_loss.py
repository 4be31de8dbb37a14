"""The loss of the classifier in one step, which may pass over the graph several times."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gaug.training.batch import Batch
from gaug.training.config import TrainingConfig
from gaug.training.consistency import consistency_loss
from gaug.training.loss import classification_loss


def step_loss(
    passes: Sequence[Tensor], batch: Batch, config: TrainingConfig, share: float
) -> Tensor:
    """The mean loss of the training nodes, and how far several passes disagree.

    The weight of their disagreement rises with the share of the epochs done: at first it would
    draw all nodes into one class.

    Args:
        passes: The class scores of each pass.  K × [N, C]
        batch: The nodes of the step, with the labels of its training nodes.
        config: Weight and temperature of consistency.
        share: Share of the epochs done, in [0, 1].
    """
    losses = [classification_loss(logits[batch.seeds], batch.labels) for logits in passes]
    if len(losses) == 1:
        return losses[0]
    multilabel = batch.labels.dim() == 2
    apart = consistency_loss(passes, config.consistency_temperature, multilabel)
    return torch.stack(losses).mean() + share * config.consistency_weight * apart
