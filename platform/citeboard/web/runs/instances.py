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

from citeboard.core.plain_text import plain
from citeboard.web.pages import (
    Answer,
    PageDecorators,
    download_response,
    forbid_caching,
    phase_context,
    phase_readers,
)
from scoring.exchange.formats import build_workbook, record_with_samples
from scoring.exchange.results import ExportedResults
from scoring.metrics import Metric
from scoring.models import Evaluation
from scoring.results.board import comparisons, exports, standings, visibility
from scoring.results.board.formatting import (
    class_label,
    dimension_label,
    metric_label,
    shown,
)
from scoring.results.board.query import cached_board_or_404
from scoring.results.comparison import reading as readings
from scoring.results.comparison.contenders import (
    CSV_FILE,
    SAMPLES,
    WORKBOOK,
    AllSystemsInstancesQuery,
    InstancesQuery,
    TwoRunsInstancesQuery,
)
from scoring.results.comparison.drawing import (
    claim_lines,
    instance_parts,
    outcome_label,
)
from scoring.results.comparison.pieces import InstanceLine
from scoring.results.comparison.viewing import InstanceSides, instance_side_parts
from scoring.results.runs.claims import claims_by_response, has_visible_claims
from scoring.results.runs.results import latest_evaluations
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import may_organise
from tasks.types.base import current_rules

INSTANCE_FILTER_LABELS = (
    readings.SELECTION_ORDER_LABELS | readings.PAIR_SELECTION_LABELS
)
TABLE_FORMAT_LABELS = {CSV_FILE: "CSV", WORKBOOK: "Excel"}


def _readable_run_or_404(
    viewer: object, pk: int
) -> tuple[Submission, readings.InstanceRights]:
    run = (
        Submission.objects.select_related("phase__task__season", "team")
        .filter(pk=pk)
        .first()
    )
    seasons, rights = Season.objects.visible_to(viewer), None
    if run is not None and seasons.filter(pk=run.phase.task.season_id).exists():
        rights = readings.instance_rights_to_run(run, viewer)
    if run is None or rights is None:
        raise Http404(_("There are no answers for you to see at this address."))
    return run, rights


@PageDecorators(_readable_run_or_404, "pk", is_public=True).page()
def instances(
    request: HttpRequest, readable: tuple[Submission, readings.InstanceRights]
) -> Answer:
    run, rights = readable
    audience = visibility.audience_of(run.phase, request.user)
    evaluations = latest_evaluations(
        run, visibility.freeze_time_for(run.phase, audience)
    )
    if not evaluations:
        raise Http404(_("This run has not been scored, or not yet."))
    query = InstancesQuery.of(request.GET)
    wanted = current_rules(query.rules or "")
    rules = wanted if wanted in evaluations else next(iter(evaluations))
    own = evaluations[rules]
    is_own = visibility.may_see_submission(run, request.user)
    context = {
        **phase_context(run.phase),
        "submission": run,
        "is_own": is_own,
        "names_team": is_own or visibility.shows_teams(run.phase, audience),
        "rules": rules,
        "gold": own.gold,
        "may_rescore": may_organise(request.user, run.phase.task.season),
        "rule_sets": query.choices("rules", evaluations, rules),
    }
    try:
        page = readings.read_instances_of_run(
            own,
            rights,
            query,
            lambda: readings.comparable_other_systems(run.phase, request.user, own),
        )
    except comparisons.UnreadableStatistics:
        return forbid_caching(render(request, "runs/instances.html", context))
    if page is None:
        raise Http404(_("The run has no instance of this name."))
    record = _board_row_of_run(run, request.user, own, page)
    if query.as_file == SAMPLES:
        if record is None:
            raise Http404(
                _("Records exist for runs on the board whose instances you may read.")
            )
        return download_response(
            record_with_samples(*record, page),
            f"run-{run.pk}.{SAMPLES}",
            is_private=True,
        )
    context["forms"] = TABLE_FORMAT_LABELS | (
        {SAMPLES: "Every Eval Ever"} if record else {}
    )
    return _page_or_file(request, page, query, {"": ""}, context, f"run-{run.pk}")


def _board_row_of_run(
    run: Submission, viewer: object, evaluation: Evaluation, page: readings.InstancePage
) -> tuple[ExportedResults, standings.Row, standings.Column] | None:
    """Return the run's row on the board, and the column of the page's metric.

    The function returns None if the user may not see scores.
    """
    metric = page.reading.metric if page.reading.rights.values else None
    if metric is None or metric.higher_is_better is None:
        return None
    board = cached_board_or_404(run.phase, viewer, evaluation.rules, None)
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
    return (ExportedResults(board, [row]), row, column) if row and column else None


@phase_readers.page()
def compare_instances(request: HttpRequest, phase: Phase) -> Answer:
    query = TwoRunsInstancesQuery.of(request.GET)
    context: dict[str, Any] = phase_context(phase)
    context["may_rescore"] = may_organise(request.user, phase.task.season)
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
        ).with_(),
        "swapped": query.with_(
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
    return _page_or_file(
        request, read.page, query, names, context, f"runs-{a.run}-{b.run}"
    )


@phase_readers.page()
def all_instances(request: HttpRequest, phase: Phase) -> Answer:
    """Show instances with the answers of all systems of a board."""
    query = InstancesQuery.of(request.GET)
    run = AllSystemsInstancesQuery.of(request.GET).run
    if run is not None:
        return redirect(reverse("submission-instances", args=[run]) + query.with_())
    board = cached_board_or_404(phase, request.user, query.rules, None)
    context: dict[str, Any] = phase_context(phase) | {
        "rules": board.rules,
        "gold": board.gold,
        "is_all": True,
        "may_rescore": may_organise(request.user, phase.task.season),
    }
    try:
        page = readings.read_instances_of_all_systems(board, request.user, query)
    except comparisons.UnreadableStatistics:
        return forbid_caching(render(request, "runs/instances.html", context))
    if page is None:
        raise Http404(_("The runs have no instance of this name."))
    context["rule_sets"] = query.choices("rules", phase.task.rules, board.rules)
    file = f"{phase.task.slug}-{phase.slug}"
    return _page_or_file(
        request, page, query, systems_by_displayed_name(page), context, file
    )


def _page_or_file(
    request: HttpRequest,
    page: readings.InstancePage,
    query: InstancesQuery,
    names: Mapping[str, str],
    context: dict[str, Any],
    file: str,
) -> Answer:
    """Return the page of instances, or a file with these instances.

    The function returns a file if the query names a file format.

    ``names`` maps the name of each run on the page to the system of the run.
    """
    if query.as_file in TABLE_FORMAT_LABELS:
        return _table_file(page, query, list(names), file)
    context |= _page_context(
        page, query, names, context.get("forms", TABLE_FORMAT_LABELS)
    )
    # No cache may store the page, whose content depends on the user's permissions.
    return forbid_caching(render(request, "runs/instances.html", context))


def _table_file(
    page: readings.InstancePage, query: InstancesQuery, runs: Sequence[str], file: str
) -> HttpResponseBase:
    lines = _csv_rows(page, runs)
    if query.as_file == CSV_FILE:
        content: bytes | str = exports.csv_text(*lines)
        return download_response(content, f"{file}-instances.csv", is_private=True)
    content = build_workbook(
        file, page.reading.runs[0].submitted_at, {"Instances": lines}
    )
    return download_response(content, f"{file}-instances.xlsx", is_private=True)


def _page_context(
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
    lack_marks = _runs_without_marks(page)
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
        "metrics": query.choices("metric", metrics, metric.name, metric_label)
        if metric
        else [],
        "metric_label": metric_label(metric.name) if metric else "",
        "classes": _class_choices(reading.classes, of_class),
        "kinds": _kind_choices(page),
        "lines": build_instance_lines(page, list(names), query),
        "files": [(query.with_(as_file=form), name) for form, name in forms.items()],
        "every": query.with_(),
        "none_chosen": query.with_(of_class="", kind="", text="", which=""),
        "before": query.with_(page=page.number - 1) if page.number > 1 else "",
        "after": query.with_(page=page.number + 1) if page.number < page.pages else "",
    }


def _runs_without_marks(page: readings.InstancePage) -> list[Submission]:
    """Return runs that were scored before the site stored marked parts of answers.

    The function returns an empty list if the user may not see the gold.
    """
    reading = page.reading
    kind = reading.runs[0].phase.task.task_type
    if not (kind.has_parts and reading.rights.gold):
        return []
    return [
        evaluation.submission
        for index, evaluation in enumerate(reading.runs)
        if any(_lacks_parts(instance, index) for instance in page.instances)
    ]


def _lacks_parts(instance: readings.DisplayedInstance, place: int) -> bool:
    is_answered = place < len(instance.answers) and bool(instance.answers[place])
    return is_answered and not instance.answer_parts[place]


def build_instance_lines(
    page: readings.InstancePage, runs: Sequence[str], query: InstancesQuery
) -> list[dict[str, Any]]:
    metrics = {metric.name: metric for metric in page.reading.metrics}
    claims = _claim_lines_by_run(page, runs)
    return [
        _instance_line(instance, page, runs, claims, metrics, query)
        for instance in page.instances
    ]


def systems_by_displayed_name(page: readings.InstancePage) -> dict[str, str]:
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


def _class_choices(
    classes: Mapping[str, Sequence[str]], chosen: str
) -> list[tuple[str, list[SelectableChoice]]]:
    grouped = []
    for dimension, labels in classes.items():
        values = [(f"{dimension}:{label}", label) for label in labels]
        choices = [
            SelectableChoice(value, class_label(label), value == chosen)
            for value, label in values
        ]
        grouped.append((dimension_label(dimension), choices))
    return grouped


def _kind_choices(page: readings.InstancePage) -> list[tuple[str, str, int, bool]]:
    by_number = sorted(page.kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        (kind, outcome_label(kind), count, kind == page.kind)
        for kind, count in by_number
    ]


def _claim_lines_by_run(
    page: readings.InstancePage, runs: Sequence[str]
) -> dict[str, dict[str, list[InstanceLine]]]:
    reading, names = page.reading, {instance.name for instance in page.instances}
    if not (reading.rights.values and reading.rights.answers and names):
        return {}
    return {
        run: {
            name: claim_lines(own)
            for name, own in claims_by_response(evaluation, names).items()
        }
        for run, evaluation in zip(
            runs, reading.runs[: len(page.instances[0].answers)], strict=False
        )
    }


def _instance_line(
    instance: readings.DisplayedInstance,
    page: readings.InstancePage,
    runs: Sequence[str],
    claims: Mapping[str, Mapping[str, Sequence[InstanceLine]]],
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
        "href": query.with_(instance=instance.name),
        "parts": instance_side_parts(
            kind, _gold_and_answers(instance, runs, answers, name)
        )
        if kind.has_parts
        else instance_parts(
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
            outcome_label(kind) for kind in reading.kinds.get(instance.name, ())
        ),
        "ranked": [
            (run, _value_text(value, metrics[name]))
            for run, value in zip(runs, values, strict=False)
        ],
        "values": [
            (
                metric_label(name),
                [
                    _value_text(value, metrics[name])
                    for value in [*own, *differences[name]]
                ],
            )
            for name, own in instance.values.items()
        ],
    }


def _gold_and_answers(
    instance: readings.DisplayedInstance,
    runs: Sequence[str],
    answers: Mapping[str, str],
    metric: str,
) -> InstanceSides:
    """Return the gold and the answers of an instance as lists of parts.

    The marks of a part show how the page's metric scores the part.
    """
    parts = dict(zip(runs, instance.answer_parts, strict=False))
    return InstanceSides(
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


def _value_text(value: float, metric: Metric) -> str:
    return shown(
        value if math.isfinite(value) else None,
        metric.scale,
        is_infinite=math.isinf(value),
    )


def _csv_rows(
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

    def column_heading(what: str, run: str) -> str:
        return f"{what} {run}".strip()

    heads = [
        "instance",
        *(column_heading(name, run) for name in metrics for run, _place in of_runs),
    ]
    heads += [
        "outcomes",
        "given",
        "gold",
        *(column_heading("answer", run) for run in runs),
    ]
    yield list(heads)
    for one in reading.read(page.chosen):
        values = [
            one.values[name][place] for name in metrics for _run, place in of_runs
        ]
        answers = [*one.answers, *[""] * (len(runs) - len(one.answers))]
        kinds = ", ".join(sorted(reading.kinds.get(one.name, ())))
        yield [
            plain(cell)
            for cell in (one.name, *values, kinds, one.given, one.gold, *answers)
        ]
