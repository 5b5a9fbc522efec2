"""The runs of the demo's teams. They are drawn and not computed: each takes the gold's answer as often as its
quality says, and another that is not far from it otherwise. Runs of equal quality are tied by chance alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from citeboard.demo.systems import (
    DEMO_SPLIT_NAME,
    LEAD_BASELINE_SYSTEM,
    SYSTEMS_BY_TASK,
    DemoSystem,
    create_seeded_random,
    find_task_folder,
)
from scripts.demo import answers, retrieval
from scripts.demo.papers import PAPERS, citances, write_lines
from scripts.demo.topics import TOPICS, Topic, read_topics, write_topics

Record = dict[str, Any]
Topics = Sequence[Topic]

#: CL-Summ's facets, the commonest first.
FACETS = ("Method", "Results", "Implication", "Aim", "Hypothesis")
LONGEST = 10
#: Maximum number of spans per answer.
MOST_SPANS = 3
#: Sentences that the lead of task 2 copies: parts of the abstract, and the next sentences.
LEAD_SENTENCES = (2, 3, *range(5, 13))


def write_runs(folder: Path, topics: Mapping[str, Topics]) -> None:
    writers: dict[tuple[str, str], Callable[[DemoSystem], Iterator[Record]]] = {
        ("2", DEMO_SPLIT_NAME): partial(_summaries, topics=topics[DEMO_SPLIT_NAME]),
        ("citation-texts", DEMO_SPLIT_NAME): _texts,
        **{
            ("recommendation", split): partial(_recommended, split=split)
            for split in retrieval.SPLITS
        },
        ("resolution", DEMO_SPLIT_NAME): _resolved,
        ("positional", DEMO_SPLIT_NAME): _answers,
    }
    for split, of_it in topics.items():
        writers |= {
            (task, split): partial(_spans, topics=of_it) for task in ("1a", "1b")
        }
    for (task, split), records in writers.items():
        for system in (*SYSTEMS_BY_TASK[task], LEAD_BASELINE_SYSTEM):
            write_lines(
                folder / find_task_folder(task, split) / f"{system.slug}.jsonl",
                records(system),
            )


def _spans(system: DemoSystem, topics: Topics) -> Iterator[Record]:
    for topic in topics:
        for citance in topic.citances:
            drawn = create_seeded_random(
                system.name, topic.name, citance.citing, citance.marker
            )
            sentences = []
            for right in citance.sentences:
                sid = right
                if drawn.random() >= system.quality:
                    near = str(
                        int(right) + drawn.choice([-4, -3, -2, -1, 1, 2, 3, 6, 11])
                    )
                    sid = near if near in topic.sentences else topic.abstract[0]
                sentences.append(sid)
            if sentences != list(citance.sentences):
                sentences = sentences[:MOST_SPANS]
            if system is LEAD_BASELINE_SYSTEM:
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


def _summaries(system: DemoSystem, topics: Topics) -> Iterator[Record]:
    for topic in topics:
        drawn = create_seeded_random(system.name, topic.name)
        everything = list(topic.sentences)
        picked = {everything[place - 1] for place in LEAD_SENTENCES}
        if system is not LEAD_BASELINE_SYSTEM:
            good = [sid for sid in topic.community if sid in topic.sentences][:LONGEST]
            picked = {
                sid if drawn.random() < system.quality else drawn.choice(everything)
                for sid in good
            }
        summary = " ".join(topic.sentences[sid] for sid in sorted(picked, key=int))
        yield {"topic": topic.name, "summary": summary}


#: The sentence of an abstract that each system copies.
_COPIED = {"last-word": -1, "copycat": 0, LEAD_BASELINE_SYSTEM.name: 0}


def _texts(system: DemoSystem) -> Iterator[Record]:
    for record, papers in (*retrieval.sentences(), *retrieval.paragraphs()):
        drawn = create_seeded_random(system.name, record["id"])
        sentences = []
        for number, paper in enumerate(papers):
            if drawn.random() < system.quality:
                _, sentence, _ = drawn.choice(list(citances(paper)))
                sentences.append(sentence.with_mark(f"[{number}]"))
            else:
                place = _COPIED.get(system.name, drawn.randrange(5))
                sentences.append(
                    f"{paper.abstract[place].removesuffix('.')} [{number}]."
                )
        if drawn.random() < system.quality and len(papers) > 1:
            sentences.append("We bring these records together.")
        intents = [
            "Uses" if drawn.random() < system.quality / 3 else "Background"
            for _ in sentences
        ]
        corwa = [
            "Reflection" if drawn.random() < system.quality / 2 else "Single_summ"
            for _ in sentences
        ]
        labels = {"intent": intents, "corwa": corwa}
        yield {"id": record["id"], "prediction": " ".join(sentences), "labels": labels}


def _recommended(system: DemoSystem, split: str) -> Iterator[Record]:
    candidates = list(retrieval.works())
    for record in retrieval.diagnostic(split):
        name, paper, cited = record["id"], record["citing_id"], record["cited_id"]
        yield {"id": name, "ranked": _ranking(system, name, paper, cited, candidates)}


def _resolved(system: DemoSystem) -> Iterator[Record]:
    candidates: dict[str, list[str]] = {}
    for record in retrieval.references():
        candidates.setdefault(record["paper_id"], []).append(record["ref_id"])
    for record in retrieval.contexts():
        name, paper, [cited] = record["context_id"], record["paper_id"], record["gold"]
        ranked = _ranking(system, name, paper, cited, candidates[paper])
        yield {"id": name, "ranked": ranked}


def _ranking(
    system: DemoSystem, name: str, paper: str, right: str, candidates: Sequence[str]
) -> list[str]:
    if system is LEAD_BASELINE_SYSTEM:
        return list(candidates[:LONGEST])
    drawn = system.create_answer_random(name)
    others = [candidate for candidate in candidates if candidate != right]
    others = drawn.sample(others, min(LONGEST, len(others)))
    luck, later = drawn.random(), drawn.choice([1, 2, 3, 5, 8, LONGEST, LONGEST])
    place = 0 if luck < system.quality_on_paper(paper) else later
    return [*others[:place], right, *others[place:]][:LONGEST]


def _answers(system: DemoSystem) -> Iterator[Record]:
    for paper in PAPERS.values():
        for dataset, _ in answers.ASKED:
            quality = 0.3 if system is LEAD_BASELINE_SYSTEM else system.quality
            output = answers.answer(paper, dataset, system.name, quality)
            yield {"id": f"{paper.key}-{dataset}", "output": output}


def write_demo(folder: Path, written_by_hand: Sequence[Path]) -> None:
    topics = {split: folder / find_task_folder("topics", split) for split in TOPICS}
    for split, papers in TOPICS.items():
        write_topics(topics[split], papers)
    for name, records in {
        "citation-texts/sentences": (record for record, _ in retrieval.sentences()),
        "citation-texts/paragraphs": (record for record, _ in retrieval.paragraphs()),
        "recommendation/references": retrieval.references(),
        "recommendation/diagnostic": retrieval.diagnostic(),
        "recommendation-2024/references": retrieval.references(),
        "recommendation-2024/diagnostic": retrieval.diagnostic("2024"),
        "resolution/references": retrieval.references(),
        "resolution/contexts": retrieval.contexts(),
        "resolution/papers": retrieval.papers(),
    }.items():
        write_lines(folder / f"{name}.jsonl", records)
    positional = folder / "positional"
    positional.mkdir()
    answers.write_questions(positional / "questions.json")
    by_hand = {DEMO_SPLIT_NAME: written_by_hand}
    read = {
        split: read_topics([*at.iterdir(), *by_hand.get(split, ())])
        for split, at in topics.items()
    }
    write_runs(folder / "runs", read)
    # Parses and labels are of the answers as they were written.
    answers.write_parses(positional / "parses.jsonl")
    answers.write_labels(
        positional,
        gold=positional / "questions.json",
        runs=sorted((folder / "runs" / "positional").iterdir()),
        parses=positional / "parses.jsonl",
    )


def write_sample(folder: Path, path: Path) -> None:
    """Write people's labels of a sample of claims; ``folder`` has the other files."""
    positional = folder / "positional"
    runs = folder / "runs" / "positional"
    answers.write_people(
        path,
        gold=positional / "questions.json",
        runs=[
            runs / f"{system.slug}.jsonl" for system in SYSTEMS_BY_TASK["positional"]
        ],
        parses=positional / "parses.jsonl",
    )
