"""Runs that teams declare to be seeds of one system."""

import datetime as dt

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from tasks.models import Phase, Submission, Task
from tasks.submissions import bundles
from tasks.submissions.looks import refuse_lookalike_system_name
from tasks.submissions.run_acts import ActionImpossibleInRunState, PhaseAlreadyClosed
from tasks.submissions.run_card import RunDetails
from tasks.submissions.seeds import declare_run_as_seed
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return boards.make_phase()


@pytest.fixture
def run(phase):
    return boards.make_run(phase, boards.make_team(phase, "Owl"))


def declare(run: Submission, name: str) -> Submission:
    run = Submission.objects.select_related("phase__task__season", "team").get(
        pk=run.pk
    )
    return declare_run_as_seed(run, run.team.memberships.get().user, seeds_of=name)


def change(phase: Phase, **fields) -> None:
    Phase.objects.filter(pk=phase.pk).update(**fields)


def test_a_declared_seed_renews_the_board_and_leaves_an_entry(run, phase):
    before = Phase.objects.get(pk=phase.pk).version
    assert declare(run, " Owl\t7 ").seeds_of == "Owl 7"
    assert Phase.objects.get(pk=phase.pk).version > before
    [entry] = find_history_of_place(phase.task.season)
    assert entry.action == "run-declared a seed"
    assert declare(run, "").seeds_of == ""


@pytest.mark.parametrize(
    ("setting", "name", "is_refused"),
    [
        ("allowed", "", False),
        ("allowed", "Owl", False),
        ("needed", "", True),
        ("needed", "Owl", False),
        ("refused", "", False),
        ("refused", "Owl", True),
    ],
)
def test_a_task_allows_needs_or_refuses_seeds(setting, name, is_refused):
    phase = factories.make_phase(task=factories.make_task(seeds=setting))
    team = factories.make_team(season=phase.task.season)
    sent = {"phase": phase, "team": team, "user": team.memberships.get().user}
    sent |= {"upload": factories.make_upload(), "system": "A", "seeds_of": name}
    if not is_refused:
        assert factories.submit_run(**sent).seeds_of == name
        return
    with pytest.raises(ValidationError) as refused:
        factories.submit_run(**sent)
    assert set(refused.value.message_dict) == {"seeds_of"}
    assert not Submission.objects.exists()


@pytest.mark.both_databases
def test_a_task_that_refuses_seeds_while_a_file_for_several_tasks_is_read_gets_none(
    monkeypatch,
):
    phase = factories.make_phase()
    other = factories.make_phase(task=factories.make_task(season=phase.task.season))
    team = factories.make_team(season=phase.task.season)
    lock = bundles.lock_approved_entry

    def setting_changed(entered, by):
        Task.objects.filter(pk=other.task_id).update(seeds="refused")
        lock(entered, by)

    monkeypatch.setattr(bundles, "lock_approved_entry", setting_changed)
    details = RunDetails(
        system="A", description="", kind=Submission.Kind.PRIMARY, seeds_of="Owl"
    )
    sent = {"season": phase.task.season, "team": team, "details": details}
    with pytest.raises(ValidationError) as refused:
        bundles.submit_bundle(**sent, user=None, upload=factories.make_upload())
    assert set(refused.value.message_dict) == {"seeds_of"}
    assert not Submission.objects.exists()


def test_a_phase_that_scores_by_the_ladder_takes_no_seeds(run, phase):
    change(phase, ladder=True)
    with pytest.raises(ValidationError, match="Ladder"):
        declare(run, "Owl")


def test_seeds_are_declared_only_while_the_phase_is_open_and_its_board_moves(
    run, phase
):
    now = timezone.now()
    change(phase, frozen_from=now - dt.timedelta(hours=1))
    with pytest.raises(ActionImpossibleInRunState, match="frozen"):
        declare(run, "Owl")
    change(phase, frozen_from=None, closes=now)
    with pytest.raises(PhaseAlreadyClosed):
        declare(run, "Owl")


def test_a_name_of_a_system_is_short_and_a_withdrawn_run_has_none(run):
    with pytest.raises(ValidationError, match="81 characters"):
        declare(run, 81 * "x")
    Submission.objects.filter(pk=run.pk).update(status="withdrawn")
    with pytest.raises(ActionImpossibleInRunState, match="scored"):
        declare(run, "Owl")


def test_the_page_of_a_run_takes_the_declaration(client, run, phase):
    client.force_login(run.team.memberships.get().user)
    page = client.get(reverse("submission", args=[run.pk])).content.decode()
    assert "Declare this run a seed of a system" in page
    client.post(reverse("submission-seed", args=[run.pk]), {"seeds_of": "Owl"})
    run.refresh_from_db()
    assert run.seeds_of == "Owl"
    phase.task.seeds = "needed"
    phase.task.save()
    client.post(reverse("submission-seed", args=[run.pk]), {"seeds_of": ""})
    run.refresh_from_db()
    assert run.seeds_of == "Owl"


def test_a_name_that_looks_like_the_system_of_other_seeds_is_refused(run, phase):
    declare(run, "Owl")
    other = boards.make_run(phase, boards.make_team(phase, "Cat"))
    with pytest.raises(ValidationError, match="in other letters"):
        declare(other, "\u041ewl")
    with pytest.raises(ValidationError, match="in other letters"):
        refuse_lookalike_system_name(phase.task.season, other.team, "\u041ewl")
