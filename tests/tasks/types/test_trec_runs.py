"""TREC run files: scores make the order, lines of a query may stand anywhere, every fault has its line."""

import random
from pathlib import Path

import pytest

from tests.scoring.offline import refusals, score
from tests.tasks.types.rankings import CANDIDATES, write_lines, write_recommendation

SLUG = "citation-recommendation"


@pytest.fixture
def gold(tmp_path) -> Path:
    return write_recommendation(tmp_path / "gold")


def write_run(path: Path, lines) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def mrr(capsys, gold, run) -> float:
    return score(capsys, SLUG, [gold], run)["metrics"]["mrr@10"]["value"]


def test_scores_make_the_order_and_ranks_that_of_equal_ones(capsys, gold, tmp_path):
    lines = [
        "q1 Q0 b 3 0.5 us",
        "q1 Q0 a 2 0.5 us",
        "q1 Q0 c 1 0.9 us",
        "q2 Q0 b 1 7e-1 us",
    ]
    run = write_run(tmp_path / "run.trec", lines)
    scores = score(capsys, SLUG, [gold], run)
    assert scores["metrics"]["mrr@10"]["value"] == pytest.approx((1 / 2 + 1) / 3)
    assert scores["notes"]["tied_scores"] == 1


def test_the_order_of_the_lines_does_not_matter(capsys, gold, tmp_path):
    chance = random.Random(3)
    lines = [
        f"{query} Q0 {name} {rank} {chance.random():.3f} us"
        for query in ("q1", "q2", "q3")
        for rank, name in enumerate(CANDIDATES, start=1)
    ]
    sorted_run = write_run(tmp_path / "sorted.trec", lines)
    chance.shuffle(lines)
    shuffled_run = write_run(tmp_path / "shuffled.trec", lines)
    assert mrr(capsys, gold, sorted_run) == mrr(capsys, gold, shuffled_run) > 0


@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_lines_of_a_query_that_stand_apart_count_together_in_whatever_portions(
    capsys, gold, tmp_path, monkeypatch, step
):
    lines = [
        f"{query} Q0 {name} {rank} {1 / rank} us"
        for rank, name in enumerate(CANDIDATES, start=1)
        for query in ("q1", "q2", "q3")
    ]
    run = write_run(tmp_path / "run.trec", lines)
    whole = mrr(capsys, gold, run)
    monkeypatch.setattr("tasks.types.ranking.runs.ITEMS_PER_BLOCK", step)
    assert mrr(capsys, gold, run) == whole == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_both_forms_of_a_run_score_alike(capsys, gold, tmp_path):
    rows = [{"id": "q1", "ranked": ["c", "a"]}, {"id": "q3", "ranked": ["c", "b"]}]
    json_run = write_lines(tmp_path / "run.jsonl", rows)
    lines = ["q1 Q0 c 1 2 us", "q1 Q0 a 2 1 us", "q3 Q0 c 1 2 us", "q3 Q0 b 2 1 us"]
    trec_run = write_run(tmp_path / "run.txt", lines)
    first, second = (score(capsys, SLUG, [gold], run) for run in (json_run, trec_run))
    assert first["metrics"] == second["metrics"]
    assert first["breakdowns"] == second["breakdowns"]


def test_every_fault_is_told_by_line(capsys, gold, tmp_path):
    lines = [
        "q1 Q0 a 1 0.9",
        "q1 Q0 zz 1 0.9 us",
        "q1 Q0 a 1 0.9 us",
        "q1 Q0 a 2 0.8 us",
        "q9 Q0 a 1 0.9 us",
        "q9 Q0 b 2 0.8 us",
        "q2 Q0 a first 0.9 us",
        "q2 Q0 a 1 nan us",
        "q2 Q0 b 1 0.9 us",
        "",
        "q1 Q0 a 3 0.7 us",
        "q1 Q0 b 2147483648 0.6 us",
    ]
    run = write_run(tmp_path / "run.trec", lines)
    told = refusals(capsys, SLUG, [gold], run)
    assert [int(line.removeprefix(f"{run}:").split(":")[0]) for line in told] == [
        1,
        2,
        4,
        5,
        7,
        8,
        12,
    ]
    text = "\n".join(told)
    for words in (
        "5 fields; expected `query Q0 candidate rank score tag`",
        "“zz” is no candidate of this instance",
        "“a” stands in this ranking a second time",
        "instance “q9” is not in this split",
        "rank “first” and score “0.9” are not two numbers",
        "the score “nan” is not a finite number",
        "the rank “2147483648” is out of range",
    ):
        assert words in text


def test_too_long_a_ranking_is_refused_at_its_last_line(capsys, tmp_path):
    names = [f"w{number:02d}" for number in range(12)]
    gold = write_recommendation(tmp_path / "gold", cited=[("q1", "w00"), ("q2", "w00")])
    write_lines(
        gold / "references.jsonl", [{"paper_id": "p", "ref_id": name} for name in names]
    )
    lines = [f"q1 Q0 {name} {rank} {-rank} us" for rank, name in enumerate(names)]
    run = write_run(tmp_path / "run.trec", [*lines, "q2 Q0 w00 1 1 us"])
    told = refusals(capsys, SLUG, [gold], run, "--option", "longest=10")
    assert told == [f"{run}:12: 12 candidates are ranked for “q1”; expected at most 10"]


def test_two_files_may_share_the_contexts_but_not_one_context(capsys, gold, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    write_run(folder / "a.trec", ["q1 Q0 a 1 1 us"])
    write_lines(folder / "b.jsonl", [{"id": "q2", "ranked": ["b"]}])
    (folder / "README.md").write_text("What we did.")
    assert mrr(capsys, gold, folder) == pytest.approx(2 / 3)
    write_run(folder / "c.trec", ["q1 Q0 b 1 1 us"])
    told = refusals(capsys, SLUG, [gold], folder)
    assert "c.trec:1: instance “q1” is answered in another file as well" in told[0]


def test_a_mark_of_byte_order_and_windows_line_ends_change_nothing(
    capsys, gold, tmp_path
):
    plain = write_run(tmp_path / "plain.trec", ["q1 Q0 a 1 1 us", "q2 Q0 b 1 1 us"])
    odd = tmp_path / "odd.trec"
    odd.write_bytes(b"\xef\xbb\xbf" + plain.read_bytes().replace(b"\n", b"\r\n"))
    assert mrr(capsys, gold, plain) == mrr(capsys, gold, odd)
