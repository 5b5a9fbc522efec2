"""Read the parts of a run, such as citations or claims, that people can label to
estimate the run's score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.metrics.entailed import build_case
from scoring.metrics.entailment import CitedClaim, EntailmentPair
from tasks.types import Pairs, Split
from tasks.types.cited_reports.judgements import LABEL_CREDITS_BY_KIND
from tasks.types.cited_reports.pairing import (
    CITED_DOCUMENT_WITHOUT_TEXT,
    OUT_OF_RANGE_CITATION,
    JudgedNugget,
    JudgedReport,
)
from tasks.types.cited_reports.topics import (
    NuggetOfTopic,
    ReportCollection,
    ReportTopic,
)
from tasks.types.ledger import ASSIGNS_KIND, ENTAILS_KIND, SUPPORTS_KIND
from tasks.types.positional_citations.questions import ClaimRow

NUGGET_UNITS, CITATION_UNITS, CLAIM_UNITS = "nuggets", "citations", "claims"
#: LABEL_KIND_BY_UNIT_KIND maps each kind of labelled unit to the kind of judgement about the unit.
LABEL_KIND_BY_UNIT_KIND = {
    NUGGET_UNITS: ASSIGNS_KIND,
    CITATION_UNITS: SUPPORTS_KIND,
    CLAIM_UNITS: ENTAILS_KIND,
}
JudgedTexts = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class LabellingUnit:
    """A part of a run that people can label, such as a citation or a claim, with its
    row in the matrices, its index within the row, and the texts to judge.

    ``key`` identifies the labelled part of the run within a topic. A part without texts
    has a known value and needs no label.
    """

    row: int
    topic: str
    key: str
    texts: tuple[JudgedTexts, ...] = ()
    place: int = 0


def list_units(of: str, split: Split, pairs: Pairs) -> list[LabellingUnit]:
    """Return the parts of a run that people can label, in the order of the rows of the
    run.
    """
    return list(ITERATOR_BY_UNIT_KIND[of](split, pairs))


def _iterate_nugget_units(split: Split, pairs: Pairs) -> Iterator[LabellingUnit]:
    """Yield a unit for each nugget of each topic, and for each topic without nuggets.
    The nuggets of a topic are the same for all runs.
    """
    places: Counter[str] = Counter()
    reports: dict[str, str] = {}
    for row, (gold, answer) in enumerate(zip(pairs.gold, pairs.answers, strict=True)):
        if isinstance(gold, ReportTopic):
            if isinstance(answer, JudgedReport) and answer.report is not None:
                reports[gold.id] = answer.report.text
            if not gold.nuggets:
                yield LabellingUnit(row=row, topic=gold.id, key="")
        elif isinstance(gold, NuggetOfTopic):
            topic = gold.topic
            key = str(places[topic.id])
            places[topic.id] += 1
            texts: tuple[JudgedTexts, ...] = ()
            if isinstance(answer, JudgedNugget) and topic.id in reports:
                shown = {"topic": topic.names[0], "report": reports[topic.id]}
                texts = tuple(
                    {**shown, "nugget": part.shown} for part in gold.nugget.parts
                )
            yield LabellingUnit(row=row, topic=topic.id, key=key, texts=texts)


def _iterate_citation_units(split: Split, pairs: Pairs) -> Iterator[LabellingUnit]:
    """Yield a unit for each citation of a document with text, and for each topic
    without citations.

    The result does not depend on a judge's labels, so people can get the units before
    the judge runs.
    """
    content: ReportCollection = split.content
    for row, (gold, answer) in enumerate(zip(pairs.gold, pairs.answers, strict=True)):
        if not isinstance(gold, ReportTopic) or not isinstance(answer, JudgedReport):
            continue
        if not answer.citations:
            yield LabellingUnit(row=row, topic=gold.id, key="")
        place = -1
        for sentence in answer.sentences:
            for citation in sentence.citations:
                place += 1
                if citation.label == CITED_DOCUMENT_WITHOUT_TEXT:
                    continue
                texts: tuple[JudgedTexts, ...] = ()
                if citation.label != OUT_OF_RANGE_CITATION:
                    name = citation.citation.document
                    document = content.documents[name or ""]
                    shown = f"{document.title}\n{document.text}"
                    asked = {
                        "sentence": sentence.sentence.text,
                        "document": shown if document.title else document.text,
                    }
                    texts = (asked,)
                yield LabellingUnit(
                    row=row, topic=gold.id, key=str(place), texts=texts, place=place
                )


def _iterate_claim_units(split: Split, pairs: Pairs) -> Iterator[LabellingUnit]:
    """Yield a unit for each claim of each response, with all entailment pairs that may
    affect the claim's verdict.
    """
    places: Counter[str] = Counter()
    for row, answer in enumerate(pairs.answers):
        if isinstance(answer, ClaimRow):
            name = answer.question.id
            case = build_case(answer.question, answer.claim.text, answer.claim.marks)
            yield LabellingUnit(
                row=row,
                topic=name,
                key=str(places[name]),
                texts=tuple(map(_build_judged_texts, list_pairs_of_claim(case))),
            )
            places[name] += 1


def list_pairs_of_claim(case: CitedClaim) -> list[EntailmentPair]:
    """Return the entailment pairs that combine a claim with all passages, with each
    passage alone, and with all passages except one.
    """
    pairs = [case.joint_pair]
    if case.has_several_passages:
        for passage in case.first_index_by_passage:
            pairs += [case.pair_with_passage(passage), case.others(passage)]
    return list(dict.fromkeys(pairs))


def _build_judged_texts(pair: EntailmentPair) -> JudgedTexts:
    return {"premise": pair.premise, "hypothesis": pair.hypothesis}


ITERATOR_BY_UNIT_KIND: Mapping[
    str, Callable[[Split, Pairs], Iterator[LabellingUnit]]
] = {
    NUGGET_UNITS: _iterate_nugget_units,
    CITATION_UNITS: _iterate_citation_units,
    CLAIM_UNITS: _iterate_claim_units,
}


def compute_citation_credit(
    answers: Sequence[Any], unit: LabellingUnit, *, is_strict: bool
) -> float | None:
    """Return the credit of a citation according to its label, or None without a label."""
    citations = answers[unit.row].citations
    if not citations:
        return 0.0
    citation = citations[unit.place]
    if citation.label not in (
        *LABEL_CREDITS_BY_KIND[SUPPORTS_KIND],
        OUT_OF_RANGE_CITATION,
    ):
        return None
    return float(citation.credit(is_strict=is_strict))
