"""The comparison of trials as a picture: the gain of each over no augmentation."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gaug.choosing.comparison import Comparison
from gaug.choosing.gains import Gain
from gaug.choosing.trial import Trial
from gaug.drawing.names import cut, literal
from gaug.drawing.picture import BLUE, GRAY, GREEN, picture

#: Trials that are drawn, the best ones.
MOST_TRIALS = 40
# The probability with which the true gain lies in an interval.
_SHARE = 0.9
# Characters of a name in one line, and of a whole name.
_LINE, _LONGEST_NAME = 64, 124
# Inches of a row, and of everything above and below the rows.
_ROW, _AROUND = 0.3, 1.7
# Gains are drawn down to this many times the largest; lower ones are at the edge, with an arrow.
_DOWN_TO = 1.5
# The least width of that part, in points.
_LEAST = 3.0


@dataclass(frozen=True)
class _Look:
    """How a kind of trial is drawn."""

    color: str
    marker: str
    words: str
    filled: bool = True


_SEEN = _Look(GRAY, "o", "looked at", filled=False)
_FINALIST = _Look(BLUE, "o", "ran again with new seeds")
_TAKEN = _Look(GREEN, "D", "chosen")


def draw_comparison(
    comparison: Comparison, path: Path, *, title: str = "", taken: Trial | None = None
) -> None:
    """Draw the gain of each trial over no augmentation, with its 90 % interval.

    Finalists, which ran again with new seeds, are told apart from trials that were only looked at.
    The intervals are those of each trial taken by itself; the verdict below considers how many
    were tried.

    Args:
        comparison: The trials.
        path: Output file; the extension determines the format: .png, .svg or .pdf.
        title: A line above it, such as the graph and the model.
        taken: The trial to mark; by default the chosen one, if any is better by more than chance.

    Example:
        >>> from gaug import auto, load_graph
        >>> from gaug.report.comparison import draw_comparison
        >>> found = auto(load_graph("karate"), time_budget=5, trial_runs=1, epochs=3)
        >>> draw_comparison(found.comparison, Path("race.svg"))  # doctest: +SKIP
    """
    ranked = comparison.ranked()
    shown = ranked[:MOST_TRIALS]
    if taken is None and comparison.helps:
        taken = comparison.chosen
    if taken is not None and taken not in shown:
        shown = [*shown[:-1], taken]
    height = _AROUND + _ROW * max(1, len(shown))
    with picture(path, 1, 1, width=10.0, height=height) as (canvas, axes):
        (axis,) = axes.flat
        axis.axvline(0, color="#222222", linewidth=1)
        gains = [_gain(comparison, trial) for trial in shown]
        _set_range(axis, gains)
        for place, (trial, gain) in enumerate(zip(shown, gains, strict=True)):
            _draw_gain(axis, place, gain, _look_of(trial, taken))
        _name_rows(axis, shown, gains, taken)
        axis.set_xlabel(
            "points above no augmentation on the validation nodes; lines: 90 % intervals"
        )
        looks = list(dict.fromkeys(_look_of(trial, taken) for trial in shown))
        canvas.legend(handles=list(map(_handle, looks)), loc="outside upper right", ncols=3)
        axis.set_title(literal(title), loc="left")
        canvas.supxlabel(literal(_words(comparison, len(ranked) - len(shown))), fontsize=9)


def _gain(comparison: Comparison, trial: Trial) -> Gain:
    """The gain of a trial; without an error where the scores of single nodes are not known."""
    plain = comparison.plain_beside(trial)
    assert plain is not None, "no augmentation is always tried"
    return comparison.gain_of(trial) or Gain(trial.mean - plain.mean, 0.0, 0.0)


def _look_of(trial: Trial, taken: Trial | None) -> _Look:
    if trial is taken:
        return _TAKEN
    return _FINALIST if trial.confirmed else _SEEN


def _set_range(axis: Axes, gains: Sequence[Gain]) -> None:
    """Show all that is above 0, and as much below that one trial far off does not hide the rest."""
    ends = [gain.interval(_SHARE) for gain in gains]
    high = max((end for _, end in ends), default=1.0)
    least = -max(_LEAST, _DOWN_TO * high)
    low = max(least, min((begin for begin, _ in ends), default=-1.0))
    margin = 0.05 * max(_LEAST, high - low)
    axis.set_xlim(min(low, 0.0) - margin, max(high, 0.0) + margin)


def _draw_gain(axis: Axes, place: int, gain: Gain, look: _Look) -> None:
    left, _ = axis.get_xlim()
    face = look.color if look.filled else "white"
    if gain.points < left:
        axis.plot(left, place, marker="<", color=look.color, clip_on=False, markersize=6)
        return
    begin, end = gain.interval(_SHARE)
    axis.plot([begin, end], [place, place], color=look.color, linewidth=1.6)
    axis.plot(gain.points, place, look.marker, color=look.color, mfc=face, markersize=6)


def _name_rows(
    axis: Axes, shown: Sequence[Trial], gains: Sequence[Gain], taken: Trial | None
) -> None:
    """Names at the left, and gains as numbers at the right, the best at the top."""
    places = range(len(shown))
    names = ["\n".join(_lines(trial.name)) for trial in shown]
    axis.set_yticks(places, list(map(literal, names)), fontsize=7)
    axis.set_ylim(max(0, len(shown) - 1) + 0.6, -0.6)
    right = axis.secondary_yaxis("right")
    right.set_yticks(places, [str(gain) if gain.error else f"{gain.points:+.1f}" for gain in gains])
    right.tick_params(length=0)
    axis.spines["right"].set_visible(False)
    right.spines["right"].set_visible(False)
    for trial, left_label, right_label in zip(
        shown, axis.get_yticklabels(), right.get_yticklabels(), strict=True
    ):
        if trial is taken:
            left_label.set_fontweight("bold")
            right_label.set_fontweight("bold")


def _handle(look: _Look) -> Line2D:
    face = look.color if look.filled else "white"
    return Line2D([], [], color=look.color, marker=look.marker, mfc=face, label=look.words)


def _lines(name: str) -> list[str]:
    """A name in one or two lines."""
    return textwrap.wrap(cut(name, _LONGEST_NAME), _LINE, max_lines=2, placeholder=" …") or [""]


def _words(comparison: Comparison, hidden: int) -> str:
    """The verdict, and how many trials are not drawn, in lines."""
    more = f" {hidden:,} others with smaller gains are not drawn." if hidden else ""
    return "\n".join(textwrap.wrap(f"{comparison.verdict()}{more}", 110))
