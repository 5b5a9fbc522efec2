"""What a first visit to a board fetches, over HTTP from a server of its own: files as they are, and as sent.

Usage: python bench/page_weight.py

A board of 20 teams with scores by class: the page and what its head names, as a browser with an empty cache
and without scripts fetches it; then the parts that scripts fetch below it, and Plotly's script. Before pages
were compressed and Plotly was cut to the charts of the site, a visit fetched the first column, with the whole
of Plotly in the place of its cartesian part; its size is that of the installed package's bundle.
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

TEAMS, TOPICS = 20, 12
WITHOUT_CHARTS, WITH_CHARTS = 120.0, 650.0


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
        first = total(base, ["/", *named])
        line("a first visit to the first page", first)
        parts = re.findall(r'hx-get="([^"]+)"', page)
        [script] = re.findall(r'<meta name="plotly" content="([^"]+)"', head)
        without = total(base, [board, *named])
        line("a first visit without charts", without)
        [sheet] = [name for name in named if name.endswith(".css")]
        fonts = re.findall(
            r'url\("([^"]+\.woff2)"\)', fetched(base + sheet, "identity")[0].decode()
        )
        line(
            "fonts, after the text", total(base, [f"/static/{font}" for font in fonts])
        )
        charts = total(base, parts) + Size(whole_plotly(), sized(base, script).sent)
        line("a first visit with charts", without + charts)
    print(
        f"at most {WITHOUT_CHARTS:.0f} kB without charts and {WITH_CHARTS:.0f} kB with"
    )
    sys.exit(
        max(first.sent, without.sent) > WITHOUT_CHARTS
        or (without + charts).sent > WITH_CHARTS
    )


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
        boards.score(run, chance.uniform(0.2, 0.7))
        boards.by_class(
            run,
            "topic",
            {f"C{n:02}-2039": chance.uniform(0.1, 0.9) for n in range(TOPICS)},
        )
    return boards.address("board", phase)


if __name__ == "__main__":
    main()
