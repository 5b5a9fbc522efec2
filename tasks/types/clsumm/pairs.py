"""Citances and answers side by side: what each official program and the corrected rules compare."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tasks.types.base import CORRECTED, Split
from tasks.types.clsumm.citances import (
    Annotation,
    CitanceName,
    Key,
    Matcher,
    as_sets,
    has_reference,
    key_2016,
    key_2017,
    key_2018,
    merged_facets,
    named_sentences,
    numbered,
)
from tasks.types.clsumm.options import OFFICIAL_2014, OFFICIAL_2016, OFFICIAL_2017, OFFICIAL_2018
from tasks.types.clsumm.runs import Run
from tasks.types.clsumm.topics import GoldFile, Topic


@dataclass(frozen=True)
class CitancePair:
    """A citance and its answer; either may be missing, not both.

    ``file`` counts the gold files of the topic from 0. ``is_known`` says of an answer without gold that the
    official program knows its key, from a row that quotes nothing.
    """

    topic: Topic
    file: int
    gold: Annotation | None
    answer: Annotation | None
    is_known: bool = False

    @property
    def annotator(self) -> str:
        return self.topic.files[self.file].annotator

    @property
    def citance(self) -> str:
        """By which name participants know it; the same for every annotator."""
        annotation = self.gold or self.answer
        assert annotation is not None
        return citance_label(self.topic.name, annotation.name)


def citance_label(topic: str, name: CitanceName) -> str:
    which = f"citance {name.number} ({name.citing})" if name.number else f"{name.citing} {name.marker}"
    return f"{topic}, {which.strip()}"


_OFFICIAL_KEYS = {OFFICIAL_2016: key_2016, OFFICIAL_2017: key_2017, OFFICIAL_2018: key_2018}


def pair_citances(split: Split, run: Run, rules: str) -> tuple[list[CitancePair], Counter[str]]:
    """Every citance with its answer, then the answers that belong to none; and counts of what was odd.

    Each annotator's file is compared for itself. Under the programs of 2017 and 2018 a topic counts only
    where the run has a file or line for it, and of the lines with one key, in gold and run alike, the last
    stands for all. That of 2016 does the latter and stops where a topic is missing: there it counts here, as
    under the other rules, where every topic and every citance does.
    """
    topics: Sequence[Topic] = split.content
    notes: Counter[str] = Counter(missing_topics=sum(topic.name not in run.topics for topic in topics))
    pairs: list[CitancePair] = []
    by_topic: dict[str, list[Annotation]] = defaultdict(list)
    for answer in run.answers:
        by_topic[answer.topic].append(answer)
    for topic in topics:
        answers = by_topic[topic.name]
        for number, file in enumerate(topic.files):
            if rules in (CORRECTED, OFFICIAL_2014):
                pairs += _corrected(topic, number, file, answers, notes)
            elif rules == OFFICIAL_2016:
                sides = replace(file, citances=tuple(map(as_sets, file.citances))), map(as_sets, answers)
                pairs += _official(topic, number, *sides, _OFFICIAL_KEYS[rules])
            elif topic.name in run.topics:
                pairs += _official(topic, number, file, answers, _OFFICIAL_KEYS[rules])
    known = {topic.name for topic in topics}
    notes["answers_to_other_topics"] = sum(answer.topic not in known for answer in run.answers)
    notes["missing_citances"] = sum(pair.answer is None for pair in pairs)
    notes["unknown_citances"] = sum(pair.gold is None for pair in pairs)
    return pairs, notes


def _official(
    topic: Topic, number: int, file: GoldFile, answers: Iterable[Annotation], key: Key
) -> Iterator[CitancePair]:
    """A later line replaces an earlier one with its key; what quotes no sentence only makes its key known."""
    known = {key(citance) for citance in file.citances if citance.has_key}
    gold: dict[tuple[str, ...], Annotation] = {}
    for citance in file.citances:
        if citance.is_quoted:
            gold[key(citance)] = max(gold.get(key(citance), citance), citance, key=_precedence)
    given = {key(answer): answer for answer in answers if answer.is_quoted}
    for name, citance in gold.items():
        yield CitancePair(topic, number, citance, given.get(name))
    for name, answer in given.items():
        if name not in gold:
            yield CitancePair(topic, number, None, answer, is_known=name in known)


def _precedence(citance: Annotation) -> tuple[bool, tuple[int, CitanceName]]:
    """Of citances with one key the last line, as marked; under the other form's key the last number."""
    return citance.is_last, numbered(citance.name)


def _corrected(
    topic: Topic, number: int, file: GoldFile, answers: Sequence[Annotation], notes: Counter[str]
) -> Iterator[CitancePair]:
    """Citances for which the annotator found a sentence; an answer to another one belongs to none."""
    citances = [_named(citance) for citance in file.citances if has_reference(citance)]
    matcher = Matcher([citance.name for citance in citances])
    given: dict[int, Annotation] = {}
    unknown: list[Annotation] = []
    for answer, place in zip(answers, matcher.places([answer.name for answer in answers]), strict=True):
        if place is not None:
            notes["repeated_citances"] += place in given
            given[place] = _named(answer)
        elif has_reference(answer) or merged_facets(answer.facets):
            unknown.append(_named(answer))
    notes["matched_in_order"] += matcher.in_order
    for place, citance in enumerate(citances):
        yield CitancePair(topic, number, citance, given.get(place))
    for answer in unknown:
        yield CitancePair(topic, number, None, answer)


def _named(annotation: Annotation) -> Annotation:
    return replace(annotation, sentences=named_sentences(annotation))
