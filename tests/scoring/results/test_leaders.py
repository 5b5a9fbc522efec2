"""Who is best in a class is marked where it can hardly be chance, and nowhere else."""

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from citeboard.core import storage
from scoring.metrics import build_metric
from scoring.models import (
    BoardOrder,
    ClassLeader,
    Evaluation,
    load_class_scores_of_evaluations,
)
from scoring.offline.compare import align_two_runs
from scoring.results.board import leaders
from scoring.results.board.comparisons import read_statistics_of_run
from scoring.stats.breakdown import compute_intervals_by_class, find_instances_by_class
from scoring.stats.significance import (
    SEED,
    adjust_by_holm,
    choose_number_of_exchanges,
    run_randomisation_tests,
)
from scoring.worker import compare_board
from tasks.jobs import leases
from tasks.models import Phase
from tests.api.sending import score
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards, compared
from tests.scoring.compared import compare, scored

pytestmark = pytest.mark.django_db

FACET = "?dimension=facet&metric=overlap_f1_micro"


@pytest.fixture
def phase():
    return compared.make_phase()


def make_decided() -> Phase:
    """Of two systems one is far better, and the board says so."""
    phase = compared.make_phase()
    for right in (10, 0):
        scored(phase, right)
    compare(phase)
    return phase


@pytest.fixture(scope="module")
def kept_decided(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_decided, django_db_blocker)


@pytest.fixture
def decided(db, kept_decided) -> Phase:
    return kept_decided()


def page(client, phase, query=FACET) -> str:
    return client.get(boards.address("differences", phase) + query).content.decode()


def marked(html: str) -> list[str]:
    return re.findall(
        r"([\d.]+)(?:</a>)?\*", html[html.index("<tbody") : html.index("<tfoot>")]
    )


def figure(html: str, name: str) -> dict:
    return json.loads(
        re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', html)[
            1
        ]
    )


def test_a_system_that_is_far_better_in_a_class_is_marked_in_table_and_heat_map(
    client, phase
):
    scored(phase, 10, system="Far")
    scored(phase, 0, system="Near")
    assert "has not been computed yet" in page(client, phase)
    compare(phase)
    html = page(client, phase)
    assert marked(html)
    assert (
        len(marked(html))
        == ClassLeader.objects.filter(
            dimension="facet", metric="overlap_f1_micro"
        ).count()
    )
    heat = figure(html, "heat-map-data")["data"][0]
    assert {field.endswith(" *") for line in heat["text"] for field in line[:1]} == {
        True
    }
    assert not any(field.endswith(" *") for line in heat["text"] for field in line[1:])
    assert (
        "Significantly better than every other system of the board is “Far” in" in html
    )


def test_a_lead_that_can_be_chance_is_not_marked(client, phase):
    for right in (10, 9, 0):
        scored(phase, right)
    compare(phase)
    html = page(client, phase)
    assert marked(html) == []
    assert "In no class is one system significantly better than every other." in html
    # The next best does not differ, so that the third is not asked about.
    assert all(each.p > 0.05 for each in ClassLeader.objects.filter(dimension="facet"))


def test_equal_systems_lead_nothing(client, phase):
    for _ in range(2):
        scored(phase, 10)
    compare(phase)
    assert marked(page(client, phase)) == []


def test_the_p_value_of_a_class_is_that_of_all_its_tests_with_holm_s_correction(phase):
    runs = [scored(phase, right) for right in (10, 2, 1)]
    compare(phase)
    kept = (
        ClassLeader.objects.filter(dimension="facet", metric="overlap_f1_micro")
        .order_by("pk")
        .first()
    )
    metric = build_metric(phase.task.task_type, "overlap_f1_micro", "corrected", {})
    best, *others = (
        read_statistics_of_run(run.evaluations.get()).select_rows(
            metric.statistic,
            find_instances_by_class(
                read_statistics_of_run(run.evaluations.get()).features["facet"]
            )[kept.label],
        )
        for run in runs
    )
    pairs = [align_two_runs(metric, best, other) for other in others]
    tests = run_randomisation_tests(
        pairs, trials=choose_number_of_exchanges(len(pairs[0].a)), seed=SEED
    )
    assert kept.p == max(adjust_by_holm([test.p for test in tests])) <= 0.05
    assert kept.best.submission == runs[0]
    assert kept.systems == 3


def test_a_class_of_one_unit_proves_nothing(client, decided):
    html = page(client, decided, "?dimension=topic&metric=overlap_f1_micro")
    assert "In no class is one system significantly better" in html


@pytest.mark.both_databases
def test_with_another_run_on_the_board_nothing_is_marked_until_it_is_compared(
    client, decided
):
    assert marked(page(client, decided))
    scored(decided, 1)
    decided.refresh_from_db()
    html = page(client, decided)
    assert marked(html) == []
    assert "has not been computed yet" in html
    compare(decided)
    assert marked(page(client, decided))


def test_leaders_on_an_older_gold_leave_those_on_the_newest_gold_marked(
    client, decided
):
    older = boards.make_gold(decided, number=0)
    for leader in ClassLeader.objects.all():
        leader.pk, leader.gold, leader.among = None, older, "0" * 64
        leader.save()
    assert marked(page(client, decided))


def test_pages_of_classes_are_made_anew_when_a_leader_is_found_and_boards_are_not(
    client, phase
):
    scored(phase, 10)
    scored(phase, 0)
    pages = (boards.address("differences", phase), boards.address("board", phase))
    before = [client.get(page + FACET)["ETag"] for page in pages]
    compare(phase)
    ClassLeader.objects.filter(dimension="facet").delete()
    version, at = phase.version, BoardOrder.objects.get().classes_at
    BoardOrder.objects.update(version=0)
    compare(phase)
    assert phase.version == version
    assert BoardOrder.objects.get().classes_at > at
    for page, tag in zip(pages, before, strict=True):
        assert client.get(page + FACET)["ETag"] != tag


@pytest.mark.both_databases
def test_what_is_found_once_is_not_looked_for_again(decided, monkeypatch):
    before = list(ClassLeader.objects.order_by("pk").values_list("pk", flat=True))
    monkeypatch.setattr(leaders, "find_class_leaders", None)
    monkeypatch.setattr(compare_board, "compute_and_save_class_intervals", None)
    BoardOrder.objects.update(version=0)
    compare(decided)
    assert (
        list(ClassLeader.objects.order_by("pk").values_list("pk", flat=True)) == before
    )


def test_matrices_that_cannot_be_read_mark_nothing_and_end_nothing(client, phase):
    runs = [scored(phase, right) for right in (10, 0)]
    storage.statistics_file_storage.delete(runs[1].evaluations.get().statistics)
    compare(phase)
    assert BoardOrder.objects.get().version == phase.version
    assert marked(page(client, phase)) == []
    assert not ClassLeader.objects.exclude(p=None).exists()
    assert not Evaluation.objects.filter(has_class_intervals=False).exists()


def test_bars_carry_the_intervals_of_their_classes_and_the_table_has_them_in_words(
    client, phase
):
    run = scored(phase, 6)
    assert "error_y" not in figure(page(client, phase), "bars-data")["data"][0]
    compare(phase)
    html = page(client, phase)
    evaluation = run.evaluations.get()
    found = read_statistics_of_run(evaluation)
    metric = build_metric(phase.task.task_type, "overlap_f1_micro", "corrected", {})
    wanted = compute_intervals_by_class(
        [metric], found.matrices, found.units, found.features["facet"]
    )
    rows = load_class_scores_of_evaluations([evaluation.pk], "facet", metric.name)
    assert {label: (row.low, row.high) for label, _, row in rows} == {
        label: own[metric.name] for label, own in wanted.items()
    }
    bar = figure(html, "bars-data")["data"][0]
    row = rows[0][2]
    assert bar["error_y"]["array"][0] == pytest.approx(row.high - row.value)
    assert bar["error_y"]["arrayminus"][0] == pytest.approx(row.value - row.low)
    assert f'<span class="ends">{row.low:.4f} to {row.high:.4f}</span>' in html


@pytest.mark.both_databases
def test_scoring_a_run_anew_looks_for_its_intervals_again(phase):
    run = scored(phase, 6)
    compare(phase)
    evaluation = run.evaluations.get()
    assert evaluation.has_class_intervals
    leases.restart_job(run.jobs.get())
    score(run)
    evaluation.refresh_from_db()
    assert not evaluation.has_class_intervals


def test_the_address_orders_classes_by_a_system(client):
    phase = boards.make_phase()
    numbers = {}
    for name, values in {"Ada": (0.2, 0.9, None), "Bo": (0.6, 0.1, 0.3)}.items():
        run = boards.scored_run(
            phase, boards.make_team(phase, name), values[0], system=name
        )
        boards.by_class(run, "topic", dict(zip("abc", values, strict=True)))
        numbers[name] = run.pk

    def order(query: str) -> list[str]:
        html = page(client, phase, query)
        heat = figure(html, "heat-map-data")["data"][0]["y"]
        table = html[html.index('<table class="classes">') : html.index("<tfoot>")]
        assert re.findall(r'<th scope="row">(.*?)</th>', table) == heat
        return heat

    assert order("") == ["a", "b", "c"]
    assert order(f"?order={numbers['Ada']}") == ["b", "a", "c"]
    assert order(f"?order=-{numbers['Ada']}") == ["a", "b", "c"]
    assert order(f"?order={numbers['Bo']}") == ["a", "c", "b"]
    assert order("?order=nonsense") == ["a", "b", "c"]
    html = page(client, phase, f"?order={numbers['Ada']}")
    assert f'<option value="{numbers["Ada"]}" selected>best of Ada first' in html
    assert f'<option value="-{numbers["Ada"]}">worst of Ada first' in html
    assert 'aria-sort="descending"' in html


@pytest.mark.both_databases
def test_the_page_asks_the_database_as_often_for_many_systems_and_classes_as_for_few(
    client, decided
):
    def asked() -> int:
        page(client, decided)
        with CaptureQueriesContext(connection) as queries:
            page(
                client,
                decided,
                FACET + f"&q={len(queries)}{BoardOrder.objects.count()}",
            )
        return len(queries)

    few = asked()
    for right in (9, 8, 7, 6):
        scored(decided, right)
    compare(decided)
    assert asked() == few
