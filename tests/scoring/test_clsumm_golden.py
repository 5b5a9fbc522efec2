"""Held to what the official program of 2017 printed for four runs over twelve topics of the corpus.

Source: the CL-SciSumm 2017 scorer; the data pack describes the numbers beside them.
"""

import json
import shutil
from pathlib import Path

import pytest

from tests.resting import rests_on_scorer
from tests.scoring.offline import score

RUNS = ("top1_majority", "top3_lexical", "oracle", "awkward")
PARTS = ("precision", "recall", "f1")
OFFICIAL = ("--rules", "official-2017", "--intervals", "0")

pytestmark = [pytest.mark.shared, rests_on_scorer]


@pytest.fixture
def corpus(shared: Path) -> Path:
    return shared / "scisumm"


@pytest.fixture
def gold(corpus: Path) -> list[Path]:
    """The ten pilot topics, and the two that were released later."""
    return [
        corpus / "pilot",
        corpus / "cleaned" / "P06-2124",
        corpus / "cleaned" / "N06-2049",
    ]


def golden(corpus: Path, run: str) -> dict:
    return json.loads((corpus / "golden" / "annv3" / run / "scores.json").read_text())


def same(expected: float) -> object:
    return pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize(
    ("task", "family", "part_of_golden"),
    [
        ("clsumm-1a", "overlap", "1a"),
        ("clsumm-1b", "facet", "1b"),
    ],
)
@pytest.mark.parametrize("run", RUNS)
def test_every_topic_has_the_official_counts_and_scores(
    capsys, corpus, gold, run, task, family, part_of_golden, tmp_path
):
    folder = corpus / "golden" / "annv3" / run / "submission"
    kept = tmp_path / "statistics.npz"
    scores = score(capsys, task, gold, folder, *OFFICIAL, "--statistics", str(kept))
    expected = {
        name.partition(".")[0]: topic[part_of_golden]
        for name, topic in golden(corpus, run)["per_gold_file"].items()
    }
    assert counts_by_topic(kept, family) == {
        topic: (own["tp"], own["fp"], own["fn"]) for topic, own in expected.items()
    }
    breakdown = scores["breakdowns"]["topic"]
    assert sorted(breakdown) == sorted(expected)
    for topic, own in expected.items():
        for part in PARTS:
            assert breakdown[topic][f"{family}_{part}_micro"]["value"] == same(
                own[part]
            ), (topic, part)


def counts_by_topic(kept: Path, statistic: str) -> dict[str, tuple[int, int, int]]:
    from scoring.offline.evaluate import load_statistics

    statistics = load_statistics(kept)
    return {
        name: tuple(
            int(count)
            for count in statistics.matrices[statistic][statistics.units == unit].sum(
                axis=0
            )
        )
        for unit, name in enumerate(statistics.unit_names)
    }


@pytest.mark.parametrize("run", RUNS)
def test_micro_and_macro_are_those_of_the_official_program(capsys, corpus, gold, run):
    expected = golden(corpus, run)
    folder = corpus / "golden" / "annv3" / run / "submission"
    overlap = score(capsys, "clsumm-1a", gold, folder, *OFFICIAL)["metrics"]
    facet = score(capsys, "clsumm-1b", gold, folder, *OFFICIAL)["metrics"]
    pooled, printed = expected["pooled_counts"], expected["averages_as_printed"]
    right = {
        "precision": pooled["tp1a"] / (pooled["tp1a"] + pooled["fp1a"]),
        "recall": pooled["tp1a"] / (pooled["tp1a"] + pooled["fn1a"]),
        "f1": 2
        * pooled["tp1a"]
        / (2 * pooled["tp1a"] + pooled["fp1a"] + pooled["fn1a"]),
    }
    for part in PARTS:
        assert overlap[f"overlap_{part}_micro"]["value"] == same(right[part])
        assert facet[f"facet_{part}_micro"]["value"] == same(
            expected["1b_micro_from_counts"][part]
        )
        for number, metrics, family in (
            ("1a", overlap, "overlap"),
            ("1b", facet, "facet"),
        ):
            macro = metrics[f"{family}_{part}_macro"]["value"]
            assert macro == pytest.approx(macro_of(expected, number)[part], rel=1e-12)
            # The program prints twelve digits.
            assert macro == pytest.approx(
                printed[f"task{number}_{part}_macro_avg"], abs=1e-11
            )


def macro_of(expected: dict, number: str) -> dict[str, float]:
    """The mean precision and recall over gold files, and F1 from those two means."""
    files = [own[number] for own in expected["per_gold_file"].values()]
    precision = sum(own["precision"] for own in files) / len(files)
    recall = sum(own["recall"] for own in files) / len(files)
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / both if both else 0.0,
    }


def test_under_fair_rules_a_missing_topic_counts_as_missed(capsys, corpus, gold):
    folder = corpus / "golden" / "annv3" / "awkward" / "submission"
    official = score(capsys, "clsumm-1a", gold, folder, *OFFICIAL)
    corrected = score(
        capsys, "clsumm-1a", gold, folder, "--rules", "corrected", "--intervals", "0"
    )
    assert corrected["notes"]["missing_topics"] == 1
    assert "P06-2124" not in official["breakdowns"]["topic"]
    assert (
        corrected["breakdowns"]["topic"]["P06-2124"]["overlap_recall_micro"]["value"]
        == 0
    )
    assert (
        corrected["metrics"]["overlap_recall_micro"]["value"]
        < official["metrics"]["overlap_recall_micro"]["value"]
    )


def test_under_fair_rules_two_citances_with_one_marker_are_told_apart_by_their_number(
    capsys, corpus, gold
):
    """N01-1011 has two citances with one citing paper and marker; the official key merges them."""
    folder = corpus / "golden" / "annv3" / "oracle" / "submission"
    corrected = score(capsys, "clsumm-1a", gold, folder, "--intervals", "0")
    assert corrected["metrics"]["overlap_f1_micro"]["value"] == 1
    assert (
        corrected["notes"]["unknown_citances"]
        == corrected["notes"]["missing_citances"]
        == 0
    )
    official = score(capsys, "clsumm-1a", gold, folder, *OFFICIAL)
    topics = [
        scores["breakdowns"]["topic"]["N01-1011"]["overlap_recall_micro"]["n"]
        for scores in (official, corrected)
    ]
    assert topics == [7, 8]


def test_under_fair_rules_facet_spellings_are_merged(capsys, corpus, gold, tmp_path):
    submission = tmp_path / "run"
    shutil.copytree(corpus / "golden" / "annv3" / "oracle" / "submission", submission)
    for file in submission.iterdir():
        file.write_text(
            file.read_text()
            .replace("Results_Citation", "Result_Facet")
            .replace("Method_Citation", "METHOD citation")
        )
    corrected = score(capsys, "clsumm-1b", gold, submission, "--intervals", "0")[
        "metrics"
    ]
    official = score(capsys, "clsumm-1b", gold, submission, *OFFICIAL)["metrics"]
    assert corrected["facet_f1_micro"]["value"] == 1
    assert official["facet_f1_micro"]["value"] < 1


@pytest.mark.parametrize("run", ["top1_majority", "top3_lexical", "oracle"])
def test_json_lines_score_as_the_annotation_lines_do(
    capsys, corpus, gold, run, tmp_path
):
    folder = corpus / "golden" / "annv3" / run
    lines = tmp_path / "run.jsonl"
    lines.write_text(
        "".join(
            json_line(topic, each)
            for topic, own in predictions(folder).items()
            for each in own
        )
    )
    for task in ("clsumm-1a", "clsumm-1b"):
        for rules in ("corrected", "official-2017"):
            texts = score(
                capsys,
                task,
                gold,
                folder / "submission",
                "--rules",
                rules,
                "--intervals",
                "0",
            )
            ours = score(
                capsys, task, gold, lines, "--rules", rules, "--intervals", "0"
            )
            assert values(ours) == values(texts)


def predictions(folder: Path) -> dict[str, list[dict]]:
    return json.loads((folder / "predictions.json").read_text())


def json_line(topic: str, prediction: dict) -> str:
    line = {
        "topic": topic,
        "citing": prediction["citing"],
        "marker": prediction["marker_offset"],
        "citance": prediction["citance"],
        "sentences": prediction["reference_sids"],
        "facets": prediction["facets"],
    }
    return json.dumps(line) + "\n"


def values(scores: dict) -> dict[str, float]:
    return {name: metric["value"] for name, metric in scores["metrics"].items()}


@pytest.mark.parametrize("inside", ["Task1/", "", "our-run/Task1/"])
def test_a_zip_scores_as_the_folder_does(capsys, corpus, gold, tmp_path, inside):
    folder = corpus / "golden" / "annv3" / "top3_lexical" / "submission"
    staged = tmp_path / "staged" / inside
    staged.mkdir(parents=True)
    for file in folder.iterdir():
        shutil.copy(file, staged)
    archive = shutil.make_archive(str(tmp_path / "run"), "zip", tmp_path / "staged")
    assert values(score(capsys, "clsumm-1a", gold, Path(archive), *OFFICIAL)) == values(
        score(capsys, "clsumm-1a", gold, folder, *OFFICIAL)
    )


def test_gold_has_one_digest_however_it_is_packed(capsys, corpus, gold, tmp_path):
    run = corpus / "golden" / "annv3" / "top1_majority" / "submission"
    archive = shutil.make_archive(
        str(tmp_path / "topic"), "zip", corpus / "pilot", "C90-2039_TRAIN"
    )
    folder = score(capsys, "clsumm-1a", [corpus / "pilot" / "C90-2039_TRAIN"], run)
    packed = score(capsys, "clsumm-1a", [Path(archive)], run)
    assert folder["gold"]["sha256"] == packed["gold"]["sha256"]
    assert folder["metrics"] == packed["metrics"]
