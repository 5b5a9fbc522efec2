"""Questions with passages, answers with marks, and what the site needs to score these without a parser or a
model: the parses of their sentences, and labels of what entails what.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from citeboard.demo.systems import (
    ESTIMATE_SAMPLE_SEED,
    SAMPLED_UNITS_PER_RUN,
    create_seeded_random,
)
from scoring.metrics import build_metrics
from scoring.metrics.entailed import CitationMetric
from scoring.metrics.entailment import EntailmentPair
from scoring.offline.entailment_exchange import build_pair_record, find_pending_pairs
from scoring.offline.estimated_units import CLAIM_UNITS
from scoring.offline.estimates import LabellingPlan, iterate_sheet_rows, read_units
from scoring.offline.scoring import ScoringRequest
from scripts.demo.papers import PAPERS, Paper, write_lines
from tasks.types import task_type
from tasks.types.files import open_input_files
from tasks.types.ledger import ENTAILED_LABEL, NOT_ENTAILED_LABEL
from tasks.types.positional_citations.claims import (
    ROOT_RELATION,
    ClaimSplittingRules,
    get_text_to_parse,
)
from tasks.types.runs import read_run

Record = dict[str, Any]
#: A part of a sentence and what it is there: a phrase with a verb of its own clause, or a lone word.
Parts = Sequence[tuple[str, str]]

TYPE = "positional-citations"
#: The judges whose labels the demo brings, by the name of the file, and how often they
#: err. They are no models but a rule, as their names say. The first judge determines the
#: ranks; the second one has a view.
JUDGES = {
    "labels.jsonl": ("demo-word-rule@1", 0.0),
    "labels-hasty.jsonl": ("demo-hasty-rule", 0.2),
}
#: A premise entails what shares so many of its words.
ENTAILS = 0.8
#: People who label the sample in turn, and how often they say something else than the rule.
PEOPLE = ("assessor 1", "assessor 2")
PEOPLE_DIFFER = 0.1
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
    for paper in PAPERS.values():
        for dataset, words in ASKED:
            phrases = paper.phrases
            yield {
                "id": f"{paper.key}-{dataset}",
                "dataset": dataset,
                "question": words.format_map(phrases),
                "docs": [
                    {"title": title, "text": text} for title, text in passages(paper)
                ],
                "qa_pairs": [
                    {"short_answers": [phrases[name]]} for name in _SHORT[dataset]
                ],
                "answer": " ".join(
                    " ".join(text for _, text in parts) + "."
                    for parts in _sentences(paper, dataset)
                ),
            }


_SHORT = {"signals": ("cue", "hard"), "people": ("readers", "source")}


def passages(paper: Paper) -> list[tuple[str, str]]:
    """Return four passages of the paper, three of which answer its questions, and one of another paper."""
    phrases = paper.phrases
    other = list(PAPERS.values())[(list(PAPERS).index(paper.key) + 5) % len(PAPERS)]
    need, *_ = paper.abstract
    texts = [
        (title.format_map(phrases), text.format_map(phrases))
        for title, text in _PASSAGES
    ]
    texts.insert(2, (paper.title, need))
    return [*texts, (other.title, " ".join(other.abstract[:2]))]


#: Titles and texts, with the claims of the answers.
_PASSAGES = (
    ("What tells in {task}", "In this data {cue} decided {easy} in most cases."),
    ("Limits of the method", "Both methods failed on {hard}, and so did {rival}."),
    ("The data", "{Readers} checked {items}. The data came from {source}."),
)
#: Sentences of the full answer by question; each consists of parts with a role, and words with slots.
_ANSWERS: dict[str, list[list[tuple[str, str]]]] = {
    "signals": [
        [
            ("subject", "{Cue}"),
            ("verb", "decided"),
            ("cited:1", "{easy}"),
            ("cc", "but"),
            ("subject", "{rival}"),
            ("verb", "failed"),
            ("prep", "on"),
            ("cited:2", "{hard}"),
        ]
    ],
    "people": [
        [("subject", "{Readers}"), ("verb", "checked"), ("cited:4", "{items}")],
        [
            ("subject", "The data"),
            ("verb", "came"),
            ("prep", "from"),
            ("cited:4", "{source}"),
        ],
    ],
}


def _sentences(paper: Paper, dataset: str) -> list[Parts]:
    return [
        [(role, text.format_map(paper.phrases)) for role, text in parts]
        for parts in _ANSWERS[dataset]
    ]


def answer(paper: Paper, dataset: str, system: str, quality: float) -> str:
    drawn = create_seeded_random("answer", system, paper.key, dataset)
    sentences = []
    for parts in _sentences(paper, dataset):
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
    for paper in PAPERS.values():
        for dataset, _ in ASKED:
            for parts in _sentences(paper, dataset):
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
            tree.append((text, root, ROOT_RELATION if start == root else "conj"))
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
    return (get_text_to_parse(f"{text} [1]", ClaimSplittingRules()) or "").split()


def is_entailed(pair: EntailmentPair) -> bool:
    """Return what the rule says: the premise has most words of the claim."""
    lines = (
        line for line in pair.premise.splitlines() if not line.startswith("Title: ")
    )
    words = set(_WORD.findall(pair.hypothesis.lower()))
    shared = words.intersection(_WORD.findall(" ".join(lines).lower()))
    return bool(words) and len(shared) >= ENTAILS * len(words)


def write_people(path: Path, *, gold: Path, runs: Sequence[Path], parses: Path) -> None:
    """Write the sheet of the demo's sample with people's labels, which sometimes differ from the rule's."""
    positional = task_type(TYPE)
    options = positional.validate_options({"parser": str(parses), "entailment": "none"})
    plan = LabellingPlan(
        of=CLAIM_UNITS, labels=SAMPLED_UNITS_PER_RUN, seed=ESTIMATE_SAMPLE_SEED
    )
    units = [
        read_units(
            ScoringRequest(
                task_type=positional,
                gold=[gold],
                run=run,
                rules=positional.validate_rule_set_name(None),
                options=options,
            ),
            CLAIM_UNITS,
        )
        for run in runs
    ]
    head, *rows = iterate_sheet_rows(plan, units)
    people = cycle(PEOPLE)
    write_lines(path, [head, *({**_labelled(row), "by": next(people)} for row in rows)])


def _labelled(row: Record) -> Record:
    pair = EntailmentPair(row["texts"]["premise"], row["texts"]["hypothesis"])
    differs = (
        create_seeded_random("people", pair.premise, pair.hypothesis).random()
        < PEOPLE_DIFFER
    )
    label = ENTAILED_LABEL if is_entailed(pair) != differs else NOT_ENTAILED_LABEL
    return {**row, "label": label}


def _judged(pair: EntailmentPair, judge: str, errors: float) -> bool:
    errs = create_seeded_random(judge, pair.premise, pair.hypothesis).random() < errors
    return is_entailed(pair) != errs


def write_labels(
    folder: Path, *, gold: Path, runs: Sequence[Path], parses: Path
) -> None:
    positional = task_type(TYPE)
    rules = positional.validate_rule_set_name(None)
    options = positional.validate_options({"parser": str(parses), "entailment": "none"})
    metrics = [
        m
        for m in build_metrics(positional, rules, options)
        if isinstance(m, CitationMetric)
    ]
    split = positional.read_gold(open_input_files(gold), options)
    pairs: dict[EntailmentPair, None] = {}
    for run in runs:
        answers, _ = read_run(positional, open_input_files(run), split.index, options)
        pairs |= dict.fromkeys(
            find_pending_pairs(metrics, positional.pair(split, answers, rules, options))
        )
    for name, (judge, errors) in JUDGES.items():
        labels = (
            {**build_pair_record(pair), "entailed": int(_judged(pair, judge, errors))}
            for pair in pairs
        )
        write_lines(folder / name, [{"model": judge}, *labels])


def write_questions(path: Path) -> None:
    path.write_text(
        json.dumps(list(questions()), ensure_ascii=False, indent=1) + "\n",
        encoding="utf-8",
    )
