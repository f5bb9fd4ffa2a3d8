"""A page in a real browser. One browser serves all tests of a process, in a thread of its own.

Playwright keeps an event loop running in the thread that uses it, which would break tests with loops of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.server.page.fake import Fake, Running
from tests.waiting import LONGEST

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTH = 1280


class Browser:
    """Chromium, and the one thread that may talk to it."""

    def __init__(self, path: str) -> None:
        self.usual: Any = None  # a page that tests use one after the other: a new one costs a process
        self._thread = ThreadPoolExecutor(1)
        self.call(lambda: self._launch(path))

    def call(self, work: Callable[[], Any]) -> Any:
        return self._thread.submit(work).result()

    def _launch(self, path: str) -> None:
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self.chromium = self._playwright.chromium.launch(executable_path=path, args=ARGUMENTS)

    def take(self) -> Any:
        """A page of the usual size that nobody else has."""
        page, self.usual = self.usual or self.page(), None
        return page

    def page(self, width: int = WIDTH, **options: Any) -> Any:
        context = self.chromium.new_context(viewport={"width": width, "height": 860}, **options)
        page = context.new_page()
        page.set_default_timeout(1000 * LONGEST)
        return page

    def give_back(self, page: Any) -> None:
        """The next visitor finds nothing that this one left."""
        page.unroute_all()
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.goto("about:blank")
        page.context.clear_cookies()
        self.usual = page

    def close(self) -> None:
        self.call(self.chromium.close)
        self.call(self._playwright.stop)
        self._thread.shutdown()


class Site:
    """The page as a visitor sees it, and the fake server behind it."""

    def __init__(self, browser: Browser, fake: Fake, address: str) -> None:
        self.fake, self.address, self._browser = fake, address, browser
        self.complaints: list[str] = []
        self._listeners: dict[str, Callable[[Any], None]] = {
            "console": lambda message: self._heard(message.type, message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self._asked(request.url),
        }
        self._pages: list[Any] = []
        self._usual: Any = None

    def open(self, place: str = "", **options: Any) -> Any:
        """A new visitor with an empty history."""
        page = self._browser.page(**options) if options else self._browser.take()
        self._pages.append(page)
        self._usual = self._usual or (None if options else page)
        for event, listener in self._listeners.items():
            page.on(event, listener)
        page.goto(f"{self.address}/{place}")
        page.wait_for_selector("main > :not(.placeholder)")
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and "Failed to load resource" not in text:
            self.complaints.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.address, "data:", "blob:")):
            self.complaints.append(f"asked {url}")

    def close(self) -> None:
        for page in self._pages:
            if page is self._usual:
                self._browser.give_back(page)
            else:
                page.context.close()
            for event, listener in self._listeners.items():
                page.remove_listener(event, listener)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed; apt-get install chromium")
    pytest.importorskip("playwright", reason="playwright is not installed; pip install playwright")
    found = Browser(path)
    yield found
    found.close()


@pytest.fixture(scope="session")
def running() -> Iterator[tuple[Fake, str]]:
    fake = Fake()
    with Running(fake) as address:
        yield fake, address


@pytest.fixture
def site(browser: Browser, running: tuple[Fake, str], request: pytest.FixtureRequest) -> Iterator[Site]:
    """The page of a server with all tasks, or with the models that `@pytest.mark.parametrize` names."""
    fake, address = running
    fake.reset(*getattr(request, "param", ()))
    found = Site(browser, fake, address)
    yield found
    browser.call(found.close)
    assert found.complaints == []


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Tests of the page run in the thread of their browser."""
    if "site" not in pyfuncitem.fixturenames:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    pyfuncitem.funcargs["browser"].call(lambda: pyfuncitem.obj(**arguments))
    return True
