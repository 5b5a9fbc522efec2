"""What participants are told on their way: before sending, after signing up, and where nothing goes on."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from citeboard.teams.membership import renew_invitation, sign_invitation_secret
from tasks.models import Phase, Submission
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

PASSWORD = "a longer password than most"


@pytest.fixture
def phase():
    return factories.make_phase(runs_per_day=2)


@pytest.fixture
def team(client, phase):
    person = factories.make_user(name="Ada Morel")
    client.force_login(person)
    return factories.make_team(season=phase.task.season, lead=person, name="The team")


def send(client, phase, **fields):
    file = SimpleUploadedFile("run.jsonl", factories.run_bytes())
    data = {"run": file, "system": "Mine", "kind": "primary", "do": "submit"} | fields
    return client.post(boards.address("upload", phase), data)


def upload_page(client, phase) -> str:
    return client.get(boards.address("upload", phase)).content.decode()


def test_the_upload_page_has_both_commands_with_everything_filled_in(
    client, phase, team
):
    page = upload_page(client, phase)
    assert (
        f"citeboard check {phase.task.type} --inputs inputs.zip --run run.jsonl" in page
    )
    assert f"{settings.BASE_URL}/api/v1/phases/{phase.pk}/submissions/" in page
    assert f"-F team={team.slug}" in page


def test_it_says_what_is_left_before_anything_is_sent(client, phase, team):
    assert "one of the runs that The team has left: 2 runs left" in text_of(
        client.get(boards.address("upload", phase))
    )


def test_without_a_run_left_the_button_is_off_and_the_page_says_when_it_is_renewed(
    client, phase, team
):
    Phase.objects.update(runs_per_day=1, time_zone=factories.lasting_day())
    assert "disabled" not in submit_button(upload_page(client, phase))
    send(client, phase)
    page = upload_page(client, phase)
    assert "disabled" in submit_button(page)
    assert "The team has no run left today; the limit renews" in text_of(
        client.get(boards.address("upload", phase))
    )
    Phase.objects.update(runs_per_day=None, runs_in_total=1)
    assert "no run left in this phase" in text_of(
        client.get(boards.address("upload", phase))
    )


def submit_button(page: str) -> str:
    return re.search(r'<button[^>]*value="submit"[^>]*>', page)[0]


def test_the_very_same_file_is_asked_about_and_taken_once_that_is_confirmed(
    client, phase, team
):
    send(client, phase)
    asked = send(client, phase)
    assert asked.status_code == 422
    assert "This very file was submitted before, as run 1 (Mine)." in text_of(asked)
    assert 'name="again"' in asked.content.decode()
    assert Submission.objects.count() == 1
    assert send(client, phase, again="on").status_code == 302
    assert Submission.objects.count() == 2


def test_nothing_is_asked_about_a_file_of_another_team_or_of_a_run_that_failed(
    client, phase, team
):
    factories.make_submission(phase=phase, content=factories.run_bytes())
    assert send(client, phase).status_code == 302
    Submission.objects.filter(team=team).update(status="failed")
    assert send(client, phase).status_code == 302


def test_the_team_page_marks_the_run_on_the_board(client, phase, team):
    gold = phase.task.gold.get()
    for system, value in (("Best", 0.9), ("Worse", 0.1)):
        boards.score(
            factories.make_submission(
                phase=phase, team=team, system=system, status="scored"
            ),
            value,
            gold=gold,
        )
    page = text_of(client.get(reverse("team", args=[team.slug])))
    assert "Best on the board" in page
    assert page.count("on the board") == 1
    Phase.objects.update(board="nobody", version=2)
    assert "on the board" not in text_of(client.get(reverse("team", args=[team.slug])))


def test_who_confirms_an_address_is_signed_in_and_back_where_they_came_from(
    client, phase
):
    season = reverse("season", args=[phase.task.season.slug])
    fields = {
        "email": "new@example.org",
        "password1": PASSWORD,
        "password2": PASSWORD,
        "name": "New Person",
    }
    client.post(
        f"{reverse('account_signup')}?next={season}", {**fields, "next": season}
    )
    link = re.search(
        rf"{settings.BASE_URL}(/accounts/confirm-email/\S+)", mail.outbox[0].body
    )[1]
    response = client.post(link)
    assert response["Location"] == season
    assert "New Person" in text_of(client.get(season))


def test_the_link_signs_nobody_in_who_has_not_signed_up_in_that_browser(client, phase):
    fields = {
        "email": "new@example.org",
        "password1": PASSWORD,
        "password2": PASSWORD,
        "name": "New Person",
    }
    client.post(reverse("account_signup"), fields)
    link = re.search(
        rf"{settings.BASE_URL}(/accounts/confirm-email/\S+)", mail.outbox[0].body
    )[1]
    client.cookies.clear()
    assert reverse("account_login") in client.post(link)["Location"]


def test_the_header_leads_to_the_runs_of_ones_teams(client, phase, team):
    run = factories.make_submission(phase=phase, team=team, system="Mine")
    factories.make_submission(phase=phase, system="Somebody else's")
    header = client.get("/").content.decode().split("</header>")[0]
    assert reverse("own-runs") in header
    assert reverse("account_email") not in header
    page = client.get(reverse("own-runs"))
    assert reverse("submission", args=[run.pk]) in page.content.decode()
    assert boards.address("upload", phase) in page.content.decode()
    assert "Somebody else" not in text_of(page)


def test_the_own_teams_are_listed_by_name(client, team):
    for name in ("Zebra", "Aardvark"):
        factories.make_team(name=name, lead=team.members.get())
    page = text_of(client.get(reverse("own-runs")))
    assert page.index("Aardvark") < page.index("Zebra")
    names = [row["name"] for row in client.get(reverse("api:teams")).json()["results"]]
    assert names.index("Aardvark") < names.index("Zebra")


def test_who_is_in_no_team_of_the_season_reads_what_to_do_next(client, phase):
    client.force_login(factories.make_user())
    response = client.get(boards.address("upload", phase))
    page = response.content.decode()
    assert response.status_code == 403
    assert reverse("teams") in page
    assert reverse("season", args=[phase.task.season.slug]) in page


def test_a_first_invitation_speaks_of_none_before(client, team):
    renew = reverse("team-invitation-renew", args=[team.slug])
    assert "does not work any more" not in text_of(client.post(renew, follow=True))
    assert "the previous one does not work any more" in text_of(
        client.post(renew, follow=True)
    )


def test_an_invitation_that_has_ended_says_whom_to_ask(client, team):
    secret = sign_invitation_secret(renew_invitation(team=team, by=team.members.get()))
    renew_invitation(team=team, by=team.members.get())
    page = text_of(client.get(reverse("join", args=[secret])))
    assert "Ask the lead for the current one" in page
    assert "create a team of your own" in page


def test_a_waiting_page_says_how_to_go_on_without_scripts(client, phase, team):
    run = factories.make_submission(phase=phase, team=team)
    page = client.get(reverse("submission", args=[run.pk])).content.decode()
    [words] = re.findall(r"<noscript>(.*?)</noscript>", page, re.DOTALL)
    assert reverse("submission", args=[run.pk]) in words
    run.status = "scored"
    run.save()
    assert (
        "<noscript>"
        not in client.get(reverse("submission", args=[run.pk])).content.decode()
    )


def test_what_is_dangerous_is_folded_and_nothing_unfolds_it():
    """Each button of that class stands in a part that has to be opened first, or on a page that only asks."""
    found = 0
    for template in Path(settings.BASE_DIR, "templates").rglob("*.html"):
        if template.name in ("delete.html", "_go_on.html"):
            continue
        text = template.read_text()
        for place in re.finditer(r'class="danger"', text):
            before = text[: place.start()]
            opened = before.rfind("<details")
            assert opened > before.rfind("</details>"), template.name
            assert re.match(
                r'<details class="confirm"( id="[^"]*")?>', text[opened:]
            ), template.name
            found += 1
    assert found > 3
