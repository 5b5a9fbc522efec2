"""Writes docs/benchmarks.md from the kept results; `make bench` runs it last."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from measuring import RESULTS, ROOT, shown

PAGE = ROOT / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

This page is for developers who ask how fast Citeboard scores. Each scorer is timed beside a reference
implementation, in turn, in one process with one thread. Times are medians of processor time, and
a ratio of 2× means that Citeboard needs half the time of the reference. Of tables with more than twelve rows
the page shows only the rows with a reference. The results are stored in `bench/results/`.

    make bench                                # measure all scorers again and write this page
    python bench/ranking.py                   # measure the scorers of one table
    python bench/over_http.py                 # measure pages over HTTP

| task | section |
| --- | --- |
"""
#: A longer table shows only rows with a reference.
MAX_ROWS = 12
HTTP = "## Pages over HTTP"
PAGES = """
| see how long pages take | [Pages over HTTP](#pages-over-http) |
"""


def main() -> None:
    kept = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(RESULTS.glob("*.json"))
    }
    over_http = HTTP + PAGE.read_text(encoding="utf-8").partition(HTTP)[2]
    titles = [own["title"] for own in kept.values()]
    parts = [
        f"{HEAD}| compare a scorer with its reference | {', '.join(map(link, titles))} |{PAGES}",
        *(section(name, own) for name, own in kept.items()),
        over_http,
    ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(f"  {PAGE.relative_to(ROOT)}")


def link(title: str) -> str:
    anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"


def section(name: str, kept: dict[str, Any]) -> str:
    rows = [
        row
        for row in kept["rows"]
        if len(kept["rows"]) <= MAX_ROWS or row["reference"] is not None
    ]
    named = ", ".join(
        f"{package} {version}" for package, version in kept["versions"].items()
    )
    lines = [
        f"## {kept['title']}",
        "",
        f"`python bench/{name}.py` on {kept['machine']}; {named}.",
        "",
        "| | time | reference | ratio | wanted |",
        "| --- | ---: | --- | ---: | ---: |",
        *(line(row) for row in rows),
        "",
    ]
    return "\n".join(lines)


def line(row: dict[str, Any]) -> str:
    reference = (
        f"{row['against']} {shown(row['reference'])}"
        if row["reference"] is not None
        else ""
    )
    note = f"{'; ' if reference and row['note'] else ''}{row['note']}"
    ratio = f"{row['ratio']:.3g}×" if row["ratio"] is not None else ""
    wanted = f"{row['wanted']:.3g}×" if row["wanted"] is not None else ""
    own = "" if math.isnan(row["ours"]) else shown(row["ours"])
    return f"| {row['what']} | {own} | {reference}{note} | {ratio} | {wanted} |"


if __name__ == "__main__":
    main()
