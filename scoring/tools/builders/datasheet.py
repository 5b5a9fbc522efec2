"""The data sheet of a diagnostic split: every rule and threshold, and counts before and after selection."""

from __future__ import annotations

import json
import platform
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from scoring.tools.builders.classes import (
    COMBINED,
    EACH,
    OFFICIAL,
    SIDE_CONDITIONS,
    LengthThresholds,
    Rules,
    counted,
)
from scoring.tools.builders.store import Store
from scoring.tools.builders.tagging import GROUPS, OTHERS

SHEET, FACTS, CARD, CHARTS = "datasheet.md", "datasheet.json", "card.md", "charts"


def write(built: Built, folder: Path) -> None:
    """The sheet for readers, the same as data, its charts, and the card that participants see."""
    (folder / CHARTS).mkdir(parents=True, exist_ok=True)
    for distribution in built.tables.distributions:
        (folder / CHARTS / f"{_slug(distribution.name)}.svg").write_text(
            bar_chart(distribution), encoding="utf-8"
        )
    facts = json.dumps(_facts(built), ensure_ascii=False, indent=1)
    (folder / FACTS).write_text(facts + "\n", encoding="utf-8")
    (folder / SHEET).write_text("\n".join(_sheet(built)), encoding="utf-8")
    (folder / CARD).write_text("\n".join(_card(built)), encoding="utf-8")


def _facts(built: Built) -> dict[str, Any]:
    return {
        "corpus": {"form": built.form, "sha256": built.digest, **built.corpus, "licences": built.licences},
        "rules": built.rules.as_dict(),
        "length_thresholds": asdict(built.thresholds),
        "parts_of_speech": {"pipeline": built.tagger, "groups": GROUPS, "others": OTHERS}
        if built.tagger
        else None,
        "left_out": counted(built.refused),
        "eligible": built.tables.eligible,
        "selected": built.tables.selected,
        "classes": built.tables.classes,
        "distributions": [asdict(distribution) for distribution in built.tables.distributions],
        "programs": {"sentences": built.sentences, "python": platform.python_version()},
    }


def _sheet(built: Built) -> Iterator[str]:
    tables = built.tables
    yield f"# Data sheet\n\n{tables.selected:,} contexts of {tables.eligible:,} that could be taken.\n"
    yield "## Corpus\n"
    facts = [("form", built.form), ("SHA-256", f"`{built.digest}`"), *built.corpus.items()]
    yield from _table(("", ""), facts)
    if set(built.licences) - {"None"}:
        yield from _table(("licence of the paper", "papers"), built.licences.items())
    yield "## Left out\n"
    yield from _table(("why", "contexts"), counted(built.refused).items())
    yield "## Rules\n"
    yield from _table(("rule", "value"), [*rule_rows(built), *_further_rows(built)])
    if not built.rules.every_context:
        yield f"{_HOW_DRAWN[built.rules.sampling]}\n"
        yield from _table(("dimension", "side conditions"), _conditions(built))
    yield "## Classes\n"
    for dimension, counts in tables.classes.items():
        yield from _table((dimension, "contexts"), counts.items())
    yield "## Before and after\n"
    if built.tagger and not built.rules.every_context:
        yield "Parts of speech are known of contexts of medium length with the citation in the middle.\n"
    for distribution in tables.distributions:
        yield f"### {distribution.name}\n\n![{distribution.name}]({CHARTS}/{_slug(distribution.name)}.svg)\n"
        yield from _before_and_after(distribution)


_HOW_DRAWN = {
    EACH: "Each dimension is sampled on its own, while other features stay still:",
    OFFICIAL: "Each set is sampled while other features stay still, and no context stands in two of them; "
    "other sets are made of the contexts of these:",
}


def _conditions(built: Built) -> Iterator[tuple[str, str]]:
    for name, own in SIDE_CONDITIONS.items():
        if name == "h_index_group" and name not in built.tables.classes:
            continue
        if built.rules.sampling == OFFICIAL and name in COMBINED:
            yield name, "the contexts of the other sets"
        else:
            yield name, ", ".join(f"{k} {v}" for k, v in own.items()) or "none"


def rule_rows(built: Built) -> list[tuple[str, object]]:
    """The rule of every feature in words, with its number."""
    rules, thresholds = built.rules, built.thresholds
    length = f"short below {thresholds.low:.4f}, long above {thresholds.high:.4f} white-space tokens"
    if thresholds.mean is not None:
        length += (
            f": mean {thresholds.mean:.4f} -/+ standard deviation {thresholds.deviation:.4f} of "
            f"{thresholds.sentences:,} sentences; {thresholds.dropped:,} beyond z {rules.outlier_z:g} dropped"
        )
    low, high = rules.location_bounds
    years = f"{rules.first_year} to {rules.last_year} in groups of {rules.years_a_group}"
    groups = f"{rules.citation_groups} equal groups within field and years; {rules.fewest_citations} or more"
    rows: list[tuple[str, object]] = [
        ("length", length),
        ("location", f"start up to {low:.4f} of the sentence's tokens, end beyond {high:.4f}"),
        ("years of the cited paper", years),
        ("citation count", groups),
        ("field", f"of the {rules.field_of} paper"),
        ("low resource", f"fields with less than {rules.low_resource_share:.0%} of the papers"),
        ("parts of speech", built.tagger or "not worked out"),
    ]
    if "h_index_group" in built.tables.classes:
        h_index = f"highest of an author of the cited paper; {rules.h_index_groups} equal groups within field"
        rows.append(("h-index", h_index))
    return rows


def _further_rows(built: Built) -> list[tuple[str, object]]:
    rules = built.rules
    rows: list[tuple[str, object]] = [("sentences", built.sentences)]
    if rules.every_context:
        return [*rows, ("sampling", "none: every context that could be taken")]
    most = ("most contexts of a class", rules.most_per_class)
    return [*rows, ("strata", _strata(rules)), most, ("seed", rules.seed)]


def _strata(rules: Rules) -> str:
    if rules.sampling == OFFICIAL:
        each = f"contexts of {rules.drawn} cited papers drawn, {rules.per_stratum} kept"
    else:
        each = f"{rules.per_stratum} in each"
    return f"field, years, citation count group, class; {each}"


def _card(built: Built) -> Iterator[str]:
    yield f"{built.tables.selected:,} contexts, drawn by rules that are shown here.\n"
    yield from _table(("feature", "classes"), rule_rows(built))
    rows = [
        (dimension, ", ".join(f"{label} {count:,}" for label, count in own.items()))
        for dimension, own in built.tables.classes.items()
    ]
    yield from _table(("dimension", "contexts in each class"), rows)


def _before_and_after(distribution: Distribution) -> Iterator[str]:
    sums = [sum(side.values()) for side in (distribution.before, distribution.after)]
    rows: list[tuple[str, ...]] = []
    for label, before in distribution.before.items():
        after = distribution.after.get(label, 0)
        if distribution.is_mean:
            rows.append((label, number(before, is_mean=True), number(after, is_mean=True)))
        else:
            shares = [
                f"{int(n):,} ({n / (total or 1):.1%})" for n, total in zip((before, after), sums, strict=True)
            ]
            rows.append((label, *shares))
    yield from _table(("class", "before", "after"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |\n|{' --- |' * len(head)}"
    for row in rows:
        cells = (f"{cell:,}" if isinstance(cell, int) else str(cell).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""


def _slug(name: str) -> str:
    return re.sub(r"[^a-z]+", "-", name.lower()).strip("-")


#: A step in the chart of token counts.
STEP = 5
NO_CLASS = "None"

_ROWS = """
SELECT f.*, (SELECT group_concat(dimension) FROM sampled s WHERE s.number = f.number) AS sampled
FROM classified f
"""


@dataclass(frozen=True)
class Distribution:
    """One feature of the contexts; ``is_mean`` where the numbers are means and not counts."""

    name: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    is_mean: bool = False


@dataclass(frozen=True)
class Tables:
    """All that the data sheet counts: features before and after, and the classes of each sample."""

    distributions: tuple[Distribution, ...]
    classes: Mapping[str, Mapping[str, int]]
    eligible: int
    selected: int


def _tokens(row: sqlite3.Row) -> str:
    first = row["n_tokens"] // STEP * STEP
    return f"{first:03d}-{first + STEP - 1:03d}"


def _position(row: sqlite3.Row) -> str:
    tenth = min(int(row["position"] * 10), 9)
    return f"{tenth / 10:.1f}-{(tenth + 1) / 10:.1f}"


def _class(name: str) -> Callable[[sqlite3.Row], str]:
    return lambda row: NO_CLASS if row[name] is None else str(row[name])


_FEATURES: Mapping[str, Callable[[sqlite3.Row], str]] = {
    "fields": _class("field"),
    "years of the cited papers": _class("year_group"),
    "citation count groups": _class("citation_group"),
    "tokens in the sentence": _tokens,
    "position of the citation": _position,
    "context types": _class("context_type"),
    "parts of speech before": _class("pos_before"),
    "parts of speech after": _class("pos_after"),
}
TAGGED = frozenset({"parts of speech before", "parts of speech after"})
PAPERS = "papers by field and years"
#: Each paper whose field counts once, with its year: how many there are, and how many are selected.
_PAPERS = """
SELECT field, year, count(*) AS before, sum(chosen) AS after FROM (
    SELECT f.field, min(CASE WHEN :cited THEN f.cited_year ELSE p.year END) AS year,
        max(:every OR EXISTS (SELECT 1 FROM sampled s WHERE s.number = f.number)) AS chosen
    FROM features f LEFT JOIN papers p ON p.paper_id = f.paper_id WHERE f.field IS NOT NULL
    GROUP BY f.field, CASE WHEN :cited THEN f.target ELSE f.paper_id END
) WHERE year IS NOT NULL GROUP BY field, year ORDER BY field, year
"""
CITATIONS = "mean citations of the cited papers by field"


class _Side:
    """The contexts before selection, or those after it."""

    def __init__(self) -> None:
        self.total = 0
        self.features: dict[str, Counter[str]] = {name: Counter() for name in _FEATURES}
        self._citations: Counter[str] = Counter()
        self._cited: Counter[str] = Counter()

    def add(self, row: sqlite3.Row) -> None:
        self.total += 1
        for name, label in _FEATURES.items():
            # Most contexts are never tagged, and a sentence that begins with its citation has no word before.
            if name not in TAGGED or label(row) != NO_CLASS:
                self.features[name][label(row)] += 1
        if row["citations"] is not None:
            field = _class("field")(row)
            self._citations[field] += row["citations"]
            self._cited[field] += 1

    def mean_citations(self) -> dict[str, float]:
        return {field: self._citations[field] / count for field, count in sorted(self._cited.items())}


def count_all(store: Store, rules: Rules) -> Tables:
    """One pass over the contexts; the split may be all of them."""
    is_everything = rules.every_context
    before, after = _Side(), _Side()
    classes: dict[str, Counter[str]] = {dimension: Counter() for dimension in SIDE_CONDITIONS}
    for row in store.rows(_ROWS):
        before.add(row)
        if is_everything or row["sampled"] is not None:
            after.add(row)
        dimensions = SIDE_CONDITIONS if is_everything else (row["sampled"] or "").split(",")
        for dimension in dimensions:
            if dimension and row[dimension] is not None:
                classes[dimension][row[dimension]] += 1
    return Tables(
        distributions=(*_distributions(before, after), *_papers(store, rules)),
        classes={name: dict(sorted(own.items())) for name, own in classes.items() if own},
        eligible=before.total,
        selected=after.total,
    )


def _papers(store: Store, rules: Rules) -> Iterator[Distribution]:
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    for row in store.rows(_PAPERS, {"cited": rules.field_of == "cited", "every": rules.every_context}):
        label = f"{row['field']} {rules.years(row['year'])}"
        before[label] += row["before"]
        after[label] += row["after"]
    if before:
        yield Distribution(PAPERS, dict(before), dict(after))


def _distributions(before: _Side, after: _Side) -> Iterator[Distribution]:
    for name, counts in before.features.items():
        if set(counts) - {NO_CLASS}:
            labels, own = sorted(counts), after.features[name]
            yield Distribution(
                name, {label: counts[label] for label in labels}, {label: own[label] for label in labels}
            )
    if means := before.mean_citations():
        yield Distribution(CITATIONS, means, after.mean_citations(), is_mean=True)


@dataclass(frozen=True, kw_only=True)
class Built:
    """What a split was built from and by which rules, and what came of it."""

    form: str
    corpus: dict[str, int]
    licences: dict[str, int]
    digest: str
    rules: Rules
    thresholds: LengthThresholds
    refused: Counter[str]
    tables: Tables
    tagger: str
    sentences: str


WIDTH, LABELS, NUMBERS, ROW = 720, 210, 80, 34
_BEFORE, _AFTER = "#9db4c8", "#1f4e79"


def bar_chart(distribution: Distribution) -> str:
    """Shares of each class before and after, or the means where the numbers are means."""
    labels = list(distribution.before)
    sides = (_shown(distribution, distribution.before), _shown(distribution, distribution.after))
    longest = max([*sides[0].values(), *sides[1].values(), 1e-12])
    height = ROW * len(labels) + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<style>text { font: 13px sans-serif }</style>",
        f"<title>{escape(distribution.name)}, before and after selection</title>",
        f'<text x="0" y="16">{escape(distribution.name)}</text>',
        f'<rect x="{LABELS}" y="26" width="12" height="10" fill="{_BEFORE}"/>',
        f'<text x="{LABELS + 18}" y="36">before</text>',
        f'<rect x="{LABELS + 90}" y="26" width="12" height="10" fill="{_AFTER}"/>',
        f'<text x="{LABELS + 108}" y="36">after</text>',
    ]
    for place, label in enumerate(labels):
        top = 48 + place * ROW
        parts.append(f'<text x="{LABELS - 8}" y="{top + 18}" text-anchor="end">{escape(label)}</text>')
        for row, (side, colour) in enumerate(zip(sides, (_BEFORE, _AFTER), strict=True)):
            value = side.get(label, 0.0)
            length = value / longest * (WIDTH - LABELS - NUMBERS)
            y = top + row * 13
            parts.append(
                f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="11" fill="{colour}"/>'
                f'<text x="{LABELS + length + 6:.1f}" y="{y + 10}" font-size="11">'
                f"{number(value, is_mean=distribution.is_mean)}</text>"
            )
    return "\n".join([*parts, "</svg>", ""])


def number(value: float, *, is_mean: bool) -> str:
    return f"{value:,.1f}" if is_mean else f"{value:.1%}"


def _shown(distribution: Distribution, counts: Mapping[str, float]) -> dict[str, float]:
    values = dict(counts)
    if distribution.is_mean:
        return values
    total = sum(values.values())
    return {label: value / total if total else 0.0 for label, value in values.items()}
