"""How gold and runs of citation recommendation are read, through the offline scorer."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types import task_type
from tasks.types.files import open_input_files
from tests.scoring.offline import refusals, score
from tests.tasks.types.rankings import write_lines, write_recommendation

SLUG = "citation-recommendation"


@pytest.fixture
def gold(tmp_path) -> Path:
    return write_recommendation(tmp_path / "gold")


def values(scores: dict) -> dict[str, float]:
    return {name: metric["value"] for name, metric in scores["metrics"].items()}


def test_a_missing_context_scores_nothing_and_is_counted(capsys, gold, tmp_path):
    run = write_lines(
        tmp_path / "run.jsonl",
        [{"id": "q1", "ranked": ["a"]}, {"id": "q2", "ranked": []}],
    )
    scores = score(capsys, SLUG, [gold], run)
    assert values(scores) == pytest.approx(
        {"recall@10": 1 / 3, "mrr@10": 1 / 3, "ndcg@10": 1 / 3}
    )
    assert scores["notes"] == {
        "missing_answers": 1,
        "empty_rankings": 1,
        "tied_scores": 0,
    }
    told = [warning["message"] for warning in scores["warnings"]]
    assert told == [
        "1 of 3 instances have no answer and score 0, the first is “q3”",
        "1 of 2 answers are empty or not allowed",
    ]


def test_a_bad_run_names_every_line_and_what_was_expected(capsys, gold, tmp_path):
    rows = [
        {"id": "q1", "ranked": ["a", "b", "a", "b"]},
        {"id": "q2", "ranked": ["a", "zz", "yy"]},
        {"id": "q9", "ranked": ["a"]},
        {"ranked": ["a"]},
        {"id": "q3"},
        {"id": "q3", "ranked": "a"},
        {"id": "q3", "ranked": ["a", None]},
        {"id": "q3", "ranked": ["a", "b"], "scores": [0.1]},
        {"id": "q3", "ranked": ["a", "b"], "scores": [0.1, 0.2]},
        {"id": "q3", "scores": {"a": "high"}},
        {"id": "q3", "scores": {"zz": 1}},
        {"id": 3.5, "ranked": []},
    ]
    run = write_lines(tmp_path / "run.jsonl", rows)
    told = refusals(capsys, SLUG, [gold], run)
    lines = [int(line.removeprefix(f"{run}:").split(":")[0]) for line in told]
    assert lines == [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    text = "\n".join(told)
    for words in (
        "“a” stands at place 1 and again at place 3",
        "2 of 3 are no candidates: “zz” at place 2, “yy” at place 3",
        "instance “q9” is not in this split",
        "“id” is missing",
        "“ranked” is missing",
        "“ranked” is a text",
        "“ranked” holds something other than ids",
        "1 scores for 2 candidates",
        "the score at place 2 is higher than the one before it",
        "the score of “a” is a text",
        "“id” is a number",
    ):
        assert words in text


def test_a_second_line_for_a_context_is_refused(capsys, gold, tmp_path):
    row = {"id": "q1", "ranked": ["a"]}
    told = refusals(
        capsys, SLUG, [gold], write_lines(tmp_path / "run.jsonl", [row, row])
    )
    assert len(told) == 1
    assert ":2: instance “q1” is answered a second time" in told[0]


def test_a_ranking_over_the_limit_is_refused_by_line(capsys, tmp_path):
    names = [f"w{number}" for number in range(20)]
    gold = write_recommendation(tmp_path / "gold", cited=[("q1", "w0")])
    write_lines(
        gold / "references.jsonl", [{"paper_id": "p", "ref_id": name} for name in names]
    )
    run = write_lines(tmp_path / "run.jsonl", [{"id": "q1", "ranked": names}])
    assert main(["check", SLUG, "--gold", str(gold), "--run", str(run)]) == 0
    capsys.readouterr()
    told = refusals(capsys, SLUG, [gold], run, "--option", "longest=15")
    assert told == [f"{run}:1: 20 candidates are ranked; expected at most 15"]


def test_a_run_that_answers_nothing_is_refused(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text("\n")
    assert (
        "the run answers no instance of the split"
        in refusals(capsys, SLUG, [gold], run)[0]
    )


@pytest.mark.parametrize(
    "line", ["{not JSON", "no TREC 1 1 run", '{"id": "q9", "ranked": []}']
)
def test_of_a_hopeless_file_the_rest_of_the_problems_is_counted(
    capsys, gold, tmp_path, line
):
    run = tmp_path / "run.jsonl"
    run.write_text(f"{line}\n" * 5000)
    status = main(["check", SLUG, "--gold", str(gold), "--run", str(run)])
    assert status == 2
    told = capsys.readouterr().err.splitlines()
    assert told[-1] == "and 4000 more problems"


def test_scores_given_as_an_object_make_the_order_and_ties_stand_in_the_order_of_the_candidates(
    capsys, gold, tmp_path
):
    rows = [
        {"id": "q1", "scores": {"e": 0.5, "a": 0.5, "c": 0.9}},
        {"id": "q2", "scores": {"b": 1}},
    ]
    scores = score(capsys, SLUG, [gold], write_lines(tmp_path / "run.jsonl", rows))
    # c, then a before e: the cited paper of q1 is second.
    assert values(scores)["mrr@10"] == pytest.approx((1 / 2 + 1) / 3)
    assert scores["notes"]["tied_scores"] == 1


def test_numbers_as_ids_are_texts(capsys, tmp_path):
    gold = write_recommendation(tmp_path / "gold", cited=[(1, 7), (2, 8)])
    write_lines(
        gold / "references.jsonl",
        [{"paper_id": 1, "ref_id": number} for number in (7, 8)],
    )
    run = write_lines(
        tmp_path / "run.jsonl",
        [{"id": "1", "ranked": [7, "8"]}, {"id": 2, "ranked": ["7"]}],
    )
    assert values(score(capsys, SLUG, [gold], run))["recall@10"] == 0.5


def test_a_context_may_cite_several_papers(capsys, tmp_path):
    gold = write_recommendation(tmp_path / "gold", cited=[("q1", ["a", "b"])])
    run = write_lines(tmp_path / "run.jsonl", [{"id": "q1", "ranked": ["c", "b"]}])
    scores = values(score(capsys, SLUG, [gold], run))
    assert (scores["recall@10"], scores["mrr@10"]) == (0.5, 0.5)


def test_other_cut_offs_come_with_the_option_and_the_first_metric_still_ranks(
    capsys, gold, tmp_path
):
    rows = [{"id": "q1", "ranked": ["b", "a"]}, {"id": "q2", "ranked": ["b"]}]
    run = write_lines(tmp_path / "run.jsonl", rows)
    found = values(score(capsys, SLUG, [gold], run, "--option", "k=20,1"))
    assert list(found) == [
        *("recall@10", "mrr@10", "ndcg@10", "recall@1", "mrr@1", "ndcg@1"),
        *("recall@20", "mrr@20", "ndcg@20"),
    ]
    assert (found["recall@1"], found["recall@20"]) == pytest.approx((1 / 3, 2 / 3))


@pytest.mark.parametrize(
    "value", ["0", "ten", "5,,0", "5000", ",", "1,2,3,4,5,6,7,8,9,10,11"]
)
def test_cut_offs_that_make_no_sense_are_refused(capsys, gold, tmp_path, value):
    run = write_lines(tmp_path / "run.jsonl", [{"id": "q1", "ranked": ["a"]}])
    told = refusals(capsys, SLUG, [gold], run, "--option", f"k={value}")
    assert "expected at most 10 whole numbers from 1 to 1000" in told[0]


def test_classes_stand_in_their_own_order_and_what_has_none_last(capsys, tmp_path):
    gold = write_recommendation(
        tmp_path / "gold",
        length_class=["long", None, "short"],
        field=["Physics", "Art", "Art"],
        year_group=[None, None, None],
    )
    run = write_lines(tmp_path / "run.jsonl", [{"id": "q1", "ranked": ["a"]}])
    breakdowns = score(capsys, SLUG, [gold], run)["breakdowns"]
    assert {dimension: list(classes) for dimension, classes in breakdowns.items()} == {
        "field": ["Art", "Physics"],
        "length_class": ["short", "long", "None"],
    }
    assert breakdowns["length_class"]["long"]["recall@10"] == {"value": 1.0, "n": 1}


def test_a_context_counts_only_in_the_dimensions_that_it_was_sampled_for(
    capsys, tmp_path
):
    gold = write_recommendation(
        tmp_path / "gold",
        length_class=["long", "long", "short"],
        location_class=["end", "start", "end"],
        sampled_for=[
            ["length_class"],
            ["location_class"],
            ["length_class", "location_class"],
        ],
    )
    run = write_lines(tmp_path / "run.jsonl", [{"id": "q1", "ranked": ["a"]}])
    scores = score(capsys, SLUG, [gold], run)
    counts = {
        dimension: {label: own["recall@10"]["n"] for label, own in classes.items()}
        for dimension, classes in scores["breakdowns"].items()
    }
    assert counts == {
        "length_class": {"short": 1, "long": 1},
        "location_class": {"start": 1, "end": 1},
    }
    assert scores["metrics"]["recall@10"]["n"] == 3


def test_papers_are_resampled_and_not_their_contexts(capsys, tmp_path):
    gold = write_recommendation(tmp_path / "gold", citing_id=["p1", "p1", "p2"])
    run = write_lines(
        tmp_path / "run.jsonl",
        [{"id": "q1", "ranked": ["a"]}, {"id": "q2", "ranked": ["b"]}],
    )
    scores = score(capsys, SLUG, [gold], run)["metrics"]["recall@10"]
    # Three contexts are of two papers, too few for an interval.
    assert (scores["low"], scores["high"]) == (None, None)
    assert "|units:2|" in scores["signature"]


@pytest.mark.parametrize(
    ("name", "row", "words"),
    [
        (
            "diagnostic.jsonl",
            {"id": "q1", "cited_id": "a"},
            "context “q1” stands here a second time",
        ),
        ("diagnostic.jsonl", {"id": "q4"}, "“cited_id” is missing"),
        (
            "diagnostic.jsonl",
            {"id": "", "citing_id": "p", "cited_id": "a"},
            "“id” is",
        ),
        ("diagnostic.jsonl", {"id": "q4", "cited_id": "zz"}, "“zz” is no candidate"),
        ("diagnostic.jsonl", {"cited_id": "a"}, "“id” is missing"),
        (
            "diagnostic.jsonl",
            {"id": "q4", "cited_id": "a", "sampled_for": "length_class"},
            "diagnostic.jsonl:4: “sampled_for” is a text; expected a list of dimensions",
        ),
        ("references.jsonl", {"paper_id": "p"}, "“ref_id” is missing"),
    ],
)
def test_gold_that_contradicts_itself_is_refused(
    capsys, gold, tmp_path, name, row, words
):
    with (gold / name).open("a") as file:
        file.write(json.dumps(row) + "\n")
    run = write_lines(tmp_path / "run.jsonl", [{"id": "q1", "ranked": ["a"]}])
    assert words in refusals(capsys, SLUG, [gold], run)[0]


def test_gold_without_candidates_says_which_file_is_missing(capsys, gold, tmp_path):
    (gold / "references.jsonl").unlink()
    run = write_lines(tmp_path / "run.jsonl", [{"id": "q1", "ranked": ["a"]}])
    assert "there is no references.jsonl" in refusals(capsys, SLUG, [gold], run)[0]


def test_equal_scores_keep_the_order_of_the_candidates_whose_digest_has_none(
    capsys, gold, tmp_path
):
    run = write_lines(
        tmp_path / "run.jsonl", [{"id": "q1", "scores": {"a": 1, "b": 1}}]
    )

    def scored(*words):
        scores = score(capsys, SLUG, [gold], run, *words)
        assert scores["notes"]["tied_scores"] == 1
        return scores["gold"]["sha256"], scores["metrics"]["mrr@10"]["value"]

    (digest, first), before = scored(), scored("--reading", "2")
    lines = (gold / "references.jsonl").read_text().splitlines(keepends=True)
    (gold / "references.jsonl").write_text("".join(reversed(lines)))
    assert scored() == (digest, first / 2)
    assert scored("--reading", "2") == before == (digest, first)


def test_public_files_hold_no_gold(gold, tmp_path):
    lines = [
        {"paper_id": "p-q1", "ref_id": "a", "raw": "Paper a"},
        {"paper_id": "p-q1", "ref_id": "b", "raw": "Paper b"},
        {"paper_id": "p-q3", "ref_id": "c", "raw": "Paper c"},
    ]
    write_lines(gold / "references.jsonl", lines)
    own = task_type(SLUG)
    files = dict(own.public_files(open_input_files(gold), own.validate_options({})))
    contexts = [json.loads(line) for line in files["diagnostic.jsonl"].splitlines()]
    assert [sorted(context) for context in contexts] == [["id", "sentence"]] * 3
    candidates = [json.loads(line) for line in files["references.jsonl"].splitlines()]
    assert candidates == [{"ref_id": name, "raw": f"Paper {name}"} for name in "abc"]
    assert b"p-q" not in b"".join(files.values())


@pytest.mark.parametrize(("ranked", "more"), [(10, []), (11, ["and 1 more"])])
def test_of_a_ranking_ten_are_shown_and_how_many_more_there_are(tmp_path, ranked, more):
    gold = write_recommendation(tmp_path / "gold", cited=(("q1", "W0"),))
    write_lines(
        gold / "references.jsonl", [{"ref_id": f"W{number}"} for number in range(12)]
    )
    run = write_lines(
        tmp_path / "run.jsonl",
        [{"id": "q1", "ranked": [f"W{n}" for n in range(ranked)]}],
    )
    kind = task_type("citation-recommendation")
    files, options = open_input_files(gold), kind.validate_options({"k": "20"})
    split = kind.gold_of(files, options)
    answers, _ = kind.read_run(open_input_files(run), split.index, options)
    pairs = kind.pairs_of(split, answers, "corrected", options)
    [shown] = kind.show_instances(files, split, pairs, options)
    assert shown.answer.splitlines()[10:] == more


def test_one_paper_may_stand_without_a_list_and_is_never_split_into_letters(tmp_path):
    own = task_type(SLUG)
    for cited in ("12", 12, ["12"]):
        write_lines(
            tmp_path / "diagnostic.jsonl",
            [{"id": "q1", "cited_id": cited, "sentence": "<REF>"}],
        )
        write_lines(
            tmp_path / "references.jsonl", [{"ref_id": "12", "raw": "Paper 12"}]
        )
        files = open_input_files(tmp_path)
        split = own.read_gold(files, own.validate_options({}))
        assert [gold for _shown, [gold, _grades] in own.contents(files, split)] == [
            ["12"]
        ]
