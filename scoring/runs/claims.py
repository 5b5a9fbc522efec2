"""A run's responses as a page shows them: sentences, marks, parses, claims, labels, credits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core import storage
from scoring.models import Evaluation
from scoring.offline.matrices import described_units, load_page
from scoring.runs.arcs import Drawing, drawing

#: Responses on a page; each may have a dozen parses.
AT_A_TIME = 5
#: Metrics whose runs have claims begin with this.
METRICS = "aliice_"
FALLBACKS = {
    "too_long": gettext_lazy("Too long to be split: the whole sentence is the claim."),
    "root_cited": gettext_lazy("The root is cited: the whole sentence is the claim."),
    "unmatched": gettext_lazy("No word of the parse stands for the marks: there is no claim."),
}


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What a claim's mark earns, and why."""

    number: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """``verdict`` is empty where labels are not shown."""

    text: str
    verdict: str
    marks: list[Mark]


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """``pieces`` are its text in order, each with whether it is a mark."""

    pieces: list[tuple[str, bool]]
    has_marks: bool
    note: str
    lost: int
    drawing: Drawing | None
    parse: list[tuple[str, str, str]]
    claims: list[Claim]


@dataclass(frozen=True, kw_only=True)
class Response:
    """One answer; ``passages`` is empty where the viewer may not see them."""

    name: str
    question: str
    sentences: list[Sentence]
    passages: list[tuple[str, str, str]]


@dataclass(frozen=True, kw_only=True)
class Page:
    """Some responses of a run; ``number`` counts from 1."""

    number: int
    pages: int
    total: int
    responses: list[Response]


def has_claims(evaluation: Evaluation) -> bool:
    return any(score.metric.startswith(METRICS) for score in evaluation.scores.all())


def page_of(
    evaluation: Evaluation, number: int, name: str, *, shows_labels: bool, shows_passages: bool
) -> Page:
    """The page of this number, or the one that has the response of this name."""
    with storage.statistics.open(evaluation.statistics) as kept:
        if name:
            units = described_units(kept)
            number = units.index(name) // AT_A_TIME + 1 if name in units else number
            kept.seek(0)
        found, total = load_page(kept, (number - 1) * AT_A_TIME, AT_A_TIME)
    responses = [
        _response(name, detail, shows_labels=shows_labels, shows_passages=shows_passages)
        for name, detail in found
    ]
    return Page(number=number, pages=max(1, math.ceil(total / AT_A_TIME)), total=total, responses=responses)


def _response(name: str, detail: Mapping[str, Any], *, shows_labels: bool, shows_passages: bool) -> Response:
    passages = detail.get("passages", {}) if shows_passages else {}
    return Response(
        name=name,
        question=detail.get("question", "") if shows_passages else "",
        sentences=[
            _sentence(sentence, shows_labels=shows_labels) for sentence in detail.get("sentences", ())
        ],
        passages=[(mark, passage["title"], passage["text"]) for mark, passage in passages.items()],
    )


def _sentence(detail: Mapping[str, Any], *, shows_labels: bool) -> Sentence:
    from tasks.types.positional_citations.marks import MARK

    tokens, heads, relations = detail["tokens"], detail["heads"], detail["relations"]
    pieces, end = [], 0
    for mark in MARK.finditer(detail["text"]):
        pieces += [(detail["text"][end : mark.start()], False), (mark.group(), True)]
        end = mark.end()
    return Sentence(
        pieces=[*pieces, (detail["text"][end:], False)],
        has_marks=bool(detail["marks"]),
        note=str(FALLBACKS.get(detail["fallback"] or "", ""))
        if detail["marks"]
        else _("No mark, so that it claims nothing."),
        lost=detail["lost"],
        drawing=drawing(tokens, heads, relations) if tokens else None,
        parse=[
            (token, relation, "" if head == place else tokens[head])
            for place, (token, head, relation) in enumerate(zip(tokens, heads, relations, strict=True))
        ],
        claims=[_claim(claim, shows_labels=shows_labels) for claim in detail["claims"]],
    )


def _claim(detail: Mapping[str, Any], *, shows_labels: bool) -> Claim:
    if not detail["counts"]:
        verdict = _("does not count: a mark stands for no passage")
    elif not shows_labels:
        verdict = ""
    else:
        verdict = {True: _("entailed"), False: _("not entailed"), None: _("pending")}[detail["entailed"]]
    return Claim(
        text=detail["text"],
        verdict=verdict,
        marks=[
            Mark(
                number=number,
                why=_why(detail, place) if shows_labels and detail["counts"] else "",
            )
            for place, number in enumerate(detail["marks"])
        ],
    )


def _why(detail: Mapping[str, Any], place: int) -> str:
    if detail["entailed"] is None:
        return _("pending")
    if detail["entailed"] is False:
        return _("no credit: its passages do not entail the claim")
    alone, others = _at(detail["alone"], place), _at(detail["others"], place)
    if detail["credits"][place] is None:
        return _("pending")
    if len(detail["marks"]) == 1:
        return _("credit: its passage entails the claim")
    if alone:
        return _("credit: its passage alone entails the claim")
    return (
        _("no credit: the others entail the claim without it") if others else _("credit: the others need it")
    )


def _at(values: Sequence[bool | None], place: int) -> bool | None:
    return values[place] if place < len(values) else None
