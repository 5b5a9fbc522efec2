"""One file for several tasks: a run in each whose format it carries, all of them or none."""

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.teams.models import Token
from tasks.gold.gold_files import load_gold
from tasks.models import Bundle, Job, Phase, Season, Submission, TeamFigure
from tests import factories
from tests.tasks.types.corpus import SENTENCES, answer_line

pytestmark = pytest.mark.django_db
TOPIC = "D01-0001"
LINE = answer_line(TOPIC, "D05-0001", "3", ["1"])
WRONG = {f"Task1__{TOPIC}.annv3.txt": "Citing Article: nothing else"}
WITH_FACETS = b'{"topic": "D01-0001", "citing": "D05-0001", "marker": "3", "sentences": ["1"], "facets": ["Method"]}'  # noqa: E501


@pytest.fixture
def season(tmp_path) -> Season:
    """Tasks 1A, 1B and 2, each with a phase that is open and three runs in it."""
    # The gold of the three tasks comes together, in a draft: later it would exceed the budget of the first.
    season = factories.make_season(is_public=False)
    for slug in ("1a", "1b", "2"):
        task = factories.make_task(
            season=season,
            slug=slug,
            title=f"Task {slug.upper()}",
            type=f"clsumm-{slug}",
        )
        phase = factories.make_phase(
            task=task, slug="open", title="Open", runs_in_total=3, with_gold=slug != "2"
        )
        if slug == "2":
            load_gold(
                task=task,
                split=phase.split,
                paths=[summaries(tmp_path)],
                reason="first release",
            )
    Season.objects.filter(pk=season.pk).update(is_public=True)
    season.refresh_from_db()
    return season


def summaries(folder):
    factories.write_corpus(folder / "corpus", topics=(TOPIC,))
    (folder / "corpus" / TOPIC / "summary").mkdir()
    (folder / "corpus" / TOPIC / "summary" / f"{TOPIC}.human.txt").write_text(
        "Words are counted well.\n"
    )
    return folder / "corpus"


@pytest.fixture
def team(season):
    return factories.make_team(season=season, slug="the-team")


@pytest.fixture
def member(client, team):
    person = team.memberships.get().user
    client.force_login(person)
    return person


def archive(**changes) -> bytes:
    """The official zip; a member of None is left out."""
    members = {
        f"Task1/{TOPIC}.annv3.txt": LINE,
        f"Task2/{TOPIC}.system.txt": "\n".join(SENTENCES),
    } | {name.replace("__", "/"): content for name, content in changes.items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as kept:
        for name, content in members.items():
            if content is not None:
                # The same bytes whenever it is made.
                kept.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def post(
    client,
    season,
    content: bytes | None = None,
    *,
    name="runs.zip",
    do="submit",
    **fields,
):
    file = SimpleUploadedFile(name, archive() if content is None else content)
    data = {"run": file, "system": "A system", "do": do} | fields
    return client.post(reverse("season-upload", args=[season.slug]), data)


def send(
    season, team, content: bytes | None = None, *, name="runs.zip", key="", **fields
):
    _, secret = Token.objects.create_token(
        user=team.memberships.get().user, name="test"
    )
    headers = {"Authorization": f"Token {secret}"} | (
        {"Idempotency-Key": key} if key else {}
    )
    file = SimpleUploadedFile(name, archive() if content is None else content)
    return Client(headers=headers).post(
        f"/api/v1/seasons/{season.slug}/submissions/",
        {"run": file, "system": "A system"} | fields,
    )


def entered() -> list[str]:
    runs = Submission.objects.select_related("phase__task").order_by("phase__task_id")
    return [run.phase.task.slug for run in runs]


class TestTaken:
    def test_metadata_of_the_file_gives_each_run_its_costs(self, season, team):
        metadata = SimpleUploadedFile(
            "meta.yaml", b"resources:\n  runtime:\n    wallclock: 12 s\n"
        )
        assert send(season, team, metadata=metadata, memory_mib="5").status_code == 201
        found = TeamFigure.objects.order_by("submission", "name").values_list(
            "name", "value"
        )
        assert list(found) == [("memory_mib", 5.0), ("wall_seconds", 12.0)] * 3

    def test_where_runs_have_a_priority_that_of_a_file_comes_last(self, season, team):
        Phase.objects.update(counting="priority")
        for _ in range(2):
            assert send(season, team).status_code == 201
        found = Submission.objects.order_by("phase", "number").values_list(
            "number", "priority"
        )
        assert list(found) == [(1, 1), (2, 2)] * 3

    def test_a_figure_that_none_of_the_tasks_takes_is_named(self, season, team):
        answer = send(season, team, mauve="50")
        assert answer.json()["errors"] == {
            "mauve": ["none of these tasks takes this figure"]
        }
        assert not Submission.objects.exists()

    def test_the_official_zip_enters_all_three_tasks_with_one_run_each(
        self, season, team
    ):
        answer = send(season, team)
        assert answer.status_code == 201, answer.content
        told = answer.json()
        assert [
            (submission["task"], submission["number"], submission["status"])
            for submission in told["submissions"]
        ] == [
            ("1a", 1, "queued"),
            ("1b", 1, "queued"),
            ("2", 1, "queued"),
        ]
        bundle = Bundle.objects.get()
        assert told["id"] == bundle.pk
        assert (
            told["page"]
            == answer["Location"]
            == f"http://testserver/submissions/together/{bundle.pk}/"
        )
        assert set(Submission.objects.values_list("bundle", "sha256")) == {
            (bundle.pk, bundle.sha256)
        }
        assert Job.objects.filter(state="queued").count() == 3

    @pytest.mark.parametrize(
        ("changes", "tasks"),
        [
            ({f"Task2__{TOPIC}.system.txt": None}, ["1a", "1b"]),
            ({f"Task1__{TOPIC}.annv3.txt": None}, ["2"]),
        ],
    )
    def test_a_zip_with_one_folder_enters_its_tasks(self, season, team, changes, tasks):
        assert send(season, team, archive(**changes)).status_code == 201
        assert entered() == tasks

    @pytest.mark.parametrize(
        ("line", "tasks"),
        [
            (
                b'{"topic": "D01-0001", "citing": "D05-0001", "marker": "3", "sentences": ["1"]}',
                ["1a"],
            ),
            (WITH_FACETS, ["1a", "1b"]),
            (b'{"topic": "D01-0001", "summary": "Words are counted."}', ["2"]),
        ],
    )
    def test_json_lines_say_by_their_keys_what_they_answer(
        self, season, team, line, tasks
    ):
        assert send(season, team, line + b"\n", name="run.jsonl").status_code == 201
        assert entered() == tasks

    def test_tasks_can_be_named_and_others_left_out(self, season, team):
        assert send(season, team, tasks="2, 1a").status_code == 201
        assert entered() == ["1a", "2"]

    def test_a_task_that_accepts_no_runs_now_is_passed_over(self, season, team):
        Phase.objects.filter(task__slug="2").update(closes=timezone.now())
        assert send(season, team).status_code == 201
        assert entered() == ["1a", "1b"]

    def test_a_run_that_was_sent_together_is_scored_from_the_file_that_was_sent(
        self, season, team
    ):
        from scoring.worker.score import score

        send(season, team)
        for job in Job.objects.all():
            score(job.pk)
        assert set(Submission.objects.values_list("status", "reason")) == {
            ("scored", "")
        }


class TestRefused:
    @pytest.mark.both_databases
    def test_one_part_that_is_wrong_keeps_all_from_being_taken_and_each_says_what_it_is(
        self, season, team
    ):
        answer = send(season, team, archive(**WRONG))
        told = answer.json()
        assert answer.status_code == 422
        parts = {each["task"]: each for each in told["parts"]}
        assert set(parts) == {"1a", "2"}
        assert parts["2"]["detail"] is None
        assert "problem" in parts["1a"]["detail"]
        assert {problem["file"] for problem in parts["1a"]["problems"]} == {
            f"runs.zip!Task1/{TOPIC}.annv3.txt"
        }
        assert told["problems"] == parts["1a"]["problems"]
        assert (
            told["detail"] == "Nothing was taken, since the part for Task 1A cannot be."
        )
        assert not Submission.objects.exists()
        assert not Bundle.objects.exists()

    @pytest.mark.both_databases
    def test_a_quota_that_is_used_up_in_one_task_keeps_all_from_being_taken(
        self, season, team
    ):
        Phase.objects.filter(task__slug="2").update(runs_in_total=0)
        answer = send(season, team)
        assert answer.status_code == 429
        assert "Task 2: no run is left in this phase." in answer.json()["detail"]
        assert answer.json()["left"] == 0
        assert not Submission.objects.exists()
        assert send(season, team, tasks="1a,1b").status_code == 201

    def test_each_task_counts_one_try(self, season, team):
        for number in range(3):
            assert send(season, team, archive(note=str(number))).status_code == 201
        assert send(season, team, archive(note="4")).status_code == 429
        assert Submission.objects.count() == 9

    def test_a_file_that_no_task_reads_is_refused_with_the_tasks_that_there_are(
        self, season, team
    ):
        answer = send(season, team, b"Dear organisers\n", name="letter.txt")
        assert answer.status_code == 422
        assert "the format of none of the tasks" in answer.json()["detail"].replace(
            "The file has ", ""
        )
        assert "Task 1A, Task 1B, Task 2" in answer.json()["detail"]

    def test_an_archive_that_cannot_be_opened_is_refused_as_anywhere(
        self, season, team
    ):
        answer = send(season, team, b"PK\x03\x04 no archive", name="runs.zip")
        assert answer.status_code == 422
        assert answer.json()["problems"]

    def test_a_task_that_is_named_must_be_there_and_open(self, season, team):
        answer = send(season, team, tasks="3")
        assert answer.status_code == 400
        assert answer.json()["errors"]["tasks"] == [
            "there is no task “3”; there are 1a, 1b, 2"
        ]
        Phase.objects.filter(task__slug="2").update(closes=timezone.now())
        assert send(season, team, tasks="2").status_code == 409
        assert not Submission.objects.exists()

    def test_of_several_open_phases_one_is_named(self, season, team):
        for phase in list(Phase.objects.filter(task__slug__in=("1a", "1b"))):
            factories.make_phase(task=phase.task, slug="late", title="Late")
        answer = send(season, team)
        assert answer.status_code == 400
        assert answer.json()["errors"]["phase"] == [
            "Task 1A has several open phases; name one of open, late"
        ]
        assert send(season, team, phase="late").status_code == 201
        assert entered() == ["1a", "1b"]

    def test_a_team_that_takes_no_part_is_refused_before_the_file_is_read(
        self, season, team
    ):
        team.registrations.update(is_approved=False)
        assert send(season, team, b"whatever", name="letter.txt").status_code == 403


class TestSentAgain:
    @pytest.mark.both_databases
    def test_the_same_key_and_file_answer_with_the_runs_of_the_first_time(
        self, season, team
    ):
        first = send(season, team, key="one").json()
        Phase.objects.update(closes=timezone.now())
        again = send(season, team, key="one")
        assert again.status_code == 201
        assert again.json() == first
        assert Submission.objects.count() == 3

    @pytest.mark.both_databases
    def test_the_same_key_with_another_file_is_refused(self, season, team):
        send(season, team, key="one")
        answer = send(season, team, archive(note="x"), key="one")
        assert answer.status_code == 422
        assert "key came with another file" in answer.json()["detail"]

    def test_the_key_of_a_bundle_can_be_used_in_a_phase(self, season, team):
        send(season, team, key="one")
        assert set(Submission.objects.values_list("idempotency_key", flat=True)) == {""}

    def test_the_same_file_without_a_key_is_taken_with_a_warning(self, season, team):
        send(season, team)
        told = send(season, team).json()["submissions"]
        for run in told:
            assert "the same file was sent before, as run 1" in [
                warning["message"] for warning in run["warnings"]
            ]


class TestPages:
    def test_a_file_sent_on_the_page_leads_to_the_page_that_shows_its_runs_together(
        self, season, client, member
    ):
        answer = post(client, season)
        bundle = Bundle.objects.get()
        assert (answer.status_code, answer["Location"]) == (
            302,
            f"/submissions/together/{bundle.pk}/",
        )
        page = client.get(answer["Location"]).content.decode()
        for run in Submission.objects.all():
            assert f'<a href="/submissions/{run.pk}/">A system, run 1</a>' in page
        assert all(f"Task {slug}" in page for slug in ("1A", "1B", "2"))
        run_page = client.get(f"/submissions/{run.pk}/").content.decode()
        assert f'<a href="/submissions/together/{bundle.pk}/">' in run_page

    def test_what_is_wrong_is_told_task_by_task_and_nothing_is_kept(
        self, season, client, member
    ):
        answer = post(
            client,
            season,
            archive(**{f"Task1__{TOPIC}.annv3.txt": "Citing Article: nothing else"}),
        )
        page = answer.content.decode()
        assert answer.status_code == 422
        assert "all parts of a file are accepted, or none" in page
        assert page.count("The part for this task cannot be scored.") == 1
        assert "can be scored" in page
        assert not Submission.objects.exists()

    def test_a_check_counts_nothing(self, season, client, member):
        answer = post(client, season, do="check", system="")
        assert answer.status_code == 200
        assert "All of this can be scored." in answer.content.decode()
        assert not Submission.objects.exists()

    def test_costs_of_the_file_stand_with_each_of_its_runs_and_may_be_required(
        self, season, client, member
    ):
        Phase.objects.update(card_required=["costs"])
        checked = post(client, season, do="check").content.decode()
        assert (
            checked.count("the run card lacks Costs, at least one figure (costs)") == 3
        )
        page = post(client, season)
        assert page.status_code == 422
        assert "This phase asks for it." in page.content.decode()
        assert not Submission.objects.exists()
        post(client, season, wall_seconds="12.5")
        assert entered() == ["1a", "1b", "2"]
        figures = TeamFigure.objects.values_list("name", "value")
        assert list(figures) == [("wall_seconds", 12.5)] * 3

    def test_tasks_can_be_checked_to_enter_these_alone(self, season, client, member):
        post(client, season, tasks=["2"])
        assert entered() == ["2"]

    def test_the_page_says_what_is_left_in_each_task(self, season, client, member):
        page = client.get(reverse("season-upload", args=[season.slug])).content.decode()
        assert page.count("3 runs left") == 3

    def test_a_season_without_an_open_phase_has_no_form(self, season, client, member):
        Phase.objects.update(closes=timezone.now())
        page = client.get(reverse("season-upload", args=[season.slug])).content.decode()
        assert "No task of this season accepts runs now." in page

    def test_a_bundle_of_another_team_is_not_there(self, season, client, member):
        other = factories.make_team(season=season)
        bundle = Bundle.objects.create(
            season=season, team=other, filename="x.zip", sha256="0" * 64
        )
        assert client.get(reverse("bundle", args=[bundle.pk])).status_code == 404


def test_no_task_may_be_called_as_the_page_is(tmp_path):
    from tasks.seasons.file.entries import RESERVED_TASK_SLUGS

    assert "submit" in RESERVED_TASK_SLUGS
