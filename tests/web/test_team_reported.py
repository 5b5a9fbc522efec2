"""What teams report of their runs: taken with care, shown as theirs, against the scores and never ranked."""

import csv
import io

import pytest
from django.urls import reverse

from citeboard.teams.models import Token
from tasks.models import Phase, Submission, TeamFigure
from tasks.submissions.submit import submit_run
from tests import factories
from tests.api.sending import send
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return factories.make_phase()


@pytest.fixture
def member(phase, client):
    user = factories.make_user()
    factories.make_team(season=phase.task.season, lead=user)
    client.force_login(user)
    return user


def upload(client, phase, **fields):
    file = io.BytesIO(factories.run_bytes())
    file.name = "run.jsonl"
    form = {"do": "submit", "run": file, "system": "Owl", **fields}
    return client.post(boards.address("upload", phase), form)


def test_a_team_gives_costs_with_its_run_and_the_run_s_page_says_whose_they_are(
    client, phase, member
):
    response = upload(
        client, phase, wall_seconds="93.5", memory_mib="2048", gpu_seconds=""
    )
    run = Submission.objects.get()
    assert response.status_code == 302
    assert {figure.name: figure.value for figure in run.team_figures.all()} == {
        "wall_seconds": 93.5,
        "memory_mib": 2048,
    }
    page = text_of(client.get(reverse("submission", args=[run.pk])))
    assert "reported by the team Wall time 93.5 s Peak memory 2,048 MiB" in page


@pytest.mark.both_databases
@pytest.mark.parametrize("given", ["-1", "soon", "nan", "inf", "1e300"])
def test_what_is_no_such_number_is_refused_at_its_field_and_nothing_is_sent(
    client, phase, member, given
):
    response = upload(client, phase, wall_seconds=given)
    assert response.status_code == 422
    assert response.context["form"].errors["wall_seconds"]
    html = response.content.decode()
    assert 'id="errors-wall_seconds"' in html
    assert '<details class="field" open>' in html
    assert not Submission.objects.exists()


def test_only_types_of_task_that_leave_a_score_to_teams_ask_for_it(
    client, phase, member
):
    assert "mauve" not in client.get(boards.address("upload", phase)).content.decode()
    positional = factories.make_phase(
        task=factories.make_task(
            season=phase.task.season, type="positional-citations", rules=["corrected"]
        ),
        with_gold=False,
    )
    assert (
        'name="mauve"'
        in client.get(boards.address("upload", positional)).content.decode()
    )


def token_of(client, phase):
    user = factories.make_user()
    factories.make_team(season=phase.task.season, lead=user)
    _, secret = Token.objects.create_token(user=user, name="a program")
    return {"Authorization": f"Token {secret}"}


def test_a_program_gives_and_reads_them(client, phase):
    headers = token_of(client, phase)
    sent = send(client, phase, headers=headers, cpu_seconds="12", wall_seconds="3.25")
    assert sent.status_code == 201
    got = client.get(sent.json()["url"], headers=headers).json()
    assert got["team_reported"] == {"wall_seconds": 3.25, "cpu_seconds": 12}


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("wall_seconds", "-1", "greater than or equal to 0"),
        ("memory_mib", "much", "valid number"),
        ("cpu_seconds", "nan", "valid number"),
        (
            "mauve",
            "50",
            "runs for clsumm-1a are not given with this; there are wall_seconds, cpu_seconds",
        ),
    ],
)
def test_a_program_is_told_what_is_wrong_by_field(client, phase, field, given, said):
    headers = token_of(client, phase)
    refused = send(client, phase, headers=headers, **{field: given})
    assert refused.status_code == 400
    assert said in str(refused.json())
    assert not Submission.objects.exists()


@pytest.fixture
def board():
    phase = boards.make_phase()
    for name, value, cost in (
        ("Ada", 0.2, 10.0),
        ("Bo", 0.6, 2000.0),
        ("Cy", 0.4, None),
    ):
        run = boards.scored_run(
            phase, boards.make_team(phase, name), value, system=f"{name}'s"
        )
        if cost is not None:
            TeamFigure.objects.create(
                submission=run, phase=phase, name="wall_seconds", value=cost
            )
    boards.scored_run(phase, None, 0.1, system="A baseline")
    return phase


@pytest.mark.both_databases
def test_the_board_leads_to_quality_against_cost_with_the_table_behind_the_chart(
    client, board
):
    html = client.get(boards.address("board", board)).content.decode()
    assert 'href="?view=costs#view"' in html
    page = client.get(boards.address("costs", board))
    text = text_of(page)
    assert "Wall time (s) reported by the team" in text
    assert "1 Bo's Bo 0.6000 2,000" in text
    assert "3 Ada's Ada 0.2000 10" in text
    assert "Cy's" not in text
    for point in ('"x": [2000.0], "y": [0.6]', '"x": [10.0], "y": [0.2]'):
        assert point in page.content.decode()
    assert '"type": "log"' in page.content.decode()


def test_the_board_does_not_say_that_a_run_that_it_hides_has_figures(client):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.2)
    waiting = boards.make_run(phase, boards.make_team(phase, "Bo"))
    TeamFigure.objects.create(
        submission=waiting, phase=phase, name="wall_seconds", value=1.0
    )
    page = client.get(boards.address("board", phase)).content.decode()
    assert "view=classes" in page
    assert "view=costs" not in page


def test_costs_change_no_rank_and_are_no_column_of_the_board(client, board):
    rows = client.get(reverse("api:leaderboard", args=[board.pk])).json()
    assert [(row["team_name"], row["rank"]) for row in rows["rows"]][:3] == [
        ("Bo", 1),
        ("Cy", 2),
        ("Ada", 3),
    ]
    assert "wall_seconds" not in {column["name"] for column in rows["columns"]}
    assert rows["rows"][0]["team_reported"] == {"wall_seconds": 2000}


def test_exports_carry_them_under_a_name_that_says_whose_they_are(client, board):
    lines = list(
        csv.DictReader(
            io.StringIO(client.get(boards.address("board-csv", board)).content.decode())
        )
    )
    assert [line["team_reported_wall_seconds"] for line in lines][:3] == [
        "2000.0",
        "",
        "10.0",
    ]
    rows = client.get(boards.address("board-json", board)).json()["rows"]
    assert rows[2]["team_reported"] == {"wall_seconds": 10}
    assert rows[1]["team_reported"] == {}


def test_a_reader_chooses_the_cost_in_the_address(client, board):
    TeamFigure.objects.create(
        submission=board.submissions.get(system="Ada's"),
        phase=board,
        name="memory_mib",
        value=0,
    )
    page = client.get(
        boards.address("costs", board) + "?cost=memory_mib"
    ).content.decode()
    assert '"x": [0.0]' in page
    assert '"type": "linear"' in page
    assert "?cost=wall_seconds" in page


def test_a_board_without_any_does_not_mention_them_and_the_page_says_so(client):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.4)
    assert "costs" not in client.get(boards.address("board", phase)).content.decode()
    assert "No team has reported anything" in text_of(
        client.get(boards.address("costs", phase))
    )


def test_where_scores_are_hidden_costs_are_too(client, board):
    Phase.objects.filter(pk=board.pk).update(board=Phase.Audience.RANKS)
    assert client.get(boards.address("costs", board)).status_code == 404
    rows = client.get(reverse("api:leaderboard", args=[board.pk])).json()["rows"]
    assert {str(row["team_reported"]) for row in rows} == {"{}"}
    assert "/costs/" not in client.get(boards.address("board", board)).content.decode()


def test_a_run_sent_again_with_the_same_key_keeps_its_first_figures(phase):
    team = factories.make_team(season=phase.task.season)

    def sent(cost):
        return submit_run(
            phase=phase, team=team, user=None, upload=factories.make_upload(), system="Owl",
            idempotency_key="once", team_figures={"wall_seconds": cost},
        )  # fmt: skip

    assert sent(1) == sent(2)
    assert TeamFigure.objects.get().value == 1
