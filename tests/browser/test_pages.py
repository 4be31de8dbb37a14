"""Every page in Chromium: it renders, asks for nothing, and can be used."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import networkx
import pytest
import torch
from torch_geometric.data import Data

from gaug.data.loaded import LoadedGraph
from gaug.data.node_ids import NodeIds
from gaug.inspection.augmentation import Augmentation
from gaug.inspection.inspect import inspect
from gaug.methods.gaug_m.method import GAugM
from gaug.report.augmentation import summarize_change
from gaug.report.augmentation_page import augmentation_page
from gaug.report.inspection_page import inspection_page
from gaug.report.store_page.page import store_page
from gaug.runs.record import RunRecord
from gaug.runs.store import Store

HOSTILE = "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)>"
PAGES = ("augmentation", "store", "inspection", "model")


def graph() -> LoadedGraph:
    """A grid of hostile, long and plain names, with two classes and words as features."""
    grid = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(8, 8))
    pairs = torch.tensor(list(grid.edges)).t()
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    x = torch.zeros(64, 16)
    x[torch.arange(64), torch.arange(64) % 16] = 1
    data = Data(
        x=x,
        edge_index=both[:, (both[0] * 64 + both[1]).argsort()],
        y=torch.arange(64) // 32,
    )
    names = [f"node {i}" for i in range(64)]
    names[3], names[5] = HOSTILE, "long" * 2500
    features = (HOSTILE, *(f"word {i}" for i in range(1, 16)))
    return LoadedGraph(HOSTILE, data, NodeIds(names), (HOSTILE, "other"), features)


def record(run: int, method: str = "none", graph: str = "karate", score: float = 80.0) -> RunRecord:
    return RunRecord(
        created=datetime(2026, 1, 1, tzinfo=timezone.utc),
        identity=f"{graph}{method}{run}",
        graph=graph,
        graph_hash="a" * 12,
        split="stratified-0",
        split_hash="b" * 12,
        model="gcn",
        method=method,
        protocol="validation",
        config={"method": {"drop_fraction": 0.3} if method == "dropedge" else {}},
        seed=0,
        run=run,
        val_score=score - 1,
        test_score=score + run / 10,
        best_epoch=5,
        epochs=10,
        seconds=1.5,
        peak_memory_mb=300.0,
        versions={"gaug": "0.1.0"},
        commit=None,
        history=[{"val_score": float(i), "train_loss": 1 / (i + 1)} for i in range(10)],
        warning=HOSTILE if method == "dropedge" else None,
    )


@pytest.fixture(scope="module")
def augmentation() -> Augmentation:
    method = GAugM(predictor="ra", add_fraction=0.2, remove_fraction=0.1)
    return Augmentation.of(graph(), method)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, augmentation: Augmentation) -> dict[str, Path]:
    """All pages as files."""
    from gaug.data.splits import make_split
    from gaug.methods.none.method import NoAugmentation
    from gaug.report.model_facts import FittedModel
    from gaug.report.model_page import model_page

    folder = tmp_path_factory.mktemp("pages")
    loaded = graph()
    summary = summarize_change(loaded.data, augmentation.better, augmentation.change)
    store = Store(str(folder / "runs.sqlite"))
    for run in range(3):
        store.add(record(run))
        store.add(record(run, "dropedge", score=90.0))
        store.add(record(run, graph=HOSTILE, score=70.0))
    split = make_split(loaded.data, "stratified")
    fitted = NoAugmentation(model="gcn", epochs=3).fit(split.apply(loaded.data))
    predicted = fitted.predict_proba(loaded.data)
    model = FittedModel(fitted, loaded, split, predicted, {}, 1.0, HOSTILE)
    made = {
        "augmentation": augmentation_page(augmentation, summary, f"gaug augment {HOSTILE}"),
        "store": store_page(store),
        "inspection": inspection_page(inspect(loaded, runs=1, epochs=3)),
        "model": model_page(model),
    }
    store.close()
    for name, page in made.items():
        (folder / f"{name}.html").write_text(page.render(), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in made}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (768, "dark"), (390, "light")])
def test_a_page_renders_without_an_error_a_request_or_a_sideways_scroll(
    show: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    seen = show(pages[name], width, scheme)
    seen.page.wait_for_selector("[data-drawn]")
    assert seen.errors == []
    assert seen.strange_requests == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    for chart in seen.page.query_selector_all("[data-chart]"):
        if chart.is_visible():
            assert chart.query_selector("svg[role=img][aria-label]"), chart.get_attribute(
                "data-chart"
            )
            assert len(chart.query_selector_all("svg > *")) > 5


@pytest.mark.parametrize("name", PAGES)
def test_hostile_names_stay_text(show: Any, pages: dict[str, Path], name: str) -> None:
    seen = show(pages[name])
    seen.page.wait_for_selector("[data-drawn]")
    assert seen.page.title() != "hacked"
    assert seen.page.locator("img").count() == 0
    assert "</script>" in seen.page.inner_text("body")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_axe_finds_no_serious_problem(
    show: Any, pages: dict[str, Path], axe: str, name: str, width: int, scheme: str
) -> None:
    seen = show(pages[name], width, scheme)
    seen.page.wait_for_selector("[data-drawn]")
    seen.page.evaluate(axe)
    found = seen.page.evaluate("axe.run().then(found => found.violations)")
    serious = [
        f"{one['id']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def shown_rows(page: Any) -> list[list[str]]:
    rows = page.locator("#experiment-table tbody tr").filter(visible=True)
    return [row.locator("td, th").all_inner_texts() for row in rows.all()]


def test_a_table_sorts_both_ways(show: Any, pages: dict[str, Path]) -> None:
    page = show(pages["store"]).page
    page.click("#experiment-table >> text=test")
    assert [row[5][:4] for row in shown_rows(page)] == ["90.1", "80.1", "70.1"]
    page.click("#experiment-table >> text=test")
    assert [row[5][:4] for row in shown_rows(page)] == ["70.1", "80.1", "90.1"]
    assert page.get_attribute("#experiment-table th:has-text('test')", "aria-sort") == "ascending"


def test_filters_and_the_opened_experiment_are_in_the_address(
    show: Any, pages: dict[str, Path]
) -> None:
    page = show(pages["store"]).page
    page.select_option("[data-filter=graph]", "karate")
    page.click("#experiment-table >> text=validation")
    assert [row[2] for row in shown_rows(page)] == ["dropedge", "none"]
    page.fill("[data-filter=text]", "drop_fraction")
    assert [row[2] for row in shown_rows(page)] == ["dropedge"]
    page.locator("#experiment-table tbody a").filter(visible=True).first.click()
    assert "drop_fraction=0.3" in page.inner_text("#experiment")
    assert HOSTILE in page.inner_text("#experiment")
    assert page.locator("#experiment svg[role=img]").count() == 3  # runs and two learning curves
    again = show(pages["store"], fragment=page.url[page.url.index("#") :])
    again.page.wait_for_selector("#experiment h3")
    assert shown_rows(again.page) == shown_rows(page)
    assert again.page.inner_text("#experiment") == page.inner_text("#experiment")
    assert again.errors == []


def until_it_rests(page: Any) -> None:
    """Wait until the drawing moves no more."""
    page.wait_for_function("() => !gaug.neighborhood.isMoving()")


def around(augmentation: Augmentation, node: int, steps: int) -> int:
    """Nodes within so many steps over all edges that were or are there, by NetworkX."""
    pairs = torch.cat([augmentation.edges, augmentation.change.added.pairs], dim=1)
    whole: networkx.Graph[int] = networkx.Graph(pairs.t().tolist())
    return len(networkx.ego_graph(whole, node, steps))


def test_a_node_is_found_by_its_name_and_its_neighborhood_drawn(
    show: Any, pages: dict[str, Path], augmentation: Augmentation
) -> None:
    seen = show(pages["augmentation"])
    page, canvas = seen.page, seen.page.locator("canvas")
    for name, node in (("node 20", 20), (HOSTILE, 3), ("node 63", 63)):
        page.fill("input[type=search]", name)
        page.keyboard.press("Enter")
        assert canvas.get_attribute("data-center") == name
        assert int(canvas.get_attribute("data-nodes")) == around(augmentation, node, 2)
    page.select_option("label:has-text('Steps from it') select", "1")
    assert int(canvas.get_attribute("data-nodes")) == around(augmentation, 63, 1)
    page.fill("input[type=search]", "nobody")
    page.keyboard.press("Enter")
    assert "There is no node nobody" in page.inner_text("[role=status]")
    assert page.url.endswith("#node=node%2063")
    again = show(pages["augmentation"], fragment="#node=node%2020")
    assert again.page.locator("canvas").get_attribute("data-center") == "node 20"
    assert seen.errors == again.errors == []


def test_a_click_on_a_node_or_a_listed_change_moves_there(
    show: Any, pages: dict[str, Path], augmentation: Augmentation
) -> None:
    page = show(pages["augmentation"], fragment="#node=node%2020").page
    canvas = page.locator("canvas")
    canvas.scroll_into_view_if_needed()
    until_it_rests(page)
    x, y = page.evaluate("gaug.neighborhood.spotOf('node 21')")
    canvas.click(position={"x": x, "y": y})
    assert canvas.get_attribute("data-center") == "node 21"
    page.locator("#changes button[data-node]").first.click()
    first = int(augmentation.change.added.pairs[0, 0])
    assert canvas.get_attribute("data-center") == augmentation.graph.ids[first]


def test_the_drawing_shows_the_colors_of_what_was_added_and_removed(
    show: Any, pages: dict[str, Path], augmentation: Augmentation
) -> None:
    page = show(pages["augmentation"]).page
    for kind in ("added", "removed"):
        u = int(getattr(augmentation.change, kind).pairs[0, 0])
        page.fill("input[type=search]", augmentation.graph.ids[u])
        page.keyboard.press("Enter")
        until_it_rests(page)
        count = page.evaluate(
            """kind => {
              const canvas = document.querySelector("canvas");
              const wanted = gaug.color(kind).match(/[0-9]+/g).map(Number);
              const { width, height } = canvas;
              const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
              let count = 0;
              for (let i = 0; i < data.length; i += 4) {
                const near = wanted.every((value, j) => Math.abs(data[i + j] - value) < 25);
                if (near && data[i + 3] > 150) count++;
              }
              return count;
            }""",
            kind,
        )
        assert count > 30, kind


def test_the_keyboard_reaches_everything(show: Any, pages: dict[str, Path]) -> None:
    page = show(pages["augmentation"]).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.focus("canvas")
    before = page.evaluate("document.querySelector('canvas').toDataURL()")
    for key in ("+", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_function(
        "old => document.querySelector('canvas').toDataURL() !== old", arg=before
    )
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 27)"


def test_a_page_prints_without_its_controls(show: Any, pages: dict[str, Path]) -> None:
    page = show(pages["store"]).page
    page.emulate_media(media="print")
    assert not page.is_visible("nav")
    assert not page.is_visible(".controls")
    assert page.is_visible("#experiment-table")


def test_a_wide_table_stacks_on_a_phone_and_still_sorts(show: Any, pages: dict[str, Path]) -> None:
    page = show(pages["store"], 390).page
    table = page.locator("#experiment-table")
    assert "stacked" in table.get_attribute("class")
    assert table.evaluate("t => t.parentElement.scrollWidth <= t.parentElement.clientWidth + 1")
    header = table.locator("thead th").all_inner_texts()
    for row in table.locator("tbody tr").all():
        names = row.evaluate(
            "row => [...row.cells].map(cell => getComputedStyle(cell, '::before').content)"
        )
        # The computed content is the attribute and a space, each in quotation marks.
        assert [name.split('"')[1].strip() for name in names] == header
    page.click("#experiment-table >> text=test")
    assert [row[5][:4] for row in shown_rows(page)] == ["90.1", "80.1", "70.1"]
    page.set_viewport_size({"width": 1280, "height": 900})
    page.locator(".stacked").wait_for(state="detached")


def test_on_paper_nothing_is_folded(show: Any, pages: dict[str, Path]) -> None:
    page = show(pages["store"], scheme="dark").page
    page.evaluate(
        "document.body.append(gaug.make('details', {}, gaug.make('summary', {}, 'more')))"
    )
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == 1
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 27)"


def test_two_fingers_zoom_the_drawing(
    show: Any, pages: dict[str, Path], augmentation: Augmentation
) -> None:
    page = show(pages["augmentation"], 390, fragment="#node=node%2020").page
    canvas = page.locator("canvas")
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    until_it_rests(page)

    def apart() -> float:
        (a, b), (c, d) = (page.evaluate(f"gaug.neighborhood.spotOf('node {i}')") for i in (20, 21))
        return float(((a - c) ** 2 + (b - d) ** 2) ** 0.5)

    before, box = apart(), canvas.bounding_box()
    fingers = page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def touch(kind: str, *gaps: int) -> None:
        points = [
            {"x": x + side * gap, "y": y, "id": i} for gap in gaps for i, side in enumerate((-1, 1))
        ]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 40)
    touch("touchMove", 60)
    touch("touchMove", 80)
    touch("touchEnd")
    until_it_rests(page)
    assert apart() / before == pytest.approx(2, rel=0.02)
    assert canvas.get_attribute("data-center") == "node 20"
    center = gaug_spot(page)
    touch("touchStart", 40)
    touch("touchCancel")
    until_it_rests(page)
    assert gaug_spot(page) == center


def gaug_spot(page: Any) -> list[float]:
    """Where the node in the center is drawn."""
    return [float(value) for value in page.evaluate("gaug.neighborhood.spotOf('node 20')")]
