"""Sheets of pairs and boards of battles, from a new sheet to recomputed numbers."""

import csv
import io
import json
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.teams.models import Membership, Token
from scoring.__main__ import main
from scoring.human.pair_plans import plan_pairs
from scoring.human.pairs import find_pairs_for_judge, save_preference
from scoring.models import Preference, Sheet, SheetPair
from tasks.models import Phase
from tasks.submissions.run_acts import hide_from_boards, withdraw_run
from tests import factories
from tests.background.background import followed
from tests.kept_worlds import keep_world
from tests.scoring import sheets
from tests.scoring.citation_texts import make_phase, make_run
from tests.scoring.discourse import intents
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

NONE = {"lu": [None] * 6}
NAMES = ("Abacus", "Basilisk", "Chimera")


def make_world():
    organiser, judge, other = (factories.make_user() for _ in range(3))
    with TemporaryDirectory() as name:
        folder = Path(name)
        phase = make_phase(
            folder, organiser=organiser, gold={"lu": [intents("Uses")] * 6}
        )
        runs = [
            make_run(phase, folder, NONE, f"Text {place} on [0].", system=system)
            for place, system in enumerate(NAMES)
        ]
    return organiser, judge, other, phase, runs


def make_judged():
    """Create a sheet on which two judges judged every pair; each system has wins and losses."""
    organiser, judge, other, phase, runs = make_world()
    a, b, c = runs
    plan = [
        (f"lu-0{number}", left, right)
        for number, (left, right) in enumerate(
            [(a, b), (b, c), (c, a), (b, a), (c, b), (a, c)]
        )
    ]
    sheet = sheets.make_pairs(phase, plan, judges=[judge, other])
    labels = ["left", "tie", "left", "right", "left", "left"]
    for person, given in zip(
        sheet.annotators.order_by("pk"), (labels, ["right", *labels[1:]]), strict=True
    ):
        for pair, label in zip(
            SheetPair.objects.order_by("position"), given, strict=True
        ):
            Preference.objects.create(
                annotator=person,
                instance=pair.instance,
                pair=pair,
                left=pair.left.submission,
                right=pair.right.submission,
                label=label,
            )
    return organiser, judge, other, phase, runs, sheet


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker):
    return {
        made: keep_world(made, django_db_blocker) for made in (make_world, make_judged)
    }


@pytest.fixture
def world(db, kept):
    return kept[make_world]()


@pytest.fixture
def judged(db, kept):
    return kept[make_judged]()


def signed_in(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def organise(name, phase, *numbers):
    return reverse(f"organise-{name}", args=[phase.task.season.slug, *numbers])


def board(phase, form=""):
    address = [phase.task.season.slug, phase.task.slug, phase.slug]
    return reverse(f"battles-{form}" if form else "battles", args=address)


def publish(organiser, phase, sheet):
    return signed_in(organiser).post(organise("pairs-publish", phase, sheet.pk))


def lines(*rows) -> SimpleUploadedFile:
    content = "\n".join(map(json.dumps, rows)).encode()
    return SimpleUploadedFile("battles.jsonl", content)


def battle(**changes):
    row = {"topic": "lu-01", "left": "Abacus", "right": "Basilisk", "label": "left"}
    return {**row, "judge": "model-a", **changes}


def bring(organiser, phase, *rows, **fields):
    address = organise("battles-bring", phase, phase.pk)
    return signed_in(organiser).post(address, {"file": lines(*rows), **fields})


# -- The sheet


def test_a_sheet_has_the_plan_of_its_stored_seed(world):
    organiser, _, _, phase, runs = world
    client = signed_in(organiser)
    fields = {"instances": 4, "battles": 2, "seed": 7, "runs": [run.pk for run in runs]}
    response = client.post(organise("pairs-make", phase, phase.pk), fields)
    page = text_of(followed(client, response))
    assert "The sheet is created. Say now who judges it." in page
    sheet = Sheet.objects.get()
    names = list(sheet.instances.values_list("name", flat=True))
    pairs = SheetPair.objects.order_by("position").select_related("left", "right")
    assert [
        (pair.instance.name, pair.left.submission_id, pair.right.submission_id)
        for pair in pairs
    ] == [
        (names[own.instance], runs[own.left].pk, runs[own.right].pk)
        for own in plan_pairs(4, 3, 2, sheet.plan_seed)
    ]
    assert len(sheet.plan_seed) == 32


def test_a_plan_that_cannot_be_is_refused_at_the_form(world):
    organiser, _, _, phase, runs = world
    fields = {"instances": 2, "battles": 3, "seed": 0, "runs": [run.pk for run in runs]}
    address = organise("pairs-make", phase, phase.pk)
    response = signed_in(organiser).post(address, fields)
    assert response.status_code == 422
    assert "two systems meet at most once an instance" in text_of(response)
    assert not Sheet.objects.exists()


def test_organisers_add_judges_and_see_how_far_they_are(world):
    organiser, judge, _, phase, runs = world
    sheet = sheets.make_pairs(phase, [("lu-00", *runs[:2]), ("lu-01", *runs[1:])])
    client = signed_in(organiser)
    client.post(organise("judge-add", phase, sheet.pk), {"email": judge.email})
    at = reverse("judge", args=[sheet.pk])
    signed_in(judge).post(f"{at}?pair=1", {"pair": 1, "label": "tie"})
    page = text_of(client.get(organise("pair-sheet", phase, sheet.pk)))
    assert f"{judge} 1 of 2" in page
    assert f"{judge}, who has judged 1 of 2" in page


# -- Judging


def test_a_judge_chooses_goes_on_and_changes_a_label(world):
    _, judge, _, phase, runs = world
    plan = [("lu-00", *runs[:2]), ("lu-01", *runs[1:])]
    sheet = sheets.make_pairs(phase, plan, judges=[judge])
    client, address = signed_in(judge), reverse("judge", args=[sheet.pk])
    posted = client.post(f"{address}?pair=1", {"pair": 1, "label": "left"})
    assert posted.url == f"{address}?pair=2"
    assert "Pair 2 of 2" in text_of(client.get(address))
    assert client.post(f"{address}?pair=2", {"pair": 2, "label": "tie"}).url == address
    assert "You have judged every pair." in text_of(client.get(address))
    client.post(f"{address}?pair=1", {"pair": 1, "label": "right"})
    labels = Preference.objects.order_by("pair__position")
    assert list(labels.values_list("label", "left", "right")) == [
        ("right", runs[0].pk, runs[1].pk),
        ("tie", runs[1].pk, runs[2].pk),
    ]


@pytest.mark.parametrize("label", ["", "both", "LEFT"])
def test_a_label_that_is_none_is_refused(world, label):
    _, judge, _, phase, runs = world
    sheet = sheets.make_pairs(phase, [("lu-00", *runs[:2])], judges=[judge])
    address = reverse("judge", args=[sheet.pk])
    response = signed_in(judge).post(address, {"pair": 1, "label": label})
    assert response.status_code == 422
    assert not Preference.objects.exists()


def test_a_judge_sees_texts_and_no_system_team_or_run(judged):
    _, judge, _, _, runs, sheet = judged
    client, address = signed_in(judge), reverse("judge", args=[sheet.pk])
    token, secret = Token.objects.create_token(user=judge, name="a judge")
    answers = [client.get(f"{address}?pair={number}") for number in range(1, 7)]
    api = reverse("api:judge", args=[sheet.pk])
    answers.append(Client().get(api, headers={"Authorization": f"Token {secret}"}))
    for answer in answers:
        body = answer.content.decode()
        assert answer.status_code == 200
        assert "Text 1 of lu-0" in body or "Text 2 of lu-0" in body
        for run in runs:
            assert run.system not in body
            assert run.team.name not in body
            assert f"submissions/{run.pk}" not in body
    assert token.user == judge


def test_the_page_needs_no_script_and_shows_its_keys(judged):
    _, judge, _, _, _, sheet = judged
    page = signed_in(judge).get(reverse("judge", args=[sheet.pk])).content.decode()
    assert page.count('type="radio"') == 3
    assert page.count("autofocus") == 1
    assert "<kbd>Enter</kbd>" in page


def test_who_joins_a_team_of_the_sheet_judges_no_more(judged):
    _, judge, _, _, runs, sheet = judged
    Membership.objects.create(team=runs[0].team, user=judge)
    client, address = signed_in(judge), reverse("judge", args=[sheet.pk])
    assert client.get(address).status_code == 403
    posted = client.post(f"{address}?pair=1", {"pair": 1, "label": "tie"})
    assert posted.status_code == 403


def test_a_published_sheet_takes_no_more_judgements(judged):
    organiser, judge, _, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    before = list(Preference.objects.order_by("pk").values("label"))
    address = reverse("judge", args=[sheet.pk])
    signed_in(judge).post(f"{address}?pair=1", {"pair": 1, "label": "tie"})
    assert list(Preference.objects.order_by("pk").values("label")) == before


def test_the_season_leads_a_judge_to_the_pairs(judged):
    _, judge, _, phase, _, sheet = judged
    page = signed_in(judge).get(reverse("season", args=[phase.task.season.slug]))
    assert f'href="{reverse("judge", args=[sheet.pk])}"' in page.content.decode()


# -- A sheet that judges divide


def make_divided(organiser, phase, runs, **fields):
    client = signed_in(organiser)
    fields = {"instances": 4, "battles": 4, "seed": 7, "judges": 3, **fields}
    address = organise("pairs-make", phase, phase.pk)
    response = client.post(address, {**fields, "runs": [run.pk for run in runs]})
    if response.status_code == 302:
        followed(client, response)
    return response


def test_each_judge_of_a_divided_sheet_judges_a_share_and_no_other_pair(world):
    organiser, judge, other, phase, runs = world
    make_divided(organiser, phase, runs)
    sheet, client = Sheet.objects.get(), signed_in(organiser)
    people = [judge, other, factories.make_user()]
    for person in people:
        client.post(organise("judge-add", phase, sheet.pk), {"email": person.email})
    # Each of the 12 pairs has two judges.
    shares = [
        {pair.position for pair in find_pairs_for_judge(own)}
        for own in sheet.annotators.all()
    ]
    assert [len(own) for own in shares] == [8, 8, 8]
    assert set.union(*shares) == {*range(1, 13)}
    assert all(len(a & b) == 4 for a, b in combinations(shares, 2))
    address = reverse("judge", args=[sheet.pk])
    assert "Pair 1 of 8" in text_of(signed_in(judge).get(address))
    foreign = min({*range(1, 13)} - shares[0])
    posted = {"pair": foreign, "label": "tie"}
    signed_in(judge).post(f"{address}?pair={foreign}", posted)
    _, secret = Token.objects.create_token(user=judge, name="a judge")
    said = {"Authorization": f"Token {secret}"}
    api = reverse("api:judge", args=[sheet.pk])
    assert Client().post(api, posted, headers=said).status_code == 404
    assert not Preference.objects.exists()
    page = text_of(client.get(organise("pair-sheet", phase, sheet.pk)))
    assert "divided among 3 judges" in page
    assert f"{judge} 0 of 8" in page


def test_a_divided_sheet_takes_no_more_judges_than_shares_and_a_free_share_again(world):
    organiser, judge, other, phase, runs = world
    make_divided(organiser, phase, runs, judges=2, judges_of_pair=1)
    sheet, client = Sheet.objects.get(), signed_in(organiser)
    add = organise("judge-add", phase, sheet.pk)
    page = text_of(client.get(organise("pair-sheet", phase, sheet.pk)))
    assert "2 free shares: the next judges get them." in page
    third = factories.make_user()
    for person in (judge, other):
        client.post(add, {"email": person.email})
    refused = client.post(add, {"email": third.email})
    assert refused.status_code == 422
    assert "divided among 2 judges, who are all on the sheet" in text_of(refused)
    first = sheet.annotators.get(user=judge)
    client.post(organise("judge-remove", phase, sheet.pk, first.pk))
    client.post(add, {"email": third.email})
    assert sheet.annotators.get(user=third).share == first.share == 1


def test_publishing_waits_for_shares_without_a_judge(world):
    organiser, judge, _, phase, runs = world
    make_divided(organiser, phase, runs)
    sheet, client = Sheet.objects.get(), signed_in(organiser)
    client.post(organise("judge-add", phase, sheet.pk), {"email": judge.email})
    for pair in find_pairs_for_judge(sheet.annotators.get()):
        save_preference(annotator=sheet.annotators.get(), pair=pair, label="left")
    publish(organiser, phase, sheet)
    sheet.refresh_from_db()
    assert not sheet.is_published
    page = text_of(client.get(organise("pair-sheet", phase, sheet.pk)))
    assert "a judge for each of 2 free shares" in page


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"judges": 13}, "a plan is divided among 2 to 12"),
        ({"judges": 2, "judges_of_pair": 3}, "3 judges of each pair: there are 2"),
        ({"judges": "", "judges_of_pair": 2}, "Say how many judges divide the pairs"),
        ({"judges": 1}, "greater than or equal to 2"),
    ],
)
def test_a_division_that_cannot_be_is_refused_at_the_form(world, fields, reason):
    organiser, _, _, phase, runs = world
    response = make_divided(organiser, phase, runs, **fields)
    assert response.status_code == 422
    assert reason in text_of(response)


# -- A sheet that was unpublished


def test_judges_of_an_unpublished_sheet_answer_only_after_it_is_reopened(judged):
    organiser, judge, _, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    client = signed_in(organiser)
    client.post(organise("pairs-take-back", phase, sheet.pk))
    address = reverse("judge", args=[sheet.pk])
    _, secret = Token.objects.create_token(user=judge, name="a judge")
    said = {"Authorization": f"Token {secret}"}
    api = reverse("api:judge", args=[sheet.pk])
    posted = {"pair": 1, "label": "right"}

    def label_after_posting() -> str:
        signed_in(judge).post(f"{address}?pair=1", posted)
        answer = Client().post(api, posted, headers=said)
        assert answer.status_code == (200 if is_reopened else 409)
        return Preference.objects.get(annotator__user=judge, pair__position=1).label

    is_reopened = False
    assert "The sheet is closed" in text_of(signed_in(judge).get(address))
    assert label_after_posting() == "left"
    season = signed_in(judge).get(reverse("season", args=[phase.task.season.slug]))
    assert f'href="{address}"' not in season.content.decode()
    page = text_of(client.get(organise("pair-sheet", phase, sheet.pk)))
    assert "Reopen the sheet" in page
    client.post(organise("pairs-reopen", phase, sheet.pk))
    is_reopened = True
    assert label_after_posting() == "right"
    assert Client().get(board(phase)).status_code == 404


def test_a_closed_sheet_takes_no_judges_and_can_be_published_again(judged):
    organiser, _, _, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    client = signed_in(organiser)
    client.post(organise("pairs-take-back", phase, sheet.pk))
    person = factories.make_user()
    added = client.post(organise("judge-add", phase, sheet.pk), {"email": person.email})
    assert "closed until an organiser reopens it" in text_of(added)
    publish(organiser, phase, sheet)
    sheet.refresh_from_db()
    assert (sheet.is_published, sheet.closed_at) == (True, None)


def test_pairs_to_judge_come_in_pages(judged):
    _, judge, _, _, _, sheet = judged
    _, secret = Token.objects.create_token(user=judge, name="a judge")
    said = {"Authorization": f"Token {secret}"}
    address = reverse("api:judge", args=[sheet.pk])
    first = Client().get(f"{address}?page_size=4", headers=said).json()
    assert (first["count"], len(first["results"])) == (6, 4)
    last = Client().get(first["next"], headers=said).json()
    rows = [*first["results"], *last["results"]]
    assert [row["pair"] for row in rows] == [*range(1, 7)]
    assert [row["label"] for row in rows][:2] == ["left", "tie"]


# -- The board


def test_nothing_is_public_before_publishing_and_after_taking_back(judged):
    organiser, _, _, phase, _, sheet = judged
    forms = ("", "json", "csv", "jsonl")

    def answers():
        return {Client().get(board(phase, form)).status_code for form in forms}

    assert answers() == {404}
    publish(organiser, phase, sheet)
    assert answers() == {200}
    signed_in(organiser).post(organise("pairs-take-back", phase, sheet.pk))
    assert answers() == {404}


def recomputed(content: bytes, tmp_path, capsys) -> dict:
    path = tmp_path / "battles.jsonl"
    path.write_bytes(content)
    assert main(["battles", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_exported_judgements_give_the_numbers_of_the_site_offline(
    judged, tmp_path, capsys
):
    organiser, _, _, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    public = Client()
    own = public.get(board(phase, "json")).json()
    rows = public.get(board(phase, "jsonl")).content
    assert recomputed(rows, tmp_path, capsys) == own
    assert public.get(reverse("api:battles", args=[phase.pk])).json() == own
    of_api = public.get(reverse("api:battle-rows", args=[phase.pk])).content
    assert of_api == rows
    assert own["ordered_by"] == "strengths"
    assert own["signature"].startswith("battles|rules:corrected|")
    table = list(
        csv.DictReader(io.StringIO(public.get(board(phase, "csv")).content.decode()))
    )
    assert [float(row["strength"]) for row in table] == [
        row["strength"] for row in own["board"]
    ]


def test_judges_are_pseudonyms_wherever_judgements_are_read(judged):
    organiser, judge, other, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    own = signed_in(organiser).get(organise("pair-sheet-rows", phase, sheet.pk))
    pages = [Client().get(board(phase, form)) for form in ("", "json", "csv", "jsonl")]
    for body in [own.content.decode(), *(page.content.decode() for page in pages)]:
        assert str(judge) not in body
        assert str(other) not in body
    judges = {json.loads(line)["judge"] for line in own.content.splitlines()}
    assert judges == {f"judge {sheet.pk}-1", f"judge {sheet.pk}-2"}


@pytest.mark.parametrize(
    "change",
    [{"status": "withdrawn"}, {"exclusion": "disqualified"}, {"exclusion": "hidden"}],
)
def test_a_run_that_leaves_takes_its_battles_off_the_board(judged, change):
    organiser, _, _, phase, runs, sheet = judged
    publish(organiser, phase, sheet)
    assert "Chimera" in text_of(Client().get(board(phase)))
    type(runs[2]).objects.filter(pk=runs[2].pk).update(**change)
    for form in ("", "json", "csv", "jsonl"):
        assert "Chimera" not in Client().get(board(phase, form)).content.decode()
    assert Client().get(board(phase, "json")).json()["battles"] == 4


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_frozen_board_keeps_runs_that_are_withdrawn_later(judged, is_alone):
    organiser, _, _, phase, runs, sheet = judged
    publish(organiser, phase, sheet)
    Phase.objects.filter(pk=phase.pk).update(
        frozen_from=timezone.now(), battles_alone=is_alone
    )
    forms = ("json", "csv", "jsonl")
    before = [Client().get(board(phase, form)).content for form in forms]
    tag = Client().get(board(phase))["ETag"]
    withdraw_run(runs[2], organiser)
    assert [Client().get(board(phase, form)).content for form in forms] == before
    assert Client().get(board(phase))["ETag"] == tag
    own = signed_in(organiser).get(board(phase, "json")).json()
    assert "Chimera" not in own["strengths"]
    hide_from_boards(runs[1], organiser, "A test.")
    assert "Basilisk" not in Client().get(board(phase, "jsonl")).content.decode()


def test_a_run_that_was_withdrawn_before_the_freeze_is_not_on_the_frozen_board(judged):
    organiser, _, _, phase, runs, sheet = judged
    publish(organiser, phase, sheet)
    withdraw_run(runs[2], organiser)
    Phase.objects.filter(pk=phase.pk).update(frozen_from=timezone.now())
    assert "Chimera" not in Client().get(board(phase, "jsonl")).content.decode()


def test_a_sheet_that_is_published_after_the_freeze_is_not_on_the_frozen_board(judged):
    organiser, _, _, phase, _, sheet = judged
    Phase.objects.filter(pk=phase.pk).update(frozen_from=timezone.now())
    publish(organiser, phase, sheet)
    assert Client().get(board(phase)).status_code == 404
    assert signed_in(organiser).get(board(phase)).status_code == 200


def test_without_finite_strengths_shares_order_the_systems_and_the_page_says_so(world):
    organiser, _, _, phase, _ = world
    bring(organiser, phase, battle(), battle(topic="lu-02"))
    publish(organiser, phase, Sheet.objects.get())
    own = Client().get(board(phase, "json")).json()
    assert own["strengths"] == {"Abacus": None, "Basilisk": None}
    assert own["ordered_by"] == "shares"
    assert "shares of wins order the systems" in text_of(Client().get(board(phase)))


def test_the_board_of_measures_has_a_tab_of_the_board_of_battles(judged):
    organiser, _, _, phase, _, sheet = judged
    address = reverse(
        "board", args=[phase.task.season.slug, phase.task.slug, phase.slug]
    )
    assert 'id="battles"' not in Client().get(address).content.decode()
    publish(organiser, phase, sheet)
    page = Client().get(address).content.decode()
    assert '<a id="battles"' in page
    assert "Basilisk" in page


def test_a_board_of_battles_alone_hides_the_measures(judged):
    organiser, _, _, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    phase.battles_alone = True
    phase.save()
    address = reverse(
        "board", args=[phase.task.season.slug, phase.task.slug, phase.slug]
    )
    page = Client().get(address).content.decode()
    assert board(phase) in page
    assert "This phase shows battles alone" in page
    assert "Basilisk" not in page
    assert "Basilisk" in Client().get(board(phase)).content.decode()
    own = signed_in(organiser).get(address).content.decode()
    assert "Basilisk" in own
    assert "in place of these measures" in own
    described = Client().get(reverse("api:phase", args=[phase.pk])).json()
    assert described["battles_alone"] is True
    leaderboard = Client().get(reverse("api:leaderboard", args=[phase.pk]))
    assert "Basilisk" not in leaderboard.content.decode()


def test_a_hidden_board_hides_the_battles_too(judged):
    organiser, _, _, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    phase.board = "organisers"
    phase.save()
    assert Client().get(board(phase)).status_code == 404
    assert signed_in(organiser).get(board(phase)).status_code == 200


def test_the_overview_paper_has_a_table_of_each_published_board(judged):
    organiser, _, _, phase, _, sheet = judged
    season = phase.task.season.slug
    stem = f"battles/{phase.task.slug}-{phase.slug}"

    def file(name: str):
        return Client().get(reverse("overview-paper-file", args=[season, name]))

    assert file(f"{stem}.tex").status_code == 404
    publish(organiser, phase, sheet)
    table = b"".join(file(f"{stem}.tex")).decode()
    numbers = Client().get(board(phase, "json")).json()
    for row in numbers["board"]:
        assert row["system"] in table
    assert "12 battles on 6 topics, by 2 judges." in table
    assert file(f"{stem}.csv").content == Client().get(board(phase, "csv")).content
    assert json.loads(file(f"{stem}.json").content) == numbers
    facts = file("results.md").content.decode()
    assert "12 battles on 6 topics, by 2 judges." in facts
    page = Client().get(reverse("overview-paper", args=[season]))
    assert f"{phase.task}, {phase}, battles" in text_of(page)


# -- Judgements from a file


def test_judgements_of_programs_come_from_a_file_and_keep_their_names(world):
    organiser, _, _, phase, _ = world
    rows = [battle(), battle(topic="lu-02", label="right"), battle(judge="model-b")]
    response = bring(organiser, phase, *rows, has_programs="on")
    sheet = Sheet.objects.get()
    assert response.url == organise("pair-sheet", phase, sheet.pk)
    assert sheet.is_open
    exported = signed_in(organiser).get(organise("pair-sheet-rows", phase, sheet.pk))
    assert list(map(json.loads, exported.content.splitlines())) == rows
    assert Client().get(board(phase)).status_code == 404


def test_judges_of_a_file_are_pseudonyms_unless_they_are_programs(world):
    organiser, _, _, phase, _ = world
    bring(organiser, phase, battle(judge="Ada Lovelace"))
    sheet = Sheet.objects.get()
    exported = signed_in(organiser).get(organise("pair-sheet-rows", phase, sheet.pk))
    assert b"Ada" not in exported.content


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"left": "Nobody"}, "“Nobody” names no run"),
        ({"topic": "nowhere"}, "“nowhere” is no topic"),
        ({"label": "both"}, "“label” is “both”"),
        ({"right": "Abacus"}, "“Abacus” meets itself"),
        ({"judge": "j" * 81}, "“judge” has 81 characters"),
    ],
)
def test_a_wrong_row_is_refused_by_line_and_nothing_is_stored(world, row, reason):
    organiser, _, _, phase, _ = world
    response = bring(organiser, phase, battle(), battle(**row))
    assert response.status_code == 422
    assert reason in text_of(response)
    assert [problem.line for problem in response.context["problems"]] == [2]
    assert not Sheet.objects.exists()


def test_a_run_does_not_meet_itself_under_its_other_name(world):
    organiser, _, _, phase, runs = world
    row = battle(right=f"Abacus #{runs[0].pk}")
    response = bring(organiser, phase, row)
    assert response.status_code == 422
    assert "“Abacus” meets itself" in text_of(response)


def test_programs_bring_judgements_by_token(world):
    organiser, _, _, phase, _ = world
    _, secret = Token.objects.create_token(user=organiser, name="a program")
    said = {"Authorization": f"Token {secret}"}
    address = reverse("api:battles", args=[phase.pk])
    wrong = Client().post(address, {"file": lines(battle(left="x"))}, headers=said)
    assert wrong.status_code == 422
    assert wrong.json()["problems"][0]["line"] == 1
    made = Client().post(address, {"file": lines(battle())}, headers=said)
    assert made.status_code == 201
    assert made.json()["judges"][0]["judged"] == 1
    number = made.json()["id"]
    done = Client().post(reverse("api:publish-pairs", args=[number]), headers=said)
    assert done.status_code == 204
    assert Client().get(address).json()["battles"] == 1
