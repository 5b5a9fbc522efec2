"""The data sheet of a diagnostic split: every rule and threshold, and counts before and after selection."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scoring.tools.builders.bars import bar_chart, number
from scoring.tools.builders.built import Built
from scoring.tools.builders.distributions import Distribution
from scoring.tools.builders.eligible import counted
from scoring.tools.builders.rules import COMBINED, EACH, OFFICIAL, SIDE_CONDITIONS, Rules
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
    """Of every dimension; of the h-index where the corpus has one."""
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
    """What participants read above the task type's own card: thresholds are part of the task."""
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
