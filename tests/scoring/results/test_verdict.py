"""Each board has one verdict, which every page, the API and the files give in the same words."""

import datetime as dt
import json

import numpy as np
import pytest
from django.contrib.auth.models import AnonymousUser
from django.db.models import F
from django.urls import reverse
from django.utils import timezone, translation

from scoring.models import BoardOrder, Rescore, Score, Signature
from scoring.results.board.comparisons import (
    TopTwoComparison,
    build_separation_of_top_two,
)
from scoring.results.board.formatting import format_p_value
from scoring.results.board.standings import compute_board
from scoring.results.board.verdict import (
    REASONS_WITHOUT_LEADER,
    RankedSystem,
    UntestedReason,
    decide_verdict_on_systems,
)
from scoring.stats.significance import (
    FAMILYWISE_ERROR_RATE,
    adjust_by_holm,
    adjust_p_values_by_row,
    find_significantly_better_rows,
)
from tasks.models import Phase, Submission
from tests.scoring import boards
from tests.scoring.compared import compare, make_phase, scored
from tests.web.reading import text_of

VISITOR = AnonymousUser()
TEST = "Tested by paired randomisation over 50 topics, with Holm's correction."


def verdict(*rows: tuple[str, bool, float | None], units=50, **more):
    systems = [
        RankedSystem(submission=place, system=name, may_be_first=may_be_first, p=p)
        for place, (name, may_be_first, p) in enumerate(rows)
    ]
    first_two = TopTwoComparison(units=units, differ=False, p=0.2)
    tested = build_separation_of_top_two(first_two, unit="topic", rows=len(rows))
    return decide_verdict_on_systems(systems, separation=tested, **more)


def test_a_verdict_names_the_leader_the_tied_systems_those_behind_the_test_and_the_units():
    found = verdict(
        ("Avocet", True, None),
        ("Bittern", True, 0.055),
        ("Curlew", True, 0.31),
        ("Dunlin", False, 0.0123),
    )
    assert found.text == (
        "Avocet has the best value of 4 ranked systems. "
        "Bittern and Curlew could be tied for first place (smallest adjusted p 0.055). "
        f"Dunlin is behind (adjusted p 0.012). {TEST}"
    )
    assert (found.leader.system, found.units, found.p) == ("Avocet", 50, 0.055)
    assert [row.system for row in found.tied] == ["Bittern", "Curlew"]
    assert [row.system for row in found.behind] == ["Dunlin"]


def test_a_leader_is_called_first_only_if_every_other_system_is_behind():
    found = verdict(
        ("Avocet", True, None), ("Bittern", False, 0.0123), ("C", False, 0.04)
    )
    assert found.text == (
        "Avocet is first of 3 ranked systems. "
        f"Bittern and C are behind (largest adjusted p 0.040). {TEST}"
    )
    assert found.p == 0.04


def test_systems_of_equal_value_share_the_best_value():
    found = verdict(
        ("A", True, None), ("B", True, 1.0), ("C", True, 0.2), equal_to_first=2
    )
    assert found.text == (
        "A and B share the best value of 3 ranked systems. "
        f"C could be tied for first place (adjusted p 0.20). {TEST}"
    )


def test_a_verdict_counts_the_systems_that_it_does_not_name():
    found = verdict(("A", True, None), *((name, True, 0.5) for name in "BCDEFG"))
    assert "B, C, D and 3 other systems could be tied" in found.text


def test_a_verdict_without_p_values_prints_none():
    found = verdict(("A", True, None), ("B", True, None), ("C", False, None))
    assert "B could be tied for first place. C is behind." in found.text
    assert found.p is None


def test_with_too_few_units_the_verdict_calls_no_system_tied_or_behind():
    found = verdict(("A", True, None), ("B", True, 0.5), ("C", True, 1.0), units=4)
    assert found.text == (
        "A has the best value of 3 ranked systems. With 4 topics no test can find a difference between "
        "any two of them at 5 %: the smallest possible adjusted p is 0.25."
    )


@pytest.mark.parametrize(
    "reason", [each for each in UntestedReason if each not in REASONS_WITHOUT_LEADER]
)
def test_a_board_without_a_test_states_so_and_calls_no_system_behind(reason):
    found = verdict(("A", True, None), ("B", False, 0.01), untested=reason)
    said = (
        "The board is ranked by the official program, not tested."
        if reason is UntestedReason.PROGRAM
        else "The board ranks without a test"
    )
    assert found.text.startswith(f"A has the best value of 2 ranked systems. {said}")
    assert (found.tied, found.behind, found.test, found.p) == ((), (), "", None)


def test_a_board_without_a_ranked_system_has_no_verdict_and_one_with_one_no_test():
    assert decide_verdict_on_systems([]) is None
    alone = decide_verdict_on_systems([RankedSystem(submission=1, system="A")])
    assert alone.text == "A is the only ranked system. The board ranks without a test."


def test_one_name_of_two_teams_is_followed_by_the_team():
    systems = [
        RankedSystem(submission=place, system="bert", team=team)
        for place, team in enumerate(("Ada", "Bob"))
    ]
    first_two = TopTwoComparison(units=50, differ=False, p=0.2)
    found = decide_verdict_on_systems(
        systems, separation=build_separation_of_top_two(first_two, unit="topic", rows=2)
    )
    assert "bert (Ada) has the best value" in found.text
    assert "bert (Bob) could be tied" in found.text


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0123, "0.012"),
        (0.2, "0.20"),
        (1.0, "1.0"),
        (0.0996, "0.10"),
        (0.00001234, "0.000012"),
        (0.0504, "0.0504"),
        (0.0496, "0.0496"),
        (0.050004, "0.050004"),
        (FAMILYWISE_ERROR_RATE, "0.050"),
        (0.0, "0.0"),
    ],
)
def test_p_has_two_significant_digits_and_never_reads_as_the_level_it_misses(p, text):
    assert format_p_value(p) == text


def test_the_adjusted_p_is_holms_in_both_families_and_at_most_5_percent_where_ranks_differ():
    rng = np.random.default_rng(7)
    for count in (2, 5, 9):
        p = rng.uniform(0, 0.1, (count, count)).round(3)
        p = np.triu(p, 1) + np.triu(p, 1).T
        np.fill_diagonal(p, np.nan)
        adjusted = adjust_p_values_by_row(p)
        others = ~np.eye(count, dtype=bool)
        own = np.full(p.shape, np.nan)
        for row in range(count):
            own[row, others[row]] = adjust_by_holm(p[row, others[row]].tolist())
        np.testing.assert_allclose(adjusted, np.maximum(own, own.T))
        above = find_significantly_better_rows(np.arange(count, 0, -1.0), p)
        assert (
            (adjusted <= FAMILYWISE_ERROR_RATE) & np.tril(others)
        ).tolist() == above.tolist()
    assert np.isnan(adjust_p_values_by_row(np.full((2, 2), np.nan))).all()


@pytest.fixture
def compared_phase(db):
    phase = make_phase()
    for right in (10, 9, 1):
        scored(phase, right, system=f"system {right}")
    compare(phase)
    return phase


def test_every_page_the_api_and_the_files_give_the_same_verdict(client, compared_phase):
    phase = compared_phase
    found = compute_board(phase, VISITOR).verdict
    assert [row.system for row in found.tied] == ["system 9"]
    assert [row.system for row in found.behind] == ["system 1"]
    assert found.tied[0].p > FAMILYWISE_ERROR_RATE >= found.behind[0].p
    season = phase.task.season.slug
    for address in (
        boards.address("board", phase),
        "/",
        reverse("season", args=[season]),
    ):
        assert found.text in text_of(client.get(address)), address
    api = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()
    assert api["verdict"]["words"] == found.text
    assert " ".join(api["separation"]["words"]) == found.text
    assert api["verdict"]["behind"][0]["p"] == found.behind[0].p
    assert (api["verdict"]["units"], api["verdict"]["untested"]) == (found.units, None)
    exported = client.get(boards.address("board-json", phase))
    assert json.loads(exported.content)["verdict"]["words"] == found.text
    latex = client.get(boards.address("board-tex", phase)).content.decode()
    assert f"% {found.text}" in latex


def test_pages_in_german_give_the_verdict_in_german(client, compared_phase):
    with translation.override("de"):
        words = compute_board(compared_phase, VISITOR).verdict.text
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    assert words in text_of(client.get(boards.address("board", compared_phase)))
    assert words.startswith("system 10 hat den besten Wert (3 gereihte Systeme).")


@pytest.mark.django_db
def test_a_board_of_ranks_alone_has_a_verdict_without_p_values(client):
    phase = make_phase(board=Phase.Audience.RANKS)
    for right in (10, 1):
        scored(phase, right, system=f"system {right}")
    compare(phase)
    words = "system 10 is first of 2 ranked systems. system 1 is behind. Tested by"
    assert words in text_of(client.get(boards.address("board", phase)))
    api = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["verdict"]
    assert api["p"] is None
    assert api["behind"] == [
        {"submission": api["behind"][0]["submission"], "system": "system 1", "p": None}
    ]


RESCORING = (
    "Runs of this board are being rescored. The board names no leader until the numbers of all systems can "
    "be compared."
)
NOT_RESCORED = (
    "Some runs of this board were scored differently from the others. The board names no leader until they "
    "have been rescored."
)


@pytest.fixture
def partly_rescored_phase(compared_phase):
    """A phase of three systems, of which one already has the number of a newer metric."""
    run = Submission.objects.get(phase=compared_phase, system="system 9")
    newer = Signature.objects.create(
        metric="overlap_f1_micro", column="overlap_f1_micro|v:9", text="v:9", position=0
    )
    Score.objects.filter(
        evaluation__submission=run, shared__metric="overlap_f1_micro"
    ).update(shared=newer)
    Rescore.objects.create(phase=compared_phase)
    Phase.objects.update(version=F("version") + 1)
    return compared_phase


def test_while_runs_are_rescored_every_page_the_api_and_the_files_name_no_leader(
    client, partly_rescored_phase
):
    phase = partly_rescored_phase
    season = phase.task.season.slug
    for address in (
        boards.address("board", phase),
        "/",
        reverse("season", args=[season]),
    ):
        page = text_of(client.get(address))
        assert RESCORING in page, address
        assert "has the best value" not in page, address
    assert "system 10" not in text_of(client.get("/"))
    api = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()
    assert (api["leader"], api["separation"]) == (None, None)
    assert api["verdict"] == {
        "leader": None,
        "equal": [],
        "tied": [],
        "behind": [],
        "test": "",
        "untested": "rescoring",
        "unit": "",
        "units": None,
        "p": None,
        "words": RESCORING,
    }
    exported = client.get(boards.address("board-json", phase))
    assert json.loads(exported.content)["verdict"] == api["verdict"]
    latex = client.get(boards.address("board-tex", phase)).content.decode()
    assert f"% {RESCORING}" in latex
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    assert "Runs dieser Rangliste werden neu ausgewertet." in text_of(
        client.get(boards.address("board", phase))
    )


def test_a_board_whose_only_new_number_would_be_the_only_ranked_one_names_no_leader(
    partly_rescored_phase,
):
    Submission.objects.filter(system="system 1").update(status="withdrawn")
    board = compute_board(partly_rescored_phase, VISITOR)
    assert [row.rank for row in board.rows] == [1, None]
    assert board.verdict.text == RESCORING
    assert (board.best, board.rows_that_may_be_first) == ([], [])


def test_a_board_of_different_versions_that_nobody_rescores_names_no_leader_either(
    partly_rescored_phase,
):
    Rescore.objects.all().delete()
    found = compute_board(partly_rescored_phase, VISITOR).verdict
    assert (found.text, found.leader) == (NOT_RESCORED, None)


def test_a_board_names_its_leader_again_once_all_runs_are_rescored(
    partly_rescored_phase,
):
    Score.objects.filter(shared__metric="overlap_f1_micro").update(
        shared=Signature.objects.get(column="overlap_f1_micro|v:9")
    )
    found = compute_board(partly_rescored_phase, VISITOR).verdict
    assert found.leader.system == "system 10"


def test_a_board_that_was_settled_before_verdicts_keeps_its_sentences_until_it_opens_anew(
    client, compared_phase
):
    phase = compared_phase
    closed = timezone.now() - dt.timedelta(days=1)
    Phase.objects.update(opens=closed - dt.timedelta(days=9), closes=closed)
    BoardOrder.objects.update(settled_at=closed)
    page = text_of(client.get(boards.address("board", phase)))
    assert "First and second could be tied (p " in page
    assert "ranked systems" not in page
    assert "could be tied with 1 other" in text_of(client.get("/"))
    assert (
        client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["verdict"] is None
    )
    Phase.objects.update(closes=timezone.now() + dt.timedelta(days=1))
    page = text_of(client.get(boards.address("board", phase)))
    assert "First and second" not in page
    assert "has the best value of 3 ranked systems" in page
