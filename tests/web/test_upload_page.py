"""Sending a run in a browser: told everything at once, and nothing counts until it is taken."""

import base64
import csv
import datetime as dt
import io
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from scoring.__main__ import main
from tasks.models import Submission
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return factories.make_phase(runs_per_day=2, runs_in_total=9)


@pytest.fixture
def member(client, phase):
    person = factories.make_user()
    factories.make_team(season=phase.task.season, lead=person, name="The team")
    client.force_login(person)
    return person


def text_of(response) -> str:
    return response.content.decode()


def send(
    client,
    phase,
    content=None,
    *,
    do="submit",
    filename="run.jsonl",
    headers=None,
    **fields,
):
    file = SimpleUploadedFile(
        filename, factories.run_bytes() if content is None else content
    )
    data = {"run": file, "system": "My system", "kind": "primary", "do": do} | fields
    return client.post(boards.address("upload", phase), data, headers=headers or {})


def test_the_page_shows_the_format_and_what_is_left(client, phase, member):
    page = text_of(client.get(boards.address("upload", phase)))
    assert (
        "&quot;sentences&quot;: [&quot;7&quot;" in page or '"sentences": ["7"' in page
    )
    assert "2 runs left today, 9 in total" in page


def test_a_good_run_is_taken_and_leads_to_its_page(client, phase, member):
    response = send(
        client, phase, description="What it does", system="  Best   system "
    )
    submission = Submission.objects.get()
    assert response["Location"] == reverse("submission", args=[submission.pk])
    assert (submission.system, submission.description) == (
        "Best system",
        "What it does",
    )
    assert (submission.submitted_by, submission.team.name) == (member, "The team")


def test_a_run_sent_by_script_is_told_where_to_go_on(client, phase, member):
    response = send(client, phase, headers={"HX-Request": "true"})
    assert response.status_code == 204
    assert response["HX-Redirect"] == reverse(
        "submission", args=[Submission.objects.get().pk]
    )


def test_a_bad_run_is_told_every_line_and_costs_nothing(client, phase, member):
    good = factories.run_bytes()
    content = (
        good + b'{"topic": 1\n{"topic": "D01-0001", "citing": "X", "sentences": 3}\n'
    )
    response = send(
        client, phase, content, system="<b>Kept</b>", description="Kept too"
    )
    page = text_of(response)
    assert response.status_code == 422
    assert "This run was refused" in page
    lines = good.count(b"\n")
    numbers = [int(number) for number in re.findall(r'<td class="n">(\d+)</td>', page)]
    assert {lines + 1, lines + 2} <= set(numbers)
    assert "&quot;sentences&quot;: 3" in page
    assert 'value="&lt;b&gt;Kept&lt;/b&gt;"' in page
    assert "Kept too" in page
    assert not Submission.objects.exists()
    assert "2 runs left today" in page


def test_what_many_lines_have_wrong_alike_is_said_once_with_how_many(
    client, phase, member, tmp_path, capsys, settings
):
    content = b'{"sentences": 3}\n' * 20
    page = text_of(send(client, phase, content))
    row = re.sub(r"<[^>]+>|\s+", " ", page)
    assert re.search(r"The same in 19 more lines: 2, 3, 4, 5, 6, …", row)
    (tmp_path / "run.jsonl").write_bytes(content)
    gold = str(settings.BASE_DIR / "examples" / "demo-season")
    assert (
        main(
            [
                "check",
                phase.task.type,
                "--gold",
                gold,
                "--run",
                str(tmp_path / "run.jsonl"),
            ]
        )
        == 2
    )
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) < 5
    assert any(
        line.endswith(" (and 19 more lines: 2, 3, 4, 5, 6, …)") for line in lines
    )


def test_the_problems_are_a_csv_that_no_spreadsheet_calculates(client, phase, member):
    page = text_of(send(client, phase, b'=1+1\n{"topic": "D01-0001"}\n'))
    encoded = re.search(
        r'href="data:text/csv;base64,([^"]+)"\s+download="problems.csv"', page
    )[1]
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(encoded).decode())))
    rows = [row for row in rows if row["line"]]
    assert rows[0]["line"] == "1"
    assert rows[0]["found"] == "'=1+1"
    assert rows[0]["severity"] == "error"


def test_a_check_stores_nothing_and_needs_no_name(client, phase, member):
    response = send(client, phase, do="check", system="")
    assert "this run can be scored" in text_of(response)
    assert response.status_code == 200
    assert not Submission.objects.exists()


def test_a_check_tells_warnings_too(client, phase, member):
    response = send(
        client, phase, factories.run_bytes(topics=factories.TOPICS[:1]), do="check"
    )
    assert response.status_code == 200
    assert "no answers for 1 of 2 topics" in text_of(response)
    assert "Look at these warnings" in text_of(response)


def test_a_check_of_a_file_too_large_to_read_now_promises_nothing(
    client, phase, member, settings
):
    settings.CHECK_MAX_MB = 0
    page = text_of(send(client, phase, do="check"))
    assert "too large to be read while you wait" in page
    assert "is checked once it is submitted" in page
    assert "This run can be scored" not in page


def test_a_check_of_a_bad_run_says_that_it_would_be_refused(client, phase, member):
    response = send(client, phase, b"{", do="check")
    assert response.status_code == 422
    assert "would be refused" in text_of(response)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"system": ""}, "Give the system a name."),
        ({"system": "x" * 90}, "at most 80"),
        ({"kind": "baseline"}, "baseline"),
    ],
)
def test_what_is_missing_is_said_beside_its_field(client, phase, member, fields, said):
    response = send(client, phase, **fields)
    assert response.status_code == 422
    assert said in text_of(response)
    assert not Submission.objects.exists()


def test_without_a_file_the_form_asks_for_one(client, phase, member):
    response = client.post(
        boards.address("upload", phase), {"system": "x", "do": "submit"}
    )
    assert "Choose the file that holds the run." in text_of(response)


def test_when_nothing_is_left_the_page_says_when_it_renews(client, phase, member):
    for number in range(2):
        assert send(client, phase, factories.other_run(number)).status_code == 302
    response = send(client, phase, factories.other_run(7))
    assert response.status_code == 422
    assert "No run is left in this phase; the next may be submitted at" in text_of(
        response
    )
    assert Submission.objects.count() == 2


def test_a_file_that_is_too_large_is_refused_by_its_size(
    client, phase, member, settings
):
    settings.UPLOAD_MAX_MB = 1
    response = send(client, phase, b"x" * (1_100_000))
    assert "larger than 1 MB" in text_of(response)


def test_a_closed_phase_takes_no_run_and_says_since_when(client, member, phase):
    now = timezone.now()
    type(phase).objects.update(
        opens=now - dt.timedelta(days=2), closes=now - dt.timedelta(days=1)
    )
    page = text_of(client.get(boards.address("upload", phase)))
    assert "closed since" in page
    assert 'value="submit"' not in page
    assert "Runs are accepted from" in text_of(send(client, phase))


def test_a_phase_without_gold_says_so(client, member, phase):
    other = factories.make_phase(
        task=factories.make_task(season=phase.task.season), with_gold=False
    )
    assert "has no gold yet" in text_of(send(client, other, do="check"))


def test_somebody_without_a_team_in_the_season_is_told_who_may(client, phase):
    client.force_login(factories.make_user())
    response = client.get(boards.address("upload", phase))
    assert response.status_code == 403
    assert "Members of a team that takes part" in text_of(response)


def test_a_visitor_is_asked_to_sign_in_first(client, phase):
    address = boards.address("upload", phase)
    assert client.get(address)["Location"] == f"/accounts/login/?next={address}"


@pytest.mark.both_databases
def test_with_two_teams_one_is_chosen(client, phase, member):
    second = factories.make_team(
        season=phase.task.season, lead=member, name="Second team"
    )
    assert "Second team" in text_of(client.get(boards.address("upload", phase)))
    send(client, phase, team=second.pk)
    assert Submission.objects.get().team == second


def test_nobody_sends_for_a_team_of_others(client, phase, member):
    factories.make_team(season=phase.task.season, lead=member)
    others = factories.make_team(season=phase.task.season)
    response = send(client, phase, team=others.pk)
    assert response.status_code == 422
    assert not Submission.objects.exists()


def test_the_names_of_files_are_kept_harmless(client, phase, member):
    send(client, phase, filename="../../<img src=x>.jsonl")
    submission = Submission.objects.get()
    assert "/" not in submission.filename
    assert "<img" not in text_of(
        client.get(reverse("submission", args=[submission.pk]))
    )
