"""The page “The five papers, row by row”, from the rows, cells and recorded values of each paper."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from scoring.offline.arguments import markdown_table
from scoring.papers.cells import (
    DIFFERS,
    EQUAL,
    FAILS,
    STATES,
    Cell,
    Computed,
    Paper,
    counts,
    decided,
)
from scoring.stats.finding import Finding

HEAD = Path(__file__).with_name("head.md").read_text(encoding="utf-8")


def page(papers: Sequence[Paper]) -> str:
    rows = [
        (paper.title, *(counts(paper)[state] for state in STATES[:3]))
        for paper in papers
    ]
    rows.append(("together", *(sum(row[place] for row in rows) for place in (1, 2, 3))))
    parts = [HEAD, *markdown_table(("figures of", *STATES[:3]), rows, in_numbers=True)]
    for paper in papers:
        parts += [
            f"## {paper.title}\n",
            *markdown_table(("#", "what", "where", "remark"), paper.rows),
        ]
        parts += _conclusions(paper)
        for name, cells in decided(paper).items():
            parts += _table(paper, name, cells)
    return "\n".join(parts).rstrip() + "\n"


def _conclusions(paper: Paper) -> Iterator[str]:
    rows = []
    for table, conclusion in paper.conclusions:
        found = {
            name: conclusion.finding(own) for name, own in paper.figures(table).items()
        }
        printed = _verdict(found.pop("printed"))
        for one in paper.findings:
            if one.conclusion == conclusion.name and one.key in paper.recorded:
                units, above, *ends = paper.recorded[one.key]
                found[one.reading] = Finding(int(units), int(above), *ends)
        told = "; ".join(
            f"*{name}*: {_verdict(own)}" for name, own in found.items() if own.units
        )
        rows.append((conclusion.name, table, printed, told or "–"))
    if rows:
        yield f"### {paper.title.partition(' (')[0]}, what it concludes\n"
        yield from markdown_table(("conclusion", "of", "as printed", "ours"), rows)


def _verdict(found: Finding) -> str:
    words = {True: "holds", False: "does not hold", None: "cannot be told"}[found.holds]
    ends = f" [{found.low:.3f}, {found.high:.3f}]" if math.isfinite(found.low) else ""
    return f"{words}: {found.above} of {found.units}, {found.mean:+.3f}{ends}"


def _table(paper: Paper, name: str, cells: Sequence[tuple[Cell, str]]) -> Iterator[str]:
    states = Counter(state for _, state in cells)
    sizes = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    yield f"### {paper.title.partition(' (')[0]}, {name}: {sizes}\n"
    sets = [one for one in paper.sets if one.table == name]
    for reason in dict.fromkeys(one.cannot for one in sets if one.cannot):
        yield f"Cannot be computed: {reason}.\n"
    computed = [one for one in sets if not one.cannot]
    commands = ((one, _command(paper.programs[one.program])) for one in computed)
    told = dict.fromkeys(
        f"*{one.reading}*: {does}. Equal is {one.reason}." for one, does in commands
    )
    differing = (one for one in computed if one.differs)
    reasons = dict.fromkeys(
        f"Where *{one.reading}* differs: {one.differs}." for one in differing
    )
    yield from (f"{words}\n" for words in (*told, *reasons))
    figures: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for cell in paper.cells():
        if cell.cells in computed:
            row = figures[", ".join(cell.label)]
            if cell.metric not in row["figures"]:
                row["figures"].append(cell.metric)
                row["printed"].append(cell.text)
            row[cell.cells.reading].append(_shown(cell, paper.recorded.get(cell.key)))
    heads = ("figures", "printed", *dict.fromkeys(one.reading for one in computed))
    lines = [
        (label, *(", ".join(row[head]) for head in heads))
        for label, row in figures.items()
    ]
    yield from markdown_table(("of", *heads), lines) if lines else ()


def _command(program: Sequence[str]) -> str:
    shown = (
        words.replace("{data}", "DATA").replace("{work}/", "") for words in program
    )
    return ", then ".join(f"`scoring {words}`" for words in shown)


def _shown(cell: Cell, ours: Sequence[float] | None) -> str:
    if ours is None:
        return "–"
    digits = len(cell.text.rstrip("*%").partition(".")[2])
    ends = f" [{ours[1]:.{digits}f}, {ours[2]:.{digits}f}]" if len(ours) > 1 else ""
    value = f"{ours[0]:.{digits}f}{ends}"
    return f"**{value}**" if cell.state(ours) == EQUAL else value


def told(paper: Paper, computed: Computed) -> tuple[list[str], list[str]]:
    states: Counter[str] = Counter()
    faults = []
    for cell in paper.cells():
        if cell.key in computed.values:
            states[state := cell.state(computed.values[cell.key])] += 1
            if state == FAILS:
                ours = f"{computed.values[cell.key][0]:.6g}"
                faults.append(
                    f"{cell.key}: printed {cell.text}, ours {ours}, and no reason is given"
                )
    sizes = ", ".join(f"{states[state]} {state}" for state in (EQUAL, DIFFERS, FAILS))
    skipped = (
        f"{paper.name}: {count} skipped: {why}"
        for why, count in computed.skipped.items()
    )
    return [f"{paper.name}: {sizes}", *skipped], faults
