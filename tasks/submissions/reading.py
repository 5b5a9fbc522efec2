"""Sandboxed processes call these functions to read uploads. The functions do not use
Django, and their arguments and results are JSON values.
"""

import datetime as dt
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from tasks.submissions.yaml_reader import read_yaml
from tasks.types import Index, InputRefused, Problem, repairs, task_type
from tasks.types.declared import official_program
from tasks.types.files import InputFile, open_input
from tasks.types.guarded.encodings import GZIP
from tasks.types.guarded.limits import Unreadable
from tasks.types.problems import as_values, in_order
from tasks.types.ranking.runs import header_of
from tasks.types.repairs import encodings_of
from tasks.types.runs import read_run

REPAIRED_FILE_NAME = "repaired"


def check(given: Mapping[str, Any], index: Index) -> dict[str, Any]:
    name, about = given["filename"], run_facts_in_metadata({})
    try:
        files = open_input(Path(UPLOAD_FILE_NAME), shown=name, reading=given["reading"])
        about = metadata_in_header(files)
        if unpacked_size_of(Path(UPLOAD_FILE_NAME)) > given["max_bytes"]:
            return {"is_read": False, "problems": [], "about": about}
        problems = read_run(
            task_type(given["task_type"]), files, index, given["options"], name=name
        )[1]
    except InputRefused as refused:
        problems = in_order(refused.problems)
    return {"is_read": True, "problems": as_values(problems), "about": about}


def repair(given: Mapping[str, Any], index: Index) -> dict[str, Any]:
    """Write a repaired copy of a refused run if only one repair is possible."""
    told: dict[str, Any] = {"encodings": [], "name": "", "changes": [], "problems": []}
    options, chosen = given["options"], task_type(given["task_type"])
    try:
        files = open_input(
            Path(UPLOAD_FILE_NAME),
            shown=given["filename"],
            reading=given["reading"],
            encoding=given["encoding"],
        )
        if unpacked_size_of(Path(UPLOAD_FILE_NAME)) > given["max_bytes"]:
            return told
        told["encodings"] = [*encodings_of(files)]
        if found := repairs.repair(chosen, files, index, options):
            Path(REPAIRED_FILE_NAME).write_bytes(found.content)
            return {**told, "name": found.name, "changes": [*found.changes]}
        if given["encoding"]:
            problems = read_run(chosen, files, index, options, name=given["filename"])[
                1
            ]
            told["problems"] = as_values(problems)
    except InputRefused as refused:
        told["problems"] = as_values(in_order(refused.problems))
    return told


def header(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        # All versions of the parsing rules read the header of a run in the same way.
        files = open_input(Path(UPLOAD_FILE_NAME), shown=given["filename"], reading=1)
        return metadata_in_header(files)
    except InputRefused:
        return run_facts_in_metadata({})


def tasks_meant(given: Mapping[str, Any]) -> dict[str, Any]:
    meant: dict[str, bool | None] = {}
    problems: list[Problem] = []
    try:
        # Version 1 of the parsing rules accepts every file that other versions accept.
        # The file is parsed again later for each task.
        files = open_input(Path(UPLOAD_FILE_NAME), shown=given["filename"], reading=1)
        for chosen in map(task_type, given["task_types"]):
            meant[chosen.slug] = chosen.accepts(files) if chosen.accepts else None
    except InputRefused as refused:
        problems = in_order(refused.problems)
    return {"meant": meant, "problems": as_values(problems)}


def metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return metadata_in_file(Path(UPLOAD_FILE_NAME))
    except MetadataUnreadable as refused:
        return {"problem": str(refused)}


def texts(given: Mapping[str, Any], index: Index) -> dict[str, str]:
    chosen, name = task_type(given["task_type"]), given["filename"]
    assert chosen.human_evaluation is not None
    files = open_input(Path(UPLOAD_FILE_NAME), shown=name, reading=given["reading"])
    return dict(
        chosen.human_evaluation.texts(
            read_run(chosen, files, index, given["options"], name=name)[0]
        )
    )


def sources(given: Mapping[str, Any]) -> dict[str, Any]:
    chosen = task_type(given["task_type"])
    assert chosen.human_evaluation is not None
    files = open_input(
        Path(UPLOAD_FILE_NAME), shown="inputs.zip", reading=given["reading"]
    )
    return dict(chosen.human_evaluation.sources(files))


def references(given: Mapping[str, Any]) -> dict[str, str]:
    chosen = task_type(given["task_type"])
    assert chosen.human_evaluation is not None
    assert chosen.human_evaluation.references is not None
    files = open_input(
        Path(UPLOAD_FILE_NAME), shown="gold.zip", reading=given["reading"]
    )
    return dict(chosen.human_evaluation.references(files))


def program_warnings(_given: Mapping[str, Any]) -> list[str]:
    """Return sentences about resources that the uploaded official program needs and
    this machine does not have.
    """
    text = Path(UPLOAD_FILE_NAME).read_text(encoding="utf-8")
    return official_program.warnings_of(official_program.program_of(text))


def unpacked_size_of(path: Path) -> int:
    if not zipfile.is_zipfile(path):
        return max(path.stat().st_size, _size_in_gzip(path))
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _size_in_gzip(path: Path) -> int:
    """Return the unpacked size that a gzip file states in its last bytes, or 0 if the
    file is not a gzip file.
    """
    with path.open("rb") as file:
        if file.read(len(GZIP)) != GZIP or file.seek(0, 2) < 4:
            return 0
        file.seek(-4, 2)
        return int.from_bytes(file.read(4), "little")


_INDEXING_FIELDS = ("tokenizer", "stemmer", "stopwords")
_PUBLICATION_LINK_PREFIXES = {
    "doi": "https://doi.org/",
    "arxiv": "https://arxiv.org/abs/",
    "dblp": "",
    "url": "",
}
#: RUN_CARD_KEY is the key in `ir_metadata` under which fields of the run card are.
RUN_CARD_KEY = "run card"
#: A value in the description has at most MAX_VALUE_CHARACTERS characters.
MAX_VALUE_CHARACTERS = 400
#: Files of programs that measure costs are long, so MAX_METADATA_BYTES bytes are allowed.
MAX_METADATA_BYTES = 1 << 18
_METADATA_MARKER_LINES = (b"ir_metadata.start", b"ir_metadata.end")
_AMOUNT_PATTERN = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) (\w{1,5})")
_SECONDS_BY_UNIT = {"ms": 0.001, "s": 1.0}
_MEBIBYTES_BY_UNIT = {"KB": 1 / 1024, "MB": 1.0, "GB": 1024.0}

Said = dict[str, Any]


class MetadataUnreadable(Exception):
    """An error about a file that cannot be read as `ir_metadata`. The message is a
    clause for the sender.
    """


def metadata_in_header(files: Sequence[InputFile]) -> Said:
    for file in files:
        try:
            header = header_of(file)
        except InputRefused:
            continue
        if header:
            try:
                return run_facts_in_metadata(parse_metadata_yaml(header))
            except MetadataUnreadable:
                break
    return run_facts_in_metadata({})


def metadata_in_file(path: Path) -> Said:
    with path.open("rb") as file:
        content = file.read(MAX_METADATA_BYTES + 1)
    if len(content) > MAX_METADATA_BYTES:
        raise MetadataUnreadable(
            f"a file of ir_metadata has at most {MAX_METADATA_BYTES >> 10} kB"
        )
    lines = content.removeprefix(b"\xef\xbb\xbf").splitlines()
    if all(line.startswith(b"#") or not line.strip() for line in lines):
        lines = [line.removeprefix(b"#").removeprefix(b" ") for line in lines]
    return run_facts_in_metadata(
        parse_metadata_yaml(
            b"\n".join(
                b"" if line.strip() in _METADATA_MARKER_LINES else line
                for line in lines
            )
        )
    )


def run_facts_in_metadata(metadata: Mapping[str, Any]) -> Said:
    """Return the description, the run card and the costs that the metadata state,
    without validation.
    """
    card = {
        name: text
        for name, value in _run_card_entries(metadata)
        if (text := _value_as_text(value))
    }
    description = "\n".join(_description_lines(metadata, card))
    return {
        "description": description,
        "card": card,
        "figures": dict(_cost_figures(metadata)),
    }


def parse_metadata_yaml(text: bytes) -> Mapping[str, Any]:
    """Return the metadata in a file or in the header of a run as a dictionary. Raises
    MetadataUnreadable.
    """
    try:
        found = read_yaml(text)
    except Unreadable as fault:
        raise MetadataUnreadable(f"no YAML: {fault}") from fault
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise MetadataUnreadable("YAML, but no names with values, such as “method:”")
    return found


def _description_lines(
    metadata: Mapping[str, Any], card: Mapping[str, str]
) -> Iterator[str]:
    method = _nested_mapping(metadata, "method")
    if isinstance(method.get("automatic"), bool):
        yield f"{'Automatic' if method['automatic'] else 'Manual'} run."
    if description := _value_as_text(method.get("description")):
        yield description
    indexing = _nested_mapping(method, "indexing")
    if known := [
        f"{name} {text}"
        for name in _INDEXING_FIELDS
        if (text := _value_as_text(indexing.get(name)))
    ]:
        yield f"Indexing: {', '.join(known)}."
    retrieval = method.get("retrieval")
    for stage in retrieval if isinstance(retrieval, list) else []:
        if isinstance(stage, Mapping) and (words := _stage_text(stage)):
            yield f"Retrieval: {words}."
    source = _nested_mapping(metadata, "implementation", "source")
    repository, commit = (
        _value_as_text(source.get("repository")),
        _value_as_text(source.get("commit")),
    )
    if repository and "code" not in card:
        yield f"Code: {repository}{f' at {commit}' if commit else ''}"
    elif commit:
        yield f"Code at {commit}."
    links = [
        text
        for name in _PUBLICATION_LINK_PREFIXES
        if (text := _value_as_text(_publication_of_metadata(metadata).get(name)))
    ]
    if links and "paper" not in card:
        yield f"Paper: {', '.join(links)}"


def _run_card_entries(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    repository = _value_as_text(
        _nested_mapping(metadata, "implementation", "source").get("repository")
    )
    if _is_link(repository):
        yield "code", repository
    if paper := next(_paper_links(_publication_of_metadata(metadata)), ""):
        yield "paper", paper
    for name, key in (
        ("training_data", "training data"),
        ("external_resources", "other"),
    ):
        if sets := [
            words
            for one in _mappings_in(_nested_mapping(metadata, "data").get(key))
            if (words := _stage_text(one))
        ]:
            yield name, sets
    automatic = _nested_mapping(metadata, "method").get("automatic")
    if isinstance(automatic, bool):
        yield "human_in_the_loop", not automatic
    yield from (
        (str(name), value)
        for name, value in _nested_mapping(metadata, RUN_CARD_KEY).items()
    )


def _publication_of_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    return _nested_mapping(metadata, "research goal", "publication")


def _paper_links(publication: Mapping[str, Any]) -> Iterator[str]:
    for name, host in _PUBLICATION_LINK_PREFIXES.items():
        text = _value_as_text(publication.get(name))
        if _is_link(text):
            yield text
        elif text and host:
            yield host + text.removeprefix("doi:").removeprefix("arXiv:")


def _cost_figures(metadata: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    runtime = _nested_mapping(metadata, "resources", "runtime")
    wall, user, system = (
        _amount_with_unit(runtime.get(name), _SECONDS_BY_UNIT)
        for name in ("wallclock", "user", "system")
    )
    memory = _amount_with_unit(
        _nested_mapping(metadata, "resources", "ram").get("used process"),
        _MEBIBYTES_BY_UNIT,
    )
    if wall is not None:
        yield "wall_seconds", wall
    if user is not None or system is not None:
        yield "cpu_seconds", (user or 0) + (system or 0)
    if memory is not None:
        yield "memory_mib", memory


def _amount_with_unit(value: object, units: Mapping[str, float]) -> float | None:
    match = _AMOUNT_PATTERN.fullmatch(_value_as_text(value))
    return float(match[1]) * units[match[2]] if match and match[2] in units else None


def _stage_text(stage: Mapping[str, Any]) -> str:
    said = [
        f"{name} {text}"
        for name, value in stage.items()
        if name != "name" and (text := _value_as_text(value))
    ]
    name = _value_as_text(stage.get("name"))
    return f"{name} ({', '.join(said)})" if name and said else name or ", ".join(said)


def _nested_mapping(value: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for name in path:
        below = value.get(name)
        value = below if isinstance(below, Mapping) else {}
    return value


def _mappings_in(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (
        part
        for part in (value if isinstance(value, list) else ())
        if isinstance(part, Mapping)
    )


def _is_link(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def _value_as_text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(
            text
            for part in value
            if not isinstance(part, list) and (text := _value_as_text(part))
        )
    if isinstance(value, dt.date):
        return value.isoformat()[:10]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return " ".join(str(value).split())[:MAX_VALUE_CHARACTERS]
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else ""
