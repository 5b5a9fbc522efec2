"""Gold that another phase keeps: no task gives it out, and no phase tells scores on it."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from scoring.results.board.open_gold import find_run_released_with_gold
from scoring.results.board.visibility import may_see_scores
from tasks.gold.early import EmbargoBreach
from tasks.models import Gold, Phase, Submission
from tasks.seasons.phase_acts import open_now
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def practice() -> Phase:
    """Open to everybody, and its gold with it."""
    return factories.make_phase(
        split="practice", shows_instances=True, gold_is_public=True
    )


def answer(client, phase: Phase, number: int = 1) -> int:
    task = phase.task
    response = client.get(
        reverse("gold", args=[task.season.slug, task.slug, phase.slug, number])
    )
    response.getvalue()  # read to its end, a file that is sent is closed
    return response.status_code


def same_gold_elsewhere(practice: Phase, **fields) -> Phase:
    """In another season's task of another type, which reads the same annotations."""
    task = factories.make_task(type="clsumm-1b", rules=["corrected"])
    phase = factories.make_phase(task=task, split="test", **fields)
    golds = (Gold.objects.current(each) for each in (phase, practice))
    assert len({gold.plain_digest for gold in golds}) == 1
    return phase


def test_gold_is_given_out_by_no_task_while_another_keeps_it(client, practice):
    assert answer(client, practice) == 200
    test = same_gold_elsewhere(practice)
    assert answer(client, practice) == 404
    Phase.objects.filter(pk=test.pk).update(closes=timezone.now() - HOUR)
    assert answer(client, practice) == 200
    Phase.objects.filter(pk=test.pk).update(gold_from=timezone.now() + HOUR)
    assert answer(client, practice) == 404


def test_gold_of_a_phase_that_has_not_opened_is_kept_too(client, practice):
    same_gold_elsewhere(
        practice, opens=timezone.now() + HOUR, closes=timezone.now() + 2 * HOUR
    )
    assert answer(client, practice) == 404


def test_a_version_that_was_put_there_by_mistake_is_kept_and_its_correction_given_out(
    client, practice
):
    same_gold_elsewhere(practice)
    factories.make_gold(
        phase=practice, topics=["X00-0001"], reason="the gold of practice"
    )
    assert [answer(client, practice, number) for number in (1, 2, 3)] == [404, 200, 404]


def test_what_is_kept_elsewhere_opens_no_run_of_a_board_and_no_label(practice):
    """All that rests on gold asks the same rule."""
    run = factories.make_submission(phase=practice, status="scored")
    boards.score(run, 0.25, gold=Gold.objects.get())
    assert (
        find_run_released_with_gold(Phase.objects.get(pk=practice.pk), None, run.pk)
        == run
    )
    same_gold_elsewhere(practice)
    assert (
        find_run_released_with_gold(Phase.objects.get(pk=practice.pk), None, run.pk)
        is None
    )


def test_a_team_sees_no_score_while_one_version_that_its_run_was_scored_with_is_kept(
    practice,
):
    first = Gold.objects.get()
    run = factories.make_submission(phase=practice, status="scored")
    member = run.team.memberships.get().user
    same_gold_elsewhere(practice, board="organisers")
    corrected = factories.make_gold(
        phase=practice, topics=["X00-0001"], reason="the gold of practice"
    )
    boards.score(run, 0.25, gold=corrected)
    assert may_see_scores(Submission.objects.get(pk=run.pk), member)
    boards.score(run, 0.5, gold=first)
    assert not may_see_scores(Submission.objects.get(pk=run.pk), member)


class TestOpeningAtOnce:
    @pytest.fixture
    def hidden(self) -> Phase:
        return factories.make_phase(board="organisers", title="Test")

    def later(self, task, **fields) -> Phase:
        opens = timezone.now() + HOUR
        return factories.make_phase(
            task=task, opens=opens, closes=opens + HOUR, title="Afterwards", **fields
        )

    def test_a_phase_that_shows_scores_is_not_opened_over_one_that_hides_them(
        self, hidden
    ):
        after = self.later(hidden.task, split=hidden.split)
        with pytest.raises(
            EmbargoBreach,
            match=r"the scores of all of .*, Afterwards, which .*, Test withholds",
        ):
            open_now(phase=after, by=factories.make_user())
        assert not Phase.objects.get(pk=after.pk).is_open()
        Phase.objects.filter(pk=hidden.pk).update(closes=timezone.now() - HOUR)
        assert open_now(phase=after, by=factories.make_user()).is_open()

    def test_nor_over_one_of_another_season_which_is_not_named(self, hidden):
        task = factories.make_task(type="clsumm-1b", rules=["corrected"])
        with pytest.raises(EmbargoBreach, match="which another season withholds"):
            open_now(phase=self.later(task), by=factories.make_user())

    @pytest.mark.parametrize(
        "fields", [{"board": "organisers"}, {"board": "ranks"}, {"split": "other"}]
    )
    def test_one_that_hides_them_as_well_or_has_other_gold_is_opened(
        self, hidden, fields
    ):
        after = self.later(
            hidden.task,
            **{"split": hidden.split, "with_gold": "split" not in fields, **fields},
        )
        assert open_now(phase=after, by=factories.make_user()).is_open()
