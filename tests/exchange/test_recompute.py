"""Where the gold is public, a visitor downloads gold and run, and one command gives the number."""

import datetime as dt
import html
import re
import shlex
import subprocess
import sys

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from scoring.models import Evaluation
from tasks.models import Gold, Phase
from tasks.registration.entries import accept_terms, publish_terms
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return factories.make_phase(gold_is_public=True, shows_instances=True)


@pytest.fixture
def run(phase):
    run = factories.make_submission(phase=phase, status="scored")
    boards.score(run, 0.25, gold=Gold.objects.get())
    return run


def place(phase) -> list[str]:
    return [phase.task.season.slug, phase.task.slug, phase.slug]


def standing(client, run) -> str:
    return client.get(
        reverse("standing", args=[*place(run.phase), run.pk])
    ).content.decode()


def downloads(client, run) -> list[int]:
    answers = [
        client.get(reverse("gold", args=[*place(run.phase), 1])),
        client.get(reverse("standing-run", args=[*place(run.phase), run.pk])),
    ]
    for answer in answers:
        answer.getvalue()
    return [answer.status_code for answer in answers]


def test_the_command_of_the_page_gives_what_the_site_gives(client, run, tmp_path):
    """Its downloads are made here by the test client, and its scorer is the one that the wheel is made of."""
    [command] = re.findall(r"<code>(curl .*?)</code>", standing(client, run), re.DOTALL)
    fetch, _, _, score = html.unescape(command).split(" &&\n")
    words = shlex.split(fetch)
    for name, address in zip(words[3::3], words[4::3], strict=True):
        path = address.removeprefix(settings.BASE_URL)
        (tmp_path / name).write_bytes(client.get(path).getvalue())
    program, *options = shlex.split(score)
    assert program.endswith("/bin/citeboard")
    told = subprocess.run(
        [sys.executable, "-m", "scoring", *options, "--json"],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={"PYTHONPATH": str(settings.BASE_DIR)},
    )  # fmt: skip
    assert '"overlap_f1_micro"' in told.stdout
    assert Gold.objects.get().digest in told.stdout


def test_visitors_download_both_where_the_gold_is_public(client, run):
    assert downloads(client, run) == [200, 200]


@pytest.mark.parametrize(
    "fields",
    [
        {"gold_is_public": False},
        {"board": "ranks"},
        {"shows_instances": False},
    ],
)
def test_they_get_neither_where_it_is_not(client, run, fields):
    """The last: a phase that is open still and shows no single instances."""
    Phase.objects.update(version=2, **fields)
    assert downloads(client, run) == [404, 404]


def test_they_get_neither_while_another_phase_on_the_gold_is_open(client, run):
    other = factories.make_phase(task=run.phase.task)
    assert downloads(client, run) == [404, 404]
    Phase.objects.filter(pk=other.pk).update(
        closes=timezone.now() - dt.timedelta(minutes=1)
    )
    assert downloads(client, run) == [200, 200]


def test_they_get_neither_before_an_embargo_ends_be_it_another_phase_s(client, run):
    later, before = (timezone.now() + dt.timedelta(hours=sign) for sign in (1, -1))
    Phase.objects.update(gold_from=later, version=2)
    assert downloads(client, run) == [404, 404]
    Phase.objects.update(gold_from=before, version=3)
    assert downloads(client, run) == [200, 200]
    factories.make_phase(
        task=run.phase.task, slug="other", shows_instances=True, gold_from=later
    )
    assert downloads(client, run) == [404, 404]


def test_only_runs_that_stand_on_the_board_are_given_out(client, run):
    other = factories.make_submission(phase=run.phase, team=run.team, status="scored")
    boards.score(other, 0.1, gold=Gold.objects.get())
    assert (
        client.get(
            reverse("standing-run", args=[*place(run.phase), other.pk])
        ).status_code
        == 404
    )


def test_where_the_gold_is_secret_the_page_says_what_can_be_checked(client, run):
    Phase.objects.update(gold_is_public=False)
    page = standing(client, run)
    assert "curl" not in page
    assert "The gold is not released" in page
    assert run.sha256 in page


def test_numbers_that_rest_on_a_file_of_the_season_say_so(client, run, tmp_path):
    words = tmp_path / "stopwords.txt"
    words.write_text("the\n")
    Evaluation.objects.update(options={"stopwords": str(words)})
    page = standing(client, run)
    assert "curl" not in page
    assert "it rests on a file of the season: stopwords" in page


def test_where_a_season_has_terms_they_are_accepted_first_and_the_command_takes_a_token(
    client, run
):
    season, person = run.phase.task.season, run.team.members.get()
    publish_terms(season=season, text="Do not redistribute.", by=None)
    assert downloads(client, run) == [404, 404]
    accept_terms(season=season, user=person, number=1)
    client.force_login(person)
    assert downloads(client, run) == [200, 200]
    assert "Authorization: Token $TOKEN" in html.unescape(standing(client, run))
