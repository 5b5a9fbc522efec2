"""The original files of citation texts as instances, with the faults that the benchmark has."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from tests.scoring.offline import score

CITED = {
    f"@cite_{n}": {"mid": str(n), "abstract": f"Abstract {n}."}
    for n in (1, *range(10, 20))
}
LU = {
    "aid": "x",
    "abstract": "We map rivers.",
    "related_work": "Rivers are old @cite_1 and long @cite_19.",
    "ref_abstract": {**CITED, "@cite_10": {"mid": "10", "abstract": ""}},
}
XING = {
    "train_or_test": "test",
    "src_abstract": " We cite. ",
    "tgt_abstract": "We are cited.",
    "explicit_citation": "Owls hunt #REFR, others #OTHERREF.",
    "text_before_explicit_citation": ["Night falls.", "It is dark."],
    "text_after_explicit_citation": "Mice hide.",
}
CHEN = {
    "abs": "Owls [0] and mice [10].",
    "multi_doc": [f"[{n}] Text {n}." for n in range(11)],
}


def build(corpus: Path, out: Path, *more: str) -> list[dict]:
    assert (
        main(
            [
                "build-citation-text",
                str(corpus),
                "--out",
                str(out),
                "--no-baselines",
                *more,
            ]
        )
        == 0
    )
    gold = max((out / "gold").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    return [json.loads(line) for line in gold.read_text().strip().split("\n")]


def faults(out: Path, dataset: str) -> list[tuple[str, str]]:
    lines = (out / "faults" / f"{dataset}.jsonl").read_text().splitlines()
    return [(load["fault"], load["found"]) for load in map(json.loads, lines)]


def written(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_multi_xscience_keeps_its_damaged_marks_and_empty_abstracts(tmp_path):
    corpus = written(tmp_path / "lu" / "test.json", [LU]).parent
    written(corpus / "train.json", [LU, LU])
    (instance,) = build(corpus, tmp_path / "out")
    assert instance["id"] == "lu-00"
    assert instance["target"] == "Rivers are old [0] and long [0]9."
    assert instance["input"][:3] == ["Abstract 1.", "", "Abstract 11."]
    assert instance["input"][10] == " Abstract 19."
    assert faults(tmp_path / "out", "lu") == [
        ("damaged mark", "[0]9"),
        ("empty cited abstract", "[1]"),
        ("cited abstract begins with a space", "[10]"),
    ]


def test_context_stands_in_tags_before_the_cited_abstracts(tmp_path):
    (lu,) = build(written(tmp_path / "test.json", [LU]), tmp_path / "lu", "--context")
    assert lu["input"][0] == "<abs> We map rivers. </abs>"
    (xing,) = build(
        written(tmp_path / "citation.jsonl", XING), tmp_path / "xing", "--context"
    )
    assert xing["input"] == [
        "<abs> We are cited. </abs>",
        "<ctx_b> Night falls. It is dark. </ctx_b>",
        "<ctx_a> Mice hide. </ctx_a>",
        "We cite.",
    ]


def test_xing_has_the_two_abstracts_exchanged_and_the_split_of_each_record(tmp_path):
    corpus = tmp_path / "citation.jsonl"
    corpus.write_text(
        "\n".join(
            json.dumps(each) for each in ({**XING, "train_or_test": "train"}, XING)
        )
    )
    (instance,) = build(corpus, tmp_path / "out")
    assert instance == {
        "id": "xing-00",
        "input": ["We cite."],
        "target": "Owls hunt [0], others #OTHERREF.",
    }
    assert faults(tmp_path / "out", "xing") == [
        ("abstracts of the citing and the cited paper exchanged", "")
    ]


def test_chen_loses_four_characters_whatever_the_number(tmp_path):
    corpus = written(tmp_path / "delve" / "valid.jsonl", json.dumps(CHEN)).parent
    (instance,) = build(corpus, tmp_path / "out", "--split", "val")
    assert instance["id"] == "chen_delve-00"
    assert instance["input"][0] == "Text 0."
    assert instance["input"][10] == " Text 10."
    assert instance["target"] == "Owls [0] and mice [10]."


def test_aburaed_has_signs_for_digits_and_for_other_citations(tmp_path):
    written(tmp_path / "a" / "test.txt.src", "We use 12 rules.\nOwls\x85hunt.\n")
    target = "<t> Smith et al. (2004) and <cite> agree (Lee, 1999; Kim, 2001) in 3 cases [7] . </t>"
    written(tmp_path / "a" / "test.txt.tgt.tagged", f"{target}\nOwls <cite> .\n")
    first, second = build(tmp_path / "a", tmp_path / "out")
    assert first == {
        "id": "aburaed-00",
        "target": "<CITE> and [0] agree <CITE> in # cases <CITE> .",
        "input": ["We use ## rules."],
    }
    assert second["input"] == ["Owls\x85hunt."]
    assert faults(tmp_path / "out", "aburaed") == [("digits are “#”", "")]


def test_sources_without_as_many_targets_are_refused(tmp_path, capsys):
    written(tmp_path / "a" / "test.txt.src", "One.\nTwo.\n")
    written(tmp_path / "a" / "test.txt.tgt.tagged", "One.\n")
    words = ["build-citation-text", str(tmp_path / "a"), "--out", str(tmp_path / "out")]
    assert main(words) == 2
    assert "2 lines of sources and 1 of targets" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("test.json", [{"text": "x"}], "the form of these files is not known"),
        ("test.json", "[{", "the form of these files is not known"),
        (
            "sample.json",
            [{"target": "See [0].", "input": ["Mice."]}],
            "which are gold as they are; expected `scoring score citation-text --gold",
        ),
        (
            "test.json",
            [{**LU, "related_work": 3}],
            "“related_work” is not as in the source",
        ),
        (
            "citation.jsonl",
            {**XING, "train_or_test": "train"},
            "no instances of the split “test” are here",
        ),
    ],
)
def test_files_that_are_no_source_are_refused(tmp_path, capsys, name, content, message):
    corpus = written(tmp_path / name, content)
    assert (
        main(["build-citation-text", str(corpus), "--out", str(tmp_path / "out")]) == 2
    )
    assert message in capsys.readouterr().err


def test_data_sets_are_added_to_one_season_that_scores(tmp_path, capsys):
    out = tmp_path / "season"
    build(written(tmp_path / "test.json", [LU]), out)
    build(written(tmp_path / "citation.jsonl", XING), out)
    card = (out / "card.md").read_text()
    assert "| lu | 1 | 11 |" in card
    assert "| xing | 1 | 1 |" in card
    assert "lu: 1 damaged marks" in card
    assert "Rivers are old" not in card
    assert 'type = "citation-text"' in (out / "season.toml").read_text()
    run = tmp_path / "run.jsonl"
    run.write_text(json.dumps({"id": "lu-00", "prediction": "Rivers [0]."}))
    capsys.readouterr()
    assert list(
        score(capsys, "citation-text", [out / "gold"], run)["breakdowns"]["dataset"]
    ) == [
        "lu",
        "xing",
    ]


def described(capsys, *gold: Path, more: tuple[str, ...] = ()) -> dict:
    assert (
        main(
            [
                "papers",
                "describe-citation-text",
                "--gold",
                *map(str, gold),
                *more,
                "--json",
            ]
        )
        == 0
    )
    return json.loads(capsys.readouterr().out)


def gold_of(folder: Path, dataset: str, *instances: tuple[str, list[str]]) -> Path:
    lines = [
        json.dumps({"target": target, "input": items}) for target, items in instances
    ]
    return written(folder / f"{dataset}.jsonl", "\n".join(lines))


def test_any_gold_is_described_by_data_set_and_over_all(tmp_path, capsys):
    owls = gold_of(
        tmp_path,
        "owls",
        ("In this paper we present owls [0].", ["Owls hunt at night.", "Mice hide."]),
        (
            "word " * 1025,
            ["word " * 4090, "<abs> five more words than these </abs>", "and two"],
        ),
    )
    mice = gold_of(
        tmp_path, "mice", ("The Main Objective of Our Work is mice.", ["Mice"])
    )
    found = described(capsys, owls, mice)
    assert found["counted_in"] == "words"
    first, second, whole = found["data_sets"]
    assert (first["name"], second["name"], whole["name"]) == ("owls", "mice", "all")
    assert [own["instances"] for own in found["data_sets"]] == [2, 1, 3]
    assert [own["cited_papers"] for own in found["data_sets"]] == [4, 1, 5]
    assert first["output_words"] == (7 + 1025) / 2
    # The tags are no words, what stands between them is.
    assert first["input_words"] == (6 + 4097) / 2
    assert (first["long_inputs"], first["long_outputs"]) == (1, 1)
    assert [own["self_references"] for own in found["data_sets"]] == [1, 1, 2]
    assert [own["printed_self_references"] for own in found["data_sets"]] == [1, 1, 2]
    assert whole["phrases"] == {
        "our work": 1,
        "in this paper": 1,
        "we present": 1,
        "we introduce": 0,
        "the main objective of our work": 1,
    }


def test_one_data_set_has_no_line_for_all_and_tables_for_readers(tmp_path, capsys):
    mice = gold_of(
        tmp_path, "mice", ("Our work is on mice.", ["Mice hide."]), ("Mice.", ["Mice"])
    )
    assert len(described(capsys, mice)["data_sets"]) == 1
    assert main(["papers", "describe-citation-text", "--gold", str(mice)]) == 0
    printed = capsys.readouterr().out
    assert "| mice | 2 | 2 | 0 (0 %) | 0 (0 %) |" in printed
    assert "| mice | 3.0 | 1.5 |" in printed
    assert "| mice | 1 (50 %) | 1 | 0 | 0 | 0 | 0 |" in printed


def test_tokens_are_those_of_a_local_tokenizer(tmp_path, capsys):
    pytest.importorskip("transformers")
    from transformers import BertTokenizerFast

    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nmice\n.\n##s")
    folder = tmp_path / "tokenizer"
    BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt")).save_pretrained(folder)
    # A full stop is a token of its own.
    gold = gold_of(
        tmp_path, "mice", ("mice. " * 513, ["mice"]), ("mice. " * 512, ["mice"])
    )
    found = described(capsys, gold, more=("--tokenizer", str(folder)))
    assert (found["counted_in"], found["data_sets"][0]["long_outputs"]) == ("tokens", 1)
    assert described(capsys, gold)["data_sets"][0]["long_outputs"] == 0


def test_gold_that_is_none_and_a_folder_without_a_tokenizer_are_refused(
    tmp_path, capsys
):
    no_gold = written(tmp_path / "mice.jsonl", '{"input": ["Mice"]}')
    assert main(["papers", "describe-citation-text", "--gold", str(no_gold)]) == 2
    assert "“target” is missing" in capsys.readouterr().err
    gold = gold_of(tmp_path / "gold", "mice", ("Mice.", ["Mice"]))
    pytest.importorskip("transformers")
    assert (
        main(
            [
                "papers",
                "describe-citation-text",
                "--gold",
                str(gold),
                "--tokenizer",
                str(tmp_path),
            ]
        )
        == 6
    )
    assert "holds no tokenizer" in capsys.readouterr().err


def test_a_built_season_has_the_tables_for_its_organisers_and_not_on_its_card(tmp_path):
    build(written(tmp_path / "xing.jsonl", XING), tmp_path / "out", "--name", "xing")
    assert (
        "Texts that speak of the citing paper"
        in (tmp_path / "out" / "datasheet.md").read_text()
    )
    assert "speak" not in (tmp_path / "out" / "card.md").read_text()
