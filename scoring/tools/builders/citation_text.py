"""Build the files of a citation text generation task from the original files of
published data sets.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from scoring.offline.arguments import format_markdown_table, write_json_lines
from scoring.tools.builders.reading import make_refusal
from scoring.tools.builders.season import SeasonFolder
from tasks.types.citation_text import instances as instances_of
from tasks.types.files import InputFile, open_input_files
from tasks.types.jsonlines import JSON_SUFFIXES, JsonRecord, read_records
from tasks.types.problems import (
    InputRefused,
    Problem,
    convert_to_unavailable,
    raise_if_any_problem_is_fatal,
)
from tasks.types.text import decode_utf8_or_windows_1252, describe_json_type

BASELINES = ("citation-text-lead", "citation-text-lexrank", "citation-text-textrank")
FAULTS_FOLDER = "faults"


def add_data_set(
    loaded: "LoadedDataSet", season: SeasonFolder
) -> tuple[instances_of.CitationTextInstance, ...]:
    (season.folder / FAULTS_FOLDER).mkdir(parents=True, exist_ok=True)
    season.gold.mkdir(parents=True, exist_ok=True)
    write_json_lines(season.gold / f"{loaded.dataset}.jsonl", loaded.instances)
    write_json_lines(
        season.folder / FAULTS_FOLDER / f"{loaded.dataset}.jsonl", loaded.faults
    )
    instances = instances_of.read_instances(
        open_input_files(season.gold), with_targets=True
    )
    rows = []
    for dataset, group in groupby(instances, key=lambda instance: instance.dataset):
        inputs = [instance.cited_abstracts for instance in group]
        lengths = [len(abstract.split()) for cited in inputs for abstract in cited]
        rows.append(
            (dataset, len(inputs), len(lengths), f"{sum(lengths) / len(lengths):.1f}")
        )
    heads = ("data set", "instances", "cited papers", "words of a cited abstract, mean")
    card = ["## Data sets\n", *format_markdown_table(heads, rows, in_numbers=True)]
    if faults := list(instances_of.iterate_known_faults(instances)):
        card += [
            "## Known faults, kept as they are\n",
            *(f"- {fault}" for fault in faults),
            "",
        ]
    (season.folder / "card.md").write_text("\n".join(card), encoding="utf-8")
    sheet = "\n".join(
        (
            "## Data sets\n",
            *format_statistics_table(
                instances_of.compute_data_set_statistics(instances), "words"
            ),
        )
    )
    (season.folder / "datasheet.md").write_text(sheet, encoding="utf-8")
    return instances


def make_token_counter(folder: Path) -> instances_of.TokenCounter:
    """Return a function that counts the tokens of a text, without special tokens such
    as [CLS]. Raises Unavailable.

    ``folder`` is the path of the model's tokenizer.
    """
    with convert_to_unavailable("a tokenizer needs transformers (`make models`)"):
        from transformers import AutoTokenizer
    with convert_to_unavailable(
        f"{folder} holds no tokenizer in the form of transformers", OSError, ValueError
    ):
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    return lambda text: len(
        tokenizer.encode(text, add_special_tokens=False, verbose=False)
    )


def format_statistics_table(
    sets: Sequence[instances_of.DataSetStatistics], unit: str
) -> Iterator[str]:
    def format_share(count: int, of: instances_of.DataSetStatistics) -> str:
        return f"{count:,} ({100 * count / of.instances:.3g} %)"

    over_long = [
        (format_share(one.long_inputs, one), format_share(one.long_outputs, one))
        for one in sets
    ]
    named = [(one.name, one.instances, one.cited_papers) for one in sets]
    sizes = [(*first, *last) for first, last in zip(named, over_long, strict=True)]
    lengths = [
        (one.name, f"{one.output_words:.1f}", f"{one.input_words:.1f}") for one in sets
    ]
    phrases = [
        (one.name, format_share(one.self_references, one), *one.phrases.values())
        for one in sets
    ]
    longest = {
        "inputs": instances_of.MAX_INPUT_TOKENS,
        "outputs": instances_of.MAX_OUTPUT_TOKENS,
    }
    over = (f"{side} over {most:,} {unit}" for side, most in longest.items())
    yield "### Sizes\n"
    yield from format_markdown_table(
        ("data set", "instances", "cited papers", *over), sizes, in_numbers=True
    )
    yield "### Lengths in words, means\n"
    yield from format_markdown_table(
        ("data set", "output", "input"), lengths, in_numbers=True
    )
    yield "### Texts that speak of the citing paper\n"
    heads = ("data set", "any phrase", *instances_of.SELF_REFERENCES_IN_PROGRAM)
    yield from format_markdown_table(heads, phrases, in_numbers=True)


#: Length that CiteBench cuts from abstracts that begin with `[0] ` or `[10] `.
_CUT_NUMBER_LENGTH = 4
_SOURCE_LINES, _TARGET_LINES = ".txt.src", ".txt.tgt.tagged"
_DIGIT_PATTERN = re.compile(r"[0-9]")
#: Citations in brackets, by author and year or by number.
#: The expression does not match nested brackets.
_BRACKETED_CITATION_PATTERN = re.compile(
    r"\([^()]*[0-9]{2,4}[^()]*\)|\[[^\[\]]*[0-9][^\[\]]*\]"
)
_AUTHORS_BEFORE_BRACKET = re.compile(
    r"[A-Z]\w+(?:\s+(?:and|&)\s+[A-Z]\w+|\s+et al\.?)?\s*$"
)
_THIS_CITATION, _OTHER_CITATION = "<cite>", "<CITE>"


@dataclass(frozen=True, kw_only=True)
class LoadedDataSet:
    """The instances of a data set in CiteBench's format, with the faults of single
    instances.
    """

    dataset: str
    form: str
    instances: Sequence[Mapping[str, Any]]
    faults: Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class ConvertedRecord:
    target: str
    cited: list[str]
    context: list[str]
    faults: tuple[str, ...] = ()


def load_data_set(
    path: Path, *, split: str, with_context: bool, form: str = "auto", dataset: str = ""
) -> LoadedDataSet:
    files = open_input_files(path)
    form = form if form != "auto" else _detect_form(files, path)
    converted = list(
        _convert_aburaed(files, split)
        if form == "aburaed"
        else _iterate_converted_records(files, split, form)
    )
    if not converted:
        raise make_refusal(f"no instances of the split “{split}” are here", path)
    name = dataset or form
    if form == "chen" and not dataset:
        parts = [part.lower() for part in PurePosixPath(path.resolve()).parts]
        sources = (
            source
            for source in ("delve", "s2orc")
            if any(source in part for part in parts)
        )
        name = next((f"chen_{source}" for source in sources), form)
    width = max(2, len(str(len(converted) - 1)))
    instances, faults = [], []
    for place, one in enumerate(converted):
        items = [*(one.context if with_context else ()), *one.cited]
        instance = f"{name}-{place:0{width}d}"
        instances.append({"id": instance, "target": one.target, "input": items})
        flaws = [
            ("damaged mark", mark)
            for mark in instances_of.parse_citation_marks(one.target).damaged
        ]
        for number, abstract in enumerate(one.cited):
            if not abstract.strip():
                flaws.append(("empty cited abstract", f"[{number}]"))
            elif abstract.startswith(" "):
                flaws.append(("cited abstract begins with a space", f"[{number}]"))
            if not instances_of.is_abstract_of_cited_paper(abstract):
                flaws.append(("cited abstract reads as a tagged item", f"[{number}]"))
        flaws += [(fault, "") for fault in one.faults]
        faults += [
            {"id": instance, "fault": fault, "found": where} for fault, where in flaws
        ]
    return LoadedDataSet(dataset=name, form=form, instances=instances, faults=faults)


def _make_tagged_item(tag: str, value: Any) -> list[str]:
    text = (
        " ".join(map(str, value))
        if isinstance(value, list)
        else value
        if isinstance(value, str)
        else ""
    )
    return [f"<{tag}> {text.strip()} </{tag}>"] if text.strip() else []


def _convert_lu(record: JsonRecord) -> ConvertedRecord:
    references = _read_required_field(record, "ref_abstract", dict)
    target = _read_required_field(record, "related_work", str)
    cited = []
    for index, (name, reference) in enumerate(references.items()):
        target = target.replace(name, f"[{index}]")
        abstract = (
            reference.get("abstract") if isinstance(reference, dict) else reference
        )
        cited.append(
            f"[{index}] {abstract if isinstance(abstract, str) else ''}"[
                _CUT_NUMBER_LENGTH:
            ]
        )
    return ConvertedRecord(
        target,
        cited,
        _make_tagged_item(instances_of.ABSTRACT_TAG, record.value.get("abstract")),
    )


def _convert_chen(record: JsonRecord) -> ConvertedRecord:
    cited = [
        str(document)[_CUT_NUMBER_LENGTH:]
        for document in _read_required_field(record, "multi_doc", list)
    ]
    return ConvertedRecord(_read_required_field(record, "abs", str), cited, [])


def _convert_xing(record: JsonRecord) -> ConvertedRecord:
    value = record.value
    context = [
        *_make_tagged_item(instances_of.ABSTRACT_TAG, value.get("tgt_abstract")),
        *_make_tagged_item(
            instances_of.CONTEXT_BEFORE_TAG, value.get("text_before_explicit_citation")
        ),
        *_make_tagged_item(
            instances_of.CONTEXT_AFTER_TAG, value.get("text_after_explicit_citation")
        ),
    ]
    target = _read_required_field(record, "explicit_citation", str).replace(
        "#REFR", "[0]"
    )
    cited = [_read_required_field(record, "src_abstract", str).strip()]
    return ConvertedRecord(
        target,
        cited,
        context,
        ("abstracts of the citing and the cited paper exchanged",),
    )


def _read_required_field(record: JsonRecord, key: str, kind: type) -> Any:
    value = record.value.get(key)
    if not isinstance(value, kind):
        raise InputRefused(
            [
                record.problem(
                    f"“{key}” is not as in the source", describe_json_type(kind())
                )
            ]
        )
    return value


#: For each original format, the keys and the converter of its records.
_CONVERTER_OF_FORM: Mapping[
    str, tuple[tuple[str, ...], Callable[[JsonRecord], ConvertedRecord]]
] = {
    "lu": (("related_work", "ref_abstract"), _convert_lu),
    "chen": (("abs", "multi_doc"), _convert_chen),
    "xing": (("src_abstract", "explicit_citation"), _convert_xing),
}
DATA_SET_FORMS = ("aburaed", *_CONVERTER_OF_FORM)
_EXPECTED_FILES = f"the original files of one of {', '.join(DATA_SET_FORMS)}"
#: Fields of CiteBench's `sample.json` (UKPLab/citebench, commit e0cc3b8e).
PROCESSED_FILE_FIELDS = ("target", "input")


def _iterate_converted_records(
    files: Sequence[InputFile], split: str, form: str
) -> Iterator[ConvertedRecord]:
    readable = [file for file in files if file.suffix in JSON_SUFFIXES]
    for file in [
        file for file in readable if file.stem in _list_split_names(split)
    ] or readable:
        problems: list[Problem] = []
        for record in read_records(file, problems):
            if record.value.get("train_or_test", split) == split:
                yield _CONVERTER_OF_FORM[form][1](record)
        raise_if_any_problem_is_fatal(problems)


def _convert_aburaed(
    files: Sequence[InputFile], split: str
) -> Iterator[ConvertedRecord]:
    sources, targets = (
        _read_split_lines(files, split, ending)
        for ending in (_SOURCE_LINES, _TARGET_LINES)
    )
    if len(sources) != len(targets):
        message = f"{len(sources):,} lines of sources and {len(targets):,} of targets"
        raise make_refusal(message, expected="one target for each source")
    for source, target in zip(sources, targets, strict=True):
        parts, end = [], 0
        for brackets in _BRACKETED_CITATION_PATTERN.finditer(target):
            before = target[end : brackets.start()]
            if re.fullmatch(r"\([^()]*[0-9]{4}[^()]*\)", brackets.group()):
                before = _AUTHORS_BEFORE_BRACKET.sub("", before)
            parts += [before, _OTHER_CITATION]
            end = brackets.end()
        text = _DIGIT_PATTERN.sub("#", "".join([*parts, target[end:]]))
        text = re.sub(r"</?t>", "", text).replace(_THIS_CITATION, "[0]").strip()
        faults = (
            ("digits are “#”",) if "#" in text or _DIGIT_PATTERN.search(source) else ()
        )
        yield ConvertedRecord(
            text, [_DIGIT_PATTERN.sub("#", source).strip()], [], faults
        )


def _read_split_lines(files: Sequence[InputFile], split: str, ending: str) -> list[str]:
    for file in files:
        if file.stem in _list_split_names(split) and file.name.endswith(ending):
            # `splitlines` would also split at other characters inside of abstracts.
            return [
                line.removesuffix("\r")
                for line in decode_utf8_or_windows_1252(file.read())
                .removesuffix("\n")
                .split("\n")
            ]
    raise make_refusal(f"the file {split}{ending} is missing")


def _list_split_names(split: str) -> tuple[str, ...]:
    return ("val", "valid", "validation") if split == "val" else (split,)


def _detect_form(files: Sequence[InputFile], path: Path) -> str:
    if any(file.name.endswith(_SOURCE_LINES) for file in files):
        return "aburaed"
    for file in files:
        first = (
            next(read_records(file, []), None) if file.suffix in JSON_SUFFIXES else None
        )
        if first is not None and all(
            key in first.value for key in PROCESSED_FILE_FIELDS
        ):
            raise make_refusal(
                "these are CiteBench's processed files, which are gold as they are",
                path,
                f"`scoring score citation-text --gold {path}`, or {_EXPECTED_FILES}",
            )
        for form, (keys, _) in _CONVERTER_OF_FORM.items():
            if first is not None and all(key in first.value for key in keys):
                return form
    raise make_refusal("the form of these files is not known", path, _EXPECTED_FILES)
