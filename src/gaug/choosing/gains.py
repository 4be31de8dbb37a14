r"""How much better than no augmentation, compared node by node, and how sure that is.

Two methods are compared on the same validation nodes with the same seeds, so most of the chance in
their scores is the same for both and drops out of the difference. What is left has two sources:
other validation nodes would give another gain, and so would other seeds
(`gaug.choosing.differences`).

Whether a node is right says little: one that becomes nearly right does not count, and one at the
edge counts in full. So the gain is in points of the score, but how sure it is follows from how
probable the right classes become, of which each node says more. Both must agree: a candidate whose
score by itself is not even `LIKELY` above that of no augmentation is no surer than this score is.

The best of many is best partly by chance. So the gain of each candidate, in terms of its standard
error, is compared with the largest such ratio that chance alone would give among all candidates
(Hansen's test for superior predictive ability, 2005). Candidates are correlated, because they share
nodes, seeds and the runs without augmentation; the largest ratio is simulated with these
correlations. A candidate that is clearly worse than no augmentation adds no chance of a false
discovery, and is left out of it.

Finalists have runs of their own, with new seeds and some other nodes. What put them in front is
their luck in earlier runs, and only a part of that luck is still there in the final. How large that
part is shows in the data: in how much the node effects of the earlier and of the final runs are
alike. So for finalists, the whole choice is simulated: earlier runs by chance, the best of them
chosen, and their final by chance that is correlated with the earlier runs to this degree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from gaug.choosing.differences import Difference, differences_to
from gaug.choosing.run_scores import RunScores

#: How sure the score itself must be, so that the probabilities of the right classes count.
LIKELY = 0.75
# Draws of the largest ratio that chance gives: an error of half a percent at a confidence of 95.
_DRAWS = 20_000


@dataclass(frozen=True)
class Gain:
    """The gain of a candidate over no augmentation on validation nodes.

    Attributes:
        points: Mean difference of the scores.
        error: Its standard error.
        confidence: How sure it is that the candidate predicts better, between 0 and 1, considering
            how many others were tried.
    """

    points: float
    error: float
    confidence: float

    def interval(self, share: float = 0.9) -> tuple[float, float]:
        """The interval that contains the true gain with this probability, taken by itself."""
        half = float(scipy.stats.norm.ppf((1 + share) / 2)) * self.error
        return self.points - half, self.points + half

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {"points": self.points, "error": self.error, "confidence": self.confidence}

    def __str__(self) -> str:
        return f"{self.points:+.1f} ± {self.error:.1f}"


def percent(confidence: float) -> str:
    """A confidence in words; nothing is entirely sure.

    >>> percent(0.956), percent(0.9999)
    ('96%', 'over 99%')
    """
    return f"{confidence:.0%}" if confidence < 0.995 else "over 99%"


def gains_over(plain: RunScores, others: Sequence[RunScores], seed: int = 0) -> list[Gain]:
    """The gain of each candidate, judged beside all others.

    Args:
        plain: The runs without augmentation.
        others: The runs of the candidates; each must share a run with those without augmentation.
        seed: Seed of the simulated chance.
    """
    if not others:
        return []
    (evidence,) = _by_probability(plain, others)
    largest = _Chance.of(evidence, seed).draw().max(axis=1)
    return _judged(differences_to(plain, others)[0], evidence, largest)


def gains_of_finalists(
    plain: RunScores,
    earlier: Sequence[RunScores],
    final: Mapping[int, RunScores],
    seed: int = 0,
) -> list[Gain]:
    """The gains of finalists, judged by how they were chosen.

    Args:
        plain: The runs without augmentation.
        earlier: The earlier runs of all candidates. The finalists are taken to be those best on
            average: where one of them gave way for want of time, a gain is judged too strictly.
        final: The final runs of the finalists, by the place of the candidate in ``earlier``.
        seed: Seed of the simulated chance.
    """
    if not final:
        return []
    before, after = _by_probability(plain, earlier, list(final.values()))
    alike = [before[place].likeness(one) for place, one in zip(final, after, strict=True)]
    kept = min(1.0, max(0.0, math.fsum(alike) / len(alike)))  # of the luck of earlier runs
    chance = _Chance.of(before, seed)
    first = chance.draw()
    last = kept * first + math.sqrt(1 - kept**2) * chance.draw()
    chosen = np.argsort(-first * chance.errors, axis=1)[:, : len(final)]
    largest = np.take_along_axis(last, chosen, axis=1).max(axis=1)
    return _judged(differences_to(plain, earlier, list(final.values()))[1], after, largest)


def _by_probability(plain: RunScores, *groups: Sequence[RunScores]) -> list[list[Difference]]:
    """Differences of how probable the right classes are, or of scores where that is not known."""
    known = [plain, *(one for group in groups for one in group)]
    if any(one.probabilities is None for one in known):
        return differences_to(plain, *groups)
    probable = [[one.by_probability for one in group] for group in groups]
    return differences_to(plain.by_probability, *probable)


def _judged(
    scores: Sequence[Difference], evidence: Sequence[Difference], largest: NDArray[np.float64]
) -> list[Gain]:
    """Gains with how sure they are.

    Args:
        scores: The differences of the scores.
        evidence: The differences that tell how sure they are.
        largest: Draws of the largest ratio that chance gives.
    """
    ratios = np.array([one.ratio for one in evidence])
    # The share of draws above a ratio; one more is counted, so that it is never 0.
    above = len(largest) - np.searchsorted(np.sort(largest), ratios, side="left")
    sure = 1 - (above + 1) / (len(largest) + 1)
    return [
        Gain(score.mean, score.error, _confidence(score, float(found)))
        for score, found in zip(scores, sure, strict=True)
    ]


def _confidence(score: Difference, sure: float) -> float:
    """How sure a gain is, with what the score says by itself."""
    if score.mean <= 0:
        return 0.0
    alone = float(scipy.stats.norm.cdf(score.ratio))
    return sure if alone >= LIKELY else min(sure, alone)


class _Chance:
    """Ratios that candidates have by chance if they gain nothing, correlated as they are.

    Attributes:
        errors: The standard error of each candidate.
    """

    def __init__(self, candidates: Sequence[Difference], seed: int) -> None:
        self.errors = np.array([candidate.error for candidate in candidates])
        self._generator = np.random.default_rng(seed)
        numbers = sorted({run for candidate in candidates for run in candidate.by_run})
        parts = np.array(
            [[*one.by_node, *(one.by_run.get(run, 0.0) for run in numbers)] for one in candidates]
        )  # [K, n + R]
        lengths = np.linalg.norm(parts, axis=1, keepdims=True)
        parts = np.divide(parts, lengths, out=np.zeros_like(parts), where=lengths > 0)
        correlation = parts @ parts.T
        np.fill_diagonal(correlation, 1.0)
        values, vectors = np.linalg.eigh(correlation)
        self._root = vectors * np.sqrt(np.maximum(values, 0.0))

    @classmethod
    def of(cls, candidates: Sequence[Difference], seed: int) -> _Chance:
        """The chance of those that are not clearly worse than no augmentation."""
        nodes = len(candidates[0].by_node)
        clearly_worse = -math.sqrt(2 * math.log(max(math.e, math.log(max(nodes, 3)))))
        counted = [candidate for candidate in candidates if candidate.ratio > clearly_worse]
        return cls(counted or [max(candidates, key=lambda one: one.ratio)], seed)

    def draw(self) -> NDArray[np.float64]:
        """Ratios of all candidates.  [draws, K]"""
        normal = self._generator.standard_normal((_DRAWS, len(self._root)))
        ratios: NDArray[np.float64] = normal @ self._root.T
        return ratios
