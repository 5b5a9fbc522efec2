"""Makes the pictures of the guides from the running demo season, so that they show what there is.

`.venv/bin/python scripts/pictures.py` starts a site of its own in a temporary folder and writes `docs/img/`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "img"
PORT = "8977"
SITE = f"http://127.0.0.1:{PORT}"
SCORED_WITHIN = 300  # seconds
MAX_LOOKS = 40  # half a second apart
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-sync",
]
#: Maximum width of pictures; guides show them at full size.
WIDE = 960
#: Name, address (with the first two runs of the first board), who looks at it, how much of the page is shown.
PICTURES = (
    ("board", "/seasons/demo/1a/practice/", "", {"width": WIDE, "height": 1000}),
    (
        "board-narrow-dark",
        "/seasons/demo/1a/practice/",
        "",
        {"width": 390, "height": 800},
    ),
    (
        "submission",
        "/submissions/{first}/",
        "organiser",
        {"width": WIDE, "height": 1000},
    ),
    (
        "differences",
        "/seasons/demo/1a/practice/?view=classes#view",
        "",
        {"width": WIDE, "height": 1000},
    ),
    (
        "compare",
        "/seasons/demo/1a/practice/compare/?a={first}&b={second}",
        "",
        {"width": WIDE, "height": 1000},
    ),
    (
        "instances",
        "/seasons/demo/1a/practice/compare/instances/?a={first}&b={second}",
        "organiser",
        {"width": WIDE, "height": 900},
    ),
    ("team", "/teams/avocet/results/", "", {"width": WIDE, "height": 620}),
    (
        "published",
        "/seasons/cl-summ-2014/1a/published/",
        "",
        {"width": WIDE, "height": 1000},
    ),
    (
        "upload",
        "/seasons/demo/1a/practice/submit/",
        "participant",
        {"width": WIDE, "height": 1000},
    ),
    (
        "refusal",
        "/seasons/demo/1a/practice/submit/",
        "participant",
        {"width": WIDE, "height": 1000},
    ),
    ("season", "/seasons/demo/", "", {"width": WIDE, "height": 760}),
    (
        "organise",
        "/seasons/demo/organise/",
        "organiser",
        {"width": WIDE, "height": 1000},
    ),
    (
        "gold",
        "/seasons/demo/organise/gold/",
        "organiser",
        {"width": WIDE, "height": 800},
    ),
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="citeboard-pictures-") as folder:
        environment = {
            **os.environ,
            "CITEBOARD_DATA_DIR": folder,
            "CITEBOARD_INSECURE_HTTP": "yes",
            "CITEBOARD_LOG_LEVEL": "WARNING",
            "PORT": PORT,
        }
        demo = prepared(environment)
        site = subprocess.Popen(
            [sys.executable, "manage.py", "serve"], cwd=ROOT, env=environment
        )
        try:
            wait_until_scored(environment, demo)
            take(demo)
        finally:
            site.send_signal(signal.SIGTERM)
            site.wait()


def prepared(environment: dict[str, str]) -> dict[str, Any]:
    for command in (
        ["migrate", "--verbosity", "0"],
        ["collectstatic", "--no-input", "--verbosity", "0"],
    ):
        manage(environment, *command)
    demo: dict[str, Any] = json.loads(manage(environment, "demo", "--json"))
    return demo


def manage(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    ).stdout


def wait_until_scored(environment: dict[str, str], demo: dict[str, Any]) -> None:
    """Until no job is left to do and the rows of every board have been compared."""
    end = time.monotonic() + SCORED_WITHIN
    while jobs_left(environment) or not all(
        is_compared(phase["id"]) for phase in demo["phases"]
    ):
        if time.monotonic() > end:
            sys.exit(f"the demo season was not scored within {SCORED_WITHIN} seconds")
        time.sleep(1)


def jobs_left(environment: dict[str, str]) -> int:
    """Those that wait for something that is missing here would wait for ever."""
    asked = "print(Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]).count())"
    return int(
        manage(
            environment, "shell", "-c", f"from tasks.models import Job; {asked}"
        ).split()[-1]
    )


def is_compared(phase: int) -> bool:
    try:
        return bool(board(phase)["compared"])
    except OSError:
        return False


def board(phase: int) -> dict[str, Any]:
    with urlopen(f"{SITE}/api/v1/phases/{phase}/leaderboard/") as answer:  # noqa: S310  (our own address)
        found: dict[str, Any] = json.load(answer)
    return found


def take(demo: dict[str, Any]) -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(parents=True, exist_ok=True)
    people = {user["role"]: user for user in demo["users"]}
    ranked = [
        row["submission"]
        for row in board(demo["phases"][0]["id"])["rows"]
        if row["rank"]
    ]
    runs = dict(zip(("first", "second"), ranked, strict=False))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS
        )
        for name, address, role, size in PICTURES:
            shape: Any = {
                "viewport": size,
                "color_scheme": "dark" if name.endswith("dark") else "light",
            }
            page = browser.new_page(**shape)
            if role:
                sign_in(page, people[role])
            page.goto(SITE + address.format(**runs))
            if name == "refusal":
                check_mistakes(page)
            (IMAGES / f"{name}.png").write_bytes(once_still(page))
            page.close()
        browser.close()


def check_mistakes(page: Any) -> None:
    """A file with something wrong in it, checked and not submitted."""
    page.set_input_files(
        "input[name=run]", ROOT / "examples" / "runs" / "with-mistakes.jsonl"
    )
    page.fill("input[name=system]", "Lexical top 3")
    page.click("text=Check without submitting")
    page.wait_for_selector("table.problems")


def once_still(page: Any) -> bytes:
    """The picture of a page on which nothing moves any more: two in a row are the same."""
    page.wait_for_load_state("networkidle")
    before = b""
    for _ in range(MAX_LOOKS):
        page.wait_for_timeout(500)
        picture: bytes = page.screenshot()
        if picture == before:
            return picture
        before = picture
    sys.exit(f"{page.url} does not come to rest")


def sign_in(page: Any, user: dict[str, str]) -> None:
    page.goto(f"{SITE}/accounts/login/")
    page.fill("input[name=login]", user["email"])
    page.fill("input[name=password]", user["password"])
    page.click("main button[type=submit]")
    page.wait_for_load_state("networkidle")


if __name__ == "__main__":
    main()
