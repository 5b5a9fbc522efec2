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
from tasks.types.files import InputFile, open_input_files
from tasks.types.guarded.encodings import GZIP_SIGNATURE
from tasks.types.guarded.limits import TextUnreadable
from tasks.types.problems import convert_problems_to_dicts, sort_problems
from tasks.types.ranking.runs import read_metadata_header
from tasks.types.repairs import find_possible_encodings
from tasks.types.runs import read_run

REPAIRED_FILE_NAME = "repaired"


def check(given: Mapping[str, Any], index: Index) -> dict[str, Any]:
    name, about = given["filename"], convert_metadata_to_run_fields({})
    try:
        files = open_input_files(
            Path(UPLOAD_FILE_NAME), shown=name, reading=given["reading"]
        )
        about = read_metadata_in_header(files)
        if compute_unpacked_size(Path(UPLOAD_FILE_NAME)) > given["max_bytes"]:
            return {"is_read": False, "problems": [], "about": about}
        problems = read_run(
            task_type(given["task_type"]), files, index, given["options"], name=name
        )[1]
    except InputRefused as refused:
        problems = sort_problems(refused.problems)
    return {
        "is_read": True,
        "problems": convert_problems_to_dicts(problems),
        "about": about,
    }


def repair(given: Mapping[str, Any], index: Index) -> dict[str, Any]:
    """Write a repaired copy of a refused run if only one repair is possible."""
    told: dict[str, Any] = {"encodings": [], "name": "", "changes": [], "problems": []}
    options, chosen = given["options"], task_type(given["task_type"])
    try:
        files = open_input_files(
            Path(UPLOAD_FILE_NAME),
            shown=given["filename"],
            reading=given["reading"],
            encoding=given["encoding"],
        )
        if compute_unpacked_size(Path(UPLOAD_FILE_NAME)) > given["max_bytes"]:
            return told
        told["encodings"] = [*find_possible_encodings(files)]
        if found := repairs.repair_run_if_unambiguous(chosen, files, index, options):
            Path(REPAIRED_FILE_NAME).write_bytes(found.content)
            return {**told, "name": found.name, "changes": [*found.changes]}
        if given["encoding"]:
            problems = read_run(chosen, files, index, options, name=given["filename"])[
                1
            ]
            told["problems"] = convert_problems_to_dicts(problems)
    except InputRefused as refused:
        told["problems"] = convert_problems_to_dicts(sort_problems(refused.problems))
    return told


def header(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        # All versions of the parsing rules read the header of a run in the same way.
        files = open_input_files(
            Path(UPLOAD_FILE_NAME), shown=given["filename"], reading=1
        )
        return read_metadata_in_header(files)
    except InputRefused:
        return convert_metadata_to_run_fields({})


def tasks_meant(given: Mapping[str, Any]) -> dict[str, Any]:
    meant: dict[str, bool | None] = {}
    problems: list[Problem] = []
    try:
        # Version 1 of the parsing rules accepts every file that other versions accept.
        # The file is parsed again later for each task.
        files = open_input_files(
            Path(UPLOAD_FILE_NAME), shown=given["filename"], reading=1
        )
        for chosen in map(task_type, given["task_types"]):
            meant[chosen.slug] = chosen.accepts(files) if chosen.accepts else None
    except InputRefused as refused:
        problems = sort_problems(refused.problems)
    return {"meant": meant, "problems": convert_problems_to_dicts(problems)}


def metadata(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return read_metadata_in_file(Path(UPLOAD_FILE_NAME))
    except MetadataUnreadable as refused:
        return {"problem": str(refused)}


def texts(given: Mapping[str, Any], index: Index) -> dict[str, str]:
    chosen, name = task_type(given["task_type"]), given["filename"]
    assert chosen.human_evaluation is not None
    files = open_input_files(
        Path(UPLOAD_FILE_NAME), shown=name, reading=given["reading"]
    )
    return dict(
        chosen.human_evaluation.texts(
            read_run(chosen, files, index, given["options"], name=name)[0]
        )
    )


def sources(given: Mapping[str, Any]) -> dict[str, Any]:
    chosen = task_type(given["task_type"])
    assert chosen.human_evaluation is not None
    files = open_input_files(
        Path(UPLOAD_FILE_NAME), shown="inputs.zip", reading=given["reading"]
    )
    return dict(chosen.human_evaluation.sources(files))


def references(given: Mapping[str, Any]) -> dict[str, str]:
    chosen = task_type(given["task_type"])
    assert chosen.human_evaluation is not None
    assert chosen.human_evaluation.references is not None
    files = open_input_files(
        Path(UPLOAD_FILE_NAME), shown="gold.zip", reading=given["reading"]
    )
    return dict(chosen.human_evaluation.references(files))


def program_warnings(_given: Mapping[str, Any]) -> list[str]:
    """Return sentences about resources that the uploaded official program needs and
    this machine does not have.
    """
    text = Path(UPLOAD_FILE_NAME).read_text(encoding="utf-8")
    return official_program.list_missing_resource_warnings(
        official_program.parse_program_json(text)
    )


def compute_unpacked_size(path: Path) -> int:
    if not zipfile.is_zipfile(path):
        return max(path.stat().st_size, _compute_size_in_gzip(path))
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())


def _compute_size_in_gzip(path: Path) -> int:
    """Return the unpacked size that a gzip file states in its last bytes, or 0 if the
    file is not a gzip file.
    """
    with path.open("rb") as file:
        if file.read(len(GZIP_SIGNATURE)) != GZIP_SIGNATURE or file.seek(0, 2) < 4:
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
#: RUN_CARD_METADATA_KEY is the key in `ir_metadata` under which fields of the run card are.
RUN_CARD_METADATA_KEY = "run card"
#: A value in the description has at most MAX_VALUE_CHARACTERS characters.
MAX_VALUE_CHARACTERS = 400
#: Files of programs that measure costs are long, so MAX_METADATA_BYTES bytes are allowed.
MAX_METADATA_BYTES = 1 << 18
_METADATA_MARKER_LINES = (b"ir_metadata.start", b"ir_metadata.end")
_AMOUNT_PATTERN = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) (\w{1,5})")
_SECONDS_BY_UNIT = {"ms": 0.001, "s": 1.0}
_MEBIBYTES_BY_UNIT = {"KB": 1 / 1024, "MB": 1.0, "GB": 1024.0}

RunMetadataValues = dict[str, Any]


class MetadataUnreadable(Exception):
    """An error about a file that cannot be read as `ir_metadata`. The message is a
    clause for the sender.
    """


def read_metadata_in_header(files: Sequence[InputFile]) -> RunMetadataValues:
    for file in files:
        try:
            header = read_metadata_header(file)
        except InputRefused:
            continue
        if header:
            try:
                return convert_metadata_to_run_fields(parse_metadata_yaml(header))
            except MetadataUnreadable:
                break
    return convert_metadata_to_run_fields({})


def read_metadata_in_file(path: Path) -> RunMetadataValues:
    with path.open("rb") as file:
        content = file.read(MAX_METADATA_BYTES + 1)
    if len(content) > MAX_METADATA_BYTES:
        raise MetadataUnreadable(
            f"a file of ir_metadata has at most {MAX_METADATA_BYTES >> 10} kB"
        )
    lines = content.removeprefix(b"\xef\xbb\xbf").splitlines()
    if all(line.startswith(b"#") or not line.strip() for line in lines):
        lines = [line.removeprefix(b"#").removeprefix(b" ") for line in lines]
    return convert_metadata_to_run_fields(
        parse_metadata_yaml(
            b"\n".join(
                b"" if line.strip() in _METADATA_MARKER_LINES else line
                for line in lines
            )
        )
    )


def convert_metadata_to_run_fields(metadata: Mapping[str, Any]) -> RunMetadataValues:
    """Return the description, the run card and the costs that the metadata state,
    without validation.
    """
    card = {
        name: text
        for name, value in _iterate_run_card_entries(metadata)
        if (text := _format_value_as_text(value))
    }
    description = "\n".join(_iterate_description_lines(metadata, card))
    return {
        "description": description,
        "card": card,
        "figures": dict(_iterate_cost_figures(metadata)),
    }


def parse_metadata_yaml(text: bytes) -> Mapping[str, Any]:
    """Return the metadata in a file or in the header of a run as a dictionary. Raises
    MetadataUnreadable.
    """
    try:
        found = read_yaml(text)
    except TextUnreadable as fault:
        raise MetadataUnreadable(f"no YAML: {fault}") from fault
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise MetadataUnreadable("YAML, but no names with values, such as “method:”")
    return found


def _iterate_description_lines(
    metadata: Mapping[str, Any], card: Mapping[str, str]
) -> Iterator[str]:
    method = _get_nested_mapping(metadata, "method")
    if isinstance(method.get("automatic"), bool):
        yield f"{'Automatic' if method['automatic'] else 'Manual'} run."
    if description := _format_value_as_text(method.get("description")):
        yield description
    indexing = _get_nested_mapping(method, "indexing")
    if known := [
        f"{name} {text}"
        for name in _INDEXING_FIELDS
        if (text := _format_value_as_text(indexing.get(name)))
    ]:
        yield f"Indexing: {', '.join(known)}."
    retrieval = method.get("retrieval")
    for stage in retrieval if isinstance(retrieval, list) else []:
        if isinstance(stage, Mapping) and (words := _format_retrieval_stage(stage)):
            yield f"Retrieval: {words}."
    source = _get_nested_mapping(metadata, "implementation", "source")
    repository, commit = (
        _format_value_as_text(source.get("repository")),
        _format_value_as_text(source.get("commit")),
    )
    if repository and "code" not in card:
        yield f"Code: {repository}{f' at {commit}' if commit else ''}"
    elif commit:
        yield f"Code at {commit}."
    links = [
        text
        for name in _PUBLICATION_LINK_PREFIXES
        if (text := _format_value_as_text(_get_publication(metadata).get(name)))
    ]
    if links and "paper" not in card:
        yield f"Paper: {', '.join(links)}"


def _iterate_run_card_entries(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    repository = _format_value_as_text(
        _get_nested_mapping(metadata, "implementation", "source").get("repository")
    )
    if _is_web_link(repository):
        yield "code", repository
    if paper := next(_iterate_paper_links(_get_publication(metadata)), ""):
        yield "paper", paper
    for name, key in (
        ("training_data", "training data"),
        ("external_resources", "other"),
    ):
        if sets := [
            words
            for one in _list_mappings(_get_nested_mapping(metadata, "data").get(key))
            if (words := _format_retrieval_stage(one))
        ]:
            yield name, sets
    automatic = _get_nested_mapping(metadata, "method").get("automatic")
    if isinstance(automatic, bool):
        yield "human_in_the_loop", not automatic
    yield from (
        (str(name), value)
        for name, value in _get_nested_mapping(metadata, RUN_CARD_METADATA_KEY).items()
    )


def _get_publication(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    return _get_nested_mapping(metadata, "research goal", "publication")


def _iterate_paper_links(publication: Mapping[str, Any]) -> Iterator[str]:
    for name, host in _PUBLICATION_LINK_PREFIXES.items():
        text = _format_value_as_text(publication.get(name))
        if _is_web_link(text):
            yield text
        elif text and host:
            yield host + text.removeprefix("doi:").removeprefix("arXiv:")


def _iterate_cost_figures(metadata: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    runtime = _get_nested_mapping(metadata, "resources", "runtime")
    wall, user, system = (
        _parse_amount_with_unit(runtime.get(name), _SECONDS_BY_UNIT)
        for name in ("wallclock", "user", "system")
    )
    memory = _parse_amount_with_unit(
        _get_nested_mapping(metadata, "resources", "ram").get("used process"),
        _MEBIBYTES_BY_UNIT,
    )
    if wall is not None:
        yield "wall_seconds", wall
    if user is not None or system is not None:
        yield "cpu_seconds", (user or 0) + (system or 0)
    if memory is not None:
        yield "memory_mib", memory


def _parse_amount_with_unit(value: object, units: Mapping[str, float]) -> float | None:
    match = _AMOUNT_PATTERN.fullmatch(_format_value_as_text(value))
    return float(match[1]) * units[match[2]] if match and match[2] in units else None


def _format_retrieval_stage(stage: Mapping[str, Any]) -> str:
    said = [
        f"{name} {text}"
        for name, value in stage.items()
        if name != "name" and (text := _format_value_as_text(value))
    ]
    name = _format_value_as_text(stage.get("name"))
    return f"{name} ({', '.join(said)})" if name and said else name or ", ".join(said)


def _get_nested_mapping(value: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for name in path:
        below = value.get(name)
        value = below if isinstance(below, Mapping) else {}
    return value


def _list_mappings(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (
        part
        for part in (value if isinstance(value, list) else ())
        if isinstance(part, Mapping)
    )


def _is_web_link(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def _format_value_as_text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(
            text
            for part in value
            if not isinstance(part, list) and (text := _format_value_as_text(part))
        )
    if isinstance(value, dt.date):
        return value.isoformat()[:10]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return " ".join(str(value).split())[:MAX_VALUE_CHARACTERS]
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else ""
