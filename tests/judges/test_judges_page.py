"""The organisers' page on judges, the notice that teams read, and the same by token."""

import pytest
from django.urls import reverse

from citeboard.core.models import AuditEntry
from citeboard.teams.models import Token
from scoring.models import BackgroundJob, PhaseJudge
from scoring.worker.score import score
from tasks.jobs.work import claim_and_do_job_by_id
from tests.factories import make_team, make_user
from tests.judges.stub import stub_endpoint
from tests.judges.test_judging_runs import (  # noqa: F401  (fixtures)
    offers,
    recall,
    truthful,
    work,
)
from tests.scoring.citing import citing_phase, citing_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def organiser(client):
    person = make_user()
    client.force_login(person)
    return person


@pytest.fixture
def phase(tmp_path, organiser):
    return citing_phase(
        tmp_path / "phase", organiser=organiser, entailment="store:support-a"
    )


def page(phase, name="organise-judges", *parts) -> str:
    return reverse(name, args=[phase.task.season.slug, *parts])


def test_an_organiser_agrees_estimates_and_reads_cost_and_budget(client, phase, offers):  # noqa: F811
    with stub_endpoint(truthful) as stub:
        offers(stub)
        told = client.get(page(phase)).content.decode()
        assert "support-a" in told
        assert "0.4 USD for input, 1.6 USD for output" in told
        agree = page(phase, "organise-judges-agree", phase.pk)
        answer = client.post(agree, {"budget": "2"})
        assert answer.status_code == 422
        assert "Without your consent no text" in answer.content.decode()
        assert not PhaseJudge.objects.exists()
        answer = client.post(agree, {"consent": "on"})
        assert answer.status_code == 422
        assert "a judge with a price needs a budget" in answer.content.decode().lower()
        assert not PhaseJudge.objects.exists()
        told = client.post(agree, {"budget": "2", "consent": "on"}, follow=True)
        assert "is asked for runs that wait" in told.content.decode()
        work()
        run = citing_run(phase)
        score(run.jobs.get().pk)
        estimate = page(phase, "organise-judges-estimate", phase.pk)
        told = done(client, estimate)
        assert "would be asked, for about 0.0" in told
        assert not stub.prompts, "an estimate asks nothing"
        work()
        assert recall(run) == 100
        told = client.get(page(phase)).content.decode()
        assert "of 2.00 USD" in told
        assert AuditEntry.objects.filter(action="judge-agreed").count() == 1
        dismiss = page(phase, "organise-judges-dismiss", phase.pk)
        client.post(dismiss)
        later = citing_run(phase, "Rome is dry [1].")
        work()
        assert later.evaluations.count() == 0


def done(client, address) -> str:
    """Post to an address, do the background job, and return what the job's page says."""
    answer = client.post(address)
    job = BackgroundJob.objects.get(pk=answer.url.strip("/").split("/")[-1])
    claim_and_do_job_by_id(job.job_id)
    return client.get(answer.url).content.decode()


def test_teams_read_where_texts_go_before_they_send_a_run(
    client,
    phase,
    offers,  # noqa: F811
    organiser,
):
    member = make_user()
    make_team(season=phase.task.season, lead=member)
    upload = reverse(
        "upload", args=[phase.task.season.slug, phase.task.slug, phase.slug]
    )
    with stub_endpoint(truthful) as stub:
        offers(stub)
        early = citing_run(phase)
        agree = page(phase, "organise-judges-agree", phase.pk)
        client.force_login(member)
        assert "are sent to" not in client.get(upload).content.decode()
        client.force_login(organiser)
        client.post(agree, {"budget": "2", "consent": "on"})
        client.force_login(member)
        told = client.get(upload).content.decode()
        host = stub.address.split("/")[2]
        assert f"are sent to {host}" in told
        assert "The judge support-a (model stub-1)" in told
        work()
        assert not stub.prompts, "a run from before the consent is not sent"
        assert early.evaluations.count() == 0


def test_a_program_agrees_asks_and_dismisses_by_token(client, phase, offers, organiser):  # noqa: F811
    token = Token.objects.create_token(user=organiser, name="judges")[1]
    headers = {"Authorization": f"Token {token}"}

    def post(name: str, **given):
        path = reverse(f"api:{name}", args=[phase.pk])
        return client.post(path, given, "application/json", headers=headers)

    with stub_endpoint(truthful) as stub:
        offers(stub)
        assert post("phase-judge", budget="1").status_code == 400
        assert post("ask-judge").status_code == 409
        told = post("phase-judge", budget="1", consent=True)
        assert told.status_code == 200, told.content
        assert told.json()["host"] == stub.address.split("/")[2]
        assert post("ask-judge").status_code == 202
        assert post("dismiss-judge").json() == {"judge": "support-a"}


def test_a_program_that_does_not_consent_is_refused(client, phase, offers):  # noqa: F811
    with stub_endpoint(truthful) as stub:
        offers(stub)
        path = reverse("api:phase-judge", args=[phase.pk])
        given = {"budget": "1", "consent": False}
        answer = client.post(path, given, "application/json")
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == ["consent"]
    assert not PhaseJudge.objects.exists()


def test_consent_asking_and_dismissal_stand_in_the_history(client, phase, offers):  # noqa: F811
    with stub_endpoint(truthful) as stub:
        offers(stub)
        given = {"budget": "2", "consent": "on"}
        client.post(page(phase, "organise-judges-agree", phase.pk), given)
        client.post(page(phase, "organise-judges-ask", phase.pk))
        client.post(page(phase, "organise-judges-dismiss", phase.pk))
    entries = AuditEntry.objects.filter(action__startswith="judge-").order_by("pk")
    assert list(entries.values_list("action", flat=True)) == [
        "judge-agreed",
        "judge-asked",
        "judge-dismissed",
    ]
