"""Runs that were sent after a backup are listed, saved, and sent again to the restored site."""

import datetime as dt
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from citeboard.core import storage
from citeboard.ops.backups import TABLE_DUMPS_FOLDER
from citeboard.ops.later_runs import find_runs_missing_in_backup
from tasks.models import Phase, Submission, TeamFigure
from tests.factories import make_phase, make_submission, make_team, run_bytes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def phase() -> Phase:
    return make_phase()


@pytest.fixture
def team(phase):
    return make_team(season=phase.task.season, name="Fulmar", slug="fulmar")


@pytest.fixture
def backup(phase, team, tmp_path) -> Path:
    """A backup with one run, whose system has a tab and a line end of COPY in its description."""
    make_submission(phase=phase, team=team, system="Before", description="a\tb\n\nc\\d")
    folder = tmp_path / "backup"
    call_command("backup", str(folder), verbosity=0)
    return folder


def send_later(phase, team, **fields) -> Submission:
    content = run_bytes(sentences=("2",))
    return make_submission(
        phase=phase, team=team, system="After", content=content, **fields
    )


def saved(backup: Path) -> Path:
    folder = backup.parent / "saved"
    call_command("later_runs", str(backup), "--save", str(folder))
    return folder


def lines_of(folder: Path) -> list[dict]:
    lines = (folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def forget(run: Submission) -> None:
    """Delete the run, as restoring an earlier backup does."""
    run.jobs.all().delete()
    TeamFigure.objects.filter(submission=run).delete()
    run.delete()


class TestListing:
    def test_names_the_runs_that_the_backup_lacks(self, phase, team, backup, capsys):
        later = send_later(phase, team)
        assert find_runs_missing_in_backup(backup) == [later]
        call_command("later_runs", str(backup))
        line, count = capsys.readouterr().out.splitlines()
        assert line.endswith(f"{phase.slug} Fulmar: After, run.jsonl")
        assert count == "1 run came after the backup"

    def test_finds_none_where_none_came(self, backup):
        assert find_runs_missing_in_backup(backup) == []

    def test_leaves_out_runs_that_their_team_took_back(self, phase, team, backup):
        send_later(phase, team, status=Submission.Status.WITHDRAWN)
        assert find_runs_missing_in_backup(backup) == []

    def test_lists_a_run_whose_number_in_the_backup_is_that_of_another_file(
        self, phase, team, backup
    ):
        """The site was restored from a still older backup since."""
        Submission.objects.update(sha256="0" * 64)
        assert [run.system for run in find_runs_missing_in_backup(backup)] == ["Before"]

    def test_refuses_a_folder_that_is_no_backup(self, tmp_path):
        with pytest.raises(
            CommandError, match=r"is no backup: it has no manifest\.json"
        ):
            call_command("later_runs", str(tmp_path))

    def test_refuses_a_backup_without_runs(self, backup):
        for path in [
            *(backup / TABLE_DUMPS_FOLDER).glob("*"),
            *backup.glob("*.sqlite3"),
        ]:
            path.unlink()
        with pytest.raises(CommandError, match="the runs of the backup cannot be read"):
            call_command("later_runs", str(backup))


class TestSaving:
    def test_writes_what_sending_again_needs_and_the_file(self, phase, team, backup):
        later = send_later(phase, team)
        folder = saved(backup)
        [line] = lines_of(folder)
        assert (line["team"], line["system"]) == ("fulmar", "After")
        assert line["submitted_by"] == later.submitted_by.email
        assert (folder / line["path"]).read_bytes() == run_bytes(sentences=("2",))

    def test_keeps_the_folder_from_other_users(self, backup):
        assert saved(backup).stat().st_mode & 0o077 == 0

    def test_refuses_a_folder_that_is_there(self, backup):
        saved(backup)
        with pytest.raises(CommandError, match="File exists"):
            saved(backup)

    def test_names_a_run_whose_file_is_lost_and_saves_the_others(
        self, phase, team, backup
    ):
        lost = send_later(phase, team)
        make_submission(phase=phase, team=team, system="Whole")
        storage.run_file_storage.delete(lost.file)
        with pytest.raises(CommandError, match="fulmar: After: its file is missing"):
            saved(backup)
        assert [line["system"] for line in lines_of(backup.parent / "saved")] == [
            "Whole"
        ]


class TestSendingAgain:
    def test_queues_the_run_as_it_was_sent_though_the_phase_is_over(
        self, phase, team, backup, capsys
    ):
        at = timezone.now() - dt.timedelta(hours=3)
        later = send_later(phase, team, submitted_at=at, idempotency_key="key")
        TeamFigure.objects.create(
            submission=later, phase=phase, name="seconds", value=2.5
        )
        folder = saved(backup)
        forget(later)
        Phase.objects.update(closes=at, runs_in_total=1)
        call_command("send_again", str(folder))
        assert capsys.readouterr().out.endswith(
            "1 run sent again; no runs there already\n"
        )
        run = Submission.objects.get(system="After")
        assert (run.submitted_at, run.idempotency_key) == (at, "key")
        assert (run.team, run.submitted_by) == (team, later.submitted_by)
        assert (run.sha256, run.is_late) == (later.sha256, False)
        assert list(run.team_figures.values_list("name", "value")) == [("seconds", 2.5)]
        assert run.jobs.count() == len(phase.task.rules)

    def test_leaves_out_what_is_there_already(self, phase, team, backup, capsys):
        later = send_later(phase, team)
        folder = saved(backup)
        call_command("send_again", str(folder))
        assert capsys.readouterr().out.endswith(
            "no runs sent again; 1 run there already\n"
        )
        assert list(Submission.objects.filter(system="After")) == [later]

    @pytest.mark.parametrize("what", ["team", "phase"])
    def test_names_a_run_whose_team_or_phase_is_not_here(
        self, phase, team, backup, what
    ):
        send_later(phase, team)
        folder = saved(backup)
        {"team": team, "phase": phase}[what].__class__.objects.update(slug="other")
        with pytest.raises(CommandError, match=f"this site has no such {what}"):
            call_command("send_again", str(folder))

    def test_refuses_a_file_that_was_changed(self, phase, team, backup):
        send_later(phase, team)
        folder = saved(backup)
        (folder / lines_of(folder)[0]["path"]).write_bytes(b"other")
        with pytest.raises(CommandError, match="is not the file that was saved"):
            call_command("send_again", str(folder))

    @pytest.mark.parametrize("line", ["{", '{"season": "s"}', "[]"])
    def test_refuses_a_list_that_was_damaged(self, backup, line):
        folder = saved(backup)
        (folder / "runs.jsonl").write_text(f"{line}\n")
        with pytest.raises(CommandError, match=r"runs\.jsonl, line 1"):
            call_command("send_again", str(folder))
