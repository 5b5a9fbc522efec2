"""The extractive baselines of citation texts: held to the published outputs, and as a user runs them."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.tools.baselines import find_baselines_of_task_type
from scoring.tools.baselines.citation_text import (
    FIRST_TIE_RULE,
    SIMILARITY_THRESHOLD,
    SummarySettings,
    join_inputs_without_tags,
    rank_by_lexrank,
    summarize_by_lexrank,
    summarize_by_textrank,
    take_lead_sentences,
)
from tasks.types import task_type
from tasks.types.citation_text.instances import select_abstracts_of_cited_papers
from tasks.types.text import split_sentences_with_punkt
from tests.tasks.types.instances import DUNES, write_gold, write_lines

TYPE = "citation-text"
NAMES = ("citation-text-lead", "citation-text-lexrank", "citation-text-textrank")

needs_packages = pytest.mark.skipif(
    find_spec("summa") is None or find_spec("lexrank") is None,
    reason="TextRank and LexRank are not installed; `make models` does",
)


@pytest.fixture(scope="module")
def golden(shared) -> dict:
    return json.loads(
        (shared / "citebench_lu" / "golden" / "rouge_baselines.json").read_text()
    )


@pytest.fixture(scope="module")
def inputs(shared, golden) -> list[list[str]]:
    lines = (shared / "citebench_lu" / "instances.jsonl").read_text().splitlines()
    own = {load["id"]: load["input"] for load in map(json.loads, lines)}
    return [own[name] for name in golden["ids"]]


def given(inputs: list[list[str]], sentences: list[list[str]]):
    """A splitter that gives the sentences that the released program saw."""
    known = dict(
        zip(
            (" ".join(join_inputs_without_tags(items).split()) for items in inputs),
            sentences,
            strict=True,
        )
    )
    return lambda text: known[" ".join(text.split())]


@pytest.mark.shared
def test_lead_takes_the_published_sentences(golden, inputs):
    own = golden["variants"]["without_context"]
    cited = [select_abstracts_of_cited_papers(items) for items in inputs]
    settings = SummarySettings(split=given(cited, own["input_sentences"]))
    assert (
        take_lead_sentences(cited, settings) == own["systems"]["lead_3"]["predictions"]
    )


@pytest.mark.shared
def test_punkt_gives_the_sentences_that_the_released_program_saw(golden, inputs):
    own = golden["variants"]["without_context"]
    cited = [select_abstracts_of_cited_papers(items) for items in inputs]
    assert [
        split_sentences_with_punkt(join_inputs_without_tags(items)) for items in cited
    ] == own["input_sentences"]
    by_default = SummarySettings(split=split_sentences_with_punkt)
    assert (
        take_lead_sentences(cited, by_default)
        == own["systems"]["lead_3"]["predictions"]
    )


@pytest.mark.shared
@needs_packages
@pytest.mark.parametrize("variant", ["without_context", "with_context"])
def test_textrank_gives_the_published_texts(golden, inputs, variant):
    chosen = (
        inputs
        if variant == "with_context"
        else [select_abstracts_of_cited_papers(items) for items in inputs]
    )
    expected = golden["variants"][variant]["systems"]["textrank_summa_default"][
        "predictions"
    ]
    assert summarize_by_textrank(chosen, SummarySettings(split=str.split)) == expected


@pytest.mark.slow
@pytest.mark.shared
@needs_packages
@pytest.mark.parametrize("size", [2, 3])
def test_lexrank_gives_the_published_texts(golden, inputs, size):
    """Among equal scores the package's order is that of NumPy's sort, which differs between processors."""
    from lexrank import STOPWORDS, LexRank

    own = golden["variants"]["without_context"]
    cited = [select_abstracts_of_cited_papers(items) for items in inputs]
    settings = SummarySettings(
        split=given(cited, own["input_sentences"]), sentences=size
    )
    texts = summarize_by_lexrank(cited, settings)
    expected = own["systems"][f"lexrank_{size}"]["predictions"]
    if _sorts_by_wide_words():
        assert texts == expected
    ranker = LexRank(own["input_sentences"], stopwords=STOPWORDS["en"])
    for sentences, ours, theirs in zip(
        own["input_sentences"], texts, expected, strict=True
    ):
        scores = ranker.rank_sentences(sentences, threshold=SIMILARITY_THRESHOLD)
        assert _chosen(sentences, scores, ours) == _chosen(sentences, scores, theirs)


def _sorts_by_wide_words() -> bool:
    """Whether this processor is of the kind on which the published texts were made."""
    return "X86_V4" in np.show_config(mode="dicts")["SIMD Extensions"].get("found", ())


def _chosen(sentences: list[str], scores: np.ndarray, text: str) -> list[float]:
    """The scores of the sentences that a text is made of, best first."""
    return sorted(
        (
            round(s, 9)
            for sentence, s in zip(sentences, scores, strict=True)
            if sentence in text
        ),
        reverse=True,
    )


def predictions(run: Path) -> dict[str, str]:
    return {
        (own := json.loads(line))["id"]: own["prediction"]
        for line in run.read_text().splitlines()
    }


@needs_packages
def test_of_equal_sentences_the_first_may_be_asked_for():
    document = ["Owls hunt mice.", "Owls eat mice.", "Owls like mice.", "Rain fell."]
    assert rank_by_lexrank([document, ["Stones lie."]], 2, ties=FIRST_TIE_RULE)[0] == [
        "Owls hunt mice.",
        "Owls eat mice.",
    ]


@needs_packages
def test_without_a_word_to_weigh_the_first_sentences_stand():
    assert rank_by_lexrank([["1.", "2.", "3."], []], 2) == [["1.", "2."], []]


def test_textrank_is_silent_on_few_sentences():
    pytest.importorskip("summa")
    assert summarize_by_textrank(
        [["Rain falls. Rain ends."], [""]], SummarySettings(split=str.split)
    ) == ["", ""]


def test_lead_reads_the_cited_abstracts_or_all_items_with_their_tags(tmp_path, capsys):
    gold = write_gold(tmp_path)
    texts = {}
    for inputs in ("cited", "all"):
        out = tmp_path / f"{inputs}.jsonl"
        words = [
            "baseline",
            "citation-text-lead",
            "--gold",
            str(gold),
            "--out",
            str(out),
        ]
        assert main([*words, "--option", f"inputs={inputs}"]) == 0
        texts[inputs] = predictions(out)
    assert texts["cited"]["dunes-00"].split() == ["Wind", "moves", "dunes."]
    assert texts["all"]["dunes-00"].startswith("<abs> We map dunes. </abs>")


@needs_packages
@pytest.mark.parametrize("name", NAMES)
def test_a_baseline_answers_every_instance_from_the_public_inputs(tmp_path, name):
    gold = write_gold(tmp_path)
    write_lines(tmp_path / "inputs" / "inputs.jsonl", *_public(gold))
    out = tmp_path / "run.jsonl"
    assert (
        main(["baseline", name, "--gold", str(tmp_path / "inputs"), "--out", str(out)])
        == 0
    )
    assert predictions(out).keys() == {instance["id"] for instance in _public(gold)}


def _public(gold: Path) -> list[dict]:
    from tasks.types import task_type
    from tasks.types.files import open_input_files

    public = dict(task_type(TYPE).public_files(open_input_files(gold), {}))
    return [json.loads(line) for line in public["inputs.jsonl"].splitlines()]


def test_lexrank_weighs_words_within_each_data_set(tmp_path, capsys):
    """What other data sets of the task say must not change a published answer."""
    pytest.importorskip("lexrank")
    own = {**DUNES, "input": ["Sand drifts. Sand settles. Sand blows far. Owls sleep."]}
    alone = write_lines(tmp_path / "alone" / "dunes.jsonl", own)
    write_lines(tmp_path / "both" / "dunes.jsonl", own)
    write_lines(
        tmp_path / "both" / "owls.jsonl",
        {**DUNES, "id": "owls-00", "input": ["Sand sand. Owls. Sand."]},
    )
    found = []
    for gold in (alone, tmp_path / "both"):
        out = tmp_path / "out.jsonl"
        assert (
            main(
                [
                    "baseline",
                    "citation-text-lexrank",
                    "--gold",
                    str(gold),
                    "--out",
                    str(out),
                ]
            )
            == 0
        )
        found.append(predictions(out)["dunes-00"])
    assert found[0] == found[1]


def test_the_baselines_of_the_task_are_these():
    assert tuple(find_baselines_of_task_type(task_type(TYPE))) == NAMES


@pytest.mark.parametrize(
    "option",
    ["sentences=0", "sentences=many", "inputs=some", "splitter=none", "depth=3"],
)
def test_options_that_cannot_be_meant_are_refused(capsys, tmp_path, option):
    gold = write_gold(tmp_path)
    words = [
        "baseline",
        "citation-text-lead",
        "--gold",
        str(gold),
        "--out",
        str(tmp_path / "x"),
    ]
    assert main([*words, "--option", option]) == 2
    assert option.partition("=")[0] in capsys.readouterr().err
