"""What is proposed for gold that is there: right without an edit, and secret where it tells."""

import json
import tomllib
import zipfile
from functools import partial
from io import BytesIO

import pytest

from scoring.__main__ import main
from tasks.types import InputRefused, task_type
from tasks.types.declared.proposals import (
    _propose_file_format,
    list_candidate_fields,
    propose_declaration,
)
from tasks.types.declared.recognised import guess_answer_field, guess_id_settings
from tasks.types.files import InputFile, open_input_files
from tests.declared.folders import lines, shared
from tests.declared.standing_proposals import BLOCKS, FILE, block


def proposed(form: str, path) -> dict:
    task = propose_declaration(form, "task", "Task", open_input_files(path)).task
    return {"unit": "", "dimensions": [], **task}


@pytest.mark.parametrize(
    ("corpus", "file", "labels"),
    [
        ("scicite_intents", "dev.jsonl", 3),
        ("scicite_intents", "train.jsonl", 3),
        ("acl_arc_intents", "dev.jsonl", 6),
        ("acl_arc_intents", "train.jsonl", 6),
    ],
)
def test_citation_intents_are_proposed_as_their_folders_declare_them(
    corpus, file, labels
):
    task = proposed("labels", shared(corpus) / file)
    assert task["gold"] == {"id": "id", "field": "label", "shown": ["text"]}
    assert (task["unit"], len(task["answer"]["labels"])) == ("", labels)
    assert task["dimensions"] == [{"name": "label", "field": "label"}]
    assert task["rules"][0]["measures"][:3] == ["macro_f1", "accuracy", "mcc"]


def test_reference_verification_shows_the_entry_alone_and_breaks_down_by_what_is_secret():
    task = proposed("labels", shared("reference_verification") / "dev_public.jsonl")
    assert task["gold"] == {
        "id": "bibtex_key", "field": "label", "shown": ["fields"], "hidden": ["fields.url"],
    }  # fmt: skip
    assert (task["unit"], task["answer"]["positive"]) == ("", "HALLUCINATED")
    dimensions = {one["name"]: one for one in task["dimensions"]}
    assert dimensions["hallucination_type"]["absent"] == "valid"
    assert dimensions["difficulty_tier"]["with"] == {"label": "VALID"}
    assert dimensions["publication_date"]["as"] == "year"


@pytest.mark.parametrize(
    ("file", "gold", "unit"),
    [
        (
            "contexts.jsonl",
            {
                "id": "context_id",
                "field": "gold",
                "shown": ["sentence", "before", "after"],
            },
            "paper_id",
        ),
        (
            "diagnostic.jsonl",
            {"id": "id", "field": "cited_id", "shown": ["sentence"]},
            "citing_id",
        ),
    ],
)
def test_a_ranking_of_references_finds_its_pool_and_what_its_ids_are_called(
    tmp_path, file, gold, unit
):
    corpus = shared("unarxive_contexts")
    with zipfile.ZipFile(tmp_path / "gold.zip", "w") as archive:
        for name in (file, "references.jsonl"):
            archive.write(corpus / name, name)
    task = proposed("ranking", tmp_path / "gold.zip")
    assert (task["gold"], task["unit"]) == (gold, unit)
    assert task["pool"] == {"file": "references.jsonl", "id": "ref_id", "text": "raw"}
    assert task["answer"] == {"query": "sentence"}


def test_what_gives_a_label_away_is_not_shown_by_what_it_says_by_a_word_or_by_being_there(
    tmp_path,
):
    rows = [
        {
            "id": f"s{place}",
            "code": "AB"[place % 2],
            "note": ("surely", "hardly")[place % 2] + f" {place} of it",
            "text": f"Sentence {place} of many others",
            **({"why": f"since {place}"} if place % 2 else {}),
            "label": ("yes", "no")[place % 2],
        }
        for place in range(40)
    ]
    (tmp_path / "gold.jsonl").write_text(lines(rows))
    task = proposed("labels", tmp_path / "gold.jsonl")
    assert task["gold"]["shown"] == ["text"]
    assert task["answer"]["positive"] == "yes"


@pytest.mark.parametrize(
    ("form", "row", "field"),
    [
        ("numbers", lambda n: {"id": n, "first": "A tree.", "score": [n % 5, n % 4]}, "score"),
        ("text", lambda n: {"id": f"t{n}", "source": "We read.", "references": [f"It {n}."]}, "references"),
        ("spans", lambda n: {"id": f"p{n}", "text": "As Reed shows.", "spans": [[3, 7, "it"]]}, "spans"),
    ],
)  # fmt: skip
def test_a_folder_from_gold_is_sound_in_other_forms_and_files_too(
    tmp_path, capsys, form, row, field
):
    rows = [row(n) for n in range(12)]
    (tmp_path / "gold.json").write_text(json.dumps(rows))
    folder = tmp_path / "task"
    assert (
        main(["task", "new", form, str(folder), "--gold", str(tmp_path / "gold.json")])
        == 0
    )
    assert (
        tomllib.loads((folder / "task.toml").read_text())["task"]["gold"]["field"]
        == field
    )
    assert main(["task", "check", str(folder)]) == 0
    assert task_type(str(folder)).declared.form == form


def test_numbers_in_a_table_are_an_answer(tmp_path):
    rows = "".join(
        f"p{place},{words},{place / 4}\n"
        for place, words in enumerate(["Rain fell.", "Snow fell."])
    )
    path = tmp_path / "gold.csv"
    path.write_text(f"id,sentence,similarity\n{rows}p2,It was dry.,nan\n")
    with pytest.raises(InputRefused):
        proposed("numbers", path)
    path.write_text(f"id,sentence,similarity\n{rows}")
    task = proposed("numbers", path)
    assert task["gold"]["field"] == "similarity"
    assert (task["answer"]["least"], task["answer"]["most"]) == (0.0, 0.25)


@pytest.mark.parametrize("number", range(BLOCKS))
def test_what_is_proposed_for_drawn_gold_stands(number):
    assert block(number) == json.loads(FILE.read_text())["blocks"][number]


def test_a_table_parted_by_semicolons_is_read_as_one(tmp_path):
    head = "id;text;label\n"
    body = "".join(
        f"s{n};A sentence of {n} words;{('yes', 'no')[n % 2]}\n" for n in range(8)
    )
    (tmp_path / "gold.csv").write_text(head + body)
    gold = proposed("labels", tmp_path / "gold.csv")["gold"]
    assert gold == {
        "files": "csv",
        "delimiter": ";",
        "id": "id",
        "field": "label",
        "shown": ["text"],
    }


def labelled(count: int, **values) -> dict:
    """What is proposed for so many instances with these fields, each as a function of the place."""
    rows = []
    for place in range(count):
        own = {"id": f"i{place}", "text": f"w{place} a b c d"}
        own |= {name: value(place) for name, value in values.items() if name != "label"}
        own["label"] = values["label"](place) if "label" in values else "ab"[place % 2]
        rows.append({name: value for name, value in own.items() if value is not None})
    content = lines(rows).encode()
    return propose_declaration(
        "labels",
        "t",
        "T",
        [InputFile("gold.jsonl", "gold.jsonl", lambda: BytesIO(content))],
    ).task


@pytest.mark.parametrize(
    ("count", "value", "is_one"),
    [
        (40, lambda n: f"k{n % 3}" if n < 20 else None, True),
        (40, lambda n: f"k{n % 3}" if n < 19 else None, False),
        (41, lambda n: f"k{n % 3}" if n < 20 else None, False),
        (60, lambda n: f"k{n % 20}", True),
        (60, lambda n: f"k{n % 21}", False),
        (21, lambda n: f"k{n % 10}", True),
        (21, lambda n: f"k{n % 11}", False),
        (40, lambda n: "k", False),
        (40, lambda n: f"k{n % 2}", True),
        (40, lambda n: ["k"], False),
    ],
)
def test_a_field_is_a_dimension_from_half_of_the_instances_and_two_of_each_class_on(
    count, value, is_one
):
    task = labelled(count, place=value)
    assert ("place" in [own["name"] for own in task["dimensions"]]) is is_one


@pytest.mark.parametrize(
    ("count", "different", "is_one"),
    [(8, 4, True), (8, 5, False), (9, 4, True), (8, 2, True), (8, 1, False)],
)
def test_a_unit_has_two_instances_on_average_and_is_not_the_only_one(
    count, different, is_one
):
    task = labelled(count, paper_id=lambda n: f"p{n % different}")
    assert task.get("unit") == ("paper_id" if is_one else None)


@pytest.mark.parametrize(("right", "is_told"), [(18, False), (19, True)])
@pytest.mark.parametrize(
    "form", ["{} of {} and of more", "{} a b c d e f g h"], ids=["word", "whole"]
)
def test_what_tells_more_than_nine_of_ten_labels_is_not_shown(right, is_told, form):
    """By a word among others, or by what it says."""
    wrong = 20 - right
    signs = ["x"] * 10 + ["y"] * (10 - wrong) + ["x"] * wrong
    task = labelled(
        20,
        sign=lambda n: form.format(signs[n], n),
        label=lambda n: "a" if n < 10 else "b",
    )
    assert ("sign" not in task["gold"]["shown"]) is is_told


@pytest.mark.parametrize(("right", "is_told"), [(36, False), (37, True)])
def test_of_several_values_all_together_tell_a_label(right, is_told):
    labels = ["ab"[n % 4 > 1] if n < right else "ba"[n % 4 > 1] for n in range(40)]
    task = labelled(
        40, sign=lambda n: f"c{n % 4} a b c d e f g h", label=lambda n: labels[n]
    )
    assert ("sign" not in task["gold"]["shown"]) is is_told


@pytest.mark.parametrize(
    ("first", "second", "is_told"),
    [(15, 5, True), (14, 5, False), (15, 6, False), (16, 4, True)],
)
def test_a_part_is_hidden_that_stands_twenty_times_and_three_times_as_often_beside_one_label(
    first, second, is_told
):
    def meta(n: int) -> dict:
        has_part = n // 2 < (second if n % 2 else first)
        part = {"p": f"or {n}"} if has_part else {}
        return {"x": f"one of the trees {n}", **part}

    assert labelled(60, meta=meta)["gold"].get("hidden", []) == ["meta.p"] * is_told


@pytest.mark.parametrize("count", [8, 9])
def test_up_to_eight_labels_have_a_measure_each(count):
    task = labelled(count * 4, label=lambda n: f"l{n % count}")
    assert len(task["rules"][0]["measures"]) == 3 + count * (count == 8)


def test_an_id_that_occurs_again_is_told_with_how_often():
    rows = [{"paper_id": f"p{min(place, 18)}", "label": "x"} for place in range(20)]
    found, guess = guess_id_settings("labels", rows, "label")
    assert found == {"id": "paper_id"}
    assert guess.reason.endswith("; 1 of its values stand in several rows")


@pytest.mark.parametrize(("last", "is_id"), [("x4", True), ("4", False)])
def test_words_that_all_differ_are_ids_if_one_is_no_number(last, is_id):
    rows = [{"code": code, "label": "x"} for code in ("1", "2", "3", last)]
    found, _ = guess_id_settings("labels", rows, "label")
    assert (found["id"] == "code") is is_id


def test_of_fields_named_like_answers_that_of_the_more_usual_name_is_the_answer():
    rows = [
        {"id": f"i{n}", "claim_category": "ab"[n % 2], "claim_label": "cd"[n % 2]}
        for n in range(8)
    ]
    found, _ = guess_answer_field("labels", rows)
    assert found.field == "claim_label"


def test_columns_that_share_the_usual_name_of_an_answer_are_the_answer_together():
    rows = [{"id": f"i{n}", "score_1": n, "score_2": 9 - n} for n in range(8)]
    reading, _ = guess_answer_field("numbers", rows)
    assert reading.keys == {"columns": ["score_1", "score_2"]}


def test_columns_of_0_and_1_precede_a_list_if_no_name_is_typical_of_answers():
    rows = [
        {"id": f"i{n}", "words": ["ab"[n % 2]], "is_new": n % 2, "is_own": n // 4}
        for n in range(8)
    ]
    reading, _ = guess_answer_field("labels", rows)
    assert reading.keys == {"columns": ["is_new", "is_own"]}


@pytest.mark.parametrize(
    ("others", "end"), [("abcdef", "“f_id”"), ("abcdefg", "“f_id” and 1 more")]
)
def test_six_other_ids_are_named_and_of_more_their_number(others, end):
    names = ["id", *(f"{letter}_id" for letter in others)]
    rows = [dict.fromkeys(names, f"x{place}") for place in range(4)]
    _, guess = guess_id_settings("labels", rows, "label")
    assert guess.reason.endswith(end)


@pytest.mark.parametrize(("named", "is_shown"), [(5, True), (6, False)])
def test_a_text_that_names_most_answers_is_not_shown(named, is_shown):
    rows = [
        {
            "id": f"i{n}",
            "text": f"of D{n}x and more" if n < named else "of none and more",
            "gold": [f"D{n}x"],
        }
        for n in range(10)
    ]
    pool = [{"doc": f"D{n}x", "text": f"a b c d {n}"} for n in range(10)]
    files = [
        InputFile(name, name, partial(BytesIO, lines(own).encode()))
        for name, own in (("gold.jsonl", rows), ("pool.jsonl", pool))
    ]
    assert (
        "text" in propose_declaration("ranking", "t", "T", files).task["gold"]["shown"]
    ) is is_shown


@pytest.mark.parametrize(
    ("head", "delimiter"),
    [("id,text\na,b;c", None), ("id;text\na;b,c", ";"), ("id;te;xt,label\na;b;c", ";")],
)
def test_a_table_is_parted_by_what_its_head_has_more_of(head, delimiter):
    file = InputFile("gold.csv", "gold.csv", lambda: BytesIO(head.encode()))
    assert _propose_file_format(file, {}).get("delimiter") == delimiter


@pytest.mark.parametrize(
    ("odd", "said"),
    [(None, {"with": {"label": "a"}}), ("x", {"absent": "a"}), (True, {"absent": "a"})],
)
def test_instances_without_a_grade_are_beside_each_and_those_without_a_kind_are_one(
    odd, said
):
    """Grades are numbers, all of them."""
    task = labelled(
        40, grade=lambda n: None if n % 2 == 0 else odd if odd and n < 9 else n // 2 % 3
    )
    assert {"name": "grade", "field": "grade", **said} in task["dimensions"]


@pytest.mark.parametrize(
    ("form", "name"), [("labels", "gold.txt"), ("ranking", "gold.dat")]
)
def test_qrels_are_read_for_rankings_alone_and_from_files_with_their_suffixes(
    form, name
):
    file = InputFile(name, name, lambda: BytesIO(b"q1 0 D1 1\nq1 0 D2 0\n"))
    with pytest.raises(InputRefused) as refused:
        propose_declaration(form, "t", "T", [file])
    assert [own.message for own in refused.value.problems] == ["there are no instances"]


def test_queries_of_qrels_have_the_id_that_their_file_names():
    qrels = "q1 0 D1 1\nq1 0 D2 0\nq2 0 D2 1\n"
    queries = lines({"number": f"q{n}", "query": f"a {n}"} for n in (1, 2))
    pool = lines({"doc": f"D{n}", "text": f"a b {n}"} for n in (1, 2, 3))
    files = [
        InputFile(name, name, partial(BytesIO, own.encode()))
        for name, own in (
            ("qrels.txt", qrels),
            ("queries.jsonl", queries),
            ("pool.jsonl", pool),
        )
    ]
    gold = propose_declaration("ranking", "t", "T", files).task["gold"]
    assert (gold["id"], gold.get("queries")) == ("number", "queries.jsonl")


@pytest.mark.parametrize(("count", "is_proposed"), [(9, True), (8, False)])
def test_candidates_are_lists_with_more_than_the_answers_in_nine_of_ten_instances(
    count, is_proposed
):
    rows = [
        {
            "id": f"i{n}",
            "text": f"a b c d {n}",
            "candidates": [f"D{n}", "D10"] if n < count else [f"D{n}"],
            "relevant": [f"D{n}"],
        }
        for n in range(10)
    ]
    assert list_candidate_fields(rows, "relevant") == ["candidates"] * is_proposed
