"""Trying one instance: without an account, by the sample alone, for every type that ships one."""

import html
import re

import pytest
from django.urls import reverse

from citeboard.core.confined.turns import HourlyReadingLimitReached
from citeboard.web.seasons import trying
from scoring.metrics import build_metrics, select_instance_metrics
from tasks.models import Submission
from tasks.models.declarations import store_declaration
from tasks.types import task_types
from tasks.types.registry import read_folder
from tests import factories
from tests.declared.folders import EXAMPLES
from tests.declared.test_site import copied

pytestmark = pytest.mark.django_db


def address(slug: str, rules: str = "corrected") -> str:
    task = factories.make_task(type=slug, rules=[rules])
    return reverse("try", args=[task.season.slug, task.slug])


def filled_in(client, there: str) -> str:
    page = client.get(there).content.decode()
    return html.unescape(
        re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)[1]
    )


def seen(client, there: str, answer: str) -> str:
    response = client.post(there, {"answer": answer})
    assert response.status_code == 200
    page = response.content.decode()
    return page[page.index('<section id="seen"') :]


@pytest.mark.parametrize("slug", task_types())
def test_the_answer_that_is_filled_in_has_a_number_of_every_metric_or_the_reason_why_not(
    client, slug
):
    there = address(slug)
    found = seen(client, there, filled_in(client, there))
    assert "What the metrics see" in found
    cells = re.findall(r'<td class="n"[^>]*>(.*?)</td>', found)
    kind = task_types()[slug]
    assert len(cells) == len(kind.rules["corrected"])
    assert all(cells)
    metrics = build_metrics(kind, "corrected", kind.validate_options({}))
    # A type of correlations has most of its numbers only for whole runs.
    expected = min(len(cells) / 2, len(select_instance_metrics(metrics)))
    assert sum(bool(re.search(r"\d", cell)) for cell in cells) >= expected
    assert not Submission.objects.exists()


FOLDERS = sorted(path.parent for path in EXAMPLES.glob("*/task.toml"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_so_has_a_declared_task_whose_folder_says_that_everybody_may_have_its_sample(
    client, folder
):
    declared = read_folder(folder)
    store_declaration(declared)
    there = address(declared.slug, declared.default_rule_set)
    assert "An instance with its answer" in client.get(there).content.decode()
    found = seen(client, there, filled_in(client, there))
    cells = re.findall(r'<td class="n"[^>]*>(.*?)</td>', found)
    assert len(cells) == len(declared.rules[declared.default_rule_set])
    assert all(cells)
    assert any(re.search(r"\d", cell) for cell in cells)


def test_the_sample_of_another_folder_is_not_given_out(client, tmp_path):
    copied(FOLDERS[0], tmp_path)
    toml = (tmp_path / "task.toml").read_text()
    (tmp_path / "task.toml").write_text(
        toml.replace("public_sample = true", "public_sample = false")
    )
    declared = read_folder(tmp_path)
    store_declaration(declared)
    there = address(declared.slug, declared.default_rule_set)
    assert (
        client.get(there).status_code
        == client.post(there, {"answer": "{}"}).status_code
        == 404
    )
    page = client.get(there.replace("/try/", "/seasons/")).content.decode()
    assert "An instance with its answer" not in page


def test_another_answer_has_other_numbers(client):
    there = address("citation-recommendation")
    first, last = (
        seen(client, there, f'{{"id": "tides_0", "ranked": {ranked}}}')
        for ranked in ('["moon"]', '["gauge", "silt", "moon"]')
    )
    assert re.findall(r'<td class="n"[^>]*>([\d.]+)</td>', first) == [
        "1.0000",
        "1.0000",
        "1.0000",
    ]
    assert re.findall(r'<td class="n"[^>]*>([\d.]+)</td>', last) == [
        "1.0000",
        "0.3333",
        "0.5000",
    ]


def test_positional_marks_are_split_into_claims_by_rules_where_no_parser_is_installed(
    client,
):
    answer = '{"id": "q1", "output": "Mawsynram has the most rain on earth [1] and Oslo has little [2]."}'
    found = seen(client, address("positional-citations"), answer)
    assert re.search(r'ALiiCE recall</th>\s*<td class="n"[^>]*>50\.00</td>', found)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("no JSON", "answer.jsonl"),
        ('{"id": "elsewhere", "ranked": ["moon"]}', "elsewhere"),
        (
            '{"id": "tides_0", "ranked": ["moon"]}\n{"id": "tides_1", "ranked": ["moon"]}',
            "2 instances",
        ),
        (
            "x" * (trying.MAX_TRIAL_ANSWER_LENGTH + 1),
            "An answer has at most 20000 characters here.",
        ),
    ],
)
def test_what_cannot_be_read_is_told_and_stays_in_the_form(client, answer, told):
    there = address("citation-recommendation")
    found = seen(client, there, answer)
    assert "The answer could not be read" in found
    assert told in html.unescape(found) or told == "answer.jsonl"
    page = client.post(there, {"answer": answer}).content.decode()
    assert answer in html.unescape(page)


@pytest.mark.both_databases
def test_computing_goes_by_the_network_of_who_asks_and_is_limited(client, monkeypatch):
    senders = []

    def refused(*_arguments, owner, **_more):
        senders.append(owner)
        raise HourlyReadingLimitReached(60, 60)

    monkeypatch.setattr(trying, "read_upload", refused)
    there = address("clsumm-1a")
    response = client.post(there, {"answer": "{}"}, REMOTE_ADDR="203.0.113.7")
    assert response.status_code == 429
    assert [
        (sender.network, sender.gives_way, sender.submits) for sender in senders
    ] == [("203.0.113.0/24", True, False)]


def test_the_page_of_a_task_shows_an_instance_and_leads_there(client):
    task = factories.make_task(type="citation-text")
    page = client.get(
        reverse("task", args=[task.season.slug, task.slug])
    ).content.decode()
    assert "An instance with its answer" in page
    assert reverse("try", args=[task.season.slug, task.slug]) in page
