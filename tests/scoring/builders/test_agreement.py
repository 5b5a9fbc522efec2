"""The builder's classes are those that others gave to the same 720 real contexts.

Source: the data pack's `diagnostic.jsonl`, with the thresholds that its page prints.
"""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.tools.builders.diagnostic import compare_builds
from tests.scoring.builders.corpora import write_lines

#: Of these every value is the same.
ALL = (
    *(
        "sentence",
        "cited_id",
        "field",
        "n_tokens",
        "length_class",
        "position",
        "location_class",
    ),
    *("word_before", "word_after"),
)


@pytest.mark.shared
def test_the_classes_of_the_data_pack_are_found(shared: Path, tmp_path, capsys):
    pytest.importorskip("spacy")
    pack, out = shared / "unarxive_contexts", tmp_path / "season"
    options = [
        "--every-context",
        "--no-baselines",
        "--length-thresholds",
        "6.9974,28.7098",
    ]
    tagger = [
        "--tagger",
        str(shared / "spacy" / "en_test_sm"),
        "--agree-with",
        str(pack / "diagnostic.jsonl"),
    ]
    assert (
        main(["build-diagnostic", str(pack), "--out", str(out), *options, *tagger]) == 0
    )
    found = compare_builds(out / "gold" / "diagnostic.jsonl", pack / "diagnostic.jsonl")
    assert (found.compared, found.ours_alone, found.theirs_alone) == (720, 0, 0)
    assert {fact: found.same[fact] for fact in ALL} == dict.fromkeys(ALL, 720)
    # Numbers of preprints and of reviews read as years there; the tagger is another one.
    assert found.same["cited_year"] >= 713
    assert found.same["year_group"] >= 715
    assert min(found.same["pos_before"], found.same["pos_after"]) >= 705
    assert (
        "| cited_year | 713 | 99.0% | 2019 → 1904 (4)"
        in (out / "agreement.md").read_text()
    )


def test_what_differs_is_shown_with_both_values(tmp_path):
    ours = [
        {"context_id": "a", "field": "Music", "n_tokens": 3},
        {"context_id": "b", "field": "Chess"},
    ]
    theirs = [{"id": "a", "field": "Art", "n_tokens": 3}, {"id": "c", "field": "Art"}]
    found = compare_builds(
        write_lines(tmp_path / "ours", ours), write_lines(tmp_path / "theirs", theirs)
    )
    assert (found.compared, found.ours_alone, found.theirs_alone) == (1, 1, 1)
    assert found.same == {"n_tokens": 1}
    assert found.differing == {"field": [("a", "Music", "Art")]}
    assert json.dumps(found.differing)
