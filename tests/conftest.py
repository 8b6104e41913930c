"""What the tests share: the flag that rewrites golden files, and gates for what a machine may lack.

A missing torch or browser skips a test and says so; where the environment variable CI is set it fails it instead,
so that a test never stops running without anybody noticing.
"""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from command_line import USER_FILE
from surprised import trained

from viz import render

GOLDEN = Path(__file__).parent / "golden"

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WIDE = {"width": 1400, "height": 720}
_BROWSER_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files with what the code gives")


def missing(what: str) -> None:
    """Skip the running test because this machine lacks `what`; fail it where CI is set, which must lack nothing."""
    if os.environ.get("CI"):
        pytest.fail(f"CI is set, and {what}", pytrace=False)
    pytest.skip(what)


def require_torch() -> ModuleType:
    """torch, or a skip that says that it is not installed."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        missing("torch is not installed")
        raise
    torch.set_num_threads(1)  # on a busy machine its threads wait for each other a hundred times longer than they work
    return torch


@pytest.fixture
def no_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any dot program."""
    monkeypatch.delenv("PLUSEQUALS_DOT", raising=False)
    monkeypatch.setattr(render, "_graphviz_pure", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing here"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a user's file in it, for the tests of the command line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(USER_FILE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def torch() -> ModuleType:
    """torch, or a skip that says that it is not installed."""
    return require_torch()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright, or a skip that says which of the two is missing. Use `browser.new_page()`."""
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError:
        missing("playwright is not installed")
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        missing(f"there is no Chromium on PATH (looked for {', '.join(_BROWSERS)})")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=list(_BROWSER_ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares text with tests/golden/name; with --update-golden it writes the file instead."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden file {path.name}: run pytest --update-golden and look at what it wrote"
        assert text == path.read_text(encoding="utf-8")

    return check


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """`with opened(page, address) as tab`: the page opened from a file. Any error or request of its own fails.

    until  what the page is waited for to have; by default what a stepper has
    """

    @contextmanager
    def open_page(
        page: Any,
        address: str = "",
        *,
        viewport: dict[str, int] = _WIDE,
        scheme: str = "light",
        until: str = "#position:has-text('step')",
    ) -> Any:
        path = page.save(tmp_path / "page.html")
        tab = browser.new_page(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        complaints: list[str] = []
        tab.on("console", lambda message: complaints.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        tab.on("request", lambda request: request.url.startswith("file://") or complaints.append(request.url))
        try:
            tab.goto(path.as_uri() + address)
            tab.wait_for_selector(until)
            yield tab
            assert not complaints
        finally:
            tab.close()

    return open_page


@pytest.fixture(scope="session")
def character_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the text.txt and the checkpoint.npz of a small character model, not to be changed."""
    folder = tmp_path_factory.mktemp("run")
    trained(folder)
    return folder
