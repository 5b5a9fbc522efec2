"""The card of a run: given, filled by `ir_metadata`, required by a phase, and kept."""

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile

from citeboard.core.models import AuditEntry
from citeboard.teams.models import Token
from scoring.client.arguments import RUN_CARD_FIELD_NAMES as CLIENT_CARD
from tasks.models import Submission, TeamFigure
from tasks.models.run_cards import (
    REQUIRABLE_FIELD_LABELS,
    RUN_CARD_FIELDS,
    list_training_datasets_of_card,
    list_warning_labels_of_card,
    remove_identifying_card_fields,
)
from tasks.submissions.refusals import RunCardIncomplete
from tasks.submissions.run_acts import describe_run
from tasks.submissions.run_card import COST_MEASURES, validate_card
from tasks.submissions.submit import submit_run
from tests import factories

pytestmark = pytest.mark.django_db

METADATA = """\
ir_metadata.start
schema version: 0.2
method:
  description: BM25 and a reranker.
  automatic: true
implementation:
  source:
    repository: https://example.org/code
    commit: 9548cd6
data:
  training data:
  - name: CL-SciSumm 2016
    folds: [train, dev]
  other:
  - name: the ACL Anthology
research goal:
  publication:
    doi: 10.1000/1
resources:
  runtime:
    wallclock: 12010 ms
    user: 20000 ms
    system: 500 ms
  ram:
    used process: 2048 KB
run card:
  trained_on: Xing, lu, xing
  knowledge_cutoff: 2023-09-30
  model: closed
  trained_on_test_year: no
ir_metadata.end
"""
FILLED = {
    "code": "https://example.org/code",
    "paper": "https://doi.org/10.1000/1",
    "training_data": "CL-SciSumm 2016 (folds train; dev)",
    "external_resources": "the ACL Anthology",
    "human_in_the_loop": "no",
    "knowledge_cutoff": "2023-09-30",
    "model": "closed",
    "trained_on": "lu, xing",
    "trained_on_test_year": "no",
}


def sent(phase=None, content: str | None = None, **fields) -> Submission:
    phase = phase or factories.make_phase()
    team = factories.make_team(season=phase.task.season)
    if content is not None:
        fields["metadata"] = factories.make_upload(
            content.encode(), filename="meta.yaml"
        )
    upload = factories.make_upload()
    return submit_run(
        phase=phase,
        team=team,
        user=None,
        upload=upload,
        **{"system": "Ours", "description": "", **fields},
    )


def test_a_file_of_ir_metadata_fills_card_description_and_costs():
    run = sent(content=METADATA)
    assert run.card == FILLED
    assert run.description == "Automatic run.\nBM25 and a reranker.\nCode at 9548cd6."
    figures = dict(
        TeamFigure.objects.filter(submission=run).values_list("name", "value")
    )
    assert figures == {"wall_seconds": 12.01, "cpu_seconds": 20.5, "memory_mib": 2.0}


def test_the_same_file_may_be_commented_like_a_header():
    assert (
        sent(content="".join(f"# {line}\n" for line in METADATA.splitlines())).card
        == FILLED
    )


def test_what_the_sender_says_comes_first():
    run = sent(
        content=METADATA, card={"model": "open", "code": ""}, description="Mine.",
        team_figures={"wall_seconds": "7"},
    )  # fmt: skip
    assert (run.card["model"], run.card["code"], run.description) == (
        "open",
        FILLED["code"],
        "Mine.",
    )
    assert TeamFigure.objects.get(submission=run, name="wall_seconds").value == 7


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("method: [\n", "no YAML: "),
        ("- 1\n", "YAML, but no names with values"),
        (
            "method: !!python/object/apply:os.system [id]\n",
            "could not determine a constructor",
        ),
        (
            "a: &a [x, x]\nmethod: {description: [*a, *a]}\n",
            "no YAML: an alias, which is not read in line 2",
        ),
        (f"method: {'[' * 3000}\n", "no YAML: nested 21 deep (limit: 20) in line 1"),
        (f"method: {'x' * 300_000}\n", "has at most 256 kB"),
        ("a: 1\n---\nb: 2\n", "no YAML"),
        (
            f"method: {{description: 0x{'f' * 4000}}}\n",
            "a number of 4,002 digits (limit: 60) in line 1",
        ),
        (
            f"method: {{description: {'1:' * 180}1.5}}\n",
            "a number of 363 digits (limit: 60) in line 1",
        ),
        (
            "run card:\n  model: secret\n",
            "model: “secret” is not one of open, closed, none",
        ),
        ("run card:\n  modle: open\n", "modle: a run card has no such field"),
        (
            "run card:\n  code: javascript:alert(1)\n",
            "code: “javascript:alert(1)” is no address",
        ),
        (
            "run card:\n  knowledge_cutoff: next year\n",
            "knowledge_cutoff: “next year” is no year",
        ),
        (b"method: \xff\n", "no YAML: not UTF-8 in line 1"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_by_what_is_wrong_and_nothing_is_stored(
    content, said
):
    text = content if isinstance(content, str) else content.decode("latin-1")
    phase = factories.make_phase()
    team = factories.make_team(season=phase.task.season)
    raw = content if isinstance(content, bytes) else text.encode()
    with pytest.raises(ValidationError) as refused:
        submit_run(
            phase=phase, team=team, user=None, upload=factories.make_upload(), system="Ours",
            metadata=factories.make_upload(raw, filename="meta.yaml"),
        )  # fmt: skip
    (words,) = refused.value.message_dict["metadata"]
    assert words.startswith("meta.yaml: ")
    assert said in words
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    "content",
    ["", "ir_metadata.start\nir_metadata.end\n", "platform:\n  hardware: x\n"],
)
def test_a_file_that_says_nothing_of_the_run_fills_nothing(content):
    assert (sent(content=content or "\n").card, TeamFigure.objects.count()) == ({}, 0)


@pytest.mark.parametrize("value", ["12 hours", "much", "-3 ms", "1e99 ms", "12", "NA"])
def test_a_figure_without_a_unit_that_is_known_is_passed_over(value):
    sent(content=f"resources:\n  runtime:\n    wallclock: {value}\n")
    assert not TeamFigure.objects.exists()


def test_a_run_that_lacks_what_the_phase_requires_is_refused_by_name_and_costs_nothing():
    phase = factories.make_phase(
        card_required=["method", "code", "training_data", "costs"]
    )
    with pytest.raises(RunCardIncomplete) as refused:
        sent(phase, card={"code": "https://example.org/x"})
    assert refused.value.missing == ["method", "training_data", "costs"]
    assert str(refused.value) == (
        "runs of this phase need a run card, and this one lacks Method, as the description (method), "
        "Training data (training_data) and Costs, at least one figure (costs); give that with the run, or in "
        "a file of ir_metadata"
    )
    assert not Submission.objects.exists()
    assert sent(phase, content=METADATA).card == FILLED


def test_a_dry_run_names_each_field_that_the_phase_requires_and_nobody_fills(client):
    phase = factories.make_phase(card_required=["method", "code", "costs"])
    user = factories.make_user()
    factories.make_team(season=phase.task.season, lead=user)
    _, secret = Token.objects.create_token(user=user, name="test")

    def warnings(**fields) -> list[str]:
        files = {"run": SimpleUploadedFile("run.jsonl", factories.run_bytes())}
        where, token = (
            f"/api/v1/phases/{phase.pk}/check/",
            {"Authorization": f"Token {secret}"},
        )
        answer = client.post(where, {**files, **fields}, headers=token)
        assert answer.status_code == 200, answer.content
        return [
            told["message"]
            for told in answer.json()["warnings"]
            if "run card" in told["message"]
        ]

    assert warnings(code="https://example.org/x") == [
        "the run card lacks Method, as the description (method), which this phase requires",
        "the run card lacks Costs, at least one figure (costs), which this phase requires",
    ]
    assert warnings(metadata=SimpleUploadedFile("meta.yaml", METADATA.encode())) == []
    assert (
        warnings(code="https://example.org/x", description="BM25.", wall_seconds=3)
        == []
    )
    assert not Submission.objects.exists()


def test_a_baseline_of_organisers_needs_no_card():
    phase = factories.make_phase(card_required=["code"])
    assert factories.make_baseline(phase=phase).card == {}


@pytest.mark.both_databases
def test_every_fault_of_a_card_is_told_at_once_and_names_are_made_plain():
    with pytest.raises(ValidationError) as refused:
        validate_card(
            {"code": "x", "model": "big", "training_data": "y" * 1001, "colour": "red"}
        )
    assert set(refused.value.message_dict) == {
        "code",
        "model",
        "training_data",
        "colour",
    }
    assert validate_card({"training_data": " a \n b\x00", "knowledge_cutoff": "None", "code": None}) == {
        "training_data": "a b", "knowledge_cutoff": "none",
    }  # fmt: skip


def test_data_sets_trained_on_are_names_each_once_and_no_prose():
    assert validate_card({"trained_on": " XING,lu , xing,"}) == {
        "trained_on": "lu, xing"
    }
    assert validate_card({"trained_on": "None"}) == {"trained_on": "none"}
    assert validate_card({"trained_on": " , "}) == {}
    assert (
        list_training_datasets_of_card({"trained_on": "lu, xing"}),
        list_training_datasets_of_card({"trained_on": "none"}),
    ) == (
        ("lu", "xing"),
        (),
    )
    for given, words in (
        ("lu; <b>", "“lu; <b>” is no name of a data set"),
        ("lu, none", "and says none"),
    ):
        with pytest.raises(ValidationError, match=words):
            validate_card({"trained_on": given})


def test_a_team_changes_its_card_and_the_history_says_so_but_cannot_take_back_what_is_required():
    phase = factories.make_phase(card_required=["model"])
    run = sent(phase, card={"model": "open", "code": "https://example.org/x"})
    by = run.team.memberships.get().user
    same = {"submission": run, "description": run.description, "links": [], "by": by}
    describe_run(**same, card={"model": "closed"})
    entry = AuditEntry.objects.latest("pk")
    assert {(change["key"], change["before"], change["after"]) for change in entry.changes} == {
        ("Code", "https://example.org/x", None), ("Model", "open", "closed"),
    }  # fmt: skip
    with pytest.raises(ValidationError) as refused:
        describe_run(**same, card={"model": ""})
    assert refused.value.message_dict == {
        "model": ["this phase asks for it, so that it cannot be taken back"]
    }
    describe_run(**same)
    assert Submission.objects.get().card == {"model": "closed"}
    # What was asked for after the run came may stay missing.
    phase.card_required = ["model", "paper"]
    phase.save()
    describe_run(**{**same, "description": "Now with words."})


def test_marks_and_what_could_name_a_team():
    card = {**FILLED, "trained_on_test_year": "yes", "human_in_the_loop": "yes"}
    assert [words for _, words in list_warning_labels_of_card(card)] == [
        "trained on the test year", "closed model", "human in the loop",
    ]  # fmt: skip
    assert set(remove_identifying_card_fields(card)) == {
        "trained_on_test_year", "knowledge_cutoff", "model", "human_in_the_loop",
    }  # fmt: skip


def test_the_command_line_knows_the_fields_of_the_card_and_the_costs():
    assert (*RUN_CARD_FIELDS, *(cost.name for cost in COST_MEASURES)) == CLIENT_CARD
    assert set(RUN_CARD_FIELDS) < set(REQUIRABLE_FIELD_LABELS)
