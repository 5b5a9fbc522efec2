"""How summaries and their gold are read in task 2, through the offline scorer."""

import json
import unicodedata
from functools import partial

import pytest

from scoring.__main__ import main
from tasks.gold.packing import prepare_gold
from tasks.types import InputRefused, task_type
from tasks.types.clsumm.summaries import (
    compute_shared_checksum_share,
    compute_word_sequence_checksums,
    split_summary_into_sentences,
)
from tasks.types.clsumm.topics import read_input_topics
from tasks.types.files import open_input_files
from tests.scoring.offline import refusals, score
from tests.tasks.types.standing_reading import file

TOPIC = "D01-0001"
ABSTRACT = (
    "We count the words of papers and say which of them are cited most by later ones."
)
OTHER = "Readers follow links between papers, and links are words as well."


@pytest.fixture
def gold(tmp_path):
    folder = tmp_path / "gold" / TOPIC
    (folder / "Reference_XML").mkdir(parents=True)
    (folder / "summary").mkdir()
    (folder / "Reference_XML" / f"{TOPIC}.xml").write_text(
        f'<PAPER><S sid="0">On words</S><ABSTRACT><S sid="1">{ABSTRACT}</S></ABSTRACT>'
        f'<SECTION title="Introduction"><S sid="2">{OTHER}</S></SECTION></PAPER>'
    )
    (folder / "summary" / f"{TOPIC}.abstract.xml").write_text(
        f'<S sid ="1">{ABSTRACT}</S>'
    )
    (folder / "summary" / f"{TOPIC}.community").write_text(f'<S sid="2">{OTHER}</S>')
    (folder / "summary" / "D01-0009.human.txt").write_text(
        "They count words.\nAnd links.\n"
    )
    return folder


def summary_file(tmp_path, text: str):
    path = tmp_path / "run" / "Task2" / f"{TOPIC}.system.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / "run"


def values(scores: dict, measure: str = "rouge_1_f1") -> list[float]:
    return [
        scores["metrics"][f"{measure}{kind}"]["value"]
        for kind in ("", ".abstract", ".community", ".human")
    ]


def test_every_kind_is_found_whatever_its_file_is_called(capsys, gold, tmp_path):
    scores = score(capsys, "clsumm-2", [gold], summary_file(tmp_path, OTHER))
    together, abstract, community, human = values(scores)
    assert community == 1
    assert 0 < min(abstract, human) < together < 1


@pytest.mark.parametrize(("reading", "is_equal"), [("2", True), ("1", False)])
def test_summaries_are_compared_in_nfc_on_gold_that_is_read_so(
    capsys, gold, tmp_path, reading, is_equal
):
    text = "Naïve café résumés coöperate élan."
    for summary in (gold / "summary").iterdir():
        summary.write_text(text)
    run = summary_file(tmp_path, unicodedata.normalize("NFD", text))
    scores = score(capsys, "clsumm-2", [gold], run, "--reading", reading)
    assert (values(scores)[0] == 1) == is_equal


@pytest.mark.parametrize("form", ["files", "one file", "text", "list"])
def test_every_form_of_a_run_scores_alike(capsys, gold, tmp_path, form):
    text = "They count links.\nWords are links."
    run = summary_file(tmp_path, text)
    if form == "one file":
        run = run / "Task2" / f"{TOPIC}.system.txt"
    elif form in ("text", "list"):
        run = tmp_path / "run.jsonl"
        summary = text if form == "text" else text.split("\n")
        run.write_text(json.dumps({"topic": TOPIC, "summary": summary}) + "\n")
    scores = score(capsys, "clsumm-2", [gold], run)
    expected = score(capsys, "clsumm-2", [gold], summary_file(tmp_path, text))
    for measure in ("rouge_1_f1", "rouge_l_f1", "rouge_su4_f1"):
        assert values(scores, measure) == values(expected, measure)


def test_the_same_summary_twice_is_read_once_and_the_gold_says_so(
    capsys, gold, tmp_path
):
    (gold / "summary" / f"{TOPIC}.community.txt").write_text("Another text altogether.")
    scores = score(capsys, "clsumm-2", [gold], summary_file(tmp_path, OTHER))
    assert values(scores)[2] == 1
    [note] = scores["gold"]["notes"]
    assert note.endswith(
        f"/{TOPIC}.community.txt ignored: {TOPIC}.community is the same summary"
    )


def test_judges_and_readers_see_the_paper_by_its_sections_where_it_has_no_citances(
    gold, tmp_path
):
    kind, files = task_type("clsumm-2"), open_input_files(gold)
    options = kind.validate_options({})
    sections = [("Title", "On words"), ("Abstract", ABSTRACT), ("Introduction", OTHER)]
    assert kind.human_evaluation.sources(files) == {TOPIC: tuple(sections)}
    split = kind.gold_of(files, options)
    answers, problems = kind.read_run(
        open_input_files(summary_file(tmp_path, OTHER)), split.index, options
    )
    pairs = kind.pairs_of(split, answers, kind.default_rule_set, options)
    [shown] = kind.show_instances(files, split, pairs, options)
    assert (problems, OTHER in str(shown.given)) == ([], True)


def test_a_text_of_task_2_whose_name_says_no_system_is_ignored_with_a_word(
    gold, tmp_path
):
    folder = summary_file(tmp_path, OTHER)
    (folder / "Task2" / f"{TOPIC}.txt").write_text("Nothing.")
    (folder / "notes.txt").write_text("Nothing.")
    kind = task_type("clsumm-2")
    _, problems = kind.read_run(
        open_input_files(folder),
        kind.gold_of(open_input_files(gold), {}).index,
        kind.validate_options({}),
    )
    [problem] = problems
    assert (problem.file.endswith(f"Task2/{TOPIC}.txt"), problem.fatal) == (True, False)
    assert (
        problem.message
        == "ignored: its name does not say that it is a system's summary"
    )


def test_a_topic_without_a_summary_counts_0_and_is_pointed_out(capsys, gold, tmp_path):
    other = gold.parent / "D02-0002" / "summary"
    other.mkdir(parents=True)
    (other / "D02-0002.human.txt").write_text("Another paper.")
    scores = score(
        capsys,
        "clsumm-2",
        [gold.parent],
        summary_file(tmp_path, "They count words.\nAnd links."),
    )
    assert scores["notes"]["missing_topics"] == 1
    assert scores["metrics"]["rouge_1_f1.human"]["value"] == 0.5
    assert scores["metrics"]["rouge_1_f1.abstract"]["n"] == 1
    assert any(
        "no summary for 1 of 2 topics" in warning["message"]
        for warning in scores["warnings"]
    )


def test_a_long_summary_is_flagged_cut_or_refused_as_the_task_says(
    capsys, gold, tmp_path
):
    run = summary_file(
        tmp_path, "nothing " * 240 + "\n" + "counts " * 20 + f"\n{ABSTRACT}"
    )
    flagged, cut = (
        score(capsys, "clsumm-2", [gold], run, "--option", f"over_limit={choice}")
        for choice in ("flag", "truncate")
    )
    message = next(
        w["message"] for w in flagged["warnings"] if "words for" in w["message"]
    )
    assert message.startswith("277 words")
    assert flagged["notes"]["over_the_limit"] == cut["notes"]["over_the_limit"] == 1
    assert values(flagged, "rouge_2_f1")[1] > 0
    assert values(cut, "rouge_2_f1")[1] == 0
    # Ten of the twenty words of the second line are left.
    assert values(cut)[1] == pytest.approx(
        2 * (1 / 250) * (1 / 17) / (1 / 250 + 1 / 17), abs=2e-5
    )
    columns = [each["metrics"]["rouge_1_f1"]["column"] for each in (flagged, cut)]
    assert columns[0] != columns[1]
    told = refusals(capsys, "clsumm-2", [gold], run, "--option", "over_limit=refuse")
    assert "277 words" in told[0]
    assert "at most 250 words" in told[0]


def test_the_official_program_never_cuts(capsys, gold, tmp_path):
    words = tmp_path / "stop.txt"
    words.write_text("the\nof\n")
    run = summary_file(tmp_path, "nothing " * 250 + ABSTRACT)
    options = (
        "--rules",
        "official-2018",
        "--option",
        f"stopwords={words}",
        "--option",
        "over_limit=truncate",
    )
    assert (
        score(capsys, "clsumm-2", [gold], run, *options)["metrics"][
            "rouge_2_recall.abstract"
        ]["value"]
        > 0.5
    )


@pytest.mark.parametrize(
    "text",
    [ABSTRACT, f"{ABSTRACT} {OTHER}"],
    ids=["the abstract", "the abstract and more"],
)
def test_a_copy_of_the_abstract_brings_a_warning(capsys, gold, tmp_path, text):
    scores = score(capsys, "clsumm-2", [gold], summary_file(tmp_path, text))
    assert any(
        "copies the abstract" in warning["message"] for warning in scores["warnings"]
    )
    assert scores["notes"]["copies_of_the_abstract"] == 1


def test_of_two_abstracts_one_is_enough(capsys, gold, tmp_path):
    (gold / "summary" / "other.abstract.xml").write_text(
        '<S sid ="1">Nothing of the kind stands here.</S>'
    )
    scores = score(capsys, "clsumm-2", [gold], summary_file(tmp_path, ABSTRACT))
    assert scores["notes"]["copies_of_the_abstract"] == 1


@pytest.mark.parametrize(
    ("names", "is_run"), [(["a"], True), (["a", "b"], False), (["a", "b", "c"], False)]
)
def test_one_text_alone_is_a_run_whatever_it_is_called(gold, names, is_run):
    kind = task_type("clsumm-2")
    options = kind.validate_options({})
    index = kind.read_gold(open_input_files(gold), options).index
    _, problems = kind.read_run(
        [file(f"{name}.txt", OTHER) for name in names], index, options
    )
    assert any(problem.fatal for problem in problems) is not is_run


def test_own_words_bring_none(capsys, gold, tmp_path):
    scores = score(
        capsys, "clsumm-2", [gold], summary_file(tmp_path, f"They count. {OTHER}")
    )
    assert not scores["warnings"]
    assert scores["notes"]["copies_of_the_abstract"] == 0


def test_the_share_that_is_copied_is_that_of_the_shorter_text():
    words = [f"w{number}" for number in range(20)]
    text, longer = (
        compute_word_sequence_checksums([" ".join(words)]),
        compute_word_sequence_checksums(
            [" ".join(words), "and much more of another kind"]
        ),
    )
    assert (
        compute_shared_checksum_share(text, longer)
        == compute_shared_checksum_share(longer, text)
        == 1
    )
    assert (
        compute_shared_checksum_share(
            text, compute_word_sequence_checksums(["none of this at all is there"])
        )
        == 0
    )
    assert compute_shared_checksum_share(text, []) == 0


def test_participants_get_no_summary_and_check_with_what_they_have(
    capsys, gold, tmp_path
):
    chosen = task_type("clsumm-2")
    options = chosen.validate_options({})
    public = dict(chosen.public_files(open_input_files(gold), options))
    assert list(public) == [f"{TOPIC}/Reference_XML/{TOPIC}.xml"]
    for name, content in public.items():
        (tmp_path / "inputs" / name).parent.mkdir(parents=True)
        (tmp_path / "inputs" / name).write_bytes(content)
    run = summary_file(tmp_path, ABSTRACT)
    assert (
        main(
            [
                "check",
                "clsumm-2",
                "--inputs",
                str(tmp_path / "inputs"),
                "--run",
                str(run),
            ]
        )
        == 0
    )
    assert "copies the abstract" in capsys.readouterr().out
    index = chosen.read_gold(open_input_files(gold), options).index
    assert "count" not in json.dumps(index)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("run.jsonl", '{"topic": "D01-0001"}', "“summary” is missing"),
        ("run.jsonl", '{"summary": "x"}', "“topic” is missing"),
        ("run.jsonl", '{"topic": "D01-0001", "summary": 3}', "“summary” is a number"),
        (
            "run.jsonl",
            '{"topic": "D01-0001", "citance": 1, "sentences": ["1"]}',
            "clsumm-1a or clsumm-1b",
        ),
        ("run.jsonl", "no JSON", "not JSON"),
        ("X00-0000.system.txt", "A text.", "the run answers no instance of the split"),
        (f"{TOPIC}.system.txt", "x " * 40_000, "a summary of more than"),
        (f"{TOPIC}.system.txt", "x \n" * 40_000, "a summary of more than"),
        (
            "run.jsonl",
            json.dumps({"topic": TOPIC, "summary": "x " * 40_000}),
            "a summary of more than",
        ),
        ("run.pdf", "no PDF", "no file that can be a summary"),
    ],
)
def test_what_cannot_be_a_run_is_refused_with_the_reason(
    capsys, gold, tmp_path, name, content, reason
):
    run = tmp_path / name
    run.write_text(content)
    assert reason in refusals(capsys, "clsumm-2", [gold], run)[0]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('<S sid="1">a &amp; b</S>\n<S sid="2">c</S>', ("a & b", "c")),
        ('<COMMUNITY>\n<S sid="1">a</S\n<S sid="2">b</S></COMMUNITY>', ("a b",)),
        ("one\r\n\r\n two  words \n", ("one", "two words")),
        ("", ()),
    ],
    ids=["elements", "a broken tag", "plain text", "nothing"],
)
def test_a_gold_summary_is_its_elements_or_its_lines(text, lines):
    assert split_summary_into_sentences(text) == lines


def test_a_summary_in_another_encoding_is_read(capsys, gold, tmp_path):
    (gold / "summary" / "D01-0009.human.txt").write_bytes("Wörter".encode("cp1252"))
    scores = score(
        capsys, "clsumm-2", [gold], summary_file(tmp_path, "Wörter".encode())
    )
    assert values(scores)[3] == 1


def test_half_a_character_in_json_does_no_harm(capsys, gold, tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text('{"topic": "D01-0001", "summary": "They count \\ud800 words."}')
    assert values(score(capsys, "clsumm-2", [gold], run))[3] > 0


def test_gold_without_any_summary_is_refused(capsys, gold, tmp_path):
    for path in (gold / "summary").iterdir():
        path.unlink()
    assert (
        "no summary was found"
        in refusals(capsys, "clsumm-2", [gold], summary_file(tmp_path, "x"))[0]
    )


def test_stop_words_that_are_not_there_are_refused_by_name(capsys, gold, tmp_path):
    run = summary_file(tmp_path, "x")
    options = (
        "--rules",
        "official-2018",
        "--option",
        f"stopwords={tmp_path / 'none.txt'}",
    )
    assert "option stopwords=" in refusals(capsys, "clsumm-2", [gold], run, *options)[0]


def test_entities_that_were_encoded_twice_and_doubled_quotes_in_a_tag_leave_no_word():
    text = '<S sid=""5"" ssid=""1"">the &amp;quot;best&amp;quot; &lt; rest</S><S sid ="6">and AT&amp;T</S>'
    assert split_summary_into_sentences(text) == ('the "best" < rest', "and AT&T")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("They count words.", "“They count words.” has no name before it"),
        ("Annotator: us |", "“Reference Article”"),
    ],
)
def test_an_annotation_that_cannot_be_read_is_told_by_its_line(
    gold, tmp_path, line, fault
):
    """Of gold, whose public files have it, and of inputs, of which citances are shown."""
    (gold / "annotation").mkdir()
    (gold / "annotation" / f"{TOPIC}.annv3.txt").write_text(f"\n{line}\n")
    files = open_input_files(gold.parent)
    reads = (
        partial(prepare_gold, task_type("clsumm-2"), files, {}, tmp_path),
        partial(read_input_topics, files, {"annotation": "auto"}),
    )
    for read in reads:
        with pytest.raises(InputRefused) as refused:
            read()
        (problem,) = refused.value.problems
        assert (problem.line, fault in problem.message) == (2, True)
