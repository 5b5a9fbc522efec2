"""Tag the part of speech of the words around citations with a spaCy pipeline."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from scoring.tools.builders.classes import LengthThresholds, SamplingRules
from scoring.tools.builders.corpus import CITATION_PLACEHOLDER, load_spacy_pipeline
from scoring.tools.builders.parts import Workers, make_unfinished_path
from scoring.tools.builders.store import SQL, CorpusStore
from tasks.types.problems import Problem

#: Groups of part-of-speech tags from the Penn Treebank.
#: The last group contains all other tags.
TAGS_OF_GROUP = {
    "verb": ("VB", "VBD", "VBG", "VBP", "VBZ", "VBN"),
    "noun": ("NN", "NNS", "NNP", "NNPS"),
    "adjective": ("JJ", "JJR", "JJS"),
    "adverb": ("RB", "RBR", "RBS"),
    "pronoun": ("PRP", "PRP$", "WP", "EX"),
    "preposition": ("IN", "TO"),
}
OTHER_TAGS_GROUP = "others"
TAGGING_BATCH_SIZE = 64
_GROUP_OF_TAG = {tag: group for group, tags in TAGS_OF_GROUP.items() for tag in tags}


class PartOfSpeechTagger:
    """Tags the words of sentences in which placeholders replace citations, because
    sentences without a placeholder can be ungrammatical.
    """

    def __init__(self, pipeline: str) -> None:
        # Disable the components that are slow and that tagging does not need.
        self.pipeline, unused = pipeline, ("parser", "ner", "lemmatizer")
        self._nlp, self.name = load_spacy_pipeline(
            pipeline, "a tagger (`--tagger none` builds without one)", disable=unused
        )

    def iterate_tagged_neighbours(
        self, sentences: Iterable[tuple[int, str]]
    ) -> Iterator[dict[str, Any]]:
        """For each sentence, yield the words next to the placeholder and the groups of
        their tags, or None if there is no such word.

        Punctuation is skipped.
        """
        spaced = (
            (text.replace(CITATION_PLACEHOLDER, f" {CITATION_PLACEHOLDER} "), number)
            for number, text in sentences
        )
        for document, number in self._nlp.pipe(
            spaced, as_tuples=True, batch_size=TAGGING_BATCH_SIZE
        ):
            start = document.text.index(CITATION_PLACEHOLDER)
            words = [
                token for token in document if not token.is_punct and not token.is_space
            ]
            sides = {
                "before": [token for token in words if token.idx + len(token) <= start][
                    -1:
                ],
                "after": [
                    token
                    for token in words
                    if token.idx >= start + len(CITATION_PLACEHOLDER)
                ][:1],
            }
            beside: dict[str, Any] = {"number": number}
            for side, tokens in sides.items():
                beside[f"word_{side}"] = tokens[0].text if tokens else None
                beside[f"pos_{side}"] = (
                    _GROUP_OF_TAG.get(tokens[0].tag_, OTHER_TAGS_GROUP)
                    if tokens
                    else None
                )
            yield beside


#: The number of context ids in a range, whatever the number of processes.
CONTEXTS_PER_RANGE = 20_000
#: The number of contexts between two calls of the function ``progress``.
CONTEXTS_PER_PROGRESS_REPORT = 1_000


class _ContextRange(NamedTuple):
    store: Path
    pipeline: str
    is_everything: bool
    after: int
    last: int
    out: Path


def tag_contexts(
    store: CorpusStore,
    rules: SamplingRules,
    thresholds: LengthThresholds,
    tagger: PartOfSpeechTagger,
    workers: Workers,
    *,
    is_kept: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> None:
    """Tag the words around the citations of all contexts that could be sampled.

    If there is only one process, the process calls ``progress`` after every thousand
    contexts.
    """
    highest = store.value("SELECT coalesce(max(number), 0) FROM features")
    bounds = [
        (after, after + CONTEXTS_PER_RANGE)
        for after in range(0, highest, CONTEXTS_PER_RANGE)
    ]
    if workers.is_single_process and not is_kept:
        for after, last in bounds:
            tagged = _iterate_tagged_contexts(
                store.connection, tagger, after, last, rules.every_context
            )
            store.write(
                SQL["tagging: tagged"], _report_progress(tagged, highest, progress)
            )
        return
    facts = [
        tagger.name,
        rules.every_context,
        thresholds.low,
        thresholds.high,
        rules.location_bounds,
        CONTEXTS_PER_RANGE,
    ]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    folder = store.path.with_name(f"tags-{digest}")
    folder.mkdir(exist_ok=True)
    common = store.path, tagger.pipeline, rules.every_context
    ranges = [
        _ContextRange(*common, after, last, folder / f"{after:09d}.json")
        for after, last in bounds
    ]
    # Commit the rows, because other processes see only committed rows.
    store.connection.commit()
    workers.run(_tag_context_range, ranges)
    for stretch in ranges:
        store.write(
            SQL["tagging: tagged"], json.loads(stretch.out.read_text(encoding="utf-8"))
        )


def _report_progress(
    tagged: Iterable[dict[str, Any]], highest: int, progress: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    for index, facts in enumerate(tagged):
        if index % CONTEXTS_PER_PROGRESS_REPORT == 0:
            progress(
                f"tagging parts of speech: context {facts['number']:,} of {highest:,}"
            )
        yield facts


def _tag_context_range(stretch: _ContextRange) -> list[Problem]:
    tagger = _load_cached_tagger(stretch.pipeline)
    with sqlite3.connect(f"{stretch.store.as_uri()}?mode=ro", uri=True) as connection:
        rows = list(
            _iterate_tagged_contexts(
                connection, tagger, stretch.after, stretch.last, stretch.is_everything
            )
        )
    path = make_unfinished_path(stretch.out)
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    path.replace(stretch.out)
    return []


def _iterate_tagged_contexts(
    connection: sqlite3.Connection,
    tagger: PartOfSpeechTagger,
    after: int,
    last: int,
    is_everything: bool,
) -> Iterator[dict[str, Any]]:
    values = {"after": after, "last": last, "every": is_everything}
    return tagger.iterate_tagged_neighbours(
        connection.execute(SQL["tagging: to tag"], values)
    )


_load_cached_tagger = lru_cache(maxsize=1)(PartOfSpeechTagger)
