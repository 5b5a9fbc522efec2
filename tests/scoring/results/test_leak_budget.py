"""How many bits of secret gold phases tell together: each kind of item, and whose phases are added."""

import datetime as dt
import math

import pytest
from django.utils import timezone

from citeboard.core.instants import ENDLESS_PHASE_END
from scoring.results.board.budget_items import (
    ASSUMED_COLLUDING_TEAM_COUNT,
    LeakBudgetItemKind,
)
from scoring.results.board.leak_budget import (
    LeakBudget,
    compute_leak_budget_of_phase,
    compute_leak_budgets_by_phase,
)
from tasks.gold.publishing import (
    MIN_SHARED_INSTANCES_TO_NOTIFY,
    compare_new_publications,
)
from tasks.models import Claim, Gold, Phase
from tasks.seasons.claims import decide_claim
from tests import factories

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def citances(first: int, last: int, answer: str = "1") -> list[list]:
    return [
        [f"D05-{number:04}", "3", [answer], "Method_Citation"]
        for number in range(first, last)
    ]


TEXTS = citances(0, 100)


def make(season=None, texts=TEXTS, organiser=None, **fields) -> Phase:
    """A running phase of a task of its own, with one try unless something else is said."""
    season = season or factories.make_season(
        organiser=organiser or factories.make_user()
    )
    task = factories.make_task(season=season, rules=fields.pop("rules", ["corrected"]))
    given = {"runs_in_total": 1, "closes": timezone.now() + 30 * DAY, **fields}
    phase = factories.make_phase(task=task, with_gold=False, **given)
    factories.make_gold(phase=phase, citances=texts, topics=["D01-0001"])
    return phase


def beside(phase: Phase, **fields) -> Phase:
    given = {"runs_in_total": 1, "closes": timezone.now() + 30 * DAY, **fields}
    return factories.make_phase(
        task=phase.task, split=phase.split, with_gold=False, **given
    )


def budget(phase: Phase) -> LeakBudget:
    found = compute_leak_budget_of_phase(
        Phase.objects.select_related("task__season").get(pk=phase.pk)
    )
    assert found is not None
    return found


def kinds(phase: Phase, of: Phase) -> list[tuple[str, str]]:
    return [
        (item.kind.value, item.rules)
        for item in budget(phase).items
        if item.phase == of
    ]


def bits(phase: Phase, of: Phase) -> float:
    return math.fsum(item.bits for item in budget(phase).items if item.phase == of)


class TestKindsOfItems:
    def test_a_second_task_reveals_a_million_bits_beside_three(self):
        first = make(public_part=30, closes=ENDLESS_PHASE_END, runs_in_total=None)
        both = ["corrected", "official-2017"]
        second = make(
            first.task.season,
            rules=both,
            runs_in_total=None,
            runs_per_day=500,
            closes=ENDLESS_PHASE_END,
        )
        found = budget(first)
        assert found.bits <= 3
        assert found.bits_of_other_phases > 1_000_000
        assert kinds(first, second) == [("scores", rules) for rules in both]

    def test_scores_of_each_rule_set_count_by_runs_and_numbers(self):
        phase = make(runs_in_total=7, rules=["corrected", "official-2017"])
        items = budget(phase).items
        assert [item.rules for item in items] == ["corrected", "official-2017"]
        for item in items:
            assert item.bits == pytest.approx(7 * item.numbers * math.log2(101))

    def test_tries_without_a_limit_tell_everything(self):
        found = budget(make(runs_in_total=None))
        assert (found.bits_for_one_team, found.bits_for_colluding_teams) == (None, None)
        assert (found.bits_text_for_one_team, found.is_exceeded_by_colluding_teams) == (
            "all of it",
            True,
        )

    def test_the_ladder_counts_one_number_of_the_rules_that_rank(self):
        phase = make(ladder=True, rules=["corrected", "official-2017"])
        assert kinds(phase, phase) == [("ladder", "corrected")]

    def test_the_ladder_of_a_phase_that_ends_first_counts_with_all_its_scores(self):
        ladder = make(ladder=True)
        longer = beside(ladder, closes=timezone.now() + 60 * DAY)
        assert kinds(longer, ladder) == [("scores", "corrected")]
        assert kinds(ladder, ladder) == [("ladder", "corrected")]

    def test_the_public_part_counts_as_known(self):
        phase = make(public_part=30, runs_in_total=None)
        found = budget(phase)
        assert (found.public, found.instances, found.bits_for_one_team) == (30, 70, 0)
        assert [item.bits_text_for_one_team for item in found.items] == ["known"]

    def test_ranks_of_the_private_part_count_for_each_rule_set(self):
        phase = make(
            public_part=30,
            closes=ENDLESS_PHASE_END,
            rules=["corrected", "official-2017"],
        )
        ranks = [
            item
            for item in budget(phase).items
            if item.kind is LeakBudgetItemKind.RANKS
        ]
        # 70 private instances rank once a year, and no team is registered.
        assert [(item.rules, item.tries, item.bits) for item in ranks] == [
            ("corrected", 1, 1),
            ("official-2017", 1, 1),
        ]

    def test_a_board_of_ranks_alone_counts_a_rank_for_each_run(self):
        phase = make(board="ranks", runs_in_total=5)
        for _number in range(3):
            factories.make_team(season=phase.task.season)
        assert kinds(phase, phase) == [("ranks", "corrected")]
        assert budget(phase).bits_for_one_team == 5 * math.log2(4)

    def test_the_private_part_of_a_phase_that_ends_first_counts(self):
        first = make(public_part=30)
        longer = beside(first, public_part=30, closes=timezone.now() + 60 * DAY)
        assert ("private", "corrected") in kinds(longer, first)
        assert ("private", "corrected") not in kinds(first, longer)

    def test_another_part_counts_by_its_public_scores(self):
        first, other = make(public_part=30), None
        other = beside(first, public_part=60)
        found = budget(first)
        assert bits(first, other) > 0
        assert found.unequal == (other,)
        assert "Another public part of the same instances" in " ".join(found.sentences)

    def test_an_equal_part_reveals_nothing_private(self):
        first = make(public_part=30, part_seed=7)
        second = make(first.task.season, public_part=30)
        assert bits(first, second) == 0
        assert budget(first).unequal == ()

    def test_another_seed_makes_another_part(self):
        first = make(public_part=30, part_seed=7)
        second = beside(first, public_part=30, part_seed=8)
        assert budget(first).unequal == (second,)

    @pytest.mark.parametrize("own", [{"part_seed": 7}, {"part_nonce": "0a" * 32}])
    def test_another_secret_draws_another_part(self, own):
        first = make(public_part=30, **own)
        second = beside(first, public_part=30, part_nonce="0b" * 32)
        assert budget(first).unequal == (second,)

    def test_one_secret_draws_one_part(self):
        first = make(public_part=30, part_nonce="0a" * 32)
        beside(first, public_part=30, part_nonce="0a" * 32)
        assert budget(first).unequal == ()

    def test_single_instances_that_are_let_out_tell_everything(self):
        secret = make()
        shown = beside(secret, shows_instances=True)
        assert ("instances", "") not in kinds(secret, shown)
        secret_split = [["instances", secret.task_id, secret.split]]
        Phase.objects.filter(pk=shown.pk).update(let_out=secret_split)
        assert kinds(secret, shown) == [("instances", "")]
        assert budget(secret).bits_for_one_team is None

    def test_scores_that_a_phase_withholds_count_for_nothing(self):
        phase = make(board="organisers")
        assert compute_leak_budget_of_phase(phase) is None

    def test_a_board_that_is_to_open_while_runs_are_taken_counts(self):
        phase = make(
            board="organisers",
            board_from=timezone.now() + DAY,
            board_then="everyone",
        )
        assert kinds(phase, phase) == [("scores", "corrected")]

    def test_a_board_that_opens_at_the_end_counts_for_later_phases_alone(self):
        end = timezone.now() + 10 * DAY
        phase = make(
            board="organisers", board_from=end, board_then="everyone", closes=end
        )
        later = beside(phase, opens=end, closes=end + 30 * DAY)
        assert kinds(later, phase) == [("scores", "corrected")]
        assert compute_leak_budget_of_phase(phase) is None

    def test_five_teams_are_told_five_times_as_much(self):
        found = budget(make(runs_in_total=3))
        assert ASSUMED_COLLUDING_TEAM_COUNT == 5
        assert found.bits_for_colluding_teams == pytest.approx(
            5 * found.bits_for_one_team
        )

    def test_the_budget_is_a_quarter_of_a_bit_for_each_secret_instance(self):
        assert budget(make(public_part=30)).needed == 0.25 * 70


class TestWhoseContent:
    def test_gold_of_another_task_that_shows_the_same_and_answers_otherwise_counts(
        self,
    ):
        first = make()
        second = make(first.task.season, texts=citances(0, 100, "4"))
        assert bits(first, second) == bits(second, first) > 0

    def test_a_number_tells_of_the_shared_instances_alone(self):
        first = make()
        second = make(first.task.season, texts=citances(90, 200))
        [item] = [item for item in budget(first).items if item.phase == second]
        assert item.bits == pytest.approx(item.numbers * math.log2(11))

    def test_gold_that_shares_less_than_a_twentieth_is_left_out(self):
        first = make()
        make(first.task.season, texts=citances(96, 200))
        assert len({item.phase for item in budget(first).items}) == 1

    def test_seasons_of_the_same_organisers_add_up(self):
        organiser = factories.make_user()
        first, second = make(organiser=organiser), make(organiser=organiser)
        assert bits(first, second) > 0

    def test_a_draft_of_the_same_organisers_tells_nothing_yet(self):
        organiser = factories.make_user()
        first = make(organiser=organiser)
        draft = factories.make_season(organiser=organiser, is_public=False)
        second = make(draft)
        assert kinds(first, second) == []
        assert bits(second, first) > 0
        assert bits(second, second) > 0

    def test_seasons_of_other_organisers_do_not_add_up(self):
        first, second = make(), make()
        assert kinds(first, second) == kinds(second, first) == []

    def test_a_phase_that_opens_when_another_is_over_counts_for_itself_alone(self):
        first = make(closes=timezone.now() + DAY)
        later = beside(first, opens=timezone.now() + 2 * DAY)
        assert kinds(first, later) == []
        assert bits(later, first) > 0

    def test_many_phases_are_read_by_as_many_statements_as_few(
        self, django_assert_max_num_queries
    ):
        first = make()
        for _number in range(4):
            beside(first)
        phases = Phase.objects.select_related("task__season")
        with django_assert_max_num_queries(60):
            assert len(compute_leak_budgets_by_phase(phases)) == 5


@pytest.mark.both_databases
class TestSeasonsJoinedByConsent:
    @pytest.fixture
    def pair(self) -> tuple[Phase, Phase]:
        earlier = make(public_part=30, runs_in_total=None, closes=ENDLESS_PHASE_END)
        compare_new_publications()
        later = make(runs_in_total=2)
        compare_new_publications()
        return earlier, later

    def release(self) -> None:
        claim = Claim.objects.get()
        staff = factories.make_user(is_staff=True)
        decide_claim(claim=claim, decision="release", reason="Agreed.", by=staff)

    def test_a_claim_that_binds_joins_the_earlier_season_to_the_later_one(self, pair):
        earlier, later = pair
        assert Claim.objects.get().state == Claim.State.BINDING
        assert kinds(later, earlier)
        assert kinds(earlier, later) == []

    def test_a_claim_that_is_released_joins_both(self, pair):
        self.release()
        earlier, later = pair
        assert kinds(earlier, later) == [("scores", "corrected")]
        assert kinds(later, earlier)

    def test_a_claim_that_nobody_decided_on_joins_none(self, pair):
        Claim.objects.update(state=Claim.State.OPEN)
        earlier, later = pair
        assert kinds(earlier, later) == kinds(later, earlier) == []

    def test_the_other_season_is_neither_named_nor_are_shared_texts_counted(self, pair):
        self.release()
        earlier, later = pair

        def foreign() -> list[tuple[str, float | None]]:
            items = [item for item in budget(earlier).items if item.phase == later]
            return [(item.words, item.bits) for item in items]

        before = foreign()
        assert [words for words, _bits in before] == [
            "a season of other organisers with the same texts: scores by corrected"
        ]
        factories.make_gold(phase=later, citances=citances(0, 60), topics=["D01-0001"])
        compare_new_publications()
        assert foreign() == before

    def test_gold_that_is_not_published_yet_is_not_compared(self, pair):
        self.release()
        earlier, later = pair
        factories.make_gold(
            phase=later,
            citances=citances(0, MIN_SHARED_INSTANCES_TO_NOTIFY),
            topics=["D01-0001"],
        )
        assert Gold.objects.current(later).number == 2
        assert kinds(later, earlier) == []
