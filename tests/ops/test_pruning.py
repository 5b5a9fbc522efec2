"""What a site no longer needs is found by a dry run and removed by the same command; all else stays."""

import datetime as dt
import io
import os

import pytest
from django.contrib.sessions.models import Session
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.utils import timezone

from citeboard.core import storage
from citeboard.core.models import Limit
from citeboard.ops.pruning import list_referenced_files
from scoring.models import Breakdown, Evaluation, Score
from tasks.models import Notification
from tasks.models.notifications import NotificationKind
from tasks.submissions.uploads import MIN_FILE_AGE_FOR_REMOVAL
from tests.api.sending import score
from tests.factories import (
    make_gold,
    make_job,
    make_phase,
    make_submission,
    make_user,
    run_bytes,
)

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
PAGES = ("", "changes/", "differences/", "board.json")
OTHER = (
    ("D05-0001", "3", ["4"], "Aim_Citation"),
    ("D05-0002", "7", ["2"], "Results_Citation"),
)


@pytest.fixture(autouse=True)
def own_storage(settings, tmp_path):
    """No files of other tests."""
    default = {**settings.STORAGES["default"]}
    default["OPTIONS"] = {**default["OPTIONS"], "location": tmp_path}
    settings.STORAGES = {**settings.STORAGES, "default": default}


@pytest.fixture
def run():
    run = make_submission(phase=make_phase(), content=run_bytes())
    score(run)
    return run


def pruned(*options: str) -> dict[str, int]:
    out = io.StringIO()
    call_command("prune", *options, stdout=out)
    words = [
        line.split(" would be removed")[0].split(" removed")[0]
        for line in out.getvalue().splitlines()
    ]
    return {
        what: int(count)
        for count, what in (line.strip().split(" ", 1) for line in words)
    }


def scored_against_newer_gold(run) -> Evaluation:
    """The older evaluation, which is superseded then."""
    from tasks.jobs.leases import queue_missing_scorings

    older = Evaluation.objects.get(submission=run)
    make_gold(phase=run.phase, citances=OTHER, reason="A fix.")
    queue_missing_scorings(run.phase)
    score(run)
    assert Evaluation.objects.filter(submission=run).count() == 2
    return older


def old_file(name: str) -> str:
    kept = storage.run_file_storage.save(name, ContentFile(b"a run"))
    before = (
        timezone.now() - MIN_FILE_AGE_FOR_REMOVAL - dt.timedelta(minutes=1)
    ).timestamp()
    os.utime(default_storage.path(f"runs/{kept}"), (before, before))
    return kept


def test_a_site_of_which_all_is_needed_keeps_all(run):
    names = {file.name for file in list_referenced_files()}
    assert set(pruned().values()) == {0}
    assert all(default_storage.exists(name) for name in names)
    assert Breakdown.objects.exists()


def test_a_dry_run_says_what_goes_and_the_command_does_what_it_said(run):
    older = scored_against_newer_gold(run)
    Session.objects.create(
        session_key="old", expire_date=timezone.now() - dt.timedelta(days=1)
    )
    Session.objects.create(
        session_key="new", expire_date=timezone.now() + dt.timedelta(days=1)
    )
    Limit.objects.create(key="old", value="1", expires_at=1)
    make_job("mail", state="done")
    old_file("3f/3fab/0123abcd/run.jsonl")
    breakdowns = older.breakdowns.count()
    said = pruned("--dry-run")
    assert said == {
        "expired sessions": 1,
        "expired counts": 1,
        "orphaned jobs": 1,
        "superseded breakdowns": breakdowns,
        "superseded comparisons": 0,
        "superseded statistics": 1,
        "orphaned files": 1,
    }
    assert breakdowns > 0
    assert default_storage.exists(f"statistics/{older.statistics}")
    assert pruned() == said
    assert set(pruned().values()) == {0}
    assert [session.session_key for session in Session.objects.all()] == ["new"]
    assert not default_storage.exists(f"statistics/{older.statistics}")


def test_rows_go_by_age_only_where_that_is_asked_for_and_never_what_still_waits(run):
    old = timezone.now() - dt.timedelta(days=90)
    person = make_user()
    for event, age, state in (
        ("old", 90, "done"),
        ("waits", 90, "queued"),
        ("young", 3, "done"),
    ):
        made = timezone.now() - dt.timedelta(days=age)
        facts = {"user": person, "kind": "scored", "event": event, "created_at": made}
        Notification.objects.create(job=make_job("mail", state=state), **facts)
    Notification.objects.create(
        user=person, kind=NotificationKind.CONFIRM, event="to confirm", created_at=old
    )
    before = Notification.objects.count()
    assert "notifications older than 60 days" not in pruned()
    assert Notification.objects.count() == before
    said = pruned("--older-than", "notifications=60", "deliveries=365")
    assert (
        said["notifications older than 60 days"],
        said["deliveries older than 365 days"],
    ) == (1, 0)
    assert not Notification.objects.filter(event="old").exists()
    assert Notification.objects.count() == before - 1


@pytest.mark.parametrize(
    "asked", ["runs=90", "notifications=29", "notifications", "notifications=soon"]
)
def test_what_may_go_by_age_is_named_where_something_else_is_asked_for(asked):
    with pytest.raises(
        CommandError,
        match="one of notifications, deliveries, then = and at least 30 days",
    ):
        call_command("prune", "--older-than", asked)


def test_scores_against_older_gold_stay_and_so_does_all_of_the_newest(run):
    older = scored_against_newer_gold(run)
    newer = Evaluation.objects.exclude(pk=older.pk).get()
    before = list(Score.objects.order_by("pk").values_list("pk", "value"))
    pruned()
    assert list(Score.objects.order_by("pk").values_list("pk", "value")) == before
    assert newer.breakdowns.exists()
    assert default_storage.exists(f"statistics/{newer.statistics}")


def test_boards_of_older_gold_and_the_changes_are_shown_without_what_was_pruned(
    run, admin_client
):
    older = scored_against_newer_gold(run)
    pruned()
    phase = run.phase
    board = f"/seasons/{phase.task.season.slug}/{phase.task.slug}/{phase.slug}/"
    for address in (
        *(f"{board}{page}?gold={older.gold.number}" for page in PAGES),
        f"/submissions/{run.pk}/",
    ):
        assert admin_client.get(address).status_code == 200, address


def test_a_file_that_has_just_come_is_nobodys_orphan(run):
    storage.run_file_storage.save("3f/3fab/0123abcd/run.jsonl", ContentFile(b"a run"))
    assert pruned()["orphaned files"] == 0
