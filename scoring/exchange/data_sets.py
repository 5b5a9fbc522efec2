"""Export the public data of a task, which are the released inputs of its phases without
the gold.
"""

import hashlib
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from html import escape
from itertools import chain, islice, product
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import quote

from django.core.cache import caches
from django.db.models import Q
from django.utils.crypto import salted_hmac

from citeboard.core import storage
from citeboard.core.release import compute_release_digest
from scoring.exchange.citations import build_citation_of_task
from scoring.exchange.linked_data import find_licence_address
from scoring.exchange.results import (
    build_absolute_site_address,
    build_hub_leaderboard_name,
    build_zip_entry,
    format_as_yaml,
    list_season_task_and_phase_slugs,
    make_safe_file_name,
)
from scoring.models import Judge
from scoring.results.board.open_gold import may_download_gold
from scoring.worker.entailment_labels import iterate_label_file_lines
from tasks.gold.secrecy import (
    are_inputs_free_of_embargo,
    prefetch_phases_with_embargoes,
)
from tasks.models import Gold, Phase, Task
from tasks.seasons.access import can_download_inputs
from tasks.seasons.cards import extract_markdown_section, get_task_card
from tasks.seasons.file.licences import normalise_spdx_expression
from tasks.types.files import (
    STARTING_KIT_FOLDER,
    InputFile,
    is_in_starting_kit,
    open_input_files,
)
from tasks.types.guarded.json_reader import read_json
from tasks.types.judge_views import list_judges_in_view_names
from tasks.types.run_forms import TrecExportFunctions
from tasks.types.stored_judges import LedgerJudge, list_ledger_judges

#: The first SAMPLED_LINES_PER_FILE lines of a JSON Lines file determine the fields of the file.
SAMPLED_LINES_PER_FILE = 50
#: The regular expression _FIELD_NAME_PATTERN matches field names that are valid in JSONPath.
_FIELD_NAME_PATTERN = re.compile(r"\w+", re.ASCII)
_SCHEMA_ORG_TYPES = {
    str: "sc:Text",
    bool: "sc:Boolean",
    int: "sc:Integer",
    float: "sc:Float",
}


@dataclass(frozen=True)
class ReleasedFile:
    """A file in the downloadable archive of a released data set. ``fields`` maps each
    JSON field of the file with scalar values to the type of the values.
    """

    name: str
    size: int
    sha256: str
    fields: dict[str, str]

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()


@dataclass(frozen=True)
class DataSetArchive:
    size: int
    sha256: str
    files: tuple[ReleasedFile, ...]


@dataclass(frozen=True)
class DataSetRelease:
    phase: Phase
    gold: Gold
    archive: DataSetArchive


def find_released_phases(task: Task) -> dict[Phase, Gold]:
    """Return a phase and its gold for each split of the task whose inputs are public."""
    golds: dict[str, tuple[Phase, Gold]] = {}
    prefetch_phases_with_embargoes([task])
    for phase in task.phases.all():
        gold = (
            Gold.objects.current(phase) if are_inputs_free_of_embargo(phase) else None
        )
        if gold is not None:
            golds.setdefault(phase.split, (phase, gold))
    return dict(golds.values())


def load_data_set_releases(task: Task) -> list[DataSetRelease]:
    return [
        DataSetRelease(phase, gold, _load_or_read_archive_description(gold.public))
        for phase, gold in find_released_phases(task).items()
    ]


def _load_or_read_archive_description(name: str) -> DataSetArchive:
    """Return the description of a data set's archive from the cache. The name of the
    archive contains a checksum of the content, so the cache key contains the name.
    """
    key = f"released:{hashlib.sha256(name.encode()).hexdigest()}"
    packed: DataSetArchive | None = caches["results"].get(key)
    if packed is None:
        with storage.gold_file_storage.open(name) as content:
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            content.seek(0)
            with zipfile.ZipFile(content) as archive:
                files = []
                for member in archive.infolist():
                    with archive.open(member) as file:
                        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
                    with archive.open(member) as file:
                        fields = dict(
                            _iterate_fields_with_schema_type(
                                _iterate_json_objects(member.filename, file)
                            )
                        )
                    files.append(
                        ReleasedFile(member.filename, member.file_size, digest, fields)
                    )
        packed = DataSetArchive(
            storage.gold_file_storage.size(name), sha256, tuple(files)
        )
        caches["results"].set(key, packed, None)
    return packed


def _iterate_json_objects(name: str, file: IO[bytes]) -> Iterator[dict[str, Any]]:
    rows: Iterable[Any] = ()
    if name.startswith(f"{STARTING_KIT_FOLDER}/"):
        return iter(())
    if name.endswith(JSON_LINES_SUFFIX):
        rows = map(read_json, file)
    elif name.endswith(".json"):
        content = read_json(file.read())
        rows = content if isinstance(content, list) else ()
    return (
        row for row in islice(rows, SAMPLED_LINES_PER_FILE) if isinstance(row, dict)
    )


def _iterate_fields_with_schema_type(
    rows: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[str, str]]:
    types: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None and _FIELD_NAME_PATTERN.fullmatch(name):
                types.setdefault(name, set()).add(
                    _SCHEMA_ORG_TYPES.get(type(value), "")
                )
    for name, seen in types.items():
        if seen == {"sc:Integer", "sc:Float"}:
            yield name, "sc:Float"
        elif len(seen) == 1 and "" not in seen:
            yield name, next(iter(seen))


@dataclass(frozen=True)
class DownloadableSplit:
    phase: Phase
    gold: Gold
    has_gold: bool

    @property
    def name(self) -> str:
        return make_safe_file_name(self.phase.split)

    def inputs(self) -> AbstractContextManager[list[InputFile]]:
        return _open_files_of_archive(self.gold.public, self.gold.reading_version)

    def answers(self) -> AbstractContextManager[list[InputFile]]:
        if not self.has_gold:
            return nullcontext([])
        return _open_files_of_archive(self.gold.file, self.gold.reading_version)


def list_downloadable_splits(task: Task, viewer: object) -> list[DownloadableSplit]:
    given = (
        (phase, gold)
        for phase, gold in find_released_phases(task).items()
        if can_download_inputs(viewer, phase)
    )
    return [
        DownloadableSplit(phase, gold, may_download_gold(phase, viewer))
        for phase, gold in given
    ]


def compute_data_set_etag(splits: Sequence[DownloadableSplit], form: str) -> str:
    """Return an ETag that changes whenever the exported description of a data set
    changes.
    """
    stated = [
        form,
        compute_release_digest(),
        *(f"{part.gold.public} {part.gold.file} {part.has_gold}" for part in splits),
    ]
    # The ETag is an HMAC, because names of data files contain digests of secret gold.
    tag = salted_hmac("scoring.data_sets.etag", "|".join(stated), algorithm="sha256")
    return f'"{tag.hexdigest()}"'


@contextmanager
def _open_files_of_archive(name: str, reading: int) -> Iterator[list[InputFile]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        with storage.gold_file_storage.open(name) as kept, path.open("wb") as copy:
            shutil.copyfileobj(kept, copy)
        yield open_input_files(path, reading=reading)


MEDIA_TYPES_BY_SUFFIX = {
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".xml": "application/xml",
    ".csv": "text/csv",
}
#: The description of a data set lists files with the extensions in PLAIN_TEXT_SUFFIXES as plain text.
PLAIN_TEXT_SUFFIXES = {".xml", ".txt"}
#: The terms in _CROISSANT_TERMS are from the Croissant vocabulary, all others from schema.org.
_CROISSANT_TERMS = (
    "citeAs",
    "column",
    "equivalentProperty",
    "extract",
    "field",
    "fileProperty",
    "fileObject",
    "fileSet",
    "format",
    "includes",
    "isLiveDataset",
    "jsonPath",
    "key",
    "md5",
    "parentField",
    "path",
    "recordSet",
    "references",
    "regex",
    "repeated",
    "replace",
    "samplingRate",
    "separator",
    "source",
    "subField",
    "transform",
    "arrayShape",
    "isArray",
    "containedIn",
)
JSON_LD_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _CROISSANT_TERMS},
}
#: A description lists by name at most MAX_FILES_LISTED files with the same extension.
MAX_FILES_LISTED = 20


def build_croissant_description(
    task: Task, releases: Sequence[DataSetRelease]
) -> dict[str, Any]:
    season = task.season
    text = get_task_card(task).text
    described = {
        "@context": JSON_LD_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": f"{season.slug}-{task.slug}",
        "description": task.summary or text.partition("\n\n")[0],
        "url": build_absolute_site_address("task", season.slug, task.slug),
        "license": find_licence_address(season.licence) or season.licence,
        "creator": {"@type": "sc:Organization", "name": f"Organisers of {season}"},
        "datePublished": min(release.gold.created_at for release in releases)
        .date()
        .isoformat(),
        "version": f"{max(release.gold.number for release in releases)}.0.0",
        "citeAs": build_citation_of_task(task).bibtex_entry,
        "isLiveDataset": False,
        "inLanguage": "en",
        "isAccessibleForFree": True,
        "rai:dataCollection": extract_markdown_section(text, "Data"),
        "rai:dataLimitations": extract_markdown_section(text, "Limits"),
        "rai:dataBiases": extract_markdown_section(text, "Biases"),
        "rai:personalSensitiveInformation": extract_markdown_section(
            text, "Personal information"
        ),
        "rai:dataSocialImpact": extract_markdown_section(text, "Social impact"),
        "rai:dataUseCases": f"Evaluation of systems for {task.task_type.title.lower()}; not for training.",
        "rai:dataReleaseMaintenancePlan": (
            "A correction is a new numbered version; runs are scored again against it, and the board of "
            "every earlier version stays."
        ),
        "distribution": [
            entry
            for release in releases
            for entry in _iterate_croissant_distribution(release)
        ],
        "recordSet": [
            entry
            for release in releases
            for entry in _iterate_croissant_record_sets(release)
        ],
    }
    return {name: value for name, value in described.items() if value not in ("", [])}


def _iterate_croissant_record_sets(release: DataSetRelease) -> Iterator[dict[str, Any]]:
    for file in _select_individually_listed_files(release):
        if file.fields:
            is_lines = file.suffix == JSON_LINES_SUFFIX
            extracted = {
                field: (
                    kind,
                    {"column": field} if is_lines else {"jsonPath": f"$[*].{field}"},
                )
                for field, kind in file.fields.items()
            }
            name = _make_croissant_name(
                f"{release.phase.split}-{file.name.removesuffix(file.suffix)}"
            )
            yield _build_croissant_record_set(
                name, {"fileObject": {"@id": _build_file_id(release, file)}}, extracted
            )
    for suffix in _list_suffixes_of_unlisted_files(release):
        if suffix in PLAIN_TEXT_SUFFIXES:
            of_file = {"file": "fullpath", "content": "content"}
            extracted = {
                field: ("sc:Text", {"fileProperty": what})
                for field, what in of_file.items()
            }
            files = _build_file_set_id(release, suffix)
            yield _build_croissant_record_set(
                f"{files}-texts", {"fileSet": {"@id": files}}, extracted
            )


def _build_croissant_record_set(
    name: str,
    source: Mapping[str, Any],
    extracted: Mapping[str, tuple[str, Mapping[str, str]]],
) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{field}",
            "name": f"{name}/{field}",
            "dataType": kind,
            "source": {**source, "extract": extract},
        }
        for field, (kind, extract) in extracted.items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def _iterate_croissant_distribution(
    release: DataSetRelease,
) -> Iterator[dict[str, Any]]:
    archive = _build_archive_id(release)
    yield {
        "@type": "cr:FileObject",
        "@id": archive,
        "name": archive,
        "contentUrl": build_absolute_site_address(
            "inputs", *list_season_task_and_phase_slugs(release.phase)
        ),
        "contentSize": f"{release.archive.size} B",
        "encodingFormat": "application/zip",
        "sha256": release.archive.sha256,
    }
    for file in _select_individually_listed_files(release):
        yield {
            "@type": "cr:FileObject",
            "@id": _build_file_id(release, file),
            "name": file.name,
            "containedIn": {"@id": archive},
            "contentUrl": file.name,
            "contentSize": f"{file.size} B",
            "encodingFormat": MEDIA_TYPES_BY_SUFFIX.get(file.suffix, "text/plain"),
            "sha256": file.sha256,
        }
    for suffix in _list_suffixes_of_unlisted_files(release):
        media = MEDIA_TYPES_BY_SUFFIX.get(suffix, "text/plain")
        yield {
            "@type": "cr:FileSet",
            "@id": _build_file_set_id(release, suffix),
            "name": _build_file_set_id(release, suffix),
            "containedIn": {"@id": archive},
            "encodingFormat": [media, "text/plain"]
            if suffix in PLAIN_TEXT_SUFFIXES and media != "text/plain"
            else media,
            "includes": f"**/*{suffix}",
        }


def _list_suffixes_of_unlisted_files(release: DataSetRelease) -> list[str]:
    listed = _select_individually_listed_files(release)
    plain = (file for file in release.archive.files if not file.fields)
    return sorted(
        {
            file.suffix
            for file in plain
            if file.suffix in PLAIN_TEXT_SUFFIXES or file not in listed
        }
    )


def _build_file_set_id(release: DataSetRelease, suffix: str) -> str:
    return _make_croissant_name(
        f"{release.phase.split}-files-{suffix.removeprefix('.') or 'others'}"
    )


def _select_individually_listed_files(release: DataSetRelease) -> list[ReleasedFile]:
    files = release.archive.files
    return (
        list(files)
        if len(files) <= MAX_FILES_LISTED
        else [file for file in files if file.fields][:MAX_FILES_LISTED]
    )


def _build_file_id(release: DataSetRelease, file: ReleasedFile) -> str:
    return f"{_build_archive_id(release)}/{file.name}"


def _build_archive_id(release: DataSetRelease) -> str:
    return _make_croissant_name(f"{release.phase.split}.zip")


def _make_croissant_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text)


JSON_LINES_SUFFIX = ".jsonl"
GOLD_FOLDER = "gold"
#: The names of splits on the Hugging Face Hub consist of word characters.
_NON_WORD_PATTERN = re.compile(r"\W+", re.ASCII)


class TaskWithoutJsonLines(Exception):
    """An error about a task without JSON Lines files, the only format that loaders of
    the Hugging Face Hub read.
    """


def has_json_lines(golds: Iterable[Gold]) -> bool:
    """Return True if the inputs of a gold version include JSON Lines files, which the
    Hugging Face Hub needs.
    """
    for gold in golds:
        with (
            suppress(OSError, zipfile.BadZipFile),
            storage.gold_file_storage.open(gold.public, "rb") as stored,
            zipfile.ZipFile(stored) as archive,
        ):
            names = map(PurePosixPath, archive.namelist())
            if any(
                name.suffix == JSON_LINES_SUFFIX and not is_in_starting_kit(name)
                for name in names
            ):
                return True
    return False


def write_data_set(
    out: IO[bytes], task: Task, splits: Sequence[DownloadableSplit]
) -> None:
    """Write the data set in the layout of the Hub
    (https://huggingface.co/docs/hub/datasets-cards). Raises TaskWithoutJsonLines.

    If the task has a name on the Hub, the data set contains an `eval.yaml`
    (https://huggingface.co/docs/hub/eval-results).
    """
    configurations: dict[str, dict[str, str]] = {}
    with zipfile.ZipFile(out, "w") as archive:
        for split in splits:
            with split.inputs() as inputs, split.answers() as answers:
                for kind, files in (("", inputs), (GOLD_FOLDER, answers)):
                    for file in files:
                        if file.suffix == JSON_LINES_SUFFIX:
                            path = f"{kind or 'data'}/{split.name}/{file.name}"
                            with (
                                archive.open(build_zip_entry(path), "w") as target,
                                file.open() as source,
                            ):
                                shutil.copyfileobj(source, target)
                            name = _make_split_name_for_hub(
                                "-".join(part for part in (kind, file.stem) if part)
                            )
                            configurations.setdefault(name, {})[
                                _make_split_name_for_hub(split.name)
                            ] = path
        if not configurations:
            raise TaskWithoutJsonLines
        archive.writestr(
            build_zip_entry("README.md"), _build_hub_card(task, configurations)
        )
        if task.hub_dataset:
            archive.writestr(
                build_zip_entry("eval.yaml"),
                _build_benchmark_card(task, splits, configurations),
            )


def _build_benchmark_card(
    task: Task,
    splits: Sequence[DownloadableSplit],
    configurations: Mapping[str, Mapping[str, str]],
) -> str:
    name, paths = next(iter(configurations.items()))
    words = {
        _make_split_name_for_hub(split.name): split.phase.split
        for split in splits
        if _make_split_name_for_hub(split.name) in paths
    }
    kind = task.task_type
    refs = kind.list_metrics_of_rule_set(
        task.ranking_rules, kind.validate_options(task.options)
    )
    facts = {
        "name": f"{task.season}: {task}",
        "description": task.summary or str(task),
        "tasks": [
            {
                "id": build_hub_leaderboard_name(split, ref.name),
                "config": name,
                "split": word,
            }
            for (word, split), ref in product(words.items(), refs)
        ],
    }
    return format_as_yaml(facts)


def _build_hub_card(task: Task, configurations: Mapping[str, Mapping[str, str]]) -> str:
    season = task.season
    # For a licence unknown to the Hugging Face Hub, give `other` and a name.
    licence = {
        "license": "other",
        "license_name": _make_split_name_for_hub(
            season.licence or "not-stated"
        ).lower(),
    }
    if find_licence_address(season.licence):
        licence = {"license": str(normalise_spdx_expression(season.licence)).lower()}
    facts = {
        **licence,
        "language": ["en"],
        "pretty_name": f"{season}: {task}",
        "tags": ["citation-research", task.type],
        "configs": [
            {
                "config_name": name,
                "data_files": [
                    {"split": split, "path": path} for split, path in paths.items()
                ],
                **({"default": True} if number == 0 else {}),
            }
            for number, (name, paths) in enumerate(configurations.items())
        ],
    }
    address = build_absolute_site_address("task", season.slug, task.slug)
    return (
        f"---\n{format_as_yaml(facts)}---\n\n# {season}: {task}\n\n{task.summary}\n\n"
        f"Runs are scored at {address}\n\n{get_task_card(task).text}\n\n"
        f"## Citation\n\n```bibtex\n{build_citation_of_task(task).bibtex_entry}```\n"
    )


def _make_split_name_for_hub(text: str) -> str:
    return _NON_WORD_PATTERN.sub("_", text).strip("_") or "data"


#: Neither XML nor a line of text can contain these control characters.
_CONTROL_CHARACTERS_PATTERN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+"
)
TREC_README_TEXT = Path(__file__).with_name("trec.txt").read_text(encoding="utf-8")


def write_trec_collection(
    out: IO[bytes],
    task: Task,
    form: TrecExportFunctions,
    splits: Sequence[DownloadableSplit],
) -> None:
    """Write the documents and queries of a ranking task in the file formats of TREC.

    Spaces and percent signs in ids are percent-encoded (`%20`).
    """
    name = f"citeboard/{task.season.slug}/{task.slug}"
    with zipfile.ZipFile(out, "w") as archive:

        def write_archive_file(file_name: str, lines: Iterable[str]) -> None:
            with archive.open(build_zip_entry(file_name), "w") as file:
                for line in lines:
                    file.write(line.encode())

        write_archive_file(
            "collection.json",
            [json.dumps({"name": name, "splits": [split.name for split in splits]})],
        )
        readme = TREC_README_TEXT.format(
            title=f"{task.season}: {task}",
            name=name,
            split=splits[0].name,
            licence=task.season.licence or "not stated",
            citation=build_citation_of_task(task).bibtex_entry,
        )
        write_archive_file("README.txt", [readme])
        for split in splits:
            with split.inputs() as files:
                topics = (
                    f'<topic number="{escape(_encode_trec_id(name))}">'
                    f"<query>{_escape_xml_text(text)}</query></topic>\n"
                    for name, text in form.topics(files)
                )
                begin = '<?xml version="1.0" encoding="UTF-8"?>\n<topics>\n'
                write_archive_file(
                    f"{split.name}/topics.xml", chain([begin], topics, ["</topics>\n"])
                )
                documents = (
                    f"<DOC>\n<DOCNO>{escape(_encode_trec_id(name))}</DOCNO>\n<TEXT>\n{_escape_xml_text(text)}\n</TEXT>\n</DOC>\n"
                    for name, text in form.documents(files)
                )
                write_archive_file(f"{split.name}/documents.trec", documents)
                if form.candidates:
                    lines = (
                        f"{_encode_trec_id(topic)} Q0 {_encode_trec_id(name)} {rank} 0 candidates\n"
                        for topic, names in form.candidates(files)
                        for rank, name in enumerate(names, start=1)
                    )
                    write_archive_file(f"{split.name}/candidates.trec", lines)
            if split.has_gold:
                with split.answers() as files:
                    qrels = form.qrels(files)
                    lines = (
                        f"{_encode_trec_id(topic)} 0 {_encode_trec_id(name)} {grade}\n"
                        for topic, name, grade in qrels
                    )
                    write_archive_file(f"{split.name}/qrels.txt", lines)


def _encode_trec_id(name: str) -> str:
    odd = (
        sign.isspace() or sign == "%" or _CONTROL_CHARACTERS_PATTERN.match(sign)
        for sign in name
    )
    return "".join(
        quote(sign) if is_odd else sign for sign, is_odd in zip(name, odd, strict=True)
    )


def _escape_xml_text(text: str) -> str:
    return escape(" ".join(_CONTROL_CHARACTERS_PATTERN.sub(" ", text).split()))


LABELS_FILE_STEM = "labels"


def find_downloadable_label_judges(phase: Phase, viewer: object) -> list[list[Judge]]:
    """Return the judges (models that label texts) whose labels the viewer may download,
    as a list for each kind of labels. The labels of a judge are available if the gold is
    released in all phases that use these labels.
    """
    if not may_download_gold(phase, viewer):
        return []
    judges = list_ledger_judges(phase.task.options)
    deciding = (
        _find_judges_with_released_labels(judge, phase, viewer) for judge in judges
    )
    return [own for own in deciding if own]


def _find_judges_with_released_labels(
    judge: LedgerJudge, phase: Phase, viewer: object
) -> list[Judge]:
    labels = {f"task__options__{judge.option}": phase.task.options[judge.option]}
    views = [
        task
        for task, rules in Task.objects.values_list("pk", "rules")
        if judge.name in list_judges_in_view_names(rules)
    ]
    asking = Phase.objects.filter(Q(**labels) | Q(task__in=views)).select_related(
        "task__season"
    )
    hidden = (
        one
        for one in asking
        if not one.task.season.is_public or not may_download_gold(one, viewer)
    )
    closed = {one.task.season_id for one in hidden}
    if phase.task.season_id in closed:
        return []
    deciding = Judge.objects.deciding(judge.name, phase.task.season, judge.kind)
    return [one for one in deciding if one.season_id is not None or not closed]


def write_labels_archive(
    out: IO[bytes], phase: Phase, judges: list[list[Judge]]
) -> None:
    """Write a zip archive with the labels that judges (models) gave to texts, and a
    description of the labels. If there are several kinds of labels, the names of files
    contain the kind.

    The management command `import_labels` and the offline scorer can read the exported
    labels.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for deciding in judges:
            name = (
                f"{LABELS_FILE_STEM}-{deciding[0].kind}"
                if len(judges) > 1
                else LABELS_FILE_STEM
            )
            _write_labels_of_judges(archive, name, phase, deciding)


def _write_labels_of_judges(
    archive: zipfile.ZipFile, name: str, phase: Phase, deciding: list[Judge]
) -> None:
    digest, number = hashlib.sha256(), -1
    with archive.open(f"{name}.jsonl", "w", force_zip64=True) as file:
        for line in iterate_label_file_lines(deciding):
            digest.update(line.encode())
            file.write(line.encode())
            number += 1
    card = {
        "name": "/".join(list_season_task_and_phase_slugs(phase)),
        "model": deciding[0].name,
        "labels": number,
        "sha256": digest.hexdigest(),
    }
    archive.writestr(
        zipfile.ZipInfo(f"{name}.json"),
        f"{json.dumps(card, ensure_ascii=False, indent=2)}\n",
    )
