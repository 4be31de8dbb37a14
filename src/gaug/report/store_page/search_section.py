"""The searches of a store, as a part of its page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from optuna.trial import TrialState

from gaug.drawing.names import cut
from gaug.report.page.document import figure, paragraphs
from gaug.report.page.html import Html, counted, join, tag
from gaug.report.store_page.searches import Search, score_of, settings_of

# Searches that are drawn.
_MOST_SEARCHES = 50


def search_section(searches: Sequence[Search], charts: dict[str, Any]) -> Html:
    """Each search with its history, importances and parallel coordinates.

    Args:
        searches: The searches, newest first.
        charts: Where the charts are put.
    """
    if not searches:
        return paragraphs("There are no searches on record. 'gaug search' makes one.")
    parts = []
    for place, search in enumerate(searches[:_MOST_SEARCHES]):
        best = search.best
        body: list[object] = []
        if best is not None:
            settings = " ".join(f"{name}={value}" for name, value in settings_of(best).items())
            again = ", with new seeds" if search.finalists else ""
            words = f"Best validation micro-F1: {score_of(best):.1f} %{again}. Settings: "
            body.append(tag("p", words, tag("code", settings)))
        if search.finished:
            names = [f"search-{place}-{kind}" for kind in ("history", "importances", "parallel")]
            charts[names[0]] = search.history_chart()
            body.append(figure(names[0], "Score of each trial", "Scores of the trials in order."))
            if len(search.importances) > 1:
                charts[names[1]] = search.importance_chart()
                body.append(
                    figure(names[1], "How much each setting matters", "Importance of settings.")
                )
            elif not search.importances:
                body.append(
                    tag("p", f"How much each setting matters: {search.why_no_importances}.")
                )
            charts[names[2]] = search.parallel_chart()
            body.append(
                figure(
                    names[2],
                    "Each line is a trial"
                    + (
                        "; so many share the best score that none stands out"
                        if math.isinf(search.best_from)
                        else "; the best tenth is bold and orange"
                    ),
                    "Parallel coordinates of settings and score.",
                )
            )
        states = ((TrialState.PRUNED, "stopped early"), (TrialState.FAIL, "failed"))
        counts = [f"{search.count(state):,} {words}" for state, words in states]
        body.append(
            tag("p", f"Trials: {len(search.trials):,}, {', '.join(counts)}.", class_="note")
        )
        score = "" if best is None else f", best {score_of(best):.1f}"
        title = f"{cut(search.name, 80)}: {counted(len(search.trials), 'trial')}{score}"
        parts.append(tag("details", tag("summary", title), *body, open=place == 0))
    if len(searches) > _MOST_SEARCHES:
        parts.append(tag("p", f"{len(searches) - _MOST_SEARCHES:,} older searches are not shown."))
    return join(parts)
