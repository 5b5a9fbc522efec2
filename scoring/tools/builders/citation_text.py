"""A season of citation text generation from the original files of its data sets, one data set at a time."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from scoring.tools.builders.season import SeasonFolder
from tasks.types.citation_text.instances import (
    ABSTRACT,
    AFTER,
    BEFORE,
    MAX_INPUT,
    MAX_OUTPUT,
    SELF_REFERENCES,
    Count,
    DataSet,
    Instance,
    data_sets,
    is_cited,
    known_faults,
    marks,
    read_instances,
)
from tasks.types.files import InputFile, open_input
from tasks.types.jsonlines import SUFFIXES, Record, read_records
from tasks.types.problems import InputRefused, Problem
from tasks.types.text import decoded, json_kind
from tasks.types.unavailable import Unavailable

BASELINES = ("citation-text-lead", "citation-text-lexrank", "citation-text-textrank")
CARD, SHEET, FAULTS = "card.md", "datasheet.md", "faults"


def add_data_set(loaded: Loaded, season: SeasonFolder) -> tuple[Instance, ...]:
    """Put a data set into the season's gold beside those that are there; give the instances of all."""
    (season.folder / FAULTS).mkdir(parents=True, exist_ok=True)
    season.gold.mkdir(parents=True, exist_ok=True)
    _write(season.gold / f"{loaded.dataset}.jsonl", loaded.instances)
    _write(season.folder / FAULTS / f"{loaded.dataset}.jsonl", loaded.faults)
    instances = read_instances(open_input(season.gold), with_targets=True)
    (season.folder / CARD).write_text("\n".join(_card(instances)), encoding="utf-8")
    sheet = "\n".join(("## Data sets\n", *as_markdown(data_sets(instances), "words"), ""))
    (season.folder / SHEET).write_text(sheet, encoding="utf-8")
    return instances


def counted(loaded: Loaded) -> Mapping[str, int]:
    """How often each fault is there."""
    return Counter(fault["fault"] for fault in loaded.faults)


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _card(instances: Sequence[Instance]) -> Iterator[str]:
    yield "## Data sets\n"
    yield "| data set | instances | cited papers | words of a cited abstract, mean |"
    yield "| --- | ---: | ---: | ---: |"
    for dataset, group in groupby(instances, key=lambda instance: instance.dataset):
        own = list(group)
        abstracts = [abstract for instance in own for abstract in instance.cited]
        words = sum(len(abstract.split()) for abstract in abstracts) / len(abstracts)
        yield f"| {dataset} | {len(own):,} | {len(abstracts):,} | {words:.1f} |"
    faults = list(known_faults(instances))
    if faults:
        yield "\n## Known faults, kept as they are\n"
        yield from (f"- {fault}" for fault in faults)
    yield ""


def counter_of(folder: Path) -> Count:
    """Counts as the tokenizer of a model does, without the special tokens. Raises Unavailable."""
    try:
        from transformers import AutoTokenizer
    except ImportError as missing:
        raise Unavailable("a tokenizer needs transformers (`make models`)") from missing
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as fault:
        raise Unavailable(f"{folder} holds no tokenizer in the form of transformers") from fault
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False, verbose=False))


def as_markdown(found: Sequence[DataSet], unit: str) -> Iterator[str]:
    """Three tables, as the paper has them."""
    yield "### Sizes\n"
    yield from _table(
        (
            *("data set", "instances", "cited papers"),
            f"inputs over {MAX_INPUT:,} {unit}",
            f"outputs over {MAX_OUTPUT:,} {unit}",
        ),
        [
            (
                *(own.name, f"{own.instances:,}", f"{own.cited_papers:,}"),
                *(_share(long, own) for long in (own.long_inputs, own.long_outputs)),
            )
            for own in found
        ],
    )
    yield "\n### Lengths in words, means\n"
    lengths = [(own.name, f"{own.output_words:.1f}", f"{own.input_words:.1f}") for own in found]
    yield from _table(("data set", "output", "input"), lengths)
    yield "\n### Texts that speak of the citing paper\n"
    yield from _table(
        ("data set", "any phrase", *SELF_REFERENCES),
        [
            (own.name, _share(own.self_references, own), *(f"{count:,}" for count in own.phrases.values()))
            for own in found
        ],
    )


def _share(count: int, own: DataSet) -> str:
    return f"{count:,} ({100 * count / own.instances:.3g} %)"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{' ---: |' * (len(heads) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


SPLITS = ("test", "val", "train")
#: Other names that the sources have for a split.
_ALSO_CALLED = {"val": ("val", "valid", "validation")}
#: CiteBench cuts so many characters off an abstract that has its number before it, `[0] ` as well as `[10] `.
_NUMBER_CUT = 4
_SOURCE_LINES, _TARGET_LINES = ".txt.src", ".txt.tgt.tagged"
_DIGIT = re.compile(r"[0-9]")
#: A citation by author and year or by number in brackets, as far as no other brackets stand in it.
_BRACKETS = re.compile(r"\([^()]*[0-9]{2,4}[^()]*\)|\[[^\[\]]*[0-9][^\[\]]*\]")
_AUTHORS = re.compile(r"[A-Z]\w+(?:\s+(?:and|&)\s+[A-Z]\w+|\s+et al\.?)?\s*$")
_THIS_CITATION, _OTHER_CITATION = "<cite>", "<CITE>"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A data set's instances in the form of CiteBench, and by instance what is wrong with them."""

    dataset: str
    form: str
    instances: Sequence[Mapping[str, Any]]
    faults: Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Converted:
    """One instance before it has a name."""

    target: str
    cited: list[str]
    context: list[str]
    faults: tuple[str, ...] = ()


Converter = Callable[[Record], Converted]


def load(path: Path, *, split: str, with_context: bool, form: str = "auto", dataset: str = "") -> Loaded:
    """The instances of one split. Raises InputRefused where the files are of no known form or broken."""
    files = open_input(path)
    form = form if form != "auto" else _form_of(files, path)
    converted = list(_aburaed(files, split) if form == "aburaed" else _records_of(files, split, form))
    if not converted:
        message = f"no instances of the split “{split}” are here"
        raise InputRefused([Problem(file=str(path), message=message)])
    name = dataset or _name_of(path, form)
    width = max(2, len(str(len(converted) - 1)))
    names = [f"{name}-{place:0{width}d}" for place in range(len(converted))]
    pairs = list(zip(names, converted, strict=True))
    return Loaded(
        dataset=name,
        form=form,
        instances=[_instance(*pair, with_context=with_context) for pair in pairs],
        faults=[fault for own, record in pairs for fault in _faults(own, record)],
    )


def _instance(name: str, own: Converted, *, with_context: bool) -> dict[str, Any]:
    items = [*(own.context if with_context else ()), *own.cited]
    return {"id": name, "target": own.target, "input": items}


def _faults(name: str, own: Converted) -> Iterator[dict[str, str]]:
    for mark in marks(own.target).damaged:
        yield {"id": name, "fault": "damaged mark", "found": mark}
    for place, abstract in enumerate(own.cited):
        if not abstract.strip():
            yield {"id": name, "fault": "empty cited abstract", "found": f"[{place}]"}
        elif abstract.startswith(" "):
            yield {"id": name, "fault": "cited abstract begins with a space", "found": f"[{place}]"}
        if not is_cited(abstract):
            yield {"id": name, "fault": "cited abstract reads as a tagged item", "found": f"[{place}]"}
    for fault in own.faults:
        yield {"id": name, "fault": fault, "found": ""}


def _tagged(tag: str, value: Any) -> list[str]:
    text = " ".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
    return [f"<{tag}> {text.strip()} </{tag}>"] if text.strip() else []


def _lu(record: Record) -> Converted:
    value = record.value
    references = _part(record, "ref_abstract", dict)
    target = _part(record, "related_work", str)
    cited = []
    for place, (name, reference) in enumerate(references.items()):
        target = target.replace(name, f"[{place}]")
        abstract = reference.get("abstract") if isinstance(reference, dict) else reference
        cited.append(f"[{place}] {abstract if isinstance(abstract, str) else ''}"[_NUMBER_CUT:])
    return Converted(target, cited, _tagged(ABSTRACT, value.get("abstract")))


def _chen(record: Record) -> Converted:
    cited = [str(document)[_NUMBER_CUT:] for document in _part(record, "multi_doc", list)]
    return Converted(_part(record, "abs", str), cited, [])


def _xing(record: Record) -> Converted:
    value = record.value
    context = [
        *_tagged(ABSTRACT, value.get("tgt_abstract")),
        *_tagged(BEFORE, value.get("text_before_explicit_citation")),
        *_tagged(AFTER, value.get("text_after_explicit_citation")),
    ]
    target = _part(record, "explicit_citation", str).replace("#REFR", "[0]")
    cited = [_part(record, "src_abstract", str).strip()]
    return Converted(target, cited, context, ("abstracts of the citing and the cited paper exchanged",))


def _part(record: Record, key: str, kind: type) -> Any:
    value = record.value.get(key)
    if not isinstance(value, kind):
        raise InputRefused([record.problem(f"“{key}” is not as in the source", json_kind(kind()))])
    return value


#: By form the keys that tell it, and what turns a record into an instance.
_FORMS: Mapping[str, tuple[tuple[str, ...], Converter]] = {
    "lu": (("related_work", "ref_abstract"), _lu),
    "chen": (("abs", "multi_doc"), _chen),
    "xing": (("src_abstract", "explicit_citation"), _xing),
}
FORMS = ("aburaed", *_FORMS)


def _records_of(files: Sequence[InputFile], split: str, form: str) -> Iterator[Converted]:
    readable = [file for file in files if file.suffix in SUFFIXES]
    for file in [file for file in readable if file.stem in _names_of(split)] or readable:
        problems: list[Problem] = []
        for record in read_records(file, problems):
            if record.value.get("train_or_test", split) == split:
                yield _FORMS[form][1](record)
        if problems:
            raise InputRefused(problems)


def _aburaed(files: Sequence[InputFile], split: str) -> Iterator[Converted]:
    sources, targets = (_lines_of(files, split, ending) for ending in (_SOURCE_LINES, _TARGET_LINES))
    if len(sources) != len(targets):
        message = f"{len(sources):,} lines of sources and {len(targets):,} of targets"
        raise InputRefused([Problem(message=message, expected="one target for each source")])
    for source, target in zip(sources, targets, strict=True):
        text = _DIGIT.sub("#", _without_other_citations(target))
        text = re.sub(r"</?t>", "", text).replace(_THIS_CITATION, "[0]").strip()
        faults = ("digits are “#”",) if "#" in text or _DIGIT.search(source) else ()
        yield Converted(text, [_DIGIT.sub("#", source).strip()], [], faults)


def _without_other_citations(text: str) -> str:
    out, end = [], 0
    for found in _BRACKETS.finditer(text):
        before = text[end : found.start()]
        if re.fullmatch(r"\([^()]*[0-9]{4}[^()]*\)", found.group()):
            before = _AUTHORS.sub("", before)
        out += [before, _OTHER_CITATION]
        end = found.end()
    return "".join([*out, text[end:]])


def _lines_of(files: Sequence[InputFile], split: str, ending: str) -> list[str]:
    for file in files:
        if file.stem in _names_of(split) and file.name.endswith(ending):
            # Not `splitlines`: abstracts hold other characters that it takes for the end of a line.
            return [line.removesuffix("\r") for line in decoded(file.read()).removesuffix("\n").split("\n")]
    raise InputRefused([Problem(message=f"the file {split}{ending} is missing")])


def _names_of(split: str) -> tuple[str, ...]:
    return _ALSO_CALLED.get(split, (split,))


def _form_of(files: Sequence[InputFile], path: Path) -> str:
    if any(file.name.endswith(_SOURCE_LINES) for file in files):
        return "aburaed"
    for file in files:
        if file.suffix in SUFFIXES:
            first = next(read_records(file, []), None)
            for form, (keys, _) in _FORMS.items():
                if first is not None and all(key in first.value for key in keys):
                    return form
    expected = f"the original files of one of {', '.join(FORMS)}"
    raise InputRefused(
        [Problem(file=str(path), message="the form of these files is not known", expected=expected)]
    )


def _name_of(path: Path, form: str) -> str:
    if form == "chen":
        parts = [part.lower() for part in PurePosixPath(path.resolve()).parts]
        return next((f"chen_{name}" for name in ("delve", "s2orc") if any(name in p for p in parts)), form)
    return form
