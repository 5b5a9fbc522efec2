"""Declared tasks of the field have the numbers of the programs that published them."""

import json
import math

import pytest

from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from tasks.types import task_type
from tasks.types.files import open_files_of_all_inputs, open_input_files
from tasks.types.runs import read_run
from tests.declared.folders import EXAMPLES, shared
from tests.resting import rests_on_scorer

pytestmark = rests_on_scorer

STRESS = {"arxiv_version_mismatch", "merged_citation", "partial_author_list"}


def scored(kind, split, run, rules):
    answers, problems = read_run(kind, open_input_files(run), split.index, {})
    assert not [problem for problem in problems if problem.fatal]
    pairs = kind.pair(split, answers, rules, {})
    return evaluate_pairs(
        kind,
        pairs,
        rules=rules,
        options={},
        gold=split.digest,
        resampling=IntervalSettings(resamples=0),
    )


def same(ours, theirs):
    if math.isnan(theirs):
        return ours is None or math.isnan(ours)
    return ours == pytest.approx(theirs, abs=1e-12)


def test_reference_verification_is_scored_as_hallmark_does():
    place = shared("reference_verification")
    kind = task_type(str(EXAMPLES / "reference-verification"))
    split = kind.read_gold(open_input_files(place / "dev_public.jsonl"), {})
    runs = sorted((place / "runs").iterdir())
    assert len(runs) == 12
    for run in runs:
        golden = json.loads((place / "golden" / f"{run.stem}.json").read_text())
        for rules, mode in (
            ("official", "conservative"),
            ("official-aggressive", "aggressive"),
        ):
            found, wanted = scored(kind, split, run, rules), golden[mode]
            values = {name: metric.value for name, metric in found.metrics.items()}
            expected = {"f1": "f1_hallucination"} | {
                name: name
                for name in (
                    "detection_rate", "false_positive_rate", "macro_f1", "mcc", "tier_weighted_f1", "tier3_f1",  # noqa: E501
                    "ece", "auroc", "auprc", "coverage", "coverage_adjusted_f1",
                )
            }  # fmt: skip
            for ours, theirs in expected.items():
                number = wanted[theirs]
                assert same(values[ours], math.nan if number is None else number), (
                    run.stem,
                    rules,
                    ours,
                )
            assert same(values["type_accuracy"], wanted["type_accuracy"]["overall"])
            for tier, numbers in wanted["per_tier_metrics"].items():
                own = found.breakdowns["tier"][tier]
                for name in (
                    "detection_rate",
                    "false_positive_rate",
                    "f1",
                    "precision",
                ):
                    assert same(own[name]["value"], numbers[name]), (
                        run.stem,
                        rules,
                        tier,
                        name,
                    )
                assert same(
                    own["type_accuracy"]["value"],
                    wanted["type_accuracy"][f"tier_{tier}"],
                )
            for name, numbers in wanted["per_type_metrics"].items():
                own = found.breakdowns["type"][name]
                assert own["coverage"]["n"] == numbers["count"]
                assert same(
                    own["detection_rate"]["value"], numbers["detection_rate"]
                ), (run.stem, name)
                assert same(own["f1"]["value"], numbers["f1"]), (run.stem, name)
                # The program divides by nothing where no valid entries are; here that is undefined.
                of_valid = (
                    numbers["false_positive_rate"] if name == "valid" else math.nan
                )
                assert same(own["false_positive_rate"]["value"], of_valid), (
                    run.stem,
                    name,
                )


def test_under_the_corrected_rules_nobody_gains_by_abstaining():
    place = shared("reference_verification")
    kind = task_type(str(EXAMPLES / "reference-verification"))
    split = kind.read_gold(open_input_files(place / "dev_public.jsonl"), {})
    for run in sorted((place / "runs").iterdir())[:3]:
        corrected, official = (
            scored(kind, split, run, rules).metrics
            for rules in ("corrected", "official")
        )
        assert corrected["detection_rate"].value <= official["detection_rate"].value
        assert corrected["coverage"].value == official["coverage"].value
        assert corrected["auroc"].value == official["auroc"].value


def test_the_secret_fields_of_references_are_in_nothing_that_participants_get():
    place = shared("reference_verification")
    kind = task_type(str(EXAMPLES / "reference-verification"))
    public = dict(kind.public_files(open_input_files(place / "dev_public.jsonl"), {}))
    rows = list(map(json.loads, public["inputs.jsonl"].splitlines()))
    assert {key for row in rows for key in row} == {
        "bibtex_key",
        "bibtex_type",
        "fields",
    }
    assert not [row for row in rows if "url" in row["fields"]]


def test_claims_and_evidence_are_scored_as_scifact_does():
    place = shared("claim_evidence")
    kind = task_type(str(EXAMPLES / "claims-and-evidence"))
    split = kind.read_gold(
        open_files_of_all_inputs([place / "claims.jsonl", place / "corpus.jsonl"]), {}
    )
    runs = sorted((place / "runs").iterdir())
    assert len(runs) == 24
    for run in runs:
        values = scored(kind, split, run, "official").metrics
        for measure, parts in json.loads(
            (place / "golden" / f"{run.stem}.json").read_text()
        ).items():
            for part, number in parts.items():
                assert same(values[f"{measure}_{part}"].value, number), (
                    run.stem,
                    measure,
                    part,
                )
