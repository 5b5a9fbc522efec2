"""Write the page “The five papers, row by row” from the tables of each paper, their
sets of cells and the stored values.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from scoring.offline.arguments import format_markdown_table
from scoring.papers.cells import (
    CELL_STATES,
    COMPATIBLE,
    DIFFERS,
    EQUAL,
    MISSING_DATA_KINDS,
    NOT_COMPUTABLE,
    CellSet,
    ComputedFigures,
    ReproducedPaper,
    TableCell,
    count_cell_states,
    count_missing_data_kinds,
    describe_deviating_figures,
    determine_cell_states,
)
from scoring.stats.finding import (
    UNDECIDABLE_FORM,
    ConclusionOutcome,
    DifferenceFinding,
    PaperConclusion,
    RankAgreement,
)

REPORTED_STATES = (EQUAL, COMPATIBLE, DIFFERS, NOT_COMPUTABLE)
PAGE_HEAD = Path(__file__).with_name("head.md").read_text(encoding="utf-8")


def render_page(papers: Sequence[ReproducedPaper]) -> str:
    by_paper = {paper.title: count_cell_states(paper) for paper in papers}
    by_paper["together"] = sum(by_paper.values(), Counter())
    rows = [
        (name, *(of[word] for word in REPORTED_STATES)) for name, of in by_paper.items()
    ]
    parts = [
        PAGE_HEAD,
        *format_markdown_table(("figures of", *REPORTED_STATES), rows, in_numbers=True),
    ]
    reasons = {paper.title: count_missing_data_kinds(paper) for paper in papers}
    reasons["together"] = sum(reasons.values(), Counter())
    rows = [
        (name, *(of[kind] for kind in MISSING_DATA_KINDS))
        for name, of in reasons.items()
    ]
    heads = ("figures that cannot be computed, of", *MISSING_DATA_KINDS)
    parts += format_markdown_table(heads, rows, in_numbers=True)
    parts += _render_failing_claims(papers)
    for paper in papers:
        parts += [
            f"## {paper.title}\n",
            *format_markdown_table(("#", "what", "where", "remark"), paper.rows),
        ]
        parts += _render_conclusions(paper)
        for name, cells in determine_cell_states(paper).items():
            parts += _render_table(paper, name, cells)
    return "\n".join(parts).rstrip() + "\n"


def _render_failing_claims(papers: Sequence[ReproducedPaper]) -> Iterator[str]:
    rows = [
        (
            paper.title,
            conclusion.sentence or conclusion.name,
            conclusion.name,
            table,
            _describe_verdict(conclusion, outcome),
        )
        for paper in papers
        for table, conclusion in paper.conclusions
        if conclusion.fails(
            outcome := conclusion.finding(paper.printed(table, conclusion))
        )
    ]
    yield "## Claims that fail on their own tables\n"
    heads = ("paper", "claim, in our words", "as decided", "of", "as printed")
    yield from format_markdown_table(heads, rows)


def _render_conclusions(paper: ReproducedPaper) -> Iterator[str]:
    rows = []
    for table, conclusion in paper.conclusions:
        by_reading = paper.figures(table, conclusion)
        outcomes = {
            name: conclusion.finding(figures) for name, figures in by_reading.items()
        }
        printed = outcomes.pop("printed")
        for finding in paper.findings:
            if (
                finding.conclusion == conclusion.name
                and finding.key in paper.recorded_values
            ):
                units, above, *ends = paper.recorded_values[finding.key]
                outcomes[finding.reading] = DifferenceFinding(
                    int(units), int(above), *ends
                )
        own = "; ".join(
            f"*{name}*: {_describe_verdict(conclusion, outcome)}"
            for name, outcome in outcomes.items()
            if outcome.units
        )
        words = _describe_verdict(conclusion, printed)
        if conclusion.fails(printed):
            words = f"**fails**; {words}"
        place = ", ".join(filter(None, (f"section {conclusion.section}", table)))
        place = place if conclusion.section else table
        if conclusion.from_table:
            place = f"{place}; read from the table"
        claim = conclusion.sentence or conclusion.name
        rows.append((claim, conclusion.name, place, words, own or "–"))
    if rows:
        yield f"### {paper.title.partition(' (')[0]}, what it concludes\n"
        heads = (
            "the paper's claim, in our words",
            "as decided",
            "of",
            "as printed",
            "ours",
        )
        yield from format_markdown_table(heads, rows)


def _describe_verdict(conclusion: PaperConclusion, outcome: ConclusionOutcome) -> str:
    if conclusion.form == UNDECIDABLE_FORM:
        return f"no figures decide it: {conclusion.why}"
    words = {True: "holds", False: "does not hold", None: "cannot be decided"}[
        conclusion.holds(outcome)
    ]
    if isinstance(outcome, RankAgreement):
        if math.isnan(outcome.p):
            return f"{words}: {outcome.units} pairs are too few"
        p = f"{'exact ' if outcome.is_exact else ''}p {outcome.p:.3f}"
        return f"{words}: rank correlation {outcome.coefficient:+.2f} of {outcome.units}, {p}"
    ends = (
        f" [{outcome.low:.3f}, {outcome.high:.3f}]"
        if math.isfinite(outcome.low)
        else ""
    )
    return f"{words}: {outcome.above} of {outcome.units}, {outcome.mean:+.3f}{ends}"


def _render_table(
    paper: ReproducedPaper, name: str, cells: Sequence[tuple[TableCell, str]]
) -> Iterator[str]:
    states = Counter(state for _, state in cells)
    sizes = ", ".join(
        f"{states[state]} {state}" for state in CELL_STATES if states[state]
    )
    yield f"### {paper.title.partition(' (')[0]}, {name}: {sizes}\n"
    sets = [one for one in paper.sets if one.table == name]
    for excuse in dict.fromkeys(one.missing_data_text for one in sets if one.cannot):
        yield f"Cannot be computed: {excuse}.\n"
    computed = [one for one in sets if not one.cannot]
    told = dict.fromkeys(
        f"*{one.reading}*: {_format_commands(paper.programs[one.program])}."
        for one in computed
    )
    reasons = dict.fromkeys(
        words
        for one in computed
        for words in (_describe_compatibility(one), _describe_difference(one))
        if words
    )
    yield from (f"{words}\n" for words in (*told, *reasons))
    figures: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for cell in paper.cells():
        if cell.cells in computed:
            row = figures[", ".join(cell.label)]
            if cell.metric not in row["figures"]:
                row["figures"].append(cell.metric)
                row["printed"].append(cell.text)
            row[cell.cells.reading].append(
                _format_computed_value(cell, paper.recorded_values.get(cell.key))
            )
    heads = ("figures", "printed", *dict.fromkeys(one.reading for one in computed))
    lines = [
        (label, *(", ".join(row[head]) for head in heads))
        for label, row in figures.items()
    ]
    yield from format_markdown_table(("of", *heads), lines) if lines else ()


def _describe_compatibility(cells: CellSet) -> str:
    return (
        f"*{cells.reading}* is compatible where {cells.reason}." if cells.reason else ""
    )


def _describe_difference(cells: CellSet) -> str:
    if not cells.differs:
        return ""
    return f"Where *{cells.reading}* differs: {cells.differs}."


def _format_commands(program: Sequence[str]) -> str:
    shown = (
        words.replace("{data}", "DATA").replace("{work}/", "") for words in program
    )
    return ", then ".join(f"`scoring {words}`" for words in shown)


def _format_computed_value(cell: TableCell, ours: Sequence[float] | None) -> str:
    if ours is None:
        return "–"
    ends = (
        f" [{ours[1]:.{cell.digits}f}, {ours[2]:.{cell.digits}f}]"
        if len(ours) > 1
        else ""
    )
    value = f"{ours[0]:.{cell.digits}f}{ends}"
    state = cell.state(ours)
    if state == EQUAL:
        return f"**{value}**"
    if state == COMPATIBLE:
        return f"*{value}*"
    return f"{value} ({cell.format_difference(ours)})"


def summarise_computed_figures(
    paper: ReproducedPaper, computed: ComputedFigures
) -> tuple[list[str], list[str]]:
    states = Counter(
        cell.state(computed.values[cell.key])
        for cell in paper.cells()
        if cell.key in computed.values
    )
    sizes = ", ".join(
        f"{states[state]} {state}" for state in CELL_STATES if state != NOT_COMPUTABLE
    )
    skipped = (
        f"{paper.name}: {count} skipped: {why}"
        for why, count in computed.skipped.items()
    )
    return [f"{paper.name}: {sizes}", *skipped], describe_deviating_figures(
        paper, computed.values
    )
