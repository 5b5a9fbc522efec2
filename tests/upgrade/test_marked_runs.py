"""Runs of before the marks are marked by the migration as those that come later."""

from importlib import import_module

import pytest
from django.apps import apps

from tasks.models import Gold, Job, Submission
from tests import factories
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def test_runs_that_are_there_are_marked_by_what_happened_to_them():
    phase = factories.make_phase()
    one, other, third = (
        boards.make_team(phase, name) for name in ("One", "Other", "Third")
    )
    files = {
        name: boards.make_run(phase, team, status, system=name, has_failed=False)
        for name, team, status in (
            ("failed, then better", one, "failed"),
            ("better", one, "scored"),
            ("failed", other, "failed"),
            ("partly", third, "scored"),
            ("same answers", other, "scored"),
        )
    }
    Submission.objects.filter(pk=files["failed"].pk).update(number=10**6)
    for number, run in enumerate(Submission.objects.all()):
        Submission.objects.filter(pk=run.pk).update(sha256=f"{number:064}")
    Submission.objects.filter(system__in=["failed", "better"]).update(sha256="f" * 64)
    Job.objects.create(
        submission=files["partly"],
        gold=Gold.objects.get(),
        rules="other",
        options_digest="d",
        state="failed",
    )
    for name in ("partly", "same answers"):
        boards.score(files[name], 0.5)
        files[name].evaluations.update(answers_digest="a" * 64)
    import_module("scoring.migrations.0021_marked_runs").mark(apps, None)
    failed = Submission.objects.filter(has_failed=True).values_list("system", flat=True)
    alike = Submission.objects.filter(is_alike=True).values_list("system", flat=True)
    assert set(failed) == {"failed", "partly"}
    assert set(alike) == {"failed", "better", "partly", "same answers"}
