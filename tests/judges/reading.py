"""Pages on which organisers agree to judges, and on which teams read what judges receive."""

from django.test import Client
from django.urls import reverse

from tasks.models import Phase
from tests import factories


def offering_page(client: Client, phase: Phase, settings, path) -> str:
    """Return the page *Judges* of a season whose operator offers the judges of a file."""
    settings.JUDGES_FILE = path
    address = reverse("organise-judges", args=[phase.task.season.slug])
    return client.get(address).content.decode()


def refused_consent(client: Client, phase: Phase, **given: str) -> str:
    """Return the page after a consent that is refused, in lower case."""
    answer = consent(client, phase, **given)
    assert answer.status_code == 422
    assert not phase.phase_judges.exists()
    return answer.content.decode().lower()


def consent(client: Client, phase: Phase, **given: str):
    address = reverse("organise-judges-agree", args=[phase.task.season.slug, phase.pk])
    return client.post(address, {"consent": "on", **given})


def read_by_a_team(client: Client, phase: Phase) -> str:
    """Return the page on which a team sends a run."""
    member = factories.make_user()
    factories.make_team(season=phase.task.season, lead=member)
    client.force_login(member)
    task = phase.task
    upload = reverse("upload", args=[task.season.slug, task.slug, phase.slug])
    return client.get(upload).content.decode()
