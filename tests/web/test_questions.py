"""Questions on a season, public and private answers, and reports of abuse."""

import pytest
from django.test import Client
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.ops.accounts import collect_user_data
from tasks.models import Question, Report, Season
from tasks.seasons import announcements as questions, announcements as reports
from tasks.seasons.announcements import answer_question, ask
from tests import factories
from tests.api.conftest import API
from tests.tasks.mailing import letters_to
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _address(settings):
    settings.BASE_URL = "https://board.example.org"


@pytest.fixture
def organiser():
    return factories.make_user(name="Olga")


@pytest.fixture
def season(organiser):
    return factories.make_season(
        organiser=organiser, slug="the-season", title="The season"
    )


@pytest.fixture
def ada(client):
    person = factories.make_user(name="Ada")
    client.force_login(person)
    return person


def as_somebody(person=None) -> Client:
    other = Client()
    if person:
        other.force_login(person)
    return other


def read(client, season) -> str:
    return text_of(client.get(reverse("questions", args=[season.slug])))


def post_question(client, season, text: str):
    return client.post(
        reverse("questions", args=[season.slug]), {"text": text}, follow=True
    )


def post_answer(organiser, season, **data):
    address = reverse("organise-answer", args=[season.slug, Question.objects.get().pk])
    return as_somebody(organiser).post(address, data)


def test_a_question_is_read_by_its_asker_and_organisers_until_it_is_answered(
    client, season, ada, organiser
):
    assert "The organisers have your question" in text_of(
        post_question(client, season, "Do abstracts count?")
    )
    assert "Not answered yet" in read(client, season)
    assert "abstracts" not in read(as_somebody(), season)
    assert "abstracts" not in read(as_somebody(factories.make_user()), season)
    page = text_of(
        as_somebody(organiser).get(reverse("organise-questions", args=[season.slug]))
    )
    assert "1 question without an answer" in page
    assert "Do abstracts count?" in page
    assert "Ada" in page
    attention = text_of(
        as_somebody(organiser).get(reverse("organise", args=[season.slug]))
    )
    assert "Questions without an answer 1" in attention
    assert letters_to(organiser) == [
        (
            "[Citeboard] A question on The season\n\nA question on The season.\n\nDo abstracts count?\n\n"
            "https://board.example.org/seasons/the-season/organise/questions/"
        )
    ]


def test_a_public_answer_is_everybodys_and_does_not_say_who_asked(
    client, season, ada, organiser
):
    post_question(client, season, "Do abstracts count?")
    post_answer(organiser, season, answer="**Yes.**", how="public")
    page = read(as_somebody(), season)
    assert "Do abstracts count?" in page
    assert "Yes." in page
    assert "Ada" not in page
    assert letters_to(ada) == [
        (
            "[Citeboard] Your question on The season was answered\n\n"
            "Your question on The season was answered.\n\n"
            "You asked:\n\nDo abstracts count?\n\nThe organisers say:\n\n**Yes.**\n\n"
            "https://board.example.org/questions/the-season/"
        )
    ]


def test_a_private_answer_is_the_askers_and_may_be_published_later(
    client, season, ada, organiser
):
    post_question(client, season, "May we be late?")
    post_answer(organiser, season, answer="Until noon.", how="private")
    assert "Until noon." in read(client, season)
    assert "Until noon." not in read(as_somebody(), season)
    assert (
        as_somebody().get(f"{API}/seasons/{season.slug}/questions/").json()["results"]
        == []
    )
    answered = reverse("organise-answer", args=[season.slug, Question.objects.get().pk])
    form = as_somebody(organiser).get(answered).context["form"]
    assert form["how"].value() == "private"
    post_answer(organiser, season, answer="Until noon.", how="public")
    assert "Until noon." in read(as_somebody(), season)
    entry = find_history_of_place(season).first()
    assert entry.changes == [{"key": "is_public", "before": False, "after": True}]


def test_nobody_answers_the_questions_of_another_season(season, ada):
    question = ask(season=season, text="Why?", by=ada)
    other = factories.make_user()
    elsewhere = factories.make_season(organiser=other)
    address = reverse("organise-answer", args=[elsewhere.slug, question.pk])
    assert (
        as_somebody(other).post(address, {"answer": "So.", "how": "public"}).status_code
        == 404
    )
    assert Question.objects.get().answer == ""


@pytest.mark.both_databases
def test_questions_are_limited_by_the_hour(client, season, ada, monkeypatch):
    monkeypatch.setattr(questions, "MAX_QUESTIONS_AN_HOUR", 2)
    for number in range(2):
        post_question(client, season, f"Question {number}")
    refused = client.post(
        reverse("questions", args=[season.slug]), {"text": "One more"}
    )
    assert refused.status_code == 422
    assert "ask on later" in text_of(refused)
    assert (
        client.post(
            f"{API}/seasons/{season.slug}/questions/", {"text": "More"}
        ).status_code
        == 409
    )
    assert Question.objects.count() == 2


def test_an_empty_or_endless_question_is_refused(client, season, ada):
    for text in ("", "   ", "x" * (questions.MAX_MESSAGE_CHARACTERS + 1)):
        assert post_question(client, season, text).status_code == 422
    assert Question.objects.count() == 0


def test_of_a_draft_nobody_asks_anything(client, season, ada):
    Season.objects.update(is_public=False)
    assert post_question(client, season, "Why?").status_code == 404


def test_the_api_asks_and_answers(client, season, ada, organiser):
    address = f"{API}/seasons/{season.slug}/questions/"
    asked = client.post(address, {"text": "Why?"}).json()
    assert [own["text"] for own in client.get(address).json()["results"]] == ["Why?"]
    boss = as_somebody(organiser)
    assert [own["text"] for own in boss.get(address).json()["results"]] == ["Why?"]
    said = boss.post(
        f"{address}{asked['id']}/answer/", {"answer": "So.", "is_public": "true"}
    )
    assert said.json()["answer"] == "So."
    assert [own["answer"] for own in as_somebody().get(address).json()["results"]] == [
        "So."
    ]


@pytest.mark.both_databases
def test_a_report_reaches_the_staff_who_close_it(client, ada):
    staff = factories.make_user(is_staff=True)
    client.post(
        reverse("report"), {"address": "/teams/x/", "text": "The name is an insult."}
    )
    assert letters_to(staff) == [
        (
            "[Citeboard] Abuse is reported\n\nAbuse is reported.\n\nAbout /teams/x/.\n\n"
            "The name is an insult.\n\nhttps://board.example.org/operate/reports/"
        )
    ]
    boss = as_somebody(staff)
    page = text_of(boss.get(reverse("operate-reports")))
    assert "The name is an insult." in page
    assert ada.email in page
    boss.post(reverse("operate-report-close", args=[Report.objects.get().pk]))
    assert "closed" in text_of(boss.get(reverse("operate-reports")))
    assert client.get(reverse("operate-reports")).status_code == 404


def test_reports_that_nobody_has_closed_come_first(ada):
    staff = factories.make_user(is_staff=True)
    texts = ["An older insult.", "A newer insult."]
    _, newer = (reports.report_abuse(address="", text=text, by=ada) for text in texts)
    reports.close_abuse_report(report=newer, by=staff)
    page = text_of(as_somebody(staff).get(reverse("operate-reports")))
    assert sorted(texts, key=page.index) == texts


def test_questions_that_wait_for_an_answer_come_first(season, ada, organiser):
    texts = ["The older question?", "The newer question?"]
    _, newer = (ask(season=season, text=text, by=ada) for text in texts)
    answer_question(question=newer, text="So.", is_public=True, by=organiser)
    address = reverse("organise-questions", args=[season.slug])
    page = text_of(as_somebody(organiser).get(address))
    assert sorted(texts, key=page.index) == texts


@pytest.mark.both_databases
def test_reports_are_limited_by_the_hour(client, ada, monkeypatch):
    monkeypatch.setattr(reports, "MAX_REPORTS_AN_HOUR", 1)
    assert client.post(f"{API}/reports/", {"text": "An insult."}).status_code == 201
    assert client.post(f"{API}/reports/", {"text": "Again."}).status_code == 409
    assert client.post(reverse("report"), {"text": "Again."}).status_code == 422
    assert Report.objects.count() == 1


def test_an_asker_who_leaves_keeps_the_question_without_a_name(season, ada, organiser):
    question = ask(season=season, text="Why?", by=ada)
    ada.delete()
    changed = answer_question(
        question=question, text="So.", is_public=True, by=organiser
    )
    assert changed.asked_by is None


@pytest.mark.both_databases
def test_who_asks_for_their_data_gets_their_questions_and_reports(client, season, ada):
    post_question(client, season, "Do abstracts count?")
    client.post(reverse("report"), {"text": "This is an insult."})
    kept = collect_user_data(ada)
    assert [each["text"] for each in kept["questions"]] == ["Do abstracts count?"]
    assert [each["text"] for each in kept["reports"]] == ["This is an insult."]
