"""Computing a number again on one's own machine: the gold and the run to download, and the command."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from citeboard.core import storage
from citeboard.core.storage.downloads import download
from citeboard.teams.api import asking_user
from scoring.board.open_gold import may_have_gold, open_run
from scoring.exchange.label_bundle import open_labels, write_labels
from scoring.exchange.results import place, site_address
from scoring.metrics.entailment.stored import stored_model
from scoring.models import Evaluation
from scoring.stats.signature import offline_command
from scoring.web.client import site_wheel
from tasks.models import Gold, Phase, Submission
from tasks.registration.terms import current_terms
from tasks.seasons.access import phase_for

GOLD, ENVIRONMENT = "gold.zip", "citeboard-check"


@dataclass(frozen=True, kw_only=True)
class Recomputation:
    """How to get a run's numbers under one rule set; without a command ``lacking`` says why."""

    rules: str
    command: str = ""
    lacking: str = ""


@require_safe
def gold(request: HttpRequest, season: str, task: str, phase: str, number: int) -> HttpResponseBase:
    """A version of the gold, once it is nobody's secret."""
    person = asking_user(request)
    found = phase_for(person, season, task, phase)
    if not may_have_gold(found, person):
        raise Http404(_("The gold of this phase is not given out."))
    own = get_object_or_404(Gold, task=found.task_id, split=found.split, number=number)
    name = f"{season}-{task}-{own.split}-gold-v{number}.zip"
    return download(request, storage.gold, own.file, filename=name, content_type="application/zip")


@require_safe
def standing_run(
    request: HttpRequest, season: str, task: str, phase: str, submission: int
) -> HttpResponseBase:
    """The file of a run that stands on the board, where the gold is given out too."""
    person = asking_user(request)
    found = phase_for(person, season, task, phase)
    run = open_run(found, person, submission)
    if run is None:
        raise Http404(_("The runs of this board are not given out."))
    name = f"{season}-{task}-{run.pk}-{run.neutral_filename}"
    return download(request, storage.runs, run.file, filename=name, content_type="application/octet-stream")


@require_safe
def labels(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponseBase:
    """The entailment labels that decide the board's runs, where all gold behind them is given out too."""
    person = asking_user(request)
    found = phase_for(person, season, task, phase)
    deciding = open_labels(found, person)
    if not deciding:
        raise Http404(
            _(
                "The entailment labels of this phase are not given out. They are where a site keeps them and "
                "every phase that they decide gives out its inputs and its gold."
            )
        )
    out = tempfile.TemporaryFile()  # noqa: SIM115  (the answer closes it)
    write_labels(out, found, deciding)
    out.seek(0)
    return FileResponse(out, as_attachment=True, filename=f"{season}-{task}-{phase}-labels.zip")


def recomputations(phase: Phase, viewer: object, run: Submission, gold: Gold | None) -> list[Recomputation]:
    """By rule set in the task's order; none where gold or run is not given out."""
    if gold is None or open_run(phase, viewer, run.pk) is None:
        return []
    found = Evaluation.objects.filter(submission=run, gold=gold).order_by("id").prefetch_related("scores")
    by_rules = {evaluation.rules: evaluation for evaluation in found}
    return list(_recomputed(phase, run, by_rules))


def _recomputed(
    phase: Phase, run: Submission, evaluations: Mapping[str, Evaluation]
) -> Iterator[Recomputation]:
    for rules in phase.task.rules:
        evaluation = evaluations.get(rules)
        score = evaluation.scores.first() if evaluation else None
        if evaluation is None or score is None:
            continue
        missing = _files_of(evaluation.options)
        if missing:
            yield Recomputation(rules=rules, lacking=missing)
            continue
        file = run.neutral_filename
        command = offline_command(
            phase.task.type,
            rules=rules,
            options=evaluation.options,
            signature=score.signature,
            gold=[GOLD],
            run=file,
        )
        yield Recomputation(rules=rules, command=_whole(phase, run, evaluation.gold, file, command))


def _files_of(options: Mapping[str, str]) -> str:
    """What the command would need besides gold and run."""
    if stored_model(options):
        return _("the entailment labels that decided it are the season's own")
    named = [name for name, value in options.items() if Path(value).is_absolute()]
    return _("it rests on a file of the season: %(names)s") % {"names": ", ".join(named)} if named else ""


def _whole(phase: Phase, run: Submission, gold: Gold, file: str, command: str) -> str:
    """Download both, install the scorer that this site runs in a folder of its own, and score."""
    wheel = site_address("client-file", site_wheel().name)
    scorer = command.removeprefix("python -m scoring")
    gold_address = site_address("gold", *place(phase), gold.number)
    run_address = site_address("standing-run", *place(phase), run.pk)
    needs_account = current_terms(phase.task.season) is not None
    header = '-H "Authorization: Token $TOKEN" ' if needs_account else ""
    return " &&\n".join(
        [
            f"curl -fsSL {header}-o {GOLD} {gold_address} -o {file} {run_address}",
            f"python3 -m venv {ENVIRONMENT}",
            f"{ENVIRONMENT}/bin/pip install -q {wheel}",
            f"{ENVIRONMENT}/bin/citeboard{scorer}",
        ]
    )
