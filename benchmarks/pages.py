"""Pages: size and time for a store of 20,000 runs, and how smooth a drawing of 2,000 nodes is.

Run it with ``python -m benchmarks.pages``; the drawing needs Chromium and Playwright.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.orm import Session

from gaug.data.opening import as_loaded
from gaug.data.synthetic import SyntheticConfig, planted_graph
from gaug.inspection.augmentation import Augmentation
from gaug.methods.gaug_m.method import GAugM
from gaug.report.augmentation import summarize_change
from gaug.report.augmentation_page import augmentation_page
from gaug.report.store_page.page import store_page
from gaug.runs.plan import Plan
from gaug.runs.record import RunRecord
from gaug.runs.store import Store

RUNS, RUNS_EACH = 20_000, 3
NODES = 2_000
_SECONDS = 4
# Around the node with most neighbors, enough nodes are within reach.
_TO_THE_HUB = """() => {
  const { count, edgesOf } = gaug.graph, nodes = [...Array(count).keys()];
  location.hash = `#node=${nodes.sort((a, b) => edgesOf(b).length - edgesOf(a).length)[0]}`;
}"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _store(Path(folder))
        _drawing(Path(folder))


def _store(folder: Path) -> None:
    """A store as searches leave it: three runs of each of thousands of settings."""
    store = Store(str(folder / "runs.sqlite"))
    chance = random.Random(0)
    graphs, models = ("cora", "citeseer", "ppi", "blogcatalog", "flickr"), ("gcn", "gat", "gsage")
    records: list[RunRecord] = []
    for number in range(RUNS):
        place, run = divmod(number, RUNS_EACH)
        settings = {"add_fraction": place % 97 / 100, "remove_fraction": place % 89 / 100}
        if not run:
            model = models[place % len(models)]
            plan = Plan.of("karate", model=model, method="gaug-m", settings=settings)
        records.append(_record(plan, number, run, graphs[place % len(graphs)], chance))
    # All in one transaction: `Store.add` makes sure of each.
    engine = sqlalchemy.create_engine(store.database_url)
    with Session(engine) as session, session.begin():
        session.add_all(records)
    engine.dispose()
    begun = time.perf_counter()
    text = store_page(store).render()
    seconds, size = time.perf_counter() - begun, len(text.encode()) / 1e6
    print(f"store of {RUNS:,} runs: {size:.1f} MB in {seconds:.1f} s")
    store.close()


def _record(plan: Plan, number: int, run: int, graph: str, chance: random.Random) -> RunRecord:
    return RunRecord(
        id=number + 1,
        created=datetime(2026, 1, 1, tzinfo=timezone.utc),
        identity=str(number),
        graph=graph,
        graph_hash="0" * 12,
        split="public",
        split_hash="1" * 12,
        model=plan.model.name,
        method=plan.method.name,
        protocol="validation",
        config=plan.config,
        seed=0,
        run=run,
        val_score=chance.gauss(80, 3),
        test_score=chance.gauss(80, 3) if number % 5 == 0 else None,
        test_predictions=bytes(1000),
        best_epoch=40,
        epochs=100,
        seconds=chance.random() * 20,
        peak_memory_mb=400.0,
        versions={"gaug": "0.1.0", "torch": "2.13.0"},
        commit=None,
        history=[{"val_score": float(i)} for i in range(100)] if number % 20 == 0 else None,
        warning=None,
    )


def _drawing(folder: Path) -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("drawing: needs Playwright")
        return
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        print("drawing: needs Chromium")
        return
    path = folder / "report.html"
    path.write_text(_page(), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"file://{path}")
        page.evaluate(_TO_THE_HUB)
        page.select_option("label:has-text('Nodes at most') select", str(NODES))
        page.select_option("label:has-text('Steps from it') select", "3")
        nodes, edges = page.evaluate("gaug.neighborhood.size()")
        before = _frames(page)
        begun = time.perf_counter()
        page.wait_for_timeout(1000 * _SECONDS)
        rate = (_frames(page) - before) / (time.perf_counter() - begun)
        print(f"drawing of {nodes:,} nodes and {edges:,} edges: {rate:.0f} frames per second")
        browser.close()


def _page() -> str:
    # A few more nodes than are drawn, so that this many are within reach.
    config = SyntheticConfig(num_nodes=NODES + 500, degree=12, homophily=0.7)
    loaded = as_loaded(planted_graph(config))
    done = Augmentation.of(loaded, GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.1))
    return augmentation_page(done, summarize_change(loaded.data, done.better, done.change)).render()


def _frames(page: Any) -> int:
    return int(page.evaluate("document.querySelector('canvas').dataset.frames"))


if __name__ == "__main__":
    main()
