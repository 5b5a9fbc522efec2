"""Reading a file of published results; everything that is wrong with it is told at once."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from scoring.publications.bounds import with_contradictions
from scoring.publications.fields import Fields, Findings, near, shown
from scoring.publications.from_csv import content_of
from scoring.publications.printed_form import (
    KINDS,
    SCALES,
    SCHEMA,
    Feature,
    Figure,
    Measure,
    Paper,
    Publication,
    Row,
    Table,
)
from tasks.types import InputRefused, Problem
from tasks.types.problems import fatal

#: The tables of a paper; a larger file is something else.
LARGEST = 10_000_000
#: Fields of a row by which rows are told apart or described, besides its system.
FEATURES = (
    "dataset", "dataset_id", "dimension", "class", "topic", "group", "window", "window_left", "window_right",
    "threshold", "annotators", "in_domain",
)  # fmt: skip
_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
#: What stands around a number in print, and does not change it.
_AROUND = re.compile(r"[%*†‡,\s]")


def read_publication(path: Path) -> tuple[Publication, list[Problem]]:
    """What the file says, and what is odd about it. Raises InputRefused with everything that is wrong."""
    findings = Findings(path.name)
    try:
        content = _parsed(path)
    except (OSError, ValueError, RecursionError) as fault:
        raise InputRefused([Problem(file=path.name, message=f"cannot be read: {fault}")]) from fault
    top = Fields(content, "", findings)
    schema = top.text("schema")
    if schema and schema != SCHEMA:
        # Of another form nothing else would be as expected.
        raise InputRefused([Problem(file=path.name, message=f"“schema” is “{schema}”", expected=SCHEMA)])
    paper = _paper(Fields(top.raw("paper", {}), "paper", findings))
    tables = tuple(_table(fields) for fields in top.objects("tables", "table {}"))
    top.close()
    for name, count in Counter(table.name for table in tables).items():
        if count > 1:
            findings.add(name, "is there twice")
    if fatal(findings.problems):
        raise InputRefused(findings.problems)
    return Publication(paper=paper, tables=tables), findings.problems


def _parsed(path: Path) -> Any:
    if path.stat().st_size > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} bytes")
    if path.suffix.lower() == ".toml":
        return content_of(path, LARGEST)
    return json.loads(
        path.read_bytes().decode("utf-8-sig"), parse_constant=_refused_constant, object_pairs_hook=_unrepeated
    )


def _refused_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that is printed anywhere")


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f"the field “{counts.most_common(1)[0][0]}” is there twice in one object")
    return found


def _paper(fields: Fields) -> Paper:
    key = fields.text("key")
    if key and not _KEY.fullmatch(key):
        fields.refuse(f"“key” is “{key}”", "small letters, digits and single hyphens, as in an address")
    paper = Paper(
        key=key[:60],
        authors=fields.texts("authors"),
        year=fields.whole("year", 1900, 2100),
        title=fields.text("title"),
        venue=fields.text("venue"),
        **{name: fields.text(name, "") for name in ("pages", "doi", "arxiv", "figures_from")},
    )
    fields.close()
    return paper


def _table(fields: Fields) -> Table:
    name = fields.text("id")
    fields.place = name or fields.place
    row_key = fields.texts("row_key")
    for field in row_key:
        if field != "system" and field not in FEATURES:
            fields.refuse(f"“row_key” names “{field}”{near(field, FEATURES)}", "fields of rows")
    measures = tuple(_measure(field) for field in fields.objects("metrics", "metric {}"))
    dataset = fields.text("dataset", "")
    table = Table(
        name=name,
        kind=fields.choice("kind", KINDS),
        what=fields.text("what"),
        dataset=dataset,
        row_key=row_key,
        measures=measures,
        deviation=fields.text("deviation", ""),
        marks=fields.mapping("marks", str, "what each mark means"),
        notes=fields.texts("notes", ()),
        rows=tuple(_row(field, measures) for field in fields.objects("rows", "entry {}")),
    )
    fields.close()
    for key, count in Counter(table.key(row) for row in table.rows).items():
        if count > 1:
            named = ", ".join(str(part) for part in key)
            fields.refuse(f"two entries are of {named}", f"other {', '.join(row_key)} in each")
    return _described_contradictions(fields, with_contradictions(table))


def _described_contradictions(fields: Fields, table: Table) -> Table:
    for row in table.rows:
        if row.contradiction:
            named = ", ".join(str(part) for part in table.key(row))
            fields.findings.add(fields.place, f"{named}: {row.contradiction}", fatal=False)
    return table


def _measure(fields: Fields) -> Measure:
    measure = Measure(
        name=fields.text("name"),
        scale=fields.choice("scale", SCALES),
        higher_is_better=fields.flag("higher_is_better", True, False, None),
        printed_name=fields.text("printed_name", ""),
        what=fields.text("what", ""),
    )
    fields.close()
    return measure


def _row(fields: Fields, measures: tuple[Measure, ...]) -> Row:
    system = fields.raw("system", None)
    if system is not None and (not isinstance(system, str) or not system.strip()):
        fields.refuse(f"“system” is {shown(system)}", "a name, or null")
        system = None
    row = Row(
        line=fields.whole("row", 1, 100_000),
        system=system,
        system_id=fields.text("system_id", ""),
        features={name: _feature(fields, name) for name in FEATURES if name in fields.values},
        figures=_figures(fields, measures),
        is_inconsistent=bool(fields.flag("inconsistent", True, False, default=False)),
        note=fields.text("note", ""),
    )
    fields.close(FEATURES)
    return row


def _feature(fields: Fields, name: str) -> Feature:
    value = fields.values[name]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    fields.refuse(f"“{name}” is {shown(value)}", "a text or a number")
    return None


def _figures(fields: Fields, measures: tuple[Measure, ...]) -> tuple[Figure, ...]:
    values = fields.mapping("values", (int, float), "numbers by metric")
    printed = fields.mapping("printed", str, "texts by metric")
    deviations = fields.mapping("deviations", (int, float), "numbers by metric")
    less_than = fields.mapping("less_than", (int, float), "numbers by metric")
    words = {
        name: fields.mapping(name, str, "texts by metric")
        for name in ("printed_deviations", "marks", "suspect")
    }
    names = [measure.name for measure in measures]
    for given, has_all in ((values, True), (printed, True), (deviations, False), (less_than, False)):
        for name in given:
            if name not in names:
                fields.refuse(f"there is no metric “{name}”{near(name, names)}", f"one of {', '.join(names)}")
        if has_all:
            for name in names:
                if name not in given:
                    fields.refuse(f"{name} is missing")
    figures = []
    for measure in measures:
        name = measure.name
        figure = Figure(
            measure=name,
            value=values.get(name),
            printed=printed.get(name) or "",
            deviation=deviations.get(name),
            printed_deviation=words["printed_deviations"].get(name) or "",
            mark=words["marks"].get(name) or "",
            less_than=less_than.get(name),
            suspect=words["suspect"].get(name) or "",
        )
        _judge(fields, measure, figure)
        figures.append(figure)
    return tuple(figures)


def _judge(fields: Fields, measure: Measure, figure: Figure) -> None:
    """Whether a figure is one of its scale, and the one that is printed."""
    low, high = SCALES.get(measure.scale, (None, None))
    if figure.value is None:
        if figure.less_than is None and figure.printed:
            fields.refuse(
                f"{measure.name} has no value and is printed “{figure.printed}”", "the value, or “less_than”"
            )
        return
    if (low is not None and figure.value < low) or (high is not None and figure.value > high):
        ends = f"from {low} up" if high is None else f"from {low} to {high}"
        fields.refuse(f"{measure.name} is {figure.value}", f"a {measure.scale}, {ends}")
    if _as_number(figure.printed) != figure.value:
        message = f"{measure.name} is printed “{figure.printed}” and read as {figure.value}"
        fields.findings.add(fields.place, message, fatal=False)


def _as_number(printed: str) -> float | None:
    text = _AROUND.sub("", printed).replace("−", "-")
    try:
        return float(text)
    except ValueError:
        return None
