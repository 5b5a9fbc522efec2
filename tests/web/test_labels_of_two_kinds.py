"""One judge whose labels of citations and of nuggets stay apart on pages, in files and in the API."""

import json
import re
from contextlib import nullcontext

import pytest
from django.urls import reverse

from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import Token
from scoring.__main__ import main as offline
from scoring.models import Judge, PendingLabels
from scoring.worker.entailment_labels import import_labels, share_labels
from tests.factories import make_user
from tests.judges.stub import write_judges
from tests.judges.test_labels_of_nuggets import CITED, ROWS, reports_phase
from tests.judges.test_labels_of_reports import RIGHT, labelled, report_run
from tests.scoring.citing import score_queued, write_lines
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
JUDGE = "judge-a"
BOTH = {"assignments": f"store:{JUDGE}", "supports": f"store:{JUDGE}"}


@pytest.fixture
def staff():
    return make_user(is_staff=True)


@pytest.fixture
def organiser():
    return make_user()


@pytest.fixture
def phase(tmp_path, organiser):
    return reports_phase(tmp_path / "both", BOTH, organiser=organiser)


@pytest.fixture
def other_phase(tmp_path):
    """A phase of a season that asks the judge about citations alone."""
    options = {"supports": f"store:{JUDGE}"}
    return reports_phase(tmp_path / "citations", options, organiser=make_user())


@pytest.fixture
def bring(tmp_path):
    def bring(phase, kind, rows):
        head = {"kind": kind, "judge": JUDGE}
        path = write_lines(tmp_path / "rows.jsonl", [head, *rows])
        season = phase.task.season
        return import_labels(path=path, filename=path.name, by=None, season=season)

    return bring


@pytest.fixture
def labels(phase, bring):
    """Bring labels of both kinds of the judge."""
    bring(phase, "assigns", ROWS)
    bring(phase, "supports", CITED)


def address(phase, name: str = "organise-models") -> str:
    return reverse(name, args=[phase.task.season.slug])


def shared_kinds() -> set[str]:
    return set(Judge.objects.filter(season=None).values_list("kind", flat=True))


@pytest.mark.usefixtures("labels")
def test_each_line_names_its_kind_and_its_button_shares_this_kind_alone(
    client, phase, staff
):
    client.force_login(staff)
    page = client.get(address(phase))
    told = text_of(page)
    assert f"{JUDGE} , supports : 2 labels of this season" in told
    assert f"{JUDGE} , assigns : 8 labels of this season" in told
    forms = re.findall(
        r'name="model" value="(.+?)">\s*<input type="hidden" name="kind" value="(.+?)"',
        page.content.decode(),
    )
    assert sorted(forms) == [(JUDGE, "assigns"), (JUDGE, "supports")]
    given = {"model": JUDGE, "kind": "supports"}
    answer = client.post(address(phase, "organise-labels-share"), given, follow=True)
    assert f"2 labels of {JUDGE} added for all seasons." in text_of(answer)
    assert shared_kinds() == {"supports"}


@pytest.mark.usefixtures("labels")
def test_a_program_names_the_kind_of_a_judge_of_several_kinds(client, phase, staff):
    path = reverse("api:share-labels", args=[phase.task.season.slug])
    token = Token.objects.create_token(user=staff, name="staff")[1]

    def share(**given):
        return client.post(
            path,
            {"model": JUDGE, **given},
            "application/json",
            headers={"Authorization": f"Token {token}"},
        )

    refused = share()
    assert refused.status_code == 409
    assert "name the kind: assigns, supports" in refused.content.decode().lower()
    assert share(kind="entails").status_code == 404
    assert shared_kinds() == set()
    answer = share(kind="assigns")
    assert answer.json() == {"added": 8, "known": 0, "resumed": 0}
    assert shared_kinds() == {"assigns"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("", nullcontext()),
        ("supports", nullcontext()),
        ("assigns", pytest.raises(Judge.DoesNotExist)),
        ("\0", pytest.raises(Judge.DoesNotExist)),
    ],
)
def test_a_judge_of_one_kind_needs_no_kind_and_has_no_other(
    other_phase, bring, staff, kind, expected
):
    bring(other_phase, "supports", CITED)
    bring(other_phase, "assigns", ROWS)
    with expected:
        share_labels(season=other_phase.task.season, model=JUDGE, kind=kind, by=staff)
        assert shared_kinds() == {"supports"}


def test_nothing_is_shared_without_the_kind_where_there_are_several(
    phase, labels, staff
):
    with pytest.raises(ActionRefused, match="labels of several kinds from this judge"):
        share_labels(season=phase.task.season, model=JUDGE, by=staff)
    assert shared_kinds() == set()


@pytest.mark.usefixtures("labels")
def test_a_season_reads_shared_rows_of_the_kinds_alone_that_its_tasks_ask_for(
    client, phase, other_phase, staff
):
    for kind in ("assigns", "supports"):
        share_labels(season=phase.task.season, model=JUDGE, kind=kind, by=staff)
    client.force_login(other_phase.task.season.organisers.get().user)
    rows = address(other_phase, "organise-ledger-rows")
    assert client.get(rows, {"judge": JUDGE, "kind": "assigns"}).status_code == 404
    answer = client.get(rows, {"judge": JUDGE, "kind": "supports"})
    assert len(answer.getvalue().splitlines()) == 1 + len(CITED)
    told = text_of(client.get(address(other_phase, "organise-ledger")))
    assert f"{JUDGE}, supports, from another season" in told
    assert "assigns" not in told


@pytest.fixture
def waiting(phase):
    """Return a run that waits for labels of both kinds."""
    run = report_run(phase)
    score_queued()
    return run


def test_pairs_of_each_kind_are_a_file_that_judge_run_reads(
    client, phase, waiting, organiser, tmp_path, capsys
):
    client.force_login(organiser)
    page = client.get(address(phase)).content.decode()
    pairs = address(phase, "organise-pairs")
    judges = write_judges(tmp_path, "http://127.0.0.1:9/v1", name=f'"{JUDGE}"')
    for kind, count in (("assigns", 8), ("supports", 2)):
        assert f"<code>{kind}</code>:" in page
        for query in (
            f"kind={kind}",
            f"kind={kind}&amp;next",
            f"run={waiting.pk}&amp;kind={kind}",
        ):
            assert f'href="{pairs}?{query}"' in page
        answer = client.get(pairs, {"kind": kind, "run": waiting.pk})
        path = tmp_path / f"{kind}.jsonl"
        path.write_bytes(answer.getvalue())
        words = ["judge", "run", JUDGE, str(path), "--judges", str(judges)]
        out = tmp_path / "rows.jsonl"
        assert offline([*words, "--out", str(out), "--dry-run", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["questions"] == count
    assert len(client.get(pairs).getvalue().splitlines()) == 10
    assert client.get(pairs, {"kind": "entails"}).getvalue() == b""


@pytest.mark.parametrize("kind", ["nuggets", "", "assigns\0"])
def test_pairs_of_a_kind_that_is_none_are_refused(client, phase, organiser, kind):
    client.force_login(organiser)
    answer = client.get(address(phase, "organise-pairs"), {"kind": kind})
    assert answer.status_code == 400


def test_pairs_without_a_usable_label_are_counted_once(phase, bring):
    bring(phase, "supports", [labelled(RIGHT, "no label"), CITED[1]])
    bring(phase, "assigns", ROWS[:3])
    report_run(phase)
    score_queued()
    waits = {row.judge.kind: row for row in PendingLabels.objects.all()}
    assert {
        kind: (row.open_pairs.count(), row.pairs) for kind, row in waits.items()
    } == {
        "assigns": (5, 8),
        "supports": (1, 2),
    }
