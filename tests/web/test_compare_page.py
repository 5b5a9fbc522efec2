"""Two runs side by side: their numbers, whether they differ, where, and who may look at it."""

import html
import json
import re
import shlex

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from citeboard.core import storage
from scoring.__main__ import main
from scoring.results.board.formatting import display_name_of_metric, format_score
from scoring.results.comparison import pages as versus_pages, paired_scores as versus
from tasks.models import Phase, Submission
from tests import factories
from tests.scoring import boards, compared
from tests.scoring.compared import scored

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(pair) -> Phase:
    return pair[0]


@pytest.fixture
def runs(pair) -> tuple[Submission, ...]:
    return pair[1]


def ask(client, phase, *, status=200, **query) -> str:
    response = client.get(boards.address("compare", phase), query)
    assert response.status_code == status
    return re.sub(r"\s+", " ", response.content.decode())


def between(client, phase, runs, **query) -> str:
    return ask(client, phase, a=runs[0].pk, b=runs[1].pk, **query)


def cells(page: str, head: str) -> list[str]:
    """The text of the cells of a row."""
    row = re.search(rf'<th scope="row">{re.escape(head)}</th>(.*?)</tr>', page)[1]
    return [
        re.sub(r"<[^>]+>", "", cell).strip()
        for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)
    ]


def test_every_metric_has_both_values_the_difference_and_its_test(client, phase, runs):
    a, b, difference, interval, p, corrected, better = cells(
        between(client, phase, runs), "Overlap F1, micro"
    )
    assert (a, b, difference) == ("0.9153", "0.3396", "0.5756")
    low, high = map(float, interval.split(" to "))
    assert low < float(difference) < high
    assert float(p) == pytest.approx(2 / 2**6, abs=0.0005)
    assert float(corrected) > float(p)
    assert better == "no significant difference"


def test_a_difference_that_is_sure_names_the_better_run(client, phase):
    runs = scored(phase, 0), scored(phase, 10)
    assert cells(between(client, phase, runs), "Overlap F1, micro")[-1] == "B"


def test_the_command_on_the_page_prints_the_same(
    client, phase, runs, tmp_path, capsys, monkeypatch
):
    page = between(client, phase, runs)
    command = html.unescape(
        re.search(r"<code>(python -m scoring compare [^<]+)</code>", page)[1]
    )
    for side, run in zip("AB", runs, strict=True):
        (tmp_path / side).mkdir()
        storage.copy_to_local_folder(
            storage.run_file_storage, run.file, tmp_path / side
        )
    gold = phase.task.gold.get()
    storage.copy_to_local_folder(storage.gold_file_storage, gold.file, tmp_path).rename(
        tmp_path / "GOLD.zip"
    )
    (tmp_path / "NONCE").write_text(gold.nonce)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command.replace("GOLD", "GOLD.zip"))
    assert main([*words[3:], "--json"]) == 0
    for name, told in json.loads(capsys.readouterr().out)["metrics"].items():
        row = cells(page, display_name_of_metric(name))
        assert row[2] == format_score(told["difference"])
        assert row[4] == versus_pages.format_p_value_or_dash(told["p"])


def test_one_run_alone_is_compared_with_the_row_above_it(client, phase, runs):
    above, below = ask(client, phase, a=runs[0].pk), ask(client, phase, a=runs[1].pk)
    assert "A is Better" in above
    assert "A is Worse" in below
    assert "B is Better" in below
    first = ask(client, phase)
    assert "A is Better" in first or "A is Worse" in first


def test_differences_by_class_stand_in_a_chart_and_in_a_table_behind_it(
    client, phase, runs
):
    page = between(client, phase, runs, dimension="topic")
    figure = json.loads(
        re.search(
            r'<script id="by-class-data" type="application/json">(.*?)</script>', page
        )[1]
    )
    [trace] = figure["data"]
    assert trace["y"] == list(compared.TOPICS)
    for topic, difference in zip(trace["y"], trace["x"], strict=True):
        assert cells(page, topic)[3] == format_score(difference)
    assert set(trace["marker"]["symbol"]) == {"circle-open"}
    assert "has more in 6" in page


def test_the_interval_of_a_class_leaves_out_zero_where_every_unit_of_it_says_so(
    client, phase, runs
):
    page = between(
        client, phase, (scored(phase, 10), scored(phase, 0)), dimension="facet"
    )
    low, _, high = cells(page, "Method")[-1].partition(" to ")
    assert 0 < float(low) <= float(high)


def test_classes_and_metrics_are_chosen_in_the_address(client, phase, runs):
    page = between(
        client, phase, runs, dimension="facet", metric="overlap_recall_micro"
    )
    assert "Overlap recall, micro by facet" in page
    assert cells(page, "Results")[:1] == ["few 10"] or cells(page, "Results")[:1] == [
        "10"
    ]


def test_tests_over_many_units_are_made_when_they_are_asked_for(
    client, phase, runs, monkeypatch
):
    monkeypatch.setattr(versus, "MAX_UNITS_TESTED_AT_ONCE", 3)
    page = between(client, phase, runs)
    assert "Compute them now" in page
    assert cells(page, "Overlap F1, micro") == ["0.9153", "0.3396", "0.5756"]
    assert "Compute them now" not in between(client, phase, runs, tests="now")
    assert "Compute them now" not in between(client, phase, runs)


def test_whoever_comes_while_long_tests_are_made_is_told_so(
    client, phase, runs, monkeypatch
):
    monkeypatch.setattr(versus, "MAX_UNITS_TESTED_AT_ONCE", 3)
    monkeypatch.setattr(versus, "MAX_WAIT_FOR_SLOW_TEST_SECONDS", 0)
    with versus._slow_test_lock:
        page = ask(client, phase, status=503, a=runs[0].pk, b=runs[1].pk, tests="now")
    assert "Another comparison is being computed" in page


def test_instances_are_shown_only_where_the_phase_allows_it(client, phase, runs):
    page = between(client, phase, runs)
    assert "Where they differ most" not in page
    assert "D05-0001" not in page
    Phase.objects.filter(pk=phase.pk).update(shows_instances=True)
    page = between(client, phase, runs)
    assert "differs on 12 of 20 instances" in page
    assert "D01-0004, citance 1 (D05-0001)" in page
    Phase.objects.filter(pk=phase.pk).update(board="organisers")
    ask(client, phase, status=404, a=runs[0].pk, b=runs[1].pk)


def test_instances_are_filtered_by_class_and_come_in_pages(
    client, phase, runs, monkeypatch
):
    Phase.objects.filter(pk=phase.pk).update(shows_instances=True)
    page = between(client, phase, runs, dimension="topic", **{"class": "D01-0005"})
    assert "differs on 2 of 2 instances of the class “D01-0005”" in page
    monkeypatch.setattr(versus, "INSTANCES_PER_PAGE", 5)
    names = []
    for number in (1, 2, 3):
        page = between(client, phase, runs, page=number)
        part = page[page.index('id="instances"') :]
        names += re.findall(r'<th scope="row">([^<]+)</th>', part)
        assert f"page {number} of 3" in part
    assert len(names) == len(set(names)) == 12
    assert "page 3 of 3" in between(client, phase, runs, page=9)


def test_the_largest_difference_comes_first(client, phase):
    Phase.objects.filter(pk=phase.pk).update(shows_instances=True)
    page = between(client, phase, (scored(phase, 10), scored(phase, 0, wrong="2")))
    part = page[page.index('id="instances"') :]
    names = re.findall(r'<th scope="row">([^<]+)</th>', part)
    differences = [float(cells(part, name)[-1]) for name in names]
    assert differences == sorted(differences, reverse=True)
    assert set(differences) == {1.0, 0.3333}


def test_two_rows_of_the_board_lead_here(client, phase, runs):
    page = re.sub(
        r"\s+", " ", client.get(boards.address("board", phase)).content.decode()
    )
    assert f'href="compare/?a={runs[0].pk}"' in page


@pytest.mark.parametrize("board", ["ranks", "organisers", "nobody"])
def test_where_no_numbers_are_shown_none_are_compared(client, phase, runs, board):
    Phase.objects.filter(pk=phase.pk).update(board=board, shows_instances=True)
    ask(client, phase, status=404)
    ask(client, phase, status=404, a=runs[0].pk, b=runs[1].pk)


def test_a_team_compares_its_own_runs_and_not_those_of_others(client, phase):
    person = factories.make_user()
    team = factories.make_team(season=phase.task.season, lead=person)
    own = [scored(phase, right, team=team) for right in (9, 4)]
    other = scored(phase, 2)
    Phase.objects.filter(pk=phase.pk).update(
        board="ranks", own_scores="scores", shows_instances=True
    )
    client.force_login(person)
    page = between(client, phase, own)
    assert "0.9153" in page
    assert "Where they differ most" not in page
    assert other.system not in page
    ask(client, phase, status=404, a=own[0].pk, b=other.pk)
    Phase.objects.filter(pk=phase.pk).update(board="nobody", own_scores="")
    ask(client, phase, status=404, a=own[0].pk, b=own[1].pk)
    client.force_login(factories.make_user(is_staff=True))
    assert "Where they differ most" in between(client, phase, (own[0], other))


def test_a_run_off_the_board_is_shown_to_its_team_alone(client, phase, runs):
    person = factories.make_user()
    team = factories.make_team(season=phase.task.season, lead=person)
    scored(phase, 9, team=team)
    second = scored(phase, 4, team=team)
    ask(client, phase, status=404, a=runs[0].pk, b=second.pk)
    client.force_login(person)
    page = between(client, phase, (runs[0], second))
    assert "Your other runs" in page
    client.force_login(factories.make_user())
    ask(client, phase, status=404, a=runs[0].pk, b=second.pk)


def test_numbers_that_were_computed_otherwise_are_not_subtracted(client, phase, runs):
    boards.set_version_0(
        runs[1].evaluations.get().scores.get(shared__metric="overlap_f1_micro")
    )
    page = between(client, phase, runs)
    assert "1 metric left out" in page
    assert '<th scope="row">Overlap F1, micro</th>' not in page
    assert cells(page, "Overlap recall, micro")


def test_matrices_that_are_gone_are_no_fault_of_the_page(client, phase, runs):
    storage.statistics_file_storage.delete(runs[0].evaluations.get().statistics)
    assert "statistics of these runs are missing" in between(client, phase, runs)


def test_what_an_address_names_must_be_there(client, phase, runs):
    ask(client, phase, status=404, a=runs[0].pk, b=10**9)
    ask(client, phase, status=404, rules="official-1999")
    ask(client, phase, status=404, gold=7)


def test_a_run_that_the_other_gold_has_not_met_is_named(client, phase, runs):
    new = boards.make_gold(phase, 2, "a fix")
    boards.score(runs[0], 0.5, gold=new)
    client.force_login(factories.make_user(is_staff=True))
    page = between(client, phase, runs, gold=2)
    assert "“Worse (" in page
    assert "has not been scored under the rules “corrected” against gold v2" in page


def test_the_queries_do_not_grow_with_the_board(client, phase, runs):
    between(client, phase, runs)
    few = queries(lambda: between(client, phase, runs))
    for right in (4, 5, 6):
        scored(phase, right)
    between(client, phase, runs)
    assert queries(lambda: between(client, phase, runs)) == few
    assert few < 15


def queries(call) -> int:
    with CaptureQueriesContext(connection) as made:
        call()
        return len(made)
