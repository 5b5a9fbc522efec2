"""Drawing of instances of declared tasks: by the view and the measures' marks, never by equal texts."""

# Tables of cases are read across.
# ruff: noqa: E501

import json
import tomllib
from dataclasses import asdict, replace

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import translation

from scoring.metrics import build_metrics
from scoring.metrics.own import trust_measures_code
from scoring.offline.evaluate import load_instances, pack_instances
from scoring.offline.marking import iterate_instances_with_marks
from scoring.offline.sample import iterate_sample_instances
from scoring.results.comparison.drawing import (
    build_parts_of_whole_instance,
    find_outcomes_of_instance,
)
from scoring.results.comparison.viewing import (
    VisibleInstanceValues,
    build_instance_parts_with_marks,
)
from tasks.models import Phase, Submission, Task
from tasks.types import InputRefused
from tasks.types.base import MeasureCredits, ShownInstance
from tasks.types.declared.folder import read_declaration, read_folder
from tasks.types.declared.own_measures import (
    MeasureComputation,
    refuse_to_compute_measure,
)
from tasks.types.files import open_input_files
from tests.declared.folders import EXAMPLES, lines
from tests.declared.test_site import copied, folder, worked_off  # noqa: F401  (a fixture)
from tests.factories import make_user
from tests.scoring import boards
from tests.web import test_declaring as declaring
from tests.web.reading import text_of

TOML = """[task]
slug = "t"
title = "T"
form = "{form}"
{task}
[task.gold]
field = "gold"
shown = {shown}
[task.answer]
{answer}
{more}
[[task.rules]]
name = "corrected"
measures = {measures}
"""
#: Settings of [task.answer] and a measure, by form.
FORMS = {
    "labels": ('labels = ["yes", "no"]', "accuracy"),
    "ranking": ('query = "q"\ncandidates = "c"', "mrr@5"),
    "text": ("", "exact_match"),
    "spans": ('text = "body"', "partial_f1"),
    "tags": ('labels = ["A"]\ntokens = "words"', "entity_f1"),
    "numbers": ("", "mae"),
    "evidence": ('shape = "sets"\nlabels = ["S", "C"]', "abstract_label_only_f1"),
}
POOL = '[task.pool]\nfile = "corpus.jsonl"\nid = "id"\nsentences = "own"\nshown = ["title"]'


def kind_of(form="labels", shown=("text",), *, view="", measures=(), **more):
    answer, measure = FORMS[form]
    text = TOML.format(
        form=form,
        task=more.pop("task", ""),
        shown=json.dumps(list(shown)),
        answer=more.pop("answer", answer),
        more=(POOL if form == "evidence" else "") + view,
        measures=json.dumps(list(measures or [measure])),
    )
    return read_declaration({"task.toml": text, **more})


def shown_of(tmp_path, kind, gold, run, pool=()):
    """Return one instance with its marks after a round trip through the stored form."""
    files = {"gold.jsonl": [gold], "corpus.jsonl": list(pool)}
    (tmp_path / "gold").mkdir(exist_ok=True)
    for name, rows in files.items():
        (tmp_path / "gold" / name).write_text(lines(rows))
    (tmp_path / "run.jsonl").write_text(lines([run]))
    options = kind.validate_options({})
    read = open_input_files(tmp_path / "gold")
    split = kind.gold_of(read, options)
    answers, problems = kind.read_run(
        open_input_files(tmp_path / "run.jsonl"), split.index, options
    )
    assert not [one for one in problems if one.fatal]
    pairs = kind.pairs_of(split, answers, "corrected", options)
    every = kind.show_instances(read, split, pairs, options)
    kept = iterate_instances_with_marks(
        kind, every, build_metrics(kind, "corrected", options), pairs
    )
    path = tmp_path / "kept.npz"
    np.savez(path, **pack_instances(kept))
    [shown] = load_instances(path).values()
    return shown


def given(kind, **fields):
    [part, *_] = build_instance_parts_with_marks(
        kind, VisibleInstanceValues(fields=fields)
    )
    facts = {line.label: line.text for line in part.facts}
    return part.layout, [(line.label, line.text) for line in part.lines], facts


@pytest.mark.parametrize(
    ("form", "shown", "kind", "roles"),
    [
        ("labels", ["text", "section"], "passage", {"text": "text"}),
        ("labels", ["odd"], "passage", {"text": "odd"}),
        ("labels", ["year", "size"], "table", {}),
        ("labels", ["author", "title"], "reference", {}),
        ("labels", ["bibtex_type", "fields"], "reference", {}),
        ("ranking", ["q", "c"], "passage", {"text": "q"}),
        ("ranking", ["tweet_text", "c"], "post", {"text": "tweet_text"}),
        ("text", ["source", "question"], "passage", {"text": "question"}),
        ("spans", ["body", "text"], "passage", {"text": "body"}),
        ("tags", ["words"], "passage", {"text": "words"}),
        (
            "numbers",
            ["first", "second"],
            "pair",
            {"first": "first", "second": "second"},
        ),
        ("evidence", ["claim"], "passage", {"text": "claim"}),
    ],
)
def test_each_form_has_a_drawing_that_suits_its_fields(form, shown, kind, roles):
    view = kind_of(form, shown).declared.view
    assert (view.kind, view.roles) == (kind, roles)


def test_a_reference_is_drawn_as_one_with_its_further_fields_below():
    kind = kind_of(
        shown=("entry", "source_url"), view='[task.view.labels]\nentry = "Entry"'
    )
    entry = {"author": ["Reed, A.", "Oak, B."], "title": "Of reeds.", "year": 1999}
    drawn = given(kind, entry=entry | {"pages": "1--9"}, source_url="x")
    assert drawn == (
        "reference",
        [("", "Reed, A., Oak, B. Of reeds. 1999")],
        {"Pages": "1--9", "Source url": "x"},
    )


def test_a_post_a_passage_and_a_pair_are_drawn_by_the_fields_that_the_view_names():
    view = '[task.view]\nas = "post"\ntext = "t"\nauthor = "by.name"\nfields = []'
    kind = kind_of(shown=("t", "by", "n"), view=view)
    [part, *_] = build_instance_parts_with_marks(
        kind,
        VisibleInstanceValues(fields={"t": "Hello", "by": {"name": "Ada"}, "n": 1}),
    )
    assert (part.layout, part.facts) == ("post", [])
    assert [(line.text, line.words) for line in part.lines] == [("Hello", "Ada")]
    view = '[task.view]\nas = "passage"\ntext = "t"\nfields = ["n"]'
    kind = kind_of(shown=("t", "m", "n"), view=view)
    assert given(kind, t="A text", m=1, n=True) == (
        "passage",
        [("T", "A text")],
        {"N": "yes"},
    )
    view = '[task.view]\nas = "pair"\nfirst = "b"\nsecond = "a"\n[task.view.labels]\na = "Copy"'
    kind = kind_of(shown=("a", "b"), view=view)
    assert given(kind, a="x", b="y") == ("pair", [("B", "y"), ("Copy", "x")], {})


def test_a_table_has_the_labels_of_its_fields_and_no_key_and_no_json():
    view = '[task.view]\nas = "table"\n[task.view.labels]\nsize = "How long"\n[task.view.labels.de]\nsize = "Länge"'
    kind = kind_of(shown=("size", "publishedAt", "tags", "notes"), view=view)
    notes = [{"author_name": "Ada", "is_new": True}, "two"]
    fields = {"size": 1.5, "publishedAt": None, "tags": ["a", "b"], "notes": notes}
    layout, main, facts = given(kind, **fields)
    assert (layout, main) == ("table", [])
    assert facts == {
        "How long": "1.5",
        "Tags": "a, b",
        "Notes": "Author name: Ada; Is new: yes\ntwo",
    }
    with translation.override("de"):
        assert next(iter(given(kind, **fields)[2])) == "Länge"


@pytest.mark.parametrize(
    ("view", "refusal"),
    [
        ('as = "postt"', "“postt” is not known here (did you mean “post”?)"),
        ('as = "post"\ntexts = "text"', "there is no key “texts” here (did you mean “text”?)"),
        ('as = "table"\ntext = "text"', "there is no key “text” here"),
        ('text = "txt"', "“txt” is no field that is shown (did you mean “text”?)"),
        ('text = "gold"', "“gold” is no field that is shown"),
        ('fields = ["secret"]', "“secret” is no field that is shown"),
        ('as = "pair"\nfirst = "text"', "a pair needs “second”"),
        ('labels = { txt = "Text" }', "“txt” is no field that is shown (did you mean “text”?)"),
        ("labels = { text = 3 }", "“text” is a number"),
        ('labels = { de = { gold = "Gold" } }', "“gold” is no field that is shown"),
    ],
)  # fmt: skip
def test_a_view_with_unknown_keys_or_with_fields_that_nobody_sees_is_refused(
    view, refusal
):
    with pytest.raises(InputRefused) as refused:
        kind_of(view=f"[task.view]\n{view}\n")
    [problem] = refused.value.problems
    assert refusal in problem.message
    assert problem.line


def test_a_view_that_is_no_table_is_refused():
    with pytest.raises(
        InputRefused, match=r"“view” is a text; expected a table under \[task.view\]"
    ):
        kind_of(task='view = "post"')


VIEW = """
# How it is drawn.
[task.view] # of [this]
as = "post"
text = "text"
[task.view.labels]
text = '''
[task.gold]'''
"""


@pytest.mark.parametrize(
    "more",
    [{"view": VIEW}, {"task": 'view = { as = "post", text = "text" }\nview_ = 1'}],
)
def test_no_number_rests_on_the_view_and_programs_that_do_not_know_it_never_get_it(
    more,
):
    more = {name: text.replace("\nview_ = 1", "") for name, text in more.items()}
    plain, viewed = kind_of(), kind_of(**more)
    assert viewed.declared.view != plain.declared.view
    assert (viewed.slug, viewed.declared.digest) == (plain.slug, plain.declared.digest)
    given_out = viewed.declared.toml_given_out
    assert tomllib.loads(given_out) == tomllib.loads(plain.declared.files["task.toml"])
    assert json.loads(viewed.reference)["task.toml"] == given_out
    assert plain.declared.toml_given_out == plain.declared.files["task.toml"]


def test_participants_get_a_declaration_without_the_view(tmp_path):
    kind = kind_of(view=VIEW)
    (tmp_path / "gold.jsonl").write_text(
        lines([{"id": "1", "text": "a", "gold": "yes"}])
    )
    files = dict(kind.public_files(open_input_files(tmp_path / "gold.jsonl"), {}))
    assert files["task.toml"].decode() == kind.declared.toml_given_out
    assert "view" not in tomllib.loads(files["task.toml"].decode())["task"]


def marks(shown, metric) -> MeasureCredits:
    [own] = [one for one in shown.marks if metric in one.metrics]
    return own._replace(metrics=())


def test_a_partly_right_span_is_as_right_as_its_measure_has_it(tmp_path):
    measures = ["partial_f1", "strict_f1", "character_recall", "iou_f1"]
    kind = kind_of("spans", ["body"], measures=measures)
    gold = {"id": "1", "body": "As Reed shows, rules help.", "gold": [[3, 7], [15, 25]]}
    shown = shown_of(
        tmp_path, kind, gold, {"id": "1", "gold": [[3, 7], [15, 20], [25, 26]]}
    )
    assert marks(shown, "partial_f1") == MeasureCredits((1, 0.5), (1, 0.5, 0))
    assert marks(shown, "strict_f1") == MeasureCredits((1, 0), (1, 0, 0))
    assert marks(shown, "character_recall") == MeasureCredits((1, 0.5), (1, 1, 0))
    assert marks(shown, "iou_f1") == MeasureCredits((1, 1), (1, 1, 0))
    _given, _gold, answer = build_parts_of_whole_instance(kind, shown)
    text, *spans = answer.lines
    assert [
        (piece.text, piece.kind, piece.sign) for piece in text.pieces if piece.kind
    ] == [
        ("Reed", "both", "✓"),
        ("rules", "partly", "½"),
        (".", "answer", "✗"),
    ]
    assert [(line.kind, line.words) for line in spans] == [
        ("both", "at 4–7 · right"),
        ("partly", "at 16–20 · partly right: 0.5"),
        ("answer", "at 26–26 · wrong"),
    ]
    assert answer.note == "marked by Partial F1"


PAPERS = [
    {"id": "11", "title": "Trees", "own": ["One.", "Two.", "Three.", "Four.", "Five."]},
    {"id": "12", "title": "Stones", "own": ["One.", "Two."]},
]


def test_the_measure_decides_whether_a_set_of_evidence_is_right(tmp_path):
    measures = [
        "abstract_rationalized_f1",
        "abstract_label_only_f1",
        "sentence_selection_f1",
        "sentence_label_f1",
    ]
    kind = kind_of("evidence", ["claim"], measures=measures)
    sets = [{"sentences": [1], "label": "S"}, {"sentences": [0, 2], "label": "S"}]
    gold = {
        "id": 1,
        "claim": "Oaks.",
        "gold": {"11": sets, "12": [{"sentences": [0], "label": "C"}]},
    }

    def of(**answer):
        own = {
            name: {"sentences": numbers, "label": label}
            for name, (label, *numbers) in answer.items()
        }
        return shown_of(
            tmp_path,
            kind,
            gold,
            {"id": 1, "gold": {name[1:]: one for name, one in own.items()}},
            PAPERS,
        )

    # A superset in another order: the document and one set are right, and further sentences are not
    # wrong.
    shown = of(d11=("S", 3, 1))
    assert marks(shown, "abstract_rationalized_f1") == MeasureCredits(
        (1, 1, None, 0, 0), (1, None, 1)
    )
    assert marks(shown, "sentence_selection_f1") == MeasureCredits(
        (None, 1, 0, None, 0), (None, 0, 1)
    )
    drawn = build_parts_of_whole_instance(kind, shown)
    assert [
        (line.text, line.kind, line.words, line.is_below) for line in drawn[2].lines
    ] == [
        ("Trees", "both", "S · 11 · right", False),
        ("Four.", "", "sentence 4", True),
        ("Two.", "both", "sentence 2 · right", True),
    ]
    assert [line.words for line in drawn[1].lines][2] == "sentences 1, 3"
    # Of a set alone each sentence is right.
    shown = of(d11=("S", 2, 0))
    assert marks(shown, "abstract_rationalized_f1") == MeasureCredits(
        (1, None, 1, 0, 0), (1, 1, 1)
    )
    # A part of a set does not count; nor does a right sentence after the third; a wrong label counts no
    # sentence.
    shown = of(d11=("S", 0, 3, 4, 1), d12=("S", 0))
    assert marks(shown, "abstract_rationalized_f1") == MeasureCredits(
        (0, 0, 0, 0, 0), (0, None, None, None, None, 0, None)
    )
    assert marks(shown, "abstract_label_only_f1") == MeasureCredits(
        (1, None, None, 0, None), (1, *[None] * 4, 0, None)
    )
    assert marks(shown, "sentence_selection_f1") == MeasureCredits(
        (None, 1, 0, None, 1), (None, 0, 0, 0, 1, None, 1)
    )
    assert marks(shown, "sentence_label_f1") == MeasureCredits(
        (None, 1, 0, None, 0), (None, 0, 0, 0, 1, None, 0)
    )


def test_of_one_label_a_claim_has_the_marks_of_the_fever_score(tmp_path):
    answer = 'shape = "one"\nlabels = ["S", "R"]\nabstain = "N"'
    measures = ["fever_score", "label_accuracy", "evidence_precision"]
    kind = kind_of("evidence", ["claim"], answer=answer, measures=measures)
    gold = {"id": 1, "claim": "Oaks.", "label": "S", "gold": [["11:0", "11:2"]]}
    run = {"id": 1, "label": "S", "gold": ["11:0", "12:1"]}
    shown = shown_of(tmp_path, kind, gold, run, PAPERS)
    assert marks(shown, "fever_score") == MeasureCredits((0, 0), (0, 1, None))
    assert marks(shown, "label_accuracy") == MeasureCredits((1, None), (1, None, None))
    assert marks(shown, "evidence_precision") == MeasureCredits((None, 0), (None, 1, 0))
    assert [
        line.text for line in build_parts_of_whole_instance(kind, shown)[2].lines
    ] == ["S", "One.", "Two."]


def test_labels_rankings_and_texts_have_the_marks_of_their_measures(tmp_path):
    answer = 'labels = ["a", "b", "c"]\nseveral = true'
    kind = kind_of(answer=answer, measures=["micro_f1", "exact_match"])
    shown = shown_of(
        tmp_path,
        kind,
        {"id": "1", "text": "t", "gold": ["a", "b"]},
        {"id": "1", "gold": ["b", "c"]},
    )
    assert marks(shown, "micro_f1") == MeasureCredits((0, 1), (1, 0))
    assert marks(shown, "exact_match") == MeasureCredits((0, 0), (0, 0))
    answer = 'labels = ["a", "b", "c"]\nany_of = true'
    kind = kind_of(answer=answer)
    shown = shown_of(
        tmp_path,
        kind,
        {"id": "1", "text": "t", "gold": ["a", "b"]},
        {"id": "1", "gold": "b"},
    )
    assert marks(shown, "accuracy") == MeasureCredits((), (1,))
    kind = kind_of(
        answer='labels = ["a", "b", "c"]', measures=["kappa_quadratic", "coverage"]
    )
    shown = shown_of(
        tmp_path, kind, {"id": "1", "text": "t", "gold": "a"}, {"id": "1", "gold": "b"}
    )
    assert shown.marks == (MeasureCredits((0.75,), (0.75,), ("kappa_quadratic",)),)
    kind = kind_of(
        "ranking", ["q", "c"], measures=["mrr@2", "recall@2", "precision@2", "ndcg"]
    )
    gold = {"id": "1", "q": "t", "c": [*"vwxyz"], "gold": ["w", "x", "z"]}
    shown = shown_of(tmp_path, kind, gold, {"id": "1", "ranking": [*"wvx"]})
    assert marks(shown, "mrr@2") == MeasureCredits((1, None, None), (1, None, None))
    assert marks(shown, "recall@2") == MeasureCredits((1, 0, 0), (1, None, None))
    assert marks(shown, "precision@2") == MeasureCredits((1, 0, 0), (1, 0, None))
    assert marks(shown, "ndcg") == MeasureCredits((1, 1, 0), (1, None, 1))
    assert find_outcomes_of_instance(kind, shown) == {"first-1"}
    kind = kind_of("text", measures=["token_f1", "exact_match", "rouge_l"])
    shown = shown_of(
        tmp_path,
        kind,
        {"id": "1", "text": "t", "gold": ["Rules", "the rules help"]},
        {"id": "1", "text": "rules help us"},
    )
    assert marks(shown, "token_f1") == MeasureCredits((), (0.8,))
    assert marks(shown, "exact_match") == MeasureCredits((), (0,))
    assert not [one for one in shown.marks if "rouge_l" in one.metrics]


def test_a_ranking_keeps_the_place_of_what_stands_below_those_that_are_shown(tmp_path):
    kind = kind_of("ranking", ["q", "c"], measures=["recall@20", "recall@10"])
    gold = {"id": "1", "q": "t", "c": [*"abcdefghijkl"], "gold": "l"}
    shown = shown_of(tmp_path, kind, gold, {"id": "1", "ranking": [*"abcdefghijkl"]})
    *_, last = build_parts_of_whole_instance(kind, shown)[2].lines
    assert (last.text, last.number, last.kind) == ("l", 12, "both")
    assert marks(shown, "recall@10") == MeasureCredits((0,), (None,) * 11)
    assert find_outcomes_of_instance(kind, shown) == {"first-none"}


def test_equal_texts_are_no_mark_where_the_measure_has_none(tmp_path):
    kind = kind_of("numbers", ["first", "second"])
    shown = shown_of(
        tmp_path,
        kind,
        {"id": "1", "first": "a", "second": "a", "gold": 4},
        {"id": "1", "gold": 4},
    )
    assert shown.marks == ()
    assert {
        line.kind
        for part in build_parts_of_whole_instance(kind, shown)
        for line in part.lines
    } == {""}


CUSTOM = """import numpy as np
from scoring.metrics.base import Metric

class Half(Metric):
    def instance_stats(self, gold, answers):
        return np.ones((len(gold), 2))

    def aggregate(self, sums):
        return sums[..., 0] / sums[..., 1]

class Marked(Half):
    def marks(self, gold, answers):
        return np.array([MARKS for one in gold], dtype=float)

class Heir(Marked):
    pass
"""


@pytest.mark.parametrize(
    ("given_marks", "kept"),
    [
        ("[0.5, np.nan]", MeasureCredits((), (0.5,))),
        ("[2, 0]", None),
        ("0", None),
        ("[np.nan]", None),
    ],
)
def test_a_custom_measure_gives_its_own_marks_or_none(
    tmp_path, monkeypatch, given_marks, kept
):
    text = CUSTOM.replace("MARKS", given_marks)
    kind = kind_of(measures=["Half", "Marked", "Heir"], **{"measures.py": text})
    rows = {"id": "1", "text": "t", "gold": "yes"}, {"id": "1", "gold": "yes"}
    with trust_measures_code():
        shown = shown_of(tmp_path, kind, *rows)
    expected = () if kept is None else (kept._replace(metrics=("Marked", "Heir")),)
    assert shown.marks == expected
    # The first measure ranks and has no marks: the page draws and names those of the next measure with
    # marks.
    answer = build_parts_of_whole_instance(kind, shown)[-1]
    told = ("partly", "marked by Marked") if kept else ("", "")
    assert (answer.lines[0].kind, answer.note) == told
    # Scores have no marks if the measure's file is not run.
    monkeypatch.setattr(
        MeasureComputation, "compute", staticmethod(refuse_to_compute_measure)
    )
    assert shown_of(tmp_path, kind, *rows).marks == ()


@pytest.mark.parametrize("mark", [0.0, 1.0])
def test_a_custom_measure_may_give_the_least_and_the_largest_mark(tmp_path, mark):
    text = CUSTOM.replace("MARKS", f"[{mark}]")
    kind = kind_of(measures=["Half", "Marked"], **{"measures.py": text})
    with trust_measures_code():
        shown = shown_of(
            tmp_path,
            kind,
            {"id": "1", "text": "t", "gold": "yes"},
            {"id": "1", "gold": "yes"},
        )
    assert shown.marks == (MeasureCredits((), (mark,), metrics=("Marked",)),)


def test_what_earlier_versions_kept_is_drawn_without_marks_keys_and_json(tmp_path):
    kind = kind_of("evidence", ["claim", "year"])
    old = {
        "name": "1",
        "given": 'claim: Oaks: they grow.\nSlowly.\nyear: [1999, {"a": 1}]',
        "gold": "11: S [[1], [0, 2]]",
        "answer": "11: S [1]",
        "judged": [["right", "[11:1] Two."]],
    }
    text = json.dumps(old).encode()
    content = {
        "instances": np.frombuffer(text, np.uint8),
        "instances_ends": np.array([len(text)]),
    }
    np.savez(tmp_path / "old.npz", **content)
    [shown] = load_instances(tmp_path / "old.npz").values()
    parts = build_parts_of_whole_instance(kind, shown)
    assert [[line.text for line in (*part.lines, *part.facts)] for part in parts] == [
        ["Oaks: they grow.\nSlowly.", "1999, A: 1"],
        ["11: S 1, 0, 2"],
        ["11: S 1"],
    ]
    assert {line.kind for part in parts for line in part.lines} == {""}


def test_an_instance_goes_through_json_and_back_and_long_texts_are_cut(tmp_path):
    kind = kind_of("spans", ["body", "more"])
    gold = {
        "id": "1",
        "body": "a" * 4000,
        "more": {"b": ["x" * 50] * 9},
        "gold": [[0, 1], [3990, 3999]],
    }
    shown = shown_of(tmp_path, kind, gold, {"id": "1", "gold": [[3990, 3999]]})
    assert len(shown.fields["body"]) == 3002
    assert "more" not in shown.fields
    assert ShownInstance.from_json(json.loads(json.dumps(asdict(shown)))) == shown
    # A position after the stored ones is in the list alone.
    _given, gold_part, answer = build_parts_of_whole_instance(kind, shown)
    assert [piece.text for piece in gold_part.lines[0].pieces if piece.kind] == ["a"]
    assert [line.words for line in answer.lines[1:]] == ["at 3991–3999 · right"]


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*/task.toml")), ids=lambda path: path.parent.name
)
def test_no_sample_of_the_shipped_tasks_is_drawn_with_a_key_or_json(path):
    kind = read_folder(path.parent)
    for shown in iterate_sample_instances(kind, kind.declared.files):
        for part in build_parts_of_whole_instance(kind, shown):
            for line in (*part.lines, *part.facts):
                assert not set('{}[]"_') & set(line.label + line.words)
                assert not set('{}[]"') & set(line.text)
                assert (
                    line.kind == ""
                    or line.words
                    or any(piece.sign for piece in line.pieces)
                )


@pytest.mark.django_db
def test_on_a_site_marks_are_shown_where_the_gold_is_and_measures_have_the_tasks_own_names(
    folder,  # noqa: F811
    client,
):
    copied(EXAMPLES / "citation-spans", folder / "types" / "citation-spans")
    toml = folder / "types" / "citation-spans" / "task.toml"
    view = '[task.names]\npartial_f1 = "Half points"\n[task.view.labels]\ntext = "Sentence"\n'
    toml.write_text(f"{toml.read_text()}\n{view}")
    sample = "types/citation-spans/sample"
    season = (
        (folder / "season.toml")
        .read_text()
        .replace("citation-intent", "citation-spans")
    )
    season = season.replace('"gold.jsonl"', f'"{sample}/gold.jsonl"').replace(
        '"run.jsonl"', f'"{sample}/run.jsonl"'
    )
    (folder / "season.toml").write_text(season)
    call_command("load_season", str(folder))
    worked_off()
    run, phase = Submission.objects.get(), Phase.objects.get()
    there = reverse("submission-instances", args=[run.pk])
    assert client.get(there).status_code == 404
    client.force_login(make_user(is_staff=True))
    page = client.get(there).content.decode()
    assert (
        '<mark class="partly">rules<span class="sign" aria-hidden="true">½</span></mark>'
        in page
    )
    assert "partly right: 0.5" in page
    assert "marked by Half points" in page
    strict = client.get(there, {"metric": "strict_f1"}).content.decode()
    assert "marked by Strict F1" in strict
    assert "partly" not in strict.partition("<main")[2]
    front = text_of(client.get("/"))
    assert "Half points" in front
    assert "Partial F1" not in front
    assert "Half points" in text_of(
        client.get(reverse("organise-runs", args=["field"]))
    )
    # In one's own run without the gold, answers have no marks.
    team = boards.make_team(phase, "Ada")
    Submission.objects.update(team=team, kind="primary")
    client.force_login(team.memberships.get().user)
    own = client.get(there).content.decode()
    assert ">rules<" in own or "rules" in text_of(client.get(there))
    assert "partly" not in own.partition("<main")[2]
    assert "found" not in own.partition("<h2")[2].partition("</main")[0]


@pytest.mark.django_db
def test_how_an_instance_is_drawn_is_chosen_with_a_new_task_and_changed_later(client):
    season = declaring.factories.make_season(
        organiser=declaring.factories.make_user(name="Olga"),
        slug="one",
        title="One",
        is_public=False,
    )
    client.force_login(season.organisers.get().user)
    answer = declaring.begun(client, declaring.lines(declaring.sentences()))
    wrong = declaring.saved(client, answer, view_as="pair", view_first="text")
    assert "a pair needs “second”" in text_of(wrong)
    assert "An instance is drawn as" in text_of(wrong)
    wrong = declaring.saved(client, answer, view_labels="text: Sentence")
    assert "no line such as" in text_of(wrong)
    told = {"view_as": "post", "view_first": "text", "view_labels": "text = Sentence"}
    assert declaring.saved(client, answer, **told).status_code == 302
    task = Task.objects.get()
    view = task.task_type.declared.view
    assert (view.kind, view.roles, view.labels) == (
        "post",
        {"text": "text"},
        {"text": "Sentence"},
    )
    there, slug = declaring.place(task.pk), task.task_type.slug
    page = client.get(there)
    assert page.context["form"]["view_labels"].value() == "text = Sentence"
    assert (
        declaring.saved(client, page, there, view_as="", view_labels="").status_code
        == 302
    )
    changed = Task.objects.get().task_type
    assert (changed.slug, changed.declared.view.kind) == (slug, "passage")
    assert "view" not in tomllib.loads(changed.declared.files["task.toml"])["task"]


def test_a_view_of_another_kind_than_the_answers_can_fill_falls_back_to_a_table():
    kind = kind_of(shown=("a", "b"), view='[task.view]\nas = "reference"')
    assert given(kind, a="x", b=["y"]) == ("table", [], {"A": "x", "B": "y"})


def test_gold_of_several_runs_has_no_marks(tmp_path):
    kind = kind_of()
    shown = shown_of(
        tmp_path,
        kind,
        {"id": "1", "text": "t", "gold": "yes"},
        {"id": "1", "gold": "yes"},
    )
    sides = VisibleInstanceValues(
        fields=shown.fields,
        gold=shown.gold_parts,
        answers={"A": shown.answer_parts, "B": ()},
        marks={"A": shown.marks, "B": ()},
    )
    _given, gold, first, second = build_instance_parts_with_marks(kind, sides)
    assert [line.kind for part in (gold, first, second) for line in part.lines] == [
        "",
        "both",
    ]
    hidden = build_instance_parts_with_marks(kind, replace(sides, gold=(), marks={}))
    assert {line.kind for part in hidden for line in part.lines} == {""}
