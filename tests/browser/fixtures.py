"""A real Chromium, for every test that asks for `page`."""

import os
import shutil
from collections.abc import Iterator

import pytest

# Playwright's own loop runs in the thread of the test, where Django would not let the test ask the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(
            f"no Chromium is installed under any of the names {', '.join(NAMES)}"
        )
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=list(FLAGS), timeout=180_000
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, live_server) -> Iterator:
    """Opens a browser with these options; what it complains of and what it asks of other hosts fails."""
    opened, faults = [], []

    def open_page(**options):
        context = chromium.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "locale": "en-GB"} | options
        )
        # Playwright's own half a minute is short for a machine that does other work.
        context.set_default_timeout(90_000)
        opened.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda said: (
                faults.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request",
            lambda sent: (
                faults.append(f"asked {sent.url}")
                if _is_foreign(sent, live_server)
                else None
            ),
        )
        return page

    open_page.faults = faults
    yield open_page
    for context in opened:
        context.close()
    # A browser notes every answer that is not a success; tests that want one ask for it themselves.
    assert [
        fault for fault in faults if not fault.startswith("Failed to load resource")
    ] == []


@pytest.fixture
def page(visit):
    return visit()


def _is_foreign(request, live_server) -> bool:
    return not request.url.startswith((live_server.url, "data:", "blob:"))
