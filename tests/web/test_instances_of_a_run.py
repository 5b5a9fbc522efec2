"""A run instance by instance: who may read what, and an address for each context with its ranking."""

import csv
import hashlib
import io
import json
import re
import zipfile
from html import unescape

import numpy as np
import openpyxl
import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse

from citeboard.teams.models import User
from citeboard.web.runs import instances as readers
from scoring.offline.evaluate import load_instances
from scoring.results.comparison import reading
from scoring.results.comparison.pieces import (
    DisplayedInstanceLine,
    DisplayedInstancePart,
    MarkedTextPiece,
)
from tasks.gold.gold_files import load_gold
from tasks.models import Phase, Submission
from tasks.models.seasons import increment_board_version
from tasks.types import task_types
from tests import factories
from tests.api.sending import score
from tests.exchange.every_eval_ever import SAMPLES_PATH, check
from tests.kept_worlds import KeptWorld, keep_world
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


def make_world() -> Submission:
    return compared.scored(compared.make_phase(), 9, wrong="<b>9</b>")


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_world, django_db_blocker)


@pytest.fixture
def run(db, kept) -> Submission:
    return kept()


@pytest.fixture
def phase(run) -> Phase:
    return run.phase


@pytest.fixture
def member(run) -> User:
    return run.team.memberships.get().user


@pytest.fixture
def staff():
    return factories.make_user(is_staff=True)


def test_each_context_has_an_address_with_its_ranking_the_gold_and_every_metric(
    client, staff
):
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
    assert (
        'Storms and silt change what a gauge records <mark class="place">[cited here]</mark>.'
        in told
    )
    gold, answer = re.split(">Answer<", told.partition(">Gold<")[2])
    assert re.search(
        r"<ol.+<li>gauge: .+<li class=\"both\"><mark class=\"both\">silt: .+the cited paper",
        answer,
    )
    assert re.search(r"storm: .+found.+silt: ", gold)
    assert ">Success@n</th>" in told
    assert "Floats" not in told


def test_a_ranking_says_among_how_many_it_chose_and_its_scores_alike_from_both_forms_of_run(
    client, staff
):
    kind = task_types()["citation-resolution"]
    gold, _, _ = sample(kind)
    task = factories.make_task(type=kind.slug, rules=["corrected"])
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=gold, reason="for tests")
    as_json = b'{"id": "tides_3", "scores": {"silt": 0.25, "gauge": 7}}\n'
    as_trec = b"tides_3 Q0 silt 2 0.25 t\ntides_3 Q0 gauge 1 7.0 t\n"
    for content in (as_json, as_trec):
        ranked = factories.make_submission(phase=phase, content=content)
        score(ranked)
        told = ask(client, ranked, staff, instance="tides_3")
        assert re.search(r'<span class="who">to choose from: \d+</span>', told)
        answer = told.partition(">Answer<")[2]
        assert re.search(r'gauge: [^<]+ <span class="who">7</span>', answer)
        assert re.search(
            r'silt: [^<]+</mark> <span class="who">the cited paper · 0.25</span>',
            answer,
        )


def test_instances_that_were_kept_before_scores_and_pools_were_are_read(tmp_path):
    old = {
        "name": "one",
        "given": "",
        "gold": "",
        "answer": "1. silt",
        "judged": [["right", "a"]],
    }
    text = json.dumps(old).encode()
    np.savez(
        tmp_path / "kept.npz",
        instances=np.frombuffer(text, dtype=np.uint8),
        instances_ends=np.array([len(text)]),
    )
    [found] = load_instances(tmp_path / "kept.npz").values()
    assert (found.answer, found.judged, found.beside, found.pool) == (
        "1. silt",
        (("right", "a"),),
        (),
        0,
    )


def test_a_team_reads_its_own_answers_without_gold_and_what_tells_of_it(
    client, run, member
):
    told = ask(client, run, member, instance=CITANCE)
    assert "The gold of this phase is not shown to you" in told
    assert "What each metric saw" not in told
    assert ">Gold<" not in told
    assert "&lt;b&gt;9" in ask(client, run, member, page=2)
    client.force_login(member)
    assert (
        reverse("submission-instances", args=[run.pk])
        in client.get(reverse("submission", args=[run.pk])).content.decode()
    )


def test_a_team_that_is_told_nothing_of_its_runs_yet_reads_nothing_here(
    client, run, member, staff
):
    Phase.objects.update(board="organisers", own_scores="nothing")
    ask(client, run, member, status=404)
    ask(client, run, staff)


def test_others_read_it_where_gold_and_runs_are_given_out_and_nowhere_else(
    client, phase, run
):
    Phase.objects.update(shows_instances=True)
    for viewer in (None, factories.make_user()):
        ask(client, run, viewer, status=404)
    Phase.objects.update(gold_is_public=True)
    for viewer in (None, factories.make_user()):
        told = ask(client, run, viewer, instance=CITANCE)
        assert ">The cited paper<" in told
        assert "Overlap F1, micro" in told
    standing = boards.address("board", phase) + f"runs/{run.pk}/"
    assert (
        reverse("submission-instances", args=[run.pk])
        in client.get(standing).content.decode()
    )
    for status, answered in (("withdrawn", 404), ("scored", 200)):
        type(run).objects.filter(pk=run.pk).update(status=status)
        increment_board_version(phase.pk)
        ask(client, run, status=answered)
    phase.task.season.is_public = False
    phase.task.season.save()
    ask(client, run, status=404)


def test_instances_come_in_pages(client, run, staff, monkeypatch):
    monkeypatch.setattr(reading, "INSTANCES_PER_PAGE", 8)
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
    assert "rules corrected, gold v1" in ask(
        client, run, staff, rules="official-1999", page="-3"
    )
    waiting = factories.make_submission(phase=phase)
    ask(client, waiting, staff, status=404)
    type(run).objects.filter(pk=run.pk).delete()
    ask(client, run, staff, status=404)


def test_statistics_that_are_gone_are_said_to_be(client, run, staff):
    run.evaluations.update(statistics="nowhere.npz")
    assert "The stored statistics of this run are missing" in ask(client, run, staff)


def test_instances_are_listed_by_how_they_came_out_and_each_outcome_has_an_address(
    client, run, staff
):
    every = ask(client, run, staff)
    assert re.search(r'<option value="right">right \(\d+\)</option>', every)
    told = ask(client, run, staff, outcome="wrong")
    assert re.search(r"\b[12] of 20 instances", told)
    assert "wrong, without words of the citation" in told
    assert '<option value="wrong" selected>' in told


def values_of(page: str) -> list[float]:
    return [
        float(value)
        for value in re.findall(
            r'Overlap F1, micro&nbsp;<span class="n">([\d.]+)<', page
        )
    ]


def test_the_worst_come_first_and_a_class_and_words_narrow_them(client, run, staff):
    worst = values_of(ask(client, run, staff))
    assert worst == sorted(worst)
    best = values_of(ask(client, run, staff, which="best"))
    assert best == sorted(best, reverse=True)
    assert best[0] > worst[0]
    page = ask(client, run, staff)
    topic = re.search(r'<option value="(topic:[^"]+)">', page)[1]
    assert re.search(
        r"\b1?\d of 20 instances are of the class",
        ask(client, run, staff, **{"class": topic}),
    )
    assert "1 of 20 instances" in ask(
        client, run, staff, q="D01-0004, citance 1 (D05-0001)"
    )
    assert "No instance is chosen by this" in ask(client, run, staff, q="no such words")


def test_what_is_chosen_can_be_had_as_a_file_with_what_the_reader_may_see(
    client, run, member, staff
):
    for viewer, sees in ((staff, True), (member, False)):
        client.force_login(viewer)
        answer = client.get(
            reverse("submission-instances", args=[run.pk]), {"as": "csv"}
        )
        assert answer["Content-Type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
        assert len(rows) == 20
        assert all(row["answer"] for row in rows)
        assert any(row["gold"] for row in rows) is sees
        assert ("overlap_f1_micro" in rows[0]) is sees
        assert any(row["outcomes"] for row in rows) is sees


def test_a_workbook_has_the_lines_of_the_csv(client, run, member, staff):
    for viewer in (staff, member):
        client.force_login(viewer)
        here = reverse("submission-instances", args=[run.pk])
        heads, *rows = csv.reader(
            io.StringIO(client.get(here, {"as": "csv"}).content.decode())
        )
        book = openpyxl.load_workbook(
            io.BytesIO(client.get(here, {"as": "xlsx"}).content)
        )
        told, *lines = book["Instances"].values
        assert list(told) == heads
        assert len(lines) == 20
        assert [line[0] for line in lines] == [row[0] for row in rows]
        if "overlap_f1_micro" in heads:
            place = heads.index("overlap_f1_micro")
            assert [line[place] for line in lines] == [
                float(row[place]) for row in rows
            ]


def test_every_eval_ever_has_a_sample_of_each_instance_and_its_record(
    client, run, member, staff
):
    client.force_login(staff)
    here, name = reverse("submission-instances", args=[run.pk]), "every-eval-ever.zip"
    assert f"as={name}" in client.get(here).content.decode()
    content = client.get(here, {"as": name}).content
    assert content == client.get(here, {"as": name}).content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        record_path, samples_path = archive.namelist()
        record, samples = (
            json.loads(archive.read(record_path)),
            archive.read(samples_path),
        )
    check(record)
    detailed = record["detailed_evaluation_results"]
    assert SAMPLES_PATH.fullmatch(samples_path)
    assert record_path == samples_path.replace("_samples.jsonl", ".json")
    assert detailed["file_path"] == samples_path
    assert detailed["checksum"] == hashlib.sha256(samples).hexdigest()
    lines = [json.loads(line) for line in samples.splitlines()]
    assert detailed["total_rows"] == len(lines) == 20
    results = {
        result["evaluation_result_id"] for result in record["evaluation_results"]
    }
    for line in lines:
        check(line, is_sample=True)
        assert line["evaluation_id"] == record["evaluation_id"]
        assert line["model_id"] == record["model_info"]["id"]
        assert line["evaluation_result_id"] in results
        assert line["input"]["reference"]
    assert sum(line["evaluation"]["is_correct"] for line in lines) == 18
    assert len(client.get(here, {"as": "csv"}).content.splitlines()) > 20
    # Whom values are not shown gets no record, and a run that stands on no board has none.
    client.force_login(member)
    assert client.get(here, {"as": name}).status_code == 404
    assert f"as={name}" not in client.get(here).content.decode()
    Phase.objects.update(counting="selected")
    client.force_login(staff)
    assert client.get(here, {"as": name}).status_code == 404


def test_a_run_is_held_against_the_other_systems_of_its_board(
    client, phase, run, staff
):
    assert "most other systems are better" not in ask(client, run, staff)
    compared.scored(phase, 4)
    told = ask(client, run, staff, which="alone-best")
    assert "10 of 20 instances" in told
    assert "No instance is chosen" in ask(client, run, staff, which="most-better")
    assert "no system has anything right" in told


def test_a_number_a_class_and_the_panel_of_a_number_lead_to_the_instances(
    client, phase, run, staff
):
    client.force_login(staff)
    here = reverse("submission-instances", args=[run.pk])
    page = client.get(reverse("submission", args=[run.pk])).content.decode()
    assert f'href="{here}?metric=overlap_f1_micro&amp;rules=corrected"' in page
    linked = re.findall(rf'href="({re.escape(here)}[?]class=[^"]+)"', page)
    assert linked
    told = client.get(unescape(linked[0])).content.decode()
    assert "are of the class" in told
    score = run.evaluations.first().scores.first()
    panel = client.get(
        boards.address("board", phase) + f"runs/{run.pk}/", {"score": score.pk}
    )
    assert f"{here}?metric=" in panel.content.decode()
    cells = client.get(boards.address("differences", phase)).content.decode()
    assert '"customdata"' in cells
    assert f'action="{boards.address("instances", phase)}"' in cells
    assert f'<option value="{run.pk}">' in cells


def test_the_form_of_the_classes_leads_to_the_instances_of_a_run_in_a_class(
    client, phase, run, staff
):
    client.force_login(staff)
    page = client.get(boards.address("differences", phase)).content.decode()
    [form] = re.findall(r"<form[^>]*/instances/.*?</form>", page, re.DOTALL)
    value = unescape(re.findall(r'<option value="([^"]+:[^"]+)"', form)[0])
    asked = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    asked |= {"class": value, "run": run.pk}
    answer = client.get(boards.address("instances", phase), asked, follow=True)
    [(there, status)] = answer.redirect_chain
    assert (status, there.split("?")[0]) == (
        302,
        reverse("submission-instances", args=[run.pk]),
    )
    assert "are of the class" in answer.content.decode()


@pytest.mark.parametrize("run_asked", ["", "x", "0", "-1", "1.5"])
def test_a_run_that_is_no_number_leads_to_the_instances_of_all(
    client, phase, run, staff, run_asked
):
    client.force_login(staff)
    there = boards.address("instances", phase)
    assert client.get(there, {"run": run_asked}).status_code == 200


def test_only_organisers_are_offered_to_rescore_a_run_whose_statistics_are_gone(
    client, run, member, staff
):
    run.evaluations.update(statistics="nowhere.npz")
    button = reverse("submission-rescore", args=[run.pk])
    assert button in ask(client, run, staff)
    assert button not in ask(client, run, member)


def test_a_page_says_why_old_scores_have_no_marks_and_lets_organisers_rescore(
    client, run, staff, monkeypatch
):
    button = reverse("submission-rescore", args=[run.pk])
    assert button not in ask(client, run, staff)
    monkeypatch.setattr(type(run.phase.task.task_type), "has_answer_parts", True)
    monkeypatch.setattr(
        readers, "_lacks_marked_parts", lambda instance, place: place == 0
    )
    told = ask(client, run, staff)
    assert "was scored before scores stored which parts of an answer are right" in told
    assert "in the order of the task" in told
    assert button in told


def test_links_to_instances_are_for_those_who_may_read_them(client, phase, run, member):
    for viewer in (None, member):
        client.logout()
        if viewer:
            client.force_login(viewer)
        cells = client.get(boards.address("differences", phase)).content.decode()
        assert "/instances/" not in cells
        assert "customdata" not in cells


def test_what_all_systems_have_wrong_is_read_together(client, phase, run, staff):
    other = compared.scored(phase, 4)
    here = boards.address("instances", phase)
    assert client.get(here).status_code == 404
    client.force_login(staff)
    told = re.sub(
        r"\s+", " ", client.get(here, {"which": "none-right"}).content.decode()
    )
    assert "2 of 20 instances" in told
    page = client.get(here, {"which": "best"}).content.decode()
    for system in (run.system, other.system):
        assert f"gold, {run.system}" in page
        assert re.search(rf"<span>{system}&nbsp;<span class=\"n\">", page)
    assert client.get(here, {"instance": "no such"}).status_code == 404
    rows = csv.DictReader(io.StringIO(client.get(here, {"as": "csv"}).content.decode()))
    assert f"answer {other.system}" in next(rows)


def test_scripts_find_their_texts_on_the_page_of_all_instances(client, phase, staff):
    client.force_login(staff)
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    page = client.get(boards.address("instances", phase)).content.decode()
    script = (settings.BASE_DIR / "static" / "theme.js").read_text()
    [name] = re.findall(r'getElementById\("(\S+-texts)"\)', script)
    [tag] = re.findall(rf'<(\w+) id="{name}"', page)
    assert tag == "script"
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_where_instances_are_shown_and_gold_is_not_all_read_values_without_answers(
    client, phase, run
):
    compared.scored(phase, 4)
    Phase.objects.update(shows_instances=True)
    told = client.get(boards.address("instances", phase)).content.decode()
    assert "The gold of this phase is not shown to you" in told
    assert f"<span>{run.system}&nbsp;" in told
    for word in ("The cited paper", ">Gold<", ">Answer"):
        assert word not in told


def test_an_outcome_that_there_is_not_shows_all(client, run, staff):
    assert "20 instances" in ask(client, run, staff, outcome="nonsense")


def test_who_may_not_see_the_gold_is_told_no_outcome_and_cannot_filter_by_one(
    client, run, member
):
    told = ask(client, run, member, outcome="wrong")
    assert "20 of 20 instances" in told
    assert "How it came out" not in told
    assert "most other systems" not in told


def test_a_long_text_is_folded_and_stands_open_where_it_is_read_alone():
    part = DisplayedInstancePart(
        "Answer",
        "answer",
        [DisplayedInstanceLine([MarkedTextPiece("word " * 400 + "end")])],
    )
    folded = render_to_string("runs/_drawn.html", {"parts": [part]})
    assert "The whole text, 2,003 characters" in re.sub("[\u2009\u202f]", ",", folded)
    assert folded.count("word end") == 1
    assert "<details" not in render_to_string(
        "runs/_drawn.html", {"parts": [part], "single": "one"}
    )
