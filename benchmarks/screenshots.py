"""``make screenshots``: the pictures of the pages in README and documentation.

Makes a page of each kind from the examples and the karate club, and photographs them in Chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
BLOGS = str(ROOT / "examples" / "blogs")
WIDTH, HEIGHT = 760, 1000
#: The largest picture that may be written.
MOST_BYTES = 200_000
_COLORS = 128

#: The commands that make the pages, in the folder of the work.
COMMANDS = (
    f"augment {BLOGS} --out better --force --set predictor=features --set add_fraction=0.3"
    " --set remove_fraction=0.1",
    f"fit {BLOGS} --out model --force --split stratified",
    f"inspect {BLOGS} --out inspect.html --force --split stratified",
    "reproduce figure1",
    "search karate --method dropedge --split stratified --set train_fraction=0.3 --trials 12"
    " --trial-runs 2",
    "search karate --method gaug-m --split stratified --set train_fraction=0.3 --trials 10"
    " --trial-runs 2",
    "report --out report.html --force",
)

#: For each picture its page, and the part of the page that stands at the top; None for its start.
PICTURES = {
    "page_augment": ("better/report.html", None),
    "page_graph": ("better/report.html", "graph"),
    "page_store": ("report.html", "paper"),
    "page_search": ("report.html", "searches"),
    "page_inspect": ("inspect.html", "classes"),
    "page_model": ("model/report.html", "scores"),
}


def main() -> None:
    """Make the pages and photograph them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where to keep the pages and the runs")
    given = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if given is None else given.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        settings = {**os.environ, "GAUG_STORE": str(folder / "runs.sqlite")}
        for line in COMMANDS:
            command = [sys.executable, "-m", "gaug", *line.split()]
            subprocess.run(command, cwd=folder, env=settings, check=True)
        photograph(folder)


def photograph(folder: Path) -> None:
    """Write the pictures of the pages in a folder."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("Chromium is needed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, (page, part) in PICTURES.items():
            view = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            view.emulate_media(reduced_motion="reduce")
            view.goto(f"file://{folder / page}" + (f"#{part}" if part else ""))
            view.wait_for_selector("[data-drawn]")
            view.wait_for_function("() => !gaug.neighborhood || !gaug.neighborhood.isMoving()")
            if part:
                view.evaluate("part => document.getElementById(part).scrollIntoView()", part)
            picture = IMAGES / f"{name}.png"
            view.screenshot(path=picture)
            # A palette is enough for charts, and takes a third of the space.
            Image.open(picture).convert("RGB").quantize(_COLORS).save(picture, optimize=True)
            size = picture.stat().st_size
            print(f"{picture.relative_to(ROOT)}: {size / 1000:.0f} KB")
            if size > MOST_BYTES:
                raise SystemExit(f"{picture} must be at most {MOST_BYTES:,} bytes, got {size:,}.")
        browser.close()


if __name__ == "__main__":
    main()
