"""What data sets of citation texts consist of: for whoever may know it, and nothing of the gold before."""

import datetime as dt
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from tasks.gold.gold_files import load_gold
from tasks.models import Gold, Phase
from tests import factories

pytestmark = pytest.mark.django_db
OWLS = [
    {
        "id": "owls-0",
        "input": ["Owls hunt at night.", "Mice hide."],
        "target": "In this paper we present owls [0].",
    },
    {"id": "owls-1", "input": ["word " * 4097], "target": "text " * 1025},
]
MICE = [
    {
        "id": "mice-0",
        "input": ["Mice"],
        "target": "The Main Objective of Our Work is mice.",
    }
]
OF_GOLD = ("Texts of the gold", "516.0", "2 (66.67 %)", "we introduce")


@pytest.fixture
def phase(tmp_path):
    task = factories.make_task(
        season=factories.make_season(organiser=factories.make_user()),
        type="citation-text",
    )
    phase = factories.make_phase(task=task, with_gold=False)
    load(phase, tmp_path, owls=OWLS, mice=MICE)
    return phase


def load(phase, folder, **data_sets) -> Gold:
    for name, instances in data_sets.items():
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(instance) + "\n" for instance in instances)
        )
    return load_gold(
        task=phase.task, split=phase.split, paths=[folder], reason="first"
    )[0]


def page(client, phase):
    return client.get(
        reverse("data-sets", args=[phase.task.season.slug, phase.task.slug])
    )


def cells(answer) -> list[list]:
    [split] = answer.context["splits"]
    return [[line["label"], line["inputs"], line["gold"]] for line in split["lines"]]


def shows_gold(answer) -> bool:
    assert answer.status_code == 200
    shown = [words in answer.content.decode() for words in OF_GOLD]
    assert len(set(shown)) == 1, shown
    return shown[0]


def test_organisers_read_sizes_lengths_and_key_phrases_by_data_set_and_over_all(
    client, phase
):
    client.force_login(phase.task.season.organisers.get().user)
    answer = page(client, phase)
    assert {(label, own["instances"], own["cited_papers"]) for label, own, _ in cells(answer)} == {
        ("owls", 2, 3), ("mice", 1, 1), ("all data sets", 3, 4)
    }  # fmt: skip
    owls, total = (
        next(line for line in cells(answer) if line[0] == name)
        for name in ("owls", "all data sets")
    )
    assert owls[1] == {
        "instances": 2,
        "cited_papers": 3,
        "input_words": (6 + 4097) / 2,
        "long_inputs": 1,
    }
    assert owls[2]["output_words"] == (7 + 1025) / 2
    assert total[2]["phrases"] == [1, 1, 1, 0, 1]
    assert (total[2]["printed_self_references"], total[2]["self_references"]) == (2, 2)
    assert shows_gold(answer)
    assert set(answer["Cache-Control"].replace(" ", "").split(",")) >= {
        "private",
        "no-store",
    }


def test_visitors_read_of_inputs_that_are_released_and_nothing_of_the_gold(
    client, phase
):
    answer = page(client, phase)
    assert "2051.5" in answer.content.decode()
    assert not shows_gold(answer)
    assert all(gold == {} for _, _, gold in cells(answer))


def test_before_the_inputs_are_released_nothing_is_told(client, phase):
    Phase.objects.update(
        opens=timezone.now() + dt.timedelta(days=1), gold_is_public=True
    )
    answer = page(client, phase)
    assert not shows_gold(answer)
    assert "No inputs have been released yet." in answer.content.decode()
    assert "owls" not in answer.content.decode()


def test_the_gold_tells_more_once_it_is_given_out(client, phase):
    Phase.objects.update(gold_is_public=True, version=2)
    assert not shows_gold(page(client, phase))
    Phase.objects.update(closes=timezone.now() - dt.timedelta(minutes=1), version=3)
    assert shows_gold(page(client, phase))


@pytest.mark.parametrize(
    "fields", [{"board": "ranks"}, {"board": "organisers"}, {"gold_is_public": False}]
)
def test_a_hidden_board_and_gold_that_is_kept_tell_nothing(client, phase, fields):
    closed = timezone.now() - dt.timedelta(minutes=1)
    Phase.objects.update(
        **{"gold_is_public": True, "closes": closed, "version": 2, **fields}
    )
    assert not shows_gold(page(client, phase))


def test_an_embargo_holds_whatever_another_phase_on_the_gold_says(client, phase):
    closed, later = (timezone.now() + dt.timedelta(hours=sign) for sign in (-1, 1))
    Phase.objects.update(gold_is_public=True, closes=closed, version=2)
    other = factories.make_phase(task=phase.task, closes=closed, gold_from=later)
    assert not shows_gold(page(client, phase))
    Phase.objects.filter(pk=other.pk).update(gold_from=closed)
    assert shows_gold(page(client, phase))


def test_a_season_that_is_a_draft_has_no_such_page_for_visitors(client, phase):
    type(phase.task.season).objects.update(is_public=False)
    assert page(client, phase).status_code == 404


def test_the_task_leads_there_and_other_types_have_no_such_page(client, phase):
    there = reverse("data-sets", args=[phase.task.season.slug, phase.task.slug])
    task = reverse("task", args=[phase.task.season.slug, phase.task.slug])
    assert f'href="{there}"' in client.get(task).content.decode()
    assert page(client, factories.make_phase()).status_code == 404


def test_gold_that_comes_over_the_web_is_described_by_the_process_that_reads_it(
    client, phase
):
    client.force_login(phase.task.season.organisers.get().user)
    content = "".join(
        json.dumps({**instance, "dataset": "mice\0"}) + "\n" for instance in MICE
    )
    client.post(
        reverse("organise-gold", args=[phase.task.season.slug]),
        {
            "split": f"{phase.task.pk}/{phase.split}",
            "reason": "fewer",
            "file": SimpleUploadedFile("mice.jsonl", content.encode()),
        },
    )
    assert [label for label, _, _ in cells(page(client, phase))] == ["mice "]
    assert Gold.objects.current(phase).number == 2


def test_gold_of_an_earlier_release_is_described_when_it_is_loaded_again(
    client, phase, tmp_path
):
    Gold.objects.update(statistics=[])
    assert "loaded by an earlier release" in page(client, phase).content.decode()
    assert load(phase, tmp_path).number == 1
    assert len(cells(page(client, phase))) == 3


def test_very_many_data_sets_are_described_over_all_alone(client, phase, tmp_path):
    load(
        phase,
        tmp_path,
        owls=[{**MICE[0], "id": str(n), "dataset": f"d{n}"} for n in range(101)],
    )
    assert [
        (label, own["instances"]) for label, own, _ in cells(page(client, phase))
    ] == [("all data sets", 102)]
