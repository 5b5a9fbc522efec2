"""Read the estimated scores of a board's runs from the published sheets of people's
labels, one sheet for each kind of labels.
"""

import datetime as dt
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import OuterRef, Subquery

from scoring.models import EstimateSheet
from scoring.offline.estimated_units import LABEL_KIND_BY_UNIT_KIND
from scoring.results.board.exports import format_as_csv, format_as_json
from scoring.results.board.open_gold import may_download_gold
from scoring.results.board.standings import Board, BoardRow, BoardScoreColumn
from scoring.stats.estimates import ESTIMATION_METHOD
from tasks.models import Phase
from tasks.types.ledger import ENTAILS_KIND

#: With a lower agreement with people than MIN_USEFUL_JUDGE_AGREEMENT, a judge saves few labels.
MIN_USEFUL_JUDGE_AGREEMENT = 0.8
#: Two scores that differ by at most EQUAL_SCORE_TOLERANCE are equal.
EQUAL_SCORE_TOLERANCE = 1e-9
ESTIMATE_COLUMNS = (
    "measure",
    "run",
    "minus",
    "judge",
    "estimated",
    "low",
    "high",
    "labels",
    "worth_in_labels",
    "judge_weight",
    "agreement",
    "too_few",
)


def get_kind_of_labels(sheet: EstimateSheet) -> str:
    """Return the kind of labels that people give to the units of a sheet, as the ledger
    names the kind.
    """
    if sheet.has_random_sample_of_units:
        return LABEL_KIND_BY_UNIT_KIND[sheet.of]
    # Sheets of disagreements that store no kind have pairs of claims alone.
    kind: str = sheet.result.get("kind", ENTAILS_KIND)
    return kind


def list_newest_published_estimate_sheets(
    phase: Phase, at: dt.datetime | None = None, of: Collection[str] = ()
) -> list[EstimateSheet]:
    """Return the sheet of people's labels of each kind of units that was published last,
    whose estimates the board shows. The sheet that was published last comes first.
    ``of`` are the kinds of units that the sheets may have.
    """
    sheets = EstimateSheet.objects.published().filter(phase=phase)
    if of:
        sheets = sheets.filter(of__in=of)
    if at is not None:
        sheets = sheets.filter(published_at__lte=at)
    sheets = sheets.order_by("-published_at", "-pk")
    newest_of_kind = sheets.filter(of=OuterRef("of")).values("pk")[:1]
    return list(sheets.filter(pk=Subquery(newest_of_kind)))


@dataclass(frozen=True, kw_only=True)
class ScoreEstimate:
    """The estimate of a run's score, or of the difference between the scores of two
    runs.
    """

    row: BoardRow
    other: BoardRow | None = None
    facts: Mapping[str, Any]

    @property
    def is_estimated(self) -> bool:
        return self.facts["estimated"] is not None


@dataclass(frozen=True, kw_only=True)
class MetricWithEstimates:
    """The estimates by one metric for the runs whose scores have not changed since the
    estimate.
    """

    column: BoardScoreColumn
    lines: list[ScoreEstimate]
    differences: list[ScoreEstimate]

    @property
    def agreement(self) -> float | None:
        """Return the lowest agreement between the judge and people over all runs, as a
        share of the labels.
        """
        shares = [line.facts["agreement"] for line in self.lines]
        return min((share for share in shares if share is not None), default=None)

    @property
    def saves_little(self) -> bool:
        return (
            self.agreement is not None and self.agreement < MIN_USEFUL_JUDGE_AGREEMENT
        )


@dataclass(frozen=True, kw_only=True)
class PublishedEstimates:
    """The estimates from people's labels of one kind."""

    sheet: EstimateSheet
    measures: list[MetricWithEstimates]

    @property
    def facts(self) -> dict[str, Any]:
        """Return the published estimates of scores as JSON values.

        The random seed is None until the gold is public, because the seed reveals which
        units people labelled and thus parts of the gold.
        """
        sheet = self.sheet
        is_open = may_download_gold(sheet.phase, AnonymousUser(), sheet.gold)
        return {
            "of": sheet.of,
            "labels_a_run": sheet.labels,
            "seed": sheet.seed if is_open else None,
            "rules": sheet.rules,
            "estimates": [
                dict(zip(ESTIMATE_COLUMNS, values, strict=True))
                for values in self.list_table_rows()
            ],
        }

    def list_table_rows(self) -> list[list[Any]]:
        names = ("judge", "estimated", "low", "high", "labels", "worth", "judge_weight")
        return [
            [
                measure.column.metric,
                line.row.submission,
                line.other.submission if line.other else None,
                *(line.facts[name] for name in names),
                line.facts.get("agreement"),
                line.facts.get("too_few"),
            ]
            for measure in self.measures
            for line in (*measure.lines, *measure.differences)
        ]


@dataclass(frozen=True, kw_only=True)
class EstimatesOfBoard:
    """The published estimates of each kind of labels. The estimates that were published
    last come first.
    """

    newest_first: list[PublishedEstimates]

    @property
    def kinds(self) -> list[PublishedEstimates]:
        """Return the estimates in the order of the kinds of units, such as nuggets
        before citations.
        """
        order = list(EstimateSheet.UnitKind.values)
        return sorted(self.newest_first, key=lambda own: order.index(own.sheet.of))

    @property
    def facts(self) -> dict[str, Any]:
        """Return the estimates that were published last as JSON values, and the
        estimates of each kind under ``by_kind``.
        """
        return {
            "method": ESTIMATION_METHOD,
            **self.newest_first[0].facts,
            "by_kind": [own.facts for own in self.kinds],
        }

    def as_json(self) -> str:
        return format_as_json(self.facts)

    def as_csv(self) -> str:
        """Return the estimates of all kinds. The last column names the kind."""
        rows = [
            ["" if cell is None else cell for cell in (*row, own.sheet.of)]
            for own in self.kinds
            for row in own.list_table_rows()
        ]
        return format_as_csv((*ESTIMATE_COLUMNS, "of"), *rows)


def load_estimates_of_sheet(sheet: EstimateSheet, board: Board) -> PublishedEstimates:
    """Return the estimated scores in the sheet for the rows of the board.

    Runs whose scores have changed since the estimate are omitted.
    """
    measures = []
    if board.rules == sheet.rules:
        for column in board.columns_in_display_order:
            facts = sheet.result.get("measures", {}).get(column.metric)
            if facts is not None:
                measures.append(_build_metric_with_estimates(column, facts, board))
    return PublishedEstimates(
        sheet=sheet, measures=[measure for measure in measures if measure.lines]
    )


def _build_metric_with_estimates(
    column: BoardScoreColumn, facts: Mapping[str, Any], board: Board
) -> MetricWithEstimates:
    by_run = {line["run"]: line for line in facts["systems"]}
    current = {
        str(row.submission): row
        for row in board.with_first_runs_only.rows
        if _is_estimate_current(row, column, by_run.get(str(row.submission)))
    }
    lines = [
        ScoreEstimate(row=row, facts=by_run[name]) for name, row in current.items()
    ]
    differences = []
    if lines:
        leader = str(lines[0].row.submission)
        found = {(line["first"], line["second"]): line for line in facts["differences"]}
        for name, row in list(current.items())[1:]:
            if line := found.get((leader, name)):
                own = line
            elif line := found.get((name, leader)):
                own = _negate_estimated_difference(line)
            else:
                continue
            differences.append(ScoreEstimate(row=current[leader], other=row, facts=own))
    return MetricWithEstimates(column=column, lines=lines, differences=differences)


def _is_estimate_current(
    row: BoardRow, column: BoardScoreColumn, facts: Mapping[str, Any] | None
) -> bool:
    cell = row.scores.get(column.name)
    if facts is None or cell is None or cell.value is None or cell.withheld:
        return False
    return facts["judge"] is not None and math.isclose(
        facts["judge"],
        cell.value,
        rel_tol=EQUAL_SCORE_TOLERANCE,
        abs_tol=EQUAL_SCORE_TOLERANCE,
    )


def _negate_estimated_difference(facts: Mapping[str, Any]) -> dict[str, Any]:
    def negate(value: float | None) -> float | None:
        return None if value is None else -value

    return {
        **facts,
        "judge": negate(facts["judge"]),
        "estimated": negate(facts["estimated"]),
        "low": negate(facts["high"]),
        "high": negate(facts["low"]),
    }


def find_published_estimates_of_board(
    board: Board, of: Collection[str] = ()
) -> EstimatesOfBoard | None:
    """Return the published estimates of the scores on the board, or None if no
    estimates are published. ``of`` are the kinds of units that people may have labelled.

    The result only contains rows of the board that the audience sees.
    """
    sheets = list_newest_published_estimate_sheets(board.phase, board.frozen_at, of)
    loaded = [load_estimates_of_sheet(sheet, board) for sheet in sheets]
    shown = [own for own in loaded if own.measures]
    return EstimatesOfBoard(newest_first=shown) if shown else None


def has_published_estimates(board: Board) -> bool:
    """Return True if estimates of the scores on the board are published. For task types
    without labels of a judge, the function sends no database query.
    """
    task_type = board.phase.task.task_type
    rests_on_labels = task_type.is_judged or task_type.has_claims
    return rests_on_labels and find_published_estimates_of_board(board) is not None
