"""What the sentences of systems do: bars, heat map, tables, and who may see the gold's shares."""

import json
import math
import re

import pytest
from django.urls import reverse

from scoring.worker.compare_board import compute_and_save_class_intervals
from tests import factories
from tests.scoring import boards
from tests.scoring.citation_texts import GOLD, RUN, make_phase, make_run
from tests.scoring.discourse import intents
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(tmp_path):
    return make_phase(tmp_path)


def figure(html: str, name: str) -> dict:
    return json.loads(
        re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', html)[
            1
        ]
    )


def page(client, phase, query=""):
    return client.get(boards.address("discourse", phase) + query)


def test_the_heat_map_has_systems_by_data_sets_and_its_table_the_same(
    client, phase, tmp_path
):
    make_run(phase, tmp_path, system="LED")
    response = page(client, phase)
    heat = figure(response.content.decode(), "divergences-data")["data"][0]
    assert heat["x"] == ["lu", "xing"]
    assert heat["y"] == ["1. LED"]
    lu = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    assert heat["z"] == [[pytest.approx(lu), pytest.approx(math.log(2))]]
    assert f"LED {lu:.4f} {math.log(2):.4f} its own labels" in text_of(response)


def test_the_published_form_is_a_choice(client, phase, tmp_path):
    make_run(phase, tmp_path)
    heat = figure(
        page(client, phase, "?form=published").content.decode(), "divergences-data"
    )["data"][0]
    macro_to_xing = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)
    assert heat["z"][0][1] == pytest.approx(macro_to_xing)


def test_the_bars_set_the_system_beside_the_gold(client, phase, tmp_path):
    make_run(phase, tmp_path, system="LED")
    response = page(client, phase, "?dataset=lu")
    bars = figure(response.content.decode(), "label-shares-data")["data"]
    uses = bars[0]["x"].index("Uses")
    assert [(bar["name"], bar["y"][uses]) for bar in bars] == [
        ("gold", 0.75),
        ("LED", 0.5),
    ]
    assert "gold 4 0.2500 0.0000 0.0000 0.0000 0.0000 0.7500" in text_of(response)


def test_the_bars_begin_with_systems_that_have_labels_and_draw_any_that_is_named(
    client, phase, tmp_path
):
    none = make_run(
        phase,
        tmp_path,
        {"lu": [None], "xing": [None]},
        "A text of [0] alone.",
        system="Mute",
    )
    make_run(phase, tmp_path, system="LED")

    def drawn(query: str = "") -> list[str]:
        bars = figure(page(client, phase, query).content.decode(), "label-shares-data")[
            "data"
        ]
        return [bar["name"] for bar in bars]

    assert drawn() == ["gold", "LED"]
    assert drawn(f"?system={none.pk}") == ["gold", "Mute"]


@pytest.mark.both_databases
def test_an_infinite_divergence_says_so(client, phase, tmp_path):
    make_run(phase, tmp_path, {"lu": [intents("Extends")], "xing": [intents("Uses")]})
    response = page(client, phase)
    heat = figure(response.content.decode(), "divergences-data")["data"][0]
    assert heat["text"] == [["∞", f"{math.log(2):.4f}"]]
    assert f"∞ {math.log(2):.4f}" in text_of(response)


@pytest.mark.both_databases
def test_the_board_leads_there_and_shows_infinity(client, phase, tmp_path):
    make_run(phase, tmp_path, {"lu": [intents("Extends")], "xing": [intents("Uses")]})
    html = client.get(boards.address("board", phase)).content.decode()
    assert 'href="?view=discourse#view"' in html
    assert ">∞</a>" in html


@pytest.mark.parametrize("choice", ["ranks", "organisers", "nobody"])
def test_nobody_sees_shares_where_scores_are_hidden(client, tmp_path, choice):
    organiser = factories.make_user()
    phase = make_phase(tmp_path, organiser=organiser, board=choice)
    make_run(phase, tmp_path)
    assert page(client, phase).status_code == 404
    client.force_login(organiser)
    assert page(client, phase).status_code == 200


def test_a_team_sees_its_own_shares_and_the_gold_s_only_with_the_scores(
    client, tmp_path
):
    lead = factories.make_user()
    phase = make_phase(tmp_path, board="organisers", own_scores="scores")
    team = factories.make_team(season=phase.task.season, lead=lead)
    run = make_run(phase, tmp_path, team=team)
    client.force_login(lead)

    def names() -> list[str]:
        html = client.get(reverse("submission", args=[run.pk])).content.decode()
        return [
            entry["name"] for entry in figure(html, "shares-kl_intent-data")["data"]
        ]

    assert names() == ["this run"]
    phase.board = "everyone"
    phase.save()
    assert names() == ["gold", "this run"]


def test_where_systems_differ_infinite_is_infinite_and_not_blank(
    client, phase, tmp_path
):
    make_run(
        phase,
        tmp_path,
        {"lu": [intents("Extends")], "xing": [intents("Uses")]},
        system="LED",
    )
    response = client.get(boards.address("differences", phase) + "?metric=kl_intent")
    assert f"lu 1 ∞ xing 1 {math.log(2):.4f}" in text_of(response)
    heat = figure(response.content.decode(), "heat-map-data")["data"][0]
    assert heat["text"][0] == ["∞"]
    assert "Infinity" not in response.content.decode()


def test_the_published_form_has_values_by_data_set_and_no_intervals_there(tmp_path):
    gold, run = (
        {name: own * 4 for name, own in given.items()} for given in (GOLD, RUN)
    )
    # Units that are all alike would say nothing of how far the value may be off.
    run["lu"] = [*run["lu"][1:], intents("Uses", "Uses", "Background")]
    phase = make_phase(tmp_path, rules="official", gold=gold)
    evaluation = make_run(phase, tmp_path, run).evaluations.get()
    compute_and_save_class_intervals(evaluation)
    lu = evaluation.breakdowns.get(classes__dimension="dataset").by_class()["lu"]
    own, published = lu["kl_intent"], lu["kl_intent_published"]
    assert own.low is not None
    assert (published.value is not None, published.low) == (True, None)


@pytest.mark.both_databases
def test_two_runs_are_compared_where_one_or_both_are_infinitely_far(client, tmp_path):
    phase = make_phase(tmp_path, shows_instances=True)
    far = {"lu": [intents("Extends")], "xing": [intents("Future")]}
    runs = [make_run(phase, tmp_path, labels) for labels in (RUN, far, far)]
    for a, b in ((0, 1), (1, 0), (1, 2)):
        query = f"?a={runs[a].pk}&b={runs[b].pk}&metric=kl_intent"
        response = client.get(boards.address("compare", phase) + query)
        assert response.status_code == 200
        assert "nan" not in text_of(response)
        assert "∞" in text_of(response)


BY_TAGGER = {"discourse_labels": "tagger"}
SHIPPED = BY_TAGGER | {"intent_tagger": "acl-arc"}


def test_supplied_labels_are_drawn_and_called_so_where_no_tagger_is_there(
    client, tmp_path
):
    phase = make_phase(tmp_path, options=BY_TAGGER)
    make_run(phase, tmp_path, system="LED")
    told = text_of(page(client, phase))
    assert "These are supplied labels" in told
    assert "KL divergence of the shares of citation intents, as supplied" in told
    assert "gold 6 0.3333 0.0000 0.0000 0.0000 0.0000 0.6667 LED 3 0.6667" in told
    html = client.get(boards.address("board", phase)).content.decode()
    assert 'href="?view=discourse#view"' in html


def test_the_tagger_that_comes_with_the_program_labels_gold_and_runs(client, tmp_path):
    """The run says what it likes of its sentence; the labels of the gold and of the run are the tagger's."""
    phase = make_phase(tmp_path, options=SHIPPED)
    make_run(phase, tmp_path, {"lu": [intents("Future")], "xing": [None]}, system="LED")
    told = text_of(page(client, phase))
    assert "These are supplied labels" not in told
    assert "The gold's labels: the tagger's" in told
    assert "LED 2 0.0000 0.0000 0.0000 0.0000 0.0000 1.0000" in told
    supplied = text_of(page(client, phase, "?labels=kl_intent_supplied"))
    assert "These are supplied labels" in supplied
    assert "LED 1 0.0000 0.0000 0.0000 1.0000 0.0000 0.0000" in supplied


def test_no_page_of_supplied_labels_is_offered_where_nobody_supplied_any(
    client, tmp_path
):
    phase = make_phase(tmp_path, options=BY_TAGGER)
    make_run(phase, tmp_path, {"lu": [None], "xing": [None]})
    assert page(client, phase).status_code == 404
    html = client.get(boards.address("board", phase)).content.decode()
    assert "view=discourse" not in html


def test_a_task_without_labels_has_no_such_page(client):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    assert page(client, phase).status_code == 404
    assert (
        "What the sentences do"
        not in client.get(boards.address("board", phase)).content.decode()
    )


def test_counts_that_are_gone_are_said_to_be(client, phase, tmp_path):
    run = make_run(phase, tmp_path)
    run.evaluations.update(statistics="elsewhere.npz")
    assert "The counts behind these runs are no longer stored" in text_of(
        page(client, phase)
    )
