"""Two runs instance by instance: who may read what, which instances are chosen, and for every task type."""

import re

import pytest

from scoring.results.comparison import reading as reading_pages
from tasks.gold.gold_files import load_gold
from tasks.models import Phase, Submission
from tasks.types import task_types
from tests import factories
from tests.api.conftest import API
from tests.api.sending import score
from tests.scoring import boards
from tests.scoring.compared import scored
from tests.tasks.test_every_type import sample, sample_options

pytestmark = pytest.mark.django_db

TYPES = task_types()
CITANCE = "D01-0004, citance 1 (D05-0001)"


@pytest.fixture
def phase(pair) -> Phase:
    return pair[0]


@pytest.fixture
def runs(pair) -> tuple[Submission, ...]:
    return pair[1]


def ask(client, phase, runs=(), *, status=200, **query) -> str:
    numbers = dict(zip("ab", (run.pk for run in runs), strict=False))
    response = client.get(
        boards.address("compare-instances", phase), {**numbers, **query}
    )
    assert response.status_code == status
    return re.sub(r"\s+", " ", response.content.decode())


def read(client, phase, runs, *, status=200, **query):
    numbers = dict(zip("ab", (run.pk for run in runs), strict=True))
    response = client.get(f"{API}/phases/{phase.pk}/instances/", {**numbers, **query})
    assert response.status_code == status
    return response.json()


def sign_in_as_staff(client) -> None:
    client.force_login(factories.make_user(is_staff=True))


def test_nobody_reads_answers_of_others_while_gold_is_secret(client, phase, runs):
    Phase.objects.filter(pk=phase.pk).update(shows_instances=True)
    for viewer in (None, factories.make_user(), runs[0].team.memberships.get().user):
        client.logout()
        if viewer:
            client.force_login(viewer)
        ask(client, phase, runs, status=404)
        ask(client, phase, status=404)
        read(client, phase, runs, status=404)
        compare = client.get(
            boards.address("compare", phase), {"a": runs[0].pk, "b": runs[1].pk}
        )
        assert b"compare/instances/" not in compare.content


def test_a_board_that_is_not_shown_has_nothing_to_read(client, phase, runs):
    Phase.objects.filter(pk=phase.pk).update(
        board="organisers", shows_instances=True, gold_is_public=True
    )
    ask(client, phase, runs, status=404)
    read(client, phase, runs, status=404)


def test_organisers_read_input_gold_both_answers_and_every_metric(client, phase, runs):
    sign_in_as_staff(client)
    page = ask(client, phase, runs, instance=CITANCE)
    for words in (
        "Given",
        "The cited paper",
        "gold, A",
        "What each metric saw",
        "Overlap F1, micro",
    ):
        assert words in page
    found = read(client, phase, runs, instance=CITANCE)
    [instance] = found["instances"]
    assert instance["gold"] == instance["answer_a"]
    assert instance["gold"].startswith("[1")
    assert instance["answer_b"].startswith("[4]")
    assert (
        instance["values_a"]["overlap_f1_micro"],
        instance["values_b"]["overlap_f1_micro"],
    ) == (1, 0)
    assert instance["given"]


def test_where_gold_and_runs_are_given_out_everybody_reads_both(client, phase, runs):
    Phase.objects.filter(pk=phase.pk).update(gold_is_public=True, shows_instances=True)
    body = read(client, phase, runs)
    assert body["shows_gold"]
    assert body["shows_values"]
    page = ask(client, phase, runs)
    assert body["instances"][0]["gold"] in page
    compare = client.get(
        boards.address("compare", phase), {"a": runs[0].pk, "b": runs[1].pk}
    )
    assert b"compare/instances/" in compare.content


def test_a_team_reads_its_own_answers_without_gold_or_what_tells_of_it(client, phase):
    person = factories.make_user()
    team = factories.make_team(season=phase.task.season, lead=person)
    own = [scored(phase, right, team=team) for right in (9, 4)]
    client.force_login(person)
    found = read(client, phase, own)
    assert (found["shows_gold"], found["shows_values"]) == (False, False)
    assert (found["which"], found["count"]) == ("answers", 10)
    for instance in found["instances"]:
        assert instance["gold"] == ""
        assert instance["values_a"] == instance["values_b"] == {}
        assert instance["answer_a"] != instance["answer_b"]
    # To choose by value would tell the gold as the value does.
    assert read(client, phase, own, which="a-right")["which"] == "answers"
    page = ask(client, phase, own)
    assert "The gold of this phase is not shown to you" in page
    assert "What each metric saw" not in page
    ask(client, phase, [own[0], scored(phase, 2)], status=404)


@pytest.mark.parametrize(
    ("which", "count"),
    [
        ("differ", 12),
        ("a-better", 12),
        ("b-better", 0),
        ("a-right", 12),
        ("b-right", 0),
        ("all", 20),
    ],
)
def test_instances_are_chosen_by_which_run_is_better_or_right(
    client, phase, runs, which, count
):
    sign_in_as_staff(client)
    found = read(client, phase, runs, which=which)
    assert found["count"] == count
    side = {"a-": "b-", "b-": "a-"}.get(which[:2], which[:2])
    assert read(client, phase, runs[::-1], which=side + which[2:])["count"] == count
    assert f"{count} of 20 instances" in ask(client, phase, runs, which=which)


def test_a_class_chooses_instances_and_stays_in_every_link(client, phase, runs):
    sign_in_as_staff(client)
    classes = read(client, phase, runs, which="all")["classes"]
    dimension, labels = next(
        (own, labels) for own, labels in classes.items() if own == "topic"
    )
    counts = [
        read(client, phase, runs, which="all", **{"class": f"{dimension}:{label}"})[
            "count"
        ]
        for label in labels
    ]
    assert len(counts) > 1
    assert sum(counts) == 20
    page = ask(
        client, phase, runs, which="all", **{"class": f"{dimension}:{labels[0]}"}
    )
    assert f"{counts[0]} of 20 instances are of the class “{labels[0]}”" in page
    assert f'<option value="{dimension}:{labels[0]}" selected>' in page
    links = re.findall(r'href="([?][^"]*)"', page)
    assert len(links) > 10
    assert all(f"class={dimension}%3A{labels[0]}" in link for link in links)
    # What is no class is passed over.
    assert (
        read(client, phase, runs, which="all", **{"class": "topic:none"})["count"] == 20
    )
    assert read(client, phase, runs, which="all", **{"class": "x" * 300})["count"] == 20


def test_the_two_change_places_with_what_is_asked_of_them(client, phase, runs):
    sign_in_as_staff(client)
    page = ask(client, phase, runs, which="a-right")
    assert f"?which=b-right&amp;a={runs[1].pk}&amp;b={runs[0].pk}" in page


def test_instances_come_in_pages_each_with_an_address_of_its_own(
    client, phase, runs, monkeypatch
):
    monkeypatch.setattr(reading_pages, "INSTANCES_PER_PAGE", 5)
    sign_in_as_staff(client)
    names = []
    for number in (1, 2, 3):
        page = ask(client, phase, runs, which="a-right", page=number)
        assert f"page {number} of 3" in page
        names += [
            found["name"]
            for found in read(client, phase, runs, which="a-right", page=number)[
                "instances"
            ]
        ]
    assert len(names) == len(set(names)) == 12
    assert "page 3 of 3" in ask(client, phase, runs, which="a-right", page=9)
    single = ask(client, phase, runs, instance=names[7])
    assert names[7] in single
    assert names[6] not in single
    ask(client, phase, runs, status=404, instance="no such")


def test_what_an_address_names_must_be_there(client, phase, runs):
    sign_in_as_staff(client)
    ask(client, phase, runs[:1], status=404, b=10**9)
    ask(client, phase, runs, status=404, rules="official-1999")
    ask(client, phase, runs, status=404, gold=7)
    assert client.post(boards.address("compare-instances", phase)).status_code == 405


def test_markup_in_answers_is_text(client, phase):
    sign_in_as_staff(client)
    runs = scored(phase, 9), scored(phase, 3, wrong="<b>9</b>")
    page = ask(client, phase, runs)
    assert "<b>9" not in page


@pytest.mark.parametrize("slug", sorted(TYPES))
def test_every_task_type_shows_its_instances(client, slug):
    kind = TYPES[slug]
    gold, run, _ = sample(kind)
    options = dict(
        word.split("=", 1) for word in sample_options(kind) if word != "--option"
    )
    task = factories.make_task(
        type=slug, rules=[kind.default_rule_set], options=options
    )
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=gold, reason="the sample")
    content = run.read_bytes()
    runs = []
    for end in (b"", b"\n"):
        team = factories.make_team(season=task.season)
        runs.append(
            factories.make_submission(phase=phase, team=team, content=content + end)
        )
        score(runs[-1])
    sign_in_as_staff(client)
    found = read(client, phase, runs, which="all")
    assert found["count"] >= 1
    for part in ("given", "gold", "answer_a", "values_a"):
        assert any(instance[part] for instance in found["instances"]), part
    page = ask(client, phase, runs, which="all")
    assert page.count("What each metric saw") == len(found["instances"])
    assert read(client, phase, runs)["count"] == 0
