"""Runs and baselines for which a package or model is missing: what is said of them, and what they cost."""

import datetime as dt
from dataclasses import replace

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.refusals import ActionRefused
from citeboard.ops.season_progress import (
    describe_why_run_waits,
    find_runs_lacking_software,
)
from scoring.metrics.base import Requirement
from scoring.tools import baselines
from scoring.worker.baseline_runs import (
    find_baselines_lacking_requirements,
    list_baseline_names,
    request_baselines,
)
from scoring.worker.score import score
from tasks.jobs import engine
from tasks.models import Job, Organiser, Phase, Submission
from tasks.submissions.submit import compute_remaining_quota
from tests import factories
from tests.api.sending import check
from tests.scoring.scorers import put_in_place
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

ONE = "clsumm-tfidf-top1"
MISSING = "no model of this name: roberta"
GONE = f"print('python -m scoring: {MISSING}', file=sys.stderr)\nreturn 6"


@pytest.fixture
def phase() -> Phase:
    task = factories.make_task(rules=["corrected", "official-2017"])
    return factories.make_phase(task=task)


@pytest.fixture
def organiser(phase, client):
    user = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=user)
    client.force_login(user)
    return user


@pytest.fixture
def lacking_one(monkeypatch) -> None:
    known = baselines.find_baselines_of_task_type

    def with_missing(task_type):
        found = dict(known(task_type))
        return found | {ONE: replace(found[ONE], lacks=lambda: MISSING)}

    monkeypatch.setattr(baselines, "find_baselines_of_task_type", with_missing)
    monkeypatch.setattr(
        "citeboard.web.organise.gold.find_baselines_of_task_type", with_missing
    )


def deferred(run: Submission, reason: str = MISSING) -> Submission:
    for job in run.jobs.order_by("pk"):
        engine.defer_job(engine.claim_job(job.pk, "a-host-0a1b2c3d:1:2"), reason)
    run.refresh_from_db()
    return run


def test_a_baseline_that_cannot_run_is_neither_offered_nor_asked_for(
    phase, client, organiser, lacking_one
):
    page = client.get(reverse("organise-baselines", args=[phase.task.season.slug]))
    assert MISSING in text_of(page)
    assert f'value="{ONE}"' not in page.content.decode()
    asked = {request.name for request in request_baselines(phase=phase, by=None)}
    assert asked == {*list_baseline_names(phase)} - {ONE, "human-line"}
    with pytest.raises(ActionRefused, match=f"“{ONE}” cannot be computed: {MISSING}"):
        request_baselines(phase=phase, names=[ONE], by=None)


def test_a_plain_installation_lacks_the_packages_of_two_baselines_of_texts(monkeypatch):
    monkeypatch.setattr("tasks.types.problems.find_spec", lambda name: None)
    task = factories.make_task(type="citation-text")
    phase = factories.make_phase(task=task, with_gold=False)
    found = find_baselines_lacking_requirements(phase)
    assert set(found) == {"citation-text-lexrank", "citation-text-textrank"}
    assert "the package lexrank is not installed here" in found["citation-text-lexrank"]
    assert "the site's staff" in found["citation-text-lexrank"]


def test_a_baseline_whose_worker_lacks_a_model_fails_with_its_name_and_is_not_begun_again(
    phase, monkeypatch, tmp_path
):
    put_in_place(monkeypatch, tmp_path, GONE)
    run = request_baselines(phase=phase, names=[ONE], by=None)[0].submission
    score(run.jobs.get().pk)
    run.refresh_from_db()
    assert (run.status, run.jobs.get().state) == ("failed", "failed")
    assert MISSING in run.reason
    assert "Those who run the site" in run.reason


@pytest.mark.both_databases
def test_a_run_that_waits_for_a_model_spends_no_try_and_no_more_wait_than_there_are_tries():
    phase = factories.make_phase(runs_in_total=2)
    runs = [factories.make_submission(phase=phase)]
    team = runs[0].team
    assert compute_remaining_quota(phase, team).left == 1
    deferred(runs[0])
    assert compute_remaining_quota(phase, team).left == 2
    for _ in range(2):
        deferred(factories.make_submission(phase=phase, team=team))
    assert compute_remaining_quota(phase, team).left == 1


def test_the_check_names_what_is_missing_and_who_supplies_it(
    phase, client, monkeypatch
):
    lacks = Requirement(kind="model", name="roberta", missing=MISSING)
    monkeypatch.setattr(
        "scoring.worker.supply.list_requirements_of_task", lambda task: [lacks]
    )
    run = factories.make_submission(phase=phase)
    client.force_login(run.submitted_by)
    checked = check(client, phase)
    assert checked.status_code == 200
    [warning] = [
        found["message"]
        for found in checked.json()["warnings"]
        if MISSING in found["message"]
    ]
    assert "the site's staff have to supply it" in warning


@pytest.mark.both_databases
def test_attention_and_failures_list_a_waiting_run_with_what_is_missing_and_when_it_was_sent(
    phase, client, organiser
):
    run = deferred(factories.make_submission(phase=phase))
    sent = timezone.now() - dt.timedelta(days=3)
    Submission.objects.filter(pk=run.pk).update(submitted_at=sent)
    season = phase.task.season.slug
    page = text_of(client.get(reverse("organise", args=[season])))
    assert MISSING in page
    [failure] = client.get(f"/api/v1/seasons/{season}/failures/").json()
    assert (failure["submission"], failure["reason"]) == (run.pk, MISSING)
    assert dt.datetime.fromisoformat(failure["failed_at"]) == sent


@pytest.mark.both_databases
def test_a_run_is_shown_under_the_rule_sets_that_can_be_scored(phase):
    run = factories.make_submission(phase=phase)
    lacking, scored = run.jobs.order_by("pk")
    Job.objects.filter(pk=scored.pk).update(state=Job.State.DONE)
    engine.defer_job(engine.claim_job(lacking.pk, "a-host-0a1b2c3d:1:2"), MISSING)
    run.refresh_from_db()
    assert (run.status, run.reason) == ("scored", "")
    waiting = find_runs_lacking_software(phase.task.season)
    assert [describe_why_run_waits(found) for found in waiting] == [MISSING]
