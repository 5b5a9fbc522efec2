"""Measures of rankings beside plain NumPy and, with the reading of the run, beside ir_measures and ranx."""

from __future__ import annotations

import json
import tempfile
from importlib.util import find_spec
from pathlib import Path

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG
from measuring import Measurements, Row

from scoring.metrics.ranking import Ranking
from tasks.types.files import open_input_files
from tasks.types.ranking.lists import ListColumn, build_ranking_index
from tasks.types.ranking.runs import RankingReadingSettings, read_ranked_run

QUERIES, CANDIDATES, DEPTH = 100_000, 50, 10
NAMES = ("recall@10", "mrr@10", "ndcg@10")


def main() -> None:
    measured = Measurements(
        "ranking",
        "Measures of rankings",
        ("numpy", "ir-measures", "pytrec-eval-terrier"),
    )
    rng = np.random.default_rng(0)
    relevant = np.zeros((QUERIES, CANDIDATES), dtype=bool)
    first, count = rng.integers(0, CANDIDATES, QUERIES), rng.integers(1, 4, QUERIES)
    for nth in range(3):
        rows = np.flatnonzero(count > nth)
        relevant[rows, (first[rows] + 7 * nth) % CANDIDATES] = True
    ranked = np.argsort(rng.random((QUERIES, CANDIDATES)), axis=1)[:, :DEPTH]
    gold = ListColumn(
        np.nonzero(relevant)[1].astype(np.int32),
        np.concatenate([[0], np.cumsum(relevant.sum(axis=1))]),
    )
    answers = ListColumn(
        ranked.astype(np.int32).ravel(), np.arange(QUERIES + 1) * DEPTH
    )
    metric = Ranking("recall@10", "corrected", measure="recall", cut=10)
    measured.compare(
        f"recall, MRR and nDCG of {QUERIES:,} queries × {DEPTH}, once read",
        lambda: metric.instance_stats(gold, answers),
        lambda: plain(relevant, ranked),
        against="plain NumPy",
        wanted=1 / 3,
        note="success and average precision come with ours",
    )
    with tempfile.TemporaryDirectory() as folder:
        from_files(measured, Path(folder), relevant, ranked, gold)
    measured.keep()


def plain(relevant: np.ndarray, ranked: np.ndarray) -> tuple[np.ndarray, ...]:
    """What somebody would write who has the two as matrices."""
    hits, wanted = np.take_along_axis(relevant, ranked, 1), relevant.sum(axis=1)
    first = hits.argmax(axis=1)
    reciprocal = np.where(hits.any(axis=1), 1 / (first + 1), 0.0)
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    ideal = np.concatenate([[0], np.cumsum(discounts)])[np.minimum(wanted, DEPTH)]
    return hits.sum(axis=1) / wanted, reciprocal, (hits * discounts).sum(axis=1) / ideal


def from_files(
    measured: Measurements,
    folder: Path,
    relevant: np.ndarray,
    ranked: np.ndarray,
    gold: ListColumn,
) -> None:
    queries = [f"q{number}" for number in range(QUERIES)]
    candidates = [f"d{number}" for number in range(CANDIDATES)]
    lines, trec, qrels = folder / "run.jsonl", folder / "run.trec", folder / "qrels"
    lines.write_text(
        "".join(
            json.dumps({"id": query, "ranked": [candidates[number] for number in own]})
            + "\n"
            for query, own in zip(queries, ranked.tolist(), strict=True)
        )
    )
    trec.write_text(
        "".join(
            f"{query} Q0 {candidates[number]} {rank} {DEPTH - rank} run\n"
            for query, own in zip(queries, ranked.tolist(), strict=True)
            for rank, number in enumerate(own, start=1)
        )
    )
    rows, columns = np.nonzero(relevant)
    qrels.write_text(
        "".join(
            f"q{row} 0 d{column} 1\n" for row, column in zip(rows, columns, strict=True)
        )
    )
    index = build_ranking_index(queries, [candidates])
    for path in (lines, trec):
        compare_file(measured, path, index, gold, qrels)
    if find_spec("ranx") is None:
        measured.add(Row(what="ranx", ours=float("nan"), note="not installed here"))


def compare_file(
    measured: Measurements, path: Path, index: dict, gold: ListColumn, qrels: Path
) -> None:
    metric = Ranking("recall@10", "corrected", measure="recall", cut=10)
    wanted = list(ir_measures.read_trec_qrels(str(qrels)))

    def ours() -> None:
        run, problems = read_ranked_run(
            open_input_files(path), index, RankingReadingSettings(kept=DEPTH)
        )
        assert not problems
        metric.instance_stats(gold, run.lists)

    def theirs() -> None:
        if path.suffix == ".trec":
            run = list(ir_measures.read_trec_run(str(path)))
        else:
            with path.open() as file:
                records = [json.loads(line) for line in file]
            run = {
                record["id"]: {
                    name: float(-rank) for rank, name in enumerate(record["ranked"])
                }
                for record in records
            }
        ir_measures.calc_aggregate([R @ 10, RR @ 10, nDCG @ 10], wanted, run)

    form = "a TREC run file" if path.suffix == ".trec" else "JSON lines"
    measured.compare(
        f"the same with reading and checking {form}",
        ours,
        theirs,
        against="ir_measures",
        repeats=3,
        wanted=1,
        note="ir_measures checks nothing",
    )


if __name__ == "__main__":
    main()
