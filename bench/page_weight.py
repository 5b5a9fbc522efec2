"""Measure what a first visit to a board fetches over HTTP: sizes as stored, and as sent.

Usage: python bench/page_weight.py

The board has 25 teams, eight columns, scores by class, and its tab of classes with the server's drawings. A
browser with an empty cache fetches the page, the files in its head and all fonts. Scripts fetch nothing
more; Plotly is counted apart, because it comes once a reader points at a chart. The first column was
measured before pages were compressed; Plotly's size is that of the installed bundle.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from house import served, set_up

TEAMS, TOPICS = 25, 12
FIRST_VISIT, WITH_PLOTLY = 120.0, 650.0

METRICS = (
    "overlap_precision_micro",
    "overlap_recall_micro",
    "overlap_f1_macro",
    "overlap_precision_macro",
    "overlap_recall_macro",
    "rouge_l_f1",
    "rouge_2_f1",
)


@dataclass(frozen=True)
class Size:
    """In kB."""

    plain: float = 0.0
    sent: float = 0.0

    def __add__(self, other: Size) -> Size:
        return Size(self.plain + other.plain, self.sent + other.sent)


def main() -> None:
    folder = set_up()
    from django.core.management import call_command

    call_command("collectstatic", verbosity=0, interactive=False)
    board = seed()
    print(f"{'before, kB':>12}{'now, kB':>12}")
    with served(folder, only="site") as house:
        base = f"http://127.0.0.1:{house.port}"
        page = fetched(base + board, "identity")[0].decode()
        head = page[: page.index("</head>")]
        named = re.findall(r'<(?:link|script)[^>]+(?:href|src)="(/static/[^"]+)"', head)
        [sheet] = [name for name in named if name.endswith(".css")]
        styles = fetched(base + sheet, "identity")[0].decode()
        fonts = [
            f"/static/{font}" for font in re.findall(r'url\("([^"]+\.woff2)"\)', styles)
        ]
        files = dict.fromkeys([*named, *fonts])
        visits = {
            "a first visit to the first page": total(base, ["/", *files]),
            "a first visit to a board": total(base, [board, *files]),
            "a first visit to its classes": total(
                base, [f"{board}&view=classes", *files]
            ),
        }
        for title, size in visits.items():
            line(title, size)
        [script] = re.findall(r'<meta name="plotly" content="([^"]+)"', head)
        plotly = Size(whole_plotly(), sized(base, script).sent)
        pointed = visits["a first visit to its classes"] + plotly
        line("the same with a chart that a reader points at", pointed)
    print(f"at most {FIRST_VISIT:.0f} kB, and {WITH_PLOTLY:.0f} kB with Plotly")
    heaviest = max(size.sent for size in visits.values())
    sys.exit(heaviest > FIRST_VISIT or pointed.sent > WITH_PLOTLY)


def total(base: str, addresses: Iterable[str]) -> Size:
    return sum((sized(base, address) for address in dict.fromkeys(addresses)), Size())


def sized(base: str, address: str) -> Size:
    plain, _ = fetched(base + address, "identity")
    content, encoding = fetched(base + address)
    found = Size(len(plain) / 1e3, len(content) / 1e3)
    line(f"{address} ({encoding or 'not compressed'})", found)
    return found


def line(title: str, size: Size) -> None:
    print(f"{size.plain:12,.1f}{size.sent:12,.1f}  {title}")


def whole_plotly() -> float:
    """The bundle with every kind of chart; 0 where the package is not installed."""
    package = importlib.util.find_spec("plotly")
    places = (package.submodule_search_locations or ()) if package else ()
    files = [Path(place) / "package_data" / "plotly.min.js" for place in places]
    size = sum(file.stat().st_size for file in files if file.is_file()) / 1e3
    line("the whole of Plotly, before", Size(size, 0))
    return size


def fetched(address: str, encodings: str = "gzip, br") -> tuple[bytes, str]:
    request = Request(address, headers={"Accept-Encoding": encodings})  # noqa: S310
    with urlopen(request, timeout=60) as answer:  # noqa: S310
        return answer.read(), answer.headers.get("Content-Encoding", "")


def seed() -> str:
    import random

    from tests import factories
    from tests.scoring import boards

    chance = random.Random(0)
    phase = factories.make_phase()
    for number in range(TEAMS):
        run = factories.make_submission(
            phase=phase, status="scored", system=f"System {number}"
        )
        others = {metric: chance.uniform(0.2, 0.7) for metric in METRICS}
        boards.score(run, chance.uniform(0.2, 0.7), **others)
        boards.by_class(
            run,
            "topic",
            {f"C{n:02}-2039": chance.uniform(0.1, 0.9) for n in range(TOPICS)},
        )
    return boards.address("board", phase) + "?columns=all"


if __name__ == "__main__":
    main()
