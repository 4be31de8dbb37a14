"""The loss of the classifier in one step, which may pass over the graph several times."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gaug.training.batch import Batch
from gaug.training.config import TrainingConfig
from gaug.training.consistency import consistency_loss
from gaug.training.loss import classification_loss
from gaug.training.students import distillation_loss


def step_loss(
    passes: Sequence[Tensor],
    batch: Batch,
    config: TrainingConfig,
    share: float,
    teacher: Tensor | None = None,
) -> Tensor:
    """The mean loss of the training nodes, how far several passes disagree, and with a teacher.

    The weight of their disagreement rises with the share of the epochs done: at first it would
    draw all nodes into one class.

    Args:
        passes: The class scores of each pass.  K × [N, C]
        batch: The nodes of the step, with the labels of its training nodes.
        config: Weight and temperature of consistency, and the weight of a teacher.
        share: Share of the epochs done, in [0, 1].
        teacher: What the teacher of a student predicts for the nodes of the step.  [N, C]
    """
    losses = [classification_loss(logits[batch.seeds], batch.labels) for logits in passes]
    loss = losses[0] if len(losses) == 1 else torch.stack(losses).mean()
    multilabel = batch.labels.dim() == 2
    if len(passes) > 1:
        apart = consistency_loss(passes, config.consistency_temperature, multilabel)
        loss = loss + share * config.consistency_weight * apart
    if teacher is not None:
        loss = loss + config.student_weight * distillation_loss(passes, teacher, multilabel)
    return loss
