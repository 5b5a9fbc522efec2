"""The source data sets of CiteBench in their original files, turned into instances as CiteBench turns them.

Multi-XScience (Lu et al. 2020), AbuRa'ed et al. 2020, Chen et al. 2021 and Xing et al. 2020. What the
conversion of CiteBench breaks is broken here as well, since published numbers are of the broken data; each
fault is listed by instance, so that a reader knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tasks.types.citation_text.inputs import ABSTRACT, AFTER, BEFORE, is_cited
from tasks.types.citation_text.marks import marks
from tasks.types.files import InputFile, open_input
from tasks.types.problems import InputRefused, Problem
from tasks.types.records import SUFFIXES, Record, read_records
from tasks.types.text import decoded, json_kind

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
    """One item with its tag; none where nothing stands there."""
    text = " ".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
    return [f"<{tag}> {text.strip()} </{tag}>"] if text.strip() else []


def _lu(record: Record) -> Converted:
    """Each `@cite_n` becomes its mark, one after the other: `@cite_1` before `@cite_19`, which it damages."""
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
    """Every abstract has its number before it, of which four characters are cut whatever its length."""
    cited = [str(document)[_NUMBER_CUT:] for document in _part(record, "multi_doc", list)]
    return Converted(_part(record, "abs", str), cited, [])


def _xing(record: Record) -> Converted:
    """Explicit citations. The citing paper's abstract is taken for the cited one, and the other way round."""
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
    """The records of the split: of its own file, or of one file that says of each which split it is in."""
    readable = [file for file in files if file.suffix in SUFFIXES]
    for file in [file for file in readable if file.stem in _names_of(split)] or readable:
        problems: list[Problem] = []
        for record in read_records(file, problems):
            if record.value.get("train_or_test", split) == split:
                yield _FORMS[form][1](record)
        if problems:
            raise InputRefused(problems)


def _aburaed(files: Sequence[InputFile], split: str) -> Iterator[Converted]:
    """Two files with a line for each instance; a tag marks the citation that the text is of.

    Every digit becomes `#`, also in years; other citations become `<CITE>`. How CiteBench finds those is not
    followed to the letter.
    """
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
    """The text with one sign for each citation in brackets, and the names of its authors before it."""
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
    """The data set's name in CiteBench; Chen et al. have two, told apart by the folder."""
    if form == "chen":
        parts = [part.lower() for part in PurePosixPath(path.resolve()).parts]
        return next((f"chen_{name}" for name in ("delve", "s2orc") if any(name in p for p in parts)), form)
    return form
