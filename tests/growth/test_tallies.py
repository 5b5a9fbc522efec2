"""How many runs and jobs there are is right whatever happened to them, and told without counting them."""

import datetime as dt

import pytest
from django.db import connection, transaction
from django.db.models import F, Q, Sum
from django.utils import timezone

from citeboard.core import api
from citeboard.ops.doctor import run_health_checks
from citeboard.teams.models import Team
from tasks.jobs import tallies
from tasks.jobs.sweeper import sweep_jobs
from tasks.models import Job, Submission, Tallied
from tests.factories import make_phase, make_season, make_task
from tests.growth.looks import Look, look
from tests.growth.seasons import doors, make_runs, make_waiting
from tests.growth.test_sizes import grows
from tests.mass import mass

pytestmark = [pytest.mark.django_db, pytest.mark.mass, pytest.mark.both_databases]

#: Of the same days and teams, each with more than a page of runs.
FEW, MANY = 2_000, mass(6_000, 100_000)
PAGES = (
    "API, runs", "API, runs of a phase", "API, runs of a team", "API, runs, by a member", "how it goes",
    "runs, organiser's list", "operate", "metrics", "admin, core/auditentry", "admin, tasks/registration",
    "admin, teams/team", "admin, teams/user", "admin, tasks/phase", "admin, tasks/submission",
    "admin, tasks/job", "admin, scoring/evaluation", "organiser's first page",
)  # fmt: skip
#: Of which a line costs the same.
CSV = "CSV of runs"


def are_right() -> bool:
    """Nothing is lacking, and nothing has become less than none."""
    sums = Tallied.objects.values(*tallies.TALLIED_KEY_COLUMNS).annotate(
        n=Sum("number")
    )
    return tallies.correct_tallied_counts() == 0 and not sums.filter(n__lt=0).exists()


@pytest.fixture
def phase(db):
    phase = make_phase(task=make_task(season=make_season(slug="counted")))
    make_waiting(phase, 40, 4)
    return phase


CHANGES = {
    "a run": lambda: Submission.objects.first().save(),
    "the state of one": lambda: Submission.objects.filter(
        pk=Submission.objects.first().pk
    ).update(status="scored"),
    "the states of all": lambda: Submission.objects.update(status="failed"),
    "their sizes": lambda: Submission.objects.update(size=7),
    "their days": lambda: Submission.objects.update(
        submitted_at=timezone.now() - dt.timedelta(days=3)
    ),
    "several at once": lambda: Submission.objects.bulk_update(
        [
            Submission(pk=run.pk, status="withdrawn", size=3)
            for run in Submission.objects.all()[:9]
        ],
        ["status", "size"],
    ),
    "jobs": lambda: Job.objects.update(state="done", queue="models"),
    "what goes": lambda: Job.objects.all().delete(),
    "runs that go": lambda: Submission.objects.filter(number__gt=3).delete(),
    "without Django": lambda: connection.cursor().execute(
        "UPDATE tasks_submission SET status = 'scoring'"
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("is_swept", [True, False])
def test_they_are_right_after_a_change_of(change, is_swept, phase):
    if is_swept:
        sweep_jobs()
    change()
    assert are_right()


def test_a_change_of_nothing_that_is_counted_adds_no_row(phase):
    before = Tallied.objects.count()
    Submission.objects.update(reason="so", system="other")
    for run in Submission.objects.all():
        run.save()
    assert Tallied.objects.count() == before


def test_what_is_undone_or_broken_off_counts_for_nothing(phase):
    with transaction.atomic():
        Submission.objects.update(status="failed")
        Submission.objects.filter(number=0).delete()
        transaction.set_rollback(True)
    assert are_right()


def test_runs_of_a_team_that_was_merged_count_for_the_other_one(phase):
    first, second, *_ = Team.objects.filter(submissions__isnull=False).distinct()
    Submission.objects.filter(team=first).update(team=second, number=F("number") + 1000)
    assert tallies.sum_tallied_run_counts(Q(team=first.pk)) == 0
    assert tallies.sum_tallied_run_counts(Q(team=second.pk)) == 20


def test_a_sweep_leaves_one_row_of_what_is_alike_and_none_of_what_there_is_not(phase):
    Submission.objects.update(status="failed")
    summed = Tallied.objects.values_list(*tallies.TALLIED_KEY_COLUMNS).annotate(
        Sum("number")
    )
    sums = {row[:-1]: row[-1] for row in summed}
    tallies.merge_tallied_rows()
    rows = list(Tallied.objects.values_list(*tallies.TALLIED_KEY_COLUMNS, "number"))
    assert {row[:-1]: row[-1] for row in rows} == {
        key: number for key, number in sums.items() if number
    }
    assert len(rows) == len({row[:-1] for row in rows})


def test_the_doctor_finds_what_was_written_behind_the_triggers_and_mends_it(phase):
    Tallied.objects.filter(what="run").update(number=5)
    [finding] = run_health_checks(["counts"])
    assert finding.state == "odd"
    assert [each.state for each in run_health_checks(["counts"])] == ["good"]
    assert tallies.sum_tallied_run_counts(Q()) == Submission.objects.count() == 40


def test_triggers_that_a_changed_table_has_lost_come_back_and_what_was_missed_is_counted(
    phase,
):
    on = " ON tasks_submission" if connection.vendor == "postgresql" else ""
    connection.cursor().execute(f"DROP TRIGGER tallied_tasks_submission_delete{on}")
    Submission.objects.filter(number=1).delete()
    assert tallies.sum_tallied_run_counts(Q()) == 40
    tallies.create_counting_triggers(connection)
    assert tallies.sum_tallied_run_counts(Q()) == 36
    Submission.objects.filter(number=2).delete()
    assert tallies.sum_tallied_run_counts(Q()) == 32
    assert are_right()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_pages_of_runs_cost_the_same_however_many_there_are(monkeypatch):
    # The first request of a minute is counted in the database.
    monkeypatch.setattr(api, "RATE_WINDOW_SECONDS", 10**10)
    few, many = costs(FEW), costs(MANY)
    few[CSV] = Look(few[CSV].queries, few[CSV].rows * MANY // FEW)
    assert [
        (name, few[name], many[name]) for name in few if grows(few[name], many[name])
    ] == []


def costs(size):
    with transaction.atomic():
        pages = doors(make_runs(size))
        if connection.vendor == "postgresql":
            # PostgreSQL reads and joins whole tables of a few pages, and uses indexes of large ones.
            for way in ("seqscan", "hashjoin", "mergejoin"):
                connection.cursor().execute(f"SET LOCAL enable_{way} = off")
        found = {name: look(pages[name]) for name in (*PAGES, CSV)}
        transaction.set_rollback(True)
    if connection.vendor == "postgresql":
        # What is undone stays in tables and statistics, by which other tests would be answered in other ways.
        connection.cursor().execute("VACUUM ANALYZE")
    return found
