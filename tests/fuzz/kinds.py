"""What else people send: gold, metadata, labels, ratings, season files and archives, mutated like runs."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path

from citeboard.core.confined import UPLOAD
from scoring.human import reading as human
from scoring.worker import reading as worker
from tasks.submissions import reading
from tasks.types import InputRefused, TaskType, task_types
from tasks.types.files import InputFile, open_input
from tests.fuzz.mutations import mutated
from tests.growth.readers import gold_files

#: In so many files of gold one is given another name, or an encoding that no corpus has.
ODD = 10
NAMES = ("", "/", ".", "..", "a/.", "a//b", "\x00", "GOLD.XML", "gold.zip")
LABELS = b'{"model": "m"}\n{"premise": "a b", "hypothesis": "c", "entailed": true}\n'
JUDGEMENTS = b'{"kind": "claim", "item": "c1", "annotator": "a", "answer": true}\n'
RATINGS = b"code,fluency,relevance\r\nT01,3,4\r\nT02,1,\r\n"
METADATA = (
    b"# ir_metadata.start\n# platform:\n#   hardware:\n#     cpu: x\n# method:\n#   automatic: true\n"
    b"#   description: |\n#     two words\n# resources:\n#   runtime:\n#     wallclock: 12 s\n"
    b"# ir_metadata.end\n"
)


@dataclass
class Kind:
    """``read`` reads a file; it may return and refuse, and raise nothing else."""

    name: str
    seeds: tuple[bytes, ...]
    read: Callable[[bytes], object]
    counts: Counter[str] = field(default_factory=Counter)

    def try_one(self, chance: random.Random) -> None:
        content = mutated(chance, chance.choice(self.seeds), self.seeds)
        if chance.randrange(ODD) == 0:
            content = content.decode("utf-8", "replace").encode(chance.choice(("utf-16", "utf-32-le")))
        try:
            self.read(content)
        except InputRefused as refused:
            for problem in refused.problems:
                problem.as_dict()
            self.counts["refused"] += 1
        else:
            self.counts["read"] += 1


class Gold:
    """The gold of a task type's sample with one file mutated; as files, or as an archive with odd names."""

    def __init__(self, task_type: TaskType, scratch: Path) -> None:
        self.task_type, self.archive = task_type, scratch / "gold.zip"
        self.options = task_type.checked_options({})
        self.files = [(file.name, file.shown, file.read()) for file in gold_files(task_type)]

    def kinds(self) -> Iterator[Kind]:
        slug, contents = self.task_type.slug, tuple(content for _, _, content in self.files)
        for place, (name, _, content) in enumerate(self.files):
            yield Kind(
                f"gold {slug} {name}",
                (content, *contents),
                lambda given, place=place: self.read(place, given),
            )

    def read(self, place: int, content: bytes) -> None:
        own = [*self.files]
        own[place] = (*own[place][:2], content)
        self.task_type.read_gold(
            [
                InputFile(name, shown, lambda content=content: io.BytesIO(content))
                for name, shown, content in own
            ],
            self.options,
        )

    def read_archive(self, chance: random.Random) -> bool:
        odd = chance.randrange(len(self.files))
        with zipfile.ZipFile(self.archive, "w") as packed:
            for place, (name, _, content) in enumerate(self.files):
                info = zipfile.ZipInfo("x")
                info.filename = chance.choice(NAMES) if place == odd else name
                try:
                    packed.writestr(info, content)
                except (IndexError, ValueError):
                    # The library itself does not write some of them; nor will another.
                    packed.writestr("x", content)
        data = self.archive.read_bytes()
        self.archive.write_bytes(mutated(chance, data, [data]) if chance.random() < 0.5 else data)
        try:
            self.task_type.read_gold(open_input(self.archive), self.options)
        except InputRefused:
            return False
        return True


def uploads(scratch: Path) -> Iterator[Kind]:
    """Files that programs of confined processes read in their folder."""
    form = {"code": "code", "criteria": ["fluency", "relevance"], "lowest": 1, "highest": 5}
    programs = {
        "YAML": (METADATA, reading.metadata, {}),
        "labels": (LABELS, worker.labels, {"filename": "labels.jsonl"}),
        "ratings": (RATINGS, human.ratings, {"filename": "r.csv", "form": form, "codes": ["T01", "T02"]}),
        "judgements": (JUDGEMENTS, human.judgements, {"filename": "j.jsonl"}),
    }
    for name, (seed, program, facts) in programs.items():
        yield Kind(name, (seed,), _in_folder(scratch, program, facts))


def _in_folder(
    scratch: Path, program: Callable[..., object], facts: dict[str, object]
) -> Callable[[bytes], object]:
    def read(content: bytes) -> object:
        with chdir(scratch):
            Path(UPLOAD).write_bytes(content)
            Path(human.ITEMS).write_text(json.dumps([["claim", "c1"]]))
            return json.dumps(program(facts))

    return read


def tried(scratch: Path, count: int, seed: int) -> Counter[str]:
    """``count`` files of every kind, and of every task type's gold. Whatever is raised says which it was."""
    total: Counter[str] = Counter()
    for task_type in task_types().values():
        gold = Gold(task_type, scratch)
        kinds = [*gold.kinds()]
        for number in range(count):
            chance = random.Random(f"{seed} {task_type.slug} {number}")
            kind = chance.choice(kinds)
            _noted(
                lambda kind=kind, chance=chance: kind.try_one(chance), f"{kind.name}, {number} of seed {seed}"
            )
            if number % ODD == 0:
                label = f"archive of {task_type.slug}, {number} of seed {seed}"
                _noted(lambda gold=gold, chance=chance: gold.read_archive(chance), label)
        total += sum((kind.counts for kind in kinds), Counter())
    for kind in uploads(scratch):
        for number in range(count):
            chance = random.Random(f"{seed} {kind.name} {number}")
            _noted(
                lambda kind=kind, chance=chance: kind.try_one(chance), f"{kind.name}, {number} of seed {seed}"
            )
        total += kind.counts
    return total


def _noted(work: Callable[[], object], what: str) -> None:
    try:
        work()
    except Exception as fault:
        fault.add_note(what)
        raise
