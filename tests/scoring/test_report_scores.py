"""Numbers of cited reports: those of castorini's program, and what judgements that are amiss do to them."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.results.comparison.drawing import build_parts_of_type_example
from tasks.types import task_type
from tasks.types.cited_reports.judgements import (
    LABEL_CREDITS_BY_KIND,
    choose_majority_label,
)
from tasks.types.cited_reports.pairing import select_judged_citations
from tasks.types.cited_reports.reports import ReportCitation
from tests.scoring.offline import score

TYPE = "cited-reports"
OFFICIAL = ("--rules", "official", "--intervals", "0")
SENTENCE, DOCUMENT = "It rains.", "Rain\nIt rains in Oslo."
TOPIC = {"request_id": "7", "title": "Why does it rain?"}
GOLD = [
    TOPIC,
    {"docid": "d1", "title": "Rain", "text": "It rains in Oslo."},
    {"topic_id": "7", "nuggets": [{"nugget_id": "a", "text": "It does."}]},
]
RUN = [
    {
        "metadata": {"team_id": "t", "run_id": "r", "topic_id": "7"},
        "responses": [{"text": SENTENCE, "citations": ["d1"]}],
    }
]


def write(path: Path, records: list) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def scored(capsys, folder: Path, *more: str, **judged: list) -> dict:
    gold, run = write(folder / "gold.jsonl", GOLD), write(folder / "run.jsonl", RUN)
    options = [
        word
        for name, rows in judged.items()
        for word in ("--option", f"{name}={write(folder / f'{name}.jsonl', rows)}")
    ]
    return score(capsys, TYPE, [gold], run, "--intervals", "0", *options, *more)


def value(scores: dict, name: str) -> float | None:
    return scores["metrics"][name]["value"]


def support(label: str | None, **fields: object) -> dict:
    return {"texts": [SENTENCE, DOCUMENT], "label": label, **fields}


def assigned(label: str, **fields: object) -> dict:
    nuggets = [{"nugget_id": "a", "text": "It does.", "assignment": label}]
    return {"qid": "7", "nuggets": nuggets, **fields}


def test_nugget_scores_are_those_of_the_nuggetizer(shared, capsys):
    folder = shared / "judged" / "nuggets"
    paths = sorted(folder.glob("run-*.golden.json"))
    if not paths:
        pytest.skip("no scores of castorini's nuggetizer")
    for path in paths:
        run = path.with_name(path.name.replace("golden.json", "jsonl"))
        own = path.with_name(path.name.replace("golden.json", "assignments.jsonl"))
        given = "--option", f"assignments={own}"
        scores = score(capsys, TYPE, [folder / "gold.jsonl"], run, *OFFICIAL, *given)
        golden = json.loads(path.read_text())["all"]
        for scope in ("vital", "all", "strict_vital", "strict_all"):
            expected = pytest.approx(golden[f"{scope}_score"], abs=1e-12)
            assert value(scores, f"nuggets_{scope}") == expected, (path, scope)


def test_a_missing_judgement_leaves_its_measures_without_a_value(capsys, tmp_path):
    scores = scored(capsys, tmp_path, supports=[support("full", repeat=1)])
    assert value(scores, "citation_f1") == 1
    assert value(scores, "nuggets_vital") is None
    scores = scored(capsys, tmp_path, assignments=[assigned("support")])
    assert value(scores, "nuggets_vital") == 1
    assert value(scores, "citation_precision") is None
    assert value(scores, "coverage") == 1
    other = {"texts": ["Another.", DOCUMENT], "label": "full"}
    scores = scored(capsys, tmp_path, supports=[other])
    assert value(scores, "citation_recall") is None
    assert scores["notes"]["missing_supports"] == 1


def test_a_run_waits_on_a_site_for_the_judgements_that_are_missing(capsys, tmp_path):
    other = {"texts": ["Another.", DOCUMENT], "label": "full"}
    gold, run = write(tmp_path / "gold", []), write(tmp_path / "run.jsonl", RUN)
    gold.unlink()
    gold.mkdir()
    write(gold / "gold.jsonl", GOLD)
    supports = write(gold / "supports.jsonl", [{"kind": "supports", **other}])
    words = ["score", TYPE, "--gold", str(gold), "--run", str(run)]
    words += ["--pending", str(tmp_path / "pending")]
    assert main(words) == 6
    told = capsys.readouterr().err
    assert "judgements of this run are not among the gold yet" in told
    supports.unlink()
    assert main([*words, "--intervals", "0"]) == 0


def test_under_official_rules_no_run_waits_for_topics_that_nobody_judged(tmp_path):
    topics = [
        {**TOPIC, "request_id": "8"},
        {"topic_id": "8", "nuggets": [{"nugget_id": "b", "text": "It snows."}]},
    ]
    other = {**RUN[0], "metadata": {**RUN[0]["metadata"], "topic_id": "8"}}
    gold = write(tmp_path / "gold.jsonl", [*GOLD, *topics])
    run = write(tmp_path / "run.jsonl", [*RUN, other])
    judged = write(tmp_path / "assignments.jsonl", [assigned("support")])
    words = ["score", TYPE, "--gold", str(gold), "--run", str(run), *OFFICIAL]
    words += ["--option", f"assignments={judged}"]
    assert main([*words, "--pending", str(tmp_path / "pending")]) == 0


def test_a_judgement_without_a_label_counts_neither_for_nor_against(capsys, tmp_path):
    scores = scored(
        capsys, tmp_path, supports=[support(None)], assignments=[assigned("no label")]
    )
    assert scores["notes"]["citations_without_label"] == 1
    assert scores["notes"]["nuggets_without_label"] == 1
    for name in ("citation_precision", "citation_recall", "nuggets_vital"):
        assert value(scores, name) is None


def test_assignments_of_other_runs_are_passed_over(capsys, tmp_path):
    rows = [assigned("support", run_id="other"), assigned("not_support", run_id="r")]
    assert value(scored(capsys, tmp_path, assignments=rows), "nuggets_vital") == 0
    only = scored(capsys, tmp_path, "--rules", "official", assignments=rows[:1])
    assert value(only, "nuggets_vital") is None


REFUSED = {
    "a second judge": ([support("full", judge="a"), support("full", judge="b")], "a second judge, “b”"),
    "a contradiction": ([support("full"), support("none")], "another label of the same before"),
    "an unknown label": ([support("yes")], "“label” is “yes”"),
    "no digests": ([{"items": ["a", "b"], "label": "full"}], "no digests such as sha256"),
    "too few items": ([{"texts": ["a"], "label": "full"}], "“texts” are not sentence, document"),
    "another kind": ([support("full", kind="prefers")], "“kind” is “prefers”"),
    "two headers": ([{"judge": "a"}, {"judge": "a"}], "no judgement"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_judgements_that_cannot_be_meant_are_refused_by_line(case, capsys, tmp_path):
    rows, message = REFUSED[case]
    gold, run = write(tmp_path / "gold.jsonl", GOLD), write(tmp_path / "run.jsonl", RUN)
    supports = write(tmp_path / "supports.jsonl", rows)
    words = ["score", TYPE, "--gold", str(gold), "--run", str(run)]
    assert main([*words, "--option", f"supports={supports}"]) == 2
    told = capsys.readouterr().err
    assert f"supports.jsonl:{len(rows)}" in told
    assert message in told


def test_labels_of_people_count_by_majority_and_ties_by_the_lower_credit():
    labels = LABEL_CREDITS_BY_KIND["supports"]
    assert choose_majority_label(["full", "none", "full"], labels) == ("full", False)
    assert choose_majority_label(["full", "partial"], labels) == ("partial", True)
    assert choose_majority_label(["partial", "none"], labels) == ("none", True)
    assert choose_majority_label(["none", "full"], labels) == ("partial", True)
    assert choose_majority_label(["", ""], labels) == ("no label", False)


def test_judged_citations_are_the_first_or_those_with_the_highest_scores():
    plain = [ReportCitation(name, name) for name in ("a", "b", "a", "c")]
    assert [one.document for one in select_judged_citations(plain, 2)] == ["a", "b"]
    numbers = {"a": 0.1, "b": 0.9, "c": 0.9, "d": 0.5}
    with_scores = [
        ReportCitation(name, name, number) for name, number in numbers.items()
    ]
    assert [one.document for one in select_judged_citations(with_scores, 3)] == [
        "b",
        "c",
        "d",
    ]


def test_judgements_are_part_of_the_digest_of_the_gold_wherever_they_lie(
    capsys, tmp_path
):
    plain = scored(capsys, tmp_path)
    judged = scored(capsys, tmp_path, supports=[support("full")])
    both = scored(capsys, tmp_path, supports=[support("none")])
    digests = {one["gold"]["sha256"] for one in (plain, judged, both)}
    assert len(digests) == 3
    write(tmp_path / "gold.jsonl", GOLD)
    supports = write(tmp_path / "own.jsonl", [support("full", kind="supports")])
    inside = score(
        capsys, TYPE, [tmp_path / "gold.jsonl", supports], tmp_path / "run.jsonl"
    )
    assert inside["gold"]["sha256"] == judged["gold"]["sha256"]


@pytest.mark.parametrize("name", ["reports-lead", "reports-bm25"])
def test_baselines_write_reports_that_every_track_of_ids_takes(name, capsys, tmp_path):
    gold, run = write(tmp_path / "gold.jsonl", GOLD), tmp_path / "run.jsonl"
    assert main(["baseline", name, "--gold", str(gold), "--out", str(run)]) == 0
    [line] = map(json.loads, run.read_text().splitlines())
    assert line["responses"] == [{"text": "It rains in Oslo.", "citations": ["d1"]}]
    check = ["check", TYPE, "--gold", str(gold), "--run", str(run)]
    assert (
        main(
            [*check, "--option", "track=ragtime26", "--option", "accept=docid_pattern"]
        )
        == 0
    )


def test_the_explorer_shows_sentences_nuggets_and_their_judgements():
    parts = {
        part.kind: [
            ("".join(p.text for p in line.pieces), line.words) for line in part.lines
        ]
        for part in build_parts_of_type_example(task_type(TYPE))
    }
    assert parts["given"][0] == ("How does weather shape the hills?", "")
    assert parts["paper"][:2] == [
        ("Rain falls on the hills. [d1: full]", "supported"),
        ("Wind turns the mills. [d2: partial, 9: out of range]", "partly supported"),
    ]
    assert ("vital: Ice carves valleys. [not_support]", "nugget missed") in parts[
        "paper"
    ]
    assert parts["gold"][0][0] == "vital: It rains on the hills."
