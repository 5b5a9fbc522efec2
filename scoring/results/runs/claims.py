"""Prepare the responses of a run for pages, with sentences, citation marks, parses,
claims, labels and credits.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy

from scoring.models import Evaluation
from scoring.offline.evaluate import (
    load_details,
    load_names_of_described_units,
    load_page_of_details,
)
from scoring.results.board.comparisons import open_statistics_file

#: A page shows RESPONSES_PER_PAGE responses, as a response may have a dozen parse trees.
RESPONSES_PER_PAGE = 5
#: The names of metrics for runs with claims begin with CLAIM_METRIC_PREFIX.
CLAIM_METRIC_PREFIX = "aliice_"
CLAIM_SPLITTING_FALLBACK_NOTES = {
    "too_long": gettext_lazy("Too long to be split: the whole sentence is the claim."),
    "root_cited": gettext_lazy("The root is cited: the whole sentence is the claim."),
    "unmatched": gettext_lazy(
        "No word of the parse stands for the marks: there is no claim."
    ),
}


def has_visible_claims(evaluation: Evaluation) -> bool:
    has_any = any(
        score.metric.startswith(CLAIM_METRIC_PREFIX)
        for score in evaluation.scores.all()
    )
    return has_any and not evaluation.withheld


def build_response_page(
    evaluation: Evaluation,
    number: int,
    name: str,
    *,
    shows_labels: bool,
    shows_passages: bool,
) -> dict[str, Any]:
    """Return the data for a page of a run's responses, where ``number`` is the number
    of the page from 1.
    """
    with open_statistics_file(evaluation) as kept:
        if name:
            units = load_names_of_described_units(kept)
            number = (
                units.index(name) // RESPONSES_PER_PAGE + 1 if name in units else number
            )
            kept.seek(0)
        page, total = load_page_of_details(
            kept, (number - 1) * RESPONSES_PER_PAGE, RESPONSES_PER_PAGE
        )
    responses = []
    for unit, detail in page:
        passages = detail.get("passages", {}) if shows_passages else {}
        sentences = detail.get("sentences", ())
        responses.append(
            {
                "name": unit,
                "question": detail.get("question", "") if shows_passages else "",
                "sentences": [
                    _format_sentence_for_display(sentence, shows_labels=shows_labels)
                    for sentence in sentences
                ],
                "passages": [
                    (mark, passage["title"], passage["text"])
                    for mark, passage in passages.items()
                ],
            }
        )
    pages = max(1, math.ceil(total / RESPONSES_PER_PAGE))
    return {"number": number, "pages": pages, "total": total, "responses": responses}


def load_claims_by_response(
    evaluation: Evaluation, names: Collection[str]
) -> dict[str, list[dict[str, Any]]]:
    """Return the claims in each response of a run, each with its verdict and with the
    texts of its citation marks.
    """
    if not has_visible_claims(evaluation):
        return {}
    with open_statistics_file(evaluation) as kept:
        details = load_details(kept, names)
    return {name: format_claims_for_display(detail) for name, detail in details.items()}


def format_claims_for_display(detail: Mapping[str, Any]) -> list[dict[str, Any]]:
    claims = (
        claim
        for sentence in detail.get("sentences", ())
        for claim in sentence["claims"]
    )
    return [_format_claim_for_display(claim, shows_labels=True) for claim in claims]


def _format_sentence_for_display(
    detail: Mapping[str, Any], *, shows_labels: bool
) -> dict[str, Any]:
    from tasks.types.positional_citations.sentences import CITATION_MARK_PATTERN

    tokens, heads, relations = detail["tokens"], detail["heads"], detail["relations"]
    pieces, end = [], 0
    for mark in CITATION_MARK_PATTERN.finditer(detail["text"]):
        pieces += [(detail["text"][end : mark.start()], False), (mark.group(), True)]
        end = mark.end()
    note = str(CLAIM_SPLITTING_FALLBACK_NOTES.get(detail["fallback"] or "", ""))
    return {
        # Each piece is a text and True for a citation mark or False for other text.
        "pieces": [*pieces, (detail["text"][end:], False)],
        "has_marks": bool(detail["marks"]),
        "note": note if detail["marks"] else _("No mark, so that it claims nothing."),
        "lost": detail["lost"],
        "drawing": build_dependency_tree_drawing(tokens, heads, relations)
        if tokens
        else None,
        "parse": [
            (token, relation, "" if head == place else tokens[head])
            for place, (token, head, relation) in enumerate(
                zip(tokens, heads, relations, strict=True)
            )
        ],
        "claims": [
            _format_claim_for_display(claim, shows_labels=shows_labels)
            for claim in detail["claims"]
        ],
    }


def _format_claim_for_display(
    detail: Mapping[str, Any], *, shows_labels: bool
) -> dict[str, Any]:
    if not detail["counts"]:
        verdict = _("does not count: a mark stands for no passage")
    elif not shows_labels:
        verdict = ""
    else:
        verdict = {True: _("entailed"), False: _("not entailed"), None: _("pending")}[
            detail["entailed"]
        ]
    explains = shows_labels and detail["counts"]
    marks = [
        {
            "number": number,
            "why": _explain_citation_credit(detail, place) if explains else "",
        }
        for place, number in enumerate(detail["marks"])
    ]
    is_supported = bool(shows_labels and detail["counts"] and detail["entailed"])
    return {
        "text": detail["text"],
        "verdict": verdict,
        "is_supported": is_supported,
        "marks": marks,
    }


def _explain_citation_credit(detail: Mapping[str, Any], place: int) -> str:
    if detail["entailed"] is None:
        return _("pending")
    if detail["entailed"] is False:
        return _("no credit: its passages do not entail the claim")
    alone, others = (
        detail[side][place] if place < len(detail[side]) else None
        for side in ("alone", "others")
    )
    if detail["credits"][place] is None:
        return _("pending")
    if len(detail["marks"]) == 1:
        return _("credit: its passage entails the claim")
    if alone:
        return _("credit: its passage alone entails the claim")
    return (
        _("no credit: the others entail the claim without it")
        if others
        else _("credit: the others need it")
    )


(
    TREE_CHARACTER_WIDTH,
    TREE_LABEL_CHARACTER_WIDTH,
    TREE_TOKEN_PADDING,
    TREE_MIN_TOKEN_WIDTH,
) = 8.2, 6.4, 18.0, 46.0
TREE_ARC_LEVEL_HEIGHT, TREE_TOP_MARGIN, TREE_BOTTOM_MARGIN = 22.0, 20.0, 26.0
ROOT_LABEL = "ROOT"


def build_dependency_tree_drawing(
    tokens: Sequence[str], heads: Sequence[int], relations: Sequence[str]
) -> dict[str, Any]:
    """Return the drawing of a dependency tree with the given tokens, heads and
    relations. Each arc leads from a head to a dependent, where the arc has an
    arrowhead.
    """
    widths = [
        max(
            TREE_MIN_TOKEN_WIDTH,
            TREE_CHARACTER_WIDTH * len(token) + TREE_TOKEN_PADDING,
            TREE_LABEL_CHARACTER_WIDTH * len(relation) + TREE_TOKEN_PADDING,
        )
        for token, relation in zip(tokens, relations, strict=True)
    ]
    middles = [sum(widths[:place]) + width / 2 for place, width in enumerate(widths)]
    levels = _compute_arc_levels(heads)
    baseline = TREE_TOP_MARGIN + TREE_ARC_LEVEL_HEIGHT * (
        max(levels.values(), default=0) + 1
    )
    arcs = []
    for place, (head, x) in enumerate(zip(heads, middles, strict=True)):
        arc: dict[str, Any]
        if head == place:
            path = f"M {x:.1f} {TREE_TOP_MARGIN:.1f} L {x:.1f} {baseline:.1f}"
            arc = {
                "path": path,
                "label": ROOT_LABEL,
                "x": round(x, 1),
                "y": TREE_TOP_MARGIN - 6,
            }
        else:
            top = baseline - TREE_ARC_LEVEL_HEIGHT * (levels[place] + 0.6)
            arc = {
                **_build_arc_drawing(middles[head], x, baseline, top),
                "label": relations[place],
                "y": top - 4,
            }
        base = baseline - 6
        point = f"M {x - 4:.1f} {base:.1f} L {x + 4:.1f} {base:.1f} L {x:.1f} {baseline + 1:.1f} Z"
        arcs.append({**arc, "point": point})
    phrases = [
        _("“%(token)s” is the root") % {"token": token}
        if head == place
        else _("“%(token)s” is %(relation)s of “%(head)s”")
        % {"token": token, "relation": relation, "head": tokens[head]}
        for place, (token, head, relation) in enumerate(
            zip(tokens, heads, relations, strict=True)
        )
    ]
    return {
        "width": round(sum(widths)),
        "height": round(baseline + TREE_BOTTOM_MARGIN),
        "baseline": round(baseline + 18),
        "words": [
            {"text": token, "x": round(x, 1)}
            for token, x in zip(tokens, middles, strict=True)
        ],
        "arcs": arcs,
        "sentence": f"{'; '.join(phrases)}.",
    }


def _compute_arc_levels(heads: Sequence[int]) -> dict[int, int]:
    """Return the height of the arc to each dependent in a dependency tree, so that an
    arc is above all arcs within its span.
    """
    spans = sorted(
        (abs(head - place), min(head, place), max(head, place), place)
        for place, head in enumerate(heads)
        if head != place
    )
    levels: dict[int, int] = {}
    within: list[tuple[int, int, int]] = []
    for _length, begin, end, place in spans:
        inside = [
            level for first, last, level in within if begin <= first and last <= end
        ]
        levels[place] = max(inside, default=-1) + 1
        within.append((begin, end, levels[place]))
    return levels


def _build_arc_drawing(
    head: float, dependent: float, baseline: float, top: float
) -> dict[str, Any]:
    """Return the drawing of an arc in a dependency tree. The arc begins slightly beside
    the head, so that arcs from one head do not overlap.
    """
    begin = head + (6 if dependent > head else -6)
    bend = min(14.0, abs(dependent - begin) / 2)
    towards = bend if dependent > begin else -bend
    path = (
        f"M {begin:.1f} {baseline:.1f} C {begin:.1f} {top:.1f} {begin:.1f} {top:.1f} "
        f"{begin + towards:.1f} {top:.1f} L {dependent - towards:.1f} {top:.1f} "
        f"C {dependent:.1f} {top:.1f} {dependent:.1f} {top:.1f} {dependent:.1f} {baseline:.1f}"
    )
    return {"path": path, "x": round((begin + dependent) / 2, 1)}
