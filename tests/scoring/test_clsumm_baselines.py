"""The pilot's systems: the same run from gold and from public inputs, and numbers near the published ones."""

import io
import json
import re
import shutil
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.papers.facet_folds import GROUPING_BY_PROTOCOL, convert_pairs_to_json
from scoring.tools.baselines import baseline, baselines
from scoring.tools.baselines.clsumm_facets import list_facet_pairs
from tasks.types import task_type
from tasks.types.clsumm.citances import FACETS
from tasks.types.clsumm.topics import read_topics
from tasks.types.files import InputFile, open_files_of_all_inputs
from tests.scoring.golden import gold_2017
from tests.scoring.offline import score

OURS = [name for name in baselines() if name.startswith("clsumm-")]


@pytest.fixture
def corpus(shared: Path) -> Path:
    return shared / "scisumm"


def write(name: str, gold: list[Path], folder: Path) -> Path:
    run = folder / f"{name}.jsonl"
    assert main(["baseline", name, "--gold", *map(str, gold), "--out", str(run)]) == 0
    return run


def lines(run: Path) -> list[dict]:
    return [json.loads(line) for line in run.read_text().splitlines()]


@pytest.mark.parametrize("name", OURS)
def test_a_baseline_needs_no_more_than_participants_have_and_its_run_can_be_scored(
    capsys, root, name, tmp_path
):
    gold = root / "examples" / "demo-season"
    run = write(name, [gold], tmp_path)
    capsys.readouterr()
    chosen = task_type(baseline(name).task_types[0])
    options = chosen.validate_options({})
    public = [
        InputFile(path, path, lambda content=content: io.BytesIO(content))
        for path, content in chosen.public_files(
            open_files_of_all_inputs([gold]), options
        )
    ]
    if not baseline(name).learns_from_gold:
        assert list(baseline(name).answers(public)) == lines(run)
    for slug in baseline(name).task_types:
        scores = score(capsys, slug, [gold], run, "--intervals", "0")
        assert scores["notes"]["missing_topics"] == 0
        assert scores["notes"].get("unknown_citances", 0) == 0


def test_an_unknown_baseline_is_answered_with_the_known_ones(capsys, root, tmp_path):
    command = [
        "baseline",
        "clsumm-mq-topic",
        "--gold",
        str(root),
        "--out",
        str(tmp_path / "run.jsonl"),
    ]
    assert main(command) == 2
    assert "did you mean clsumm-mq-topics?" in capsys.readouterr().err


def test_the_list_names_each_baseline_with_its_tasks_and_source(capsys):
    assert main(["baselines", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert set(OURS) <= set(listed)
    assert listed["clsumm-mq-mmr"]["task_types"] == ["clsumm-1a", "clsumm-1b"]
    assert "Pilot" in listed["clsumm-mq-mmr"]["source"]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "run"),
    [("clsumm-tfidf-top1", "top1_majority"), ("clsumm-tfidf-top3", "top3_lexical")],
)
def test_tfidf_chooses_the_sentences_of_the_data_packs_own_baselines(
    corpus, name, run, tmp_path
):
    """Source: the predictions beside the golden scores, made by another program from the same description."""
    expected = json.loads(
        (corpus / "golden" / "annv3" / run / "predictions.json").read_text()
    )
    chosen: dict[str, list[list[str]]] = {}
    for line in lines(write(name, gold_2017(corpus), tmp_path)):
        chosen.setdefault(line["topic"], []).append(line["sentences"])
    assert chosen == {
        topic: [prediction["reference_sids"] for prediction in predictions]
        for topic, predictions in expected.items()
    }


@pytest.mark.shared
def test_the_papers_first_words_are_the_data_packs_run_of_250_words(corpus, tmp_path):
    for line in lines(write("clsumm-lead", [corpus / "pilot"], tmp_path)):
        file = (
            corpus
            / "golden"
            / "task2"
            / "lead250"
            / "submission"
            / f"{line['topic']}.system.txt"
        )
        assert " ".join(line["summary"]).split() == file.read_text().split()


@pytest.mark.shared
def test_a_baseline_answers_the_annotation_that_it_is_asked_for(corpus, tmp_path):
    counts = {}
    for version in ("annv2", "annv3"):
        run = tmp_path / f"{version}.jsonl"
        command = [
            "baseline",
            "clsumm-taln",
            "--gold",
            str(corpus / "pilot"),
            "--out",
            str(run),
        ]
        assert main([*command, "--option", f"annotation={version}"]) == 0
        counts[version] = len(lines(run))
    assert counts == {"annv2": 141, "annv3": 135}


@pytest.mark.shared
def test_a_topic_is_answered_by_what_the_gold_of_the_others_teaches(corpus, tmp_path):
    """With its own gold changed a topic's answers stay; without the others' they are those of the cosine."""
    topics = sorted((corpus / "pilot").glob("*_TRAIN"))[:3]
    copies = [Path(shutil.copytree(topic, tmp_path / topic.name)) for topic in topics]
    name = copies[0].name.removesuffix("_TRAIN")

    def answers_of_first() -> list[list[str]]:
        run = write("clsumm-umich-supervised", copies, tmp_path)
        return [line["sentences"] for line in lines(run) if line["topic"] == name]

    before = answers_of_first()
    own = copies[0] / "annotation" / f"{name}.annv3.txt"
    own.write_text(
        re.sub(
            r"Reference Offset: *\[[^]]*\]", "Reference Offset: ['1']", own.read_text()
        )
    )
    assert answers_of_first() == before
    for copy in copies[1:]:
        file = next((copy / "annotation").glob("*.annv3.txt"))
        file.write_text(
            re.sub(
                r"Reference Offset: *\[[^]]*\]",
                "Reference Offset: ['none']",
                file.read_text(),
            )
        )
    cosine = lines(write("clsumm-tfidf-top2", copies, tmp_path))
    assert (
        answers_of_first()
        == [line["sentences"] for line in cosine if line["topic"] == name]
        != before
    )


@pytest.mark.shared
@pytest.mark.proof
def test_facets_reach_the_published_numbers_only_where_folds_leak(corpus):
    """Source: Jaidka et al. 2014, table 4: 0.623, 0.698 and 0.719 over random folds."""
    topics = read_topics(
        open_files_of_all_inputs([corpus / "pilot"]), {"annotation": "annv2"}
    )
    told = convert_pairs_to_json(list_facet_pairs(topics))
    published, by_sentence, by_topic = (
        told["folds"][protocol] for protocol in GROUPING_BY_PROTOCOL
    )
    for classifier, value in (("NB", 0.623), ("SVM", 0.698), ("LR", 0.719)):
        assert published[classifier]["weighted"] == pytest.approx(value, abs=0.05)
        assert 0.45 <= by_sentence[classifier]["weighted"] <= 0.6
        assert 0.45 <= by_topic[classifier]["weighted"] <= 0.5
    line = told["folds"]["any"]["always Method"]
    assert line["weighted"] == pytest.approx(0.481, abs=0.001)
    assert line["Method"] == pytest.approx(2 * 172 / (172 + 275))
    assert told["facets"] == dict(
        zip((*FACETS, "total"), (48, 1, 172, 30, 24, 275), strict=True)
    )


@pytest.mark.shared
def test_each_annotator_against_the_others_is_the_human_line(capsys, corpus):
    """With the own file among the gold the line is far higher: that is how the organisers gave it."""
    command = [
        "papers",
        "human",
        "clsumm-1a",
        "--gold",
        str(corpus / "test2018"),
        "--rules",
        "official-2018",
        "--json",
    ]
    assert main([*command, "--intervals", "100"]) == 0
    told = json.loads(capsys.readouterr().out)
    lines_by_name = {line["annotator"]: line for line in told["lines"]}
    assert set(lines_by_name) == {None, "aakansha", "swastika", "sweta", "vardha"}
    first = lines_by_name["aakansha"]
    golden = json.loads(
        (
            corpus / "golden" / "csv" / "oracle_first_annotator" / "scores.json"
        ).read_text()
    )
    printed = golden["averages_as_printed"]
    assert first["all"]["overlap_f1_micro"]["value"] == pytest.approx(
        printed["task1a_f1_micro_avg"], abs=1e-11
    )
    assert first["all"]["overlap_f1_macro"]["value"] == pytest.approx(
        printed["task1a_f1_macro_avg"], abs=1e-11
    )
    assert first["others"]["overlap_f1_micro"]["value"] < 0.2
    together = lines_by_name[None]
    assert (
        together["others"]["overlap_f1_micro"]["value"]
        < together["all"]["overlap_f1_micro"]["value"]
    )
    # Two topics are too few for an interval.
    assert together["others"]["overlap_f1_micro"]["low"] is None
    # The line stands in the columns of any run.
    assert together["all"]["overlap_f1_micro"]["column"].startswith(
        "overlap_f1_micro|rules:official-2018|"
    )


def test_where_nobody_annotated_twice_there_is_no_human_line(capsys, root):
    assert (
        main(
            [
                "papers",
                "human",
                "clsumm-1b",
                "--gold",
                str(root / "examples" / "demo-season"),
            ]
        )
        == 0
    )
    assert "no topic has two annotators" in capsys.readouterr().out
