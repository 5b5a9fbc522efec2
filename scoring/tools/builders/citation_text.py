"""Build the files of a citation text generation task from the original files of
published data sets.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from scoring.offline.arguments import markdown_table, write_lines
from scoring.tools.builders.reading import refusal
from scoring.tools.builders.season import SeasonFolder
from tasks.types.citation_text import instances as instances_of
from tasks.types.files import InputFile, open_input
from tasks.types.jsonlines import SUFFIXES, Record, read_records
from tasks.types.problems import InputRefused, Problem, needed, refuse
from tasks.types.text import decoded, json_kind

BASELINES = ("citation-text-lead", "citation-text-lexrank", "citation-text-textrank")
FAULTS = "faults"


def add_data_set(
    loaded: "Loaded", season: SeasonFolder
) -> tuple[instances_of.Instance, ...]:
    (season.folder / FAULTS).mkdir(parents=True, exist_ok=True)
    season.gold.mkdir(parents=True, exist_ok=True)
    write_lines(season.gold / f"{loaded.dataset}.jsonl", loaded.instances)
    write_lines(season.folder / FAULTS / f"{loaded.dataset}.jsonl", loaded.faults)
    instances = instances_of.read_instances(open_input(season.gold), with_targets=True)
    rows = []
    for dataset, group in groupby(instances, key=lambda instance: instance.dataset):
        inputs = [instance.cited for instance in group]
        lengths = [len(abstract.split()) for cited in inputs for abstract in cited]
        rows.append(
            (dataset, len(inputs), len(lengths), f"{sum(lengths) / len(lengths):.1f}")
        )
    heads = ("data set", "instances", "cited papers", "words of a cited abstract, mean")
    card = ["## Data sets\n", *markdown_table(heads, rows, in_numbers=True)]
    if faults := list(instances_of.known_faults(instances)):
        card += [
            "## Known faults, kept as they are\n",
            *(f"- {fault}" for fault in faults),
            "",
        ]
    (season.folder / "card.md").write_text("\n".join(card), encoding="utf-8")
    sheet = "\n".join(
        ("## Data sets\n", *as_markdown(instances_of.data_sets(instances), "words"))
    )
    (season.folder / "datasheet.md").write_text(sheet, encoding="utf-8")
    return instances


def counter_of(folder: Path) -> instances_of.Count:
    """Return a function that counts the tokens of a text, without special tokens such
    as [CLS]. Raises Unavailable.

    ``folder`` is the path of the model's tokenizer.
    """
    with needed("a tokenizer needs transformers (`make models`)"):
        from transformers import AutoTokenizer
    with needed(
        f"{folder} holds no tokenizer in the form of transformers", OSError, ValueError
    ):
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    return lambda text: len(
        tokenizer.encode(text, add_special_tokens=False, verbose=False)
    )


def as_markdown(sets: Sequence[instances_of.DataSet], unit: str) -> Iterator[str]:
    def share(count: int, of: instances_of.DataSet) -> str:
        return f"{count:,} ({100 * count / of.instances:.3g} %)"

    over_long = [
        (share(one.long_inputs, one), share(one.long_outputs, one)) for one in sets
    ]
    named = [(one.name, one.instances, one.cited_papers) for one in sets]
    sizes = [(*first, *last) for first, last in zip(named, over_long, strict=True)]
    lengths = [
        (one.name, f"{one.output_words:.1f}", f"{one.input_words:.1f}") for one in sets
    ]
    phrases = [
        (one.name, share(one.self_references, one), *one.phrases.values())
        for one in sets
    ]
    longest = {"inputs": instances_of.MAX_INPUT, "outputs": instances_of.MAX_OUTPUT}
    over = (f"{side} over {most:,} {unit}" for side, most in longest.items())
    yield "### Sizes\n"
    yield from markdown_table(
        ("data set", "instances", "cited papers", *over), sizes, in_numbers=True
    )
    yield "### Lengths in words, means\n"
    yield from markdown_table(("data set", "output", "input"), lengths, in_numbers=True)
    yield "### Texts that speak of the citing paper\n"
    heads = ("data set", "any phrase", *instances_of.SELF_REFERENCES)
    yield from markdown_table(heads, phrases, in_numbers=True)


#: Length that CiteBench cuts from abstracts that begin with `[0] ` or `[10] `.
_NUMBER_CUT = 4
_SOURCE_LINES, _TARGET_LINES = ".txt.src", ".txt.tgt.tagged"
_DIGIT = re.compile(r"[0-9]")
#: Citations in brackets, by author and year or by number.
#: The expression does not match nested brackets.
_BRACKETS = re.compile(r"\([^()]*[0-9]{2,4}[^()]*\)|\[[^\[\]]*[0-9][^\[\]]*\]")
_AUTHORS = re.compile(r"[A-Z]\w+(?:\s+(?:and|&)\s+[A-Z]\w+|\s+et al\.?)?\s*$")
_THIS_CITATION, _OTHER_CITATION = "<cite>", "<CITE>"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The instances of a data set in CiteBench's format, with the faults of single
    instances.
    """

    dataset: str
    form: str
    instances: Sequence[Mapping[str, Any]]
    faults: Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Converted:
    target: str
    cited: list[str]
    context: list[str]
    faults: tuple[str, ...] = ()


def load(
    path: Path, *, split: str, with_context: bool, form: str = "auto", dataset: str = ""
) -> Loaded:
    files = open_input(path)
    form = form if form != "auto" else _form_of(files, path)
    converted = list(
        _aburaed(files, split)
        if form == "aburaed"
        else _converted_records(files, split, form)
    )
    if not converted:
        raise refusal(f"no instances of the split “{split}” are here", path)
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
            ("damaged mark", mark) for mark in instances_of.marks(one.target).damaged
        ]
        for number, abstract in enumerate(one.cited):
            if not abstract.strip():
                flaws.append(("empty cited abstract", f"[{number}]"))
            elif abstract.startswith(" "):
                flaws.append(("cited abstract begins with a space", f"[{number}]"))
            if not instances_of.is_cited(abstract):
                flaws.append(("cited abstract reads as a tagged item", f"[{number}]"))
        flaws += [(fault, "") for fault in one.faults]
        faults += [
            {"id": instance, "fault": fault, "found": where} for fault, where in flaws
        ]
    return Loaded(dataset=name, form=form, instances=instances, faults=faults)


def _tagged_text(tag: str, value: Any) -> list[str]:
    text = (
        " ".join(map(str, value))
        if isinstance(value, list)
        else value
        if isinstance(value, str)
        else ""
    )
    return [f"<{tag}> {text.strip()} </{tag}>"] if text.strip() else []


def _convert_lu(record: Record) -> Converted:
    references = _part(record, "ref_abstract", dict)
    target = _part(record, "related_work", str)
    cited = []
    for index, (name, reference) in enumerate(references.items()):
        target = target.replace(name, f"[{index}]")
        abstract = (
            reference.get("abstract") if isinstance(reference, dict) else reference
        )
        cited.append(
            f"[{index}] {abstract if isinstance(abstract, str) else ''}"[_NUMBER_CUT:]
        )
    return Converted(
        target, cited, _tagged_text(instances_of.ABSTRACT, record.value.get("abstract"))
    )


def _chen(record: Record) -> Converted:
    cited = [
        str(document)[_NUMBER_CUT:] for document in _part(record, "multi_doc", list)
    ]
    return Converted(_part(record, "abs", str), cited, [])


def _xing(record: Record) -> Converted:
    value = record.value
    context = [
        *_tagged_text(instances_of.ABSTRACT, value.get("tgt_abstract")),
        *_tagged_text(instances_of.BEFORE, value.get("text_before_explicit_citation")),
        *_tagged_text(instances_of.AFTER, value.get("text_after_explicit_citation")),
    ]
    target = _part(record, "explicit_citation", str).replace("#REFR", "[0]")
    cited = [_part(record, "src_abstract", str).strip()]
    return Converted(
        target,
        cited,
        context,
        ("abstracts of the citing and the cited paper exchanged",),
    )


def _part(record: Record, key: str, kind: type) -> Any:
    value = record.value.get(key)
    if not isinstance(value, kind):
        raise InputRefused(
            [record.problem(f"“{key}” is not as in the source", json_kind(kind()))]
        )
    return value


#: For each original format, the keys and the converter of its records.
_FORMS: Mapping[str, tuple[tuple[str, ...], Callable[[Record], Converted]]] = {
    "lu": (("related_work", "ref_abstract"), _convert_lu),
    "chen": (("abs", "multi_doc"), _chen),
    "xing": (("src_abstract", "explicit_citation"), _xing),
}
FORMS = ("aburaed", *_FORMS)
_EXPECTED = f"the original files of one of {', '.join(FORMS)}"
#: Fields of CiteBench's `sample.json` (UKPLab/citebench, commit e0cc3b8e).
PROCESSED = ("target", "input")


def _converted_records(
    files: Sequence[InputFile], split: str, form: str
) -> Iterator[Converted]:
    readable = [file for file in files if file.suffix in SUFFIXES]
    for file in [
        file for file in readable if file.stem in _names_of(split)
    ] or readable:
        problems: list[Problem] = []
        for record in read_records(file, problems):
            if record.value.get("train_or_test", split) == split:
                yield _FORMS[form][1](record)
        refuse(problems)


def _aburaed(files: Sequence[InputFile], split: str) -> Iterator[Converted]:
    sources, targets = (
        _lines_of(files, split, ending) for ending in (_SOURCE_LINES, _TARGET_LINES)
    )
    if len(sources) != len(targets):
        message = f"{len(sources):,} lines of sources and {len(targets):,} of targets"
        raise refusal(message, expected="one target for each source")
    for source, target in zip(sources, targets, strict=True):
        parts, end = [], 0
        for brackets in _BRACKETS.finditer(target):
            before = target[end : brackets.start()]
            if re.fullmatch(r"\([^()]*[0-9]{4}[^()]*\)", brackets.group()):
                before = _AUTHORS.sub("", before)
            parts += [before, _OTHER_CITATION]
            end = brackets.end()
        text = _DIGIT.sub("#", "".join([*parts, target[end:]]))
        text = re.sub(r"</?t>", "", text).replace(_THIS_CITATION, "[0]").strip()
        faults = ("digits are “#”",) if "#" in text or _DIGIT.search(source) else ()
        yield Converted(text, [_DIGIT.sub("#", source).strip()], [], faults)


def _lines_of(files: Sequence[InputFile], split: str, ending: str) -> list[str]:
    for file in files:
        if file.stem in _names_of(split) and file.name.endswith(ending):
            # `splitlines` would also split at other characters inside of abstracts.
            return [
                line.removesuffix("\r")
                for line in decoded(file.read()).removesuffix("\n").split("\n")
            ]
    raise refusal(f"the file {split}{ending} is missing")


def _names_of(split: str) -> tuple[str, ...]:
    return ("val", "valid", "validation") if split == "val" else (split,)


def _form_of(files: Sequence[InputFile], path: Path) -> str:
    if any(file.name.endswith(_SOURCE_LINES) for file in files):
        return "aburaed"
    for file in files:
        first = next(read_records(file, []), None) if file.suffix in SUFFIXES else None
        if first is not None and all(key in first.value for key in PROCESSED):
            raise refusal(
                "these are CiteBench's processed files, which are gold as they are",
                path,
                f"`scoring score citation-text --gold {path}`, or {_EXPECTED}",
            )
        for form, (keys, _) in _FORMS.items():
            if first is not None and all(key in first.value for key in keys):
                return form
    raise refusal("the form of these files is not known", path, _EXPECTED)
