"""Gains over no augmentation: their errors by hand and by simulation, and what many tries cost."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats

from gaug.choosing.gains import Gain, gains_of_finalists, gains_over
from gaug.choosing.run_scores import RunScores


def scores_of(nodes: np.ndarray, first: int = 0) -> RunScores:
    runs = tuple(range(first, first + len(nodes)))
    return RunScores(runs, tuple(np.nanmean(nodes, axis=1)), nodes.astype(float))


def gain_of(difference: np.ndarray) -> Gain:
    """The gain of a single candidate with these differences."""
    return gains_over(scores_of(np.zeros_like(difference)), [scores_of(difference)])[0]


def simulated(
    rng: np.random.Generator, candidates: int, runs: int = 5, nodes: int = 200, gain: float = 0.0
) -> list[Gain]:
    """Candidates with effects of nodes, partly shared, of runs and of both; the first one gains."""
    shared = rng.normal(size=nodes)
    others = []
    for number in range(candidates):
        of_nodes = 15 * (shared + rng.normal(size=nodes)) / math.sqrt(2)
        of_runs = 0.5 * rng.normal(size=(runs, 1))
        values = of_nodes + of_runs + 20 * rng.normal(size=(runs, nodes))
        others.append(scores_of(values + (gain if number == 0 else 0.0)))
    return gains_over(scores_of(np.zeros((runs, nodes))), others)


def test_the_error_has_a_part_of_nodes_and_a_part_of_runs():
    """Compared with an analysis of variance by hand of two runs and three nodes."""
    x = np.array([[0.0, 100.0, 50.0], [10.0, 80.0, 90.0]])
    nodes, runs, mean = x.mean(axis=0), x.mean(axis=1), x.mean()
    of_nodes = 2 * ((nodes - mean) ** 2).sum() / 2  # mean squares by their degrees of freedom
    of_runs = 3 * ((runs - mean) ** 2).sum() / 1
    rest = ((x - nodes - runs[:, None] + mean) ** 2).sum() / 2
    variance = max((of_nodes + of_runs - rest) / 6, of_nodes / 6, of_runs / 6)
    found = gain_of(x)
    assert found.points == pytest.approx(mean)
    assert found.error == pytest.approx(math.sqrt(variance + (100 / 3) ** 2))


def test_runs_that_happen_to_agree_are_no_surer_than_those_of_a_typical_candidate():
    """Four candidates vary by 2 points from run to run; a wild one does not change that."""

    def by_run(*points: float) -> RunScores:
        return scores_of(np.repeat(np.array(points)[:, None], 400, axis=1))

    plain, steady, wild = by_run(0, 0, 0), by_run(1, 1, 1), by_run(-90, 0, 90)
    others = [by_run(-2, 0, 2), by_run(0, 2, -2), by_run(2, -2, 0), by_run(0, -2, 2)]
    (alone,) = gains_over(plain, [steady])
    typical = 4 * 2 / scipy.stats.chi2.median(2)  # the median of variances is below their mean
    for beside in (others, [*others, wild]):
        found = gains_over(plain, [steady, *beside])[0]
        assert found.error == pytest.approx(math.sqrt(typical / 3 + (100 / 400) ** 2))
        assert found.confidence < 0.9 < alone.confidence


def test_what_both_have_in_common_drops_out():
    rng = np.random.default_rng(0)
    common = 100.0 * (rng.random((5, 500)) < 0.8)
    better = common.copy()
    better[:, :10] = 100.0  # the same ten nodes in every run
    plain, other = scores_of(common), scores_of(better)
    (gain,) = gains_over(plain, [other])
    assert gain.points == pytest.approx(other.mean - plain.mean)
    assert gain.error < 0.5  # each score alone has a standard error of 1.8 points


def test_only_runs_that_both_have_are_compared():
    plain = scores_of(np.array([[0.0, 0.0], [100.0, 100.0], [50.0, 50.0]]))
    other = scores_of(np.array([[100.0, 100.0], [60.0, 60.0]]), first=1)
    assert other.minus(plain).runs == (1, 2)
    assert other.minus(plain).values == (0.0, 10.0)


def test_nodes_that_a_run_did_not_validate_do_not_count():
    x = np.array([[10.0, np.nan, 30.0, 20.0], [np.nan, 50.0, 10.0, 20.0]])
    found = gain_of(x)
    assert found.points == pytest.approx((20 + 80 / 3) / 2)
    assert math.isfinite(found.error)


@pytest.mark.parametrize("runs", [3, 8])
def test_the_error_is_right_where_each_run_has_other_nodes(runs):
    """Three parts of the nodes validate in turn: compared with how far the means differ."""
    rng = np.random.default_rng(5)
    points, squared = [], []
    for _ in range(300):
        values = 25 * rng.normal(size=240) + rng.normal(size=(runs, 1))
        values += 20 * rng.normal(size=values.shape)
        place = rng.permutation(240) % 3
        found = gain_of(np.where(place == np.arange(runs)[:, None] % 3, values, np.nan))
        points.append(found.points)
        squared.append(found.error**2)
    # The error counts one node more, and no part of it is below 0, so it is rather too large.
    assert 0.9 < math.sqrt(np.mean(squared)) / np.std(points) < 1.35


def test_all_nodes_of_a_handful_are_not_certain():
    assert gain_of(np.full((3, 2), 100.0)).confidence < 0.95
    assert gain_of(np.full((3, 60), 100.0)).confidence > 0.99


def test_no_difference_is_no_gain():
    found = gain_of(np.zeros((3, 50)))
    assert (found.points, found.confidence) == (0.0, 0.0)


def share(found: Callable[[], bool], repeats: int) -> float:
    return sum(found() for _ in range(repeats)) / repeats


@pytest.mark.parametrize("candidates", [1, 12])
def test_where_nothing_helps_it_is_sure_in_one_case_of_twenty_at_most(candidates):
    rng = np.random.default_rng(1)
    repeats = 400
    wrong = share(lambda: any(g.confidence >= 0.95 for g in simulated(rng, candidates)), repeats)
    # Three standard deviations of a share of 5 %.
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)


def test_the_interval_contains_the_true_gain_as_often_as_it_says():
    rng = np.random.default_rng(2)
    repeats = 400

    def inside() -> bool:
        low, high = simulated(rng, 1, runs=20, gain=3.0)[0].interval(0.9)
        return low <= 3.0 <= high

    assert share(inside, repeats) == pytest.approx(0.9, abs=3 * math.sqrt(0.09 / repeats) + 0.01)


def test_the_best_of_many_is_less_sure_than_the_same_alone():
    rng = np.random.default_rng(3)
    x = 15 * rng.normal(size=(5, 400)) + 0.8
    plain = scores_of(np.zeros_like(x))
    others = [scores_of(15 * rng.normal(size=x.shape)) for _ in range(20)]
    alone = gains_over(plain, [scores_of(x)])[0]
    among = gains_over(plain, [scores_of(x), *others])[0]
    assert (among.points, among.error) == (alone.points, alone.error)
    assert among.confidence < alone.confidence
    # Of independent candidates, the chance of a false gain is that of one in 21 tries.
    tail = float(scipy.stats.norm.sf(alone.points / alone.error))
    assert among.confidence == pytest.approx((1 - tail) ** 21, abs=0.02)


def test_the_same_candidate_twice_is_no_second_try_and_one_far_behind_neither():
    rng = np.random.default_rng(4)
    x = 15 * rng.normal(size=(5, 400)) + 1.0
    plain = scores_of(np.zeros_like(x))
    alone = gains_over(plain, [scores_of(x)])[0]
    behind = [scores_of(15 * rng.normal(size=x.shape) - 30.0) for _ in range(20)]
    for others in ([scores_of(x)] * 3, behind):
        found = gains_over(plain, [scores_of(x), *others])[0]
        assert found.confidence == pytest.approx(alone.confidence, abs=0.01)


def raced(
    rng: np.random.Generator, candidates: int, of_nodes: float, gain: float = 0.0
) -> list[Gain]:
    """The three best of candidates by one run each, in four runs with new seeds."""
    nodes = 300
    effects = of_nodes * rng.normal(size=(candidates, nodes))
    effects[0] += gain

    def runs_of(number: int, runs: int, first: int) -> RunScores:
        return scores_of(effects[number] + 20 * rng.normal(size=(runs, nodes)), first)

    earlier = [runs_of(number, 1, 0) for number in range(candidates)]
    best = sorted(range(candidates), key=lambda number: -earlier[number].mean)[:3]
    plain = scores_of(np.zeros((5, nodes)))
    return gains_of_finalists(plain, earlier, {k: runs_of(k, 4, 1) for k in best})


@pytest.mark.parametrize("of_nodes", [0.0, 10.0, 30.0])
def test_finalists_are_sure_in_one_case_of_twenty_at_most_where_nothing_helps(of_nodes):
    rng = np.random.default_rng(6)
    repeats = 300
    wrong = share(lambda: any(g.confidence >= 0.95 for g in raced(rng, 15, of_nodes)), repeats)
    assert wrong <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)


def test_the_less_of_the_luck_of_earlier_runs_is_left_the_surer_is_the_same_gain():
    """Where nodes do not differ, the final is as good as if three had been tried; else as all."""
    rng = np.random.default_rng(7)
    nodes = 400
    plain = scores_of(np.zeros((6, nodes)))
    looks = 15 * rng.normal(size=(30, 1, nodes))
    final = 15 * rng.normal(size=(3, 5, nodes)) + 0.8
    new = {k: scores_of(final[k], first=1) for k in range(3)}
    kept = {k: scores_of(looks[k] + 0.01 * final[k] + 1.2, first=1) for k in range(3)}
    earlier = [scores_of(look) for look in looks]
    found = gains_of_finalists(plain, earlier, new)
    three = gains_over(plain, list(new.values()))
    for mine, alone in zip(found, three, strict=True):
        assert (mine.points, mine.error) == (alone.points, alone.error)
        assert mine.confidence == pytest.approx(alone.confidence, abs=0.02)
    lucky = gains_of_finalists(plain, earlier, kept)
    among_all = gains_over(plain, [*kept.values(), *earlier[3:]])
    for mine, alone in zip(lucky, among_all, strict=False):
        assert mine.confidence == pytest.approx(alone.confidence, abs=0.02)


def test_the_luck_that_is_left_in_the_final_is_that_of_the_nodes():
    """The best of 60 by three runs, in ten more, compared with draws of that correlation."""
    rng = np.random.default_rng(8)
    nodes, candidates, ratio = 1000, 60, 1.6
    plain = scores_of(np.zeros((13, nodes)))
    earlier_variance, final_variance = 15**2 + 20**2 / 3, 15**2 + 20**2 / 10
    found = []
    for _ in range(20):
        effects = 15 * rng.normal(size=(candidates, 1, nodes))
        looks = effects + 20 * rng.normal(size=(candidates, 3, nodes))
        best = int(looks.mean(axis=(1, 2)).argmax())
        final = effects[best] + 20 * rng.normal(size=(10, nodes))
        final += ratio * math.sqrt(final_variance / nodes) - final.mean()
        earlier = [scores_of(look) for look in looks]
        found += gains_of_finalists(plain, earlier, {best: scores_of(final, first=3)})
    correlation = 15**2 / math.sqrt(earlier_variance * final_variance)
    first = rng.normal(size=(100_000, candidates)).max(axis=1)
    last = correlation * first + math.sqrt(1 - correlation**2) * rng.normal(size=len(first))
    assert np.mean([gain.confidence for gain in found]) == pytest.approx(
        np.mean(last < ratio), abs=0.08
    )


def with_probabilities(score: np.ndarray, probable: np.ndarray) -> RunScores:
    return RunScores(
        tuple(range(len(score))), tuple(score.mean(axis=1)), score.astype(float), probable
    )


def test_probabilities_that_rise_a_little_everywhere_make_a_gain_surer():
    """The score alone leaves a gain of a point on 500 nodes to chance."""
    rng = np.random.default_rng(8)
    score = 25 * rng.normal(size=500) + 20 * rng.normal(size=(5, 500))
    score += 1.0 - score.mean()
    plain = with_probabilities(np.zeros((5, 500)), np.zeros((5, 500)))
    probable = 2.0 + 10 * rng.normal(size=(5, 500))
    (alone,) = gains_over(scores_of(plain.nodes), [scores_of(score)])
    (found,) = gains_over(plain, [with_probabilities(score, probable)])
    assert (found.points, found.error) == (alone.points, alone.error)
    assert alone.confidence < 0.95 < 0.99 < found.confidence


@pytest.mark.parametrize(("points", "sure"), [(-0.1, 0.0), (0.0, 0.0), (0.1, 0.6), (3.0, 1.0)])
def test_better_probabilities_are_no_surer_than_an_unlikely_gain_of_the_score(points, sure):
    rng = np.random.default_rng(9)
    noise = 30 * rng.normal(size=(5, 400))
    score = noise - noise.mean() + points
    plain = with_probabilities(np.zeros((5, 400)), np.zeros((5, 400)))
    probable = 5.0 + 10 * rng.normal(size=(5, 400))
    (found,) = gains_over(plain, [with_probabilities(score, probable)])
    assert found.confidence == pytest.approx(sure, abs=0.1)


@pytest.mark.parametrize("candidates", [1, 12])
def test_probabilities_are_sure_in_one_case_of_twenty_at_most_where_nothing_helps(candidates):
    """The effects of nodes on both are alike, as better probabilities are more often right."""
    rng = np.random.default_rng(10)
    repeats, nodes = 400, 200
    plain = with_probabilities(np.zeros((5, nodes)), np.zeros((5, nodes)))

    def candidate() -> RunScores:
        effects = 10 * rng.normal(size=nodes) + 0.5 * rng.normal(size=(5, 1))
        probable = effects + 10 * rng.normal(size=(5, nodes))
        return with_probabilities(probable + 30 * rng.normal(size=(5, nodes)), probable)

    def wrong() -> bool:
        found = gains_over(plain, [candidate() for _ in range(candidates)])
        return any(gain.confidence >= 0.95 for gain in found)

    assert share(wrong, repeats) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)
