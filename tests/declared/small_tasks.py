"""A small task of each form, whose gold can be written with other answers to two instances."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from tasks.gold.gold_files import load_gold
from tasks.models import Gold, Phase, Season, Task
from tasks.models.declarations import store_declaration
from tasks.types.declared.folder import read_declaration
from tests import factories
from tests.tasks.types.corpus import write_topic

EXAMPLES = Path(__file__).parents[2] / "examples" / "tasks"
#: Instances of each task, numbered from 0, and the two whose answers differ between worlds.
INSTANCES = 24
SECRET = (22, 23)


class Secrets(Enum):
    """The instances of whose answers the two secret instances have one each."""

    OWN = (22, 23)
    SWAPPED = (23, 22)
    #: Class sizes differ from those of the other two.
    RESIZED = (23, 23)

    def placed(self, answers: Sequence[Any]) -> list[Any]:
        return [*answers[: SECRET[0]], *(answers[place] for place in self.value)]


#: Every form that examples/tasks has is taken from there; nobody ships a task of texts or tags.
TEXT_TASK = """[task]
slug = "rewording"
title = "Rewording"
form = "text"

[task.gold]
field = "text"
shown = ["source"]

[[task.rules]]
name = "corrected"
measures = ["rouge_1", "rouge_l"]
"""


TAG_TASK = """[task]
slug = "methods"
title = "Methods"
form = "tags"

[task.gold]
field = "tags"

[task.answer]
labels = ["METHOD", "DATA"]

[[task.rules]]
name = "corrected"
measures = ["entity_f1", "entity_recall"]
"""


@dataclass(frozen=True)
class SmallTask:
    """A task with ``INSTANCES`` instances.

    ``files`` writes gold from one answer per instance, ``record`` a line of a run.
    ``right`` are the answers of the gold. ``wrong`` are wrong ones. ``neither`` answers
    both secret instances equally wrongly.
    """

    form: str
    toml: str
    right: Sequence[Any]
    wrong: Sequence[Any]
    neither: Any
    files: Callable[[Sequence[Any]], Mapping[str, str]]
    record: Callable[[int, Any], dict[str, Any]]

    def gold_files(self, secrets: Secrets = Secrets.OWN) -> Mapping[str, str]:
        return self.files(secrets.placed(self.right))

    def answers(self, right: int) -> list[Any]:
        """Return answers of which the first ``right`` are right, and the secret ones wrong."""
        answers = [*self.right[:right], *self.wrong[right:]]
        for place in SECRET:
            answers[place] = self.neither
        return answers

    def run(self, answers: Sequence[Any]) -> bytes:
        return lines(
            self.record(place, answer) for place, answer in enumerate(answers)
        ).encode()


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _cycle(values: Sequence[Any], start: int = 0) -> list[Any]:
    return [values[(start + place) % len(values)] for place in range(INSTANCES)]


def _gold_lines(shown: Callable[[int], dict[str, Any]], field: str):
    def files(answers: Sequence[Any]) -> dict[str, str]:
        return {
            "gold.jsonl": lines(
                {"id": f"q{place:02}", **shown(place), field: answer}
                for place, answer in enumerate(answers)
            )
        }

    return files


def _answer(field: str):
    return lambda place, answer: {"id": f"q{place:02}", field: answer}


def _toml(example: str) -> str:
    return (EXAMPLES / example / "task.toml").read_text()


INTENTS = ("background", "method", "result")
SPANS = ([[0, 4]], [[5, 9]], [[10, 14]])


def _intents() -> SmallTask:
    right = [*_cycle(INTENTS)[:-2], "background", "method"]
    return SmallTask(
        form="labels",
        toml=_toml("citation-intent"),
        right=right,
        wrong=[INTENTS[(INTENTS.index(own) + 1) % 3] for own in right],
        neither="result",
        files=_gold_lines(
            lambda place: {"text": f"Intent {place:02} of Reed.", "section": "method"},
            "label",
        ),
        record=_answer("label"),
    )


def _similarity() -> SmallTask:
    right = [*_cycle((0, 1, 2, 3, 4, 5))[:-2], 4, 1]
    return SmallTask(
        form="numbers",
        toml=_toml("text-similarity"),
        right=right,
        wrong=[(own + 2) % 6 for own in right],
        neither=2.5,
        files=_gold_lines(
            lambda place: {"first": f"One {place:02}.", "second": f"Two {place:02}."},
            "score",
        ),
        record=_answer("score"),
    )


def _spans() -> SmallTask:
    right = _cycle(SPANS)
    return SmallTask(
        form="spans",
        toml=_toml("citation-spans"),
        right=right,
        wrong=_cycle(SPANS, 1),
        neither=[[0, 14]],
        files=_gold_lines(
            lambda place: {"text": f"Reed Bark Leaf {place:02}."}, "spans"
        ),
        record=_answer("spans"),
    )


TAGS = (["B-METHOD", "O", "O"], ["O", "B-METHOD", "O"], ["O", "O", "B-METHOD"])


def _methods() -> SmallTask:
    return SmallTask(
        form="tags",
        toml=TAG_TASK,
        right=_cycle(TAGS),
        wrong=_cycle(TAGS, 1),
        neither=["B-DATA", "O", "O"],
        files=_gold_lines(
            lambda place: {"tokens": ["Reed", "Bark", f"{place}"]}, "tags"
        ),
        record=_answer("tags"),
    )


def _rewording() -> SmallTask:
    words = ("oak", "elm", "ash", "fir", "yew")
    return SmallTask(
        form="text",
        toml=TEXT_TASK,
        right=[f"the {word} grew tall" for word in _cycle(words)],
        wrong=[f"a {word} fell" for word in _cycle(words, 1)],
        neither="nothing grew",
        files=_gold_lines(lambda place: {"source": f"Source {place:02}."}, "text"),
        record=_answer("text"),
    )


def _retrieval() -> SmallTask:
    papers = [f"c{place:02}" for place in range(INSTANCES)]

    def files(answers: Sequence[str]) -> dict[str, str]:
        rows = (
            f"{place}\tPost {place:02} on reeds\t{answer}\n"
            for place, answer in enumerate(answers)
        )
        pool = (f"{paper},Paper {paper},An abstract.\n" for paper in papers)
        return {
            "gold.tsv": "post_id\ttweet_text\tcord_uid\n" + "".join(rows),
            "collection.csv": "cord_uid,title,abstract\n" + "".join(pool),
        }

    return SmallTask(
        form="ranking",
        toml=_toml("source-retrieval"),
        right=papers,
        wrong=[*papers[1:], papers[0]],
        neither="c00",
        files=files,
        record=lambda place, answer: {"post_id": str(place), "ranking": [answer]},
    )


def _evidence() -> SmallTask:
    kinds = (("1", 1, "SUPPORT"), ("1", 2, "CONTRADICT"))
    right = _cycle(kinds)

    def files(answers: Sequence[tuple[str, int, str]]) -> dict[str, str]:
        claims = (
            {
                "id": place,
                "claim": f"Claim {place:02} on oaks.",
                "evidence": {paper: [{"sentences": [sentence], "label": label}]},
                "cited_doc_ids": [1, 2],
            }
            for place, (paper, sentence, label) in enumerate(answers)
        )
        papers = (
            {"doc_id": paper, "title": "Oaks", "abstract": ["One.", "Two.", "Three."]}
            for paper in (1, 2)
        )
        return {"claims.jsonl": lines(claims), "corpus.jsonl": lines(papers)}

    def record(place: int, answer: tuple[str, int, str]) -> dict[str, Any]:
        paper, sentence, label = answer
        evidence = {paper: {"sentences": [sentence], "label": label}}
        return {"id": place, "evidence": evidence}

    return SmallTask(
        form="evidence",
        toml=_toml("claims-and-evidence"),
        right=right,
        wrong=_cycle(kinds, 1),
        neither=("2", 0, "SUPPORT"),
        files=files,
        record=record,
    )


SMALL_TASKS = {
    task.form: task
    for task in (
        _intents(), _similarity(), _spans(), _methods(), _rewording(), _retrieval(),
        _evidence(),
    )
}  # fmt: skip


def declare(small: SmallTask, season: Season, **fields: Any) -> Task:
    kind = read_declaration({"task.toml": small.toml, "card.md": "# A card\n"})
    facts = {
        "type": kind.slug,
        "declaration": store_declaration(kind),
        "rules": [kind.default_rule_set],
    }
    return factories.make_task(season=season, **{**facts, **fields})


def publish_gold(phase: Phase, files: Mapping[str, str], folder: Path) -> Gold:
    """Load the files as gold of the phase's split, as the site's own command does."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    gold, _ = load_gold(
        task=phase.task, split=phase.split, paths=[folder], reason="first release"
    )
    return gold


#: The topics of a corpus of Task 1A with as many citances.
TOPICS = tuple(f"S01-{place:04}" for place in range(INSTANCES // 2))


def write_corpus(folder: Path, secrets: Secrets = Secrets.OWN) -> Path:
    """Write a corpus of Task 1A; the last topic may have other cited sentences."""
    answers = secrets.placed([["1"], ["2"]] * len(TOPICS))
    for number, topic in enumerate(TOPICS):
        sentences = answers[2 * number : 2 * number + 2]
        citances = [
            (f"D05-000{place}", str(place), own, "Method_Citation")
            for place, own in enumerate(sentences, start=1)
        ]
        write_topic(folder, topic, citances)
    return folder


def corpus_run(right: int) -> bytes:
    """Write a run that is right in the first citances of so many topics, and wrong in others."""
    records = (
        {
            "topic": topic,
            "citing": f"D05-000{place}",
            "marker": str(place),
            "sentences": [str(place) if number < right else "4"],
            "facets": ["Method"],
        }
        for number, topic in enumerate(TOPICS)
        for place in (1, 2)
    )
    return "".join(json.dumps(record) + "\n" for record in records).encode()
