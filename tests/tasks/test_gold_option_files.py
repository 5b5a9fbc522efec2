"""Gold of tasks whose options name files of the operator, which sandboxed readers of gold get as copies."""

import json

import pytest

from tasks.gold.content import KEYED_DIGEST_BYTES, compute_missing_gold_digests
from tasks.gold.gold_files import load_gold, store_uploaded_gold
from tasks.models import GoldContent
from tests import factories
from tests.tasks.types.citations import write_gold, write_parses

pytestmark = pytest.mark.django_db

TOPICS = [
    {"request_id": "7", "title": "Why does it rain?"},
    {"request_id": "8", "title": "Why does it snow?"},
]
SUPPORT = {
    "texts": {"sentence": "It rains.", "document": "Rain fell."},
    "label": "full",
}


def write_lines(path, *records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def make_task_with_parses(folder):
    parses = write_parses(folder, "It rains in Oslo")
    options = {"parser": str(parses)}
    return factories.make_task(type="positional-citations", options=options)


def make_task_with_judgements(folder):
    judgements = write_lines(folder / "supports.jsonl", SUPPORT)
    options = {"supports": str(judgements)}
    return factories.make_task(type="cited-reports", options=options)


@pytest.fixture
def operator_folder(tmp_path):
    folder = tmp_path / "operator"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("make_task", "write_gold_of_two"),
    [
        (make_task_with_parses, write_gold),
        (
            make_task_with_judgements,
            lambda folder: write_lines(folder / "topics.jsonl", *TOPICS),
        ),
    ],
    ids=["file of parses", "file of judgements"],
)
def test_a_sweep_counts_each_instance_of_gold_whose_task_names_a_file(
    tmp_path, operator_folder, make_task, write_gold_of_two
):
    task, path = make_task(operator_folder), write_gold_of_two(tmp_path)
    load_gold(task=task, split="test", paths=[path], reason="First version")
    content = GoldContent.objects.get()
    before = bytes(content.digests)
    content.delete()
    assert compute_missing_gold_digests() == 1
    assert bytes(GoldContent.objects.get().digests) == before
    assert len(before) == 2 * 2 * KEYED_DIGEST_BYTES


def test_gold_whose_task_names_a_file_of_parses_can_be_uploaded(
    tmp_path, operator_folder
):
    stored = store_uploaded_gold(
        task=make_task_with_parses(operator_folder),
        path=write_gold(tmp_path),
        filename="gold.json",
        by=factories.make_user(),
    )
    assert stored.instances == 2
