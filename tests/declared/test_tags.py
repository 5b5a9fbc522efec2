"""Tags of tokens: BIO files and lists, the entities that follow from them, and how they are measured."""

# Tables of cases are read across.
# ruff: noqa: E501

import json
import random
from dataclasses import replace

import pytest

from scoring.__main__ import main
from scoring.metrics import build_metrics, select_metrics_for_dimension
from scoring.offline.marking import iterate_instances_with_marks
from scoring.offline.proposing import propose_folder
from scoring.results.comparison import drawing
from tasks.types import InputRefused
from tasks.types.declared.folder import read_declaration
from tasks.types.files import open_input_files
from tasks.types.forms.bio import read_bio_sentences
from tasks.types.problems import ProblemList
from tasks.types.trivial import get_instance_task
from tests.declared.folders import write
from tests.mass import IS_FULL

TYPES = ("A", "B", "X-Y", "_")
TOML = """[task]
slug = "t"
title = "T"
form = "tags"
[task.gold]
{files}field = "tags"
[task.answer]
labels = {labels}
repair = {repair}
[[task.rules]]
name = "corrected"
measures = ["entity_precision", "entity_recall", "entity_f1"]
"""
#: Those of a drawn instance.
TAGS_OF_GOLD, TAGS_OF_RUN = ["O", "B-A", "I-A", "B-B"], ["B-A", "B-A", "I-A", "O"]
#: Gold and run, and by seqeval 1.2.2 in its strict mode with IOB2 and in its default mode: precision, recall
#: and F1 of all entities, and F1 of each type.
GOLDEN = [
    (
        "B-A | I-X-Y I-B I-B I-B B-A I-X-Y I-A B-X-Y I-X-Y I I-B I | B-X-Y I-X-Y",
        "B-B | O O O O O O O O O O O O | B-X-Y I-X-Y",
        (0.5, 0.25, 0.333333333333, 0, 0, 0.666666666667, 0),
        (0.5, 0.0909090909091, 0.153846153846, 0, 0, 0.4, 0),
    ),
    (
        "B-A I-X-Y B-A B-A I O I-A I-X-Y B-B I-X-Y I-B",
        "I-B I I I I-B O I-A I-X-Y B-B I-X-Y I-B",
        (1, 0.25, 0.4, 0, 1, 0, 0),
        (0.625, 0.5, 0.555555555556, 0.4, 0.666666666667, 0.8, 0),
    ),
    (
        "B-A | O O O O O O O O O O",
        "B-A | O B O O O B-X-Y I-B O O O",
        (0.333333333333, 1, 0.5, 1, 0, 0, 0),
        (0.25, 1, 0.4, 1, 0, 0, 0),
    ),
    (
        "B-A B-X-Y I | I B-A",
        "B-A O I | I B-A",
        (1, 0.666666666667, 0.8, 1, 0, 0, 0),
        (1, 0.8, 0.888888888889, 1, 0, 0, 1),
    ),
    (
        "I-A B-A I-A B-A B-A B-A I-A",
        "B-X-Y I-A I-A B-A B-A I-B I-A",
        (0.666666666667, 0.5, 0.571428571429, 0.666666666667, 0, 0, 0),
        (0.5, 0.6, 0.545454545455, 0.666666666667, 0, 0, 0),
    ),
    (
        "B-A B-A B-A | I-A I-B B-A I-B B-A O O | O",
        "B-A I-B B-A | I-A I-B O I-B B-A O O | O",
        (1, 0.6, 0.75, 0.75, 0, 0, 0),
        (0.857142857143, 0.75, 0.8, 0.8, 0.8, 0, 0),
    ),
]


def declaration(*, repair=False, files="", labels=TYPES, more=""):
    named = f'files = "{files}"\n' if files else ""
    text = TOML.format(
        files=named, labels=json.dumps(labels), repair=str(repair).lower()
    )
    return read_declaration({"task.toml": text + more})


KINDS = {repair: declaration(repair=repair) for repair in (False, True)}


def sentences(text):
    return [own.split() for own in text.split(" | ")]


def measured(gold, run, *, repair):
    """By name each measure, and by name and type each measure of a type."""
    kind = KINDS[repair]
    form = get_instance_task(kind)

    def never(message, expected):
        raise AssertionError(message)

    sides = [
        [
            form.gold_of({"tokens": ["w"] * len(tags), "tags": tags}, never)
            for tags in side
        ]
        for side in (gold, run)
    ]
    metrics = build_metrics(kind, "corrected", {})
    values = {}
    for metric in select_metrics_for_dimension(kind, "entity_type", metrics):
        sums = metric.instance_stats(*sides).sum(axis=0)
        for label in TYPES:
            values[metric.name, label] = float(metric.of_label(label).aggregate(sums))
    for metric in metrics:
        sums = metric.instance_stats(*sides).sum(axis=0)
        values[metric.name] = float(metric.aggregate(sums))
    return values


@pytest.mark.parametrize(("gold", "run", "strict", "lenient"), GOLDEN)
def test_entities_are_measured_as_seqeval_does_in_either_mode(
    gold, run, strict, lenient
):
    for repair, expected in ((False, strict), (True, lenient)):
        found = measured(sentences(gold), sentences(run), repair=repair)
        names = [f"entity_{part}" for part in ("precision", "recall", "f1")]
        keys = [*names, *(("class_f1", label) for label in TYPES)]
        assert [found[key] for key in keys] == pytest.approx(list(expected))


def naive_entities(tags, *, repair):
    """Every stretch of tokens is tried."""
    marks = [(tag[0], tag[2:] or "_") if tag != "O" else ("O", "") for tag in tags]

    def is_inside(place):
        return place < len(marks) and marks[place][0] == "I"

    def begins(place):
        mark, label = marks[place]
        if mark != "I" or not repair:
            return mark == "B"
        return place == 0 or marks[place - 1][0] == "O" or marks[place - 1][1] != label

    return {
        (start, end, marks[start][1])
        for start in range(len(marks))
        for end in range(start + 1, len(marks) + 1)
        if begins(start)
        and all(marks[at] == ("I", marks[start][1]) for at in range(start + 1, end))
        and not (is_inside(end) and marks[end][1] == marks[start][1])
    }


def drawn_tags(draw, size):
    style = draw.randrange(4)
    if style == 0:
        return ["O"] * size
    tags = ["O", "B", "I", *(f"{mark}-{label}" for mark in "BI" for label in TYPES[:3])]
    return draw.choices(tags[2:] if style == 1 else tags, k=size)


@pytest.mark.mass
def test_entities_are_those_of_every_stretch_of_tokens_that_fits():
    draw = random.Random(48)
    for _ in range(500 if IS_FULL else 60):
        sizes = draw.choices(range(1, 9), k=draw.randint(1, 4))
        gold, run = ([drawn_tags(draw, size) for size in sizes] for _ in range(2))
        run = [
            own if draw.random() < 0.5 else other
            for own, other in zip(gold, run, strict=True)
        ]
        for repair in (False, True):
            sets = [
                {
                    (place, *own)
                    for place, tags in enumerate(side)
                    for own in naive_entities(tags, repair=repair)
                }
                for side in (gold, run)
            ]
            found = measured(gold, run, repair=repair)
            for label in (None, *TYPES):
                wanted, given = (
                    {own for own in side if label in (None, own[3])} for side in sets
                )
                both = len(wanted & given)
                expected = {
                    "precision": both / len(given) if given else 0.0,
                    "recall": both / len(wanted) if wanted else 0.0,
                    "f1": 2 * both / (len(wanted) + len(given)) if both else 0.0,
                }
                for part, value in expected.items():
                    key = (f"class_{part}", label) if label else f"entity_{part}"
                    assert found[key] == pytest.approx(value), (gold, run, key)


#: Two documents and three sentences; one has tabs, a word with a space, and an id.
BIO = """-DOCSTART- -X- O

We PRP O
use VBP O
string NN B-A
kernels NNS I-A

# id = second
Rules\tO
of\tO
a b\tB-B

-DOCSTART- -X- O

None O
"""
LISTS = [
    {"id": "1", "tags": ["O", "O", "B-A", "I-A"]},
    {"id": "second", "tags": ["O", "I-B", "B-B"]},
    {"id": "3", "tags": ["O"]},
]


def read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return open_input_files(path)


def as_lines(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def told(problems):
    return [
        f"{one.line}: {one.message}"
        + (f"; expected {one.expected}" if one.expected else "")
        for one in problems
    ]


def test_bio_lines_and_lists_of_tags_are_the_same_gold_and_the_same_run(tmp_path):
    form = get_instance_task(declaration(files="bio"))
    split = form.read_gold(read(tmp_path, "gold.bio", BIO), {})
    records = [instance.record for instance in split.content.instances]
    assert [(one["id"], one["document"]) for one in records] == [
        ("1", "1"),
        ("second", "1"),
        ("3", "2"),
    ]
    given = dict(form.public_files(read(tmp_path, "gold.bio", BIO), {}))
    assert [json.loads(line) for line in given["inputs.jsonl"].splitlines()] == [
        {"id": "1", "tokens": ["We", "use", "string", "kernels"]},
        {"id": "second", "tokens": ["Rules", "of", "a b"]},
        {"id": "3", "tokens": ["None"]},
    ]
    inputs = form.read_inputs(
        read(tmp_path, "inputs.jsonl", given["inputs.jsonl"].decode()), {}
    )
    assert inputs == split.index
    listed = get_instance_task(declaration())
    rows = [{key: row[key] for key in ("id", "tokens", "tags")} for row in records]
    again = listed.read_gold(read(tmp_path, "gold.jsonl", as_lines(rows)), {})
    gold = [instance.gold for instance in again.content.instances]
    assert gold == [instance.gold for instance in split.content.instances]
    runs = [
        form.read_run(read(tmp_path, name, text), inputs, {})
        for name, text in (
            ("run.conll", BIO.replace("of\tO", "of\tI-B")),
            ("run.jsonl", as_lines(LISTS)),
        )
    ]
    assert runs[0] == runs[1]
    assert runs[0] == ({"1": ((2, 4, "A"),), "second": ((2, 3, "B"),), "3": ()}, [])


def test_lines_that_are_no_tokens_and_tags_are_named(tmp_path):
    form = get_instance_task(declaration(files="bio"))
    bad = BIO.replace("NN B-A", "NN B-a").replace("of\tO", "of")
    with pytest.raises(InputRefused) as refusal:
        form.read_gold(
            read(tmp_path, "gold.bio", bad.replace("None O", "None E-A")), {}
        )
    expected = "expected O, or B- or I- and one of A, B, X-Y, _"
    assert told(refusal.value.problems) == [
        f"5: the tag is “B-a”; did you mean “B-A”?; {expected}",
        "10: no token and tag; expected TOKEN TAG",
        f"15: the tag is “E-A”; {expected}",
    ]
    index = form.read_gold(read(tmp_path, "gold.bio", BIO), {}).index
    run = BIO.replace("use", "used").replace("of\tO\n", "") + "\nMore O\n"
    _, problems = form.read_run(read(tmp_path, "run.txt", run), index, {})
    assert told(problems) == [
        "4: the token is “used”; expected “use”, as given out",
        "10: the token is “a b”; expected “of”, as given out",
        "16: this is sentence 4; expected 3 sentences",
    ]
    rows = [{"id": "1", "tags": ["O"]}, {"id": "second", "tags": "O"}, {"id": "3"}]
    rows += [{"id": "4", "tags": ["O"]}]
    _, problems = form.read_run(read(tmp_path, "run.jsonl", as_lines(rows)), index, {})
    assert told(problems) == [
        "1: “tags” has 1 tags; expected 4, one for each token",
        "2: “tags” is a text; expected a list of tags, one a token",
        "3: “tags” is missing; found “id”; expected a list of tags, one a token",
        "4: instance “4” is not in this split; expected an id of the split, such as “1”",
    ]


def test_gold_of_lists_without_words_or_with_other_tags_is_refused(tmp_path):
    rows = [
        {"id": 1, "tokens": [], "tags": []},
        {"id": 2, "tags": ["O"]},
        {"id": 3, "tokens": ["a"], "tags": ["BA"]},
        {"id": 4, "tokens": ["a"], "tags": ["B-C"]},
        {"id": 5, "tokens": ["a", 1], "tags": ["O", "O"]},
    ]
    with pytest.raises(InputRefused) as refusal:
        get_instance_task(KINDS[False]).read_gold(
            read(tmp_path, "g.jsonl", as_lines(rows)), {}
        )
    expected = 'expected a list of texts: ["We", "use"]'
    assert told(refusal.value.problems) == [
        f"1: “tokens” is empty; {expected}",
        f"2: “tokens” is missing; {expected}",
        "3: tag 1 of “tags” is “BA”; expected O, or B- or I- and one of A, B, X-Y, _",
        "4: tag 1 of “tags” is “B-C”; expected O, or B- or I- and one of A, B, X-Y, _",
        f"5: “tokens” is a list; {expected}",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('field = "tags"', 'files = "csv"\nfield = "tags"', "“csv” is not known here"),
        ('"A"', '"A-"', "the type “A-” begins or ends with a hyphen or a space"),
        ("repair", 'tokens = "tags"\nrepair', "“tags” is the answer"),
        ('form = "tags"', 'form = "labels"', "there is no key “repair” here"),
        ('form = "tags"', 'form = "tags"\ndimensions = ["entity_type"]', "“entity_type” is of another field"),
    ],
)  # fmt: skip
def test_a_declaration_of_tags_that_cannot_be_read_is_refused(old, new, message):
    text = TOML.format(files="", labels='["A"]', repair="true")
    with pytest.raises(InputRefused) as refusal:
        read_declaration({"task.toml": text.replace(old, new)})
    assert any(one.message.startswith(message) for one in refusal.value.problems)


def test_only_tags_have_files_of_bio_lines():
    text = TOML.format(files='files = "bio"\n', labels='["A"]', repair="false")
    with pytest.raises(InputRefused, match="bio"):
        read_declaration({"task.toml": text.replace('"tags"', '"labels"', 1)})


def test_boards_show_each_type_and_dimensions_may_count_entities(tmp_path, capsys):
    gold = [
        {"id": f"s{n}", "tokens": ["a", "b", "c"], "tags": ["B-A", "I-A", "B-B"]}
        for n in range(6)
    ]
    run = [
        {"id": f"s{n}", "tags": ["B-A", "I-A", "B-B" if n else "B-A"]} for n in range(6)
    ]
    toml = TOML.format(files="", labels='["A", "B"]', repair="false").replace(
        "[task.gold]",
        'dimensions = [{ name = "entities", field = "tags", as = "count" }, { name = "kinds", field = "tags" }]\n[task.gold]',
    )
    folder = write(tmp_path / "task", toml, gold, run)
    paths = [str(folder / "sample" / name) for name in ("gold.jsonl", "run.jsonl")]
    arguments = ["score", str(folder), "--gold", paths[0], "--run", paths[1], "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["entity_f1"]["value"] == pytest.approx(11 / 12)
    assert found["metrics"]["entity_f1"]["low"] < 11 / 12
    by_kind = found["breakdowns"]["kinds"]
    assert {
        label: [own[f"class_{part}"]["value"] for part in ("precision", "recall", "f1")]
        for label, own in by_kind.items()
    } == {"A": [6 / 7, 1, 12 / 13], "B": [1, 5 / 6, 10 / 11]}
    assert list(found["breakdowns"]["entities"]) == ["2"]
    assert "entity_f1" in found["breakdowns"]["entities"]["2"]
    assert "entity_f1" not in by_kind["A"]


def test_gold_tells_of_types_without_entities_and_of_stray_tags(tmp_path, capsys):
    gold = [
        {"id": "1", "tokens": ["a", "b"], "tags": ["B-A", "I-A"]},
        {"id": "2", "tokens": ["a"], "tags": ["I-A"]},
    ]
    toml = TOML.format(files="", labels='["A", "B"]', repair="false")
    folder = write(tmp_path / "task", toml, gold, gold[:1])
    path = str(folder / "sample" / "gold.jsonl")
    assert main(["gold", str(folder), "--gold", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["kind"], one["lines"]) for one in found["findings"]] == [
        ("label_absent", []),
        ("stray_inside", [2]),
    ]
    assert list(found["trivial"]) == ["empty", "constant", "random", "random_best"]
    assert set(found["trivial"]["empty"].values()) == {0.0}


@pytest.mark.parametrize("is_iob1", [False, True])
def test_a_task_is_proposed_from_bio_lines_and_from_lists(tmp_path, is_iob1):
    text = BIO.replace("B-", "I-") if is_iob1 else BIO
    [bio] = read(tmp_path, "gold.conll", text)
    files = propose_folder("tags", "t", tmp_path / bio.name).files
    assert files["sample/gold/gold.bio"].startswith("# id = 1\nWe\tO\n")
    kind = read_declaration(files)
    form = get_instance_task(kind)
    facts = (form.files, form.labels, form.tokens, form.repair, kind.metrics)
    measures = ("entity_f1", "entity_precision", "entity_recall")
    assert facts == ("bio", ("A", "B"), "tokens", is_iob1, measures)
    rows = [
        {"sentence": f"s{n}", "words": ["a", "b"], "ner": ["O", "B-A"]}
        for n in range(4)
    ]
    path = tmp_path / "gold.jsonl"
    path.write_text(as_lines(rows))
    form = get_instance_task(read_declaration(propose_folder("tags", "t", path).files))
    facts = (form.id, form.field, form.tokens, form.shown)
    assert facts == ("sentence", "ner", "words", ("words",))


def test_an_instance_is_drawn_with_its_entities_marked(tmp_path):
    kind = KINDS[False]
    row = {"id": "1", "tokens": ["We", "use", "string kernels", "."]}
    gold = read(tmp_path, "gold.jsonl", as_lines([row | {"tags": TAGS_OF_GOLD}]))
    split = kind.gold_of(gold, {})
    run = read(tmp_path, "run.jsonl", as_lines([{"id": "1", "tags": TAGS_OF_RUN}]))
    answers, _ = kind.read_run(run, split.index, {})
    pairs = kind.pairs_of(split, answers, "corrected", {})
    metrics = build_metrics(kind, "corrected", {})
    every = kind.show_instances(gold, split, pairs, {})
    [shown] = iterate_instances_with_marks(kind, every, metrics, pairs)
    _given, gold_part, answer = drawing.build_parts_of_whole_instance(kind, shown)
    marked = [
        [
            (piece.text, piece.kind, piece.sign)
            for piece in part.lines[0].pieces
            if piece.kind
        ]
        for part in (gold_part, answer)
    ]
    both = ("use string kernels", "both", "✓")
    assert marked == [[both, (".", "gold", "–")], [("We", "answer", "✗"), both]]
    assert answer.lines[1].words == "A · at 1–1 · wrong"
    kinds = drawing.find_outcomes_of_instance(kind, shown)
    assert kinds == {"entity-found", "entity-missed", "entity-wrong"}
    assert drawing.find_outcomes_of_instance(kind, replace(shown, marks=())) == set()


@pytest.mark.parametrize("blank", ["\u00a0", "\x0b"])
def test_a_line_of_other_white_space_ends_a_sentence(tmp_path, blank):
    [file] = read(tmp_path, "gold.conll", f"We\tO\n{blank}\nuse\tB-M\n")
    problems = ProblemList()
    sentences = [*read_bio_sentences(file, problems, lambda _: None)]
    assert ([one.tokens for one in sentences], [*problems]) == ([["We"], ["use"]], [])
