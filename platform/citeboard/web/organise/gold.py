"""Organisers' pages on gold, rescoring, labels of entailment models, and built-in
baselines.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from citeboard.acts.baselines import COMPUTE_BASELINES
from citeboard.acts.gold import (
    DELETE_GOLD,
    PUBLISH_GOLD,
    SEAL_GOLD,
    GoldForm,
    parse_submitted_gold,
    sign_stored_gold_names,
)
from citeboard.acts.labels import (
    IMPORT_LABELS,
    NO_LABELS_MESSAGE,
    SHARE_JUDGE_LABELS_SITEWIDE,
)
from citeboard.acts.rehearsal import NeedsConfirmation, perform_confirmed_action
from citeboard.acts.rescoring import (
    CANCEL_PHASE_RESCORING,
    REDRAW_PUBLIC_PART,
    RESCORE_PHASE,
    RESCORE_RUN,
    RESCORE_SEASON,
    organised_run_or_404,
)
from citeboard.background.kinds import find_background_jobs
from citeboard.core.query import find_permitted_value
from citeboard.core.words import count_with_noun, format_as_sentence
from citeboard.ops.launching import find_phases_to_score
from citeboard.teams.models import User
from citeboard.web import pages
from citeboard.web.organise.overview import build_run_lines
from scoring.models import Judge, JudgementImport, PendingLabels
from scoring.results.board import comparisons, planning
from scoring.results.board.embargo_table import (
    AUDIENCE_LABELS,
    build_embargoes_of_splits,
    describe_shared_content_by_split,
    split_embargoes_as_json_values,
)
from scoring.tools.baselines import (
    find_baselines_of_task_type,
    is_papers_package_installed,
)
from scoring.worker import (
    background,
    baseline_runs,
    entailment_labels as labels,
    rescoring,
)
from scoring.worker.supply import list_requirements_of_task
from tasks.gold.gold_files import GoldEqualsCorrectedVersion
from tasks.models import Gold, Phase, Season, Submission
from tasks.types.ledger import ENTAILS_KIND, JUDGEMENT_KINDS_BY_NAME
from tasks.types.problems import select_problems_to_list
from tasks.types.stored_judges import LedgerJudge


@pages.organiser_pages.form("organise/gold.html", "gold")
def manage_gold(request: pages.SignedInRequest, season: Season) -> pages.ViewResult:
    """Show the versions of the gold and the progress of rescoring, and upload a new
    version.
    """
    form = GoldForm(**pages.build_form_arguments(request), of=season)
    pages.require_known_fields(request, form)
    context: dict[str, Any] = {}
    if form.is_valid():
        with pages.add_refusals_to_form(form, "file"):
            try:
                ready = parse_submitted_gold(season, form.cleaned_data, request.user)
                _add_gold_published_messages(
                    request,
                    perform_confirmed_action(
                        PUBLISH_GOLD,
                        season,
                        request.user,
                        ready,
                        pages.read_action_confirmation(request),
                    ),
                )
                return redirect("organise-gold", season.slug)
            except NeedsConfirmation as asked:
                again = [("stored", sign_stored_gold_names(ready))]
                return pages.show_predicted_effects(
                    request, asked.rehearsal, season, again, "gold"
                )
            except rescoring.GoldFileRefused as refused:
                problems, more = select_problems_to_list(refused.problems)
                several = len({problem.file for problem in problems}) > 1
                context = {"problems": problems, "more": more, "several_files": several}
            except GoldEqualsCorrectedVersion as earlier:
                form.fields["again"].widget = forms.CheckboxInput()
                form.add_error("again", format_as_sentence(earlier))
    splits = _group_gold_versions_by_split(season, form, request.user)
    is_moving = any(phase.is_moving for split in splits for phase in split["phases"])
    return {**context, "form": form, "splits": splits, "is_moving": is_moving}


def describe_gold_size(gold: Gold) -> str:
    """Return the number of instances in the gold and, if known, the number of rows."""
    instances = count_with_noun(gold.instances, "instance")
    if gold.rows is None:
        return instances
    named = {"instances": instances, "rows": count_with_noun(gold.rows, "row")}
    return _("%(instances)s from %(rows)s") % named


def _add_gold_published_messages(
    request: pages.SignedInRequest, new_golds: Sequence[rescoring.NewGoldVersion]
) -> None:
    for new in new_golds:
        tell, words = (
            messages.info,
            _("This is gold v%(number)s as it is; nothing has changed."),
        )
        if new.is_new:
            tell = messages.success
            words = _(
                "Gold v%(number)s of %(task)s has %(instances)s. All runs are scored against it."
            )
        elif len(new_golds) > 1:
            words = _(
                "This is gold v%(number)s of %(task)s as it is; nothing has changed."
            )
        tell(
            request,
            words
            % {
                "number": new.gold.number,
                "task": new.gold.task,
                "instances": describe_gold_size(new.gold),
            },
        )


rescore_phase = pages.build_action_view(RESCORE_PHASE, "organise-gold season")
redraw_public_part = pages.build_action_view(
    REDRAW_PUBLIC_PART, "organise-settings-phase season phase"
)
cancel_phase_rescoring = pages.build_action_view(
    CANCEL_PHASE_RESCORING, "organise-gold season"
)
rescore_season = pages.build_action_view(RESCORE_SEASON, "organise-gold season")
rescore_run = pages.build_action_view(
    RESCORE_RUN, "submission pk", pages.PageDecorators(organised_run_or_404, "pk")
)


def _group_gold_versions_by_split(
    season: Season, form: GoldForm, reader: User
) -> list[dict[str, Any]]:
    versions: dict[tuple[int, str], list[Gold]] = {}
    for version in (
        Gold.objects.filter(task__season=season)
        .select_related("task")
        .order_by("-number")
    ):
        versions.setdefault((version.task_id, version.split), []).append(version)
    phases: dict[tuple[int, str], list[rescoring.RescoringProgress]] = {}
    for phase in Phase.objects.filter(task__season=season).select_related(
        "task__season"
    ):
        phases.setdefault((phase.task_id, phase.split), []).append(
            rescoring.compute_rescoring_progress(phase)
        )
    shared = describe_shared_content_by_split(season, reader)
    return [
        {
            "task": task,
            "split": split,
            "versions": versions.get((task.pk, split), []),
            "power": comparisons.estimate_power_on_gold(known[0])
            if (known := versions.get((task.pk, split)))
            else None,
            "phases": phases.get((task.pk, split), []),
            "shared": shared.get((task.pk, split), []),
        }
        for task, split in form.splits.values()
    ]


@pages.organiser_pages.page("organise/power.html", "gold")
def show_statistical_power(request: HttpRequest, season: Season) -> pages.ViewResult:
    """Show how large a test set must be to detect a given difference."""
    form = planning.TestSetPlanForm(
        season, request.GET if "source" in request.GET else None
    )
    plan = form.build_test_set_plan() if form.is_valid() else None
    if plan is None:
        return {"form": form}
    size = comparisons.format_unit_count(plan.known.units, plan.known.unit)
    return {"form": form, "plan": plan, "size": size, "figures": {"power": plan.figure}}


@pages.organiser_pages.page("organise/baselines.html", "baselines")
def show_baselines(request: HttpRequest, season: Season) -> pages.ViewResult:
    """Show the built-in baselines of each phase, with their methods, inputs and
    progress.
    """
    return {
        "phases": [
            _build_baseline_lines(phase) for phase in find_phases_to_score(season)
        ],
        "has_papers": is_papers_package_installed(),
    }


def _build_baseline_lines(phase: Phase) -> dict[str, Any]:
    latest: dict[str, Submission] = {}
    for run in baseline_runs.find_built_in_baseline_runs(phase).select_related(
        "phase__task", "team"
    ):
        latest.setdefault(run.built_in, run)
    values = {
        line["run"].built_in: line["value"] for line in build_run_lines(latest.values())
    }
    names, known = (
        baseline_runs.list_baseline_names(phase),
        find_baselines_of_task_type(phase.task.task_type),
    )
    shown, unavailable = [], baseline_runs.find_baselines_lacking_requirements(phase)
    for name in names:
        summary, source, sees = (
            baseline_runs.HUMAN_PERFORMANCE_DESCRIPTION,
            "",
            _("gold of several annotators"),
        )
        if name != baseline_runs.HUMAN_PERFORMANCE_BASELINE_NAME:
            summary, source, sees = (
                known[name].summary,
                known[name].source,
                known[name].sees,
            )
        line: dict[str, Any] = {"name": name, "summary": summary}
        line |= {"source": source, "sees": sees}
        line |= {"run": latest.get(name), "value": values.get(name, "")}
        shown.append({**line, "lacks": unavailable.get(name, "")})
    return {
        "phase": phase,
        "gold": Gold.objects.current(phase),
        "lines": shown,
        "has_sweep": any(baseline.sweep for baseline in known.values()),
        "sources": list(
            dict.fromkeys(line["source"] for line in shown if line["source"])
        ),
        "is_moving": any(
            run.is_moving for name, run in latest.items() if name in names
        ),
    }


compute_baselines = pages.build_action_view(
    COMPUTE_BASELINES, "organise-baselines season"
)


@pages.organiser_pages.page("organise/secrecy.html", "secrecy")
def show_secrecy_report(
    request: pages.SignedInRequest, season: Season
) -> pages.ViewResult:
    return {
        "contents": build_embargoes_of_splits(season, request.user, has_budgets=True),
        "groups": list(AUDIENCE_LABELS.values()),
    }


@pages.organiser_pages.page()
def download_secrecy_report(request: HttpRequest, season: Season) -> pages.ViewResult:
    return pages.forbid_caching(
        JsonResponse(
            {
                "season": season.slug,
                "contents": split_embargoes_as_json_values(
                    build_embargoes_of_splits(season)
                ),
            }
        )
    )


seal_gold = pages.build_action_view(SEAL_GOLD, "organise-secrecy season")
delete_gold_version = pages.build_action_view(DELETE_GOLD, "organise-secrecy season")

WAITING_RUNS_PER_PAGE = 25
MAX_IMPORTS_SHOWN = 10
MAX_RUN_NUMBER_DIGITS = 18


def _build_labels_context(request: HttpRequest, season: Season) -> dict[str, Any]:
    judges, waiting = (
        labels.list_stored_judges_of_season(season),
        _find_runs_waiting_for_labels(season),
    )
    asked = Judge.objects.of_season_or_shared(season).filter(
        labels.build_judge_filter(judges)
    )
    imports = labels.annotate_imports_left_out_of_season(
        JudgementImport.objects.filter(judge__in=asked)
    )
    return {
        "jobs": find_background_jobs(season, background.BackgroundJobKind.LABELS),
        "tasks": [
            {"task": task, "requirements": list_requirements_of_task(task)}
            for task in season.tasks.filter(is_reported_only=False)
        ],
        "models": [_build_judge_label_line(judge, season) for judge in judges],
        "has_claims": any(judge.kind == ENTAILS_KIND for judge in judges),
        "page": pages.paginate_rows(request, waiting, WAITING_RUNS_PER_PAGE),
        "open_by_kind": labels.count_open_pairs_by_kind(waiting),
        "imports": imports.select_related("judge", "imported_by")[:MAX_IMPORTS_SHOWN],
    }


import_judge_labels = pages.build_form_view(
    IMPORT_LABELS,
    "organise/models.html",
    "models",
    at="file",
    shows=_build_labels_context,
    then=pages.redirect_to_job,
)


def _find_runs_waiting_for_labels(season: Season) -> QuerySet[PendingLabels]:
    return labels.find_jobs_waiting_for_labels().filter(
        job__submission__phase__task__season=season
    )


def _build_judge_label_line(asked: LedgerJudge, season: Season) -> dict[str, Any]:
    decided: Counter[int | None] = Counter()
    for judge in Judge.objects.deciding(asked.name, season, asked.kind):
        decided[judge.season_id] += judge.decided
    return {
        "name": asked.name,
        "kind": asked.kind,
        "own": decided[season.pk],
        "shared": decided[None],
    }


@pages.organiser_pages.page()
def download_unlabelled_texts(request: HttpRequest, season: Season) -> pages.ViewResult:
    """Return texts without a label as JSON lines.

    Runs wait for scores until a judge has labelled the returned texts, such as pairs of a
    passage and a claim. The parameter `run` selects the texts of one run, `kind` one kind
    of labels, and `model` one judge.
    """
    waiting = _find_runs_waiting_for_labels(season)
    model, run = request.GET.get("model"), request.GET.get("run")
    if model:
        # A name that contains NUL matches no model, because databases reject NUL.
        waiting = waiting.none() if "\0" in model else waiting.filter(judge__name=model)
    kind = find_permitted_value(request.GET, "kind", JUDGEMENT_KINDS_BY_NAME)
    if kind:
        waiting = waiting.filter(judge__kind=kind)
    if run:
        is_number = run.isdecimal() and len(run) < MAX_RUN_NUMBER_DIGITS
        waiting = (
            waiting.filter(job__submission=int(run)) if is_number else waiting.none()
        )
    # Links on the page contain `next` without a value, so `next` may be empty.
    is_next_only = find_permitted_value(request.GET, "next", ("", "only")) is not None
    open_ones = labels.iterate_open_pairs(list(waiting), is_next_only=is_next_only)
    lines = (f"{json.dumps(pair, ensure_ascii=False)}\n" for pair in open_ones)
    name = f"{season.slug}-{kind}.jsonl" if kind else f"{season.slug}-pairs.jsonl"
    return pages.build_download_response(lines, name, is_private=True)


@pages.organiser_pages.page()
def download_judge_labels(request: HttpRequest, season: Season) -> pages.ViewResult:
    """Return a judge's labels that affect the season's runs.

    The returned labels include labels that all seasons share. The returned file
    identifies texts only by their digests. The parameter `kind` selects the kind of the
    labels if the judge has labels of several kinds.
    """
    name, kind = request.GET.get("model", ""), request.GET.get("kind")
    judge = next(
        (
            judge
            for judge in labels.list_stored_judges_of_season(season)
            if judge.name == name and kind in (None, judge.kind)
        ),
        None,
    )
    deciding = list(Judge.objects.deciding(name, season, judge.kind)) if judge else []
    if not deciding:
        raise Http404(NO_LABELS_MESSAGE)
    return pages.build_download_response(
        labels.iterate_label_file_lines(deciding), "labels.jsonl", is_private=True
    )


share_judge_labels = pages.build_action_view(
    SHARE_JUDGE_LABELS_SITEWIDE, "organise-models season"
)
