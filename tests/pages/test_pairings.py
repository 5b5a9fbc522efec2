"""One metric against another, one point a system: the chart, the table behind it, and who sees neither."""

import json
import re

import pytest
from django.urls import reverse

from scoring.worker.score import score
from tasks.models import Phase
from tests.factories import make_phase
from tests.scoring.citing import CLAIM, citing_phase, citing_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(tmp_path):
    found = citing_phase(tmp_path / "phase", entailment="word-overlap")
    for output in (f"{CLAIM} [1][2].", f"{CLAIM} [1]. Nobody knows.", "It rains."):
        run = citing_run(found, output)
        for job in run.jobs.all():
            score(job.pk)
    return found


def address(phase, name="pairings") -> str:
    return reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])


def figures(told: str) -> list[dict]:
    return [json.loads(found) for found in re.findall(r'type="application/json">(.*?)</script>', told)]


def test_aliice_against_alce_and_cvcp_against_aliice_are_drawn(client, phase):
    told = client.get(address(phase)).content.decode()
    first, second = figures(told)
    systems, equal = first["data"]
    assert sorted(zip(systems["x"], systems["y"], strict=True)) == [
        pytest.approx((200 / 3, 200 / 3)),
        pytest.approx((200 / 3, 100)),
    ]
    assert equal["mode"] == "lines"
    assert (first["layout"]["xaxis"]["title"]["text"], first["layout"]["yaxis"]["title"]["text"]) == (
        "ALCE F1",
        "ALiiCE F1",
    )
    assert second["layout"]["yaxis"]["title"]["text"] == "CVCP"
    assert len(second["data"]) == 1, "no line of equal values where the scales differ"


def test_what_is_drawn_stands_in_a_table_and_what_is_not_is_counted(client, phase):
    told = client.get(address(phase)).content.decode()
    assert re.sub(r"<script.*?</script>", "", told, flags=re.DOTALL).count("66.67</td>") == 4
    assert "1 system without one of the numbers left out." in told


def test_the_board_leads_there_and_others_do_not(client, phase):
    assert address(phase) in client.get(address(phase, "board")).content.decode()
    other = make_phase()
    assert "Metrics against each other" not in client.get(address(other, "board")).content.decode()
    assert "not drawn against each other" in client.get(address(other)).content.decode()


@pytest.mark.parametrize("board", ["ranks", "organisers", "nobody"])
def test_nobody_sees_them_where_the_scores_are_hidden(client, phase, board):
    Phase.objects.update(board=board)
    assert client.get(address(phase)).status_code == 404
