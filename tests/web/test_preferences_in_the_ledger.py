"""Judgements of published sheets of pairs as rows of the season's ledger."""

import hashlib
import json

import pytest
from django.urls import reverse

from citeboard.core.refusals import ActionRefused
from scoring.models import Judge, Judgement, JudgementImport, Preference, Sheet
from scoring.offline.ledger import read_judgements
from scoring.worker.ledger import iterate_judgement_file_lines, withdraw_judgements
from tests.kept_worlds import keep_world
from tests.web.test_battles import (
    battle,
    bring,
    make_judged,
    organise,
    publish,
    signed_in,
)

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker):
    return keep_world(make_judged, django_db_blocker)


@pytest.fixture
def judged(db, kept):
    return kept()


def digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_a_published_sheet_has_a_row_for_each_judgement_and_the_texts_that_were_shown(
    judged, tmp_path
):
    organiser, judge, other, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    header, *rows = map(json.loads, iterate_judgement_file_lines(Judge.objects.all()))
    name = f"sheet {sheet.pk}"
    assert header == {"kind": "prefers", "judge": name, "digest": name}
    assert len(rows) == Preference.objects.count() == 12
    first = Preference.objects.order_by("pk").first()
    shown = [first.instance.name, first.pair.left.text, first.pair.right.text]
    [row] = [
        row
        for row in rows
        if (row["items"], row["by"]) == ([*map(digest, shown)], f"judge {sheet.pk}-1")
    ]
    assert row["label"] == first.label
    text = "".join(iterate_judgement_file_lines(Judge.objects.all()))
    assert str(judge) not in text
    assert str(other) not in text
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with (tmp_path / "read").open("w") as out:
        assert not read_judgements(path, "rows.jsonl", out).problems


def test_rows_of_an_unpublished_sheet_are_withdrawn_and_come_again(judged):
    organiser, _, _, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    signed_in(organiser).post(organise("pairs-take-back", phase, sheet.pk))
    source = JudgementImport.objects.get()
    assert source.reason == f"sheet {sheet.pk} was unpublished"
    assert not Judgement.objects.standing().exists()
    Preference.objects.update(label="tie")
    publish(organiser, phase, sheet)
    assert set(Judgement.objects.standing().values_list("label")) == {("tie",)}
    assert Judgement.objects.count() == 24


def test_rows_of_a_published_sheet_are_withdrawn_by_the_sheet_alone(judged):
    organiser, _, _, phase, _, sheet = judged
    publish(organiser, phase, sheet)
    source = JudgementImport.objects.get()
    with pytest.raises(ActionRefused, match=f"judgements of sheet {sheet.pk}"):
        withdraw_judgements(source=source, reason="A test.", by=organiser)
    page = signed_in(organiser).get(
        reverse("organise-ledger", args=[phase.task.season.slug])
    )
    assert f"sheet {sheet.pk}" in page.content.decode()


def test_equal_texts_that_a_judge_saw_twice_are_repeats(judged):
    organiser, _, _, phase, _, sheet = judged
    for instance in sheet.instances.all():
        instance.texts.update(text="The same text.")
    first = sheet.annotators.earliest("pk")
    pairs = [own.pair for own in first.preferences.order_by("pk")]
    Preference.objects.filter(pair=pairs[3]).update(instance=pairs[0].instance)
    publish(organiser, phase, sheet)
    repeats = Judgement.objects.filter(by=f"judge {sheet.pk}-1", repeat=1)
    assert repeats.count() == 1


def test_judgements_of_a_file_have_no_texts_and_no_rows(judged):
    organiser, _, _, phase, _, _ = judged
    bring(organiser, phase, battle())
    publish(organiser, phase, Sheet.objects.latest("pk"))
    assert not Judgement.objects.exists()
