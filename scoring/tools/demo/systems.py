"""The runs of the demo's teams. They are drawn and not computed: each takes the gold's answer as often as its
quality says, and another that is not far from it otherwise. Runs of equal quality are tied by chance alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.tools.demo import answers, retrieval, texts
from scoring.tools.demo.papers import SUBJECTS, chance, write_lines
from scoring.tools.demo.topics import Topic, read_topics, write_topics

Record = dict[str, Any]
Topics = Sequence[Topic]

#: CL-Summ's facets, the commonest first.
FACETS = ("Method", "Results", "Implication", "Aim", "Hypothesis")
LONGEST = 10
#: The sentences that the lead of task 2 takes.
EVERY = 8


@dataclass(frozen=True)
class System:
    team: str
    name: str
    description: str
    quality: float

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")


#: Of tasks 1A and 1B.
_SPANS = (
    System("Avocet", "Span pointer",
           "A pointer network over sentences, trained on citances of earlier seasons.", 0.74),
    System("Bittern", "Neighbour context",
           "The citation text with its neighbours, held against each sentence.", 0.71),
    System("Curlew", "Facet rules", "The best sentence; facets from keywords and from its section.", 0.55),
    System("Fulmar", "Lexical top 2",
           "The two sentences with the highest TF-IDF cosine; facets from keywords.", 0.52),
    System("Dunlin", "Bigram overlap", "The sentences that share most word pairs for their length.", 0.36),
    System("Egret", "Unsteady", "Sentences drawn from the best six.", 0.2),
)  # fmt: skip
#: By slug of the task the systems that teams send to it.
SYSTEMS = {
    "1a": _SPANS,
    "1b": _SPANS,
    "2": (
        System("Curlew", "Community first", "What other papers cite most, in the order of the paper.", 0.8),
        System("Avocet", "Span summariser", "The sentences that the system of task 1A points to most.", 0.76),
        System("Bittern", "Section leads",
               "The first sentence of each section and some of the abstract.", 0.45),
        System("Fulmar", "Central sentences", "The sentences nearest to all others.", 0.4),
        System("Egret", "Random sentences", "Eight sentences by lot.", 0.05),
    ),
    "citation-texts": (
        System("Bittern", "Draft and check",
               "A draft from the abstracts, checked sentence by sentence.", 0.8),
        System("Curlew", "Retrieve and edit",
               "The nearest citation text of the training data, edited.", 0.75),
        System("Avocet", "Last sentences",
               "The last sentence of each cited abstract, behind its mark.", 0.35),
        System("Fulmar", "Key sentences", "The sentence of each abstract with the most frequent words.", 0.3),
        System("Egret", "First sentences", "The first sentence of each cited abstract with its mark.", 0.0),
    ),
    "recommendation": (
        System("Dunlin", "Dual encoder", "Sentences and titles in one space, trained on pairs.", 0.66),
        System("Curlew", "Reranked BM25", "BM25's best hundred, reordered by a cross encoder.", 0.62),
        System("Fulmar", "Co-citation", "What is cited beside what the paper cites already.", 0.4),
        System("Avocet", "Title words", "Titles that share the most rare words with the sentence.", 0.36),
        System("Egret", "Most cited", "The most cited works of the field.", 0.12),
    ),
    "resolution": (
        System("Avocet", "Contexts of others", "A reference is what others write where they cite it.", 0.72),
        System("Dunlin", "Dual encoder", "Contexts and references in one space.", 0.69),
        System("Bittern", "Section prior", "References by the section that they are usually cited in.", 0.45),
        System("Fulmar", "Author names", "Names in the context against names in the reference.", 0.3),
    ),
    "positional": (
        System("Curlew", "Cite while writing",
               "Each clause is written from one passage and marked at once.", 0.85),
        System("Bittern", "Attribute after", "The answer first; marks are set by a second model.", 0.8),
        System("Dunlin", "Prompted marks", "A general model that is asked to cite.", 0.5),
        System("Egret", "Nearest passage", "The passage that shares the most words with the clause.", 0.35),
    ),
}  # fmt: skip
#: By task a run of nobody: what the season file brings as a baseline, and what newcomers can send to try.
LEAD = System("", "Lead", "The easiest answer that can be given.", 0.0)


def write_runs(folder: Path, topics: Topics) -> None:
    writers: dict[str, Callable[[System], Iterator[Record]]] = {
        "1a": lambda system: _spans(system, topics),
        "1b": lambda system: _spans(system, topics),
        "2": lambda system: _summaries(system, topics),
        "citation-texts": _texts,
        "recommendation": _recommended,
        "resolution": _resolved,
        "positional": _answers,
    }
    for task, records in writers.items():
        for system in (*SYSTEMS[task], LEAD):
            write_lines(folder / task / f"{system.slug}.jsonl", records(system))


def _spans(system: System, topics: Topics) -> Iterator[Record]:
    for topic in topics:
        for citance in topic.citances:
            drawn = chance(system.name, topic.name, citance.citing, citance.marker)
            sentences = []
            for right in citance.sentences:
                sid = right
                if drawn.random() >= system.quality:
                    near = str(int(right) + drawn.choice([-4, -3, -2, -1, 1, 2, 3, 6, 11]))
                    sid = near if near in topic.sentences else topic.abstract[0]
                sentences.append(sid)
            if system is LEAD:
                sentences, facets = ["1"], [FACETS[0]]
            elif drawn.random() < system.quality + 0.1:
                facets = list(citance.facets)
            else:
                facets = drawn.choices(FACETS, weights=(5, 3, 2, 1, 1))
            yield {
                "topic": topic.name,
                "citing": citance.citing,
                "marker": citance.marker,
                "citance": citance.number,
                "sentences": list(dict.fromkeys(sentences)),
                "facets": facets,
            }


def _summaries(system: System, topics: Topics) -> Iterator[Record]:
    for topic in topics:
        drawn = chance(system.name, topic.name)
        everything = list(topic.sentences)
        picked = set(everything[::EVERY])
        if system is not LEAD:
            good = [sid for sid in topic.community if sid in topic.sentences][:LONGEST]
            picked = {sid if drawn.random() < system.quality else drawn.choice(everything) for sid in good}
        summary = " ".join(topic.sentences[sid] for sid in sorted(picked, key=int))
        yield {"topic": topic.name, "summary": summary}


def _texts(system: System) -> Iterator[Record]:
    cut = {"Last sentences": -1, "Lead": 0, "First sentences": 0}
    for record, papers in (*texts.sentences(), *texts.paragraphs()):
        drawn = chance(system.name, record["id"])
        sentences = []
        for number, paper in enumerate(papers):
            if drawn.random() < system.quality:
                wording = drawn.choice([target for _, target, _, _ in texts.TARGETS[:3]])
                sentences.append(wording.format_map(paper.subject.phrases).replace("@", f"[{number}]"))
            else:
                place = cut.get(system.name, drawn.randrange(5))
                sentences.append(f"{paper.abstract[place].removesuffix('.')} [{number}].")
        if drawn.random() < system.quality and len(papers) > 1:
            sentences.append("We bring this together.")
        intents = ["Uses" if drawn.random() < system.quality / 3 else "Background" for _ in sentences]
        labels = {"intent": intents, "corwa": ["Single_summ"] * len(sentences)}
        yield {"id": record["id"], "prediction": " ".join(sentences), "labels": labels}


def _recommended(system: System) -> Iterator[Record]:
    candidates = list(dict.fromkeys(record["ref_id"] for record in retrieval.references()))
    for record in retrieval.diagnostic():
        yield {"id": record["id"], "ranked": _ranking(system, record["id"], record["cited_id"], candidates)}


def _resolved(system: System) -> Iterator[Record]:
    references: dict[str, list[str]] = {}
    for record in retrieval.references():
        references.setdefault(record["paper_id"], []).append(record["ref_id"])
    for record in retrieval.contexts():
        name, candidates = record["context_id"], references[record["paper_id"]]
        yield {"id": name, "ranked": _ranking(system, name, record["gold"][0], candidates)}


def _ranking(system: System, name: str, right: str, candidates: Sequence[str]) -> list[str]:
    drawn = chance(system.name, name)
    others = [candidate for candidate in candidates if candidate != right]
    if system is LEAD:
        return list(candidates[:LONGEST])
    others = drawn.sample(others, min(LONGEST, len(others)))
    place = 0 if drawn.random() < system.quality else drawn.choice([1, 2, 3, 5, 8, LONGEST, LONGEST])
    return [*others[:place], right, *others[place:]][:LONGEST]


def _answers(system: System) -> Iterator[Record]:
    for subject in SUBJECTS:
        for dataset, _ in answers.ASKED:
            quality = 0.3 if system is LEAD else system.quality
            output = answers.answer(subject, dataset, system.name, quality)
            yield {"id": f"{subject.name}-{dataset}", "output": output}


def write_demo(folder: Path, written_by_hand: Sequence[Path]) -> None:
    topics = folder / "topics"
    write_topics(topics)
    for name, records in {
        "citation-texts/sentences": (record for record, _ in texts.sentences()),
        "citation-texts/paragraphs": (record for record, _ in texts.paragraphs()),
        "recommendation/references": retrieval.references(),
        "recommendation/diagnostic": retrieval.diagnostic(),
        "resolution/references": retrieval.references(),
        "resolution/contexts": retrieval.contexts(),
        "resolution/papers": retrieval.papers(),
    }.items():
        write_lines(folder / f"{name}.jsonl", records)
    positional = folder / "positional"
    positional.mkdir()
    answers.write_questions(positional / "questions.json")
    write_runs(folder / "runs", read_topics([*topics.iterdir(), *written_by_hand]))
    # Parses and labels are of the answers as they were written.
    answers.write_parses(positional / "parses.jsonl")
    answers.write_labels(
        positional / "labels.jsonl",
        gold=positional / "questions.json",
        runs=sorted((folder / "runs" / "positional").iterdir()),
        parses=positional / "parses.jsonl",
    )
