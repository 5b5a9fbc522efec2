"""Classes in the language of the reader: on boards, charts and lists, not in addresses and files."""

import re

import pytest
from django.urls import reverse

from scoring.offline.sample import SAMPLE_RUN_FILE, open_sample
from scoring.results.board.formatting import display_name_of_class
from tasks.types import task_types
from tasks.types.columns import TRANSLATABLE_CLASS_NAMES
from tasks.types.files import open_input_files
from tasks.types.registry import find_sample_folder
from tasks.types.runs import read_run
from tests import factories
from tests.languages.marking import pseudo_locale
from tests.scoring import boards, compared

#: Whose classes are names that data bring.
OF_DATA = {
    "topic",
    "annotator",
    "year",
    "dataset",
    "field",
    "year_group",
    "low_resource",
    "discipline",
    "target_intent",
    "topic_kind",
}


@pytest.mark.parametrize("slug", task_types())
def test_every_class_that_a_type_makes_of_its_sample_has_words_to_translate(slug):
    kind = task_types()[slug]
    _, split, checked = open_sample(kind, {})
    run = open_input_files(find_sample_folder(slug) / SAMPLE_RUN_FILE)
    answers, _ = read_run(kind, run, split.index, checked)
    for rules in kind.rules:
        for dimension, rows in kind.pairs_of(
            split, answers, rules, checked
        ).features.items():
            if dimension in OF_DATA:
                continue
            for label in {label for row in rows for label in row}:
                assert (
                    not re.search("[a-z]", label)
                    or re.sub(r"\d+", "%s", label) in TRANSLATABLE_CLASS_NAMES
                )


def test_numbers_keep_their_places_and_other_names_stay():
    with pseudo_locale():
        assert display_name_of_class("16 to 40 words") == "⟦16 to 40 words⟧"
        assert display_name_of_class("2024-01-31 or later") == "⟦2024-01-31 or later⟧"
        assert display_name_of_class("unarXive 100 %s") == "unarXive 100 %s"


@pytest.mark.django_db
def test_boards_say_classes_in_words_of_the_reader_and_addresses_keep_them(client):
    phase = compared.make_phase()
    run = compared.scored(phase, 9)
    client.force_login(factories.make_user(is_staff=True))
    with pseudo_locale():
        board = client.get(
            boards.address("differences", phase), {"dimension": "facet"}
        ).content.decode()
        of_run = client.get(
            reverse("submission-instances", args=[run.pk])
        ).content.decode()
    assert re.search(r'<th scope="row">⟦\w+⟧</th>', board)
    assert re.search(r'<option value="facet:(\w+)">⟦\1⟧</option>', of_run)
