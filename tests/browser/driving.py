"""What people do in a browser, as tests say it."""

import json
import threading
import time
from collections.abc import Callable

#: Scrolls down the page, touches each chart, and waits until no request is open and each visible chart has
#: its final width.
REVEAL = """async () => {
    const end = performance.now() + 90000;
    const until = async (what, condition) => {
        while (!condition()) {
            if (performance.now() > end) throw new Error(`${what} within 90 seconds`);
            await new Promise((goOn) => setTimeout(goOn, 20));
        }
    };
    const frame = () => new Promise((seen) => requestAnimationFrame(seen));
    const charts = () => document.querySelectorAll('.chart');
    const underWay = '[hx-trigger=load], .htmx-request, .htmx-swapping, .htmx-settling, .htmx-added';
    window.scrollTo(0, document.body.scrollHeight);
    for (const chart of charts()) {
        chart.scrollIntoView();
        await frame();
        await frame();
    }
    await until('the page was not whole', () => !document.querySelector(underWay));
    for (const chart of charts()) {
        chart.scrollIntoView();
        chart.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
        const isDrawn = () => Number(chart.dataset.drawn) === chart.clientWidth;
        await until('a chart was not drawn', () => isDrawn() || !chart.checkVisibility());
    }
    window.scrollTo(0, 0);
}"""
#: The window has this width and these colours, and the page has been told.
HAS_TURNED = """async ([width, colors]) => {
    const frame = () => new Promise((seen) => requestAnimationFrame(seen));
    const isTurned = () => innerWidth === width && matchMedia(`(prefers-color-scheme: ${colors})`).matches;
    const end = performance.now() + 90000;
    for (let frames = 0; frames < 2 || !isTurned(); frames++) {
        if (performance.now() > end) throw new Error(`not ${width} px wide and ${colors} within 90 seconds`);
        await frame();
    }
}"""
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 780}
#: Both widths and both kinds of colours, which do not depend on each other.
LOOKS = {"wide and light": (WIDE, "light"), "narrow and dark": (NARROW, "dark")}


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
    page.evaluate(REVEAL)


def turn(page, look: str) -> None:
    """The colours come first: a chart is drawn anew for its width at last."""
    size, colors = LOOKS[look]
    page.emulate_media(color_scheme=colors)
    page.set_viewport_size(size)
    page.evaluate(HAS_TURNED, [size["width"], colors])


def faults_of(page, addresses: dict[str, str], axe: str) -> dict[str, list[str]]:
    """What is wrong with which page in which look; each is loaded once, as the last was left."""
    found: dict[str, list[str]] = {}
    looks, current = list(LOOKS), None
    for name, where in addresses.items():
        page.goto(where)
        if not is_whole(page):
            continue
        for look in looks:
            if look != current:
                turn(page, look)
            current = look
            reveal(page)
            faults = barriers(page, axe) + (
                ["wider than the window"] if is_too_wide(page) else []
            )
            found |= {f"{name}, {look}": faults} if faults else {}
        looks.reverse()
    return found


def is_whole(page) -> bool:
    """A fragment that only ever stands inside a page is looked at there."""
    return page.evaluate("document.querySelector('h1') !== null")


def is_too_wide(page) -> bool:
    return page.evaluate(
        "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )


def barriers(page, axe: str) -> list[str]:
    """What would keep somebody out, by the rules of WCAG 2.2 A and AA and good practice."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    found = page.evaluate(
        "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],"
        " resultTypes: ['violations']})"
    )
    return [
        f"{violation['id']} at {', '.join(str(node['target']) for node in violation['nodes'][:3])}"
        for violation in found["violations"]
    ]
