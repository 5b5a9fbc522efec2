"""Read gold, find anomalies, and pack the gold with derived files. For uploaded gold,
this code runs in a sandboxed process.
"""

import io
import json
import re
import shutil
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import IO, Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from tasks.gold.kits import (
    EMPTY_TEXT_DIGEST,
    MAX_ARCHIVE_DEPTH,
    ArchiveUnreadable,
    KitFileReader,
    compute_normalised_content_digest,
)
from tasks.types import (
    Index,
    InputRefused,
    Problem,
    Split,
    TaskType,
    base,
    problems,
    task_type,
)
from tasks.types.digests import compute_salted_digest, is_valid_nonce
from tasks.types.files import (
    CURRENT_PARSING_RULES_VERSION,
    NONCE_FILE_NAME,
    STARTING_KIT_FOLDER,
    ArchiveLimits,
    InputFile,
    is_in_starting_kit,
    open_input_files,
    open_starting_kit_files,
)
from tasks.types.references import import_referenced_object

#: The file `INSTANCE_DIGESTS_FILE_NAME` has digests of the public part and of the whole of each instance.
#: The file `HELD_DIGESTS_FILE_NAME` has digests of all content of the gold files, scored or not.
#: The file `PAPER_DIGESTS_FILE_NAME` has digests of the names of resampling units, such as papers.
PACKED_FILE_NAMES = (
    "gold.zip",
    "index.json",
    "public.zip",
    "content.bin",
    "held.bin",
    "papers.bin",
)
(
    GOLD,
    INDEX_FILE_NAME,
    PUBLIC_ARCHIVE_NAME,
    INSTANCE_DIGESTS_FILE_NAME,
    HELD_DIGESTS_FILE_NAME,
    PAPER_DIGESTS_FILE_NAME,
) = PACKED_FILE_NAMES
#: Participants get at most MAX_KIT_FILES additional files with MAX_KIT_BYTES bytes.
MAX_KIT_FILES, MAX_KIT_BYTES = 1_000, 256 << 20
#: Only the first MAX_NONCE_FILE_BYTES bytes of a file with a nonce are read.
MAX_NONCE_FILE_BYTES = 200
#: `INSTANCE_DIGEST_BYTES` is the length in bytes of a digest of an instance's part.
INSTANCE_DIGEST_BYTES = 16
AnomalyFindingJson = dict[str, Any]
#: The scorer of trivial runs has a dotted name, as `tasks` must not import `scoring`.
TRIVIAL_REPORT_FUNCTION = "scoring.offline.trivial:report_on_sampled_split"
#: Quotes have at most MAX_QUOTE_CHARACTERS characters, and findings name MAX_NAMES_PER_FINDING instances.
MAX_QUOTE_CHARACTERS, MAX_NAMES_PER_FINDING = 80, 5
#: At most MAX_INSTANCES_CHECKED instances are checked, since their digests stay in memory.
MAX_INSTANCES_CHECKED = 200_000
#: A label with fewer than ``FEW`` instances is reported.
#: Gold with more than ``MAX_LABELS_CHECKED`` different labels has texts instead of labels.
MIN_INSTANCES_PER_LABEL, MAX_LABELS_CHECKED = 5, 50
#: A finding is reported if a public field contains the answer of half the instances.
MIN_SHARE_OF_ANSWERS_IN_INPUTS = 0.5
_INVISIBLE_CHARACTER = re.compile(
    r"^\s|\s$|[\x00-\x1f\x7f\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff]"
)


@dataclass(frozen=True, kw_only=True)
class PreparedGold:
    folder: Path
    #: `digests` maps digest rules (numbers as texts) to the gold's unsalted digests.
    digests: dict[str, str]
    instances: int
    statistics: list[dict[str, Any]]
    findings: list[AnomalyFindingJson]
    trivial: dict[str, Any]
    #: `rows` is the number of rows, objects or lines in the files, or None if unknown.
    rows: int | None = None
    #: `reading` is the version of the parsing rules under which the gold was read.
    reading: int = CURRENT_PARSING_RULES_VERSION
    #: `nonce` is from an exported archive with the same gold, or empty.
    nonce: str = ""

    @property
    def digest(self) -> str:
        return self.digests[str(base.CURRENT_DIGEST_RULE)]

    def load_instance_index(self) -> Index:
        index: Index = json.loads((self.folder / INDEX_FILE_NAME).read_bytes())
        return index


def find_matching_nonce(paths: Iterable[Path], digest: str) -> str:
    """Return the nonce from an exported archive if the gold in the archive has the
    digest ``digest``, otherwise an empty text.

    The nonce of different gold is not used, since this gold and its nonce may have been
    published.
    """
    for path in paths:
        nonce, _, public = _read_nonce_text(path).partition("\n")
        if (
            is_valid_nonce(nonce)
            and compute_salted_digest(digest, nonce) == public.strip()
        ):
            return nonce
    return ""


def _read_nonce_text(path: Path) -> str:
    if path.is_dir():
        file = path / NONCE_FILE_NAME
        content = file.read_bytes()[:MAX_NONCE_FILE_BYTES] if file.is_file() else b""
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if NONCE_FILE_NAME not in archive.namelist():
                return ""
            with archive.open(NONCE_FILE_NAME) as member:
                content = member.read(MAX_NONCE_FILE_BYTES)
    else:
        return ""
    return content.decode("ascii", "replace")


def pack_gold_in_sandbox(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Pack gold in a sandboxed process. If the gold has no fatal problem, the packed
    files are written to the working folder.
    """
    chosen, name = task_type(facts["task_type"]), facts["filename"]
    try:
        opened = _open_gold_upload(name, int(facts.get("inputs", 0)))
        encoding = facts.get("encoding", "")
        files = [
            replace(file, reading=facts["reading"], encoding=encoding)
            for file in opened.files
        ]
        prepared = prepare_gold(chosen, files, facts["options"], Path(), kit=opened.kit)
        nonce = find_matching_nonce(opened.with_nonces, prepared.digest)
        prepared = replace(prepared, nonce=nonce)
    except InputRefused as refused:
        return {"problems": problems.convert_problems_to_dicts(refused.problems)}
    return {
        name: value for name, value in vars(prepared).items() if name != "folder"
    } | {"problems": []}


@dataclass(frozen=True)
class _OpenedGoldUpload:
    files: list[InputFile]
    with_nonces: list[Path]
    kit: list[InputFile] = field(default_factory=list)


def _open_gold_upload(shown: str, inputs: int) -> _OpenedGoldUpload:
    if not inputs:
        upload = Path(UPLOAD_FILE_NAME)
        kit = open_starting_kit_files(upload, shown=shown)
        return _OpenedGoldUpload(open_input_files(upload, shown=shown), [upload], kit)
    opened = _OpenedGoldUpload([], [])
    limits = ArchiveLimits(nested=tuple(map(str, range(inputs))))
    for file in open_input_files(Path(UPLOAD_FILE_NAME), shown=shown, limits=limits):
        number, _, name = file.name.partition("/")
        parts = PurePosixPath(name).parts
        is_nonce_file = parts[1:] == (NONCE_FILE_NAME,)
        if is_in_starting_kit(PurePosixPath(*parts[1:])):
            opened.kit.append(replace(file, name="/".join(parts[1:])))
            continue
        if not is_nonce_file and (len(parts) > 1 or not name.endswith(".zip")):
            opened.files.append(replace(file, name=name))
            continue
        place = Path(f"input-{number}")
        place.mkdir(exist_ok=True)
        copy = place / (NONCE_FILE_NAME if is_nonce_file else UPLOAD_FILE_NAME)
        with copy.open("wb") as target:
            target.writelines(file.iterate_raw_chunks())
        if is_nonce_file:
            opened.with_nonces.append(place)
        else:
            opened.with_nonces.append(copy)
            opened.files.extend(open_input_files(copy, shown=file.shown))
            opened.kit.extend(open_starting_kit_files(copy, shown=file.shown))
    return opened


def prepare_gold(
    task_type: TaskType,
    files: Sequence[InputFile],
    options: Mapping[str, str],
    folder: Path,
    kit: Sequence[InputFile] = (),
) -> PreparedGold:
    """Write the packed files of gold into ``folder``. Participants get the additional
    files in ``kit`` unchanged. Raises InputRefused.
    """
    checked = task_type.validate_options(options)
    split = task_type.gold_of(files, checked)
    members = [file for file in files if task_type.is_gold_file(file.name)]
    _refuse_duplicate_file_names([*members, *kit])
    refuse_unsafe_kit(kit, members, folder)
    odd = AnomalyCollector()
    odd.name(iterate_keys_in_json(split.index))
    contents = (
        task_type.contents(members, split)
        if task_type.contents
        else [(split.digest, split.digest)]
    )
    scored = b"".join(_iterate_content_digests(contents, odd))
    also_held = b"".join(
        _iterate_content_digests(
            task_type.also_holds(members) if task_type.also_holds else ()
        )
    )
    units = (
        list(_iterate_units_of_instances(task_type, split, checked))
        if split.instances <= MAX_INSTANCES_CHECKED
        else []
    )
    odd.units(units, is_chosen=bool(checked.get(base.UNIT.name)))
    if task_type.unreachable:
        odd.unreachable(task_type.unreachable(members, split))
    given = [(file.name, file.open) for file in kit]
    packed_gold = [(file.name, _make_file_opener(file)) for file in members]
    write_zip_archive(folder / GOLD, [*packed_gold, *given])
    index = json.dumps(
        split.index, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    (folder / INDEX_FILE_NAME).write_text(index, encoding="utf-8")
    (folder / INSTANCE_DIGESTS_FILE_NAME).write_bytes(scored)
    (folder / HELD_DIGESTS_FILE_NAME).write_bytes(scored + also_held)
    papers = sorted({unit for unit, name in units if unit != name})
    (folder / PAPER_DIGESTS_FILE_NAME).write_bytes(
        b"".join(
            sha256(_encode_canonical_json(paper)).digest()[:INSTANCE_DIGEST_BYTES]
            for paper in papers
        )
    )
    public = task_type.public_files(files, checked)
    write_zip_archive(
        folder / PUBLIC_ARCHIVE_NAME,
        [*((name, partial(io.BytesIO, content)) for name, content in public), *given],
    )
    again = open_input_files(folder / GOLD, shown=GOLD, reading=split.reading)
    packed = task_type.gold_of(again, checked)
    if packed.digest != split.digest:
        words = f"the gold reads otherwise once it is packed: {packed.instances} instances where the files "
        words += f"have {split.instances}"
        raise InputRefused(
            [
                Problem(
                    message=words,
                    expected="files that mean the same wherever they stand",
                )
            ]
        )
    statistics = task_type.statistics(split) if task_type.statistics else []
    facts: dict[str, Any] = {
        "digests": {
            str(rule): digest for rule, digest in split.digests_by_rule.items()
        },
        "instances": split.instances,
        "rows": split.rows,
        "reading": split.reading,
        "statistics": statistics,
    }
    anomalies, trivial = _find_anomalies_and_trivial_scores(
        task_type, members, split, checked
    )
    findings = [*odd.all(), *anomalies]
    return PreparedGold(folder=folder, findings=findings, trivial=trivial, **facts)


def _find_anomalies_and_trivial_scores(
    task_type: TaskType,
    files: Sequence[InputFile],
    split: Split,
    options: Mapping[str, str],
) -> tuple[list[AnomalyFindingJson], dict[str, Any]]:
    report: Callable[..., tuple[list[AnomalyFindingJson], dict[str, Any]]] = (
        import_referenced_object(TRIVIAL_REPORT_FUNCTION)
    )
    try:
        return report(task_type, files, split, options)
    except Exception as fault:  # noqa: BLE001  (advice must not keep gold from being published)
        return [{"kind": "untried", "count": 1, "names": [type(fault).__name__]}], {}


def _make_file_opener(file: InputFile) -> Callable[[], IO[bytes]]:
    return partial(io.BytesIO, file.read()) if file.encoding else file.open


def _iterate_units_of_instances(
    task_type: TaskType, split: Split, options: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield pairs of a resampling unit and an instance of the unit. Raises
    InputRefused.
    """
    run, _problems = task_type.read_run([], split.index, options)
    pairs = task_type.pairs_of(split, run, next(iter(task_type.rules)), options)
    names = (
        pairs.names if pairs.names is not None else map(str, range(len(pairs.units)))
    )
    for unit, name in zip(pairs.clusters or pairs.units, names, strict=True):
        yield unit if isinstance(unit, str) else unit[0], name


def _iterate_content_digests(
    contents: Iterable[tuple[Any, Any]], odd: "AnomalyCollector | None" = None
) -> Iterator[bytes]:
    for shown, secret in contents:
        of_shown = sha256(_encode_canonical_json(shown)).digest()
        of_all = sha256(of_shown + _encode_canonical_json(secret)).digest()
        if odd:
            odd.note(
                shown,
                secret,
                of_shown[:INSTANCE_DIGEST_BYTES],
                of_all[:INSTANCE_DIGEST_BYTES],
            )
        yield of_shown[:INSTANCE_DIGEST_BYTES] + of_all[:INSTANCE_DIGEST_BYTES]


def _encode_canonical_json(value: Any) -> bytes:
    """Return the value as JSON text, in lower case and with normalised white space and
    Unicode forms.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    text = text.replace("\\n", " ").replace("\\t", " ").replace("\\r", " ")
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).encode(
        "utf-8", "surrogatepass"
    )


def _refuse_duplicate_file_names(files: Sequence[InputFile]) -> None:
    counts = Counter(file.name for file in files)
    shared = [
        Problem(
            file=file.shown,
            message=f"another file of this gold is called {file.name} as well",
            expected="folders with names of their own",
        )
        for file in files
        if counts[file.name] > 1
    ]
    if shared:
        raise InputRefused(shared)


def refuse_unsafe_kit(
    kit: Sequence[InputFile], gold: Sequence[InputFile], folder: Path
) -> None:
    """Raise InputRefused if the additional files for participants are too many or too
    large, or contain a file of the gold, also within archives. The comparison with gold
    files ignores line endings and empty lines. Copies of archives are written to
    ``folder``.
    """
    if len(kit) > MAX_KIT_FILES:
        message, expected = f"{len(kit):,} files", f"at most {MAX_KIT_FILES:,}"
        raise InputRefused(
            [Problem(file=STARTING_KIT_FOLDER, message=message, expected=expected)]
        )
    size = 0
    for chunk in chain.from_iterable(file.iterate_raw_chunks() for file in kit):
        size += len(chunk)
        if size > MAX_KIT_BYTES:
            expected = f"at most {MAX_KIT_BYTES >> 20} MB to give out"
            problem = Problem(
                file=STARTING_KIT_FOLDER,
                message="the files are larger",
                expected=expected,
            )
            raise InputRefused([problem])
    secret = (
        {compute_normalised_content_digest(file): file.shown for file in gold}
        if kit
        else {}
    )
    secret.pop(EMPTY_TEXT_DIGEST, None)
    kit_files, found = KitFileReader(folder), []
    for file in kit:
        try:
            for inner in kit_files.iterate_nested_files(file):
                if name := secret.get(compute_normalised_content_digest(inner)):
                    expected = "files that teams may have"
                    found.append(
                        inner.make_problem(f"this is the gold, {name}", expected)
                    )
        except ArchiveUnreadable as reason:
            expected = (
                f"zip, tar or gzip archives, nested at most {MAX_ARCHIVE_DEPTH} deep; give"
                " other archives out at an address of your own"
            )
            found.append(file.make_problem(str(reason), expected))
    if found:
        raise InputRefused(found)


#: `ZIP_EPOCH` is the earliest time that a zip archive can store for a file.
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
REGULAR_FILE_ATTRIBUTES = 0o100644 << 16


def write_zip_archive(
    path: Path, files: Iterable[tuple[str, Callable[[], IO[bytes]]]]
) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, open_file in sorted(files, key=lambda file: file[0]):
            member = zipfile.ZipInfo(name, ZIP_EPOCH)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = REGULAR_FILE_ATTRIBUTES
            with (
                open_file() as source,
                archive.open(member, "w", force_zip64=True) as target,
            ):
                shutil.copyfileobj(source, target)


class AnomalyCollector:
    """Collects anomalies in gold, such as duplicate instances with different answers."""

    def __init__(self) -> None:
        self._answers: dict[bytes, bytes] = {}
        self._labels: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._named: dict[str, list[str]] = {}
        self._instances = self._single = 0

    def note(self, shown: Any, secret: Any, of_shown: bytes, of_all: bytes) -> None:
        self._instances += 1
        if self._instances > MAX_INSTANCES_CHECKED:
            return
        if (before := self._answers.setdefault(of_shown, of_all)) is not of_all:
            self._count_occurrence(
                "doubled" if of_all == before else "contradicted",
                shorten_instance_text(shown),
            )
        if isinstance(secret, str):
            self._single += 1
            if len(self._labels) <= MAX_LABELS_CHECKED:
                self._labels[secret] += 1
            if len(secret) > 1 and secret in iterate_public_texts(shown):
                self._count_occurrence("shown", shorten_instance_text(shown))

    def name(self, names: Iterable[str]) -> None:
        for name in names:
            if _INVISIBLE_CHARACTER.search(name):
                self._count_occurrence("names", repr(name)[1:-1])

    def units(self, instances: Iterable[tuple[str, str]], *, is_chosen: bool) -> None:
        """Count the resampling units with a single instance. If each unit has one
        instance, count nothing, since the instance is then probably meant as the unit.
        """
        counts = Counter(unit for unit, _instance in set(instances))
        single = [unit for unit, count in counts.items() if count == 1]
        if is_chosen or len(single) < len(counts):
            for unit in single:
                self._count_occurrence("single", unit[:MAX_QUOTE_CHARACTERS])

    def unreachable(self, named: Iterable[str]) -> None:
        for name in named:
            self._count_occurrence("unreachable", name[:MAX_QUOTE_CHARACTERS])

    def all(self) -> list[AnomalyFindingJson]:
        if self._counts["shown"] < MIN_SHARE_OF_ANSWERS_IN_INPUTS * self._single:
            del self._counts["shown"]
        found = [
            {"kind": kind, "count": count, "names": self._named[kind]}
            for kind, count in self._counts.items()
        ]
        few = sorted(
            label
            for label, count in self._labels.items()
            if count < MIN_INSTANCES_PER_LABEL
        )
        if (
            few
            and len(self._labels) <= MAX_LABELS_CHECKED
            and self._instances >= MIN_INSTANCES_PER_LABEL * len(self._labels)
        ):
            named = [
                f"{label[:MAX_QUOTE_CHARACTERS]} ({self._labels[label]})"
                for label in few
            ]
            found.append({"kind": "few", "count": len(few), "names": named})
        return found

    def _count_occurrence(self, kind: str, name: str) -> None:
        self._counts[kind] += 1
        if len(named := self._named.setdefault(kind, [])) < MAX_NAMES_PER_FINDING:
            named.append(name)


def iterate_public_texts(shown: Any) -> Iterator[str]:
    values = shown.values() if isinstance(shown, Mapping) else ()
    return (value for value in values if isinstance(value, str))


def shorten_instance_text(shown: Any) -> str:
    text = " ".join(" ".join(iterate_texts_in_json(shown)).split())
    return (
        text
        if len(text) <= MAX_QUOTE_CHARACTERS
        else f"{text[: MAX_QUOTE_CHARACTERS - 1]}…"
    )


def iterate_texts_in_json(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from iterate_texts_in_json(one)
    elif isinstance(value, Sequence):
        for one in value:
            yield from iterate_texts_in_json(one)


def iterate_keys_in_json(value: Any) -> Iterator[str]:
    for key, one in value.items() if isinstance(value, Mapping) else ():
        yield key
        yield from iterate_keys_in_json(one)
