"""What the reader and the tracks of cited reports find, against the official check and by hand."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types import InputRefused, OptionRefused, task_type
from tasks.types.cited_reports import tracks
from tasks.types.cited_reports.checks import find_report_findings
from tasks.types.cited_reports.judgements import (
    JudgementsOfKind,
    read_judgement_files,
)
from tasks.types.cited_reports.reports import read_reports
from tasks.types.files import open_files_of_all_inputs
from tasks.types.problems import ProblemList
from tests.tasks.types.standing_reading import file

TYPE = "cited-reports"
TOPICS = [
    {"request_id": "7", "title": "Why does it rain?", "limit": 40},
    {"request_id": "8", "title": "Why does it snow?"},
]
SEGMENT = "0384de25-1262-ca02-b1c0-2a30c2f9e997_2"


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def report(topic="7", *, sentences=None, metadata=None, **fields) -> dict:
    own = {"team_id": "t", "run_id": "r", "topic_id": topic, **(metadata or {})}
    return {"metadata": own, "responses": sentences or [{"text": "So."}], **fields}


def cited(*citations: object) -> list[dict]:
    return [{"text": "It rains.", "citations": one} for one in citations]


def checked(capsys, folder: Path, content: str, *more: str) -> tuple[int, dict, str]:
    topics, run = folder / "topics.jsonl", folder / "run.jsonl"
    topics.write_text(lines(*TOPICS))
    run.write_text(content)
    status = main(
        ["check", TYPE, "--inputs", str(topics), "--run", str(run), "--json", *more]
    )
    told = capsys.readouterr()
    return status, json.loads(told.out), told.err


def rows_of(result: dict) -> list[tuple]:
    return sorted(
        (problem["topic"] or "", problem["category"], problem["severity"])
        for problem in result["problems"]
        if problem.get("category")
    )


def test_every_finding_equals_that_of_the_official_check(shared, capsys):
    paths = sorted(shared.glob("judged/cited_reports/*/run-*.golden.json"))
    if not paths:
        pytest.skip("no runs with the findings of autojudge-base")
    for path in paths:
        golden, run = json.loads(path.read_text()), str(path).replace(".golden", "")
        arguments = ["--inputs", str(path.parent / "topics.jsonl"), "--run", f"{run}l"]
        track = f"track={path.parent.name}"
        status = main(["check", TYPE, *arguments, "--option", track, "--json"])
        found = Counter(rows_of(json.loads(capsys.readouterr().out)))
        expected = {
            (topic, *kind): count for topic, *kind, count in golden["reports"]
        } | {("", *kind): 1 for kind in golden["across"]}
        assert found == expected, path
        assert (status == 0) == golden["passes"], path


def found_in(record: dict, track: str, **changed: object) -> list[str]:
    problems = ProblemList()
    [one] = read_reports([file("run.jsonl", lines(record))], problems)
    assert not problems
    rules = replace(tracks.TRACKS_BY_NAME[track], **changed)
    return [finding.category for finding in find_report_findings(one, TOPICS[0], rules)]


FORMAT, COUNT = "citation_format", "citation_count"
#: Reports of ten sorts, and what autojudge-base 1.0.0 finds in them besides their metadata.
BY_HAND = {
    "positions where ids are asked for": ("dragun25", cited([0], [1]), [FORMAT, FORMAT]),
    "scores where ids are asked for": ("rag26", cited({"d": 1}), [FORMAT]),
    "positions where scores are asked for": ("ragtime26", cited([0]), [FORMAT]),
    "an unaccepted form is not checked further": ("dragun25", cited([0] * 9), [FORMAT]),
    "a position and empty lists are positions": ("dragun25", cited([], [0]), [FORMAT] * 2),
    "nothing cited is the form of ids": ("dragun25", cited([], None), []),
    "whole numbers with a point are positions": ("dragun25", cited([1.0]), [FORMAT]),
    "scores and a sentence without citations": ("ragtime26", cited({SEGMENT: 1}, None), []),
    "too many ids": ("ragtime26", cited([SEGMENT] * 4), [COUNT]),
    "patterns need not reach the end": ("ragtime26", cited([f"{SEGMENT}-x"]), []),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_the_form_of_a_report_is_that_of_all_its_citations(case):
    track, sentences, expected = BY_HAND[case]
    metadata = {"type": "automatic", "use_starter_kit": 0, "run_desc": "x"}
    metadata |= {"narrative": TOPICS[0]["title"]}
    kinds = found_in(
        report(sentences=sentences, metadata=metadata, references=[]), track
    )
    assert [kind for kind in kinds if kind != "references_undeclared"] == expected


@pytest.mark.parametrize(("references", "expected"), [(["d1"], 1), ([], 0), (None, 0)])
def test_references_are_a_finding_where_a_track_has_none(references, expected):
    found = found_in(report(references=references), "none", references="none")
    assert found.count("references_present") == expected


@pytest.mark.parametrize(
    "sentences",
    [
        cited([0, "d1"]),
        cited([0], ["d1"]),
        cited(["d1"], {"d1": 1}),
        cited([], {"d1": 1}),
        cited([True]),
        cited([0.5]),
        cited("d1"),
        [{"citations": []}],
        ["It rains."],
        4,
    ],
    ids=str,
)
def test_a_report_of_mixed_forms_or_of_none_refuses_the_file_by_line(
    capsys, tmp_path, sentences
):
    content = lines(report("8"), report(sentences=sentences))
    status, result, told = checked(capsys, tmp_path, content)
    assert status == 2
    [problem] = result["problems"]
    assert (problem["line"], problem["severity"]) == (2, "error")
    assert "run.jsonl:2" in told


def test_a_score_that_is_text_refuses_the_run_by_line(capsys, tmp_path):
    content = lines(report("8"), report(sentences=cited({"d1": "high", "d2": 0.5})))
    status, result, _ = checked(capsys, tmp_path, content)
    assert status == 2
    assert rows_of(result) == [("7", "citation_score", "error")]
    assert result["problems"][0]["line"] == 2


def test_numbers_of_any_size_are_scores_and_positions(capsys, tmp_path):
    large = 10**400
    run = lines(
        report(sentences=cited({"d1": large, "d2": 0.5})),
        report("8", sentences=cited([large])),
    )
    status, result, _ = checked(capsys, tmp_path, run)
    assert (status, rows_of(result)) == (0, [("8", "reference_index", "warning")])


def test_accepted_categories_are_warnings_and_unknown_ones_are_refused(
    capsys, tmp_path
):
    run = lines(report("9", sentences=cited(["d1"])), report("7"), report("7"))
    status, result, _ = checked(capsys, tmp_path, run)
    assert status == 2
    assert ("", "new_topics", "error") in rows_of(result)
    accept = "accept=new_topics, missing_topics"
    status, result, _ = checked(capsys, tmp_path, run, "--option", accept)
    assert status == 0
    assert rows_of(result) == [
        ("", kind, "warning")
        for kind in ("duplicate_topics", "missing_topics", "new_topics")
    ]
    with pytest.raises(OptionRefused, match="no category “topics”"):
        task_type(TYPE).validate_options({"accept": "topics"})


def test_findings_are_counted_one_by_one_below_a_thousand(capsys, tmp_path):
    run = lines(report(sentences=cited([*range(900)]), references=[]), report("8"))
    status, result, _ = checked(capsys, tmp_path, run, "--option", "track=rag26")
    assert status == 2
    assert Counter(rows_of(result))["7", "reference_index", "error"] == 900


def test_a_run_of_empty_reports_alone_is_refused_in_one_sentence(capsys, tmp_path):
    empty = [{"text": " ", "citations": []}]
    run = lines(report("7", sentences=empty), report("8", sentences=empty))
    status, _, told = checked(capsys, tmp_path, run)
    assert status == 2
    assert "answers no instance of the split: 2 answers are empty" in told
    status, result, _ = checked(capsys, tmp_path, run + lines(report("7")))
    assert status == 2
    half = lines(report("7", sentences=empty), report("8"))
    status, result, _ = checked(capsys, tmp_path, half)
    assert (status, rows_of(result)) == (0, [("7", "empty_answer", "warning")])
    assert checked(capsys, tmp_path, "")[0] == 2


MARKDOWN = """# Rain

Rain falls from clouds [1, 2]. It feeds rivers (source: https://rain.example/a).

- Clouds are water【3】
- Nobody cites this.

[1]: d1
[^2]: https://rain.example/b
"""


def test_reports_in_markdown_cite_by_marks_and_addresses(tmp_path):
    (tmp_path / "7.md").write_text(MARKDOWN)
    problems = ProblemList()
    [one] = read_reports(open_files_of_all_inputs([tmp_path]), problems)
    told = [
        (sentence.text, [citation.document for citation in sentence.citations])
        for sentence in one.sentences
    ]
    assert (one.topic, [*problems]) == ("7", [])
    assert told == [
        ("Rain falls from clouds.", ["d1", "https://rain.example/b"]),
        ("It feeds rivers.", ["https://rain.example/a"]),
        ("Clouds are water", [None]),
        ("Nobody cites this.", []),
    ]
    (tmp_path / "7.md").write_text("It rains [1].")
    [one] = read_reports(open_files_of_all_inputs([tmp_path]), problems)
    assert (one.references, one.sentences[0].citations[0].document) == (None, None)
    text = {"responses": "It rains [1]. It pours [100000000].", "references": ["d9"]}
    [one] = read_reports([file("run.jsonl", lines(report() | text))], problems)
    assert [own.citations[0].document for own in one.sentences] == ["d9", None]


GOLD_FAULTS = {
    "a topic twice": ([TOPICS[0], TOPICS[0]], "topic “7” is there twice"),
    "nuggets of no topic": (
        [TOPICS[0], {"topic_id": "9", "nuggets": []}],
        "nuggets of “9”, which is no topic",
    ),
    "a bank in no form": (
        [TOPICS[0], {"metadata": {"topic_id": "7"}, "nugget_bank": [{"question": 1}]}],
        "nugget 1 is in no form",
    ),
    "a document twice": (
        [TOPICS[0], {"docid": "d", "text": "x"}, {"docid": "d", "text": "y"}],
        "document “d” is there twice",
    ),
    "something else": ([TOPICS[0], {"label": "x"}], "found “label”"),
    "no topics": ([{"docid": "d", "text": "x"}], "no topics are here"),
}


@pytest.mark.parametrize("case", GOLD_FAULTS)
def test_gold_that_cannot_be_meant_is_refused(case):
    records, message = GOLD_FAULTS[case]
    with pytest.raises(InputRefused, match=message):
        task_type(TYPE).gold_of([file("gold.jsonl", lines(*records))], {})


def test_inputs_are_topics_and_documents_alone():
    secret = {"topic_id": "7", "nuggets": [{"text": "SECRET", "importance": "vital"}]}
    judged = {"kind": "supports", "texts": ["SECRET", "x"], "label": "full"}
    gold = [
        file("topics.jsonl", lines({**TOPICS[0], "notes": "SECRET"})),
        file("gold.jsonl", lines(secret, {"docid": "d", "title": "T", "text": "x"})),
        file("judged.jsonl", lines(judged)),
    ]
    kind = task_type(TYPE)
    public = dict(kind.public_files(gold, {}))
    assert [*public] == ["topics.jsonl", "documents.jsonl"]
    assert b"SECRET" not in b"".join(public.values())
    given = [file(name, content.decode()) for name, content in public.items()]
    assert kind.read_inputs(given, {}) == kind.gold_of(gold, {}).index
    assert "SECRET" not in json.dumps(kind.gold_of(gold, {}).index)


def test_people_without_a_label_leave_the_decision_to_the_model():
    rows = JudgementsOfKind("supports")
    key = ("sentence", "document")
    rows.given[key] |= {("assessor 1", 0): "", ("", 0): "full"}
    rows.determine_final_labels()
    assert rows.labels == {key: "full"}


def test_forty_characters_of_a_label_that_is_none_are_told():
    rows = {"supports": JudgementsOfKind("supports")}
    texts = {"sentence": "Snow.", "document": "It snows."}
    content = lines({"kind": "supports", "texts": texts, "label": "x" * 41})
    problems = ProblemList()
    read_judgement_files([file("judged.jsonl", content)], rows, problems)
    assert [one.message for one in problems] == [f"“label” is “{'x' * 40}”"]
