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
    packed_gold,
    stored_gold,
)
from citeboard.acts.labels import IMPORT_LABELS, NO_LABELS_MESSAGE, SHARE_LABELS
from citeboard.acts.rehearsal import NeedsConfirmation, perform
from citeboard.acts.rescoring import (
    DRAW_AGAIN,
    RESCORE,
    RESCORE_RUN,
    RESCORE_SEASON,
    STOP_RESCORING,
    run_to_organise,
)
from citeboard.background.kinds import jobs_of
from citeboard.core.query import chosen_value
from citeboard.core.words import as_sentence, count_with_noun
from citeboard.ops.launching import scored_phases
from citeboard.teams.models import User
from citeboard.web import pages
from citeboard.web.organise.overview import lines
from scoring.models import Judge, JudgementImport, PendingLabels
from scoring.results.board import comparisons, planning
from scoring.results.board.embargo_table import (
    AUDIENCE_LABELS,
    embargoes_as_json,
    shared_content_by_split,
    split_embargoes_of,
)
from scoring.tools.baselines import baselines_of, is_papers_package_installed
from scoring.worker import (
    background,
    baseline_runs,
    entailment_labels as labels,
    rescoring,
)
from scoring.worker.supply import requirements_of_task
from tasks.gold.gold_files import EqualsCorrectedGold
from tasks.models import Gold, Phase, Season, Submission
from tasks.types.ledger import ENTAILS, KINDS
from tasks.types.problems import capped
from tasks.types.stored_judges import StoredJudge


@pages.organisers.form("organise/gold.html", "gold")
def gold(request: pages.SignedInRequest, season: Season) -> pages.Answer:
    """Show the versions of the gold and the progress of rescoring, and upload a new
    version.
    """
    form = GoldForm(**pages.sent(request), of=season)
    pages.require_known_fields(request, form)
    context: dict[str, Any] = {}
    if form.is_valid():
        with pages.add_refusals_to_form(form, "file"):
            try:
                ready = packed_gold(season, form.cleaned_data, request.user)
                _add_messages(
                    request,
                    perform(
                        PUBLISH_GOLD,
                        season,
                        request.user,
                        ready,
                        pages.confirmation_in_request(request),
                    ),
                )
                return redirect("organise-gold", season.slug)
            except NeedsConfirmation as asked:
                again = [("stored", stored_gold(ready))]
                return pages.show_rehearsal(
                    request, asked.rehearsal, season, again, "gold"
                )
            except rescoring.GoldRefused as refused:
                problems, more = capped(refused.problems)
                several = len({problem.file for problem in problems}) > 1
                context = {"problems": problems, "more": more, "several_files": several}
            except EqualsCorrectedGold as earlier:
                form.fields["again"].widget = forms.CheckboxInput()
                form.add_error("again", as_sentence(earlier))
    splits = _gold_versions_by_split(season, form, request.user)
    is_moving = any(phase.is_moving for split in splits for phase in split["phases"])
    return {**context, "form": form, "splits": splits, "is_moving": is_moving}


def describe_gold_size(gold: Gold) -> str:
    """Return the number of instances in the gold and, if known, the number of rows."""
    instances = count_with_noun(gold.instances, "instance")
    if gold.rows is None:
        return instances
    named = {"instances": instances, "rows": count_with_noun(gold.rows, "row")}
    return _("%(instances)s from %(rows)s") % named


def _add_messages(
    request: pages.SignedInRequest, new_golds: Sequence[rescoring.PublishedGold]
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


rescore = pages.build_action_view(RESCORE, "organise-gold season")
draw_again = pages.build_action_view(DRAW_AGAIN, "organise-settings-phase season phase")
stop_rescoring = pages.build_action_view(STOP_RESCORING, "organise-gold season")
rescore_season = pages.build_action_view(RESCORE_SEASON, "organise-gold season")
rescore_run = pages.build_action_view(
    RESCORE_RUN, "submission pk", pages.PageDecorators(run_to_organise, "pk")
)


def _gold_versions_by_split(
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
            rescoring.rescoring_progress(phase)
        )
    shared = shared_content_by_split(season, reader)
    return [
        {
            "task": task,
            "split": split,
            "versions": versions.get((task.pk, split), []),
            "power": comparisons.gold_power(known[0])
            if (known := versions.get((task.pk, split)))
            else None,
            "phases": phases.get((task.pk, split), []),
            "shared": shared.get((task.pk, split), []),
        }
        for task, split in form.splits.values()
    ]


@pages.organisers.page("organise/power.html", "gold")
def power(request: HttpRequest, season: Season) -> pages.Answer:
    """Show how large a test set must be to detect a given difference."""
    form = planning.TestSetPlanForm(
        season, request.GET if "source" in request.GET else None
    )
    plan = form.plan() if form.is_valid() else None
    if plan is None:
        return {"form": form}
    size = comparisons.unit_count_text(plan.known.units, plan.known.unit)
    return {"form": form, "plan": plan, "size": size, "figures": {"power": plan.figure}}


@pages.organisers.page("organise/baselines.html", "baselines")
def listed(request: HttpRequest, season: Season) -> pages.Answer:
    """Show the built-in baselines of each phase, with their methods, inputs and
    progress.
    """
    return {
        "phases": [_baseline_lines(phase) for phase in scored_phases(season)],
        "has_papers": is_papers_package_installed(),
    }


def _baseline_lines(phase: Phase) -> dict[str, Any]:
    latest: dict[str, Submission] = {}
    for run in baseline_runs.built_in_runs(phase).select_related("phase__task", "team"):
        latest.setdefault(run.built_in, run)
    values = {line["run"].built_in: line["value"] for line in lines(latest.values())}
    names, known = (
        baseline_runs.baseline_names_for(phase),
        baselines_of(phase.task.task_type),
    )
    shown, unavailable = [], baseline_runs.lacking(phase)
    for name in names:
        summary, source, sees = (
            baseline_runs.HUMAN_LINE_DESCRIPTION,
            "",
            _("gold of several annotators"),
        )
        if name != baseline_runs.HUMAN_LINE_NAME:
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


compute = pages.build_action_view(COMPUTE_BASELINES, "organise-baselines season")


@pages.organisers.page("organise/secrecy.html", "secrecy")
def secrecy(request: pages.SignedInRequest, season: Season) -> pages.Answer:
    return {
        "contents": split_embargoes_of(season, request.user, has_budgets=True),
        "groups": list(AUDIENCE_LABELS.values()),
    }


@pages.organisers.page()
def secrecy_as_json(request: HttpRequest, season: Season) -> pages.Answer:
    return pages.forbid_caching(
        JsonResponse(
            {
                "season": season.slug,
                "contents": embargoes_as_json(split_embargoes_of(season)),
            }
        )
    )


seal = pages.build_action_view(SEAL_GOLD, "organise-secrecy season")
delete_version = pages.build_action_view(DELETE_GOLD, "organise-secrecy season")

WAITING_RUNS_PER_PAGE = 25
MAX_IMPORTS_SHOWN = 10
MAX_RUN_NUMBER_DIGITS = 18


def _labels_context(request: HttpRequest, season: Season) -> dict[str, Any]:
    judges, waiting = labels.judges_of_season(season), _runs_waiting_for_labels(season)
    asked = Judge.objects.brought(season).filter(labels.select_judges(judges))
    imports = labels.annotate_left_out(JudgementImport.objects.filter(judge__in=asked))
    return {
        "jobs": jobs_of(season, background.Kind.LABELS),
        "tasks": [
            {"task": task, "requirements": requirements_of_task(task)}
            for task in season.tasks.filter(is_reported_only=False)
        ],
        "models": [_decided_labels_line(judge, season) for judge in judges],
        "has_claims": any(judge.kind == ENTAILS for judge in judges),
        "page": pages.paginate_rows(request, waiting, WAITING_RUNS_PER_PAGE),
        "open_by_kind": labels.count_open_pairs_by_kind(waiting),
        "imports": imports.select_related("judge", "imported_by")[:MAX_IMPORTS_SHOWN],
    }


models = pages.build_form_view(
    IMPORT_LABELS,
    "organise/models.html",
    "models",
    at="file",
    shows=_labels_context,
    then=pages.redirect_to_job,
)


def _runs_waiting_for_labels(season: Season) -> QuerySet[PendingLabels]:
    return labels.waiting_jobs().filter(job__submission__phase__task__season=season)


def _decided_labels_line(asked: StoredJudge, season: Season) -> dict[str, Any]:
    decided: Counter[int | None] = Counter()
    for judge in Judge.objects.deciding(asked.name, season, asked.kind):
        decided[judge.season_id] += judge.decided
    return {
        "name": asked.name,
        "kind": asked.kind,
        "own": decided[season.pk],
        "shared": decided[None],
    }


@pages.organisers.page()
def pairs(request: HttpRequest, season: Season) -> pages.Answer:
    """Return texts without a label as JSON lines.

    Runs wait for scores until a judge has labelled the returned texts, such as pairs of a
    passage and a claim. The parameter `run` selects the texts of one run, `kind` one kind
    of labels, and `model` one judge.
    """
    waiting = _runs_waiting_for_labels(season)
    model, run = request.GET.get("model"), request.GET.get("run")
    if model:
        # A name that contains NUL matches no model, because databases reject NUL.
        waiting = waiting.none() if "\0" in model else waiting.filter(judge__name=model)
    kind = chosen_value(request.GET, "kind", KINDS)
    if kind:
        waiting = waiting.filter(judge__kind=kind)
    if run:
        is_number = run.isdecimal() and len(run) < MAX_RUN_NUMBER_DIGITS
        waiting = (
            waiting.filter(job__submission=int(run)) if is_number else waiting.none()
        )
    # Links on the page contain `next` without a value, so `next` may be empty.
    is_next_only = chosen_value(request.GET, "next", ("", "only")) is not None
    open_ones = labels.read_open_pairs(list(waiting), is_next_only=is_next_only)
    lines = (f"{json.dumps(pair, ensure_ascii=False)}\n" for pair in open_ones)
    name = f"{season.slug}-{kind}.jsonl" if kind else f"{season.slug}-pairs.jsonl"
    return pages.download_response(lines, name, is_private=True)


@pages.organisers.page()
def entailment_labels(request: HttpRequest, season: Season) -> pages.Answer:
    """Return a judge's labels that affect the season's runs.

    The returned labels include labels that all seasons share. The returned file
    identifies texts only by their digests. The parameter `kind` selects the kind of the
    labels if the judge has labels of several kinds.
    """
    name, kind = request.GET.get("model", ""), request.GET.get("kind")
    judge = next(
        (
            judge
            for judge in labels.judges_of_season(season)
            if judge.name == name and kind in (None, judge.kind)
        ),
        None,
    )
    deciding = list(Judge.objects.deciding(name, season, judge.kind)) if judge else []
    if not deciding:
        raise Http404(NO_LABELS_MESSAGE)
    return pages.download_response(
        labels.label_file_lines(deciding), "labels.jsonl", is_private=True
    )


share = pages.build_action_view(SHARE_LABELS, "organise-models season")
