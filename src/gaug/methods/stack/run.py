"""One run of a stack: the rounds of its first part, then those of its second on the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gaug.graph.adjacency import Adjacency
from gaug.training.batch import Batch
from gaug.training.hooks import AugmentedRun, Round, RoundResult, Visible, best_round


class StackRun(AugmentedRun):
    """A run that changes the graph and then trains on variants of the changed graph.

    Args:
        visible: What the method may see.
        generator: Source of all randomness of both parts.
        first: The run of the part that changes the graph.
        known: Whether its graph is known without training.
        open_second: Opens the run of the other part, with the changed graph as the original one.
    """

    def __init__(
        self,
        visible: Visible,
        generator: torch.Generator,
        first: AugmentedRun,
        known: bool,
        open_second: Callable[[Visible], AugmentedRun],
    ) -> None:
        super().__init__(visible, generator)
        self.first = first
        self.known = known
        self.open_second = open_second
        self.second: AugmentedRun | None = None
        self._results: list[RoundResult] = []  # of the first part
        self._tested: Adjacency | None = None  # if predictions are not on the changed graph
        self._follow(first)

    def next_round(self, previous: RoundResult | None) -> Round | None:
        """The rounds of the first part, which do not count, then those of the second."""
        if self.second is None:
            following = None if self.known else self._next_of_first(previous)
            if following is not None:
                return following
            self._begin(self._changed())
            previous = None
        assert self.second is not None
        following = self.second.next_round(previous)
        return None if following is None else self._on_graphs(following)

    def training_graph(self, current: Round, batch: Batch, epoch: int) -> Adjacency:
        """The graph of the part whose turn it is."""
        return self._active.training_graph(current, batch, epoch)

    def extra_loss(self) -> Tensor | None:
        """The extra loss of the part whose turn it is."""
        return self._active.extra_loss()

    def parameters(self) -> Iterable[nn.Parameter]:
        """Those of the part whose turn it is."""
        return self._active.parameters()

    def after_step(self) -> None:
        """Tell the part whose turn it is."""
        self._active.after_step()

    def on_best(self) -> None:
        """Tell the part whose turn it is."""
        self._active.on_best()

    def log(self) -> dict[str, float]:
        """What the part whose turn it is adds to the history."""
        return self._active.log()

    def combine(self, results: Sequence[RoundResult]) -> Tensor:
        """Class probabilities of the second part; of the first if training broke before."""
        own = [result for result in results if not result.round.preliminary]
        part = self._active if own else self.first
        probabilities = part.combine(own or results)
        warnings = [self.first.warning, None if self.second is None else self.second.warning]
        self.warning = " ".join(filter(None, warnings)) or None
        return probabilities

    def graphs_of_student(self, results: Sequence[RoundResult]) -> Round:
        """Those that the second part names, as in its rounds."""
        own = [result for result in results if not result.round.preliminary]
        return self._on_graphs(self._active.graphs_of_student(own))

    def state(self) -> dict[str, Any] | None:
        """The states of both parts; None if one of them cannot be saved."""
        parts = [self.first] if self.second is None else [self.first, self.second]
        states = [part.state() for part in parts]
        if None in states:
            return None
        return {"parts": states, "warnings": [part.warning for part in parts]}

    def restore(self, state: dict[str, Any], results: Sequence[RoundResult]) -> None:
        """Go on from a saved state."""
        self._results = [result for result in results if result.round.preliminary]
        self.first.restore(state["parts"][0], self._results)
        self.first.warning = state["warnings"][0]
        if len(state["parts"]) == 2:
            self._begin(self._changed())
            assert self.second is not None
            own = [result for result in results if not result.round.preliminary]
            self.second.restore(state["parts"][1], own)
            self.second.warning = state["warnings"][1]

    @property
    def known_graphs(self) -> dict[str, Adjacency]:
        """Those of the first part."""
        return self.first.known_graphs

    @property
    def _active(self) -> AugmentedRun:
        return self.first if self.second is None else self.second

    def _next_of_first(self, previous: RoundResult | None) -> Round | None:
        if previous is not None and not previous.round.method_alone:
            self._results.append(previous)
        following = self.first.next_round(previous)
        return None if following is None else dataclasses.replace(following, preliminary=True)

    def _changed(self) -> Round:
        """The round of the first part whose graph is handed on."""
        if self.known:
            known = self.first.next_round(None)
            assert known is not None, "it has a graph to train on"
            return known
        return best_round(self._results).round

    def _on_graphs(self, own: Round) -> Round:
        """A round of the second part, with predictions where the first part makes them."""
        if self._tested is None or own.adjacency is self._tested:
            return own
        trained_on = own.adjacency if own.trained_on is None else own.trained_on
        return dataclasses.replace(own, adjacency=self._tested, trained_on=trained_on)

    def _begin(self, changed: Round) -> None:
        graph = changed.adjacency if changed.trained_on is None else changed.trained_on
        self._tested = None if graph is changed.adjacency else changed.adjacency
        self.second = self.open_second(dataclasses.replace(self.visible, adjacency=graph))
        self._follow(self.second)

    def _follow(self, part: AugmentedRun) -> None:
        self.rate_setting, self.own_model = part.rate_setting, part.own_model
