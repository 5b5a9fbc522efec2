"""Read a file of published results, and report all problems of the file at once."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from scoring.stats.finding import (
    COMPARED_AGGREGATES,
    CONCLUSION_FORMS,
    DIFFERENCE_FORM,
    MEAN_FIGURES,
    TREND_FORMS,
    UNDECIDABLE_FORM,
    PaperConclusion,
    TableFigure as PrintedFigure,
)
from tasks.seasons.file.tables import (
    MISSING_VALUE,
    REQUIRED_VALUE,
    CheckedTable,
    SeasonFileProblems,
    describe_choices,
    format_similar_name_hint,
)
from tasks.types import InputRefused, Problem
from tasks.types.citation_recommendation import explain_contradictory_recall_and_mrr
from tasks.types.guarded.json_reader import read_json
from tasks.types.guarded.toml_reader import TOML, read_toml
from tasks.types.problems import select_fatal_problems
from tasks.types.toml_lines import TomlKeyPath

#: A file with the tables of a paper has at most MAX_PUBLICATION_FILE_BYTES bytes.
MAX_PUBLICATION_FILE_BYTES = 10_000_000
#: PUBLICATION_TOML_LIMITS limits the size of publications in TOML format.
PUBLICATION_TOML_LIMITS = replace(TOML, size=MAX_PUBLICATION_FILE_BYTES)
#: ROW_FEATURE_FIELDS are fields that, besides the system, distinguish the rows of a table.
ROW_FEATURE_FIELDS = (
    "dataset",
    "dataset_id",
    "dimension",
    "class",
    "topic",
    "group",
    "window",
    "window_left",
    "window_right",
    "threshold",
    "annotators",
    "in_domain",
)
_PAPER_KEY_PATTERN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
#: The characters in _NUMBER_DECORATION_PATTERN around a printed number do not change the number.
_NUMBER_DECORATION_PATTERN = re.compile(r"[%*†‡,\s]")


def read_publication(path: Path) -> tuple[Publication, list[Problem]]:
    """Return the publication that a file describes, and the anomalies found in the
    publication. Raises InputRefused with all problems of the file.
    """
    findings = SeasonFileProblems(path.name)
    try:
        content = _parse_publication(path)
    except (OSError, ValueError) as fault:
        raise InputRefused(
            [Problem(file=path.name, message=f"cannot be read: {fault}")]
        ) from fault
    top = PublicationFields(content, (), findings)
    if (schema := top.text("schema")) and schema != PUBLICATION_SCHEMA_NAME:
        # A file with another schema cannot be checked for further problems.
        raise InputRefused(
            [
                Problem(
                    file=path.name,
                    message=f"“schema” is “{schema}”",
                    expected=PUBLICATION_SCHEMA_NAME,
                )
            ]
        )
    fields = PublicationFields(top.value("paper", {}), ("paper",), findings)
    if (key := fields.text("key")) and not _PAPER_KEY_PATTERN.fullmatch(key):
        expected = "small letters, digits and single hyphens, as in an address"
        fields.add_problem_at_key("key", f"“key” is “{key}”", expected)
    paper = PrintedPaper(
        key=key[:60],
        authors=fields.texts("authors", may_repeat=True),
        year=fields.read_whole_number("year", 1900, 2100),
        title=fields.text("title"),
        venue=fields.text("venue"),
        **{
            name: fields.text(name, "")
            for name in ("pages", "doi", "arxiv", "figures_from")
        },
    )
    fields.close()
    tables = tuple(_parse_table(fields) for fields in top.objects("tables", "table"))
    top.close()
    for name, count in Counter(table.name for table in tables).items():
        if count > 1:
            findings.add((name,), "is there twice")
    _check_conclusion_tables(tables, findings)
    if select_fatal_problems(findings.problems):
        raise InputRefused(findings.problems)
    return Publication(paper=paper, tables=tables), findings.problems


def _parse_publication(path: Path) -> Any:
    if path.stat().st_size > MAX_PUBLICATION_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_PUBLICATION_FILE_BYTES:,} bytes")
    if path.suffix.lower() == ".toml":
        content = read_toml(path.read_bytes(), PUBLICATION_TOML_LIMITS)
        tables = content.pop("tables", [])
        if not isinstance(tables, list) or not all(
            isinstance(table, dict) for table in tables
        ):
            raise ValueError("“tables” is not a list of [[tables]]")
        return {
            "schema": content.pop("schema", PUBLICATION_SCHEMA_NAME),
            "paper": content.pop("paper", {}),
            "tables": [
                _read_table_from_csv(
                    path.parent, dict(table), MAX_PUBLICATION_FILE_BYTES
                )
                for table in tables
            ],
            **content,
        }

    def refuse_constant(constant: str) -> float:
        raise ValueError(f"{constant} is not a number that is printed anywhere")

    def refuse_repeated_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        name, count = (
            Counter(name for name, _ in pairs).most_common(1)[0] if pairs else ("", 0)
        )
        if count > 1:
            raise ValueError(f"the field “{name}” is there twice in one object")
        return dict(pairs)

    return read_json(
        path.read_bytes(), constant=refuse_constant, pairs=refuse_repeated_fields
    )


def _parse_table(fields: PublicationFields) -> PrintedTable:
    name = fields.text("id")
    fields.path = (name,) if name else fields.path
    row_key = fields.texts("row_key")
    for field in row_key:
        if field != "system" and field not in ROW_FEATURE_FIELDS:
            fields.add_problem_at_key(
                "row_key",
                f"“row_key” names “{field}”{format_similar_name_hint(field, ROW_FEATURE_FIELDS)}",
                "fields of rows",
            )
    measures = tuple(
        _parse_measure(field) for field in fields.objects("metrics", "metric")
    )
    dataset = fields.text("dataset", "")
    table = PrintedTable(
        name=name,
        kind=fields.choice("kind", PUBLISHED_TABLE_KINDS),
        what=fields.text("what"),
        dataset=dataset,
        row_key=row_key,
        measures=measures,
        deviation=fields.text("deviation", ""),
        marks=fields.read_mapping_of_values("marks", str, "what each mark means"),
        notes=fields.texts("notes", (), may_repeat=True),
        rows=tuple(
            _parse_row(field, measures) for field in fields.objects("rows", "entry")
        ),
        conclusions=tuple(
            _parse_conclusion(field)
            for field in fields.objects("conclusions", "conclusion", default=())
        ),
    )
    fields.close()
    for key, count in Counter(table.key(row) for row in table.rows).items():
        if count > 1:
            named = ", ".join(str(part) for part in key)
            fields.add_problem_at_key(
                "rows",
                f"two entries are of {named}",
                f"other {', '.join(row_key)} in each",
            )
    table = mark_contradictions(table)
    for row in table.rows:
        if row.contradiction:
            named = ", ".join(str(part) for part in table.key(row))
            fields.findings.add(
                fields.path, f"{named}: {row.contradiction}", fatal=False
            )
    return table


def _parse_measure(fields: PublicationFields) -> PrintedMeasure:
    measure = PrintedMeasure(
        name=fields.text("name"),
        scale=fields.choice("scale", list(VALUE_BOUNDS_BY_SCALE)),
        higher_is_better=fields.read_boolean_or_null("higher_is_better"),
        **{
            name: fields.text(name, "")
            for name in ("printed_name", "what", "computed", "model_option", "model")
        },
    )
    if bool(measure.model_option) != bool(measure.model):
        fields.add_problem_at_key(
            "model", "model_option or model is missing", "both or neither"
        )
    fields.close()
    return measure


def _parse_conclusion(fields: PublicationFields) -> PaperConclusion:
    form = fields.choice("form", CONCLUSION_FORMS, DIFFERENCE_FORM)
    is_open, is_trend = form == UNDECIDABLE_FORM, form in TREND_FORMS
    conclusion = PaperConclusion(
        name=fields.text("name"),
        form=form,
        by=() if is_open or is_trend else fields.texts("by"),
        more={} if is_open else _parse_compared_side(fields, "more"),
        less={} if is_open or is_trend else _parse_compared_side(fields, "less"),
        of=fields.choice("of", COMPARED_AGGREGATES, MEAN_FIGURES)
        if form == DIFFERENCE_FORM
        else MEAN_FIGURES,
        along=fields.text("along") if is_trend else "",
        order=_parse_trend_order(fields) if is_trend else (),
        sentence=fields.text("sentence", ""),
        section=fields.text("section", ""),
        also=fields.texts("also", ()),
        why=fields.text("why") if is_open else "",
        from_table=fields.read_boolean("from_table", default=False),
    )
    _check_field_names(fields, "by", conclusion.by)
    _check_field_names(fields, "along", [conclusion.along] if conclusion.along else [])
    fields.close()
    return conclusion


def _parse_trend_order(fields: PublicationFields) -> tuple[str | float, ...]:
    order = fields.value("order")
    if order is MISSING_VALUE:
        return ()
    is_list = isinstance(order, list) and all(
        isinstance(value, str | int | float) and not isinstance(value, bool)
        for value in order
    )
    if not is_list or not order:
        fields.add_problem_at_key(
            "order",
            fields.describe_wrong_value("order", order),
            "a list of texts or numbers",
        )
        return ()
    return tuple(order)


def _parse_compared_side(
    fields: PublicationFields, key: str
) -> Mapping[str, Sequence[Any]]:
    side = fields.read_mapping_of_values(key, list, "lists of values by field")
    if not side or None in side.values():
        fields.add_problem_at_key(
            key,
            f"“{key}” names no field and values",
            "fields of rows, system or metric",
        )
    _check_field_names(fields, key, side)
    return side


def _check_field_names(
    fields: PublicationFields, key: str, names: Iterable[str]
) -> None:
    named = (*ROW_FEATURE_FIELDS, "system", "system_id", "metric")
    for name in names:
        if name not in named:
            fields.add_problem_at_key(
                key,
                f"“{key}” names “{name}”{format_similar_name_hint(name, named)}",
                describe_choices(named),
            )


def _check_conclusion_tables(
    tables: Sequence[PrintedTable], findings: SeasonFileProblems
) -> None:
    """Report conclusions that name an unknown table, or that compare no values in the
    tables.
    """
    by_name = {table.name: table for table in tables}
    for table in tables:
        for conclusion in table.conclusions:
            missing = [name for name in conclusion.also if name not in by_name]
            if missing:
                findings.add(
                    (table.name, "conclusions"),
                    f"“{conclusion.name}” names “{missing[0]}”",
                    describe_choices(list(by_name)),
                )
            elif conclusion.form != UNDECIDABLE_FORM:
                named = [table, *(by_name[name] for name in conclusion.also)]
                figures = (figure for one in named for figure in one.figures)
                if not conclusion.finding(figures).units:
                    findings.add(
                        (table.name, "conclusions"),
                        f"“{conclusion.name}” compares no two figures of this table",
                    )


def _parse_row(
    fields: PublicationFields, measures: tuple[PrintedMeasure, ...]
) -> PrintedRow:
    system = fields.value("system", None)
    if system is not None and (not isinstance(system, str) or not system.strip()):
        fields.add_problem_at_key(
            "system", fields.describe_wrong_value("system", system), "a name, or null"
        )
        system = None
    line, system_id = (
        fields.read_whole_number("row", 1, 100_000),
        fields.text("system_id", ""),
    )
    features: dict[str, RowFeatureValue] = {}
    for name in ROW_FEATURE_FIELDS:
        value = fields.value(name, MISSING_VALUE)
        if value is None or isinstance(value, (str, int, float, bool)):
            features[name] = value
        elif value is not MISSING_VALUE:
            fields.add_problem_at_key(
                name, fields.describe_wrong_value(name, value), "a text or a number"
            )
    row = PrintedRow(
        line=line,
        system=system,
        system_id=system_id,
        features=features,
        figures=_parse_figures(fields, measures),
        is_inconsistent=fields.read_boolean("inconsistent", default=False),
        note=fields.text("note", ""),
    )
    fields.close()
    return row


def _refuse_metric_names(
    fields: PublicationFields,
    said: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
) -> None:
    """Report values of metrics that the table does not declare, and metrics without a
    value.
    """
    for key in ("values", "printed", "deviations", "less_than"):
        for name in said[key]:
            if name not in names:
                fields.add_problem_at_key(
                    name,
                    f"there is no metric “{name}”{format_similar_name_hint(name, names)}",
                    describe_choices(names),
                )
        for name in names if key in ("values", "printed") else ():
            if name not in said[key]:
                fields.add_problem_at_key(name, f"{name} is missing")


def _parse_figures(
    fields: PublicationFields, measures: tuple[PrintedMeasure, ...]
) -> tuple[PrintedValue, ...]:
    said = {
        key: fields.read_mapping_of_values(key, (int, float), "numbers by metric")
        if key in ("values", "deviations", "less_than")
        else fields.read_mapping_of_values(key, str, "texts by metric")
        for key in ROW_FIELD_BY_VALUE_PART.values()
    }
    _refuse_metric_names(fields, said, [measure.name for measure in measures])
    figures = []
    for measure in measures:
        name = measure.name
        parts: dict[str, Any] = {
            part: said[key].get(name) for part, key in ROW_FIELD_BY_VALUE_PART.items()
        }
        texts = {
            part: parts[part] or ""
            for part in ("printed", "printed_deviation", "mark", "suspect")
        }
        figure = PrintedValue(measure=name, **{**parts, **texts})
        figures.append(figure)
        low, high = VALUE_BOUNDS_BY_SCALE.get(measure.scale, (None, None))
        if (value := figure.value) is None:
            if figure.less_than is None and figure.printed:
                message = f"{name} has no value and is printed “{figure.printed}”"
                fields.add_problem_at_key(name, message, "the value, or “less_than”")
            continue
        if (low is not None and value < low) or (high is not None and value > high):
            ends = f"from {low} up" if high is None else f"from {low} to {high}"
            fields.add_problem_at_key(
                name, f"{name} is {value}", f"a {measure.scale}, {ends}"
            )
        try:
            read = float(
                _NUMBER_DECORATION_PATTERN.sub("", figure.printed).replace("−", "-")
            )
        except ValueError:
            read = None
        if read != value:
            message = f"{name} is printed “{figure.printed}” and read as {value}"
            fields.findings.add(fields.path, message, fatal=False)
    return tuple(figures)


PUBLICATION_SCHEMA_NAME = "published-results/1"
#: ROW_FIELD_BY_VALUE_PART maps each part of a printed value to a field of a row.
ROW_FIELD_BY_VALUE_PART = {
    "value": "values",
    "printed": "printed",
    "deviation": "deviations",
    "less_than": "less_than",
    "printed_deviation": "printed_deviations",
    "mark": "marks",
    "suspect": "suspect",
}
PUBLISHED_TABLE_KINDS = (
    "results",
    "human evaluation",
    "agreement",
    "analysis",
    "data statistics",
)
#: VALUE_BOUNDS_BY_SCALE maps a scale to its minimum and maximum, which are None if unbounded.
VALUE_BOUNDS_BY_SCALE: dict[str, tuple[float | None, float | None]] = {
    "fraction": (0, 1),
    "percent": (0, 100),
    "count": (0, None),
    "words": (0, None),
    "ratio": (0, None),
    "kappa": (-1, 1),
    "rating 1-5": (1, 5),
}

RowFeatureValue = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True)
class PrintedPaper:
    key: str
    authors: tuple[str, ...]
    year: int
    title: str
    venue: str
    pages: str = ""
    doi: str = ""
    arxiv: str = ""
    figures_from: str = ""


@dataclass(frozen=True, kw_only=True)
class PrintedMeasure:
    name: str
    scale: str
    higher_is_better: bool | None
    printed_name: str = ""
    what: str = ""
    #: ``computed`` is the name of the board's metric that equals the published metric.
    computed: str = ""
    #: The task option ``model_option`` names a model, which must be the paper's.
    model_option: str = ""
    model: str = ""

    @property
    def label(self) -> str:
        words = self.what or self.name
        return words[:1].upper() + words[1:]

    @property
    def upward(self) -> str:
        return {True: "higher is better", False: "lower is better", None: ""}[
            self.higher_is_better
        ]


@dataclass(frozen=True, kw_only=True)
class PrintedValue:
    measure: str
    value: float | None
    printed: str
    deviation: float | None = None
    printed_deviation: str = ""
    mark: str = ""
    less_than: float | None = None
    suspect: str = ""


@dataclass(frozen=True, kw_only=True)
class PrintedRow:
    """A row of a published table, where ``line`` is the number of the printed line from
    1, and ``contradiction`` is the relation between values that the row violates.
    """

    line: int
    system: str | None
    system_id: str
    features: Mapping[str, RowFeatureValue]
    figures: tuple[PrintedValue, ...]
    is_inconsistent: bool = False
    contradiction: str = ""
    note: str = ""

    def printed(self, measure: str) -> str:
        return next(
            (figure.printed for figure in self.figures if figure.measure == measure), ""
        )

    def find_feature_value(self, field: str) -> RowFeatureValue:
        return self.system if field == "system" else self.features.get(field)


@dataclass(frozen=True, kw_only=True)
class PrintedTable:
    name: str
    kind: str
    what: str
    row_key: tuple[str, ...]
    measures: tuple[PrintedMeasure, ...]
    rows: tuple[PrintedRow, ...]
    conclusions: tuple[PaperConclusion, ...] = ()
    dataset: str = ""
    deviation: str = ""
    marks: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def figures(self) -> Iterator[PrintedFigure]:
        for row in self.rows:
            fields = {
                **row.features,
                "system": row.system,
                "system_id": row.system_id,
            }
            for figure in row.figures:
                if figure.value is not None:
                    yield {**fields, "metric": figure.measure}, figure.value

    def key(self, row: PrintedRow) -> tuple[RowFeatureValue, ...]:
        return tuple(row.find_feature_value(field) for field in self.row_key)


@dataclass(frozen=True, kw_only=True)
class Publication:
    paper: PrintedPaper
    tables: tuple[PrintedTable, ...]


#: A name or label has at most MAX_TEXT_CHARACTERS characters.
MAX_TEXT_CHARACTERS = 400


class PublicationFields(CheckedTable):
    """A JSON object whose problems contain its position in the file, such as `Table 1,
    entry 2`.
    """

    unknown_key = "there is no field “%(name)s” here%(near)s"
    unknown_value = "“%(name)s” is “%(value)s”%(near)s"

    def __init__(
        self, value: object, path: TomlKeyPath, findings: SeasonFileProblems
    ) -> None:
        super().__init__(value if isinstance(value, dict) else {}, path, findings)
        if not isinstance(value, dict):
            findings.add(path, "not an object", "an object such as {…}")

    def add_problem_at_key(self, name: str, message: str, expected: str = "") -> None:
        self.findings.add(self.path, message, expected)

    def describe_wrong_value(
        self, name: str, value: object, number: int | None = None
    ) -> str:
        return f"“{name}” is {format_value_for_message(value)}"

    def text(
        self,
        name: str,
        default: object = REQUIRED_VALUE,
        *,
        longest: int | None = MAX_TEXT_CHARACTERS,
    ) -> str:
        return super().text(name, default, longest=longest)

    def read_whole_number(self, name: str, low: int, high: int) -> int:
        value = self.value(name)
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and low <= value <= high
        ):
            return value
        if value is not MISSING_VALUE:
            self.add_problem_at_key(
                name,
                self.describe_wrong_value(name, value),
                f"a whole number from {low} to {high}",
            )
        return low

    def read_boolean_or_null(self, name: str) -> bool | None:
        """Return the boolean value of a required field, or None if the value is null or
        invalid.
        """
        if (value := self.value(name)) is None or isinstance(value, bool):
            return value
        if value is not MISSING_VALUE:
            self.add_problem_at_key(
                name, self.describe_wrong_value(name, value), "true or false or null"
            )
        return None

    def objects(
        self, name: str, word: str, *, default: object = REQUIRED_VALUE
    ) -> list[PublicationFields]:
        value = self.value(name, default)
        if not isinstance(value, list) or not value:
            if value is not MISSING_VALUE and value is not default:
                self.add_problem_at_key(
                    name, self.describe_wrong_value(name, value), "a list of objects"
                )
            return []
        places = enumerate(value, start=1)
        return [
            PublicationFields(entry, (*self.path, f"{word} {at}"), self.findings)
            for at, entry in places
        ]

    def read_mapping_of_values(
        self, name: str, kinds: type | tuple[type, ...], wanted: str
    ) -> dict[str, Any]:
        """Return the object in a field, whose values must have one of these types, or
        an empty mapping if the field is missing. Null is allowed.
        """
        value = self.value(name, {})
        if not isinstance(value, dict):
            self.add_problem_at_key(
                name, self.describe_wrong_value(name, value), f"an object with {wanted}"
            )
            return {}
        sound = {}
        for key, entry in value.items():
            is_finite = not isinstance(entry, float) or math.isfinite(entry)
            if entry is None or (
                isinstance(entry, kinds) and not isinstance(entry, bool) and is_finite
            ):
                sound[key] = entry
            else:
                self.add_problem_at_key(
                    name,
                    f"“{name}” of {key} is {format_value_for_message(entry)}",
                    wanted,
                )
        return sound


def format_value_for_message(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"“{value[:40]}”" if value else "empty"
    if isinstance(value, (list, dict)):
        return (
            "empty"
            if not value
            else "a list"
            if isinstance(value, list)
            else "an object"
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


_RECALL_NAME_PATTERN = re.compile(r"(?:r|recall)@(?P<cut>[1-9]\d{0,3})", re.IGNORECASE)
_MRR_NAME_PATTERN = re.compile(r"(?:m|mrr)@(?P<cut>[1-9]\d{0,3})", re.IGNORECASE)
_DECIMALS_PATTERN = re.compile(r"\.(\d+)")


def mark_contradictions(table: PrintedTable) -> PrintedTable:
    """Find contradictions of the relation Recall@k / k <= MRR@k <= Recall@k, which
    holds with one cited paper per context (see `names.contradiction`).
    """
    named = (
        (measure, _RECALL_NAME_PATTERN.fullmatch(measure.name))
        for measure in table.measures
    )
    recalls = {int(cut["cut"]): measure for measure, cut in named if cut}
    pairs = [
        (int(cut["cut"]), recall, measure)
        for measure in table.measures
        if (cut := _MRR_NAME_PATTERN.fullmatch(measure.name))
        if (recall := recalls.get(int(cut["cut"]))) and recall.scale == measure.scale
    ]
    if not pairs:
        return table

    # The rounding of a column is half a unit of its last printed digit.
    rounding = {}
    for measure in table.measures:
        printed = (
            _DECIMALS_PATTERN.search(row.printed(measure.name)) for row in table.rows
        )
        decimals = max((len(digits[1]) for digits in printed if digits), default=0)
        rounding[measure.name] = 0.5 * 10.0**-decimals

    def find_contradictions(row: PrintedRow) -> Iterator[str]:
        values = {figure.measure: figure.value for figure in row.figures}
        for cut, recall, mrr in pairs:
            first, second = values.get(recall.name), values.get(mrr.name)
            if first is not None and second is not None:
                least = max(rounding[recall.name], rounding[mrr.name])
                yield explain_contradictory_recall_and_mrr(
                    first, second, cut=cut, rounding=least
                )

    rows = (
        replace(row, contradiction="; ".join(filter(None, find_contradictions(row))))
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


#: The columns in NON_VALUE_COLUMNS are not values and do not distinguish rows.
NON_VALUE_COLUMNS = ("system", "system_id", "note")
#: Publications print the texts in MISSING_VALUE_TEXTS in place of a missing value.
MISSING_VALUE_TEXTS = {"", "-", "–", "—", "n/a", "N/A"}
_NUMBER_PATTERN = r"[+\-−]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)"
_PRINTED_FIGURE_PATTERN = re.compile(
    rf"(?P<less><?)\s*(?P<value>{_NUMBER_PATTERN})\s*%?(?P<mark>[*†‡]*)"
    rf"(?:\s*(?:±\s*|\(\s*)(?P<deviation>{_NUMBER_PATTERN})\s*\)?)?(?P<after>[*†‡]*)"
)


def _read_table_from_csv(
    folder: Path, table: dict[str, Any], largest: int
) -> dict[str, Any]:
    name = table.pop("file", None)
    if not isinstance(name, str) or PurePosixPath(name).name != name:
        raise ValueError(
            f"“file” of a table is {name!r}; expected the name of a CSV file beside this one"
        )
    if (folder / name).stat().st_size > largest:
        raise ValueError(f"{name} has more than {largest:,} bytes")
    features = [
        *NON_VALUE_COLUMNS,
        *_split_text_items(table.get("row_key")),
        *_split_text_items(table.pop("features", [])),
    ]
    head, lines = _read_csv_rows(folder / name)
    metrics = [column for column in head if column not in features]
    described = table.pop("metrics", {})
    if not isinstance(described, dict) or not all(
        isinstance(facts, dict) for facts in described.values()
    ):
        raise ValueError(
            f"“metrics” of {name}: expected [tables.metrics.COLUMN] with what is other in it"
        )
    if unknown := [column for column in described if column not in metrics]:
        raise ValueError(
            f"{name} has no column “{unknown[0]}”; it has {', '.join(metrics)}"
        )
    common = {
        key: table.pop(key) for key in ("scale", "higher_is_better") if key in table
    }
    rows = []
    for number, line in enumerate(lines, start=1):
        facts = {key: text or None for key, text in line.items() if key not in metrics}
        figures: dict[str, dict[str, Any]] = {
            key: {}
            for key in (
                "values",
                "printed",
                "deviations",
                "printed_deviations",
                "marks",
                "less_than",
            )
        }
        for metric in metrics:
            for field, value in _parse_csv_figure(
                line[metric], f"{name}, entry {number}, {metric}"
            ):
                figures[field][metric] = value
        filled = {
            key: value
            for key, value in facts.items()
            if value is not None or key == "system"
        }
        rows.append({"row": number, **filled, **figures})
    measures = [
        {"name": column, **common, **described.get(column, {})} for column in metrics
    ]
    return {**table, "metrics": measures, "rows": rows}


def _split_text_items(value: object) -> list[str]:
    return (
        [name for name in value if isinstance(name, str)]
        if isinstance(value, list)
        else []
    )


def _read_csv_rows(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            head = [column.strip() for column in next(reader, [])]
            if twice := [
                column
                for column, count in Counter(head).items()
                if count > 1 or not column
            ]:
                raise ValueError(
                    f"{path.name}:1: the column “{twice[0]}” is there twice or has no name"
                )
            lines = []
            for cells in reader:
                if cells and len(cells) != len(head):
                    sizes = f"{len(cells)} cells; the head has {len(head)}"
                    raise ValueError(f"{path.name}:{reader.line_num}: {sizes}")
                if cells:
                    lines.append(dict(zip(head, map(str.strip, cells), strict=True)))
        except csv.Error as fault:
            raise ValueError(f"{path.name}:{reader.line_num}: {fault}") from fault
    return head, lines


def _parse_csv_figure(text: str, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a printed value such as `0.320`, `32.0*`, `0.32 ± 0.01`, `0.32
    (0.01)` or `<0.01`.
    """

    def parse_printed_number(printed: str) -> float:
        return float(printed.replace(",", "").replace("−", "-"))

    if text in MISSING_VALUE_TEXTS:
        yield from (("values", None), ("printed", ""))
        return
    if (parts := _PRINTED_FIGURE_PATTERN.fullmatch(text)) is None:
        expected = "expected such as 0.32, 32.0*, 0.32 ± 0.01, <0.01"
        raise ValueError(f"{place}: “{text[:40]}” is no figure; {expected}")
    value = parse_printed_number(parts["value"])
    yield "values", None if parts["less"] else value
    yield "printed", f"{parts['less']}{parts['value']}"
    if parts["less"]:
        yield "less_than", value
    if parts["deviation"]:
        yield "deviations", parse_printed_number(parts["deviation"])
        yield "printed_deviations", parts["deviation"]
    if mark := parts["mark"] + parts["after"]:
        yield "marks", mark
