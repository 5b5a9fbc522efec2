"""What people do in a browser, as tests say it."""

import json
import threading
import time
from collections.abc import Callable

#: Stops at each chart for as long as it takes to be seen.
PASS_BY_CHARTS = """async () => {
    for (const chart of document.querySelectorAll('.chart')) {
        chart.scrollIntoView();
        await new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)));
    }
}"""
#: Nothing that the page fetches by itself is on its way or being put in place.
IS_WHOLE = """!document.querySelector(
    '[hx-trigger=load], .htmx-request, .htmx-swapping, .htmx-settling, .htmx-added'
)"""
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 780}
#: What `visit` is told: both widths and both kinds of colours, which do not depend on each other.
LOOKS = {
    "wide and light": {"viewport": WIDE, "color_scheme": "light"},
    "narrow and dark": {"viewport": NARROW, "color_scheme": "dark"},
}


def sign_in(page, live_server, email: str, password: str) -> None:
    page.goto(f"{live_server.url}/accounts/login/")
    page.fill("input[name=login]", email)
    page.fill("input[name=password]", password)
    page.click("main button[type=submit]")
    page.wait_for_selector("text=Sign out")


def until(condition: Callable[[], bool], seconds: float = 90) -> None:
    """Waits for what another process does; fails when it has not happened in that time."""
    pause = threading.Event()
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not happen within {seconds} seconds"
        pause.wait(0.05)


def wait_for(page, condition: str) -> None:
    """Waits until an expression holds. Playwright's own wait would evaluate it in the page, which refuses."""

    from playwright.sync_api import Error

    def holds() -> bool:
        try:
            return page.evaluate(condition)
        except Error as error:
            if "Execution context was destroyed" in str(error):
                return False  # the page is just being left
            raise

    until(holds)


def comes_to(page, part: str) -> None:
    """Waits until this is a part of the address.

    Playwright's own wait looks first and listens then: an address that changes in between it never sees.
    """
    wait_for(page, f"location.href.includes({json.dumps(part)})")


def reveal(page) -> None:
    """Scrolls down and waits for what is drawn or fetched on the way."""
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.evaluate(PASS_BY_CHARTS)
    wait_for(page, IS_WHOLE)
    for place in range(page.locator(".chart").count()):
        chart = f"document.querySelectorAll('.chart')[{place}]"
        page.evaluate(f"{chart}.scrollIntoView()")
        wait_for(page, f"Boolean({chart}.dataset.drawn) || !{chart}.checkVisibility()")
    page.evaluate("window.scrollTo(0, 0)")


def barriers(page, axe: str) -> list[str]:
    """What would keep somebody out, by the rules of WCAG 2.2 A and AA and good practice."""
    page.evaluate(axe)
    found = page.evaluate(
        "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],"
        " resultTypes: ['violations']})"
    )
    return [
        f"{violation['id']} at {', '.join(str(node['target']) for node in violation['nodes'][:3])}"
        for violation in found["violations"]
    ]
