"""The kinds of files that people send, each changed in its own ways: whatever comes is refused or read.

`KINDS` names them, and there are archives of seasons beside. Those of runs are of every task type,
and what is still good is scored.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import shutil
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from scoring.human import reading as human
from scoring.offline.verify import verify
from scoring.worker import reading as worker
from tasks.seasons.file.entries import UploadedSeasonFile, parse_season_file
from tasks.submissions import reading
from tasks.types import InputRefused, task_types
from tasks.types.declared.folder import TOML, read_declaration
from tasks.types.declared.own_measures import MEASURES_FILE_NAME
from tasks.types.files import InputFile, open_input_files
from tests.fuzz.mutations import (
    BYTES,
    NUMBERS,
    STRUCTURES,
    cells_changed,
    mutated,
    restructured,
)
from tests.fuzz.trying import Subject, limited, parses_made_up
from tests.growth.readers import NAMES, ROW, TREC, gold_files, in_memory

ARCHIVE = "archive"
KINDS = (
    "JSON structure",
    "bytes",
    "CSV",
    "TREC",
    "zip",
    "gold",
    "YAML",
    "labels",
    "ratings",
    "season file",
    "declaration",
    "measures.py",
)
#: In so many files one has a name or an encoding that no corpus has.
ODD = 10
MEMBERS = (
    "",
    "/",
    ".",
    "..",
    "a/.",
    "a//b",
    "\x00",
    "GOLD.XML",
    "gold.zip",
    "../x",
    "C:\\x",
    "a" * 300,
)
#: What has once cost a reader of texts an error or much time.
HOSTILE_VALUES = (
    *("[" * 20_000, "{a=" * 5_000, "(" * 5_000, "-" * 20_000 + "1", "[" * 90 + "]" * 90),
    *("9" * 5_000, f"0x{'f' * 5_000}", "1e999", "nan", "a." * 3_000, "2026-13-45", "''"),
)  # fmt: skip
LABELS = b'{"model": "m"}\n{"premise": "a b", "hypothesis": "c", "entailed": true}\n'
LEDGER = (
    b'{"kind": "supports", "judge": "m"}\n'
    b'{"texts": ["a b", "c"], "label": "full", "by": "p", "repeat": 1, "score": 0.5}\n'
)
JUDGEMENTS = b'{"kind": "claim", "item": "c1", "annotator": "a", "answer": true}\n'
RATINGS = b"code,fluency,relevance\r\nT01,3,4\r\nT02,1,\r\n"
METADATA = (
    b"# ir_metadata.start\n# platform:\n#   hardware:\n#     cpu: x\n# method:\n#   automatic: true\n"
    b"#   description: |\n#     two words\n# resources:\n#   runtime:\n#     wallclock: 12 s\n"
    b"# ir_metadata.end\n"
)
#: By name, the files of each declared task that its declaration needs.
DECLARED = tuple(
    {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(folder.iterdir())
        if path.name in (TOML, MEASURES_FILE_NAME)
    }
    for folder in sorted((Path(__file__).parents[2] / "examples" / "tasks").iterdir())
    if (folder / TOML).is_file()
)
SEASONS = tuple(
    path.read_bytes()
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*/season.toml"))
)


@dataclass
class Kind:
    """``try_one`` makes a file and says whether it was read; it may raise InputRefused."""

    name: str
    try_one: Callable[[random.Random], object]
    counts: Counter[str] = field(default_factory=Counter)

    def try_some(self, count: int, seed: int) -> None:
        for number in range(count):
            try:
                with limited():
                    is_read = self.try_one(
                        random.Random(f"{seed} {self.name} {number}")
                    )
            except InputRefused as refused:
                is_read = not [problem.as_dict() for problem in refused.problems]
            except Exception as fault:
                fault.add_note(f"{self.name}, {number} of seed {seed}")
                raise
            self.counts["read" if is_read else "refused"] += 1


class Runs:
    """Of every task type, in turn by chance."""

    def __init__(self, scratch: Path) -> None:
        self.subjects = [
            Subject(task_type, scratch) for task_type in task_types().values()
        ]
        self.scratch = scratch

    def kinds(self) -> Iterator[Kind]:
        yield Kind("JSON structure", self.structure)
        yield Kind("bytes", self.any_bytes)
        yield Kind("CSV", self.csv)
        yield Kind("TREC", self.trec)
        yield Kind("zip", self.zipped)

    def structure(self, chance: random.Random) -> bool:
        subject = chance.choice(self.subjects)
        answers = [
            json.loads(line) for line in subject.own_run.splitlines() if line.strip()
        ]
        changed = restructured(chance, copy.deepcopy(answers))
        if chance.random() < 0.5 and isinstance(changed, list):
            content = b"\n".join(json.dumps(each).encode() for each in changed)
            return subject.read([in_memory("run.jsonl", content)], chance)
        return subject.read(
            [in_memory("run.json", json.dumps(changed).encode())], chance
        )

    def any_bytes(self, chance: random.Random) -> bool:
        subject = chance.choice(self.subjects)
        name, content = chance.choice(subject.seeds)
        for _ in range(chance.randint(1, 4)):
            content = (
                chance.choice(BYTES)(chance, content, [content]) if content else b"\0"
            )
        return subject.read([in_memory(name, content)], chance)

    def csv(self, chance: random.Random) -> bool:
        subject = chance.choice(
            [each for each in self.subjects if "citances" in str(each.split.index)]
        )
        known = [
            row
            for topic in subject.split.index["topics"].values()
            for row in topic["citances"]
        ]
        form = '{3},{0},{1},{2},1,%s,"<S sid=""%s"">a</S>",Method'
        rows = (
            form.format(*row) % (1, 1)
            for row in chance.choices(known, k=chance.randint(1, 4))
        )
        return self.cells(
            chance, subject, "run.csv", [ROW.splitlines()[0], *rows], b","
        )

    def trec(self, chance: random.Random) -> bool:
        subject = chance.choice(
            [each for each in self.subjects if "pools" in each.split.index]
        )
        names, texts = subject.split.index["instances"], subject.split.index["pools"][0]
        rows = [
            TREC.strip() % (chance.choice(names), chance.choice(texts), 1)
            for _ in range(chance.randint(1, 4))
        ]
        return self.cells(chance, subject, "run.trec", rows, b" ")

    def cells(
        self,
        chance: random.Random,
        subject: Subject,
        name: str,
        rows: list[str],
        separator: bytes,
    ) -> bool:
        content = "\n".join(rows).encode()
        if chance.random() < 0.9:
            content = cells_changed(chance, content, separator)
        return subject.read([in_memory(name, content)], chance)

    def zipped(self, chance: random.Random) -> bool:
        subject, packed = chance.choice(self.subjects), io.BytesIO()
        with zipfile.ZipFile(
            packed, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        ) as archive:
            for name in chance.choices((*NAMES, *MEMBERS), k=chance.randint(0, 3)):
                _add(archive, name, subject.own_run)
        path, data = self.scratch / "run.zip", packed.getvalue()
        path.write_bytes(
            mutated(chance, data, [data]) if chance.random() < 0.7 else data
        )
        return subject.read(open_input_files(path), chance)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo("x")
    info.filename = name
    try:
        with warnings.catch_warnings():
            # One name may come twice.
            warnings.simplefilter("ignore")
            archive.writestr(info, content)
    except (IndexError, ValueError):
        # The library itself does not write some of them; nor will another.
        archive.writestr("x", content)


class Gold:
    """The gold of every type's sample with one file changed; as files, or as an archive with odd names."""

    def __init__(self, scratch: Path) -> None:
        self.path = scratch / "gold.zip"
        self.subjects = [
            (
                task_type,
                [
                    (file.name, file.shown, file.read())
                    for file in gold_files(task_type)
                ],
            )
            for task_type in task_types().values()
        ]

    def try_one(self, chance: random.Random) -> bool:
        task_type, files = chance.choice(self.subjects)
        changed, odd = [*files], chance.randrange(len(files))
        name, shown, content = files[odd]
        content = mutated(chance, content, [own for _, _, own in files])
        if chance.randrange(ODD) == 0:
            content = content.decode("utf-8", "replace").encode(
                chance.choice(("utf-16", "utf-32-le"))
            )
        changed[odd] = (name, shown, content)
        if chance.randrange(ODD):
            read = [
                InputFile(name, shown, lambda content=content: io.BytesIO(content))
                for name, shown, content in changed
            ]
        else:
            with zipfile.ZipFile(self.path, "w") as packed:
                for place, (name, _, content) in enumerate(changed):
                    _add(
                        packed,
                        chance.choice(MEMBERS) if place == odd else name,
                        content,
                    )
            data = self.path.read_bytes()
            self.path.write_bytes(
                mutated(chance, data, [data]) if chance.random() < 0.5 else data
            )
            read = open_input_files(self.path)
        task_type.read_gold(read, task_type.validate_options({}))
        return True


def uploads(scratch: Path) -> Iterator[Kind]:
    """Files that programs of confined processes read in their folder."""
    form = {
        "code": "code",
        "criteria": ["fluency", "relevance"],
        "lowest": 1,
        "highest": 5,
    }
    rated = {"filename": "r.csv", "form": form, "codes": ["T01", "T02"]}

    def read(
        chance: random.Random,
        seed: bytes,
        program: Callable[..., Any],
        facts: dict[str, Any],
    ) -> bool:
        content = mutated(chance, seed, [seed])
        if chance.randrange(ODD) == 0:
            content = content.decode("utf-8", "replace").encode(
                chance.choice(("utf-16", "utf-32-le"))
            )
        with chdir(scratch):
            Path(UPLOAD_FILE_NAME).write_bytes(content)
            Path(human.JUDGEABLE_ITEMS_FILE_NAME).write_text(
                json.dumps([["claim", "c1"]])
            )
            found = program(facts)
        json.dumps(found)
        return not (found.get("problems") or found.get("problem"))

    def people(chance: random.Random) -> bool:
        if chance.random() < 0.5:
            return read(chance, JUDGEMENTS, human.judgements, {"filename": "j.jsonl"})
        return read(chance, RATINGS, human.ratings, rated)

    yield Kind("YAML", lambda chance: read(chance, METADATA, reading.metadata, {}))
    yield Kind(
        "labels",
        lambda chance: read(
            chance,
            chance.choice((LABELS, LEDGER)),
            worker.judgements,
            {"filename": "labels.jsonl"},
        ),
    )
    yield Kind("ratings", people)


def season_file(chance: random.Random) -> bool:
    content = chance.choice(SEASONS)
    if chance.random() < 0.7:
        lines = content.split(b"\n")
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(lines))
            key, sign, _ = lines[place].partition(b" = ")
            lines[place] = (
                key + sign + chance.choice((*STRUCTURES, *NUMBERS))
                if sign
                else lines[place]
            )
        content = b"\n".join(lines)
    else:
        content = mutated(chance, content, SEASONS)
    entry = parse_season_file(content, UploadedSeasonFile())
    for problem in entry.findings.problems:
        assert problem.as_dict()["message"]
    return not entry.findings.problems


def declaration(chance: random.Random) -> bool:
    """As a program sends it for a new task, with the site's own table around it."""
    files = chance.choice(DECLARED)
    content = files[TOML].encode()
    if chance.random() < 0.5:
        lines = files[TOML].split("\n")
        place = chance.randrange(len(lines))
        key, sign, _ = lines[place].partition(" = ")
        lines[place] = f"{key}{sign}{chance.choice(HOSTILE_VALUES)}"
        content = "\n".join(lines).encode()
    if chance.random() < 0.5:
        content = mutated(chance, content, [content])
    text = content.decode("utf-8", "replace")
    read_declaration({**files, TOML: text})
    return True


def measures(chance: random.Random) -> bool:
    [files] = [files for files in DECLARED if MEASURES_FILE_NAME in files]
    text = files[MEASURES_FILE_NAME]
    if chance.random() < 0.3:
        text += f"\nclass Own(Mean):\n    needs = {chance.choice(HOSTILE_VALUES)}\n"
    if chance.random() < 0.7:
        content = mutated(chance, text.encode(), [text.encode()])
        text = content.decode("utf-8", "replace")
    read_declaration({**files, MEASURES_FILE_NAME: text})
    return True


class Archive:
    """An archive of a season with one of its files changed, its checksums too as often as not."""

    def __init__(self, source: Path, scratch: Path) -> None:
        self.source, self.folder = source, scratch / "archive"
        self.names = sorted(
            path.relative_to(source) for path in source.rglob("*") if path.is_file()
        )

    def try_one(self, chance: random.Random) -> bool:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.source, self.folder)
        path = self.folder / chance.choice(self.names)
        content = path.read_bytes()
        if path.suffix == ".json" and chance.random() < 0.7:
            content = json.dumps(restructured(chance, json.loads(content))).encode()
        else:
            content = mutated(chance, content, [content])
        sums = self.folder / "SHA256SUMS"
        if chance.random() < 0.5:
            before = hashlib.sha256(path.read_bytes()).hexdigest()
            sums.write_text(
                sums.read_text().replace(before, hashlib.sha256(content).hexdigest())
            )
        path.write_bytes(content)
        found = verify(self.folder)
        json.dumps([found.as_dict(), found.summary()])
        return not found.differing


def kinds(scratch: Path) -> dict[str, Kind]:
    found = (
        *Runs(scratch).kinds(),
        Kind("gold", Gold(scratch).try_one),
        *uploads(scratch),
        Kind("season file", season_file),
        Kind("declaration", declaration),
        Kind("measures.py", measures),
    )
    return {kind.name: kind for kind in found}


def tried(kind: Kind, count: int, seed: int) -> Counter[str]:
    """Of ``count`` files how many were refused and how many read. Whatever is raised says which it was."""
    with parses_made_up():
        kind.try_some(count, seed)
    return kind.counts
