"""Measures of a task's own: computed in confined processes alone, once staff have approved that very text."""

import html
import json
import re
from datetime import UTC, datetime

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from citeboard.core import audit
from scoring.__main__ import main
from scoring.offline import trivial
from tasks.models import Job, MeasuresFile, Phase, Season, Submission
from tasks.seasons.own_measures import (
    MeasuresRefused,
    decide_measures,
    store_uploaded_measures,
)
from tasks.types.declared import own_measures
from tasks.types.declared.own_measures import (
    make_measure_failure,
    refuse_to_compute_measure,
)
from tasks.types.files import CURRENT_PARSING_RULES_VERSION
from tests.declared.folders import EXAMPLES
from tests.declared.test_site import copied, folder, worked_off  # noqa: F401  (a fixture)
from tests.factories import make_season, make_user
from tests.scoring import boards
from tests.web import test_declaring as declaring

MEASURES = """import numpy as np

from scoring.metrics.base import Metric, WeightedMetric

LONG = 6


def evil(gold):
    pass


class Right(Metric):
    version = 2

    def instance_stats(self, gold, answers):
        if len(gold) > LONG:
            evil(gold)
        return np.array([[one == other, 1.0] for one, other in zip(gold, answers)], dtype=float)

    def aggregate(self, sums):
        return sums[..., 0] / sums[..., 1]


class Weighed(WeightedMetric):
    def instance_stats(self, gold, answers):
        return np.array([[one == other, 1.0] for one, other in zip(gold, answers)], dtype=float)

    def value(self, rows, weights):
        return (weights * rows[:, 0]).sum(axis=-1) / weights.sum(axis=-1)
"""
HOSTILE = {
    "open('/etc/passwd').read()": "ended in PermissionError",
    "import socket; socket.socket()": "ended in PermissionError",
    "import os; os.fork()": "ended in PermissionError",
    "bytearray(1 << 40)": "it needed more than",
    "while True: pass": "it took more than",
    "import os; os._exit(0)": "ended without an answer",
    "raise ValueError(str(list(gold)))": "ended in ValueError",
    "print(list(gold)); raise KeyError(list(gold))": "ended in KeyError",
    "open('said.txt', 'w').write(f'{[*gold]}'); import os; os._exit(1)": "when instance_stats was computed",
    "np.array = np.sum = lambda *given, **named: None": "when instance_stats was computed",
    "global np; np = None": "ended in AttributeError",
}
WRONG = {
    "np.array([[np.nan, 1.0]] * len(gold))": "gives what is no finite number",
    "np.zeros((len(gold), 2, 2))": "gives 12 × 2 × 2 numbers; expected a row for each of 12 instances",
    "np.zeros(3)": "gives 3 numbers",
    "np.random.default_rng().random((len(gold), 2))": "gives other numbers when it is computed again",
    "[['a', 'b']] * len(gold)": "ended in ValueError",
}
RETURNED = "np.array([[one == other, 1.0] for one, other in zip(gold, answers)], dtype=float)\n\n    def aggregate"  # noqa: E501


@pytest.fixture
def own(folder):  # noqa: F811
    place = folder / "types" / "citation-intent"
    toml = place / "task.toml"
    ours = '"accuracy", "Right", { name = "weighed", measure = "Weighed" },'
    toml.write_text(toml.read_text().replace('"accuracy",', ours))
    (place / "measures.py").write_text(MEASURES)
    return folder


def written(own, before: str, after: str, count: int = -1) -> None:
    assert before in MEASURES
    (own / "types" / "citation-intent" / "measures.py").write_text(
        MEASURES.replace(before, after, count)
    )


@pytest.mark.slow
@pytest.mark.django_db
def test_its_numbers_have_intervals_tests_and_classes_like_those_of_others_and_are_verified(
    own, tmp_path, client, capsys
):
    call_command("load_season", str(own))
    call_command("run_baselines", "field")
    worked_off()
    assert set(Submission.objects.values_list("status", flat=True)) == {"scored"}
    phase = Phase.objects.get()
    runs = {run.system: run for run in Submission.objects.all()}
    scores = {
        score.metric: score for score in runs["Ours"].evaluations.get().scores.all()
    }
    for name in ("Right", "weighed"):
        ours, known = scores[name], scores["accuracy"]
        assert (ours.value, ours.n) == (known.value, known.n)
        assert (ours.low, ours.high) == pytest.approx((known.low, known.high))
        task = phase.task.task_type.declared.digest[:12]
        assert f"|task:{task}|" in ours.signature
    parts = scores["Right"].signature.split("|gold:")[1].split("|")
    assert parts[1:3] == [f"reading:{CURRENT_PARSING_RULES_VERSION}", "v:2"]
    table = client.get(boards.address("classes-json", phase)).json()["tables"]
    assert any(one["metric"] == "Right" and one["classes"] for one in table)
    pair = {"a": runs["Ours"].pk, "b": runs["majority"].pk}
    page = client.get(boards.address("compare", phase), pair).content.decode()
    lines = re.sub(r"<[^>]*>|\s+", " ", page).split(" Right ")[1].split()
    assert lines[:3] == ["0.6667", "0.0000", "0.6667"]
    assert "0.008" in lines[:10]

    Phase.objects.update(closes=datetime(2021, 1, 1, tzinfo=UTC))
    archive = tmp_path / "archive"
    call_command(
        "export_season", "field", "--out", str(archive), "--archive", "--with-gold"
    )
    own_measures.set_measure_computation(refuse_to_compute_measure)
    main(["verify", str(archive)])
    assert "--trust-measures" in capsys.readouterr().out
    assert main(["verify", str(archive), "--trust-measures", "--json"]) == 0
    verified = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert verified["equal"] == verified["numbers"] > 40


@pytest.fixture(autouse=True)
def as_before():
    before = own_measures.MeasureComputation.compute
    yield
    own_measures.set_measure_computation(before)


def one_run(own) -> tuple[Submission, str]:
    """Scored, with what the season's organisers are told."""
    call_command("load_season", str(own))
    worked_off()
    season = Season.objects.get(slug="field")
    told = [
        entry.text
        for entry in audit.find_history_of_place(season)
        if entry.action == "measures-failed"
    ]
    return Submission.objects.get(), " ".join(told)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("act", HOSTILE)
def test_what_a_hostile_file_does_ends_as_a_sentence_to_its_organisers_and_as_nothing_else(
    own, act, settings, caplog, monkeypatch
):
    if "while" in act:
        # The rest of the scoring has as long again, also on a busy machine.
        settings.SCORING_TIMEOUT = 30
        settings.CHECK_SECONDS = 1
        monkeypatch.setattr(trivial, "SLOW_FAILURE_SECONDS", 0.0)
    written(own, "    pass\n", f"    {act}\n")
    run, told = one_run(own)
    assert run.status == "failed"
    assert HOSTILE[act] in told, told
    job = Job.objects.get(submission=run, kind="score")
    said = f"{job.reason} {run.problems} {caplog.text} {told}"
    assert "your file is not at fault" in job.reason
    assert "background" not in said
    assert "root:" not in said


def fail_call(number: int) -> bool:
    return True


def fail_first_of_three_calls(number: int) -> bool:
    return number % 3 == 0


@pytest.mark.parametrize(
    ("fails", "slow", "are_all_asked"),
    [
        (fail_call, 0.0, False),
        (fail_call, 5.0, True),
        (fail_first_of_three_calls, 0.0, True),
    ],
)
def test_a_measure_is_asked_for_no_trivial_run_after_two_slow_failures_in_a_row_and_named(
    own, monkeypatch, capsys, fails, slow, are_all_asked
):
    calls = []

    def compute(call) -> np.ndarray:
        if call.method != "instance_stats":
            return np.ones(call.arguments[-1].shape[:-1])
        calls.append(call)
        if fails(len(calls) - 1):
            raise make_measure_failure("it failed")
        return np.ones((len(call.arguments[0]), 2))

    own_measures.set_measure_computation(compute)
    monkeypatch.setattr(trivial, "SLOW_FAILURE_SECONDS", slow)
    gold = own / "gold.jsonl"
    place = own / "types" / "citation-intent"
    assert main(["gold", str(place), "--gold", str(gold)]) == 0
    named = "failures in a row of 0 seconds or more: Right, weighed"
    assert (named in capsys.readouterr().out) is not are_all_asked
    # Each trivial run asks for both measures.
    if are_all_asked:
        assert len(calls) > 20
    else:
        assert len(calls) == 4


@pytest.mark.django_db
@pytest.mark.parametrize("returned", WRONG)
def test_what_is_no_answer_is_told_alike(own, returned):
    written(own, RETURNED, f"{returned} if len(gold) > LONG else {RETURNED}", count=1)
    run, told = one_run(own)
    assert run.status == "failed"
    assert WRONG[returned] in told, told


@pytest.mark.django_db
def test_a_file_that_is_wrong_at_once_keeps_a_season_from_being_loaded(own, capsys):
    written(own, "LONG = 6", "LONG = 1")
    written_text = own / "types" / "citation-intent" / "measures.py"
    written_text.write_text(
        written_text.read_text().replace("    pass\n", "    raise SystemError\n")
    )
    with pytest.raises(CommandError):
        call_command("load_season", str(own))
    assert "measures.py:9: “Right” ended in SystemError" in capsys.readouterr().err


@pytest.mark.django_db
@pytest.mark.parametrize(("declared", "count"), [("", 1), ("\n    carriers = (1,)", 0)])
def test_the_author_of_a_weighted_measure_without_carriers_is_warned_on_loading(
    own, capsys, declared, count
):
    written(own, "(WeightedMetric):", f"(WeightedMetric):{declared}")
    call_command("load_season", str(own))
    words = "note: task intent: “Weighed” does not declare its “carriers”"
    assert capsys.readouterr().out.count(words) == count


@pytest.mark.django_db
def test_who_may_bring_one_is_the_sites_choice_and_an_approval_is_of_that_very_text(
    settings, client
):
    season, organiser, staff = (
        Season.objects.create(slug="s"),
        make_user(),
        make_user(is_staff=True),
    )
    with pytest.raises(
        MeasuresRefused, match="waits until the site's staff have approved it"
    ):
        store_uploaded_measures(MEASURES, by=organiser, season=season)
    row = MeasuresFile.objects.get()
    client.force_login(staff)
    page = client.get(reverse("operate-measures")).content.decode()
    assert "waits for approval" in page
    assert row.digest in page
    client.post(
        reverse("operate-measures-decide", args=[row.pk]), {"decision": "approve"}
    )
    store_uploaded_measures(MEASURES, by=organiser, season=season)
    with pytest.raises(MeasuresRefused):
        store_uploaded_measures(f"{MEASURES}\n", by=organiser, season=season)
    told = [entry.text for entry in audit.find_history_of_place(season).order_by("pk")]
    assert [words.partition(" ")[0] for words in told] == [
        "brought",
        "approved",
        "brought",
    ]
    settings.OWN_MEASURES = "organisers"
    store_uploaded_measures(f"{MEASURES}\n\n", by=organiser, season=season)
    settings.OWN_MEASURES = "nobody"
    with pytest.raises(MeasuresRefused, match="this site computes no measures"):
        store_uploaded_measures(MEASURES, by=staff, season=season)
    settings.OWN_MEASURES, settings.CONFINEMENT = "organisers", "limits"
    with pytest.raises(
        MeasuresRefused, match="cannot keep a program that is not ours from files"
    ):
        store_uploaded_measures(MEASURES, by=staff, season=season)
    shipped = (EXAMPLES / "reference-verification" / "measures.py").read_text()
    store_uploaded_measures(shipped, by=organiser, season=season)


@pytest.mark.both_databases
@pytest.mark.django_db
def test_runs_wait_while_an_approval_is_withdrawn(own):
    call_command("load_season", str(own))
    MeasuresFile.objects.update(approved_at=None)
    worked_off()
    assert Submission.objects.get().status != "failed"
    job = Job.objects.get(kind="score")
    assert "approve" in job.reason
    assert job.state != "done"


def test_offline_a_file_is_run_where_its_reader_says_so(tmp_path, capsys):
    own_measures.set_measure_computation(refuse_to_compute_measure)
    copied(EXAMPLES / "citation-intent", tmp_path)
    toml = tmp_path / "task.toml"
    toml.write_text(toml.read_text().replace('"accuracy",', '"accuracy", "Right",'))
    (tmp_path / "measures.py").write_text(MEASURES)
    assert main(["task", "check", str(tmp_path)]) == 2
    assert "is not run unasked; expected --trust-measures" in capsys.readouterr().err
    assert main(["task", "check", str(tmp_path), "--trust-measures"]) == 0
    (tmp_path / "measures.py").write_text(
        MEASURES.replace("version = 2", "scale = print(1)\n    per_unit = True")
    )
    assert main(["task", "check", str(tmp_path), "--trust-measures"]) == 2
    told = capsys.readouterr().err
    assert "measures.py:13: “scale” of Right cannot be read without running it" in told
    assert "measures.py:14: “per_unit” of Right cannot be read" in told


@pytest.mark.django_db
def test_an_organiser_brings_one_in_the_form_of_a_task_and_it_counts_once_staff_have_approved_it(
    client,
):
    organiser = make_user(name="Olga")
    client.force_login(organiser)
    season = make_season(organiser=organiser, slug="one", title="One", is_public=False)
    answer = declaring.begun(client, declaring.lines(declaring.sentences()))
    sent = declaring.filled(answer, own_measures=MEASURES)
    page = client.post(declaring.place(), {**sent, "preview": ""})
    told = html.unescape(page.content.decode())
    assert "waits until the site's staff have approved it" in told
    decide_measures(
        measures=MeasuresFile.objects.get(),
        decision="approve",
        by=make_user(is_staff=True),
    )
    page = client.post(declaring.place(), {**sent, "preview": ""})
    form = page.context["form"]
    assert page.context["problems"] == []
    assert "“Weighed” does not declare its “carriers”" in page.content.decode()
    declares = MEASURES.replace(
        "(WeightedMetric):", "(WeightedMetric):\n    carriers = (1,)"
    )
    form_of = declaring.filled(answer, own_measures=declares)
    again = client.post(declaring.place(), {**form_of, "preview": ""})
    assert "does not declare its" not in again.content.decode()
    chosen = [*form["measures"].value(), "Right"]
    assert declaring.saved(client, page, measures=chosen).status_code == 302
    worked_off()
    told = client.get(
        f"/api/v1/phases/{Phase.objects.get(task__season=season).pk}/leaderboard/"
    ).json()
    assert "Right" in [column["metric"] for column in told["columns"]]
    assert "measures.py" in Phase.objects.get().task.task_type.declared.files


@pytest.mark.django_db
def test_every_rule_set_of_a_declaration_is_edited_in_the_browser(folder, client):  # noqa: F811
    toml = folder / "types" / "citation-intent" / "task.toml"
    second = '[[task.rules]]\nname = "lenient"\nmissing = "left-out"\nmeasures = ["mcc", "accuracy"]\n'
    toml.write_text(
        toml.read_text().replace("[[task.baselines]]", f"{second}\n[[task.baselines]]")
    )
    card = toml.with_name("card.md")
    card.write_text(
        card.read_text() + "\n### `lenient`\n\nWhat is not answered does not count.\n"
    )
    call_command("load_season", str(folder))
    client.force_login(make_user(is_staff=True))
    task = Season.objects.get().tasks.get()
    where = reverse("organise-settings-declaration", args=["field", task.pk])
    answer = client.get(where)
    assert "Measures (lenient)" in answer.content.decode()
    changed = {"first_2": "accuracy", "missing_2": "wrong", "reason": "All count."}
    saved = declaring.saved(client, answer, where, **changed)
    assert saved.status_code == 302, (
        saved.context.get("problems"),
        saved.context["form"].errors,
    )
    task.refresh_from_db()
    kind = task.task_type
    assert [metric.name for metric in kind.rules["lenient"]] == ["accuracy", "mcc"]
    assert kind.rules["corrected"][0].name == "macro_f1"


@pytest.mark.django_db
def test_an_archive_of_a_task_whose_declaration_has_changed_is_verified(
    folder,  # noqa: F811
    client,
    tmp_path,
    capsys,
):
    call_command("load_season", str(folder))
    worked_off()
    client.force_login(make_user(is_staff=True))
    task = Season.objects.get().tasks.get()
    where = reverse("organise-settings-declaration", args=["field", task.pk])
    changed = {"first": "accuracy", "reason": "Accuracy ranks."}
    assert (
        declaring.saved(client, client.get(where), where, **changed).status_code == 302
    )
    before = task.type
    task.refresh_from_db()
    assert task.type != before
    worked_off()
    Phase.objects.update(closes=datetime(2021, 1, 1, tzinfo=UTC))
    archive = tmp_path / "archive"
    call_command(
        "export_season", "field", "--out", str(archive), "--archive", "--with-gold"
    )
    capsys.readouterr()
    assert main(["verify", str(archive), "--json"]) == 0
    verified = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert verified["equal"] == verified["numbers"] > 40
