"""Each page that a row of the five papers names opens on the demo; its boards have the rows' measures."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import pytest
from django.urls import reverse

from citeboard.demo import prepare
from citeboard.demo.judgements import publish_judgements
from citeboard.demo.prepare import ORGANISER_ROLE, READER_ROLE, demo_email_address
from citeboard.teams.models import User
from scoring.human import sheets
from scoring.models import JudgedRun, Sheet
from scoring.papers.cells import papers
from scoring.results.board.formatting import (
    display_name_of_dimension,
    display_name_of_metric,
)
from tasks.models import Phase, Season, Submission
from tests.api.sending import content, score
from tests.demo.worlds import make_complete, phase_at
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

#: The demo's tasks of each paper's rows; pages are those of the first.
TASKS = {
    "1": ("resolution",),
    "2": ("recommendation",),
    "3": ("positional",),
    "4": ("citation-texts",),
    "5": ("1a", "1b", "2"),
}


class Printed(NamedTuple):
    """The season that shows what a paper printed, and the paper's key."""

    season: str
    key: str


PRINTED = {
    "1": Printed("citation-resolution-2014", "duma-klein-2014"),
    "2": Printed("citation-recommendation-2024", "maharjan-2024"),
    "3": Printed("aliice-2025", "xu-2025"),
    "4": Printed("citebench-2023", "funkquist-2023"),
    "5": Printed("cl-summ-2014", "jaidka-2014"),
}
#: A page of those alone who rate a sheet that is open.
ANNOTATING = "/annotate/{sheet}/"
#: Names of the rows that the demo's boards cannot show: by name what they need.
NEEDING = {
    "bertscore_f1": "a model that the demo does not install",
    "kl_corwa": "labels of CORWA's scheme, whose data are not here",
    "overlap_f1_citance": "the rule set official-2014, which the pilot's season has",
    "h_index_group": "metadata of authors, which the invented papers lack",
    "empty_abstracts": "inputs without abstracts, which the demo lacks",
}
#: Measures that the first screen of no board has; they are not required here.
FURTHER = {
    "aliice_precision_deviation",
    "aliice_precision_per_claim",
    "aliice_recall_deviation",
    "cocited_probability",
    "cvcp_pooled",
    "kl_intent_published",
    "kl_intent_smoothed",
    "length",
    "length_deviation",
    "positional_share",
    "rouge_l_f1",
    "rouge_l_f1_stemmed",
    "rouge_lsum_f1",
    "self_reference",
}
ROWS = [(row[0], row[2]) for paper in papers() for row in paper.rows]
SPANS = [
    (number, span) for number, where in ROWS for span in re.findall(r"`([^`]+)`", where)
]


def make_scored() -> None:
    """Score the practice phases of the papers' tasks, without baselines, and publish what people say."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "TEAM_NAMES_IN_ALL_PHASES", ())
        patch.setattr(prepare, "BASELINE_NAMES_BY_TASK", {})
        patch.setattr(prepare, "load_reports_season", lambda: None)
        make_complete()
    for slug in chain.from_iterable(TASKS.values()):
        phase = phase_at("demo", slug, "practice")
        # One column of citation texts belongs to the official rules.
        rules = phase.task.rules if slug == "citation-texts" else phase.task.rules[:1]
        for run in phase.submissions.filter(kind=Submission.Kind.PRIMARY):
            run.jobs.exclude(rules__in=rules).delete()
            score(run)
    assert publish_judgements()


@pytest.fixture(scope="module")
def kept_scored(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_scored, django_db_blocker)


@pytest.fixture
def organiser(db, kept_scored, client):
    kept_scored()
    client.force_login(User.objects.get(email=demo_email_address(ORGANISER_ROLE)))
    return client


def address_on_demo(address: str, number: str) -> str:
    """Fill in the address of a row with what the demo has for its paper."""
    paper = number.partition(".")[0]
    phase = phase_at("demo", TASKS[paper][0], "practice")
    season, task = "demo", phase.task.slug
    if address.endswith("{task}/published/"):
        season = PRINTED[paper].season
        task = Season.objects.get(slug=season).tasks.earliest("pk").slug
    return address.format(
        season=season,
        task=task,
        phase=phase.slug,
        pk=phase.submissions.filter(status="scored").earliest("pk").pk,
        sheet=Sheet.objects.earliest("pk").pk,
        key=PRINTED[paper].key,
    )


def test_every_page_that_a_row_names_opens_on_the_demo(organiser):
    pages = [(number, span) for number, span in SPANS if span.startswith("/")]
    assert len(pages) > 30
    closed = []
    for number, span in pages:
        if span == ANNOTATING:
            continue
        address = address_on_demo(span, number)
        response = organiser.get(address)
        if response.status_code != 200:
            closed.append((number, address, response.status_code))
        content(response)
    assert closed == []


def test_people_rate_texts_on_the_page_that_its_row_names(organiser):
    """The demo's own sheet is published; a person rates on one that an organiser has drawn."""
    assert ANNOTATING in [span for _, span in SPANS]
    by = User.objects.get(email=demo_email_address(ORGANISER_ROLE))
    phase = phase_at("demo", "citation-texts", "practice")
    runs = list(phase.submissions.filter(kind=Submission.Kind.PRIMARY)[:2])
    sheet = sheets.sample_and_save_rating_sheet(
        phase=phase, runs=runs, instances=2, seed=1, by=by
    )
    sheets.add_annotator_by_email(
        sheet=sheet, email=demo_email_address(READER_ROLE), by=by
    )
    organiser.force_login(User.objects.get(email=demo_email_address(READER_ROLE)))
    assert organiser.get(ANNOTATING.format(sheet=sheet.pk)).status_code == 200


def test_boards_of_the_demo_have_the_measures_and_classes_that_the_rows_name(organiser):
    absent, seen = set(), 0
    for number, span in SPANS:
        shown = [
            is_shown
            for slug in TASKS[number.partition(".")[0]]
            for is_shown in shown_on(
                organiser, phase_at("demo", slug, "practice"), span
            )
        ]
        seen += bool(shown)
        if shown and not any(shown):
            absent.add(span)
    assert seen > 50
    assert absent <= {*NEEDING, *FURTHER}


def shown_on(client, phase: Phase, name: str) -> Iterator[bool]:
    """Yield for each page that a measure or class of this task could stand on whether it does."""
    task_type = phase.task.task_type
    place = ["demo", phase.task.slug, phase.slug]
    if name in task_type.dimensions:
        page = client.get(reverse("differences", args=place), {"dimension": name})
        yield str(display_name_of_dimension(name)) in content(page).decode()
    if name in task_type.metrics:
        for rules in phase.task.rules:
            asked = {"rules": rules, "columns": "all"}
            page = client.get(reverse("board", args=place), asked)
            yield display_name_of_metric(name, task_type) in content(page).decode()


def test_class_charts_of_positional_citations_open_on_the_paper_s_dimension(organiser):
    place = ["demo", "positional", "practice"]
    page = content(organiser.get(reverse("differences", args=place))).decode()
    assert re.search(r'<option value="placing"[^>]* selected', page)


def test_visitors_see_people_beside_the_metrics_of_positional_citations(
    organiser, client
):
    client.logout()
    place = ["demo", "positional", "practice"]
    assert client.get(reverse("people", args=place)).status_code == 200
    board = client.get(reverse("board", args=place), {"columns": "all"})
    assert "utility" in content(board).decode()
    assert publish_judgements()
    assert JudgedRun.objects.count() == 4
