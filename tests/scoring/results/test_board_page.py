"""The board as people and programs ask for it."""

import csv
import io
import re
from dataclasses import replace

import pytest
from django.urls import reverse

from citeboard.core.instants import ENDLESS_PHASE_END
from scoring.models import Comparison, Score
from scoring.results.board.comparisons import save_comparisons
from scoring.results.board.query import BoardQuery, select_and_sort_rows
from scoring.results.board.standings import compute_board
from tasks.models import Phase
from tasks.models.seasons import increment_board_version
from tests import factories
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards

pytestmark = pytest.mark.django_db


def make_board() -> Phase:
    """Return a phase with three teams and a baseline; Bo leads by F1, Cy by recall."""
    phase = boards.make_phase()
    for name, f1, recall in (("Ada", 0.2, 0.5), ("Bo", 0.6, 0.4), ("Cy", 0.4, 0.9)):
        run = boards.make_run(
            phase, boards.make_team(phase, name), system=f"{name}'s system"
        )
        boards.score(run, f1, overlap_recall_micro=recall)
        boards.score(run, 1 - f1, rules="official-2017")
    lead = boards.make_run(phase, None, system="Lead")
    boards.score(lead, 0.3, overlap_recall_micro=0.1)
    return phase


@pytest.fixture(scope="module")
def kept_board(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_board, django_db_blocker)


@pytest.fixture
def phase(db, kept_board) -> Phase:
    return kept_board()


def text_of(response) -> str:
    return response.content.decode()


def systems(response) -> list[str]:
    return re.findall(
        r'<span class="system">(?:<a [^>]*>)?([^<]+)<',
        text_of(response).replace("&#x27;", "'"),
    )


def board(client, phase, query=""):
    return client.get(boards.address("board", phase) + query)


def test_a_visitor_reads_the_board(client, phase):
    page = text_of(board(client, phase))
    assert "3 teams" in page
    assert "gold v1" in page
    assert "ranked by Overlap F1, micro under the rules “corrected”" in page
    assert ">0.6000</a>" in page
    assert 'aria-label="0.5500 to 0.6500"' in page


@pytest.mark.both_databases
def test_rows_stand_in_the_order_of_their_numbers_with_the_baseline_among_them(
    client, phase
):
    response = board(client, phase)
    assert systems(response) == [
        "Bo's system",
        "Cy's system",
        "Lead",
        "Ada's system",
    ]
    assert ">baseline<" in text_of(response)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("?sort=overlap_recall_micro", ["Cy", "Ada", "Bo", "Lead"]),
        ("?sort=-overlap_recall_micro", ["Lead", "Bo", "Ada", "Cy"]),
        ("?sort=system", ["Ada", "Bo", "Cy", "Lead"]),
        ("?sort=-rank", ["Ada", "Lead", "Cy", "Bo"]),
        ("?sort=date", ["Lead", "Cy", "Bo", "Ada"]),
        ("?sort=no-such-column", ["Bo", "Cy", "Lead", "Ada"]),
    ],
)
def test_any_column_sorts_and_the_page_says_how(client, phase, query, first):
    response = board(client, phase, query)
    assert [name.partition("'")[0] for name in systems(response)] == first
    if "no-such" not in query:
        assert "Sorted by" in text_of(response) or query == "?sort=rank"
        assert "aria-sort" in text_of(response)


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("overlap_recall_micro", ["Lead", "Bo's", "Ada's", "Cy's"]),
        ("-overlap_recall_micro", ["Cy's", "Ada's", "Bo's", "Lead"]),
    ],
)
def test_a_column_in_which_lower_is_better_sorts_from_its_lowest(phase, sort, first):
    shown = compute_board(phase, None)
    shown.columns = [
        replace(column, higher_is_better=False) for column in shown.columns
    ]
    rows = select_and_sort_rows(shown, BoardQuery(sort=sort))
    assert [row.system.partition(" ")[0] for row in rows] == first


def test_ranks_stay_when_the_rows_are_sorted_otherwise(client, phase):
    page = text_of(board(client, phase, "?sort=overlap_recall_micro&baselines=no"))
    assert re.findall(r'<td class="rank">(\d)</td>', page) == ["2", "3", "1"]


@pytest.mark.both_databases
def test_rows_are_found_by_team_or_system(client, phase):
    assert systems(board(client, phase, "?q=ada")) == ["Ada's system"]
    assert systems(board(client, phase, "?q=LEAD")) == ["Lead"]
    nothing = text_of(board(client, phase, "?q=%3Cb%3Enobody"))
    assert "&lt;b&gt;nobody" in nothing
    assert "<b>nobody" not in nothing


def test_baselines_can_be_left_out(client, phase):
    response = board(client, phase, "?baselines=no")
    assert systems(response) == ["Bo's system", "Cy's system", "Ada's system"]
    assert "1 row left out" in text_of(response)


def test_another_rule_set_is_another_board(client, phase):
    assert (
        systems(board(client, phase, "?rules=official-2017&baselines=no"))[0]
        == "Ada's system"
    )
    assert board(client, phase, "?rules=official-1999").status_code == 404
    assert board(client, phase, "?gold=7").status_code == 404


def test_a_column_without_a_number_is_in_the_files_and_not_in_the_table(client):
    phase = boards.make_phase()
    for name, recall in (("Ada", None), ("Bo", 0.7)):
        run = boards.make_run(phase, boards.make_team(phase, name))
        boards.score(run, 0.5, overlap_recall_micro=recall, bertscore_f1=None)
    page = text_of(board(client, phase))
    assert "Overlap recall, micro" in page
    assert "BERTScore" not in page
    assert page.count('<td class="n rest">') == 2
    assert "bertscore_f1" in text_of(client.get(boards.address("board-csv", phase)))
    columns = client.get(boards.address("board-json", phase)).json()["columns"]
    assert "bertscore_f1" in [column["name"] for column in columns]


@pytest.mark.both_databases
def test_an_infinite_value_is_a_number_of_its_column(client):
    phase = boards.make_phase()
    run = boards.make_run(phase, boards.make_team(phase, "Ada"))
    evaluation = boards.score(run, 0.5, kl_intent=None)
    evaluation.scores.filter(shared__metric="kl_intent").update(is_infinite=True)
    page = text_of(board(client, phase, "?columns=all"))
    assert "KL intent" in page
    assert "∞" in page


def test_a_board_whose_ranking_metric_has_no_number_still_names_it(client):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), None)
    assert "sort-overlap_f1_micro" in text_of(board(client, phase))


def test_every_number_leads_to_its_signature(client, phase):
    numbers = re.findall(r'href="(runs/\d+/)#s(\d+)"', text_of(board(client, phase)))
    assert len(set(numbers)) == 8
    pages = {
        path: text_of(client.get(boards.address("board", phase) + path))
        for path, _score in set(numbers)
    }
    for path, score in set(numbers):
        assert f'id="s{score}"' in pages[path]
        alone = client.get(boards.address("board", phase) + f"{path}?score={score}")
        assert "rules:corrected" in text_of(alone)
        assert "python -m scoring score clsumm-1a" in text_of(alone)
        assert "<html" not in text_of(alone)


def test_a_number_of_few_instances_says_what_its_interval_cannot_know(client, phase):
    run = phase.submissions.get(system="Lead")
    address = reverse(
        "standing", args=[phase.task.season.slug, phase.task.slug, phase.slug, run.pk]
    )
    for n, is_told in ((29, True), (30, False)):
        Score.objects.filter(evaluation__submission=run).update(n=n)
        assert ("So few instances" in text_of(client.get(address))) == is_told


def test_the_command_beside_a_number_names_everything_that_the_number_depends_on(
    client, phase
):
    run = phase.submissions.get(system="Lead")
    address = reverse(
        "standing", args=[phase.task.season.slug, phase.task.slug, phase.slug, run.pk]
    )
    command = "--gold GOLD --run run.jsonl --rules corrected --intervals 1000 --method percentile --seed 7"
    assert command in text_of(client.get(address))


def test_a_run_that_does_not_stand_on_the_board_has_no_row_to_look_at(client, phase):
    run = boards.scored_run(phase, phase.task.season.registrations.first().team, 0.01)
    args = [phase.task.season.slug, phase.task.slug, phase.slug, run.pk]
    assert client.get(reverse("standing", args=args)).status_code == 404


@pytest.mark.both_databases
def test_the_board_as_csv_is_what_is_shown(client, phase):
    response = client.get(
        boards.address("board-csv", phase) + "?baselines=no&sort=overlap_recall_micro"
    )
    rows = list(csv.DictReader(io.StringIO(text_of(response))))
    assert [(row["rank"], row["team"], row["overlap_f1_micro"]) for row in rows] == [
        ("2", "Cy", "0.4"),
        ("3", "Ada", "0.2"),
        ("1", "Bo", "0.6"),
    ]
    assert rows[0]["overlap_recall_micro_high"] == "0.9500000000000001"
    assert (rows[0]["rules"], rows[0]["gold"]) == ("corrected", "v1")
    assert "attachment" in response["Content-Disposition"]


def test_a_name_that_a_spreadsheet_would_calculate_is_text_in_the_csv(client):
    phase = boards.make_phase()
    boards.scored_run(
        phase, boards.make_team(phase, "+Team"), -0.5, system="=HYPERLINK(0)"
    )
    row = next(
        csv.DictReader(
            io.StringIO(text_of(client.get(boards.address("board-csv", phase))))
        )
    )
    assert (row["system"], row["team"]) == ("'=HYPERLINK(0)", "'+Team")
    assert row["overlap_f1_micro"] == "-0.5"


def test_a_run_card_that_a_spreadsheet_would_calculate_is_text_in_the_csv(client):
    phase = boards.make_phase()
    card = {"external_resources": "=HYPERLINK(0)"}
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5, card=card)
    content = text_of(client.get(boards.address("board-csv", phase)))
    [row] = csv.DictReader(io.StringIO(content))
    assert row["card_external_resources"] == "'=HYPERLINK(0)"


@pytest.mark.both_databases
def test_the_board_as_json_has_the_same_rows_unrounded(client, phase):
    content = client.get(boards.address("board-json", phase) + "?q=bo").json()
    [row] = content["rows"]
    assert (row["rank"], row["team"], row["kind"]) == (1, "Bo", "primary")
    assert row["scores"]["overlap_f1_micro"] == {
        "value": 0.6,
        "low": 0.5499999999999999,
        "high": 0.65,
    }
    assert content["columns"][0]["higher_is_better"] is True
    assert content["gold"]["number"] == 1


def test_the_board_as_latex_is_a_table_for_a_paper(client, phase):
    lines = text_of(
        client.get(boards.address("board-tex", phase) + "?baselines=no")
    ).splitlines()
    assert [line for line in lines if line.startswith("% overlap_f1_micro|")]
    assert lines[lines.index(r"\toprule") + 1].startswith(
        "Rank & System & Team & Overlap F1, micro & "
    )
    first = lines[lines.index(r"\midrule") + 1]
    assert first.startswith(
        r"1 & Bo's system & Bo & \textbf{0.6000} [0.5500, 0.6500] & "
    )
    assert first.endswith(r" \\")


def test_the_table_for_a_paper_has_its_best_in_bold_its_baselines_in_italics_and_marks_ties(
    client, phase
):
    lines = text_of(client.get(boards.address("board-tex", phase))).splitlines()
    assert [lines[0], lines[1], lines[-1]] == [
        r"\begin{table}",
        r"\centering",
        r"\end{table}",
    ]
    bold = {
        line.split(" & ")[1]: line.count(r"\textbf{") for line in lines if " & " in line
    }
    assert (bold["Bo's system"], bold["Cy's system"], bold["Ada's system"]) == (1, 1, 0)
    assert bold[r"\textit{Lead}"] == 0
    assert not [line for line in lines if "dagger" in line]
    ada, bo, cy = (
        phase.submissions.get(team__name=name).evaluations.get(rules="corrected")
        for name in ("Ada", "Bo", "Cy")
    )
    facts = {
        "metric": "overlap_f1_micro",
        "test": "exact",
        "trials": 1024,
        "units": 10,
        "difference": 0.2,
    }
    pairs = ((bo, cy, 0.5), (ada, bo, 0.001), (ada, cy, 0.001))
    save_comparisons(
        [Comparison(first=one, second=other, p=p, **facts) for one, other, p in pairs]
    )
    increment_board_version(phase.pk)
    tied = text_of(client.get(boards.address("board-tex", phase)))
    assert r"Cy & 0.4000$^{\dagger}$ [" in tied
    assert r"\dagger}$ may be first as well." in tied
    assert tied.count("dagger") == 2


def test_a_name_that_latex_would_run_is_text_in_the_table(client):
    phase = boards.make_phase()
    boards.scored_run(
        phase, boards.make_team(phase, "50% & #1"), -0.5, system=r"\input{x} ~$_^"
    )
    page = text_of(client.get(boards.address("board-tex", phase)))
    assert (
        r"\textbackslash{}input\{x\} \textasciitilde{}\$\_\textasciicircum{} & 50\% \& \#1"
        r" & \textbf{$-$0.5000}" in page
    )


@pytest.mark.parametrize("choice", ["ranks", "organisers", "nobody"])
def test_a_board_that_shows_no_number_shows_none_anywhere(client, phase, choice):
    Phase.objects.filter(pk=phase.pk).update(board=choice)
    page = text_of(board(client, phase))
    for number in ("0.6000", "0.4000", "0.2000", "0.3000"):
        assert number not in page
    assert ("Bo&#x27;s system" in page) == (choice == "ranks")
    for name in (
        "board-csv",
        "board-json",
        "board-tex",
        "classes-csv",
        "classes-tex",
        "differences",
    ):
        assert client.get(boards.address(name, phase)).status_code == 404
    run = phase.submissions.first()
    args = [phase.task.season.slug, phase.task.slug, phase.slug, run.pk]
    assert client.get(reverse("standing", args=args)).status_code == 404
    assert "0.6000" not in text_of(client.get("/"))


def test_an_organiser_sees_a_hidden_board(client):
    organiser = factories.make_user()
    phase = boards.make_phase(
        factories.make_season(organiser=organiser), board="nobody"
    )
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.6)
    client.force_login(organiser)
    assert "0.6000" in text_of(board(client, phase))


def test_an_empty_board_says_what_will_be_here_and_what_to_do(client):
    phase = boards.make_phase()
    page = text_of(board(client, phase))
    assert "No run has been scored yet" in page
    assert boards.address("upload", phase) in page


def test_a_new_gold_is_announced_while_the_board_stands_on_the_old_one(client, phase):
    boards.make_gold(phase, 2, "A topic had the wrong paper")
    Phase.objects.filter(pk=phase.pk).update(version=9)
    page = text_of(board(client, phase))
    assert "A topic had the wrong paper" in page
    assert "4 runs" in page
    assert systems(board(client, phase)) == [
        "Bo's system",
        "Cy's system",
        "Lead",
        "Ada's system",
    ]
    assert "No run has been scored yet" in text_of(board(client, phase, "?gold=2"))


@pytest.mark.both_databases
def test_names_are_shown_as_they_were_typed(client):
    phase = boards.make_phase()
    boards.scored_run(
        phase, boards.make_team(phase, "<i>Ada</i>"), 0.5, system="<script>x</script>"
    )
    page = text_of(board(client, phase))
    assert "&lt;script&gt;x" in page
    assert "<script>x" not in page
    assert "&lt;i&gt;Ada&lt;/i&gt;" in page


def test_a_reader_who_has_the_page_is_told_so_until_the_board_changes(client, phase):
    first = board(client, phase)
    assert first["ETag"].startswith('"')
    again = client.get(
        boards.address("board", phase), headers={"If-None-Match": first["ETag"]}
    )
    assert (again.status_code, again.content) == (304, b"")
    Phase.objects.filter(pk=phase.pk).update(version=2)
    assert (
        client.get(
            boards.address("board", phase), headers={"If-None-Match": first["ETag"]}
        ).status_code
        == 200
    )


@pytest.mark.parametrize(
    "change", [{"board": "nobody"}, {"closes": boards.START}, {"title": "Renamed"}]
)
def test_a_change_of_the_phase_itself_makes_another_page(client, phase, change):
    before = board(client, phase)["ETag"]
    Phase.objects.filter(pk=phase.pk).update(
        opens=boards.START.replace(year=2020), **change
    )
    assert board(client, phase)["ETag"] != before


def test_pages_for_different_people_have_different_tags_and_are_not_mixed(
    client, phase
):
    visitor = board(client, phase)
    person = factories.make_user(name="Grace")
    client.force_login(person)
    signed_in = board(client, phase)
    assert signed_in["ETag"] != visitor["ETag"]
    assert "Grace" in text_of(signed_in)
    assert "private" in signed_in["Cache-Control"]
    client.logout()
    assert "Grace" not in text_of(board(client, phase))


@pytest.mark.both_databases
def test_a_page_from_the_cache_costs_one_query(
    client, phase, django_assert_num_queries
):
    board(client, phase)
    with django_assert_num_queries(1):
        assert board(client, phase).status_code == 200


@pytest.mark.both_databases
@pytest.mark.parametrize("teams", [2, 15])
def test_the_page_costs_the_same_queries_however_many_teams_there_are(
    client, teams, django_assert_num_queries
):
    phase = boards.make_phase()
    for number in range(teams):
        boards.scored_run(phase, boards.make_team(phase, f"Team {number}"), 0.3)
    with django_assert_num_queries(13):
        board(client, phase)


def test_a_page_with_a_message_is_made_for_this_once(client, phase):
    client.force_login(factories.make_user())
    client.cookies["messages"] = "x"
    assert "ETag" not in board(client, phase)


def test_main_metrics_stand_first_and_all_on_demand_as_the_address_says(client):
    phase = boards.make_phase()
    run = boards.make_run(phase, boards.make_team(phase, "Ada"))
    boards.score(
        run, 0.5, overlap_recall_macro=0.4, rouge_l_f1=0.3, overlap_recall_micro=0.2
    )
    assert heads(board(client, phase)) == [
        "Overlap F1, micro",
        "Overlap recall, micro",
        "ROUGE-L F1",
    ]
    everything = board(client, phase, "?columns=all")
    assert heads(everything)[-1] == "Overlap recall, macro"
    assert 'href="?sort=overlap_recall_macro&amp;columns=all"' in text_of(everything)
    assert "Overlap recall, macro" in heads(
        board(client, phase, "?sort=overlap_recall_macro")
    )


def heads(response) -> list[str]:
    found = re.findall(r'<a id="sort-[a-z_0-9]+_[^>]*>(.*?)</a>', text_of(response))
    return [re.sub("<[^>]+>", "", head) for head in found]


def test_who_has_a_run_on_the_board_reads_how_far_the_next_is_and_whether_they_differ(
    client,
):
    phase = boards.make_phase()
    user = factories.make_user()
    first, own = (
        boards.scored_run(phase, team, value, system=system)
        for team, value, system in (
            (boards.make_team(phase, "Ada"), 0.6, "Ahead"),
            (boards.make_team(phase, "Bo", user), 0.5, "Ours"),
        )
    )
    assert "Your run" not in text_of(board(client, phase))
    client.force_login(user)
    assert "p = " not in text_of(board(client, phase))
    one, other = first.evaluations.get(), own.evaluations.get()
    facts = {"metric": "overlap_f1_micro", "test": "exact", "trials": 1024, "units": 10}
    save_comparisons(
        [Comparison(first=one, second=other, difference=0.1, p=0.03125, **facts)]
    )
    increment_board_version(phase.pk)
    page = " ".join(re.sub("<[^>]+>", "", text_of(board(client, phase))).split())
    assert (
        "Your run Ours: rank 2 of 2; Overlap F1, micro 0.1000 behind Ahead, p = 0.031 for these two alone"
        in page
    )
    assert "they differ. Compare the two" in page
    assert "Bo, your team" in page


def test_home_and_season_say_where_baselines_stand_alone_and_the_season_that_a_phase_has_no_end(
    client,
):
    phase = boards.make_phase(closes=ENDLESS_PHASE_END)
    boards.scored_run(phase, None, 0.3, system="Lead")
    for address in ("/", reverse("season", args=[phase.task.season.slug])):
        page = text_of(client.get(address))
        assert "only baselines so far, no run of a team" in page
    assert "open, no end" in page
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    increment_board_version(phase.pk)
    assert "only baselines so far" not in text_of(client.get("/"))
