"""Gold in the shapes of public tasks, from the form to a scored run and to a public season."""

import random
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from sklearn.metrics import f1_score

from scoring.worker.score import score
from tasks.models import Job, Phase, Season, Task
from tasks.types.declared.proposals import format_task_toml, propose_declaration
from tasks.types.files import InputFile
from tests import factories
from tests.api.conftest import API
from tests.declared import shapes_of_tasks as shapes
from tests.going_on import GoesOn
from tests.scoring import boards
from tests.web.reading import text_of
from tests.web.test_declaring import filled

pytestmark = pytest.mark.django_db


def test_a_program_is_refused_an_unsure_guess_with_the_reason_and_sends_a_declaration(
    client,
):
    olga = factories.make_user(name="Olga", is_staff=True)
    factories.make_season(organiser=olga, slug="one", is_public=False)
    client.force_login(olga)
    rows = [
        {"id": f"i{n}", "text": f"Of tree {n} and leaves", "kind": "ab"[n % 2]}
        for n in range(8)
    ]
    given = {"title": "Trees", "form": "labels", "opens": "2026-05-01 00:00"}
    given["closes"] = "2091-05-01 23:59 AoE"

    def sent(**more: Any) -> Any:
        file = SimpleUploadedFile("gold.jsonl", shapes.lines(rows))
        where = f"{API}/seasons/one/declared-tasks/"
        return client.post(where, {**given, "file": file, **more})

    refused = sent()
    assert refused.status_code == 422
    [problem] = refused.json()["problems"]
    assert (
        "“kind” for “answer” is unsure: “kind” has 2 different words"
        in (problem["message"])
    )
    task = propose_declaration(
        "labels", "t", "Trees", gold_files(shapes.lines(rows))
    ).task
    assert sent(declaration=format_task_toml(task)).status_code == 201


def gold_files(content: bytes) -> list[InputFile]:
    return [InputFile("gold.jsonl", "gold.jsonl", lambda: BytesIO(content))]


@dataclass
class Person:
    """A browser that counts the pages that it loads, the buttons pressed and the fields filled in."""

    client: Any
    loads: int = 0
    presses: int = 0
    fields: int = 0
    page: Any = field(default=None)

    def open(self, address: str) -> Any:
        self.loads += 1
        self.page = self.client.get(address, follow=True)
        assert self.page.status_code == 200
        return self.page

    def press(self, address: str, said: dict[str, Any], **unchanged: Any) -> Any:
        """Send a form of which a person has filled in what is ``said``."""
        self.fields += len(said)
        sent = {**unchanged, **said}
        self.page = self._pressed(Client.post, address, sent)
        if self.page.status_code == 409:
            # The page shows what follows and asks for one more press.
            self.page = self._pressed(GoesOn.post, address, sent)
        return self.page

    def _pressed(self, post: Any, address: str, sent: dict[str, Any]) -> Any:
        self.presses += 1
        self.loads += 1
        return post(self.client, address, sent, follow=True)

    def declare(self, title: str, form: str, name: str, content: bytes) -> Any:
        where = reverse("organise-settings-declare", args=["one"])
        self.open(where)
        file = SimpleUploadedFile(name, content)
        return self.press(where, {"title": title, "form": form, "file": file})

    def save(self, **said: Any) -> Any:
        where = reverse("organise-settings-declare", args=["one"])
        unchanged = {**filled(self.page), "save": ""}
        return self.press(where, said, **unchanged)


@pytest.fixture
def olga(client) -> Person:
    client.force_login(factories.make_user(name="Olga", is_staff=True))
    return Person(client)


def test_a_public_season_of_three_own_tasks_takes_nine_presses(olga):
    olga.open("/new-season/")
    olga.open("/new-season/open/")
    dates = {"time_zone": "UTC", "opens": "2020-05-01 00:00"}
    olga.press("/new-season/open/", {"title": "Ours", "slug": "one", **dates})

    olga.declare("Tweets", "labels", "gold.tsv", shapes.checkthat_vectors())
    assert "a place for each label" in text_of(olga.page)
    assert "holds 3 values of 0 and 1 in each row" in text_of(olga.page)
    olga.save(labels="\n".join(shapes.CATEGORIES))
    olga.declare("Papers", "ranking", "gold.json", shapes.pst())
    assert "there is nothing to rank" in text_of(olga.page)
    assert "references" not in olga.page.context["form"]["shown"].value()
    olga.save(candidates="references")
    olga.declare("Claims", "labels", "gold.json", shapes.sciclaimeval())
    assert "the order of the rows is part of the gold" in text_of(olga.page)
    olga.save()
    assert [*Task.objects.values_list("slug", flat=True)] == [
        "tweets",
        "papers",
        "claims",
    ]

    olga.open(reverse("organise-launch", args=["one"]))
    olga.press(reverse("organise-launch-open", args=["one"]), {})
    assert Season.objects.get().is_public
    assert (olga.loads, olga.presses, olga.fields) == (15, 9, 15)

    draw = random.Random("site")
    signs = {name: own for name, _, own in shapes.tweets()}
    run = {name: [int(draw.random() < 0.5) for _ in own] for name, own in signs.items()}
    rows = [{"index": name, "labels": own} for name, own in run.items()]
    # The preset scores a part of the instances.
    Phase.objects.update(public_part=None)
    phase = Phase.objects.get(task__slug="tweets")
    sent = factories.make_submission(phase=phase, content=shapes.lines(rows))
    score(Job.objects.get(submission=sent).pk)
    told = olga.client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()
    row = next(row for row in told["rows"] if row["system"] == sent.system)
    expected = f1_score([*signs.values()], [*run.values()], average="macro")
    assert row["scores"]["macro_f1"]["value"] == pytest.approx(expected)
    assert "claim" in text_of(olga.client.get(boards.address("board", phase)))
