"""The demo command: what a program reads of it, and that it can be given again and again."""

import io
import json
import re
import shutil
import tarfile
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from django.core.management import call_command
from django.db import connection
from django.urls import reverse
from django.urls.converters import IntConverter
from django.utils import timezone

from citeboard.core import storage
from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.demo import prepare
from citeboard.demo.judged import publish_estimates
from citeboard.demo.prepare import EXAMPLES_FOLDER, demo_email_address
from citeboard.teams.models import Membership, Team, Token, User, compute_token_digest
from scoring.__main__ import main
from scoring.models import Sheet
from scoring.results.board.standings import compute_board
from scoring.worker.score import score
from scripts.demo.systems import write_demo, write_sample
from scripts.write_demo import BY_HAND, FILES, SAMPLE, WRITERS
from tasks.jobs.mails import send_due_mails
from tasks.models import (
    Job,
    Notification,
    Organiser,
    Phase,
    Registration,
    Season,
    Submission,
    Task,
)
from tasks.models.notifications import NotificationKind
from tasks.submissions.submit import (
    compute_remaining_quota,
    submit_dated_run,
    submit_run,
)
from tasks.submissions.uploads import UploadedRunFile
from tests import factories
from tests.access.table import ROUTES, expected
from tests.api.sending import content
from tests.demo.worlds import make_without_runs
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def kept_without_runs(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_without_runs, django_db_blocker)


@pytest.fixture
def without_runs(db, kept_without_runs) -> None:
    """The season is there; giving the command again prints what it printed at first."""
    kept_without_runs()


def demo() -> dict:
    out = io.StringIO()
    call_command("demo", "--json", stdout=out)
    return json.loads(out.getvalue())


def test_it_prints_what_a_program_needs_to_try_the_site(settings, root, without_runs):
    settings.BASE_URL = "https://board.example.org"
    printed = demo()
    assert list(printed) == ["base_url", "users", "token", "phases"]
    assert printed["base_url"] == "https://board.example.org"
    assert [user["role"] for user in printed["users"]] == [
        "organiser",
        "participant",
        "reader",
    ]
    phases = Phase.objects.filter(task__season__slug="demo").exclude(slug="pilot")
    assert sorted(phase["id"] for phase in printed["phases"]) == sorted(
        phase.pk for phase in phases
    )
    assert {
        (phase["season"], phase["task"], phase["task_type"])
        for phase in printed["phases"]
    } == {
        ("demo", "1a", "clsumm-1a"),
        ("demo", "1b", "clsumm-1b"),
        ("demo", "2", "clsumm-2"),
        ("demo", "citation-texts", "citation-text"),
        ("demo", "recommendation", "citation-recommendation"),
        ("demo", "resolution", "citation-resolution"),
        ("demo", "positional", "positional-citations"),
    }
    for phase in printed["phases"]:
        assert list(phase) == ["id", "season", "task", "task_type", "example_run"]
        assert Path(phase["example_run"]).is_absolute()
        assert Path(phase["example_run"]).is_file()


def test_its_users_can_sign_in_and_its_token_is_the_participant_s(client, without_runs):
    printed = demo()
    for given in printed["users"]:
        user = User.objects.get(email=given["email"])
        assert user.check_password(given["password"])
        address = EmailAddress.objects.get(user=user)
        assert (address.email, address.verified, address.primary) == (
            given["email"],
            True,
            True,
        )
        assert not user.is_staff
    token = Token.objects.get(
        digest=compute_token_digest(printed["token"]), revoked_at=None
    )
    assert token.user.email == "participant@demo.example"
    assert set(Organiser.objects.values_list("user__email", flat=True)) == {
        "organiser@demo.example"
    }
    led = Membership.objects.get(user=token.user)
    assert led.role == "lead"
    assert led.team.registrations.filter(season__slug="demo").exists()


def test_every_example_run_can_be_sent_by_the_participant(without_runs):
    team = None
    for given in demo()["phases"]:
        phase = Phase.objects.get(pk=given["id"])
        team = team or Team.objects.get(
            memberships__user__email="participant@demo.example"
        )
        path = Path(given["example_run"])
        sent = submit_run(
            phase=phase,
            team=team,
            user=None,
            upload=UploadedRunFile(path, path.name),
            system="Lead",
        )
        assert sent.warnings == []


def test_the_command_on_each_upload_page_checks_a_run_with_the_inputs(
    loaded, client, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    person = User.objects.get(email="participant@demo.example")
    client.force_login(person)
    now = timezone.now()
    phases = Phase.objects.filter(opens__lte=now, closes__gt=now)
    checked = set()
    for phase in phases.select_related("task__season"):
        place = (phase.task.season.slug, phase.task.slug, phase.slug)
        runs = phase.submissions.filter(kind="primary").exclude(file="")
        if (run := runs.first()) is None:
            continue
        Registration.objects.get_or_create(
            season=phase.task.season,
            team=person.memberships.get().team,
            defaults={"is_approved": True},
        )
        page = client.get(reverse("upload", args=place)).content.decode()
        words = re.search(r"<code>citeboard (check .*?)</code>", page)[1].split()
        inputs = client.get(reverse("inputs", args=place))
        assert f"citeboard data {'/'.join(place)} --out inputs.zip" in page
        Path("inputs.zip").write_bytes(b"".join(inputs.streaming_content))
        with storage.run_file_storage.open(run.file) as content:
            Path("run.jsonl").write_bytes(content.read())
        assert main(words) == 0, capsys.readouterr().err
        checked.add(phase.task_id)
    assert checked == {
        *Task.objects.filter(phases__in=phases).values_list("pk", flat=True)
    }


def test_every_board_has_baselines_and_runs_of_teams_a_past_phase_and_ratings_of_people(
    loaded,
):
    printed = demo()
    teams = {"1a": 6, "1b": 6, "resolution": 4, "positional": 4}
    for phase in Phase.objects.filter(task__season__slug="demo"):
        sent = phase.submissions.all()
        has_built_in = phase.slug == "practice" and phase.task.slug != "positional"
        assert sent.filter(kind="baseline").count() == (3 if has_built_in else 1)
        found = sent.filter(kind="primary").values("team").distinct().count()
        assert found == (
            teams.get(phase.task.slug, 5) if phase.slug == "practice" else 3
        )
        assert not sent.exclude(status="queued").exists()
        warnings = [
            problem for run in sent.filter(kind="primary") for problem in run.warnings
        ]
        assert all("copies the abstract" in problem["message"] for problem in warnings)
    pilot = Phase.objects.get(task__season__slug="demo", slug="pilot")
    assert pilot.closes < timezone.now()
    assert all(run.submitted_at < pilot.closes for run in pilot.submissions.all())
    assert pilot.pk not in [phase["id"] for phase in printed["phases"]]
    sheet = Sheet.objects.get(kind=Sheet.Kind.RATINGS)
    rated = sheet.scores.filter(criterion="consistency").order_by("-value")
    ranked = list(rated.values_list("submission__system", flat=True))
    assert set(ranked[:2]) == {"DraftCheck-2", "RAG-and-edit"}
    assert ranked[-1] == "copycat"
    assert not sheet.is_open
    team = Team.objects.get(memberships__user__email="participant@demo.example")
    for phase in Phase.objects.filter(task__season__slug="demo", slug="evaluation"):
        assert compute_remaining_quota(phase, team).left == 3


@pytest.mark.parametrize(
    ("task", "best", "worst"),
    [
        ("1a", "SpanPointer-large", "six-sided-die"),
    ],
)
def test_its_best_and_worst_runs_differ_by_far(loaded, task, best, worst):
    phase = Phase.objects.get(
        task__season__slug="demo", task__slug=task, slug="practice"
    )
    for run in phase.submissions.filter(kind="primary", system__in=(best, worst)):
        score(run.jobs.earliest("pk").pk)
    board = compute_board(phase, None, "corrected")
    first, last = (row.scores[board.ranking.name] for row in board.rows)
    assert [row.system for row in board.rows] == [best, worst]
    assert first.low > last.high


def test_six_systems_send_reports_to_two_tracks_and_three_judges_are_ranked(loaded):
    season = Season.objects.get(slug="reports")
    tasks = season.tasks.order_by("position").values_list("type", "options")
    assert [(name, options.get("track")) for name, options in tasks] == [
        ("cited-reports", "rag26"),
        ("cited-reports", "ragtime26"),
        ("judge-leaderboards", None),
    ]
    runs = Submission.objects.filter(phase__task__season=season)
    for task in ("rag", "ragtime"):
        systems = set(runs.filter(phase__task__slug=task).values_list("system"))
        assert len(systems) == 6
        run = runs.get(phase__task__slug=task, system="NuggetHunter")
        score(run.jobs.get(rules="corrected").pk)
        [row] = compute_board(run.phase, None, "corrected").rows
        assert row.scores["nuggets_vital"].value > 0.8
        assert row.scores["citation_f1"].value > 0.6
    judges = runs.filter(phase__task__slug="judges")
    for run in judges:
        score(run.jobs.earliest("pk").pk)
    board = compute_board(judges[0].phase, None, "corrected")
    assert [row.system for row in board.rows] == [
        "heron-judge",
        "magpie-judge",
        "word-counter",
    ]


def test_people_and_two_judges_compare_reports_two_by_two(loaded, client):
    phase = Phase.objects.get(task__season__slug="reports", task__slug="rag")
    phase.submissions.update(status="scored")
    numbers = client.get(address_in(phase, "battles-json")).json()
    assert numbers["ordered_by"] == "strengths"
    assert [row["system"] for row in numbers["board"]][-1] == "cut-and-paste"
    assert (numbers["battles"], numbers["topics"]) == (240, 10)
    names = {name for row in numbers["agreement"]["judges"] for name in row["judges"]}
    assert {"heron-judge", "magpie-judge"} < names
    assert not any("assessor" in name for name in names)


def test_every_page_of_the_season_of_reports_opens(loaded, client):
    """Pages that only other types have are not found, and no page fails."""
    season = Season.objects.get(slug="reports")
    client.force_login(User.objects.get(email="organiser@demo.example"))
    statuses = {}
    for phase in Phase.objects.filter(task__season=season).select_related("task"):
        run = phase.submissions.filter(kind="primary").first()
        score(run.jobs.earliest("pk").pk)
        pages = {name: address_in(phase, name) for name in PAGES}
        pages |= {name: reverse(name, args=[run.pk]) for name in OF_RUNS}
        for address in pages.values():
            if address not in statuses:
                response = client.get(address, follow=True)
                content(response)
                statuses[address] = response.status_code
                assert statuses[address] in (200, 404), address
        for name in (*OF_PHASES, *OF_TASKS, *OF_RUNS):
            assert statuses[pages[name]] == 200, name
    assert len(statuses) > 60
    assert list(statuses.values()).count(404) < len(statuses) / 4


def address_in(phase: Phase, name: str) -> str:
    slugs = {"season": "reports", "task": phase.task.slug, "phase": phase.slug}
    numbers = {"task": phase.task_id, "phase": phase.pk}
    parts = {
        part: numbers[part] if isinstance(converter, IntConverter) else slugs[part]
        for part, converter in ROUTES[name].pattern.converters.items()
    }
    return reverse(name, kwargs=parts)


#: The pages of a season, a task and a phase.
PAGES = [
    name
    for name, route in ROUTES.items()
    if route.pattern.converters
    and {"season", "task", "phase"}.issuperset(route.pattern.converters)
    and not name.startswith("api:")
    and expected(name, "GET", "organiser") == 200
]
#: Pages that every type has.
OF_TASKS = ("task", "try")
OF_PHASES = ("board", "differences", "over-time")
OF_RUNS = ("submission", "submission-instances")


def test_the_files_that_are_brought_are_those_that_the_script_writes(tmp_path):
    write_demo(tmp_path, BY_HAND)
    written = {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for path in tmp_path.rglob("*.*")
    }
    with tarfile.open(FILES) as archive:
        brought = {entry.name: archive.extractfile(entry).read() for entry in archive}
    assert brought == written
    assert len(brought) > 100


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_gold_and_runs_of_the_other_seasons_are_those_that_the_script_writes(
    tmp_path, name
):
    WRITERS[name](tmp_path)
    written = _contents(tmp_path)
    brought = _contents(EXAMPLES_FOLDER / name)
    assert brought.pop("season.toml")
    assert brought == written


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")
    }


def test_people_s_labels_are_those_that_the_script_writes(tmp_path):
    shutil.unpack_archive(FILES, tmp_path, **prepare.SAFE_TAR_EXTRACTION_OPTIONS)
    write_sample(tmp_path, tmp_path / "people.jsonl")
    written = (tmp_path / "people.jsonl").read_text()
    assert SAMPLE.read_text() == written
    labels = [json.loads(line)["label"] for line in written.splitlines()[1:]]
    assert len(labels) == 60
    assert set(labels) == {"yes", "no"}


def judged_phase() -> Phase:
    phases = Phase.objects.select_related("task__season")
    return phases.get(task__season__slug="demo", task__slug="positional")


def test_sixty_labels_of_people_correct_the_scores_of_the_judged_phase(loaded, client):
    phase = judged_phase()
    score_all(phase)
    assert publish_estimates()
    sheet = phase.estimate_sheets.get(of="claims")
    assert (sheet.judgements, sheet.is_open) == (60, False)
    place = ("demo", "positional", "practice")
    facts = client.get(reverse("estimates-json", args=place)).json()
    assert facts["of"] == "claims"
    assert facts["seed"], "the gold of this phase is public"
    lines = facts["estimates"]
    assert len({line["run"] for line in lines}) == 4
    estimated = [line for line in lines if line["estimated"] is not None]
    assert any(line["minus"] is None for line in estimated)
    assert any(line["minus"] is not None for line in estimated)
    assert all(line["low"] < line["estimated"] < line["high"] for line in estimated)
    assert (
        client.get(reverse("board", args=place), {"view": "estimates"}).status_code
        == 200
    )
    # A second call changes nothing.
    sheets = list(phase.estimate_sheets.all())
    assert publish_estimates()
    assert list(phase.estimate_sheets.all()) == sheets


def score_all(phase: Phase) -> None:
    for job in Job.objects.filter(submission__phase=phase).order_by("pk"):
        score(job.pk)


def test_a_second_judge_of_the_judged_phase_has_a_view_a_page_and_a_sheet(
    loaded, client
):
    phase = judged_phase()
    score_all(phase)
    assert publish_estimates()
    facts = client.get(f"/api/v1/phases/{phase.pk}/judges/").json()
    assert facts["first_judge"] == "demo-word-rule@1"
    [view] = facts["views"]
    assert view["judge"] == "demo-hasty-rule"
    assert view["systems"] == len(view["ranks"]) == 4
    assert 0 < view["kappa"] < 1
    assert any(line["rank"] != line["first_rank"] for line in view["ranks"])
    place = ("demo", "positional", "practice")
    for name, query in (("board", {"view": "judges"}), ("board-judge", {})):
        assert client.get(reverse(name, args=place), query).status_code == 200
    sheet = phase.estimate_sheets.get(of="disagreements")
    assert sheet.judgements == 20
    assert sheet.result["judges"] == ["demo-word-rule@1", "demo-hasty-rule"]
    assert sheet.result["differing"] >= 20


def test_scores_are_not_estimated_while_a_run_waits(loaded):
    assert not publish_estimates()
    assert not judged_phase().estimate_sheets.exists()


def test_a_judged_phase_without_the_demo_s_runs_stays_as_it_was(loaded):
    phase = judged_phase()
    phase.submissions.filter(system="please-cite").delete()
    assert publish_estimates()
    assert not phase.estimate_sheets.exists()


def test_a_demo_season_of_an_earlier_release_stays_as_it_was():
    season = factories.make_season(slug="demo")
    task = factories.make_task(season=season, slug="1a", type="clsumm-1a")
    phase = factories.make_phase(task=task, with_gold=False)
    printed = demo()
    assert [given["id"] for given in printed["phases"]] == [phase.pk]
    assert printed["phases"][0]["example_run"] == str(
        EXAMPLES_FOLDER / "runs" / "lead.jsonl"
    )
    assert not Submission.objects.exists()


def counts() -> list[int]:
    return [
        model.objects.count()
        for model in (User, Team, Membership, Season, Submission, Token)
    ]


@pytest.mark.slow
def test_once_more_it_changes_nothing_and_prints_the_same(monkeypatch):
    for name in ("submit_demo_runs", "publish_ratings"):
        monkeypatch.setattr(prepare, name, lambda *given: None)
    first, before = demo(), counts()
    phase = Phase.objects.get(task__slug="1a", slug="practice")
    Season.objects.filter(slug="demo").update(title="Renamed by its organiser")
    Phase.objects.filter(pk=phase.pk).update(runs_per_day=7)
    assert demo() == first
    assert counts() == before
    assert Season.objects.get(slug="demo").title == "Renamed by its organiser"
    assert Phase.objects.get(pk=phase.pk).runs_per_day == 7


def test_what_it_prints_works_again_after_someone_changed_it(without_runs):
    printed = demo()
    for user in User.objects.all():
        user.set_password("another one")
        user.save()
    EmailAddress.objects.update(verified=False)
    Token.objects.update(revoked_at="2026-01-01T00:00:00Z")
    assert demo() == printed
    test_its_users_can_sign_in_and_its_token_is_the_participant_s(None, None)


def test_another_secret_key_gives_other_passwords_and_ends_the_old_token(
    settings, without_runs
):
    first = demo()
    settings.SECRET_KEY = (
        "another secret key of more than fifty random characters, at least"
    )
    second = demo()
    assert first["token"] != second["token"]
    assert not {user["password"] for user in first["users"]} & {
        user["password"] for user in second["users"]
    }
    assert Token.objects.get(digest=compute_token_digest(first["token"])).revoked_at
    assert counts()[-1] == 2


def test_it_tells_people_how_to_sign_in(without_runs):
    out = io.StringIO()
    call_command("demo", stdout=out)
    printed = demo()
    for secret in (printed["token"], *(user["password"] for user in printed["users"])):
        assert secret in out.getvalue()


def test_nothing_is_mailed_to_its_invented_addresses(mailoutbox, without_runs):
    demo()
    send_due_mails()
    assert mailoutbox == []
    assert Notification.objects.filter(
        user__email=demo_email_address("organiser"), kind=NotificationKind.ROLE
    ).exists()


@pytest.mark.slow
def test_a_start_that_is_interrupted_is_finished_by_the_next_without_sending_a_run_twice(
    monkeypatch,
):
    taken, depth = [], len(connection.atomic_blocks)

    def ten_and_no_more(**given):
        # A run is read outside of every transaction: SQLite has one writer at a time.
        assert len(connection.atomic_blocks) == depth
        taken.append(given)
        return submit_dated_run(**given) if len(taken) <= 10 else 1 / 0

    monkeypatch.setattr(prepare, "submit_dated_run", ten_and_no_more)
    with pytest.raises(ZeroDivisionError):
        demo()
    ours = Submission.objects.filter(team__isnull=False)
    assert ours.count() == 10
    monkeypatch.undo()
    demo()
    demo_runs = (6 + 3 + 3) + (6 + 3) + 5 + 5 + 5 + 4 + 4
    reports = 6 + 6 + 3
    assert ours.count() == demo_runs + 5 + reports
    assert Sheet.objects.count() == 3
    before = counts()
    demo()
    assert counts() == before


def test_the_demo_waits_while_all_readers_are_busy(monkeypatch):
    monkeypatch.setattr(prepare, "SANDBOX_POLL_SECONDS", 0)
    tries = []

    def read(value: str) -> str:
        tries.append(value)
        if len(tries) < 3:
            raise SandboxPoolFull
        return value

    assert prepare.call_when_sandbox_process_free(read, value="run") == "run"
    monkeypatch.setattr(prepare, "MAX_SANDBOX_WAIT_SECONDS", -1)
    tries.clear()
    with pytest.raises(SandboxPoolFull):
        prepare.call_when_sandbox_process_free(read, value="run")


@pytest.mark.slow
def test_what_people_need_to_sign_in_comes_before_the_runs_and_the_rest_says_nothing():
    out = io.StringIO()
    call_command("demo", "--only", "begin", "--json", stdout=out)
    season = Submission.objects.filter(phase__task__season__slug="demo")
    assert not season.filter(team__isnull=False).exists()
    assert [user["role"] for user in json.loads(out.getvalue())["users"]] == list(
        prepare.DEMO_ACCOUNT_ROLES
    )
    first, before = out.getvalue(), counts()
    call_command("demo", "--only", "begin", "--json", stdout=out)
    assert out.getvalue() == first * 2
    assert counts() == before


def test_a_run_keeps_its_date_once_a_worker_may_have_scored_it(loaded):
    runs = Submission.objects.filter(phase__task__season__slug="demo")
    assert loaded
    assert dict(runs.filter(pk__in=loaded).values_list("pk", "submitted_at")) == loaded
    later = runs.exclude(pk__in=loaded)
    for phase in Phase.objects.filter(task__season__slug="demo"):
        days = list(
            later.filter(phase=phase)
            .order_by("pk")
            .values_list("submitted_at", flat=True)
        )
        assert days == sorted(set(days))
        assert not runs.filter(
            phase=phase, pk__in=loaded, submitted_at__gte=days[0]
        ).exists()
