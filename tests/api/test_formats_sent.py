"""`citeboard submit` sends a run in each format that the site reads."""

import gzip
import json
from urllib.parse import urlsplit

import pytest

from scoring.__main__ import main
from scoring.client.connection import ApiResponse, SiteConnection
from scoring.client.refusals import SiteRefused
from tasks.models import Submission
from tests import factories
from tests.declared.small_tasks import SMALL_TASKS, declare, publish_gold

pytestmark = pytest.mark.django_db
INTENTS = SMALL_TASKS["labels"]
ROWS = [INTENTS.record(place, answer) for place, answer in enumerate(INTENTS.right)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def table(delimiter: str) -> str:
    rows = [("label", "id"), *((row["label"], row["id"]) for row in ROWS)]
    return "".join(f"{delimiter.join(row)}\n" for row in rows)


@pytest.fixture
def submit(client, tmp_path, monkeypatch):
    """A function that runs the command against the site of this process."""
    phase = factories.make_phase(
        task=declare(INTENTS, factories.make_season()), with_gold=False
    )
    publish_gold(phase, INTENTS.files(INTENTS.right), tmp_path / "gold")
    person = factories.make_user()
    factories.make_team(season=phase.task.season, lead=person)
    client.force_login(person)
    monkeypatch.setenv("CITEBOARD_SITE", "http://localhost")
    monkeypatch.setenv("CITEBOARD_TOKEN", "t")

    def once(self, address, headers, body):
        content = b"".join(iter(lambda: body.read(1 << 16), b""))
        given = {"content_type": headers["Content-Type"]}
        answer = client.generic("POST", urlsplit(address).path, content, **given)
        if answer.status_code >= 400:
            raise SiteRefused(answer.status_code, answer.json())
        return ApiResponse(answer.json(), dict(answer.headers))

    monkeypatch.setattr(SiteConnection, "_send_request_and_parse_json", once)

    def run(name: str, content: bytes | str, *more: str) -> int:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        words = ["submit", str(phase.pk), "--run", str(path), "--system", "Ours"]
        return main([*words, *more])

    return run


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.csv", table(",")),
        ("run.tsv", table("\t")),
        ("run.jsonl", LINES),
        ("run.json", json.dumps(ROWS, indent=1)),
        ("run.jsonl.gz", gzip.compress(LINES.encode(), mtime=0)),
        ("run", table(";")),
    ],
)
def test_every_format_is_sent_and_taken(submit, name, content):
    assert submit(name, content) == 0
    made = Submission.objects.get()
    assert (made.filename, made.status, made.warnings) == (name, "queued", [])


def test_the_command_tells_the_repair_and_sends_it_if_asked(submit, capsys):
    content = LINES.replace('"label"', '"pred_label"')
    assert submit("run.jsonl", content) == 2
    said = capsys.readouterr().err
    assert "repair: “pred_label” is called “label”" in said
    assert "with --repair the site takes the repaired file" in said
    assert not Submission.objects.exists()
    assert submit("run.jsonl", content, "--repair") == 0
    assert Submission.objects.get().filename == "run-repaired.jsonl"
    latin = content.replace('"}', '", "by": "é"}').encode("cp1252")
    assert submit("run.jsonl", latin) == 2
    assert "name the encoding: --encoding" in capsys.readouterr().err
    assert submit("run.jsonl", latin, "--encoding", "Windows-1252") == 0
