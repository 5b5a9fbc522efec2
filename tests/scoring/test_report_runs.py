"""A run of cited reports on a site: it waits for its judgements, and gold that has them scores it."""

import pytest
from django.urls import reverse

from scoring.worker.score import score
from tasks.gold.gold_files import load_gold
from tasks.jobs.leases import queue_missing_scorings
from tasks.models import Job
from tests import factories
from tests.declared import small_reports

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def test_a_run_waits_for_judgements_that_are_missing_and_goes_on_with_new_gold(
    tmp_path, client
):
    task = factories.make_task(type="cited-reports")
    phase = factories.make_phase(task=task, with_gold=False, board="everyone")
    gold = small_reports.write_gold(tmp_path / "gold")
    judgements = gold / "judgements.jsonl"
    complete = judgements.read_text()
    judgements.write_text("".join(complete.splitlines(keepends=True)[:-1]))
    load_gold(task=task, split=phase.split, paths=[gold], reason="a first half")
    run = factories.make_submission(phase=phase, content=small_reports.run(4))
    first = run.jobs.get()
    score(first.pk)
    first.refresh_from_db()
    assert first.state == Job.State.WAITING
    assert first.reason == (
        "It cannot be scored yet: judgements of this run are not among the gold yet."
        " The organisers have to publish gold that has them; then scoring goes on by itself."
    )
    judgements.write_text(complete)
    load_gold(task=task, split=phase.split, paths=[gold], reason="all judgements")
    queue_missing_scorings(phase)
    for job in run.jobs.filter(state=Job.State.QUEUED):
        score(job.pk)
    scores = run.evaluations.get().scores
    for metric in ("citation_precision", "nuggets_all"):
        assert scores.get(shared__metric=metric).value == 0.5
    address = reverse("task", args=[task.season.slug, task.slug])
    page = client.get(address).content.decode()
    assert "Citation recall" in page
    assert "Nugget 1" not in page
