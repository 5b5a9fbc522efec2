"""Place the rows of a published table on a task's board, next to the systems or by
class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from scoring.results.publications.reading import (
    PrintedTable,
    Publication,
    RowFeatureValue,
)
from tasks.seasons.file.tables import (
    CheckedTable,
    describe_choices,
    format_similar_name_hint,
)
from tasks.types.base import replace_old_rule_set_name


@dataclass(frozen=True, kw_only=True)
class NamesOfRecomputedTable:
    """The mapping from names in a published table to names on the board.

    The name of a class may include its dimension, as in `pos_before:verb`. ``runs``
    maps each printed class to a system on the board, if the classes have different
    systems. If ``metrics`` is empty, the file of the publication names the computed
    metric of each printed metric.
    """

    rules: str
    metrics: Mapping[str, str]
    systems: Mapping[str, str]
    dimension: str = ""
    classes: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    #: ``remark`` explains why the printed and the recomputed values differ.
    remark: str = ""


ROWS_LAYOUT, CLASSES_AS_COLUMNS_LAYOUT, SYSTEMS_AS_COLUMNS_LAYOUT = (
    "lines",
    "classes",
    "systems",
)
TABLE_LAYOUTS = (ROWS_LAYOUT, CLASSES_AS_COLUMNS_LAYOUT, SYSTEMS_AS_COLUMNS_LAYOUT)


@dataclass(frozen=True, kw_only=True)
class PublishedTablePlacement:
    """The declaration in a season file how the board of a task shows a published table.
    If ``by`` is set, each printed row belongs to one class, and ``overall`` is the name
    of the row for all classes.

    In the layout of the paper, the board shows the class ``only`` (such as
    `placing:within sentences`), except in the printed columns in ``of_all``.
    ``metrics`` maps further printed columns to metrics of the board. The ``layout``
    determines whether each row is a line, or each class or each system is a column.
    """

    paper: str
    table: str
    metric: str
    by: str = ""
    overall: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    interval: tuple[str, ...] = ()
    recomputed: NamesOfRecomputedTable | None = None
    only: str = ""
    of_all: tuple[str, ...] = ()
    metrics: Mapping[str, str] = field(default_factory=dict)
    layout: str = ROWS_LAYOUT

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> PublishedTablePlacement:
        beside, interval = kept.get("recomputed"), tuple(kept.get("interval", ()))
        of_all = tuple(kept.get("of_all", ()))
        return cls(
            **{
                **kept,
                "interval": interval,
                "of_all": of_all,
                "recomputed": NamesOfRecomputedTable(**beside) if beside else None,
            }
        )

    def as_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "where": dict(self.where),
            "metrics": dict(self.metrics),
            "interval": list(self.interval),
            "of_all": list(self.of_all),
        }

    def takes(self, features: Mapping[str, RowFeatureValue]) -> bool:
        return all(
            str(features.get(name)) == value for name, value in self.where.items()
        )


def read_published_table_placement(
    table: CheckedTable,
) -> tuple[PublishedTablePlacement, CheckedTable, CheckedTable | None]:
    """Return the placement of a published table from a season file, and the tables of
    the file for reporting later faults.
    """
    beside = table.table("recomputed") if "recomputed" in table else None
    recomputed = None
    if beside is not None:
        rules, remark = (
            replace_old_rule_set_name(beside.text("rules")),
            beside.text("remark", ""),
        )
        dimension = beside.text("dimension", "")
        words = {
            name: beside.words(name)
            for name in ("metrics", "systems", "classes", "runs")
        }
        recomputed = NamesOfRecomputedTable(
            rules=rules, **words, dimension=dimension, remark=remark
        )
        beside.close()
    texts = {
        name: table.text(name, "") for name in ("paper", "metric", "by", "overall")
    }
    name, where, interval = (
        table.text("table"),
        table.words("where"),
        table.texts("interval", ()),
    )
    said = PublishedTablePlacement(
        table=name,
        **texts,
        where=where,
        interval=interval,
        recomputed=recomputed,
        only=table.text("only", ""),
        of_all=table.texts("of_all", ()),
        metrics=table.words("metrics"),
        layout=table.choice("layout", TABLE_LAYOUTS, ROWS_LAYOUT),
    )
    if said.only and not all(part.strip() for part in said.only.partition(":")):
        table.add_problem_at_key(
            "only", f"“only” is “{said.only}”", "a dimension, a colon and a class of it"
        )
    if said.layout != ROWS_LAYOUT and not said.by:
        table.add_problem_at_key(
            "layout", f"“layout” is “{said.layout}” without “by”", "“by”"
        )
    table.close()
    return said, table, beside


def validate_published_table_placement(
    said: PublishedTablePlacement,
    here: CheckedTable,
    beside: CheckedTable | None,
    publications: Sequence[Publication],
    metrics: Mapping[str, Sequence[str]],
) -> PublishedTablePlacement | None:
    """Return the placement of a published table if everything that the placement names
    exists in the publications. Otherwise, report faults at the lines of the placement
    in the season file.
    """
    keys = [publication.paper.key for publication in publications]
    name = said.paper or (keys[0] if len(keys) == 1 else "")
    if name not in keys:
        fault = (
            f"“{name}” is not among the season's publications"
            if name
            else "“paper” is missing"
        )
        here.add_problem_at_key(
            "paper",
            fault,
            describe_choices(keys)
            if keys
            else "“published” in [season] names its file",
        )
        return None
    publication = publications[keys.index(name)]
    printed = next(
        (table for table in publication.tables if table.name == said.table), None
    )
    if printed is None:
        names = [table.name for table in publication.tables]
        message = (
            f"{publication.paper.key} has no “{said.table}”"
            f"{format_similar_name_hint(said.table, names)}"
        )
        here.add_problem_at_key("table", message, describe_choices(names))
        return None
    measures = [measure.name for measure in printed.measures]
    for key, wanted in (
        ("metric", [said.metric] if said.metric else []),
        ("interval", said.interval),
        ("metrics", list(said.metrics)),
        ("of_all", list(said.of_all)),
    ):
        for name in wanted:
            if name not in measures:
                here.add_problem_at_key(
                    key,
                    f"{printed.name} has no metric “{name}”",
                    describe_choices(measures),
                )
    if len(said.interval) not in (0, 2):
        message = f"“interval” names {len(said.interval)} metrics"
        here.add_problem_at_key("interval", message, "the lower and the upper end")
    placement = replace(
        said, paper=publication.paper.key, metric=said.metric or measures[0]
    )
    _check_placed_rows(here, printed, placement)
    if beside is not None and said.recomputed:
        _check_recomputed_names(beside, said.recomputed, printed, metrics)
        _check_class_names(beside, said.recomputed, printed, placement)
    return placement


def _check_recomputed_names(
    here: CheckedTable,
    entry: NamesOfRecomputedTable,
    printed: PrintedTable,
    metrics: Mapping[str, Sequence[str]],
) -> None:
    if entry.rules not in metrics:
        here.add_problem_at_key(
            "rules",
            f"the task has no rules “{entry.rules}”",
            describe_choices(metrics) if metrics else "",
        )
        return
    computed = {
        measure.name: measure.computed
        for measure in printed.measures
        if measure.computed
    }
    for key, picked, there in (
        (
            "systems",
            entry.systems,
            list(dict.fromkeys(row.system for row in printed.rows if row.system)),
        ),
        (
            "metrics",
            entry.metrics or computed,
            [measure.name for measure in printed.measures],
        ),
    ):
        if not picked and not (key == "systems" and entry.runs):
            here.add_problem_at_key(
                key,
                f"“{key}” is empty",
                "what is printed, and what of the board stands beside it",
            )
        for name in picked:
            if name not in there:
                here.add_problem_at_key(
                    key,
                    f"{printed.name} has no “{name}”{format_similar_name_hint(name, there)}",
                    describe_choices(there),
                )
    for name in entry.metrics.values():
        if name not in metrics[entry.rules]:
            here.add_problem_at_key(
                "metrics",
                f"{entry.rules} has no metric “{name}”",
                describe_choices(metrics[entry.rules]),
            )


def _check_class_names(
    here: CheckedTable,
    entry: NamesOfRecomputedTable,
    printed: PrintedTable,
    placement: PublishedTablePlacement,
) -> None:
    if entry.runs and not placement.by:
        here.add_problem_at_key(
            "runs", "“runs” names classes of a table that stands by system", "“by”"
        )
        return
    systems = dict.fromkeys(
        row.system for row in printed.rows if placement.takes(row.features)
    )
    if entry.runs and len(systems) > 1:
        here.add_problem_at_key(
            "runs",
            f"“runs” is for a table of one system, and {printed.name} has {len(systems)}",
        )
        return
    if entry.runs and entry.systems:
        here.add_problem_at_key(
            "runs",
            "“runs” and “systems” both say which system of the board it is",
            "one of them",
        )
    taken = (row.features for row in printed.rows if placement.takes(row.features))
    classes = list(
        dict.fromkeys(
            find_printed_class_name(features, placement) for features in taken
        )
    )
    for key, names in (("classes", entry.classes), ("runs", entry.runs)):
        for name in names:
            if name not in classes:
                message = (
                    f"{printed.name} has no class “{name}” here"
                    f"{format_similar_name_hint(name, classes)}"
                )
                here.add_problem_at_key(key, message, describe_choices(classes))


def _check_placed_rows(
    here: CheckedTable, printed: PrintedTable, placement: PublishedTablePlacement
) -> None:
    fields = sorted({name for row in printed.rows for name in row.features})
    for key, names in (
        ("by", [placement.by] if placement.by else []),
        ("where", list(placement.where)),
    ):
        for name in names:
            if name not in fields:
                here.add_problem_at_key(
                    key,
                    f"the rows of {printed.name} have no “{name}”",
                    describe_choices(fields),
                )
                return
    if not (rows := [row for row in printed.rows if placement.takes(row.features)]):
        here.add_problem_at_key(
            "where" if placement.where else "table",
            f"no row of {printed.name} is picked",
        )
        return
    classes = [find_printed_class_name(row.features, placement) for row in rows]
    if placement.overall and placement.overall not in classes:
        here.add_problem_at_key(
            "overall",
            f"{printed.name} has no {placement.by or 'class'} “{placement.overall}”",
        )
    if len({(row.system, name) for row, name in zip(rows, classes, strict=True)}) < len(
        rows
    ):
        message = f"{printed.name} has several rows of one system"
        here.add_problem_at_key(
            "table", message, "“by” or “where”, so that each stands once"
        )


def find_printed_class_name(
    features: Mapping[str, RowFeatureValue], placement: PublishedTablePlacement
) -> str:
    """Return the printed name of a class, which for a window gives the numbers of words
    before and after.
    """
    if placement.by == "window" and "window_left" in features:
        return f"{features['window_left']} + {features['window_right']} words"
    return str(features.get(placement.by)) if placement.by else ""
