"""Which runs count: a table of situations, with the runs that count by each rule.

A run is named by its team and its order, so `a2` is the second run of team a.
"""

import datetime as dt
from dataclasses import dataclass, field

import pytest
from django.utils import timezone

from citeboard.teams.models import Team
from scoring.models import Evaluation, FrozenBoard
from tasks.models import Gold, Phase, Registration, Submission
from tests import factories
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@dataclass(frozen=True)
class Case:
    situation: str
    #: Fields of each run: its value (0.5 unless it is given), and those of `Submission`.
    runs: dict[str, dict]
    best: str
    last: str
    all: str
    priority: str
    selected: str = ""
    phase: dict = field(default_factory=dict)

    def __str__(self) -> str:
        return self.situation


LOW, HIGH = {"value": 0.4}, {"value": 0.6}
UNDEFINED = {"value": None}
WITHDRAWN, FAILED, WAITING = (
    {"status": status} for status in ("withdrawn", "failed", "waiting")
)
DISQUALIFIED, HIDDEN = ({"exclusion": why} for why in ("disqualified", "hidden"))
LATE, SELECTED = {"is_late": True}, {"is_selected": True}
CONTRASTIVE = {"kind": "contrastive"}
SAME_TIME = {"submitted_at": boards.START}
SEED = {"seeds_of": "A"}
JUDGE_TWO, SHOW_CONTRASTIVE = {"priority_runs": 2}, {"shows_contrastive": True}

CASES = [
    Case(
        "the second run is better",
        {"a1": LOW, "a2": HIGH},
        best="a2",
        last="a2",
        all="a1 a2",
        priority="a1",
    ),
    Case(
        "the first run is better",
        {"a1": HIGH, "a2": LOW},
        best="a1",
        last="a2",
        all="a1 a2",
        priority="a1",
    ),
    Case(
        "two runs are equally good",
        {"a1": LOW, "a2": LOW},
        best="a1",
        last="a2",
        all="a1 a2",
        priority="a1",
    ),
    Case(
        "two runs came at the same time",
        {"a1": SAME_TIME, "a2": SAME_TIME},
        best="a1",
        last="a2",
        all="a1 a2",
        priority="a1",
    ),
    Case(
        "each of two teams sent runs",
        {"a1": LOW, "b1": LOW, "a2": HIGH, "b2": HIGH},
        best="a2 b2",
        last="a2 b2",
        all="a1 a2 b1 b2",
        priority="a1 b1",
    ),
    Case(
        "the value of the first run is undefined",
        {"a1": UNDEFINED, "a2": LOW},
        best="a2",
        last="a2",
        all="a1 a2",
        priority="a1",
    ),
    Case(
        "all values are undefined",
        {"a1": UNDEFINED, "a2": UNDEFINED},
        best="a1",
        last="a2",
        all="a1 a2",
        priority="a1",
    ),
    Case(
        "the last run is withdrawn",
        {"a1": LOW, "a2": HIGH | WITHDRAWN},
        best="a1",
        last="",
        all="a1",
        priority="a1",
    ),
    Case(
        "the first run is withdrawn",
        {"a1": HIGH | WITHDRAWN, "a2": LOW, "a3": LOW},
        best="a2",
        last="a3",
        all="a2 a3",
        priority="",
    ),
    Case(
        "the later of two runs of the same time is withdrawn",
        {"a1": SAME_TIME, "a2": SAME_TIME | WITHDRAWN},
        best="a1",
        last="",
        all="a1",
        priority="a1",
    ),
    Case(
        "the last run is disqualified",
        {"a1": LOW, "a2": HIGH | DISQUALIFIED},
        best="a1",
        last="",
        all="a1",
        priority="a1",
    ),
    Case(
        "the last run is hidden",
        {"a1": LOW, "a2": HIGH | HIDDEN},
        best="a1",
        last="a1",
        all="a1",
        priority="a1",
    ),
    Case(
        "the first run is hidden",
        {"a1": HIGH | HIDDEN, "a2": LOW},
        best="a2",
        last="a2",
        all="a2",
        priority="",
    ),
    Case(
        "the last run is late",
        {"a1": LOW, "a2": HIGH | LATE},
        best="a1",
        last="a1",
        all="a1",
        priority="a1",
    ),
    Case(
        "a late run is withdrawn",
        {"a1": LOW, "a2": LATE | WITHDRAWN},
        best="a1",
        last="a1",
        all="a1",
        priority="a1",
    ),
    Case(
        "the last run failed",
        {"a1": LOW, "a2": FAILED},
        best="a1",
        last="a1",
        all="a1",
        priority="a1",
    ),
    Case(
        "the first run failed",
        {"a1": FAILED, "a2": LOW},
        best="a2",
        last="a2",
        all="a2",
        priority="a2",
    ),
    Case(
        "the first run waits to be scored again",
        {"a1": HIGH | WAITING, "a2": LOW},
        best="a2",
        last="a2",
        all="a2",
        priority="",
    ),
    Case(
        "the only run is withdrawn",
        {"a1": WITHDRAWN},
        best="",
        last="",
        all="",
        priority="",
    ),
    Case(
        "one of two teams selected a run",
        {"a1": LOW | SELECTED, "a2": HIGH, "b1": LOW},
        best="a2 b1",
        last="a2 b1",
        all="a1 a2 b1",
        priority="a1 b1",
        selected="a1",
    ),
    Case(
        "the selected run is withdrawn",
        {"a1": LOW, "a2": HIGH | SELECTED | WITHDRAWN},
        best="a1",
        last="",
        all="a1",
        priority="a1",
    ),
    Case(
        "the selected run is disqualified",
        {"a1": LOW, "a2": HIGH | SELECTED | DISQUALIFIED},
        best="a1",
        last="",
        all="a1",
        priority="a1",
    ),
    Case(
        "the team gave priorities",
        {"a1": HIGH | {"priority": 2}, "a2": LOW | {"priority": 1}},
        best="a1",
        last="a2",
        all="a1 a2",
        priority="a2",
    ),
    Case(
        "two runs by priority count",
        {"a1": {"priority": 3}, "a2": {"priority": 1}, "a3": {"priority": 2}},
        best="a1",
        last="a3",
        all="a1 a2 a3",
        priority="a2 a3",
        phase=JUDGE_TWO,
    ),
    Case(
        "two runs count, and the first of three is disqualified",
        {"a1": DISQUALIFIED, "a2": {}, "a3": {}},
        best="a2",
        last="a3",
        all="a2 a3",
        priority="a2",
        phase=JUDGE_TWO,
    ),
    Case(
        "a contrastive run is better and later",
        {"a1": LOW, "a2": HIGH | CONTRASTIVE | SELECTED},
        best="a1",
        last="a1",
        all="a1",
        priority="a1",
    ),
    Case(
        "the board shows contrastive runs",
        {"a1": LOW | CONTRASTIVE, "a2": LOW, "a3": HIGH | CONTRASTIVE},
        best="a1 a2 a3",
        last="a1 a2 a3",
        all="a1 a2 a3",
        priority="a1 a2 a3",
        selected="a1 a3",
        phase=SHOW_CONTRASTIVE,
    ),
    Case(
        "contrastive runs are withdrawn, disqualified, hidden and late",
        {
            "a1": LOW,
            "a2": CONTRASTIVE | WITHDRAWN,
            "a3": CONTRASTIVE | DISQUALIFIED,
            "a4": CONTRASTIVE | HIDDEN,
            "a5": CONTRASTIVE | LATE,
        },
        best="a1",
        last="a1",
        all="a1",
        priority="a1",
        phase=SHOW_CONTRASTIVE,
    ),
    Case(
        "two seeds have a lower mean than a run on its own",
        {"a1": LOW, "a2": SEED | {"value": 0.9}, "a3": SEED | {"value": 0}, "b1": LOW},
        best="a2 a3 b1",
        last="a2 a3 b1",
        all="a1 a2 a3 b1",
        priority="a1 b1",
    ),
    Case(
        "a run on its own is better than the mean of seeds",
        {"a1": SEED | HIGH, "a2": SEED | LOW, "a3": {"value": 0.55}},
        best="a3",
        last="a3",
        all="a1 a2 a3",
        priority="a1 a2",
    ),
    Case(
        "a seed without a value takes the value of its system",
        {"a1": SEED | HIGH, "a2": SEED | UNDEFINED | SELECTED, "a3": LOW},
        best="a3",
        last="a3",
        all="a1 a2 a3",
        priority="a1 a2",
        selected="a1 a2",
    ),
    Case(
        "a seed is withdrawn, another hidden",
        {"a1": SEED, "a2": SEED | HIDDEN, "a3": SEED | WITHDRAWN, "a4": LOW},
        best="a1",
        last="a4",
        all="a1 a4",
        priority="a1",
    ),
    Case(
        "the last run was a seed and is withdrawn",
        {"a1": LOW, "a2": SEED, "a3": SEED, "a4": SEED | WITHDRAWN},
        best="a2 a3",
        last="a2 a3",
        all="a1 a2 a3",
        priority="a1",
    ),
    Case(
        "the first seed by priority is withdrawn",
        {"a1": SEED | WITHDRAWN, "a2": {}, "a3": SEED, "a4": {}},
        best="a2",
        last="a4",
        all="a2 a3 a4",
        priority="a2 a3",
        phase=JUDGE_TWO,
    ),
    Case(
        "two teams have systems of one name",
        {"a1": SEED | SELECTED, "b1": SEED, "a2": SEED, "b2": SEED | LATE},
        best="a1 a2 b1",
        last="a1 a2 b1",
        all="a1 a2 b1",
        priority="a1 a2 b1",
        selected="a1 a2",
    ),
    Case(
        "contrastive seeds stand beside the seeds that rank",
        {"a1": SEED, "a2": SEED | CONTRASTIVE, "a3": SEED | CONTRASTIVE, "a4": HIGH},
        best="a2 a3 a4",
        last="a2 a3 a4",
        all="a1 a2 a3 a4",
        priority="a1 a2 a3",
        selected="a2 a3",
        phase=SHOW_CONTRASTIVE,
    ),
    Case(
        "the season refused the team",
        {"refused1": SELECTED, "refused2": CONTRASTIVE},
        best="",
        last="",
        all="",
        priority="",
        phase=SHOW_CONTRASTIVE,
    ),
    Case(
        "there are baselines and a human line",
        {"base1": {}, "base2": {}, "people1": {"kind": "human"}, "base3": WITHDRAWN},
        best="base1 base2 people1",
        last="base1 base2 people1",
        all="base1 base2 people1",
        priority="base1 base2 people1",
        selected="base1 base2 people1",
    ),
]


def make_runs(phase: Phase, runs: dict[str, dict]) -> None:
    for name, given in runs.items():
        fields = {"value": 0.5, "status": "scored", **given}
        value, status = fields.pop("value"), fields.pop("status")
        run = boards.make_run(
            phase, team_of(phase, name), status, system=name, **fields
        )
        if status != "failed":
            boards.score(run, value)


def team_of(phase: Phase, run: str) -> Team | None:
    name = run.rstrip("0123456789")
    if name in ("base", "people"):
        return None
    return Team.objects.filter(slug=name).first() or boards.make_team(phase, name)


def counting(phase: Phase, **board) -> str:
    """Name the runs that count, each as often as it does."""
    gold = Gold.objects.get(task=phase.task, number=1)
    evaluations = Evaluation.objects.counting(phase, "corrected", gold, **board)
    systems = evaluations.values_list("submission__system", flat=True)
    return " ".join(sorted(systems))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_rule_counts_the_runs_of_the_table(case):
    phase = boards.make_phase(**case.phase)
    make_runs(phase, case.runs)
    Registration.objects.filter(team__slug="refused").update(is_approved=False)
    by_rule = {}
    for rule in Phase.CountedRunsRule.values:
        phase.counting = rule
        by_rule[rule] = counting(phase)
    assert by_rule == {
        rule: getattr(case, rule) for rule in Phase.CountedRunsRule.values
    }


@pytest.mark.parametrize("rule", Phase.CountedRunsRule.values)
def test_a_run_that_was_scored_with_several_options_counts_once(rule):
    phase = boards.make_phase(counting=rule)
    make_runs(phase, {"a1": LOW | SELECTED, "base1": {}})
    for run in phase.submissions.all():
        Evaluation.objects.filter(submission=run).update(options_digest="before")
        boards.score(run, 0.6)
    assert counting(phase) == "a1 base1"


@pytest.mark.parametrize("rule", Phase.CountedRunsRule.values)
def test_a_board_counts_neither_runs_of_other_phases_nor_scores_by_other_rules_or_gold(
    rule,
):
    phase = boards.make_phase(counting=rule)
    newer = boards.make_gold(phase, 2, "A fix")
    other = factories.make_phase(task=phase.task, with_gold=False)
    team = boards.make_team(phase, "a")
    boards.scored_run(other, team, 0.9, is_selected=True)
    boards.scored_run(other, None, 0.9)
    for run in (
        boards.make_run(phase, team, is_selected=True),
        boards.make_run(phase, None),
    ):
        boards.score(run, 0.9, rules="official-2017")
        boards.score(run, 0.9, gold=newer)
    assert counting(phase) == ""


@pytest.mark.parametrize("rule", Phase.CountedRunsRule.values)
def test_only_the_given_entries_count(rule):
    phase = boards.make_phase(counting=rule)
    make_runs(phase, {"a1": SELECTED, "b1": SELECTED})
    entries = Registration.objects.filter(team__slug="b")
    assert counting(phase, entries=entries) == "b1"


#: What happened to a run after its board was frozen, and the runs that count by then.
SINCE = {
    "nothing": ({}, "a1 base1"),
    "its team withdrew it": ({"status": "withdrawn"}, "a1 base1"),
    "organisers disqualified it": (DISQUALIFIED, "base1"),
    "organisers hid it": (HIDDEN, "base1"),
}


@pytest.mark.parametrize("since", SINCE)
def test_a_frozen_board_keeps_withdrawn_runs_and_loses_excluded_runs(since):
    phase = frozen_phase()
    stored = Evaluation.objects.filter(submission__system__in=("a1", "base1"))
    FrozenBoard.objects.create(
        phase=phase,
        rules="corrected",
        gold=Gold.objects.get(),
        frozen_from=phase.frozen_from,
        evaluations=list(stored.values_list("pk", flat=True)),
    )
    changes, expected = SINCE[since]
    Submission.objects.filter(system="a1").update(**changes)
    assert counting(phase, frozen_from=phase.frozen_from) == expected


def test_a_frozen_board_that_is_not_stored_yet_counts_what_was_scored_by_then():
    phase = frozen_phase()
    assert counting(phase, frozen_from=phase.frozen_from) == "a1 base1"
    assert counting(phase) == "a2 base1 base2"
    Evaluation.objects.filter(submission__system="a1").update(
        replaced_at=timezone.now()
    )
    assert counting(phase, frozen_from=phase.frozen_from) == "base1"


def frozen_phase() -> Phase:
    """A board that was frozen an hour ago, with a better run and a baseline since."""
    at = timezone.now() - dt.timedelta(hours=1)
    phase = boards.make_phase(frozen_from=at)
    make_runs(phase, {"a1": LOW, "base1": {}})
    Evaluation.objects.update(created_at=at - dt.timedelta(minutes=1))
    make_runs(phase, {"a2": HIGH, "base2": {}})
    return phase
