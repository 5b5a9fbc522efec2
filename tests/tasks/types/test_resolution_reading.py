"""How gold and runs of Citation Resolution are read, through the offline scorer."""

import json
from pathlib import Path

import pytest

from tasks.types import task_type
from tasks.types.files import open_input_files
from tests.scoring.offline import refusals, score
from tests.tasks.types.rankings import CANDIDATES, write_lines, write_resolution

SLUG = "citation-resolution"
MANY = tuple(f"r{number}" for number in range(9))


@pytest.fixture
def gold(tmp_path) -> Path:
    contexts = [
        ("p1_0", "p1", ["a"]),
        ("p1_1", "p1", ["b", "c"]),
        ("p2_0", "p2", ["r8"]),
    ]
    return write_resolution(
        tmp_path / "gold", contexts, [("p1", CANDIDATES), ("p2", MANY)]
    )


def values(scores: dict) -> dict[str, float]:
    return {name: metric["value"] for name, metric in scores["metrics"].items()}


def test_only_references_of_the_own_paper_may_be_ranked_and_a_short_ranking_is_allowed(
    capsys, gold, tmp_path
):
    rows = [{"id": "p1_0", "ranked": ["a"]}, {"id": "p2_0", "ranked": ["a", "r8"]}]
    told = refusals(capsys, SLUG, [gold], write_lines(tmp_path / "run.jsonl", rows))
    assert len(told) == 1
    assert ":2: 1 of 2 are no candidates: “a” at place 1" in told[0]
    run = write_lines(tmp_path / "run.jsonl", rows[:1])
    assert values(score(capsys, SLUG, [gold], run))["success@n"] == pytest.approx(1 / 3)


def test_ties_of_submitted_scores_are_broken_by_the_order_of_the_references_and_counted(
    capsys, gold, tmp_path
):
    rows = [
        # b and c are tied for the first two places and beyond: with d they stand in the order b, c, d.
        {"id": "p1_1", "scores": {"d": 0.5, "c": 0.5, "b": 0.5, "a": 0.1}},
        {"id": "p1_0", "scores": {"a": 0.9, "b": 0.1, "c": 0.1}},
    ]
    scores = score(capsys, SLUG, [gold], write_lines(tmp_path / "run.jsonl", rows))
    assert values(scores)["success@n"] == pytest.approx(2 / 3)
    assert scores["notes"]["tied_scores"] == 3
    assert scores["notes"]["tied_at_cut"] == 1


def test_in_a_trec_run_ties_stand_in_the_order_of_the_references_whatever_the_ranks(
    capsys, gold, tmp_path
):
    run = tmp_path / "run.trec"
    run.write_text("p1_0 Q0 b 1 0.5 us\np1_0 Q0 a 2 0.5 us\n")
    assert values(score(capsys, SLUG, [gold], run))["accuracy@1"] == pytest.approx(
        1 / 3
    )


def test_the_submitted_order_stands_where_no_scores_make_it(capsys, gold, tmp_path):
    rows = [{"id": "p1_0", "ranked": ["b", "a"], "scores": [0.5, 0.5]}]
    scores = score(capsys, SLUG, [gold], write_lines(tmp_path / "run.jsonl", rows))
    assert values(scores)["success@n"] == 0
    assert scores["notes"]["tied_at_cut"] == 1


def test_members_of_a_group_that_are_no_references_do_not_count(capsys, tmp_path):
    contexts = [("p1_0", "p1", ["a", "zz", "a"]), ("p1_1", "p1", ["zz"])]
    gold = write_resolution(tmp_path / "gold", contexts)
    run = write_lines(tmp_path / "run.jsonl", [{"id": "p1_0", "ranked": ["b", "a"]}])
    scores = score(capsys, SLUG, [gold], run)
    # One distinct reference is left of the group, so the second place is too late.
    assert values(scores)["success@n"] == 0
    assert scores["gold"]["instances"] == 1
    assert scores["gold"]["notes"] == [
        "1 contexts cite no reference of their paper and are left out"
    ]


def test_is_official_only_papers_with_eight_references_count(capsys, gold, tmp_path):
    rows = [{"id": "p1_0", "ranked": ["a"]}, {"id": "p2_0", "ranked": ["r1"]}]
    run = write_lines(tmp_path / "run.jsonl", rows)
    everything = score(capsys, SLUG, [gold], run)
    published = score(capsys, SLUG, [gold], run, "--rules", "official")
    assert values(everything)["success@n"] == pytest.approx(1 / 3)
    assert values(published)["success@n"] == 0
    assert published["notes"]["contexts_left_out"] == 2
    assert published["metrics"]["success@n"]["n"] == 1


def test_breakdowns_are_by_group_candidates_section_and_discipline(
    capsys, gold, tmp_path
):
    lines = [
        json.loads(line) for line in (gold / "contexts.jsonl").read_text().splitlines()
    ]
    for line, section in zip(
        lines, ("1. Introduction", "Results of the second experiment", ""), strict=True
    ):
        line["section"] = section
    write_lines(gold / "contexts.jsonl", lines)
    write_lines(
        gold / "papers.jsonl",
        [{"paper_id": "p1", "discipline": "Botany"}, {"paper_id": "p2"}],
    )
    run = write_lines(tmp_path / "run.jsonl", [{"id": "p1_0", "ranked": ["a"]}])
    breakdowns = score(capsys, SLUG, [gold], run)["breakdowns"]
    counts = {
        dimension: {label: own["success@n"]["n"] for label, own in classes.items()}
        for dimension, classes in breakdowns.items()
    }
    assert counts == {
        "group_size": {"1": 2, "2": 1},
        "candidates": {"1 to 9": 3},
        "section": {"introduction": 1, "results": 1, "None": 1},
        "discipline": {"Botany": 2, "None": 1},
    }


def test_the_cocited_probability_is_that_of_the_graph_without_the_paper_under_test(
    capsys, tmp_path
):
    contexts = [
        ("p1_0", "p1", ["a"]),
        ("p1_1", "p1", ["b", "c"]),
        ("p1_2", "p1", ["d"]),
    ]
    gold = write_resolution(tmp_path / "gold", contexts)
    edges = {"a": "xyz", "b": "yz", "c": "z", "d": ""}
    rows = [
        {"citing": citing, "cited": cited}
        for cited, own in edges.items()
        for citing in [*own, "p1"]
    ]
    write_lines(gold / "citations.jsonl", rows)
    run = write_lines(
        tmp_path / "run.jsonl",
        [
            {"id": "p1_0", "ranked": ["b", "a"]},
            {"id": "p1_1", "ranked": ["b", "a"]},
            {"id": "p1_2", "ranked": ["d"]},
        ],
    )
    # a and b share two of three; (b, b) 1, (b, c) 1/2, (a, b) 2/3, (a, c) 1/3; d is itself.
    expected = (2 / 3 + (1 + 1 / 2 + 2 / 3 + 1 / 3) / 4 + 1) / 3
    found = values(score(capsys, SLUG, [gold], run))["cocited_probability"]
    assert found == pytest.approx(expected)


def test_without_a_graph_the_cocited_probability_is_undefined(capsys, gold, tmp_path):
    run = write_lines(tmp_path / "run.jsonl", [{"id": "p1_0", "ranked": ["a"]}])
    assert values(score(capsys, SLUG, [gold], run))["cocited_probability"] is None


@pytest.mark.parametrize(
    ("name", "row", "words"),
    [
        (
            "contexts.jsonl",
            {"context_id": "p1_0", "paper_id": "p1", "gold": ["a"]},
            "a second time",
        ),
        (
            "contexts.jsonl",
            {"context_id": "x", "paper_id": "p1", "gold": []},
            "“gold” is empty",
        ),
        ("contexts.jsonl", {"context_id": "x", "gold": ["a"]}, "“paper_id” is missing"),
        ("references.jsonl", {"ref_id": "a"}, "“paper_id” is missing"),
    ],
)
def test_gold_that_contradicts_itself_is_refused(
    capsys, gold, tmp_path, name, row, words
):
    with (gold / name).open("a") as file:
        file.write(json.dumps(row) + "\n")
    run = write_lines(tmp_path / "run.jsonl", [{"id": "p1_0", "ranked": ["a"]}])
    assert words in refusals(capsys, SLUG, [gold], run)[0]


def test_links_into_a_reference_come_from_papers_that_are_not_under_test(
    capsys, gold, tmp_path
):
    run = write_lines(tmp_path / "run.jsonl", [{"id": "p1_0", "ranked": ["a"]}])
    links = [
        {"ref_id": "a", "citing": name, "sentence": "As <REF> says."}
        for name in ("p8", "p2", "p9")
    ]
    write_lines(gold / "inlinks.jsonl", links[:1] + links[2:])
    score(capsys, SLUG, [gold], run)
    write_lines(gold / "inlinks.jsonl", links)
    [told] = refusals(capsys, SLUG, [gold], run)
    assert "inlinks.jsonl:2: “p2”, which cites “a” here, is a paper under test" in told


def test_public_files_hold_no_gold_not_even_in_a_heading(gold, tmp_path):
    lines = [
        json.loads(line) for line in (gold / "contexts.jsonl").read_text().splitlines()
    ]
    lines[0]["section"] = "After {{cite:r8}} and others"
    write_lines(gold / "contexts.jsonl", lines)
    write_lines(gold / "citations.jsonl", [{"citing": "p1", "cited": "a"}])
    own = task_type(SLUG)
    files = dict(own.public_files(open_input_files(gold), own.validate_options({})))
    assert sorted(files) == ["contexts.jsonl", "references.jsonl"]
    contexts = [json.loads(line) for line in files["contexts.jsonl"].splitlines()]
    assert contexts[0] == {
        "context_id": "p1_0",
        "paper_id": "p1",
        "section": "After and others",
        "sentence": "We count <REF>.",
    }
    assert all("gold" not in context for context in contexts)


@pytest.mark.parametrize("cited", ["12", 12, ["12"]])
def test_one_reference_may_stand_without_a_list_and_is_never_split_into_letters(
    tmp_path, cited
):
    gold = write_resolution(
        tmp_path / "gold", [("p1_0", "p1", ["12"])], [("p1", ("12", "1"))]
    )
    (line,) = map(json.loads, (gold / "contexts.jsonl").read_text().splitlines())
    write_lines(gold / "contexts.jsonl", [{**line, "gold": cited}])
    own, files = task_type(SLUG), open_input_files(gold)
    options = own.validate_options({})
    assert [
        answer for _shown, answer in own.contents(files, own.read_gold(files, options))
    ] == [["12"]]
    assert b"p1_0" in dict(own.public_files(files, options))["contexts.jsonl"]


def test_what_is_no_list_of_references_is_named_by_line_with_what_was_expected(
    capsys, gold, tmp_path
):
    with (gold / "contexts.jsonl").open("a") as file:
        file.write('{"context_id": "p1_9", "paper_id": "p1", "gold": {"a": 1}}\n')
    run = write_lines(tmp_path / "run.jsonl", [{"id": "p1_0", "ranked": ["a"]}])
    [told] = refusals(capsys, SLUG, [gold], run)
    assert (
        "contexts.jsonl:4: “gold” is an object; expected an id or a list of ids" in told
    )
