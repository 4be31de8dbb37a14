"""The state of a run as plain values and tensors, and back.

A round's graph is saved by name if every start of the run has it, and as a list of edges otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gaug.graph.adjacency import Adjacency
from gaug.training.best_epoch import BestEpoch
from gaug.training.hooks import Round
from gaug.training.stage import Stage

if TYPE_CHECKING:
    from gaug.training.trainer import Trainer


def pack(trainer: Trainer, stage: Stage) -> dict[str, Any] | None:
    """The state at the end of an epoch; None if the method cannot be saved."""
    own = trainer.run.state()
    if own is None:
        return None
    graphs = _SavedGraphs(trainer.run.known_graphs)
    best = stage.best
    state: dict[str, Any] = {
        "run": own,
        "run_warning": trainer.run.warning,
        "results": [
            {
                "round": _packed_round(result.round, graphs),
                "val_score": result.val_score,
                "val_loss": result.val_loss,
                "weights": dict(result.weights),
                "best_epoch": result.best_epoch,
            }
            for result in trainer.results
        ],
        "round": _packed_round(stage.round, graphs),
        "number": stage.number,
        "done": stage.done,
        "interval": stage.interval,
        "teacher": stage.teacher,
        "best": [best.score, best.loss, best.epoch, best.state],
        "model": None if trainer.model is None else trainer.model.state_dict(),
        "optimizer": None if stage.optimizer is None else stage.optimizer.state_dict(),
        "history": trainer.history,
        "epochs": trainer.epochs,
        "own_epochs": trainer.own_epochs,
        "seconds": trainer.seconds,
        "random": _random_state(trainer),
    }
    return {**state, "graphs": graphs.saved}


def unpack(trainer: Trainer, state: dict[str, Any]) -> Stage:
    """Set a new trainer to a saved state, and return its round under way."""
    device = trainer.task.labels.device
    graphs = _restored_graphs(state["graphs"], trainer)
    if state["model"] is not None:
        trainer.model = trainer.build().to(device)
        trainer.model.load_state_dict(state["model"])
    for saved in state["results"]:
        weights = {name: value.to(device) for name, value in saved["weights"].items()}
        trainer.results.append(
            trainer.result_of(
                _unpacked_round(saved["round"], graphs),
                saved["val_score"],
                saved["val_loss"],
                weights,
                saved["best_epoch"],
            )
        )
    trainer.history = state["history"]
    trainer.epochs, trainer.own_epochs = state["epochs"], state["own_epochs"]
    trainer.earlier_seconds = state["seconds"]
    current, number = _unpacked_round(state["round"], graphs), state["number"]
    trainer.rounds = number + 1
    optimizer = None
    if state["optimizer"] is not None:
        optimizer = trainer.new_optimizer()
        optimizer.load_state_dict(state["optimizer"])
    best = BestEpoch()
    best.score, best.loss, best.epoch, best.state = state["best"]
    trainer.run.restore(state["run"], trainer.of_method)
    trainer.run.warning = state["run_warning"]
    batches = trainer.new_batches(current, number)
    _set_random_state(trainer, state["random"])  # last: building a model draws numbers
    teacher = state.get("teacher")
    return Stage(
        current,
        number,
        batches,
        optimizer,
        best,
        state["done"],
        state["interval"],
        None if teacher is None else teacher.to(device),
    )


class _SavedGraphs:
    """Graphs by reference: the name of a known one, or the place of a saved one."""

    def __init__(self, known: Mapping[str, Adjacency]) -> None:
        self._names = {id(graph): name for name, graph in known.items()}
        self._places: dict[int, int] = {}
        self.saved: list[dict[str, Tensor | None]] = []

    def reference(self, graph: Adjacency) -> str | int:
        if id(graph) in self._names:
            return self._names[id(graph)]
        if id(graph) not in self._places:
            self._places[id(graph)] = len(self.saved)
            self.saved.append({"pairs": graph.pairs.cpu(), "weight": graph.weight})
        return self._places[id(graph)]


def _restored_graphs(
    saved: list[dict[str, Tensor | None]], trainer: Trainer
) -> dict[str | int, Adjacency]:
    device = trainer.task.labels.device
    graphs: dict[str | int, Adjacency] = dict(trainer.run.known_graphs.items())
    for place, parts in enumerate(saved):
        pairs, weight = parts["pairs"], parts["weight"]
        assert pairs is not None
        bare = Adjacency.of_pairs(pairs, trainer.task.adjacency.num_nodes)
        graphs[place] = Adjacency(bare.pattern, weight, symmetric=True).to(device)
    return graphs


def _packed_round(one: Round, graphs: _SavedGraphs) -> dict[str, Any]:
    return {
        **{name: getattr(one, name) for name in _PLAIN},
        "adjacency": graphs.reference(one.adjacency),
        "trained_on": None if one.trained_on is None else graphs.reference(one.trained_on),
    }


def _unpacked_round(saved: dict[str, Any], graphs: dict[str | int, Adjacency]) -> Round:
    return Round(
        graphs[saved["adjacency"]],
        None if saved["trained_on"] is None else graphs[saved["trained_on"]],
        **{name: saved[name] for name in _PLAIN if name in saved},
    )


_PLAIN = (
    *("epochs", "keep_weights", "pretraining", "keep_best", "method_alone", "preliminary"),
    "student",
)


def _random_state(trainer: Trainer) -> dict[str, Tensor | None]:
    device = trainer.task.labels.device
    return {
        "cpu": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
        "method": trainer.run.generator.get_state(),
    }


def _set_random_state(trainer: Trainer, saved: dict[str, Tensor | None]) -> None:
    cpu, cuda, method = saved["cpu"], saved["cuda"], saved["method"]
    assert cpu is not None
    assert method is not None
    torch.set_rng_state(cpu)
    if cuda is not None:
        torch.cuda.set_rng_state(cuda, trainer.task.labels.device)
    trainer.run.generator.set_state(method)
