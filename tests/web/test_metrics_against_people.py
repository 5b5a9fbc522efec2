"""How well metrics agree with people, on the page of a board with a published human evaluation."""

import json
import re

import numpy as np
import pytest

from scoring.human import outcome
from scoring.human.metric_correlation import (
    compute_mean_ratings_by_text,
    correlate_metrics_with_people,
)
from scoring.results.board.standings import compute_board
from tests import factories
from tests.lazily import Lazily
from tests.scoring import boards, sheets
from tests.scoring.citation_texts import make_phase, make_run
from tests.scoring.discourse import intents
from tests.web.reading import text_of

stats = Lazily("scipy.stats")
pytestmark = pytest.mark.django_db

NONE = {"lu": [None] * 6}
#: From like the gold to unlike it; people see it so too.
TEXTS = {
    "Abacus": "We use the parser of [0].",
    "Basilisk": "We use a parser of them.",
    "Chimera": "They use some other parser.",
    "Dryad": "Trees grow.",
    "Echo": "Nothing is said here at all.",
}


@pytest.fixture
def phase(tmp_path):
    return make_phase(
        tmp_path, organiser=factories.make_user(), gold={"lu": [intents("Uses")] * 6}
    )


@pytest.fixture
def runs(phase, tmp_path):
    return [
        make_run(phase, tmp_path, NONE, text, system=name)
        for name, text in TEXTS.items()
    ]


@pytest.fixture
def sheet(phase, runs):
    names = [f"lu-{number:02}" for number in range(6)]
    sheet = sheets.make_sheet(
        phase,
        {name: dict(zip(runs, TEXTS.values(), strict=True)) for name in names},
        annotators=["Ada", "Bo"],
    )
    for annotator, shift in (("Ada", 0), ("Bo", 1)):
        sheets.rate(
            sheet,
            annotator,
            {
                (name, run): (
                    max(1, 5 - place),
                    max(1, 5 - place - shift * (number * place % 3)),
                )
                for number, name in enumerate(names)
                for place, run in enumerate(runs)
            },
        )
    return sheet


def publish(sheet) -> None:
    outcome.publish_ratings(
        sheet=sheet, by=sheet.phase.task.season.organisers.first().user
    )


def test_correlations_over_systems_and_texts_are_those_of_scipy(phase, sheet):
    from scipy import stats

    publish(sheet)
    people = compute_mean_ratings_by_text(phase)["consistency"]
    assert len(people) == 6 * len(TEXTS)
    board = compute_board(phase, None)
    [rouge] = [
        line
        for line in correlate_metrics_with_people(board, people)
        if line.metric == "ROUGE-1 F1"
    ]
    values = {row.submission: row.scores["rouge_1_f1"].value for row in board.rows}
    means = {
        run: np.mean([value for (own, _), value in people.items() if own == run])
        for run in values
    }
    expected = stats.kendalltau(list(values.values()), list(means.values())).statistic
    assert rouge.over_systems["Kendall"].value == pytest.approx(expected)
    assert rouge.over_systems["Kendall"].n == len(TEXTS)
    # Every run says the same of every instance, so that a text's value is its system's.
    pairs = [(values[run], value) for (run, _), value in people.items()]
    assert rouge.over_instances["Pearson"].value == pytest.approx(
        stats.pearsonr(*np.transpose(pairs)).statistic
    )
    assert rouge.over_instances["Spearman"].n == 6 * len(TEXTS)
    low, high = (
        rouge.over_instances["Spearman"].low,
        rouge.over_instances["Spearman"].high,
    )
    assert low < rouge.over_instances["Spearman"].value < high


def test_the_page_shows_them_as_charts_and_as_a_table_and_the_board_leads_to_it(
    client, phase, sheet
):
    assert client.get(boards.address("people", phase)).status_code == 404
    publish(sheet)
    address = boards.address("people", phase)
    board = boards.address("board", phase)
    assert 'href="?view=people#view"' in client.get(board).content.decode()
    assert "over 5 systems" in text_of(client.get(f"{board}?view=people"))
    response = client.get(address)
    told = text_of(response)
    assert "people's judgement of readability: over 5 systems" in told
    assert "over 30 single texts" in told
    figures = re.findall(
        r'<script id="people-\d-data" type="application/json">(.*?)</script>',
        response.content.decode(),
    )
    assert len(figures) == 2
    for figure in map(json.loads, figures):
        assert [trace["name"] for trace in figure["data"]] == [
            "Pearson",
            "Spearman",
            "Kendall",
        ]
        assert "ROUGE-1 F1" in figure["data"][0]["y"]
        assert "Human readability" not in figure["data"][0]["y"]
    other = client.get(f"{address}?criterion=consistency")
    assert "people's judgement of consistency" in text_of(other)
    assert client.get(f"{address}?criterion=beauty").status_code == 200
