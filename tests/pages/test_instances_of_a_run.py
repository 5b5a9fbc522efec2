"""A run instance by instance: who may read what, and an address for each context with its ranking."""

import re

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation

from scoring.comparison import reading
from tasks.gold.gold_files import load_gold
from tasks.models import Phase
from tasks.types import task_types
from tests import factories
from tests.api.sending import score
from tests.scoring import boards, compared
from tests.tasks.test_every_type import sample

pytestmark = pytest.mark.django_db

CITANCE = "D01-0004, citance 1 (D05-0001)"


def ask(client, run, viewer=None, *, status=200, **query) -> str:
    client.logout()
    if viewer:
        client.force_login(viewer)
    response = client.get(reverse("submission-instances", args=[run.pk]), query)
    assert response.status_code == status
    return re.sub(r"\s+", " ", response.content.decode())


@pytest.fixture
def phase() -> Phase:
    return compared.make_phase()


@pytest.fixture
def run(phase):
    return compared.scored(phase, 9, wrong="<b>9</b>")


@pytest.fixture
def member(run):
    return run.team.memberships.get().user


@pytest.fixture
def staff():
    return factories.make_user(is_staff=True)


def test_each_context_has_an_address_with_its_ranking_the_gold_and_every_metric(client, staff):
    kind = task_types()["citation-resolution"]
    gold, file, _ = sample(kind)
    task = factories.make_task(type=kind.slug, rules=["corrected"])
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=gold, reason="for tests")
    ranked = factories.make_submission(phase=phase, content=file.read_bytes())
    score(ranked)
    every = ask(client, ranked, staff)
    assert 'href="?instance=tides_3"' in every
    told = ask(client, ranked, staff, instance="tides_3")
    assert "Storms and silt change what a gauge records &lt;REF&gt;." in told
    answer, given = told.partition("<dt>Answer</dt>")[2], told.partition("<dt>Gold</dt>")[2]
    assert re.search(r"1\. \w+: .+ 2\. \w+: ", answer)
    assert re.search(r"storm: .+ silt: ", given.partition("<dt>Answer</dt>")[0])
    assert "<dt>Success@n</dt>" in told
    assert "Floats" not in told


def test_a_team_reads_its_own_answers_without_gold_and_what_tells_of_it(client, run, member):
    told = ask(client, run, member, instance=CITANCE)
    assert "The gold of this phase is not shown to you" in told
    assert "What each metric saw" not in told
    assert "<dt>Gold</dt>" not in told
    assert "&lt;b&gt;9" in ask(client, run, member, page=2)
    client.force_login(member)
    assert (
        reverse("submission-instances", args=[run.pk])
        in client.get(reverse("submission", args=[run.pk])).content.decode()
    )


def test_a_team_that_is_told_nothing_of_its_runs_yet_reads_nothing_here(client, run, member, staff):
    Phase.objects.update(board="organisers", own_scores="nothing")
    ask(client, run, member, status=404)
    ask(client, run, staff)


def test_others_read_it_where_gold_and_runs_are_given_out_and_nowhere_else(client, phase, run):
    Phase.objects.update(shows_instances=True)
    for viewer in (None, factories.make_user()):
        ask(client, run, viewer, status=404)
    Phase.objects.update(gold_is_public=True)
    for viewer in (None, factories.make_user()):
        told = ask(client, run, viewer, instance=CITANCE)
        assert "<dt>Gold</dt>" in told
        assert "Overlap F1, micro" in told
    standing = boards.address("board", phase) + f"runs/{run.pk}/"
    assert reverse("submission-instances", args=[run.pk]) in client.get(standing).content.decode()
    type(run).objects.filter(pk=run.pk).update(status="withdrawn")
    ask(client, run, status=404)
    type(run).objects.filter(pk=run.pk).update(status="scored")
    phase.task.season.is_public = False
    phase.task.season.save()
    ask(client, run, status=404)


def test_instances_come_in_pages(client, run, staff, monkeypatch):
    monkeypatch.setattr(reading, "PAGE", 8)
    names = []
    for number in (1, 2, 3):
        told = ask(client, run, staff, page=number)
        assert f"page {number} of 3" in told
        names += re.findall(r'<h2 id="instance-\d+"><a href="[^"]+">([^<]+)</a>', told)
    assert len(names) == len(set(names)) == 20
    assert "page 3 of 3" in ask(client, run, staff, page=99)


def test_what_an_address_names_must_be_there(client, phase, run, staff):
    ask(client, run, staff, status=404, instance="no such")
    ask(client, run, staff, status=404, instance="x" * 5_000)
    assert "rules corrected, gold v1" in ask(client, run, staff, rules="official-1999", page="-3")
    waiting = factories.make_submission(phase=phase)
    ask(client, waiting, staff, status=404)
    type(run).objects.filter(pk=run.pk).delete()
    ask(client, run, staff, status=404)


def test_statistics_that_are_gone_are_said_to_be(client, run, staff):
    run.evaluations.update(statistics="nowhere.npz")
    assert "The stored statistics of this run are missing" in ask(client, run, staff)


def test_sentences_are_told_apart_by_how_they_came_out_and_each_outcome_has_an_address(client, run, staff):
    every = ask(client, run, staff)
    assert 'href="?outcome=right"' in every
    assert "Sentence by sentence" in every
    told = ask(client, run, staff, outcome="wrong")
    assert re.search(r"\b(1 instance|2 instances)\b", told)
    assert "<strong>wrong, without such words</strong>" in told
    assert '<a href="?outcome=wrong" aria-current="true">' in re.sub(r"\s+", " ", told)


def test_an_outcome_that_there_is_not_shows_all(client, run, staff):
    assert "20 instances" in ask(client, run, staff, outcome="nonsense")


def test_who_may_not_see_the_gold_is_told_no_outcome_and_cannot_filter_by_one(client, run, member):
    told = ask(client, run, member, outcome="wrong")
    assert "20 instances" in told
    assert "Sentence by sentence" not in told
    assert "outcome=right" not in told


@pytest.mark.parametrize(
    ("whose", "said"), [("gold", "des Golds"), ("", "Die ganze Antwort"), ("A", "von A")]
)
def test_a_long_text_is_folded_under_words_of_the_readers_language(whose, said):
    with translation.override("de"):
        folded = render_to_string("runs/_instance_text.html", {"text": "x" * 1000, "whose": whose})
    assert said in folded
    assert "answer" not in folded
