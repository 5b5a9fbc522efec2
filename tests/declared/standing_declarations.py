"""What becomes of a declaration of which one value is another or lacks, as the file beside this says it.

    python -m tests.declared.standing_declarations

writes the file anew, for a change that is meant.
"""

# Tables of cases are read across.
# ruff: noqa: E501

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.types.declared.folder import read_declaration
from tasks.types.problems import InputRefused
from tests.scoring.standing_numbers import digest, said, written

FILE = Path(__file__).with_suffix(".json")
#: In the place of every value of a declaration.
ODD = (
    "",
    "x",
    "text",
    0,
    1,
    -1,
    1.5,
    True,
    [],
    {},
    ["x", "x"],
    [2, 1],
    [True],
    ["x", 1],
    {"x": 1},
    {"label": "a"},
    [{}],
)
WHOLE: dict[str, Any] = {
    "slug": "t", "title": "T", "unit": "two_words", "public_sample": True,
    "dimensions": ["plain", {"name": "year", "field": "text.year", "as": "year", "cuts": [1990, 2000.5], "absent": "none", "with": {"kind": "VALID"}}],
    "names": {"accuracy": "hits", "de": {"accuracy": "Treffer"}},
    "gold": {"field": "gold", "id": "key", "files": "csv", "delimiter": ";", "shown": ["text", "more"], "hidden": ["text.secret"]},
}  # fmt: skip
RULES: dict[str, Any] = {"name": "corrected", "missing": "left-out"}
POOL = {"file": "pool.jsonl", "id": "name", "text": "body", "shown": ["body"]}
TRAIN = '{"key": "k1", "text": "we parse", "more": "", "gold": "a"}\n'
#: Of each form what it says besides.
FORMS: dict[str, dict[str, Any]] = {
    "labels": {
        "answer": {
            "field": "answer", "labels": ["a", "b"], "positive": "a", "abstain": "none", "several": False, "any_of": False,
            "probabilities": "optional", "confidence": "needed",
        },
        "rules": [
            {**RULES, "abstained": {"label": "b", "confidence": 0.5},
             "measures": ["accuracy", {"name": "f1_b", "measure": "f1", "label": "b"}, {"name": "ece_3", "measure": "ece", "bins": 3}]},
            {"name": "other", "measures": ["macro_f1", {"name": "equal", "measure": "ece_equal_size", "bins": 3, "pooled": True}]},
        ],
        "baselines": [{"name": "majority"}, {"name": "prior", "train": "train.jsonl"}],
    },
    "numbers": {
        "answer": {"field": "answer", "least": 0, "most": 4, "step": 1, "reduce": "median"},
        "rules": [{"name": "corrected", "measures": ["pearson", "mae", {"name": "levels", "measure": "kappa_quadratic"}]}],
        "baselines": [{"name": "mean"}],
    },
    "text": {
        "answer": {"field": "answer", "longest": 40},
        "rules": [{**RULES, "measures": ["rouge_1", {"name": "l", "measure": "rouge_l", "stemmed": True, "part": "recall"}, {"name": "c", "measure": "chrf", "words": 2}]}],
        "baselines": [{"name": "lead"}],
    },
    "spans": {
        "answer": {"field": "answer", "text": "body", "labels": ["A", "B"], "overlap": True},
        "rules": [{**RULES, "measures": ["strict_f1", {"name": "iou", "measure": "iou_f1", "threshold": 0.5}]}],
    },
    "tags": {
        "answer": {"field": "answer", "tokens": "words", "labels": ["A", "B"], "repair": True},
        "gold": {**WHOLE["gold"], "files": "bio", "delimiter": ""},
        "rules": [{**RULES, "measures": ["entity_f1", {"name": "all", "measure": "entity_recall"}]}],
    },
    "evidence": {
        "answer": {"field": "answer", "shape": "sets", "labels": ["S", "R"], "given": "docs", "abstain": "N"},
        "pool": {"file": "corpus.jsonl", "id": "doc", "sentences": "body", "shown": ["title"]},
        "rules": [{**RULES, "measures": ["sentence_label_f1", "abstract_rationalized_f1"]}],
    },
    "ranking": {
        "answer": {"field": "answer", "longest": 40, "query": "more"},
        "pool": POOL,
        "rules": [{"name": "corrected", "measures": ["recall@10", "map", {"name": "deep", "measure": "ndcg@100"}]}],
        "baselines": [{"name": "bm25"}],
    },
}  # fmt: skip


PARTS = ("task", *FORMS)


def outcomes(part: str) -> dict[str, Any]:
    """By the place in the declaration a digest of what is said of each value there, or becomes of the task."""
    form = "labels" if part == "task" else part
    whole = {**WHOLE, "form": form, **FORMS[form]}
    places = (
        [(), ("form",), *_places(WHOLE)] if part == "task" else [*_places(FORMS[form])]
    )
    return {
        ".".join(map(str, place)): digest(
            [_outcome(_with(whole, place, value)) for value in (..., *ODD)]
        )
        for place in places
    }


def _places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = (
        value.items()
        if isinstance(value, Mapping)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, own in inner:
        yield (*before, key)
        yield from _places(own, (*before, key))
    if isinstance(value, Mapping) and before:
        yield (*before, "unheard_of")


def _with(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """The value with another at a place, without any there where that is `...`."""
    if not place:
        return value if new is ... else new
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    key, *rest = place
    if not rest and new is ...:
        copy.pop(*((key, None) if isinstance(copy, dict) else (key,)))
    else:
        copy[key] = _with(
            copy.get(key, {}) if isinstance(copy, dict) else copy[key], tuple(rest), new
        )
    return copy


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{key} = {_toml(own)}" for key, own in value.items()) + "}"
        )
    return (
        f"[{', '.join(map(_toml, value))}]"
        if isinstance(value, list | tuple)
        else json.dumps(value)
    )


def _outcome(declared: Any) -> Any:
    text = (
        "".join(f"task.{key} = {_toml(own)}\n" for key, own in declared.items())
        if isinstance(declared, Mapping)
        else f"task = {_toml(declared)}\n"
    )
    try:
        found = read_declaration(
            {"task.toml": text, "train.jsonl": TRAIN, "card.md": "x"}
        )
    except InputRefused as refusal:
        return said(refusal.problems)
    own = found.pair.__self__
    return [
        {name: value for name, value in vars(own).items() if name != "dimensions"},
        *(found.title, found.unit, found.dimensions, found.display_names, found.label_dimensions, found.metrics, found.default_rule_set),
        {rules: [(one.name, one.metric, dict(one.arguments)) for one in refs] for rules, refs in found.rules.items()},
        list(map(vars, own.dimensions)), [option.name for option in found.options], [found.slug, found.declared.form, found.declared.public_sample],
        [(one.name, one.summary, one.learns_from_gold) for one in found.declared.baselines], found.declared.translations,
    ]  # fmt: skip


def write() -> None:
    FILE.write_text(written({part: outcomes(part) for part in PARTS}) + "\n")


if __name__ == "__main__":
    write()
