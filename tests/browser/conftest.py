"""Pages in real Chromium; left out with a word where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

AXE = "axe-core@4.10.3"


def chromium() -> str | None:
    """The program, as ``GAUG_CHROMIUM`` or the path has it."""
    names = (os.environ.get("GAUG_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install it")
    program = chromium()
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium, or set GAUG_CHROMIUM")
    with api.sync_playwright() as playwright:
        # Root, as in a container, has no sandbox.
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


class Seen:
    """A page in the browser, with everything that it complained about or asked for."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda text: self.errors.append(f"{text.type}: {text.text}"))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._refuse)
        page.on("request", lambda request: self.requests.append(request.url))

    def _refuse(self, dialog: Any) -> None:
        self.errors.append("dialog")
        dialog.dismiss()

    @property
    def strange_requests(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]


@pytest.fixture
def show(browser: Any) -> Iterator[Callable[..., Seen]]:
    """Open a file, at a width and in light or dark."""
    contexts = []

    def open_page(path: Path, width: int = 1280, scheme: str = "light", fragment: str = "") -> Seen:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        seen = Seen(context.new_page())
        seen.page.goto(f"file://{path}{fragment}")
        return seen

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program axe-core, which looks for what keeps people from using a page."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm, to fetch axe-core")
    folder = tmp_path_factory.mktemp("axe")
    fetched = subprocess.run(
        [npm, "pack", AXE, "--silent"], cwd=folder, capture_output=True, text=True, timeout=120
    )
    if fetched.returncode != 0:
        pytest.skip("axe-core cannot be fetched from npm")
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()
