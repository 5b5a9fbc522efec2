"""What is resampled together: the option `unit` of every task type."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command

from citeboard.core import storage
from scoring.metrics import build_metrics
from scoring.metrics.base import build_unit_rows
from scoring.models import Evaluation
from scoring.offline.evaluate import (
    load_names_of_described_units,
    load_page_of_details,
    load_statistics,
)
from scoring.stats.jackknife import intervals
from scoring.worker.score import score as score_job
from tasks.models import Job
from tasks.types import (
    InputRefused,
    citation_resolution,
    positional_citations,
    task_types,
)
from tasks.types.base import assign_resampling_clusters
from tests.declared.folders import EXAMPLES
from tests.scoring.offline import refusals, score
from tests.scoring.toys import Counts

TEXTS = [
    {
        "id": f"lu-{number}",
        "input": ["an abstract of a cited paper"],
        "target": f"they found {number} things",
        "meta": {"paper": f"P{number // 4}"},
    }
    for number in range(16)
]
RUN = [
    {"id": row["id"], "prediction": "they found 3 things" if number % 3 else "nothing"}
    for number, row in enumerate(TEXTS)
]


@pytest.fixture
def files(tmp_path):
    gold, run = tmp_path / "lu.jsonl", tmp_path / "run.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in TEXTS))
    run.write_text("".join(json.dumps(row) + "\n" for row in RUN))
    return gold, run


def test_texts_of_one_citing_paper_are_resampled_together_and_values_stay(
    capsys, files, tmp_path
):
    gold, run = files
    alone = score(capsys, "citation-text", [gold], run)
    kept = tmp_path / "kept.npz"
    together = score(
        capsys,
        "citation-text",
        [gold],
        run,
        "--option",
        "unit=meta.paper",
        "--statistics",
        str(kept),
    )
    before, now = (own["metrics"]["rouge_1_f1"] for own in (alone, together))
    assert now["value"] == before["value"]
    assert now["column"] == before["column"]
    assert (now["low"], now["high"]) != (before["low"], before["high"])
    assert "|unit:meta.paper|units:4|" in now["signature"]
    assert "|units:16|" in before["signature"]
    assert "unit" not in alone["options"]
    statistics = load_statistics(kept)
    assert statistics.cluster_names == ["P0", "P1", "P2", "P3"]
    assert np.bincount(statistics.clusters).tolist() == [4, 4, 4, 4]


def test_a_dimension_with_one_class_for_each_instance_may_be_the_unit(capsys, files):
    gold, run = files
    scored = score(capsys, "citation-text", [gold], run, "--option", "unit=dataset")
    assert "|unit:dataset|units:1|" in scored["metrics"]["rouge_1_f1"]["signature"]


def test_a_field_that_instances_lack_is_named_with_line_and_what_is_there(
    capsys, files
):
    gold, run = files
    gold.write_text(gold.read_text().replace('"paper": "P3"', '"book": "P3"'))
    problems = refusals(
        capsys, "citation-text", [gold], run, "--option", "unit=meta.paper"
    )
    assert problems[0].split(":")[1] == "13"
    assert "more lines: 14, 15, 16" in problems[0]
    assert "no “meta.paper”" in problems[0]
    assert "found id, input, meta, target" in problems[0]


def test_a_dimension_with_several_classes_an_instance_is_no_unit(capsys, files):
    gold, run = files
    problems = refusals(
        capsys, "citation-text", [gold], run, "--option", "unit=target_intent"
    )
    assert "not every instance has one class of “target_intent”" in problems[0]


def test_means_over_units_stay_where_clusters_of_units_are_resampled(capsys):
    """The mean over papers, by discipline: its interval is that of the disciplines' sums of papers' means."""
    own = Path(citation_resolution.__file__).parent / "sample"
    gold, run = [own / "gold"], own / "run.jsonl"
    before, now = (
        score(capsys, "citation-resolution", gold, run, *more)["metrics"][
            "success@n_macro"
        ]
        for more in ((), ("--option", "unit=discipline"))
    )
    assert now["value"] == before["value"]
    assert "|unit:discipline|" in now["signature"]


def test_a_unit_of_the_type_lies_in_one_cluster():
    with pytest.raises(InputRefused, match="“p” is of “x” and of “y” by “journal”"):
        assign_resampling_clusters(
            ["a", "b"], ["p", "p"], {}, "journal", {"a": "x", "b": "y"}
        )


def test_rows_of_clusters_are_sums_of_their_units_rows():
    metric = Counts("f1", "macro")
    stats = np.array([[1, 0, 1], [2, 1, 0], [0, 3, 1], [4, 0, 0]], dtype=float)
    units, clusters = np.array([0, 0, 1, 2]), np.array([0, 0, 1, 0])
    rows, alone = (
        build_unit_rows(metric, stats, units, clusters),
        build_unit_rows(metric, stats, units),
    )
    assert rows.tolist() == [(alone[0] + alone[2]).tolist(), alone[1].tolist()]


def test_every_type_knows_the_option_and_keeps_it_only_where_it_is_given():
    for task_type in task_types().values():
        assert "unit" in {option.name for option in task_type.all_options}
        assert "unit" not in task_type.validate_options({})


def test_what_is_told_of_a_question_is_found_by_its_name_where_documents_are_the_units(
    capsys, tmp_path
):
    own = Path(positional_citations.__file__).parent / "sample"
    kept = tmp_path / "kept.npz"
    options = json.loads((own / "options.json").read_text())
    more = [
        f"--option={name}={value.replace('{sample}', str(own))}"
        for name, value in options.items()
    ]
    more += ["--option=unit=dataset", "--statistics", str(kept)]
    score(capsys, "positional-citations", [own / "gold.json"], own / "run.jsonl", *more)
    names = load_names_of_described_units(kept)
    assert "long-answers" not in names
    assert dict(load_page_of_details(kept, 0, 1)[0])[names[0]]["sentences"]
    assert load_statistics(kept).cluster_names == ["long-answers", "short-answers"]


SEASON = """[season]
slug = "units"
title = "Units"
public = true

[[tasks]]
slug = "texts"
title = "Texts"
type = "citation-text"
options = { unit = "meta.paper" }
gold = [{ paths = ["texts.jsonl"] }]
phases = [{ slug = "open", title = "Open", opens = 2020-01-01T00:00:00Z, closes = 2090-01-01T00:00:00Z }]
baselines = [{ system = "Ours", run = "texts-run.jsonl" }]

[[tasks]]
slug = "claims"
title = "Claims"
type = "./claims-and-evidence"
options = { unit = "document" }
gold = [{ paths = ["gold"] }]
phases = [{ slug = "open", title = "Open", opens = 2020-01-01T00:00:00Z, closes = 2090-01-01T00:00:00Z }]
baselines = [{ system = "Ours", run = "claims-run.jsonl" }]
"""


@pytest.mark.django_db
def test_a_season_file_resamples_texts_by_citing_paper_and_claims_by_document(
    files, tmp_path
):
    """Down to the interval: that of the sums of each paper's, or document's, rows."""
    season = tmp_path / "season"
    shutil.copytree(EXAMPLES / "claims-and-evidence", season / "claims-and-evidence")
    for name, path in zip(("texts", "texts-run"), files, strict=True):
        shutil.copy(path, season / f"{name}.jsonl")
    (season / "gold").mkdir()
    sample = season / "claims-and-evidence" / "sample"
    shutil.copy(sample / "gold" / "corpus.jsonl", season / "gold")
    for name, target in (
        ("gold/claims.jsonl", "gold/claims.jsonl"),
        ("run.jsonl", "claims-run.jsonl"),
    ):
        rows = [json.loads(line) for line in (sample / name).read_text().splitlines()]
        again = [
            {**row, "id": 100 * number + row["id"], "document": f"D{number}"}
            for number in range(4)
            for row in rows[: 1 if target == "claims-run.jsonl" and number % 2 else 2]
        ]
        (season / target).write_text("".join(json.dumps(row) + "\n" for row in again))
    (season / "season.toml").write_text(SEASON)
    call_command("load_season", str(season))
    call_command("run_baselines", "units")
    for job in Job.objects.filter(submission__system="Ours"):
        score_job(job.pk)
    for slug, unit in (("texts", "meta.paper"), ("claims", "document")):
        evaluation = Evaluation.objects.filter(
            submission__phase__task__slug=slug
        ).order_by("pk")[0]
        with storage.statistics_file_storage.open(evaluation.statistics) as kept:
            statistics = load_statistics(kept)
        task_type = evaluation.phase.task.task_type
        metrics = build_metrics(
            task_type, evaluation.rules, task_type.validate_options(evaluation.options)
        )
        scores = {
            own.metric: own for own in evaluation.scores.all() if own.low is not None
        }
        metric = next(metric for metric in metrics if metric.name in scores)
        own = scores[metric.name]
        assert f"|unit:{unit}|units:4|" in own.signature
        rows = build_unit_rows(
            metric,
            statistics.matrices[metric.statistic],
            statistics.units,
            statistics.clusters,
        )
        assert len(rows) == 4
        assert intervals([(metric, rows)]) == [
            pytest.approx((own.low, own.high), rel=1e-9)
        ]
