"""The claims of a run: what its team reads there, and what others do as the phase allows."""

import json
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest
from django.urls import reverse

from citeboard.teams.models import User
from scoring.offline.evaluate import load_page_of_details, pack_details
from scoring.results.runs.claims import build_dependency_tree_drawing
from scoring.worker.score import score
from tasks.models import Phase, Submission
from tasks.submissions.run_acts import select_run
from tests.factories import make_team, make_user
from tests.kept_worlds import KeptWorld, keep_world, kept_folder
from tests.scoring.citing import citing_gold, citing_phase, citing_run
from tests.tasks.types.citations import RAIN, WIND

pytestmark = pytest.mark.django_db

PASSAGE = "Wind is air that moves."


@dataclass
class World:
    """A scored run with claims, whose phase shows no instances."""

    run: Submission
    member: User
    organiser: User


def make_world() -> World:
    member, organiser = make_user(), make_user()
    folder = kept_folder()
    phase = citing_phase(folder, organiser=organiser, entailment="word-overlap")
    citing_gold(phase, folder, RAIN, WIND)
    team = make_team(season=phase.task.season, lead=member)
    found = citing_run(
        phase,
        "It rains in Oslo [1][2]. <b>Nobody</b> knows. Rome is dry [7].",
        "Wind is air that moves [1].",
        team=team,
    )
    for job in found.jobs.all():
        score(job.pk)
    found.refresh_from_db()
    return World(found, member, organiser)


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_world, django_db_blocker)


@pytest.fixture
def world(db, kept) -> World:
    return kept()


@pytest.fixture
def run(world) -> Submission:
    return world.run


@pytest.fixture
def member(world) -> User:
    return world.member


@pytest.fixture
def organiser(world) -> User:
    return world.organiser


def page(client, run, viewer=None, **query):
    client.logout()
    if viewer:
        client.force_login(viewer)
    return client.get(reverse("submission-claims", args=[run.pk]), query)


def text(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def show(**fields) -> None:
    Phase.objects.update(**fields)


def test_a_drawn_answer_has_its_claims_and_which_of_them_are_supported(
    client, run, member, organiser
):
    there = reverse("submission-instances", args=[run.pk])
    client.force_login(organiser)
    drawn = " ".join(client.get(there).content.decode().split())
    first = drawn[drawn.index("Claims<") :]
    assert (
        '<mark class="both">It rains in Oslo</mark> <span class="who">entailed; [1] credit'
        in first
    )
    assert "[2] no credit: the others entail the claim without it" in first
    client.force_login(member)
    assert "Claims<" not in client.get(there).content.decode()
    show(shows_instances=True)
    assert "Claims<" in client.get(there).content.decode()


def test_a_team_reads_claims_labels_and_why_each_mark_earns_what_it_does(
    client, run, member
):
    told = text(page(client, run, member))
    assert 'It rains in Oslo <em class="verdict">entailed</em>' in told
    assert "credit: its passage alone entails the claim" in told
    assert "no credit: the others entail the claim without it" in told
    assert "does not count: a mark stands for no passage" in told
    assert "No mark, so that it claims nothing." in told
    # Tags are Markdown's, and no part of a claim.
    assert "Nobody knows" in told
    assert "<b>Nobody" not in told
    assert 'href="' + reverse("submission", args=[run.pk]) in told


def test_the_parse_is_drawn_and_said_in_words_and_as_a_table(client, run, member):
    told = text(page(client, run, member))
    assert '<svg class="arcs" role="img"' in told
    assert "“rains” is the root; “in” is dep of “rains”" in told
    assert '<th scope="row">Oslo</th>' in told
    assert "style=" not in told.partition("<svg")[2].partition("</svg>")[0]


def test_the_run_s_page_leads_there(client, run, member):
    client.force_login(member)
    told = client.get(reverse("submission", args=[run.pk])).content.decode()
    assert reverse("submission-claims", args=[run.pk]) in told


def test_others_see_nothing_until_the_phase_shows_single_instances(client, run):
    stranger = make_user()
    for viewer in (None, stranger):
        assert page(client, run, viewer).status_code == 404
    show(shows_instances=True)
    for viewer in (None, stranger):
        told = text(page(client, run, viewer))
        assert PASSAGE in told
        assert reverse("submission", args=[run.pk]) not in told
    show(board="ranks")
    assert page(client, run).status_code == 404


@pytest.mark.parametrize("fields", [{"status": "withdrawn"}, {"kind": "contrastive"}])
def test_others_see_only_what_stands_on_the_board(client, run, fields):
    show(shows_instances=True)
    type(run).objects.filter(pk=run.pk).update(**fields)
    assert page(client, run).status_code == 404


def test_others_see_nothing_of_a_run_that_another_of_its_team_stands_for(client, run):
    show(shows_instances=True, counting="selected")
    better = citing_run(run.phase, "It rains in Oslo [1].", team=run.team)
    for job in better.jobs.all():
        score(job.pk)
    select_run(type(better).objects.get(pk=better.pk), run.submitted_by)
    assert page(client, better).status_code == 200
    assert page(client, run).status_code == 404


def test_nothing_of_a_draft_season_is_seen(client, run):
    show(shows_instances=True)
    season = run.phase.task.season
    season.is_public = False
    season.save()
    assert page(client, run).status_code == 404


def test_passages_are_for_organisers_until_the_phase_shows_instances(
    client, run, member, organiser
):
    assert PASSAGE not in text(page(client, run, member))
    assert PASSAGE in text(page(client, run, organiser))
    show(shows_instances=True)
    assert PASSAGE in text(page(client, run, member))


def test_a_blind_phase_shows_a_team_its_claims_and_no_label(client, run, member):
    show(board="nobody")
    told = text(page(client, run, member))
    assert "It rains in Oslo" in told
    for word in ("entailed</em>", "credit:", "no credit"):
        assert word not in told


def test_responses_are_paged_and_found_by_name(client, run, member, monkeypatch):
    monkeypatch.setattr("scoring.results.runs.claims.RESPONSES_PER_PAGE", 1)
    first = text(page(client, run, member))
    assert "It rains in" in first
    assert "Wind is air" not in first
    assert "page 1 of 2" in first
    assert "Wind is air" in text(page(client, run, member, page=2))
    assert "Wind is air" in text(page(client, run, member, id="q2"))
    assert "It rains in" in text(page(client, run, member, id="nothing of the kind"))
    for number in ("9", "0", "-1", "x", "9" * 40):
        assert page(client, run, member, page=number).status_code == 200


def test_a_run_that_is_not_scored_yet_has_no_such_page(client, tmp_path, member):
    phase = citing_phase(tmp_path / "other")
    waiting = citing_run(phase, team=make_team(season=phase.task.season, lead=member))
    assert page(client, waiting, member).status_code == 404


class TestArcs:
    def test_longer_arcs_run_above_the_shorter_ones_that_they_span(self):
        found = build_dependency_tree_drawing(
            ["It", "rains", "in", "Oslo"],
            [1, 1, 1, 2],
            ["nsubj", "ROOT", "prep", "pobj"],
        )
        by_label = {arc["label"]: arc["y"] for arc in found["arcs"]}
        assert by_label["nsubj"] == by_label["pobj"] == by_label["prep"]
        spanning = build_dependency_tree_drawing(
            ["a", "b", "c"], [0, 2, 0], ["ROOT", "amod", "dobj"]
        )
        by_label = {arc["label"]: arc["y"] for arc in spanning["arcs"]}
        assert by_label["dobj"] < by_label["amod"]

    def test_words_do_not_overlap_and_lie_within_the_drawing(self):
        found = build_dependency_tree_drawing(
            ["a", "extraordinarily", "b"], [1, 1, 1], ["det", "ROOT", "dep"]
        )
        places = [word["x"] for word in found["words"]]
        assert places == sorted(places)
        assert 0 < places[0] < places[-1] < found["width"]

    def test_nothing_is_drawn_of_nothing(self):
        assert build_dependency_tree_drawing([], [], [])["arcs"] == []


def test_a_page_of_a_large_run_unpacks_and_decodes_its_own_responses_alone(
    tmp_path, monkeypatch
):
    told = {
        f"q{number}": {"question": f"What of {number}?" * 50} for number in range(1000)
    }
    arrays = pack_details(told, list(told))
    features = {"dataset": [["made up"]] * len(told)}
    texts = np.frombuffer(
        json.dumps({"unit_names": list(told), "features": features}).encode(),
        dtype=np.uint8,
    )
    np.savez_compressed(tmp_path / "kept.npz", texts=texts, **arrays)
    read, decoded = [], []
    inflate, decode = zipfile.ZipExtFile.read, json.loads

    def counted(file, n=-1):
        found = inflate(file, n)
        if file.name == "details.npy":
            read.append(len(found))
        return found

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    monkeypatch.setattr(
        json, "loads", lambda text: decoded.append(len(text)) or decode(text)
    )
    found, total = load_page_of_details(tmp_path / "kept.npz", 10, 5)
    assert (total, dict(found)) == (
        1000,
        {f"q{number}": told[f"q{number}"] for number in range(10, 15)},
    )
    assert len(decoded) == 5
    assert sum(read) < arrays["details"].nbytes / 20
    assert load_page_of_details(tmp_path / "kept.npz", 998, 5)[0] == [
        (f"q{n}", told[f"q{n}"]) for n in (998, 999)
    ]
    assert load_page_of_details(tmp_path / "kept.npz", 1000, 5) == ([], 1000)
