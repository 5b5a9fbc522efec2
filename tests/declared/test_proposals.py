"""What is proposed for gold that is there: right without an edit, and secret where it tells."""

import json
import tomllib
import zipfile

import pytest

from scoring.__main__ import main
from tasks.types import InputRefused, task_type
from tasks.types.declared.proposals import look
from tasks.types.files import open_input
from tests.declared.folders import lines, shared
from tests.declared.standing_proposals import BLOCKS, FILE, block


def proposed(form: str, path) -> dict:
    task = look(form, "task", "Task", open_input(path)).task
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
def test_citation_intents_are_proposed_as_their_folders_declare_them(corpus, file, labels):
    task = proposed("labels", shared(corpus) / file)
    assert task["gold"] == {"id": "id", "field": "label", "shown": ["text"]}
    assert (task["unit"], len(task["answer"]["labels"])) == ("", labels)
    assert task["dimensions"] == [{"name": "label", "field": "label"}]
    assert task["rules"][0]["measures"][:3] == ["macro_f1", "accuracy", "mcc"]


def test_reference_verification_shows_the_entry_alone_and_breaks_down_by_what_is_secret():
    task = proposed("labels", shared("reference_verification") / "dev_public.jsonl")
    assert task["gold"] == {
        "id": "bibtex_key", "field": "label", "shown": ["bibtex_type", "fields"], "hidden": ["fields.url"],
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
            {"id": "context_id", "field": "gold", "shown": ["section", "sentence", "before", "after"]},
            "paper_id",
        ),
        ("diagnostic.jsonl", {"id": "id", "field": "cited_id", "shown": ["sentence"]}, "citing_id"),
    ],
)
def test_a_ranking_of_references_finds_its_pool_and_what_its_ids_are_called(tmp_path, file, gold, unit):
    corpus = shared("unarxive_contexts")
    with zipfile.ZipFile(tmp_path / "gold.zip", "w") as archive:
        for name in (file, "references.jsonl"):
            archive.write(corpus / name, name)
    task = proposed("ranking", tmp_path / "gold.zip")
    assert (task["gold"], task["unit"]) == (gold, unit)
    assert task["pool"] == {"file": "references.jsonl", "id": "ref_id", "text": "raw"}
    assert task["answer"] == {"query": "sentence"}


def test_what_gives_a_label_away_is_not_shown_by_what_it_says_by_a_word_or_by_being_there(tmp_path):
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
def test_a_folder_from_gold_is_sound_in_other_forms_and_files_too(tmp_path, capsys, form, row, field):
    rows = [row(n) for n in range(12)]
    (tmp_path / "gold.json").write_text(json.dumps(rows))
    folder = tmp_path / "task"
    assert main(["task", "new", form, str(folder), "--gold", str(tmp_path / "gold.json")]) == 0
    assert tomllib.loads((folder / "task.toml").read_text())["task"]["gold"]["field"] == field
    assert main(["task", "check", str(folder)]) == 0
    assert task_type(str(folder)).declared.form == form


def test_numbers_in_a_table_are_an_answer(tmp_path):
    rows = "".join(
        f"p{place},{words},{place / 4}\n" for place, words in enumerate(["Rain fell.", "Snow fell."])
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
    body = "".join(f"s{n};A sentence of {n} words;{('yes', 'no')[n % 2]}\n" for n in range(8))
    (tmp_path / "gold.csv").write_text(head + body)
    gold = proposed("labels", tmp_path / "gold.csv")["gold"]
    assert gold == {"files": "csv", "delimiter": ";", "id": "id", "field": "label", "shown": ["text"]}
