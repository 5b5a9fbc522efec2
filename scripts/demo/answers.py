"""Questions with passages, answers with marks, and what the site needs to score these without a parser or a
model: the parses of their sentences, and labels of what entails what.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from citeboard.demo.systems import chance
from scoring.metrics import metrics_of
from scoring.metrics.entailed import CitationMetric
from scoring.metrics.entailment import Pair
from scoring.offline.entailment_exchange import pair_line, pending_pairs
from scripts.demo.papers import DATA, SUBJECTS, Subject, write_lines
from tasks.types import task_type
from tasks.types.files import open_input
from tasks.types.positional_citations.claims import ROOT, ClaimRules, text_to_parse
from tasks.types.runs import read_run

Record = dict[str, Any]
#: A part of a sentence and what it is there: a phrase with a verb of its own clause, or a lone word.
Parts = Sequence[tuple[str, str]]

TYPE = "positional-citations"
#: Whose labels the demo brings; not a model but a rule, as its name says.
LABELLER = "demo-word-rule@1"
#: A premise entails what shares so many of its words.
ENTAILS = 0.8
#: Questions, by what is asked; answers open with what a question is about.
ASKED = (
    ("signals", "What helps with {task}, and what does not?"),
    ("people", "Who marked the data for {task}, and where do they come from?"),
)
_PREPOSITIONS = frozenset(
    (
        "of",
        "with",
        "in",
        "from",
        "by",
        "over",
        "on",
        "for",
        "at",
        "to",
        "between",
        "without",
        "across",
    )
)
_WORD = re.compile(r"\w+")


def questions() -> Iterator[Record]:
    for subject in SUBJECTS:
        for dataset, words in ASKED:
            phrases = subject.phrases
            yield {
                "id": f"{subject.name}-{dataset}",
                "dataset": dataset,
                "question": words.format_map(phrases),
                "docs": [
                    {"title": title, "text": text} for title, text in passages(subject)
                ],
                "qa_pairs": [
                    {"short_answers": [phrases[name]]} for name in _SHORT[dataset]
                ],
                "answer": " ".join(
                    " ".join(text for _, text in parts) + "."
                    for parts in _sentences(subject, dataset)
                ),
            }


_SHORT = {"signals": ("cue", "hard"), "people": ("readers", "source")}


def passages(subject: Subject) -> list[tuple[str, str]]:
    slots = dict(subject.phrases)
    other = SUBJECTS[(SUBJECTS.index(subject) + 5) % len(SUBJECTS)].phrases
    texts = [
        (title.format_map(slots), text.format_map(slots))
        for title, text in DATA["positional"]["passages"]
    ]
    return [
        *texts,
        (
            f"{other['Task']}: an overview",
            f"{other['Cue']} separated {other['easy']} in most cases.",
        ),
    ]


def _sentences(subject: Subject, dataset: str) -> list[Parts]:
    return [
        [
            (role, text.format_map(subject.phrases))
            for role, _, text in (p.partition(" ") for p in template.split(", "))
        ]
        for template in DATA["positional"]["sentences"][dataset]
    ]


def answer(subject: Subject, dataset: str, system: str, quality: float) -> str:
    drawn = chance("answer", system, subject.name, dataset)
    sentences = []
    for parts in _sentences(subject, dataset):
        texts = []
        for role, text in parts:
            mark = ""
            if role.startswith("cited:"):
                right = int(role.removeprefix("cited:"))
                luck = drawn.random()
                wrong = drawn.choice(
                    [number for number in (1, 2, 3, 4, 5) if number != right]
                )
                if luck < quality:
                    mark = f" [{right}]"
                elif luck < quality + (1 - quality) / 2:
                    mark = f" [{wrong}]"
                elif luck < quality + (1 - quality) * 0.8:
                    mark = f" [{right}][{wrong}]"
            texts.append(text + mark)
        sentences.append(" ".join(texts) + ".")
    if len(sentences) > 1 and drawn.random() > quality + 0.15:
        sentences.pop()
    return " ".join(sentences)


def write_parses(path: Path) -> None:
    parses: dict[str, Record] = {}
    for subject in SUBJECTS:
        for dataset, _ in ASKED:
            for parts in _sentences(subject, dataset):
                record = _parse(parts)
                parses[record["text"]] = record
    write_lines(path, parses.values())


def _parse(parts: Parts) -> Record:
    tree: list[tuple[str, int, str]] = []
    verbs = [place for place, (role, _) in enumerate(parts) if role == "verb"]
    lengths = [len(_words(text)) or 1 for _, text in parts]
    starts = [sum(lengths[:place]) for place in range(len(parts))]
    root = starts[verbs[0]]
    for place, (role, text) in enumerate(parts):
        verb = starts[min(verbs, key=lambda at: abs(at - place))]
        start = len(tree)
        if role == "verb":
            tree.append((text, root, ROOT if start == root else "conj"))
        elif role in ("cc", "prep"):
            tree.append((text, root, role))
        else:
            relation = "nsubj" if role == "subject" else "dobj"
            if place and parts[place - 1][0] == "prep":
                verb, relation = start - 1, "pobj"
            tree += _phrase(_words(text), start, verb, relation)
    tokens, heads, relations = map(list, zip(*tree, strict=True))
    return {
        "text": " ".join(tokens),
        "tokens": tokens,
        "heads": heads,
        "relations": relations,
    }


def _phrase(
    words: Sequence[str], start: int, above: int, relation: str
) -> Iterator[tuple[str, int, str]]:
    cut = next(
        (place for place, word in enumerate(words) if word in _PREPOSITIONS and place),
        len(words),
    )
    noun = start + cut - 1
    for place, word in enumerate(words[:cut]):
        yield (
            (word, above, relation)
            if start + place == noun
            else (word, noun, "compound")
        )
    if cut < len(words):
        yield words[cut], noun, "prep"
        yield from _phrase(words[cut + 1 :], start + cut + 1, start + cut, "pobj")


def _words(text: str) -> list[str]:
    return (text_to_parse(f"{text} [1]", ClaimRules()) or "").split()


def write_labels(path: Path, *, gold: Path, runs: Sequence[Path], parses: Path) -> None:
    positional = task_type(TYPE)
    rules = positional.checked_rules(None)
    options = positional.checked_options({"parser": str(parses), "entailment": "none"})
    metrics = [
        m
        for m in metrics_of(positional, rules, options)
        if isinstance(m, CitationMetric)
    ]
    split = positional.read_gold(open_input(gold), options)
    pairs: dict[Pair, None] = {}
    for run in runs:
        answers, _ = read_run(positional, open_input(run), split.index, options)
        pairs |= dict.fromkeys(
            pending_pairs(metrics, positional.pair(split, answers, rules, options))
        )
    records: list[Record] = [{"model": LABELLER}]
    for pair in pairs:
        lines = (
            line for line in pair.premise.splitlines() if not line.startswith("Title: ")
        )
        words = set(_WORD.findall(pair.hypothesis.lower()))
        shared = words.intersection(_WORD.findall(" ".join(lines).lower()))
        is_entailed = bool(words) and len(shared) >= ENTAILS * len(words)
        records.append({**pair_line(pair), "entailed": int(is_entailed)})
    write_lines(path, records)


def write_questions(path: Path) -> None:
    path.write_text(
        json.dumps(list(questions()), ensure_ascii=False, indent=1) + "\n",
        encoding="utf-8",
    )
