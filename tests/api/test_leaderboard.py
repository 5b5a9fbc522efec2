"""The board for programs: the rows of the page, for whoever may see them."""

import pytest

from tasks.models import Phase
from tests.api.conftest import API, ROLES
from tests.api.sending import score
from tests.factories import answers, make_baseline, make_submission, run_bytes


@pytest.fixture
def board(world):
    """Two teams and a baseline; the stranger's run is the better one."""
    runs = {
        "member": make_submission(
            phase=world.phase, team=world.team, content=run_bytes(sentences=("4",))
        ),
        "stranger": make_submission(
            phase=world.phase, team=world.other_team, content=run_bytes(answers())
        ),
        "baseline": make_baseline(phase=world.phase),
    }
    return runs, {role: score(run) for role, run in runs.items()}


def asked(world, role="visitor", query="") -> dict:
    response = world.ask(role).get(f"{API}/phases/{world.phase.pk}/leaderboard/{query}")
    assert response.status_code == 200
    return response.json()


def test_the_board_has_the_rows_and_numbers_of_the_page(world, board):
    runs, printed = board
    body = asked(world)
    assert set(body) == {
        "phase",
        "version",
        "rules",
        "shows",
        "ranked_by",
        "compared",
        "leader",
        "separation",
        "verdict",
        "frozen_at",
        "confirmation",
        "counting",
        "columns",
        "rows",
    }
    assert (body["phase"], body["rules"], body["shows"]) == (
        world.phase.pk,
        "corrected",
        "scores",
    )
    assert body["version"] == Phase.objects.get().version
    by_submission = {row["submission"]: row for row in body["rows"]}
    assert set(by_submission) == {run.pk for run in runs.values()}
    for role, run in runs.items():
        for name, value in printed[role]["corrected"]["metrics"].items():
            cell = by_submission[run.pk]["scores"][name]
            assert cell == {key: value[key] for key in ("value", "low", "high")}


def test_a_row_says_whose_it_is_and_a_baseline_has_no_rank(world, board):
    runs, _ = board
    rows = {row["submission"]: row for row in asked(world)["rows"]}
    row = rows[runs["stranger"].pk]
    assert set(row) == {
        "rank", "ranks", "rank_low", "rank_high", "group", "team", "team_name", "has_organiser", "system",
        "submission", "kind", "scores", "team_reported", "card",
    }  # fmt: skip
    assert (row["rank"], row["kind"]) == (1, "primary")
    assert row["rank_low"] <= row["rank"] <= row["rank_high"]
    assert (row["team"], row["team_name"]) == (
        world.other_team.slug,
        world.other_team.name,
    )
    baseline = rows[runs["baseline"].pk]
    assert (baseline["rank"], baseline["team"], baseline["kind"]) == (
        None,
        None,
        "baseline",
    )


def test_the_columns_say_what_may_be_compared_and_which_ranks(world, board):
    columns = asked(world)["columns"]
    assert [column["name"] for column in columns if column["ranks"]] == [
        "overlap_f1_micro"
    ]
    assert set(columns[0]) == {
        "name",
        "metric",
        "key",
        "scale",
        "higher_is_better",
        "ranks",
    }
    assert columns[0]["key"].startswith("overlap_f1_micro|rules:corrected|")


def test_the_old_name_of_a_rule_set_is_answered_with_the_new_one(world, board):
    assert asked(world, query="?rules=fair")["rules"] == "corrected"


def test_another_rule_set_is_another_board(world, board):
    runs, printed = board
    body = asked(world, query="?rules=official-2017")
    assert body["rules"] == "official-2017"
    row = next(row for row in body["rows"] if row["submission"] == runs["member"].pk)
    assert set(row["scores"]) == set(printed["member"]["official-2017"]["metrics"])


def test_rules_that_the_task_does_not_have_are_named_with_those_it_has(world, board):
    response = world.member.get(
        f"{API}/phases/{world.phase.pk}/leaderboard/?rules=mine"
    )
    assert response.status_code == 400
    assert "corrected, official-2017" in response.json()["detail"]


@pytest.mark.parametrize(
    ("audience", "others", "organisers"),
    [
        ("everyone", "scores", "scores"),
        ("ranks", "ranks", "scores"),
        ("organisers", "nothing", "scores"),
        ("nobody", "nothing", "scores"),
    ],
)
def test_the_phase_decides_who_sees_what_of_its_board(
    world, board, audience, others, organisers
):
    Phase.objects.update(board=audience)
    for role in ROLES:
        body = asked(world, role)
        shown = organisers if role in ("organiser", "staff") else others
        assert body["shows"] == shown, role
        assert bool(body["rows"]) is (shown != "nothing"), role
        assert bool(body["version"]) is (shown != "nothing"), role
        assert bool(body["columns"]) is (shown == "scores"), role
        assert any(row["scores"] for row in body["rows"]) is (shown == "scores"), role


def test_an_answer_is_not_sent_twice_and_each_reader_gets_an_own_one(world, board):
    address = f"{API}/phases/{world.phase.pk}/leaderboard/"
    Phase.objects.update(board="organisers")
    first = world.ask("organiser").get(address)
    again = world.ask("organiser").get(
        address, headers={"If-None-Match": first["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    assert (
        world.ask("stranger")
        .get(address, headers={"If-None-Match": first["ETag"]})
        .status_code
        == 200
    )
    assert "Authorization" in first["Vary"]
    assert first["Content-Type"] == "application/json"


def test_an_empty_board_is_a_board(world):
    assert asked(world)["rows"] == []
    assert asked(world)["columns"] == []
