"""Read the parts of a run, such as citations or claims, that people can label to
estimate the run's score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scoring.metrics.entailed import case_of
from scoring.metrics.entailment import Case, Pair
from tasks.types import Pairs, Split
from tasks.types.cited_reports.judgements import CREDITS
from tasks.types.cited_reports.pairing import (
    NO_TEXT,
    OUT_OF_RANGE,
    JudgedNugget,
    JudgedReport,
)
from tasks.types.cited_reports.topics import Collection, NuggetOfTopic, Topic
from tasks.types.ledger import ASSIGNS, ENTAILS, SUPPORTS
from tasks.types.positional_citations.questions import ScoredClaim

NUGGETS, CITATIONS, CLAIMS = "nuggets", "citations", "claims"
#: KINDS maps each kind of labelled unit to the kind of judgement about the unit.
KINDS = {NUGGETS: ASSIGNS, CITATIONS: SUPPORTS, CLAIMS: ENTAILS}
Texts = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A part of a run that people can label, such as a citation or a claim, with its
    row in the matrices, its index within the row, and the texts to judge.

    ``key`` identifies the labelled part of the run within a topic. A part without texts
    has a known value and needs no label.
    """

    row: int
    topic: str
    key: str
    texts: tuple[Texts, ...] = ()
    place: int = 0


def units_of(of: str, split: Split, pairs: Pairs) -> list[Unit]:
    """Return the parts of a run that people can label, in the order of the rows of the
    run.
    """
    return list(READERS[of](split, pairs))


def _nugget_units(split: Split, pairs: Pairs) -> Iterator[Unit]:
    """Yield a unit for each nugget of each topic, and for each topic without nuggets.
    The nuggets of a topic are the same for all runs.
    """
    places: Counter[str] = Counter()
    reports: dict[str, str] = {}
    for row, (gold, answer) in enumerate(zip(pairs.gold, pairs.answers, strict=True)):
        if isinstance(gold, Topic):
            if isinstance(answer, JudgedReport) and answer.report is not None:
                reports[gold.id] = answer.report.text
            if not gold.nuggets:
                yield Unit(row=row, topic=gold.id, key="")
        elif isinstance(gold, NuggetOfTopic):
            topic = gold.topic
            key = str(places[topic.id])
            places[topic.id] += 1
            texts: tuple[Texts, ...] = ()
            if isinstance(answer, JudgedNugget) and topic.id in reports:
                shown = {"topic": topic.names[0], "report": reports[topic.id]}
                texts = tuple(
                    {**shown, "nugget": part.shown} for part in gold.nugget.parts
                )
            yield Unit(row=row, topic=topic.id, key=key, texts=texts)


def _citation_units(split: Split, pairs: Pairs) -> Iterator[Unit]:
    """Yield a unit for each citation of a document with text, and for each topic
    without citations.

    The result does not depend on a judge's labels, so people can get the units before
    the judge runs.
    """
    content: Collection = split.content
    for row, (gold, answer) in enumerate(zip(pairs.gold, pairs.answers, strict=True)):
        if not isinstance(gold, Topic) or not isinstance(answer, JudgedReport):
            continue
        if not answer.citations:
            yield Unit(row=row, topic=gold.id, key="")
        place = -1
        for sentence in answer.sentences:
            for citation in sentence.citations:
                place += 1
                if citation.label == NO_TEXT:
                    continue
                texts: tuple[Texts, ...] = ()
                if citation.label != OUT_OF_RANGE:
                    name = citation.citation.document
                    document = content.documents[name or ""]
                    shown = f"{document.title}\n{document.text}"
                    asked = {
                        "sentence": sentence.sentence.text,
                        "document": shown if document.title else document.text,
                    }
                    texts = (asked,)
                yield Unit(
                    row=row, topic=gold.id, key=str(place), texts=texts, place=place
                )


def _claim_units(split: Split, pairs: Pairs) -> Iterator[Unit]:
    """Yield a unit for each claim of each response, with all entailment pairs that may
    affect the claim's verdict.
    """
    places: Counter[str] = Counter()
    for row, answer in enumerate(pairs.answers):
        if isinstance(answer, ScoredClaim):
            name = answer.question.id
            case = case_of(answer.question, answer.claim.text, answer.claim.marks)
            yield Unit(
                row=row,
                topic=name,
                key=str(places[name]),
                texts=tuple(map(_texts_of_pair, pairs_of_case(case))),
            )
            places[name] += 1


def pairs_of_case(case: Case) -> list[Pair]:
    """Return the entailment pairs that combine a claim with all passages, with each
    passage alone, and with all passages except one.
    """
    pairs = [case.joint]
    if case.has_several:
        for passage in case.first_places:
            pairs += [case.alone(passage), case.others(passage)]
    return list(dict.fromkeys(pairs))


def _texts_of_pair(pair: Pair) -> Texts:
    return {"premise": pair.premise, "hypothesis": pair.hypothesis}


READERS: Mapping[str, Callable[[Split, Pairs], Iterator[Unit]]] = {
    NUGGETS: _nugget_units,
    CITATIONS: _citation_units,
    CLAIMS: _claim_units,
}


def citation_credit(
    answers: Sequence[Any], unit: Unit, *, is_strict: bool
) -> float | None:
    """Return the credit of a citation according to its label, or None without a label."""
    citations = answers[unit.row].citations
    if not citations:
        return 0.0
    citation = citations[unit.place]
    if citation.label not in (*CREDITS[SUPPORTS], OUT_OF_RANGE):
        return None
    return float(citation.credit(is_strict=is_strict))
