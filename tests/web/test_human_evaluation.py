"""Human evaluation from making a sheet to the columns on the board."""

import csv
import datetime as dt
import io
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.teams.models import Membership, Token
from scoring.human import outcome
from scoring.human.ratings import find_all_disputed_texts
from scoring.models import Annotator, HumanScore, Rating, Sheet, SheetText
from tests import factories
from tests.background.background import followed
from tests.kept_worlds import keep_world
from tests.scoring import boards, sheets
from tests.scoring.citation_texts import make_phase, make_run
from tests.scoring.discourse import intents
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

NONE = {"lu": [None] * 6}


def make_runs():
    organiser = factories.make_user()
    with TemporaryDirectory() as name:
        folder = Path(name)
        phase = make_phase(
            folder, organiser=organiser, gold={"lu": [intents("Uses")] * 6}
        )
        runs = [
            make_run(phase, folder, NONE, f"A text of {name} on [0].", system=name)
            for name in ("Abacus", "Basilisk", "Chimera")
        ]
    return organiser, phase, runs


def make_sheet():
    organiser, phase, runs = make_runs()
    client = Client()
    client.force_login(organiser)
    assert "The sheet is created. Say now who rates it." in text_of(
        make(client, phase, runs)
    )
    return organiser, phase, runs, Sheet.objects.get()


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker):
    return {
        made: keep_world(made, django_db_blocker) for made in (make_runs, make_sheet)
    }


@pytest.fixture
def world(request, db, kept):
    return kept[make_sheet if "sheet" in request.fixturenames else make_runs]()


@pytest.fixture
def organiser(world):
    return world[0]


@pytest.fixture
def phase(world):
    return world[1]


@pytest.fixture
def runs(world):
    return world[2]


def make(client, phase, runs, **fields):
    address = reverse("organise-sheet-make", args=[phase.task.season.slug, phase.pk])
    response = client.post(
        address, {"instances": 4, "seed": 7, "runs": [run.pk for run in runs], **fields}
    )
    return followed(client, response)


@pytest.fixture
def sheet(client, world, organiser) -> Sheet:
    client.force_login(organiser)
    return world[3]


@pytest.fixture
def annotator(client, sheet, phase):
    person = factories.make_user()
    response = client.post(
        organise("organise-sheet-annotator", phase, sheet), {"email": person.email}
    )
    assert response.status_code == 302
    client.force_login(person)
    return person


def organise(name, phase, sheet):
    return reverse(name, args=[phase.task.season.slug, sheet.pk])


def drawn(sheet):
    return list(sheet.instances.values_list("name", flat=True))


def order(sheet):
    return [
        (text.instance.name, text.submission_id)
        for text in SheetText.objects.order_by("id")
    ]


def ratings(sheet, values=("4", "5")) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["text_id", "readability", "consistency"])
    for text in SheetText.objects.filter(instance__sheet=sheet):
        writer.writerow([text.code, *values])
    return out.getvalue().encode()


def upload(content: bytes, name="ratings.csv"):
    return SimpleUploadedFile(name, content, "text/csv")


def test_a_sheet_has_each_run_s_text_for_every_drawn_instance(sheet, runs):
    assert sheet.instances.count() == 4
    for instance in sheet.instances.all():
        assert {text.submission_id for text in instance.texts.all()} == {
            run.pk for run in runs
        }
    assert {text.text for text in SheetText.objects.filter(submission=runs[0])} == {
        "A text of Abacus on [0]."
    }


def test_the_same_seed_draws_the_same_and_another_something_else(
    client, phase, runs, sheet
):
    first = drawn(sheet)
    for seed, is_same in ((7, True), (8, False)):
        Sheet.objects.all().delete()
        make(client, phase, runs, seed=seed)
        assert (drawn(Sheet.objects.get()) == first) is is_same


def test_who_knows_the_seed_and_the_numbers_of_runs_cannot_tell_the_order_of_texts(
    client, phase, runs, sheet
):
    orders = [order(sheet)]
    for _ in range(4):
        Sheet.objects.all().delete()
        make(client, phase, runs)
        orders.append(order(Sheet.objects.get()))
    # Four instances of three texts: that all five agree happens once in 6 ** 16 times.
    assert len({tuple(each) for each in orders}) > 1


def test_who_has_joined_a_team_of_the_sheet_rates_it_no_more(
    client, sheet, annotator, runs
):
    address = reverse("annotate", args=[sheet.pk])
    assert client.get(address).status_code == 200
    Membership.objects.create(team=runs[0].team, user=annotator)
    code = SheetText.objects.values_list("code", flat=True)[0]
    posted = {f"{code}-readability": "5", f"{code}-consistency": "5"}
    file = {"file": upload(ratings(sheet))}
    assert client.get(address).status_code == 403
    assert client.post(f"{address}?instance=1", posted).status_code == 403
    assert (
        client.post(reverse("annotate-upload", args=[sheet.pk]), file).status_code
        == 403
    )
    assert not Rating.objects.exists()


def test_a_text_with_a_character_that_no_database_keeps_is_judged(
    client, phase, tmp_path, organiser
):
    client.force_login(organiser)
    run = make_run(phase, tmp_path, NONE, "A\0text on [0].")
    assert "The sheet is created." in text_of(make(client, phase, [run], instances=1))
    assert SheetText.objects.get().text == "A\ufffdtext on [0]."


def test_codes_are_new_each_time_and_tell_nothing(client, phase, runs, sheet):
    before = set(SheetText.objects.values_list("code", flat=True))
    make(client, phase, runs)
    after = set(SheetText.objects.values_list("code", flat=True))
    assert len(after) == 2 * len(before) == 24
    assert all(code.isalpha() and len(code) == 10 for code in after)


def test_the_season_leads_its_annotators_to_a_sheet_while_it_is_open(
    client, sheet, annotator, phase
):
    def leads_there() -> bool:
        page = client.get(
            reverse("season", args=[phase.task.season.slug])
        ).content.decode()
        return f'href="{reverse("annotate", args=[sheet.pk])}"' in page

    assert leads_there()
    Sheet.objects.update(published_at=sheet.created_at)
    assert not leads_there()
    Sheet.objects.update(published_at=None)
    client.force_login(factories.make_user())
    assert not leads_there()
    client.logout()
    assert not leads_there()


def test_the_list_of_sheets_to_rate_has_those_of_its_reader_alone(
    client, sheet, annotator
):
    link = f'href="{reverse("annotate", args=[sheet.pk])}"'
    listed = []
    for person in (annotator, factories.make_user()):
        client.force_login(person)
        listed.append(link in client.get(reverse("annotations")).content.decode())
    assert listed == [True, False]


def test_neither_page_nor_file_of_an_annotator_names_a_system_or_run(
    client, sheet, annotator, runs
):
    pages = [
        client.get(f"{reverse('annotate', args=[sheet.pk])}?instance={n}")
        for n in (1, 2, 3, 4)
    ]
    table = client.get(reverse("annotate-csv", args=[sheet.pk]))
    for response in (*pages, table):
        assert response.status_code == 200
        body = response.content.decode()
        for run in runs:
            assert run.sha256[:12] not in body
            assert f"submissions/{run.pk}/" not in body
            assert run.team.name not in body
            # Here a text itself says whose it is; nothing besides does.
            assert run.system not in body.replace(f"A text of {run.system} on", "")
    assert "The parser of [0] has been used" not in pages[0].content.decode(), (
        "that would be gold"
    )


def test_rating_an_instance_keeps_it_and_goes_on_to_the_next(client, sheet, annotator):
    address = reverse("annotate", args=[sheet.pk])
    first = sheet.instances.first()
    posted = {
        f"{text.code}-{name}": value
        for text, own in zip(
            first.texts.all(), (("1", "2"), ("3", "4"), ("5", "5")), strict=True
        )
        for name, value in zip(("readability", "consistency"), own, strict=True)
    }
    response = client.post(f"{address}?instance=1", posted)
    assert response.url == f"{address}?instance=2"
    kept = Rating.objects.order_by("text__position").values_list(
        "readability", "consistency"
    )
    assert list(kept) == [(1, 2), (3, 4), (5, 5)]
    # Without a number the first instance that is not rated comes, and what was rated is filled in.
    assert "Instance 2 of 4" in text_of(client.get(address))
    assert client.get(f"{address}?instance=1").content.decode().count("checked") == 6
    assert "3 of 12 texts rated" in text_of(client.get(address))


def test_half_a_rating_is_named_and_nothing_is_kept(client, sheet, annotator):
    text = sheet.instances.first().texts.first()
    response = client.post(
        f"{reverse('annotate', args=[sheet.pk])}?instance=1",
        {f"{text.code}-readability": "4"},
    )
    assert response.status_code == 422
    assert "Text A has no consistency from 1 to 5." in text_of(response)
    assert response.content.decode().count("checked") == 1
    assert not Rating.objects.exists()


@pytest.mark.parametrize("value", ["0", "6", "4.5", "x", "-1"])
def test_only_1_to_5_are_ratings(client, sheet, annotator, value):
    text = sheet.instances.first().texts.first()
    posted = {f"{text.code}-readability": value, f"{text.code}-consistency": "3"}
    assert (
        client.post(
            f"{reverse('annotate', args=[sheet.pk])}?instance=1", posted
        ).status_code
        == 422
    )


def test_a_sheet_comes_as_csv_and_goes_back_filled_in(client, sheet, annotator):
    table = client.get(reverse("annotate-csv", args=[sheet.pk])).content.decode(
        "utf-8-sig"
    )
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 12
    assert rows[0]["sources"].startswith("Cited paper [0]: A parser")
    for row in rows[:5]:
        row |= {"readability": "2", "consistency": "3"}
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    response = client.post(
        reverse("annotate-upload", args=[sheet.pk]),
        {"file": upload(out.getvalue().encode())},
    )
    assert response.status_code == 302
    assert Rating.objects.filter(annotator__user=annotator).count() == 5
    again = client.get(reverse("annotate-csv", args=[sheet.pk])).content.decode(
        "utf-8-sig"
    )
    assert again.count(",2,3\r\n") == 5


def test_organisers_and_annotators_do_the_same_by_token(sheet, phase, organiser):
    def program(person) -> Client:
        return Client(
            headers={
                "Authorization": f"Token {Token.objects.create_token(user=person, name='t')[1]}"
            }
        )

    person, api = factories.make_user(), "/api/v1"
    own, others = f"{api}/annotate/{sheet.pk}/", f"{api}/sheets/{sheet.pk}/"
    organising, rating = program(organiser), program(person)
    assert rating.get(own).status_code == 404
    added = organising.post(f"{others}annotators/", {"email": person.email}).json()
    table = rating.get(own).content.decode()
    assert len(list(csv.DictReader(io.StringIO(table)))) == 12
    assert rating.post(own, {"file": upload(ratings(sheet))}).json() == {"rated": 12}
    refused = rating.post(
        own, {"file": upload(b"text_id,readability,consistency\nnobody,1,1")}
    )
    assert (
        refused.status_code,
        "nobody" in refused.json()["problems"][0]["message"],
    ) == (422, True)
    brought = organising.post(
        f"{others}ratings/", {"name": "Dora", "file": upload(ratings(sheet, "12"))}
    )
    assert brought.json() == {"rated": 12}
    assert (
        organising.post(f"{others}adjudication/", {"distance": "2"}).status_code == 204
    )
    for answers in ({"paper": "Ours", "contact": "Olga"}, {"contact": ""}):
        assert organising.post(f"{others}data-sheet/", answers).status_code == 204
    [listed] = organising.get(f"{api}/phases/{phase.pk}/sheets/").json()
    assert [one["name"] for one in listed["annotators"]] == [str(person), "Dora"]
    assert (listed["adjudicated_from"], Sheet.objects.get().data_sheet) == (
        2,
        {"paper": "Ours"},
    )
    assert organising.delete(f"{api}/annotators/{added['id']}/").status_code == 204
    assert rating.get(own).status_code == 404


def test_a_table_with_semicolons_is_read_as_well(client, sheet, annotator):
    content = ratings(sheet).replace(b",", b";")
    client.post(reverse("annotate-upload", args=[sheet.pk]), {"file": upload(content)})
    assert Rating.objects.count() == 12


def test_texts_that_look_like_formulas_are_none_in_the_file(client, phase, organiser):
    run = make_submission_row(phase)
    own = sheets.make_sheet(
        phase, {"=1+1": {run: '=HYPERLINK("http://x","y")'}}, annotators=[organiser]
    )
    client.force_login(organiser)
    table = client.get(reverse("annotate-csv", args=[own.pk])).content.decode(
        "utf-8-sig"
    )
    row = next(csv.DictReader(io.StringIO(table)))
    assert row["instance"] == "'=1+1"
    assert row["text"].startswith("'=HYPERLINK")


def make_submission_row(phase):
    return boards.make_run(phase, factories.make_team(season=phase.task.season))


def test_a_bad_file_of_ratings_names_every_line_and_keeps_nothing(
    client, sheet, annotator
):
    code = SheetText.objects.first().code
    lines = [
        "text_id,readability,consistency",
        f"{code},4,4",
        f"{code},4,4",
        "nobody,1,1",
        f"{code},9,",
    ]
    response = client.post(
        reverse("annotate-upload", args=[sheet.pk]),
        {"file": upload("\n".join(lines).encode())},
    )
    assert response.status_code == 422
    told = text_of(response)
    for words in (
        f"{code} is rated twice",
        "no text of this sheet is called “nobody”",
        "readability is “9”",
    ):
        assert words in told
    assert not Rating.objects.exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no column text_id, readability, consistency"),
        (b"text_id,readability\n", "no column consistency"),
        (b"\xff\xfe\x00", "the file is not UTF-8"),
        (b"text_id,readability,consistency\n", "no ratings are here"),
        (b'text_id,readability,consistency\n"x', "not CSV"),
    ],
)
def test_a_file_that_is_no_table_of_ratings_says_what_it_lacks(
    client, sheet, annotator, content, words
):
    response = client.post(
        reverse("annotate-upload", args=[sheet.pk]), {"file": upload(content or b"\n")}
    )
    assert words in text_of(response)


def test_ratings_of_somebody_who_does_not_sign_in_come_as_a_file(client, sheet, phase):
    posted = {"name": "Dora", "file": upload(ratings(sheet))}
    assert (
        client.post(
            organise("organise-sheet-ratings", phase, sheet), posted
        ).status_code
        == 302
    )
    assert Annotator.objects.get().user is None
    assert "Dora 12 of 12 in a file" in text_of(
        client.get(organise("organise-sheet", phase, sheet))
    )
    told = text_of(
        client.get(reverse("organise-history", args=[phase.task.season.slug]))
    )
    assert f"added the annotator Dora to sheet {sheet.pk}" in told
    assert f"brought 12 ratings of Dora for sheet {sheet.pk}" in told


def test_nobody_rates_the_texts_of_their_own_team(client, sheet, phase, runs):
    lead = runs[0].team.memberships.get().user
    response = client.post(
        organise("organise-sheet-annotator", phase, sheet), {"email": lead.email}
    )
    assert response.status_code == 422
    assert "A member of a team whose run is on the sheet cannot rate it." in text_of(
        response
    )


def test_an_address_without_an_account_is_said_to_have_none(client, sheet, phase):
    response = client.post(
        organise("organise-sheet-annotator", phase, sheet), {"email": "no@example.org"}
    )
    assert "Nobody has an account with this address" in text_of(response)


def test_the_form_begins_with_no_more_instances_than_there_are(
    client, phase, runs, organiser
):
    client.force_login(organiser)
    page = client.get(
        reverse("organise-human", args=[phase.task.season.slug])
    ).content.decode()
    assert re.search(r'name="instances" value="6"', page)
    assert "Abacus, " in page


def test_more_instances_than_have_texts_are_refused_in_words(
    client, phase, runs, organiser
):
    client.force_login(organiser)
    response = make(client, phase, runs, instances=7)
    assert not Sheet.objects.exists()
    assert (
        "Only 6 instances of 6 have a text of every chosen run, and 7 are asked for."
        in text_of(response)
    )


def published(client, phase, sheet, runs, **posted):
    """Two annotators on every text: the first run is the best, and they agree."""
    for name, shift in (("Ada", 0), ("Bo", 1)):
        values = {
            (instance.name, run): (
                5 - place - shift * (instance.position % 2 and place > 0),
                4 - place,
            )
            for instance in sheet.instances.all()
            for place, run in enumerate(runs)
        }
        sheets.rate(sheet, name, values)
    return client.post(organise("organise-sheet-publish", phase, sheet), posted)


def test_while_an_annotator_has_not_finished_publishing_has_to_be_confirmed(
    client, phase, sheet, runs
):
    first = sheet.instances.first().name
    sheets.rate(sheet, "Ada", {(first, run): (4, 4) for run in runs})
    Annotator.objects.create(sheet=sheet, name="Bo")
    address = organise("organise-sheet", phase, sheet)
    told = text_of(client.get(address))
    assert "Ada, who has rated 3 of 12 Bo, who has rated 0 of 12" in told
    refused = client.post(organise("organise-sheet-publish", phase, sheet), follow=True)
    assert (
        "The sheet waits for Ada, who has rated 3 of 12; Bo, who has rated 0 of 12"
        in text_of(refused)
    )
    assert Sheet.objects.get().is_open
    client.post(organise("organise-sheet-publish", phase, sheet), {"unfinished": "yes"})
    assert not Sheet.objects.get().is_open
    told = text_of(
        client.get(reverse("organise-history", args=[phase.task.season.slug]))
    )
    assert (
        "published a human evaluation without waiting for Ada, who has rated 3 of 12"
        in told
    )


def test_where_everybody_has_finished_nothing_has_to_be_confirmed(
    client, phase, sheet, runs
):
    assert published(client, phase, sheet, runs).status_code == 302
    assert not Sheet.objects.get().is_open


def test_published_means_are_columns_of_the_board_with_interval_and_agreement(
    client, phase, sheet, runs
):
    board = boards.address("board", phase)
    assert "Human readability" not in text_of(client.get(board))
    published(client, phase, sheet, runs)
    client.logout()
    told = text_of(client.get(board))
    assert "Human readability" in told
    assert "Human consistency" in told
    assert (
        "Agreement of annotators (quadratic kappa and Krippendorff's alpha): readability 0.83"
        in told
    )
    assert "consistency 1.00" in told
    columns = json.loads(client.get(boards.address("board-json", phase)).content)
    readability = {
        row["system"]: row["scores"]["human_readability"] for row in columns["rows"]
    }
    assert readability["Abacus"] == {
        "value": 5.0,
        "low": pytest.approx(2.1325, abs=1e-4),
        "high": 5.0,
    }
    assert readability["Basilisk"]["value"] == 3.75
    assert readability["Basilisk"]["low"] < 3.75 < readability["Basilisk"]["high"]


def test_each_human_number_leads_to_what_was_asked_and_to_its_signature(
    client, phase, sheet, runs
):
    published(client, phase, sheet, runs)
    score = HumanScore.objects.get(submission=runs[0], criterion="readability")
    address = reverse(
        "standing",
        args=[phase.task.season.slug, phase.task.slug, phase.slug, runs[0].pk],
    )
    assert (
        f'href="runs/{runs[0].pk}/#s-{score.pk}"'
        in client.get(boards.address("board", phase)).content.decode()
    )
    part = text_of(client.get(f"{address}?score=-{score.pk}"))
    assert "the mean of 8 ratings from 1 to 5" in part
    assert "|annotators:2|kappa:" in part
    assert "Human evaluation" in text_of(client.get(address))


def test_before_it_is_published_nothing_says_whose_texts_are_how_good(
    client, phase, sheet, runs
):
    sheets.rate(sheet, "Ada", {(sheet.instances.first().name, runs[0]): (1, 1)})
    told = text_of(client.get(organise("organise-sheet", phase, sheet)))
    assert not any(run.system in told for run in runs)


def test_a_published_sheet_takes_no_ratings_until_it_is_unpublished_and_reopened(
    client, phase, sheet, runs, organiser
):
    person = factories.make_user()
    client.post(
        organise("organise-sheet-annotator", phase, sheet), {"email": person.email}
    )
    published(client, phase, sheet, runs, unfinished="yes")
    client.force_login(person)
    client.post(
        reverse("annotate-upload", args=[sheet.pk]), {"file": upload(ratings(sheet))}
    )
    assert not Rating.objects.filter(annotator__user=person).exists()
    client.force_login(organiser)
    client.post(organise("organise-sheet-take-back", phase, sheet))
    assert not HumanScore.objects.exists()
    assert "Human readability" not in text_of(
        client.get(boards.address("board", phase))
    )
    for is_reopened in (False, True):
        client.force_login(organiser)
        if is_reopened:
            client.post(organise("organise-sheet-reopen", phase, sheet))
        client.force_login(person)
        client.post(
            reverse("annotate-upload", args=[sheet.pk]),
            {"file": upload(ratings(sheet))},
        )
        assert Rating.objects.filter(annotator__user=person).exists() is is_reopened
    assert Rating.objects.filter(annotator__user=person).count() == 12


def test_a_sheet_without_ratings_cannot_be_published(client, phase, sheet):
    response = client.post(
        organise("organise-sheet-publish", phase, sheet), follow=True
    )
    assert "Nobody has rated anything on the sheet yet." in text_of(response)
    assert Sheet.objects.get().is_open


@pytest.mark.parametrize("choice", ["ranks", "organisers", "nobody"])
def test_human_columns_are_hidden_with_the_scores(client, phase, sheet, runs, choice):
    published(client, phase, sheet, runs)
    phase.board = choice
    phase.save()
    client.logout()
    told = text_of(client.get(boards.address("board", phase)))
    assert "Human" not in told
    assert client.get(boards.address("board-json", phase)).status_code == 404


def test_the_history_of_the_season_tells_what_was_done(client, phase, sheet, runs):
    published(client, phase, sheet, runs)
    told = text_of(
        client.get(reverse("organise-history", args=[phase.task.season.slug]))
    )
    assert "made a sheet for human evaluation: 4 instances of 3 runs" in told
    assert "published a human evaluation" in told


def test_a_published_sheet_has_the_means_by_data_set(client, tmp_path, organiser):
    labels = {"lu": [intents("Uses")] * 3, "xing": [intents("Uses")]}
    phase = make_phase(tmp_path, organiser=organiser, gold=labels)
    nobody = {name: [None] * len(own) for name, own in labels.items()}
    runs = [
        make_run(phase, tmp_path, nobody, f"{name} on [0].", system=name)
        for name in ("Abacus", "Basilisk")
    ]
    names = ["lu-00", "lu-01", "lu-02", "xing-00"]
    sheet = sheets.make_sheet(
        phase, {name: dict.fromkeys(runs, "A text.") for name in names}
    )
    first, second = runs
    sheets.rate(
        sheet,
        "Ada",
        {(name, first): (place + 1, 5) for place, name in enumerate(names)},
    )
    sheets.rate(sheet, "Bo", {("xing-00", second): (1, 2)})
    address = reverse("organise-sheet", args=[phase.task.season.slug, sheet.pk])
    client.force_login(organiser)
    assert "by data set" not in client.get(address).content.decode()
    client.post(organise("organise-sheet-publish", phase, sheet), {"unfinished": "yes"})
    page = text_of(client.get(address))
    table = page[
        page.index("Readability by data set") : page.index("Consistency by data set")
    ]
    assert "Data set Instances Abacus Basilisk" in table
    # Of three texts there is an interval, of one there is none; nobody rated Basilisk's of lu.
    assert re.search(r"lu 3 2\.00 \S+ to \S+ \u2013 xing 1 4\.00 1\.00", table)
    assert "xing 1 5.00 2.00" in page[page.index("Consistency by data set") :]


def test_a_sheet_of_one_data_set_has_no_table_by_data_set(client, phase, sheet, runs):
    published(client, phase, sheet, runs)
    assert (
        "by data set"
        not in client.get(organise("organise-sheet", phase, sheet)).content.decode()
    )


def test_an_adjudicator_decides_where_annotators_differ_by_as_much_as_was_chosen(
    client, phase, sheet, runs
):
    """Of one text they differ by 3 on readability; the adjudicator's value stands there, and nowhere else."""
    names = [instance.name for instance in sheet.instances.all()]
    first = runs[0]
    agreed = {(name, run): (4, 4) for name in names for run in runs}
    sheets.rate(sheet, "Ada", agreed)
    sheets.rate(sheet, "Bo", agreed | {(names[0], first): (1, 3)})
    judge = factories.make_user()
    client.post(
        organise("organise-sheet-adjudication", phase, sheet), {"distance": "2"}
    )
    client.post(
        organise("organise-sheet-annotator", phase, sheet),
        {"email": judge.email, "is_adjudicator": "on"},
    )
    told = text_of(client.get(organise("organise-sheet", phase, sheet)))
    assert "On 1 text two ratings differ by 2 or more." in told
    assert "an adjudicator, who has 1 rating to decide" in told
    organiser = phase.task.season.organisers.get().user
    client.force_login(judge)
    page = client.get(reverse("annotate", args=[sheet.pk]))
    assert "You adjudicate" in text_of(page)
    assert page.content.decode().count('class="judged"') == 1
    code = SheetText.objects.get(instance__name=names[0], submission=first).code
    other = SheetText.objects.get(instance__name=names[1], submission=first).code
    lines = f"text_id,readability,consistency\n{other},1,1\n"
    refused = client.post(
        reverse("annotate-upload", args=[sheet.pk]), {"file": upload(lines.encode())}
    )
    assert f"annotators do not differ on {other}" in text_of(refused)
    client.post(
        f"{reverse('annotate', args=[sheet.pk])}?instance=1",
        {f"{code}-readability": "2", f"{code}-consistency": "1"},
    )
    client.force_login(organiser)
    assert (
        client.post(organise("organise-sheet-publish", phase, sheet)).status_code == 302
    )
    scores = {
        score.criterion: score for score in HumanScore.objects.filter(submission=first)
    }
    # Three texts of two ratings each, and one that was decided.
    assert scores["readability"].value == (6 * 4 + 2) / 7
    # Ratings that differ by less are not the adjudicator's.
    assert scores["consistency"].value == (7 * 4 + 3) / 8
    assert "|adjudicated_from:2|adjudicated:1|" in scores["readability"].signature
    assert "|annotators:2|" in scores["readability"].signature
    board = text_of(client.get(boards.address("board", phase)))
    assert (
        "Where two ratings of a text differ by 2 or more, the value is that of an adjudicator (1 rating)"
        in (board)
    )


def test_agreement_is_that_of_the_first_ratings_whatever_was_decided(
    client, phase, sheet, runs
):
    before = outcome.compute_agreement_by_criterion(published_by_two(sheet, runs))
    judge = Annotator.objects.create(sheet=sheet, name="Eve", is_adjudicator=True)
    Sheet.objects.update(adjudicated_from=1)
    text = SheetText.objects.filter(
        pk__in=find_all_disputed_texts(Sheet.objects.get())
    ).first()
    Rating.objects.create(annotator=judge, text=text, readability=1, consistency=1)
    assert outcome.compute_agreement_by_criterion(Sheet.objects.get()) == before


def published_by_two(sheet, runs):
    for name, shift in (("Ada", 0), ("Bo", 1)):
        values = {
            (instance.name, run): (5 - place - shift, 4 - place)
            for instance in sheet.instances.all()
            for place, run in enumerate(runs)
        }
        sheets.rate(sheet, name, values)
    return sheet


def test_nobody_adjudicates_their_own_ratings_and_one_person_does(
    client, phase, sheet, annotator, organiser
):
    client.force_login(organiser)
    address = organise("organise-sheet-annotator", phase, sheet)
    told = client.post(address, {"email": annotator.email, "is_adjudicator": "on"})
    assert "nobody decides on their own ratings" in text_of(told)
    first, second = factories.make_user(), factories.make_user()
    client.post(address, {"email": first.email, "is_adjudicator": "on"})
    told = client.post(address, {"email": second.email, "is_adjudicator": "on"})
    assert "adjudicates the sheet already" in text_of(told)
    client.force_login(first)
    assert client.get(reverse("annotate", args=[sheet.pk])).status_code == 404


@pytest.mark.parametrize("distance", ["0", "5", "x"])
def test_a_distance_that_no_two_ratings_have_is_refused(client, phase, sheet, distance):
    address = organise("organise-sheet-adjudication", phase, sheet)
    assert client.post(address, {"distance": distance}).status_code == 422
    assert Sheet.objects.get().adjudicated_from is None


def test_levels_are_described_as_the_task_has_them(client, sheet, annotator):
    page = text_of(client.get(reverse("annotate", args=[sheet.pk])))
    assert "How well does the text read, whatever it says?" in page
    assert "5 reads as a careful author would have written it" in page


def test_against_the_gold_text_only_once_no_phase_needs_it_secret(
    client, phase, sheet, organiser
):
    address = organise("organise-sheet-references", phase, sheet)
    told = client.post(address, follow=True)
    assert "A phase on this gold is still to end" in text_of(told)
    assert not Sheet.objects.get().has_references
    phase.closes = timezone.now() - dt.timedelta(minutes=1)
    phase.save()
    client.post(address)
    person = factories.make_user()
    client.post(
        organise("organise-sheet-annotator", phase, sheet), {"email": person.email}
    )
    client.force_login(person)
    page = text_of(client.get(reverse("annotate", args=[sheet.pk])))
    assert "The gold text" in page
    assert "The parser of [0] has been used" in page
    assert (
        "How far does the text say what the gold text says of the cited papers?" in page
    )


@pytest.mark.parametrize("needs_it", ["late_until", "frozen_from"])
def test_nor_while_late_runs_are_taken_or_a_board_is_frozen(
    client, phase, sheet, needs_it
):
    now = timezone.now()
    later = (
        now + dt.timedelta(days=1)
        if needs_it == "late_until"
        else now - dt.timedelta(days=1)
    )
    type(phase).objects.update(
        closes=now - dt.timedelta(minutes=1), **{needs_it: later}
    )
    told = client.post(organise("organise-sheet-references", phase, sheet), follow=True)
    assert "until" in text_of(told)
    assert not Sheet.objects.get().has_references


def test_what_was_rated_without_the_gold_text_stays_so(client, phase, sheet, runs):
    phase.closes = timezone.now() - dt.timedelta(minutes=1)
    phase.save()
    sheets.rate(sheet, "Ada", {(sheet.instances.first().name, runs[0]): (1, 1)})
    told = client.post(organise("organise-sheet-references", phase, sheet), follow=True)
    assert "Something has been rated without the gold text already." in text_of(told)


def data_sheet(phase, form=""):
    name = f"human-data-sheet-{form}" if form else "human-data-sheet"
    return reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])


def test_a_data_sheet_stands_beside_the_results_with_what_organisers_say_and_what_the_site_knows(
    client, phase, sheet, runs
):
    address = organise("organise-data-sheet", phase, sheet)
    assert "Who the evaluators are" in text_of(client.get(address))
    assert (
        client.post(
            address, {"expertise": "Two *doctoral* students.", "payment": ""}
        ).status_code
        == 302
    )
    assert client.get(data_sheet(phase)).status_code == 404, "nothing is published"
    published(client, phase, sheet, runs)
    client.logout()
    assert (
        f'href="{data_sheet(phase)}"'
        in client.get(boards.address("board", phase)).content.decode()
    )
    page = text_of(client.get(data_sheet(phase)))
    for words in (
        "Two *doctoral* students.",
        "3 systems",
        "4 instances, 12 texts",
        "2 annotators",
        "alpha: readability 0.83",
    ):
        assert words in page, words
    assert "How they are paid" not in page, "what nobody has answered is left out"
    for name in ("Ada", "Bo"):
        assert f" {name} " not in page
    markdown = client.get(data_sheet(phase, "md")).content.decode()
    assert "## Evaluators\n\n**Evaluators.** 2 annotators\n" in markdown
    said = client.get(data_sheet(phase, "json")).json()
    assert said["answers"] == {"expertise": "Two *doctoral* students."}
    assert "payment" in said["unanswered"]


def test_a_data_sheet_is_hidden_with_the_scores(client, phase, sheet, runs):
    published(client, phase, sheet, runs)
    phase.board = "ranks"
    phase.save()
    client.logout()
    for form in ("", "md", "json"):
        assert client.get(data_sheet(phase, form)).status_code == 404


def test_what_changes_on_a_data_sheet_stands_in_the_history_and_too_long_an_answer_is_refused(
    client, phase, sheet
):
    address = organise("organise-data-sheet", phase, sheet)
    assert client.post(address, {"payment": "x" * 4001}).status_code == 422
    client.post(address, {"payment": "By the hour."})
    client.post(address, {"payment": ""})
    assert Sheet.objects.get().data_sheet == {}
    told = text_of(
        client.get(reverse("organise-history", args=[phase.task.season.slug]))
    )
    assert told.count(f"wrote the data sheet of sheet {sheet.pk}: payment") == 2
