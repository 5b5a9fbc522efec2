"""Write built-in reports with citations, using only the topics and the documents."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.types import bm25
from tasks.types.baselines import Answer, Baseline
from tasks.types.cited_reports.topics import (
    CollectionDocument,
    ReportTopic,
    read_collection,
)
from tasks.types.files import InputFile
from tasks.types.positional_citations.sentences import split_sentences_by_rules

BM25_SOURCE = "Robertson and Zaragoza 2009, The Probabilistic Relevance Framework: BM25 and Beyond"
LEAD_SOURCE = "Brandow et al. 1995, Automatic Condensation of Electronic Publications by Sentence Selection"
#: The number of documents in a report, and of first sentences from each document.
NUMBER_OF_DOCUMENTS, LEAD_SENTENCES_PER_DOCUMENT = 5, 2
#: The maximum length of a built-in report in words.
#: All tracks with reports allow this length.
MAX_REPORT_WORDS = 200
#: A sentence of a report, with the id of the document that the sentence cites.
CitingSentence = tuple[str, str]
WriteReport = Callable[
    [Sequence[str], dict[str, CollectionDocument]], Iterable[CitingSentence]
]


def _make_topic_query(topic: ReportTopic) -> list[str]:
    texts = (topic.shown.get(key) for key in ("title", "problem_statement"))
    return bm25.tokenise_without_stop_words(
        " ".join(text for text in texts if isinstance(text, str))
    )


def _find_best_positions(scores: NDArray[np.float64], most: int) -> list[int]:
    order = np.argsort(-scores, kind="stable")[:most]
    return [int(place) for place in order if scores[place] > 0]


def iterate_lead_sentences(
    query: Sequence[str], documents: dict[str, CollectionDocument]
) -> Iterator[CitingSentence]:
    """Yield the first sentences of each document as a report."""
    for name, document in documents.items():
        for sentence in split_sentences_by_rules(document.text)[
            :LEAD_SENTENCES_PER_DOCUMENT
        ]:
            yield sentence, name


def iterate_best_sentences(
    query: Sequence[str], documents: dict[str, CollectionDocument]
) -> Iterator[CitingSentence]:
    """Yield the sentences of all documents as a report, sorted by their BM25 score for
    the topic.
    """
    sentences = [
        (sentence, name)
        for name, document in documents.items()
        for sentence in split_sentences_by_rules(document.text)
    ]
    index = bm25.LuceneBm25(
        bm25.tokenise_without_stop_words(sentence) for sentence, _ in sentences
    )
    scores = index.scores(query) if sentences else np.zeros(0)
    for place in np.argsort(-scores, kind="stable"):
        yield sentences[place]


def _take_sentences_within_limit(
    sentences: Iterable[CitingSentence], limit: Any
) -> list[CitingSentence]:
    taken: list[CitingSentence] = []
    words = characters = 0
    for text, name in sentences:
        words += len(text.split())
        characters += len(text) + 1
        if words > MAX_REPORT_WORDS or (isinstance(limit, int) and characters > limit):
            break
        taken.append((text, name))
    return taken


def _make_report_answering(
    name: str, write: WriteReport
) -> Callable[[Sequence[InputFile]], Iterator[Answer]]:
    def iterate_report_answers(files: Sequence[InputFile]) -> Iterator[Answer]:
        gold = read_collection(files, {})
        names = list(gold.documents)
        index = bm25.LuceneBm25(
            bm25.tokenise_without_stop_words(f"{document.title} {document.text}")
            for document in gold.documents.values()
        )
        for topic in gold.topics.values():
            query = _make_topic_query(topic)
            scores = index.scores(query) if names else np.zeros(0)
            best = {
                names[place]: gold.documents[names[place]]
                for place in _find_best_positions(scores, NUMBER_OF_DOCUMENTS)
            }
            cited = _take_sentences_within_limit(
                write(query, best), topic.shown.get("limit")
            )
            yield {
                "metadata": {
                    "team_id": "baseline",
                    "run_id": name,
                    "topic_id": topic.id,
                    "narrative": topic.title,
                    "type": "automatic",
                    "task": "english",
                    "run_desc": "built-in baseline",
                    "use_starter_kit": 0,
                },
                "references": list(dict.fromkeys(source for _, source in cited)),
                "responses": [
                    {"text": text, "citations": [source]} for text, source in cited
                ],
            }

    return iterate_report_answers


BASELINES = (
    Baseline(
        name="reports-lead",
        summary="The first two sentences of each of the five documents that fit the topic best by BM25, each "
        "with its document.",
        source=f"{LEAD_SOURCE}; {BM25_SOURCE}",
        answers=_make_report_answering("reports-lead", iterate_lead_sentences),
    ),
    Baseline(
        name="reports-bm25",
        summary="The sentences that fit the topic best by BM25, of the five documents that do, each with its "
        "document, up to 200 words.",
        source=BM25_SOURCE,
        answers=_make_report_answering("reports-bm25", iterate_best_sentences),
    ),
)
