"""What sentences are parsed with: a pipeline that may be missing, or parses that were made elsewhere."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import UNAVAILABLE_EXIT_CODE, main
from tasks.types.positional_citations import parsing
from tasks.types.positional_citations.claims import (
    ClaimSplittingRules,
    get_text_to_parse,
    split_into_claims,
)
from tasks.types.positional_citations.parsing import parse_texts
from tests.scoring.offline import refusals, score
from tests.tasks.types.citations import (
    RAIN,
    flat,
    flat_parse,
    write_gold,
    write_parses,
    write_run,
)

TYPE = "positional-citations"


@pytest.fixture
def gold(tmp_path) -> Path:
    return write_gold(tmp_path, RAIN)


@pytest.fixture
def run(tmp_path) -> Path:
    return write_run(tmp_path, {"q1": "It rains in Oslo [1]. It rains in Oslo [2]."})


@pytest.fixture
def pipeline(shared) -> Path:
    pytest.importorskip("spacy")
    return shared / "spacy" / "en_test_sm"


def told(capsys, *arguments: str) -> str:
    assert main(["score", TYPE, *arguments]) == UNAVAILABLE_EXIT_CODE
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (
            "en_core_web_none",
            "the spaCy pipeline en_core_web_none is not installed: `make models` installs",
        ),
        ("{tmp}", "is no spaCy pipeline: it has no meta.json"),
        ("{tmp}/none.jsonl", "there is no file of parses"),
    ],
)
def test_a_parser_that_is_missing_is_named_and_the_run_is_not_at_fault(
    capsys, gold, run, tmp_path, option, reason
):
    option = option.replace("{tmp}", str(tmp_path))
    assert reason in told(
        capsys, "--gold", str(gold), "--run", str(run), "--option", f"parser={option}"
    )


def test_a_run_without_marks_waits_for_the_parser_like_any_other(
    capsys, gold, tmp_path
):
    """Otherwise its numbers would stand in a column of their own."""
    run = write_run(tmp_path, {"q1": "It rains."})
    assert "is not installed" in told(
        capsys,
        "--gold",
        str(gold),
        "--run",
        str(run),
        "--option",
        "parser=en_core_web_none",
    )


def test_a_parse_that_is_missing_is_quoted(capsys, gold, run, tmp_path):
    parses = write_parses(tmp_path, "Another text")
    said = told(capsys, "--gold", str(gold), "--run", str(run), *flat(parses=parses))
    assert "has no parse of 1 texts; the first is “It rains in Oslo”" in said


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"tokens": ["It"]}, "1 tokens, 4 heads and 4 relations"),
        (
            {"heads": [1, 2, 1, 1], "relations": ["dep"] * 4},
            "do not lead to a token with the relation ROOT",
        ),
        ({"heads": ["1", 1, 1, 1]}, "“heads” is no list of numbers"),
        ({"heads": [9, 1, 1, 1]}, "do not lead to a token"),
        ({"text": None}, "“text” is no text"),
    ],
)
def test_broken_parses_are_refused_by_line(capsys, gold, run, tmp_path, change, reason):
    parses = tmp_path / "parses.jsonl"
    good = flat_parse("It rains in Oslo")
    parses.write_text(json.dumps(good) + "\n" + json.dumps({**good, **change}) + "\n")
    said = refusals(capsys, TYPE, [gold], run, *flat(parses=parses))
    assert said[0].startswith(f"{parses}:2: ")
    assert reason in said[0]


def test_the_signature_names_the_parses_by_their_digest(capsys, gold, run, tmp_path):
    first = score(
        capsys,
        TYPE,
        [gold],
        run,
        *flat(parses=write_parses(tmp_path, "It rains in Oslo")),
    )
    other = score(
        capsys,
        TYPE,
        [gold],
        run,
        *flat(parses=write_parses(tmp_path, "It rains in Oslo", "More")),
    )
    columns = [each["metrics"]["aliice_recall"]["column"] for each in (first, other)]
    assert all("|parser:parses-" in column for column in columns)
    assert columns[0] != columns[1]
    assert "spacy" not in first["metrics"]["aliice_recall"]["signature"]
    assert "parser" not in first["metrics"]["alce_recall"]["column"]


@pytest.mark.shared
def test_the_signature_names_pipeline_version_and_digest_and_the_version_of_spacy(
    capsys, gold, run, pipeline
):
    import spacy

    scores = score(capsys, TYPE, [gold], run, "--option", f"parser={pipeline}")
    signature = scores["metrics"]["aliice_recall"]["signature"]
    assert "|parser:en_core_web_test-0.1.0-" in signature
    assert f"|spacy:{spacy.__version__}|" in signature


@pytest.mark.shared
def test_each_distinct_sentence_is_parsed_once_and_in_batches(
    capsys, gold, tmp_path, pipeline, monkeypatch
):
    asked = []
    loaded = parsing.load_spacy_pipeline(str(pipeline))

    class Watched:
        def pipe(self, texts, batch_size):
            asked.append(list(texts))
            return loaded.pipe(texts, batch_size=batch_size)

    monkeypatch.setattr(parsing, "load_spacy_pipeline", lambda option: Watched())
    run = write_run(
        tmp_path,
        {
            "q1": "It rains in Oslo [1]. It rains in Oslo [2]. Rome is dry [2]. It rains."
        },
    )
    score(capsys, TYPE, [gold], run, "--option", f"parser={pipeline}")
    assert asked == [["It rains in Oslo", "Rome is dry"]]


@pytest.mark.shared
def test_of_a_pipeline_only_what_finds_heads_and_relations_is_loaded(pipeline):
    assert parsing.load_spacy_pipeline(str(pipeline)).pipe_names == ["parser"]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "is_official"), [("claims.json", True), ("claims_commas_kept.json", False)]
)
def test_the_small_pipeline_gives_the_golden_claims(
    shared, pipeline, file, is_official
):
    """All but one sentence, of which it makes one root where the original made two."""
    rules = ClaimSplittingRules(is_official=is_official)
    cases = json.loads((shared / "aliice" / "golden" / file).read_text())["cases"]
    texts = {
        case["sentence"]: get_text_to_parse(case["sentence"], rules) for case in cases
    }
    parses = parse_texts((text for text in texts.values() if text), str(pipeline))
    different = [
        case["id"]
        for case in cases
        if [
            (claim.text, list(claim.marks))
            for claim in split_into_claims(
                case["sentence"], parses.get(texts[case["sentence"]] or ""), rules
            ).claims
        ]
        != [
            (claim["text"], claim["citations"])
            for claim in case["result"]["claims"]
            if claim["citations"]
        ]
    ]
    assert different == (["p072"] if is_official else [])
