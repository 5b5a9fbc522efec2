"""Pages that show the answers to single instances by one run, by two runs, or by all
systems of a board.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.web.pages import (
    PageDecorators,
    ViewResult,
    build_download_response,
    build_phase_context,
    forbid_caching,
    phase_reader_pages,
)
from scoring.exchange.formats import build_workbook, every_eval_ever_record_with_samples
from scoring.exchange.results import BoardRowsForExport
from scoring.metrics import Metric
from scoring.models import Evaluation
from scoring.results.board import comparisons, exports, standings, visibility
from scoring.results.board.formatting import (
    display_name_of_class,
    display_name_of_dimension,
    display_name_of_metric,
    format_score,
)
from scoring.results.board.query import load_cached_board_or_404
from scoring.results.comparison import reading as readings
from scoring.results.comparison.contenders import (
    CSV_FORMAT,
    EVERY_EVAL_EVER_FORMAT,
    WORKBOOK_FORMAT,
    AllSystemsInstancesQuery,
    InstancesQuery,
    TwoRunsInstancesQuery,
)
from scoring.results.comparison.drawing import (
    build_claim_lines,
    build_instance_parts_for_display,
    find_outcome_label,
)
from scoring.results.comparison.pieces import DisplayedInstanceLine
from scoring.results.comparison.viewing import (
    VisibleInstanceValues,
    build_instance_parts_with_marks,
)
from scoring.results.runs.claims import has_visible_claims, load_claims_by_response
from scoring.results.runs.results import find_latest_evaluations_by_rule_set
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import can_organise_season
from tasks.types.base import replace_old_rule_set_name

INSTANCE_FILTER_LABELS = (
    readings.SELECTION_ORDER_LABELS | readings.PAIR_SELECTION_LABELS
)
TABLE_FORMAT_LABELS = {CSV_FORMAT: "CSV", WORKBOOK_FORMAT: "Excel"}


def _readable_run_or_404(
    viewer: object, pk: int
) -> tuple[Submission, readings.InstanceViewingRights]:
    run = (
        Submission.objects.select_related("phase__task__season", "team")
        .filter(pk=pk)
        .first()
    )
    seasons, rights = Season.objects.visible_to(viewer), None
    if run is not None and seasons.filter(pk=run.phase.task.season_id).exists():
        rights = readings.determine_instance_rights_to_run(run, viewer)
    if run is None or rights is None:
        raise Http404(_("There are no answers for you to see at this address."))
    return run, rights


@PageDecorators(_readable_run_or_404, "pk", is_public=True).page()
def show_run_instances(
    request: HttpRequest, readable: tuple[Submission, readings.InstanceViewingRights]
) -> ViewResult:
    run, rights = readable
    audience = visibility.determine_audience(run.phase, request.user)
    evaluations = find_latest_evaluations_by_rule_set(
        run, visibility.find_freeze_time_for_audience(run.phase, audience)
    )
    if not evaluations:
        raise Http404(_("This run has not been scored, or not yet."))
    query = InstancesQuery.of(request.GET)
    wanted = replace_old_rule_set_name(query.rules or "")
    rules = wanted if wanted in evaluations else next(iter(evaluations))
    own = evaluations[rules]
    is_own = visibility.may_see_submission(run, request.user)
    context = {
        **build_phase_context(run.phase),
        "submission": run,
        "is_own": is_own,
        "names_team": is_own or visibility.shows_teams(run.phase, audience),
        "rules": rules,
        "gold": own.gold,
        "may_rescore": can_organise_season(request.user, run.phase.task.season),
        "rule_sets": query.choices("rules", evaluations, rules),
    }
    try:
        page = readings.read_instances_of_run(
            own,
            rights,
            query,
            lambda: readings.list_comparable_other_systems(
                run.phase, request.user, own
            ),
        )
    except comparisons.UnreadableStatistics:
        return forbid_caching(render(request, "runs/instances.html", context))
    if page is None:
        raise Http404(_("The run has no instance of this name."))
    record = _find_board_row_and_column(run, request.user, own, page)
    if query.as_file == EVERY_EVAL_EVER_FORMAT:
        if record is None:
            raise Http404(
                _("Records exist for runs on the board whose instances you may read.")
            )
        return build_download_response(
            every_eval_ever_record_with_samples(*record, page),
            f"run-{run.pk}.{EVERY_EVAL_EVER_FORMAT}",
            is_private=True,
        )
    context["forms"] = TABLE_FORMAT_LABELS | (
        {EVERY_EVAL_EVER_FORMAT: "Every Eval Ever"} if record else {}
    )
    return _render_page_or_file(
        request, page, query, {"": ""}, context, f"run-{run.pk}"
    )


def _find_board_row_and_column(
    run: Submission, viewer: object, evaluation: Evaluation, page: readings.InstancePage
) -> tuple[BoardRowsForExport, standings.BoardRow, standings.BoardScoreColumn] | None:
    """Return the run's row on the board, and the column of the page's metric.

    The function returns None if the user may not see scores.
    """
    metric = page.reading.metric if page.reading.rights.values else None
    if metric is None or metric.higher_is_better is None:
        return None
    board = load_cached_board_or_404(run.phase, viewer, evaluation.rules, None)
    row = next(
        (
            row
            for row in standings.expand_rows_to_runs(board.rows)
            if row.evaluation == evaluation.pk
        ),
        None,
    )
    column = next(
        (column for column in board.columns if column.metric == metric.name), None
    )
    return (BoardRowsForExport(board, [row]), row, column) if row and column else None


@phase_reader_pages.page()
def compare_instances_of_two_runs(request: HttpRequest, phase: Phase) -> ViewResult:
    query = TwoRunsInstancesQuery.of(request.GET)
    context: dict[str, Any] = build_phase_context(phase)
    context["may_rescore"] = can_organise_season(request.user, phase.task.season)
    try:
        read = readings.read_instances_of_two_runs(phase, request.user, query)
    except comparisons.UnreadableStatistics:
        return forbid_caching(render(request, "runs/instances.html", context))
    a, b = read.chosen
    query = replace(query, a=a.run, b=b.run)
    context |= {
        "a": a,
        "b": b,
        "rules": read.board.rules,
        "gold": read.board.gold,
        "compare": TwoRunsInstancesQuery(
            a=a.run, b=b.run, rules=query.rules, gold=query.gold
        ).build_query_string(),
        "swapped": query.build_query_string(
            a=b.run,
            b=a.run,
            which=readings.SWAPPED_SELECTIONS.get(query.which, query.which),
        ),
        "has_claims": all(
            has_visible_claims(side)
            and visibility.may_see_claims(side.submission, request.user, stands=True)
            for side in (read.pair.a, read.pair.b)
        ),
    }
    names = {"A": a.system, "B": b.system}
    return _render_page_or_file(
        request, read.page, query, names, context, f"runs-{a.run}-{b.run}"
    )


@phase_reader_pages.page()
def show_instances_of_all_systems(request: HttpRequest, phase: Phase) -> ViewResult:
    """Show instances with the answers of all systems of a board."""
    query = InstancesQuery.of(request.GET)
    run = AllSystemsInstancesQuery.of(request.GET).run
    if run is not None:
        return redirect(
            reverse("submission-instances", args=[run]) + query.build_query_string()
        )
    board = load_cached_board_or_404(phase, request.user, query.rules, None)
    context: dict[str, Any] = build_phase_context(phase) | {
        "rules": board.rules,
        "gold": board.gold,
        "is_all": True,
        "may_rescore": can_organise_season(request.user, phase.task.season),
    }
    try:
        page = readings.read_instances_of_all_systems(board, request.user, query)
    except comparisons.UnreadableStatistics:
        return forbid_caching(render(request, "runs/instances.html", context))
    if page is None:
        raise Http404(_("The runs have no instance of this name."))
    context["rule_sets"] = query.choices("rules", phase.task.rules, board.rules)
    file = f"{phase.task.slug}-{phase.slug}"
    return _render_page_or_file(
        request, page, query, map_displayed_names_to_systems(page), context, file
    )


def _render_page_or_file(
    request: HttpRequest,
    page: readings.InstancePage,
    query: InstancesQuery,
    names: Mapping[str, str],
    context: dict[str, Any],
    file: str,
) -> ViewResult:
    """Return the page of instances, or a file with these instances.

    The function returns a file if the query names a file format.

    ``names`` maps the name of each run on the page to the system of the run.
    """
    if query.as_file in TABLE_FORMAT_LABELS:
        return _build_table_file_response(page, query, list(names), file)
    context |= _build_instances_page_context(
        page, query, names, context.get("forms", TABLE_FORMAT_LABELS)
    )
    # No cache may store the page, whose content depends on the user's permissions.
    return forbid_caching(render(request, "runs/instances.html", context))


def _build_table_file_response(
    page: readings.InstancePage, query: InstancesQuery, runs: Sequence[str], file: str
) -> HttpResponseBase:
    lines = _build_table_rows(page, runs)
    if query.as_file == CSV_FORMAT:
        content: bytes | str = exports.format_as_csv(*lines)
        return build_download_response(
            content, f"{file}-instances.csv", is_private=True
        )
    content = build_workbook(
        file, page.reading.runs[0].submitted_at, {"Instances": lines}
    )
    return build_download_response(content, f"{file}-instances.xlsx", is_private=True)


def _build_instances_page_context(
    page: readings.InstancePage,
    query: InstancesQuery,
    names: Mapping[str, str],
    forms: Mapping[str, str],
) -> dict[str, Any]:
    reading = page.reading
    of_class = ":".join(page.of_class) if page.of_class else ""
    query = replace(query, of_class=of_class, kind=page.kind, instance="", page=1)
    metric = reading.metric
    metrics = {metric.name: metric for metric in reading.metrics}
    ways = query.choices(
        "which",
        reading.offered,
        page.which,
        lambda way: str(INSTANCE_FILTER_LABELS[way]),
    )
    lack_marks = _find_runs_without_marked_parts(page)
    return {
        "page": page,
        "rights": reading.rights,
        "lack_marks": lack_marks,
        "to_rescore": lack_marks
        if reading.has_texts
        else [evaluation.submission for evaluation in reading.runs],
        "runs": list(names),
        "systems": list(names.items()),
        "single": page.single,
        "query": query,
        "carried": query.pairs(of_class="", kind="", text=""),
        "ways": ways,
        "metrics": query.choices("metric", metrics, metric.name, display_name_of_metric)
        if metric
        else [],
        "metric_label": display_name_of_metric(metric.name) if metric else "",
        "classes": _build_class_choices(reading.classes, of_class),
        "kinds": _build_selection_choices(page),
        "lines": build_instance_lines(page, list(names), query),
        "files": [
            (query.build_query_string(as_file=form), name)
            for form, name in forms.items()
        ],
        "every": query.build_query_string(),
        "none_chosen": query.build_query_string(
            of_class="", kind="", text="", which=""
        ),
        "before": query.build_query_string(page=page.number - 1)
        if page.number > 1
        else "",
        "after": query.build_query_string(page=page.number + 1)
        if page.number < page.pages
        else "",
    }


def _find_runs_without_marked_parts(page: readings.InstancePage) -> list[Submission]:
    """Return runs that were scored before the site stored marked parts of answers.

    The function returns an empty list if the user may not see the gold.
    """
    reading = page.reading
    kind = reading.runs[0].phase.task.task_type
    if not (kind.has_answer_parts and reading.rights.gold):
        return []
    return [
        evaluation.submission
        for index, evaluation in enumerate(reading.runs)
        if any(_lacks_marked_parts(instance, index) for instance in page.instances)
    ]


def _lacks_marked_parts(instance: readings.DisplayedInstance, place: int) -> bool:
    is_answered = place < len(instance.answers) and bool(instance.answers[place])
    return is_answered and not instance.answer_parts[place]


def build_instance_lines(
    page: readings.InstancePage, runs: Sequence[str], query: InstancesQuery
) -> list[dict[str, Any]]:
    metrics = {metric.name: metric for metric in page.reading.metrics}
    claims = _group_claim_lines_by_run(page, runs)
    return [
        _build_instance_line(instance, page, runs, claims, metrics, query)
        for instance in page.instances
    ]


def map_displayed_names_to_systems(page: readings.InstancePage) -> dict[str, str]:
    """Return the system of each run by the displayed name of the run.

    If several systems have the same name, the displayed name ends with a number.
    """
    systems = [run.submission.system for run in page.reading.runs]
    return {
        name if systems.count(name) == 1 else f"{name} ({position})": name
        for position, name in enumerate(systems, 1)
    }


class SelectableChoice(NamedTuple):
    value: str
    label: str
    is_chosen: bool


def _build_class_choices(
    classes: Mapping[str, Sequence[str]], chosen: str
) -> list[tuple[str, list[SelectableChoice]]]:
    grouped = []
    for dimension, labels in classes.items():
        values = [(f"{dimension}:{label}", label) for label in labels]
        choices = [
            SelectableChoice(value, display_name_of_class(label), value == chosen)
            for value, label in values
        ]
        grouped.append((display_name_of_dimension(dimension), choices))
    return grouped


def _build_selection_choices(
    page: readings.InstancePage,
) -> list[tuple[str, str, int, bool]]:
    by_number = sorted(page.kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        (kind, find_outcome_label(kind), count, kind == page.kind)
        for kind, count in by_number
    ]


def _group_claim_lines_by_run(
    page: readings.InstancePage, runs: Sequence[str]
) -> dict[str, dict[str, list[DisplayedInstanceLine]]]:
    reading, names = page.reading, {instance.name for instance in page.instances}
    if not (reading.rights.values and reading.rights.answers and names):
        return {}
    return {
        run: {
            name: build_claim_lines(own)
            for name, own in load_claims_by_response(evaluation, names).items()
        }
        for run, evaluation in zip(
            runs, reading.runs[: len(page.instances[0].answers)], strict=False
        )
    }


def _build_instance_line(
    instance: readings.DisplayedInstance,
    page: readings.InstancePage,
    runs: Sequence[str],
    claims: Mapping[str, Mapping[str, Sequence[DisplayedInstanceLine]]],
    metrics: Mapping[str, Metric],
    query: InstancesQuery,
) -> dict[str, Any]:
    reading = page.reading
    answers = (
        dict(zip(runs, instance.answers, strict=False))
        if reading.rights.answers
        else {}
    )
    judged = dict(zip(runs, instance.judged, strict=False))
    name = reading.metric.name if reading.metric else ""
    kind = reading.runs[0].phase.task.task_type
    values = instance.values.get(name, ())
    differences = {
        key: [value[0] - value[1]] if len(value) == 2 else []
        for key, value in instance.values.items()
    }
    return {
        "instance": instance,
        "href": query.build_query_string(instance=instance.name),
        "parts": build_instance_parts_with_marks(
            kind, _build_gold_and_answer_parts(instance, runs, answers, name)
        )
        if kind.has_answer_parts
        else build_instance_parts_for_display(
            kind.drawn_as,
            given=instance.given,
            gold=instance.gold,
            answers=answers,
            judged=judged,
            beside=dict(zip(runs, instance.beside, strict=False)),
            claims={run: claims[run].get(instance.name, ()) for run in claims},
            pool=instance.pool,
        ),
        "kinds": sorted(
            find_outcome_label(kind) for kind in reading.kinds.get(instance.name, ())
        ),
        "ranked": [
            (run, _format_metric_value(value, metrics[name]))
            for run, value in zip(runs, values, strict=False)
        ],
        "values": [
            (
                display_name_of_metric(name),
                [
                    _format_metric_value(value, metrics[name])
                    for value in [*own, *differences[name]]
                ],
            )
            for name, own in instance.values.items()
        ],
    }


def _build_gold_and_answer_parts(
    instance: readings.DisplayedInstance,
    runs: Sequence[str],
    answers: Mapping[str, str],
    metric: str,
) -> VisibleInstanceValues:
    """Return the gold and the answers of an instance as lists of parts.

    The marks of a part show how the page's metric scores the part.
    """
    parts = dict(zip(runs, instance.answer_parts, strict=False))
    return VisibleInstanceValues(
        fields=instance.fields,
        given=instance.given,
        gold=instance.gold_parts,
        gold_text=instance.gold,
        answers={run: parts.get(run, ()) for run in answers},
        answer_texts=answers,
        beside=dict(zip(runs, instance.beside, strict=False)),
        marks=dict(zip(runs, instance.marks, strict=False)),
        metric=metric,
        pool=instance.pool,
    )


def _format_metric_value(value: float, metric: Metric) -> str:
    return format_score(
        value if math.isfinite(value) else None,
        metric.scale,
        is_infinite=math.isinf(value),
    )


def _build_table_rows(
    page: readings.InstancePage, runs: Sequence[str]
) -> Iterator[list[object]]:
    """Yield the header of a file of instances, then a row for each selected instance.

    The rows contain only values that the user may see.
    """
    reading = page.reading
    metrics = (
        [metric.name for metric in reading.metrics] if reading.rights.values else []
    )
    of_runs = [(name, index) for index, name in enumerate(runs)]

    def build_column_heading(what: str, run: str) -> str:
        return f"{what} {run}".strip()

    heads = [
        "instance",
        *(
            build_column_heading(name, run)
            for name in metrics
            for run, _place in of_runs
        ),
    ]
    heads += [
        "outcomes",
        "given",
        "gold",
        *(build_column_heading("answer", run) for run in runs),
    ]
    yield list(heads)
    for one in reading.read(page.chosen):
        values = [
            one.values[name][place] for name in metrics for _run, place in of_runs
        ]
        answers = [*one.answers, *[""] * (len(runs) - len(one.answers))]
        kinds = ", ".join(sorted(reading.kinds.get(one.name, ())))
        yield [
            format_spreadsheet_cell(cell)
            for cell in (one.name, *values, kinds, one.given, one.gold, *answers)
        ]
