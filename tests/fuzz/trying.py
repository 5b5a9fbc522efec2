"""One mutated run through check and score, in this process and under a limit of CPU time."""

import io
import random
import signal
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from tasks.types import InputRefused, Split, TaskType
from tasks.types.files import open_input_files
from tasks.types.positional_citations import parsing
from tasks.types.positional_citations.claims import ROOT_RELATION, Parse
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run
from tests.fuzz.mutations import mutated
from tests.growth.readers import FORMS, NAMES, Files, gold_files, in_memory
from tests.tasks.test_every_type import folder, sample_options

#: Of CPU for one file; one takes a few milliseconds.
MAX_SECONDS = 20
#: One file in so many is sent as a zip, broken or whole.
ZIPPED = 20


class Hang(Exception):
    """A file took more than MAX_SECONDS."""


@dataclass
class Subject:
    """A task type with its sample's gold, the files to start from, and what became of those tried."""

    task_type: TaskType
    scratch: Path
    counts: Counter[str] = field(default_factory=Counter)

    @cached_property
    def options(self) -> dict[str, str]:
        words = [word for word in sample_options(self.task_type) if word != "--option"]
        return self.task_type.validate_options(
            dict(word.split("=", 1) for word in words)
        )

    @cached_property
    def split(self) -> Split:
        return self.task_type.read_gold(gold_files(self.task_type), self.options)

    @cached_property
    def seeds(self) -> list[tuple[str, bytes]]:
        """The sample's run more often than the forms that have none."""
        own = [
            (path.name, path.read_bytes())
            for path in sorted((folder(self.task_type) / "sample").iterdir())
            if path.name.startswith("run")
        ]
        forms = [
            (name, (form % tuple("1" * form.count("%s"))).encode())
            for name, form in FORMS
        ]
        return [
            *own * 6,
            *forms,
            ("W01-0101.system.txt", b"A summary of two sentences. Another one.\n"),
        ]

    def try_one(self, number: int, chance: random.Random) -> str:
        """What became of it: refused, scored, or only read where a metric lacks something."""
        name, content = chance.choice(self.seeds)
        content = mutated(chance, content, [own for _, own in self.seeds])
        name = chance.choice(NAMES) if chance.random() < 0.1 else name
        try:
            files = (
                self._zipped(name, content, chance)
                if number % ZIPPED == 0
                else [in_memory(name, content)]
            )
        except InputRefused:
            return "refused"
        return "scored" if self.read(files, chance, name) else "refused"

    @property
    def own_run(self) -> bytes:
        return self.seeds[0][1]

    def read(self, files: Files, chance: random.Random, name: str = "") -> bool:
        """Whether it can be scored, and then it is."""
        answers, problems = read_run(
            self.task_type, files, self.split.index, self.options, name=name
        )
        for problem in problems:
            assert problem.as_dict()["message"]
        if select_fatal_problems(problems):
            return False
        self._score(answers, chance.choice(list(self.task_type.rules)))
        return True

    def _zipped(self, name: str, content: bytes, chance: random.Random) -> Files:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
        data = packed.getvalue()
        path = self.scratch / "run.zip"
        path.write_bytes(
            mutated(chance, data, [data]) if chance.random() < 0.7 else data
        )
        return open_input_files(path)

    def _score(self, answers: Any, rules: str) -> None:
        pairs = self.task_type.pair(self.split, answers, rules, self.options)
        resampling = IntervalSettings(resamples=0)
        evaluate_pairs(
            self.task_type,
            pairs,
            rules=rules,
            options=self.options,
            gold=self.split.digest,
            resampling=resampling,
        )


def tried(
    subjects: Sequence[Subject], count: int, seed: int
) -> Iterator[tuple[Subject, str]]:
    """``count`` files, the task types in turn. Whatever is raised says which file it was."""
    with parses_made_up():
        for number in range(count):
            subject = subjects[number % len(subjects)]
            with limited():
                try:
                    outcome = subject.try_one(
                        number // len(subjects), random.Random(f"{seed} {number}")
                    )
                except Exception as fault:
                    fault.add_note(
                        f"file {number} of seed {seed}, {subject.task_type.slug}"
                    )
                    raise
            subject.counts[outcome] += 1
            yield subject, outcome


@contextmanager
def limited() -> Iterator[None]:
    def over(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def parses_made_up() -> Iterator[None]:
    """A tree for any text in place of the sample's parses, as a mutated answer has none there."""
    given = parsing.read_parses_from_file
    parsing.read_parses_from_file = lambda texts, path: [_tree(text) for text in texts]
    try:
        yield
    finally:
        parsing.read_parses_from_file = given


def _tree(text: str) -> Parse:
    tokens = text.split() or [text]
    chance = random.Random(text)
    heads = [chance.randrange(place) if place else 0 for place in range(len(tokens))]
    relations = [
        chance.choice(("nsubj", "conj", "cc", "prep", "advcl")) for _ in tokens
    ]
    return Parse(tuple(tokens), tuple(heads), (ROOT_RELATION, *relations[1:]))
