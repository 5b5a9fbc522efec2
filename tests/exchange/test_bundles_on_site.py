"""Bundles on the site: pages, API and access."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from citeboard.teams.models import Token
from tasks.models import Gold, Season
from tests import factories
from tests.api.conftest import API
from tests.exchange.bundles import (
    MATRIX,
    SQUARES,
    codabench,
    codalab,
    lines,
    packed,
    with_two_candidates,
)
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
NEW = "/new-season/bundle/"


@pytest.fixture
def olga(client):
    olga = factories.make_user(email="olga@example.org", name="Olga", is_staff=True)
    client.force_login(olga)
    return olga


def zipped(files, name="bundle.zip") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, packed(files))


def test_the_page_reports_first_and_then_makes_the_draft(client, olga):
    assert NEW in client.get("/new-season/").content.decode()
    shown = client.post(NEW, {"file": zipped(codabench())})
    assert (
        "sklearn.metrics.accuracy_score (scoring.py:8) is `accuracy` here"
        in text_of(shown)
    )
    assert not Season.objects.exists()
    making = shown.context["making"].initial
    assert (making["slug"], making["title"]) == ("pets-in-pictures", "Pets in pictures")
    sent = {"stored": making["stored"], "title": "Pets", "slug": "pets", "make": "yes"}
    made = client.post(NEW, sent, follow=True)
    assert made.redirect_chain == [("/seasons/pets/organise/bundle/", 302)]
    assert "Force_Last: `counting = last`" in text_of(made)
    season = Season.objects.get()
    assert (season.title, season.is_public) == ("Pets", False)
    assert season.organisers.get().user == olga
    assert "made the draft of the bundle bundle.zip" in text_of(
        client.get("/seasons/pets/organise/history/")
    )
    assert (
        "/seasons/pets/organise/bundle/"
        in client.get("/seasons/pets/organise/file/").content.decode()
    )
    # The bundle is deleted once its draft exists.
    assert "Choose the file again." in text_of(client.post(NEW, {**sent, "slug": "x"}))


def test_a_bundle_that_is_prevented_makes_nothing_even_if_asked(client, olga):
    files = codabench(**{"program/scoring.py": "print 'no'\n"})
    answer = client.post(NEW, {"file": zipped(files), "make": "yes"})
    assert "The bundle cannot be imported." in text_of(answer)
    assert "Python 2" in text_of(answer)
    assert not Season.objects.exists()


def test_a_bundle_whose_gold_is_not_read_becomes_a_draft_with_its_phases(client, olga):
    files = codabench(**{"dev/labels.txt": b"\0", "final.zip": packed({"a.png": "x"})})
    client.post(NEW, {"file": zipped(files), "make": "yes", "slug": "pets"})
    season = Season.objects.get()
    assert [phase["slug"] for phase in season.planned_phases] == ["practice", "final"]
    assert not season.tasks.exists()
    told = text_of(client.get("/seasons/pets/organise/bundle/"))
    assert "no answers that can be read by line or field" in told
    assert "make a task from its gold" in told


def test_a_name_that_is_taken_is_told_and_the_draft_can_be_made_under_another(
    client, olga
):
    factories.make_season(slug="pets")
    answer = client.post(
        NEW, {"file": zipped(codabench()), "slug": "pets", "make": "yes"}
    )
    assert answer.status_code == 422
    assert "there is a season “pets” already" in text_of(answer)
    stored = answer.context["making"].initial["stored"]
    client.post(NEW, {"stored": stored, "slug": "other", "make": "yes"})
    assert Season.objects.filter(slug="other").exists()


def test_a_program_gets_the_report_and_the_draft(client, olga):
    _, secret = Token.objects.create_token(user=olga, name="test", scope="write")
    by = {"Authorization": f"Token {secret}"}
    where = f"{API}/new-season-bundle/"
    dry = client.post(where, {"file": zipped(codalab()), "dry_run": "true"}, headers=by)
    assert (dry.status_code, dry.json()["season"]) == (200, "")
    assert not Season.objects.exists()
    made = client.post(where, {"file": zipped(codalab())}, headers=by)
    assert made.json()["season"] == "shares"
    assert made.json()["report"] == dry.json()["report"]
    assert {line["verdict"] for line in made.json()["report"]} >= {"decide"}


PLACE = "tasks[0].reference_data"


def golds() -> dict[str, int]:
    return dict(Gold.objects.values_list("split", "instances"))


def test_the_page_asks_which_file_is_the_gold_and_reads_the_bundle_again(client, olga):
    shown = client.post(NEW, {"file": zipped(with_two_candidates())})
    assert "2 files could be the gold (labels.txt, other.txt); choose one" in text_of(
        shown
    )
    assert f'value="{PLACE}=other.txt"' in shown.content.decode()
    stored = shown.context["making"].initial["stored"]
    sent = {"stored": stored, "title": "Pets", "slug": "pets"}
    gold = ["", f"{PLACE}=other.txt"]
    again = client.post(NEW, {**sent, "gold": gold})
    assert "other.txt is the gold, as you chose" in text_of(again)
    assert "selected" in again.content.decode().split('other.txt"')[1][:120]
    assert not Season.objects.exists()
    client.post(NEW, {**sent, "gold": gold, "make": "yes"})
    assert golds() == {"practice": 8, "final": 4}


@pytest.mark.parametrize(
    ("gold", "status", "words"),
    [
        (f"{PLACE}=labels.txt", 200, "labels.txt is the gold, as you chose"),
        (f"{PLACE}=../labels.txt", 200, "is no file that could be the gold"),
        ("tasks[7].reference_data=labels.txt", 200, "has no such gold to choose"),
        ("labels.txt", 422, "chooses no gold"),
        ("=labels.txt", 422, "chooses no gold"),
        (f"{PLACE}=", 422, "chooses no gold"),
    ],
)
def test_a_program_chooses_the_gold_or_learns_what_is_wrong(
    client, olga, gold, status, words
):
    _, secret = Token.objects.create_token(user=olga, name="test", scope="write")
    by = {"Authorization": f"Token {secret}"}
    sent = {"file": zipped(with_two_candidates()), "gold": gold, "dry_run": "true"}
    answer = client.post(f"{API}/new-season-bundle/", sent, headers=by)
    assert answer.status_code == status
    assert words in answer.content.decode()
    assert not Season.objects.exists()


def test_the_page_says_what_is_wrong_with_a_choice(client, olga):
    sent = {"file": zipped(with_two_candidates()), "gold": "labels.txt"}
    answer = client.post(NEW, sent)
    assert answer.status_code == 422
    assert "chooses no gold" in text_of(answer)


def test_the_command_takes_the_choice(tmp_path, capsys):
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(with_two_candidates()))
    call_command(
        "import_bundle", path, "--gold", f"{PLACE}=other.txt", "--slug", "pets"
    )
    assert "other.txt is the gold, as you chose" in capsys.readouterr().out
    assert golds() == {"practice": 8, "final": 4}
    with pytest.raises(CommandError):
        call_command("import_bundle", path, "--gold", "other.txt", "--slug", "more")


def with_signs(phase: str, file: str) -> dict[str, str | bytes]:
    """Return a bundle of CodaLab whose first phase has this name and two files of gold."""
    text = str(codalab()["competition.yaml"])
    assert "\n  1: {" in text
    program = PROGRAM_WITHOUT_NAMES
    return codalab(
        **{
            "competition.yaml": text.replace("\n  1: {", f'\n  "{phase}": {{'),
            "program.zip": packed(program),
            "reference.zip": packed(
                {"gold.txt": lines(MATRIX), file: lines(MATRIX[::-1])}
            ),
        }
    )


PROGRAM_WITHOUT_NAMES = {
    "score.py": SQUARES.replace('"/ref/gold.txt"', '"/ref/" + sys.argv[3]'),
    "metadata": "command: python $program/score.py $input $output",
}


@pytest.mark.parametrize(
    ("phase", "file"),
    [
        ("a=b", "other.txt"),
        ("1", "a=b.txt"),
        ("a=b", "c=d.txt"),
        ("1.reference_data=x", "other.txt"),
    ],
)
def test_a_choice_of_gold_may_have_the_separator_in_both_parts(
    tmp_path, capsys, phase, file
):
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(with_signs(phase, file)))
    place = f"phases.{phase}.reference_data"
    call_command("import_bundle", path, "--dry-run")
    assert f"{place}: 2 files could be the gold" in capsys.readouterr().out
    call_command("import_bundle", path, "--gold", f"{place}={file}", "--dry-run")
    out = capsys.readouterr().out
    assert f"{place}: {file} is the gold, as you chose" in out
    assert "no such gold to choose" not in out


def test_a_choice_for_a_key_that_is_not_there_is_named_to_its_first_separator(
    tmp_path, capsys
):
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(with_signs("a=b", "other.txt")))
    call_command("import_bundle", path, "--gold", "phases.a=c=other.txt", "--dry-run")
    assert "phases.a: the bundle has no such gold to choose" in capsys.readouterr().out
