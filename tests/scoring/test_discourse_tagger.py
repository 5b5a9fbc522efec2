"""Taggers: trained through the command, kept without pickling, equal to scikit-learn, read with care."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.metrics.discourse import (
    BUNDLED_TAGGER_FOLDERS,
    VECTORIZER_SETTINGS_BY_BLOCK,
    SentenceTagger,
)
from scoring.tools.training import (
    LabelledSentence,
    TrainingSettings,
    compute_accuracy_and_f1,
    evaluate_tagger,
    read_labelled_sentences,
    split_off_test_sentences,
    train_sentence_tagger,
)
from tasks.types.problems import SoftwareUnavailable
from tests.scoring import offline
from tests.scoring.discourse import intents, write_gold, write_lines, write_run

ACL_ARC = BUNDLED_TAGGER_FOLDERS["acl-arc"]
LABELLED = [
    (f"We use the {noun} of {name} for all of our {number} texts.", "Uses")
    if number % 2
    else (
        f"In contrast to {name} our {noun} does not need {number} rules.",
        "CompareOrContrast",
    )
    for number, (noun, name) in enumerate(
        [
            (noun, name)
            for noun in ("parser", "tagger", "corpus", "model")
            for name in ("Lee", "Ng", "Wu")
        ]
        * 4
    )
]


@pytest.fixture
def labelled(tmp_path) -> Path:
    return write_lines(
        tmp_path / "labelled.jsonl",
        [{"text": text, "label": label} for text, label in LABELLED],
    )


@pytest.fixture
def folder(tmp_path, labelled, capsys) -> Path:
    out = tmp_path / "tagger"
    assert main(["train-tagger", str(labelled), "--out", str(out)]) == 0
    capsys.readouterr()
    return out


def trained_by_scikit_learn(texts, labels):
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    blocks = [
        TfidfVectorizer(min_df=2, **own)
        for own in VECTORIZER_SETTINGS_BY_BLOCK.values()
    ]
    model = LogisticRegression(C=5.0, class_weight="balanced", max_iter=2000)
    model.fit(
        hstack([block.fit_transform(texts) for block in blocks], format="csr"), labels
    )
    return lambda given: model.predict(
        hstack([block.transform(given) for block in blocks], format="csr")
    )


def test_a_kept_tagger_gives_the_tags_of_the_model_it_was_made_of(folder):
    texts, labels = zip(*LABELLED, strict=True)
    asked = [
        *texts,
        "We use [0] here.",
        "In contrast to others.",
        "",
        "Ünïcode \t only",
    ]
    expected = trained_by_scikit_learn(texts, labels)(asked)
    assert SentenceTagger.load(folder).tag(asked) == list(expected)


@pytest.mark.proof
def test_a_tagger_of_the_intents_gives_scikit_learn_s_tags_on_every_test_sentence(
    shared, tmp_path, capsys
):
    from sklearn.metrics import f1_score

    own = shared / "acl_arc_intents"
    out = tmp_path / "tagger"
    arguments = [
        str(own / "train.jsonl"),
        "--test",
        str(own / "dev.jsonl"),
        "--out",
        str(out),
        "--json",
    ]
    assert main(["train-tagger", *arguments]) == 0
    manifest = json.loads(capsys.readouterr().out)
    trained, tested = (
        read_labelled_sentences(own / "train.jsonl"),
        read_labelled_sentences(own / "dev.jsonl"),
    )
    texts, gold = [each.text for each in tested], [each.label for each in tested]
    tags = trained_by_scikit_learn(
        [each.text for each in trained], [each.label for each in trained]
    )(texts)
    assert SentenceTagger.load(out).tag(texts) == list(tags)
    told = manifest["evaluation"]
    assert told["test"]["macro_f1"] == pytest.approx(
        f1_score(gold, tags, average="macro"), rel=1e-12
    )
    # What leaks is worth a fifth of the score.
    assert told["test"]["macro_f1"] > 0.70
    assert 0.45 < told["test_without_training_texts"]["macro_f1"] < 0.55
    assert told["test_without_training_texts"]["sentences"] == 68


def test_the_tagger_that_comes_with_the_program_holds_words_and_no_sentence():
    tagger = SentenceTagger.load(ACL_ARC)
    assert max(len(term.split()) for term in tagger.terms["words"]) == 2
    assert max(map(len, tagger.terms["characters"])) == 5
    manifest = json.loads((ACL_ARC / "manifest.json").read_text())
    assert manifest["trained_on"]["sentences"] == 1588
    told = manifest["evaluation"]
    assert round(told["test"]["macro_f1"], 3) == 0.730
    assert round(told["test_without_training_texts"]["macro_f1"], 3) == 0.509
    notice = (ACL_ARC / "NOTICE.txt").read_text()
    assert "Apache License, Version 2.0" in notice
    assert "Jurgens" in notice
    assert (ACL_ARC / "model.npz").stat().st_size < 400_000
    assert tagger.tag(["We use the parser of [0] for all of our texts."]) == ["Uses"]


@pytest.mark.shared
def test_the_tagger_that_comes_with_the_program_reaches_the_stated_scores(shared):
    own = shared / "acl_arc_intents"
    trained = read_labelled_sentences(own / "train.jsonl")
    told = evaluate_tagger(
        SentenceTagger.load(ACL_ARC),
        trained,
        read_labelled_sentences(own / "dev.jsonl"),
    )
    manifest = json.loads((ACL_ARC / "manifest.json").read_text())
    assert told == {
        name: manifest["evaluation"][name]
        for name in manifest["evaluation"]
        if name != "on"
    }


@pytest.mark.shared
@pytest.mark.proof
def test_rounded_numbers_change_no_tag_of_a_known_sentence(shared):
    own = shared / "acl_arc_intents"
    trained = read_labelled_sentences(own / "train.jsonl")
    texts = [
        one.text for one in (*trained, *read_labelled_sentences(own / "dev.jsonl"))
    ]
    assert train_sentence_tagger(trained, TrainingSettings()).tag(
        texts
    ) == SentenceTagger.load(ACL_ARC).tag(texts)


def test_decimals_below_zero_are_refused(labelled, tmp_path, capsys):
    words = ["train-tagger", str(labelled), "--out", str(tmp_path / "out")]
    assert main([*words, "--decimals", "-1"]) == 2
    assert "--decimals -1: expected 0 or more" in capsys.readouterr().err
    assert main([*words, "--decimals", "1"]) == 0
    weights = SentenceTagger.load(tmp_path / "out").weights
    assert np.array_equal(weights, weights.round(1))


def test_the_manifest_says_where_a_tagger_came_from_as_people_read_json(folder):
    text = (folder / "manifest.json").read_text()
    manifest = json.loads(text)
    assert text == json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    assert manifest["sha256"] == SentenceTagger.load(folder).digest
    assert manifest["labels"] == ["CompareOrContrast", "Uses"]
    assert manifest["trained_on"]["sentences"] == len(LABELLED)
    assert manifest["trained_on"]["labels"] == dict(
        Counter(label for _, label in LABELLED)
    )
    assert manifest["evaluation"]["on"] == "a tenth held out, seed 0"


def test_training_again_gives_the_same_digest(folder, labelled, tmp_path):
    assert main(["train-tagger", str(labelled), "--out", str(tmp_path / "again")]) == 0
    assert (
        SentenceTagger.load(tmp_path / "again").digest
        == SentenceTagger.load(folder).digest
    )


def test_a_tenth_is_held_out_whatever_the_seed():
    sentences = [LabelledSentence(f"sentence {number}", "a") for number in range(1000)]
    for seed in (0, 1):
        rest, tested = split_off_test_sentences(sentences, seed)
        assert (len(rest), len(tested)) == (900, 100)
    assert (
        split_off_test_sentences(sentences, 0)[1]
        != split_off_test_sentences(sentences, 1)[1]
    )


def test_figures_over_no_sentences_are_null(folder):
    assert compute_accuracy_and_f1(SentenceTagger.load(folder), [])["macro_f1"] is None


def test_lines_that_are_not_labelled_are_refused_by_number(tmp_path, capsys):
    path = write_lines(
        tmp_path / "l.jsonl",
        [{"text": "a b", "label": "x"}, {"text": "a b"}, {"label": 3}],
    )
    assert main(["train-tagger", str(path), "--out", str(tmp_path / "out")]) == 2
    [told] = capsys.readouterr().err.splitlines()
    assert told.startswith(f"{path}:2: ")
    assert told.endswith("(and 1 more line: 3)")
    assert not (tmp_path / "out").exists()


def test_too_little_to_learn_from_is_said(tmp_path, capsys):
    path = write_lines(
        tmp_path / "l.jsonl", [{"text": f"a b {n}", "label": "x"} for n in range(30)]
    )
    assert main(["train-tagger", str(path), "--out", str(tmp_path / "out")]) == 2
    assert (
        "30 sentences of 1 labels; expected at least 20, of two labels"
        in capsys.readouterr().err
    )


def test_a_changed_model_is_not_the_one_of_its_manifest(folder):
    with np.load(folder / "model.npz") as kept:
        arrays = {name: kept[name] for name in kept.files}
    arrays["weights"] = arrays["weights"] + 1
    np.savez_compressed(folder / "model.npz", **arrays)
    with pytest.raises(SoftwareUnavailable, match="the digests differ"):
        SentenceTagger.load(folder)


def test_a_pickled_model_is_not_unpickled(folder):
    np.savez(folder / "model.npz", weights=np.array([print], dtype=object))
    with pytest.raises(SoftwareUnavailable, match="cannot be read"):
        SentenceTagger.load(folder)


@pytest.mark.parametrize(
    "name", ["weights", "intercepts", "idf:words", "terms:characters", "labels"]
)
def test_arrays_that_do_not_fit_together_are_refused(folder, name):
    with np.load(folder / "model.npz") as kept:
        arrays = {each: kept[each] for each in kept.files}
    arrays[name] = arrays[name][..., :0]
    np.savez_compressed(folder / "model.npz", **arrays)
    with pytest.raises(SoftwareUnavailable, match="cannot be read"):
        SentenceTagger.load(folder)


def test_texts_without_labels_are_tagged_and_labels_of_their_own_win(
    tmp_path, folder, capsys
):
    gold = write_gold(tmp_path / "gold", {"lu": [None, intents("Uses"), None]})
    own = {"lu": [None, intents("Uses"), intents("CompareOrContrast")]}
    run = write_run(
        tmp_path / "run.jsonl", own, "We use the parser of [0] for all texts."
    )
    tagger = ("--option", f"intent_tagger={folder}")
    told = offline.score(capsys, "citation-text", gold, run, *tagger)
    notes = told["notes"]
    assert notes["texts_of_the_run_with_intent_labels_of_their_own"] == 2
    assert notes["texts_of_the_run_with_intent_labels_of_the_tagger"] == 1
    assert notes["texts_of_the_gold_with_intent_labels_of_the_tagger"] == 2
    assert (
        f"|tagger:{SentenceTagger.load(folder).digest[:12]}|"
        in told["metrics"]["kl_intent"]["column"]
    )
    only = offline.score(
        capsys,
        "citation-text",
        gold,
        run,
        *tagger,
        "--option",
        "discourse_labels=tagger",
    )
    assert only["notes"]["texts_of_the_run_with_intent_labels_of_the_tagger"] == 3
    assert only["notes"]["texts_of_the_run_with_intent_labels_of_their_own"] == 0


def test_the_original_leaves_out_gold_sentences_without_a_mark_of_one_digit(
    tmp_path, folder, capsys
):
    gold = tmp_path / "gold" / "lu.jsonl"
    target = "We use the parser of Lee for all texts. In contrast to [0] it does not need rules."
    write_lines(gold, [{"id": "lu-00", "input": ["x"], "target": target}])
    run = write_run(
        tmp_path / "run.jsonl",
        {"lu": [None]},
        "In contrast to Lee we do not need rules.",
    )
    tagger = ("--option", f"intent_tagger={folder}", "--intervals", "0")
    value = lambda *more: offline.score(  # noqa: E731
        capsys, "citation-text", [gold], run, *tagger, *more
    )["metrics"]["kl_intent"]["value"]
    assert value() == pytest.approx(np.log(2), rel=1e-12)
    assert value("--option", "discourse=original") == 0
    assert value("--rules", "official") == 0


def test_a_tagger_that_is_not_there_makes_a_run_wait(tmp_path, capsys):
    gold = write_gold(tmp_path / "gold", {"lu": [None]})
    run = write_run(tmp_path / "run.jsonl", {"lu": [None]})
    arguments = ["score", "citation-text", "--gold", str(gold[0]), "--run", str(run)]
    assert main([*arguments, "--option", f"intent_tagger={tmp_path / 'none'}"]) == 6
    assert "there is no tagger in" in capsys.readouterr().err


def test_a_tagger_of_other_labels_than_the_task_s_is_said(tmp_path, folder, capsys):
    gold = write_gold(tmp_path / "gold", {"lu": [None]})
    run = write_run(tmp_path / "run.jsonl", {"lu": [None]})
    options = (
        "--option",
        f"intent_tagger={folder}",
        "--option",
        "intent_labels=Uses,Praise",
    )
    assert (
        main(
            [
                "score",
                "citation-text",
                "--gold",
                str(gold[0]),
                "--run",
                str(run),
                *options,
            ]
        )
        == 6
    )
    assert (
        "gives CompareOrContrast, which intent_labels does not list"
        in capsys.readouterr().err
    )


def test_labels_of_one_s_own_rank_nothing_where_a_tagger_counts(
    tmp_path, folder, capsys
):
    """The same text with other labels: the tagger's divergence stays, and the supplied one follows them."""
    gold = write_gold(tmp_path / "gold", {"lu": [intents("Uses", "CompareOrContrast")]})
    chosen = ("--option", "discourse_labels=tagger", "--intervals", "0")
    tagger = (*chosen, "--option", f"intent_tagger={folder}")
    found = []
    for number, labels in enumerate([("Uses",), ("Uses", "CompareOrContrast")]):
        run = write_run(
            tmp_path / f"{number}.jsonl",
            {"lu": [intents(*labels)]},
            "We use the parser of [0].",
        )
        found.append(
            offline.score(capsys, "citation-text", gold, run, *tagger)["metrics"]
        )
    first, second = found
    assert first["kl_intent"] == second["kl_intent"]
    assert first["kl_intent_supplied"]["value"] == pytest.approx(np.log(2), rel=1e-12)
    assert second["kl_intent_supplied"]["value"] == 0
    assert second["kl_intent_supplied"]["higher_is_better"] is None
    assert "kl_corwa_supplied" in second
    # Without a tagger of a scheme there is no column that says nothing.
    assert not {"kl_corwa", "kl_corwa_smoothed"} & set(second)
    alone = offline.score(
        capsys, "citation-text", gold, run, *chosen, "--rules", "official"
    )["metrics"]
    assert [name for name in alone if name.startswith("kl_")] == [
        "kl_intent_supplied",
        "kl_corwa_supplied",
    ]
