"""Sheets of summaries, as CL-Summ's task 2 asks for them."""

import pytest
from django.urls import reverse

from scoring.models import Sheet, SheetText
from tasks.gold.gold_files import load_gold
from tests import factories
from tests.background.background import followed
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

TOPIC = "D01-0001"
HIDDEN = "A summary that an annotator wrote."


@pytest.fixture
def phase(tmp_path):
    season = factories.make_season(organiser=factories.make_user())
    phase = factories.make_phase(
        task=factories.make_task(season=season, type="clsumm-2"), with_gold=False
    )
    folder = factories.write_corpus(tmp_path / "corpus", topics=(TOPIC,)) / TOPIC
    (folder / "summary").mkdir(exist_ok=True)
    (folder / "summary" / f"{TOPIC}.human.txt").write_text(HIDDEN)
    load_gold(
        task=phase.task, split=phase.split, paths=[tmp_path / "corpus"], reason="first"
    )
    return phase


def test_annotators_read_the_paper_and_its_citances_and_no_gold(client, phase):
    run = factories.make_submission(
        phase=phase,
        content=b'{"topic": "D01-0001", "summary": "It counts words.\\nAnd links."}\n',
        status="scored",
    )
    boards.score(run, 0.5)
    organiser = phase.task.season.organisers.get().user
    client.force_login(organiser)
    made = client.post(
        reverse("organise-sheet-make", args=[phase.task.season.slug, phase.pk]),
        {"instances": 1, "seed": 0, "runs": [run.pk]},
    )
    followed(client, made)
    sheet = Sheet.objects.get()
    assert SheetText.objects.get().text == "It counts words.\nAnd links."
    headings = [heading for heading, _ in sheet.instances.get().sources]
    assert headings[0] == "What later papers say where they cite it"
    assert len(headings) > 1
    sheet.annotators.create(name="Own", user=organiser)
    page = text_of(client.get(reverse("annotate", args=[sheet.pk])))
    assert "It counts words." in page
    assert HIDDEN not in page
