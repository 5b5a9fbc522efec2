"""The season of reports: two tracks, six systems, judgements by people and two judges, and the judges."""

import tomllib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from citeboard.demo.systems import (
    REPORT_JUDGING_SYSTEMS,
    REPORT_WRITING_SYSTEMS,
    DemoSystem,
    create_seeded_random,
)
from scripts.demo.papers import PAPERS, write_lines
from tasks.types.cited_reports.judgements import (
    ASSIGNS_KIND,
    LABEL_CREDITS_BY_KIND,
    SUPPORTS_KIND,
    compute_prefixed_text_digest,
)

Record = dict[str, Any]

#: Tasks of the season by track.
RAG, RAGTIME = "rag", "ragtime"
#: The sections that form one document.
_DOCUMENTS = (("",), ("Introduction", "Data"), ("Method",), ("Results", "Discussion"))
PEOPLE = ("assessor 1", "assessor 2", "assessor 3")
#: By judge the probability of the right label, and of a lenient error.
CARE = {"heron-judge": (0.94, 0.2), "magpie-judge": (0.8, 0.8), "assessor": (0.93, 0.5)}
#: By system the probability of the right citation; the default is the system's probability of a fact.
CITES = {"write-verify": 0.97, "cut-and-paste": 0.9}
_NO_FACT = (
    "Much remains to be done on this question.",
    "Experts have discussed the matter for a long time.",
    "The answer depends on what exactly is meant.",
)


@dataclass(frozen=True)
class Fact:
    """A nugget, which ``document`` contains."""

    number: int
    importance: str
    document: str
    text: str
    reworded: str
    source: str


@dataclass(frozen=True)
class Topic:
    given: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(self.given["id"])

    @property
    def title(self) -> str:
        return str(self.given["title"])

    @property
    def facts(self) -> list[Fact]:
        facts = []
        for number, (importance, paper, key, text, reworded) in enumerate(
            self.given["facts"], start=1
        ):
            sentence = PAPERS[paper].named(key)[0]
            place = next(
                place
                for place, sections in enumerate(_DOCUMENTS)
                if sentence.section in sections
            )
            facts.append(
                Fact(
                    number=number,
                    importance=importance,
                    document=f"{paper}-{place}",
                    text=text,
                    reworded=reworded,
                    source=sentence.text,
                )
            )
        return facts


TOPICS = tuple(
    map(
        Topic,
        tomllib.loads(
            Path(__file__).with_name("reports.toml").read_text(encoding="utf-8")
        )["topics"],
    )
)


@dataclass(frozen=True)
class Document:
    title: str
    text: str

    @property
    def shown(self) -> str:
        """Return the document as judges see it."""
        return f"{self.title}\n{self.text}"


def _documents() -> dict[str, Document]:
    documents = {}
    for paper in PAPERS.values():
        sections = paper.sections()
        for place, names in enumerate(_DOCUMENTS):
            texts = [each.text for name in names for each in sections[name]]
            documents[f"{paper.key}-{place}"] = Document(paper.title, " ".join(texts))
    return documents


DOCUMENTS = _documents()


def docid(track: str, name: str) -> str:
    """Return the document's id in the format of the track."""
    if track == RAG:
        paper, _, place = name.partition("-")
        return f"shard_{list(PAPERS).index(paper):02}_{place}"
    return f"{uuid.uuid5(uuid.NAMESPACE_URL, name)}_0"


@dataclass(frozen=True)
class Sentence:
    """``fact`` is the number of the sentence's fact; ``has_half`` marks a sentence that lacks a part."""

    text: str
    cited: tuple[str, ...]
    fact: int | None = None
    has_half: bool = False


def report(system: DemoSystem, track: str, topic: Topic) -> list[Sentence]:
    drawn = create_seeded_random(system.name, track, topic.id)
    care = CITES.get(system.name, 0.4 + system.quality / 2)
    sentences = []
    for fact in topic.facts:
        if drawn.random() >= system.quality:
            if drawn.random() < 0.5:
                sentences.append(Sentence(drawn.choice(_NO_FACT), ()))
            continue
        is_copied = system.name == "cut-and-paste"
        cited = [fact.document]
        if drawn.random() >= care:
            cited = [drawn.choice(list(DOCUMENTS))]
        elif drawn.random() < 0.2:
            cited.append(drawn.choice(list(DOCUMENTS)))
        sentences.append(
            Sentence(
                fact.source if is_copied else fact.reworded,
                tuple(dict.fromkeys(cited)),
                fact.number,
                has_half=drawn.random() < 0.15,
            )
        )
    return sentences or [Sentence(_NO_FACT[0], ())]


def _line(system: DemoSystem, track: str, topic: Topic) -> Record:
    sentences = report(system, track, topic)
    cited = list(dict.fromkeys(name for each in sentences for name in each.cited))
    metadata = {
        "team_id": system.team,
        "run_id": system.slug,
        "run_desc": system.description,
    }
    if track == RAG:
        metadata |= {"narrative_id": topic.id, "narrative": topic.title}
        return {
            "metadata": metadata,
            "references": [docid(track, name) for name in cited],
            "answer": [
                {
                    "text": each.text,
                    "citations": [cited.index(name) for name in each.cited],
                }
                for each in sentences
            ],
        }
    return {
        "metadata": metadata | {"topic_id": topic.id},
        "responses": [
            {
                "text": each.text,
                "citations": {
                    docid(track, name): round(0.9 - place / 10, 1)
                    for place, name in enumerate(each.cited)
                },
            }
            for each in sentences
        ],
    }


def _seen(labels: Sequence[str], right: str, judge: str, *names: object) -> str:
    """Return a judge's label; its errors are lenient or strict, by the judge's care."""
    drawn = create_seeded_random(judge, *names)
    share, kindness = CARE["assessor" if judge in PEOPLE else judge]
    if drawn.random() < share:
        return right
    place = labels.index(right)
    place += -1 if drawn.random() < kindness else 1
    return labels[min(len(labels) - 1, max(0, place))]


_ASSIGNED, _SUPPORTED = (
    tuple(LABEL_CREDITS_BY_KIND[ASSIGNS_KIND]),
    tuple(LABEL_CREDITS_BY_KIND[SUPPORTS_KIND]),
)


def assigned(
    judge: str, system: DemoSystem, track: str, topic: Topic, fact: Fact
) -> str:
    found = next(
        (each for each in report(system, track, topic) if each.fact == fact.number),
        None,
    )
    right = _ASSIGNED[2 if found is None else 1 if found.has_half else 0]
    return _seen(_ASSIGNED, right, judge, system.name, track, topic.id, fact.number)


def _judged_by_people(names: Sequence[object]) -> list[str]:
    """Return one person, or two who disagree at times."""
    drawn = create_seeded_random("who", *names)
    return drawn.sample(PEOPLE, 1 if drawn.random() < 0.6 else 2)


def _answered() -> Iterator[tuple[DemoSystem, Topic]]:
    for topic in TOPICS:
        for system in REPORT_WRITING_SYSTEMS:
            yield system, topic


def _assignments_of_people(track: str) -> Iterator[Record]:
    yield {"kind": ASSIGNS_KIND, "judge": "people"}
    done = set()
    for system, topic in _answered():
        text = " ".join(each.text for each in report(system, track, topic))
        # Equal reports are judged once.
        if (topic.id, text) in done:
            continue
        done.add((topic.id, text))
        for fact in topic.facts:
            question = topic.given["questions"][(fact.number - 1) // 2]
            nugget = f"{question}\n{fact.text}"
            for person in _judged_by_people([system.name, topic.id, fact.number]):
                yield {
                    "items": [
                        compute_prefixed_text_digest(topic.title),
                        compute_prefixed_text_digest(nugget),
                        compute_prefixed_text_digest(text),
                    ],
                    "by": person,
                    "label": assigned(person, system, track, topic, fact),
                }


def _assignments_of_judge(track: str, judge: str) -> Iterator[Record]:
    """Return the judge's labels in the format of castorini's nuggetizer."""
    for system, topic in _answered():
        yield {
            "qid": topic.id,
            "run_id": system.slug,
            "nuggets": [
                {
                    "text": fact.text,
                    "importance": fact.importance,
                    "assignment": assigned(judge, system, track, topic, fact),
                }
                for fact in topic.facts
            ],
        }


def _supports(track: str, judge: str) -> Iterator[Record]:
    """Yield labels of the support by documents for the sentences that cite them; each pair once."""
    yield {"kind": SUPPORTS_KIND, "judge": judge}
    done = set()
    for system, topic in _answered():
        by_number = {fact.number: fact for fact in topic.facts}
        for sentence in report(system, track, topic):
            for name in sentence.cited:
                if (sentence.text, name) in done:
                    continue
                done.add((sentence.text, name))
                fact = by_number[sentence.fact or 0]
                is_of_paper = name.split("-")[0] == fact.document.split("-")[0]
                right = _SUPPORTED[
                    0 if name == fact.document else 1 if is_of_paper else 2
                ]
                items = [
                    compute_prefixed_text_digest(sentence.text),
                    compute_prefixed_text_digest(DOCUMENTS[name].shown),
                ]
                people = judge == "people"
                for who in _judged_by_people(items) if people else [judge]:
                    label = _seen(_SUPPORTED, right, who, sentence.text, name)
                    row = {"items": items, "label": label}
                    yield row | ({"by": who} if people else {})


def _topics(track: str) -> Iterator[Record]:
    for topic in TOPICS:
        yield {
            "request_id": topic.id,
            "title": topic.title,
            "background": topic.given["background"],
            "kind": topic.given["kind"],
        } | ({"limit": 600} if track == RAGTIME else {})


def _nuggets(topic: Topic) -> Record:
    nuggets = [
        {
            "nugget_id": f"{topic.id}.{fact.number}",
            "text": fact.text,
            "importance": fact.importance,
        }
        for fact in topic.facts
    ]
    return {"topic_id": topic.id, "nuggets": nuggets}


def _bank(topic: Topic) -> Record:
    bank = [
        {
            "question": question,
            "aggregator_type": "AND" if place == 0 else "OR",
            "importance": "vital" if place == 0 else "okay",
            "answers": [
                {"answer": fact.text} for fact in topic.facts[2 * place : 2 * place + 2]
            ],
        }
        for place, question in enumerate(topic.given["questions"])
    ]
    return {"metadata": {"topic_id": topic.id}, "nugget_bank": bank}


#: A judge that ignores the reports.
COUNTER = "word-counter"


def _leaderboard(judge: str) -> Iterator[Record]:
    """Return the score that a judge, or all people, give each system by topic and track."""
    for track in (RAG, RAGTIME):
        for system, topic in _answered():
            if judge == COUNTER:
                sentences = report(system, track, topic)
                value: float = sum(len(each.text.split()) for each in sentences)
            else:
                value = _mean_credit(judge, system, track, topic)
            yield {
                "run_id": f"{system.slug}.{track}",
                "topic_id": topic.id,
                "measure": "words" if judge == COUNTER else "nugget_coverage",
                "value": round(value, 3),
            }


def _mean_credit(judge: str, system: DemoSystem, track: str, topic: Topic) -> float:
    """Return the mean credit of the system's facts; people are averaged."""
    judges = PEOPLE if judge == "people" else (judge,)
    return fmean(
        LABEL_CREDITS_BY_KIND[ASSIGNS_KIND][assigned(each, system, track, topic, fact)]
        for fact in topic.facts
        for each in judges
    )


#: Topics on which each two systems meet.
MEETINGS = 4
#: Differences of coverage below which a judge sees a tie.
TIE = 0.06
#: By judge the advantage of the left report, in coverage.
LEANS_LEFT = {"magpie-judge": 0.12}


def _battles(judges: Sequence[str], at_once: int) -> Iterator[Record]:
    """Return judgements of pairs of reports; ``at_once`` judges compare each pair."""
    for place, (one, other) in enumerate(combinations(REPORT_WRITING_SYSTEMS, 2)):
        for meeting in range(MEETINGS):
            number = place * MEETINGS + meeting
            topic = TOPICS[number % len(TOPICS)]
            left, right = (one, other) if meeting % 2 else (other, one)
            for step in range(at_once):
                judge = judges[(number + step) % len(judges)]
                yield {
                    "topic": topic.id,
                    "left": left.name,
                    "right": right.name,
                    "label": _preferred(judge, left, right, topic),
                    "judge": judge,
                }


def _preferred(judge: str, left: DemoSystem, right: DemoSystem, topic: Topic) -> str:
    noise = create_seeded_random(
        "battle", judge, left.name, right.name, topic.id
    ).gauss(0, 0.15)
    apart = (
        _mean_credit(judge, left, RAG, topic)
        - _mean_credit(judge, right, RAG, topic)
        + LEANS_LEFT.get(judge, 0.0)
        + noise
    )
    if abs(apart) < TIE:
        return "tie"
    return "left" if apart > 0 else "right"


def write_reports(folder: Path) -> None:
    for track, nuggets in ((RAG, _nuggets), (RAGTIME, _bank)):
        gold = folder / track / "gold"
        write_lines(gold / "topics.jsonl", _topics(track))
        write_lines(gold / "nuggets.jsonl", map(nuggets, TOPICS))
        documents = (
            {"docid": docid(track, name), "title": each.title, "text": each.text}
            for name, each in DOCUMENTS.items()
        )
        write_lines(gold / "documents.jsonl", documents)
        for system in REPORT_WRITING_SYSTEMS:
            lines = (_line(system, track, topic) for topic in TOPICS)
            write_lines(folder / track / f"{system.slug}.jsonl", lines)
    rag, ragtime = folder / RAG / "gold", folder / RAGTIME / "gold"
    write_lines(rag / "assignments.jsonl", _assignments_of_judge(RAG, "heron-judge"))
    write_lines(rag / "supports.jsonl", _supports(RAG, "people"))
    write_lines(ragtime / "assignments.jsonl", _assignments_of_people(RAGTIME))
    write_lines(ragtime / "supports.jsonl", _supports(RAGTIME, "magpie-judge"))
    write_lines(folder / RAG / "battles-people.jsonl", _battles(PEOPLE, 2))
    programs = [judge.name for judge in REPORT_JUDGING_SYSTEMS if judge.name != COUNTER]
    write_lines(folder / RAG / "battles-programs.jsonl", _battles(programs, 2))
    write_lines(folder / "judges" / "gold" / "truth.jsonl", _leaderboard("people"))
    for judge in REPORT_JUDGING_SYSTEMS:
        write_lines(folder / "judges" / f"{judge.slug}.jsonl", _leaderboard(judge.name))
