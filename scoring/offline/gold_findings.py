"""Find anomalies in the gold of built-in task types."""

import itertools
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scipy.special import bdtrc

from tasks.types import Split, TaskType
from tasks.types.cited_reports.topics import ReportCollection
from tasks.types.clsumm.citances import (
    FACETS,
    list_real_sentence_ids,
    normalise_distinct_facets,
)
from tasks.types.clsumm.topics import ClsummTopic
from tasks.types.files import Files

#: With random gold, at most a share of SIGNIFICANCE_LEVEL of the gold files gets a finding.
SIGNIFICANCE_LEVEL = 0.001
#: The checks cover the first CHECKED_POSITIONS positions and the last position of each list.
CHECKED_POSITIONS = 20
#: Metrics with a prefix in _LATIN_TOKEN_METRIC_PREFIXES count only tokens of Latin letters and digits.
_LATIN_TOKEN_METRIC_PREFIXES = ("rouge",)
#: ROUGE's tokens should cover at least the share MIN_COVERED_LETTER_SHARE of a text's letters.
#: A text with more than MAX_LETTERS_OF_SINGLE_TOKEN letters should have several ROUGE tokens.
MIN_COVERED_LETTER_SHARE, MAX_LETTERS_OF_SINGLE_TOKEN = 0.5, 20
_ROUGE_TOKEN_PATTERN = re.compile("[a-z0-9]+")
MAX_LISTED_LINES = 20
#: The check compares the texts of at most MAX_COMPARED_DOCUMENTS documents.
MAX_COMPARED_DOCUMENTS = 200_000


@dataclass(frozen=True, kw_only=True)
class GoldFinding:
    """An anomaly of the gold, with the number of affected rows, the line numbers of the
    first rows, and a message.
    """

    kind: str
    count: int
    lines: list[int] = field(default_factory=list)
    message: str


class FrequentAnswerPosition(NamedTuple):
    """A position in candidate lists that has the right answer more often than by
    chance, with the rows of these answers and a message.
    """

    rows: list[int]
    message: str


def find_frequent_answer_positions(
    lists: Sequence[Sequence[str]], gold: Sequence[Container[str]]
) -> Iterator[FrequentAnswerPosition]:
    """Yield the positions of candidate lists that have a right answer significantly
    more often than by chance.
    """
    chances = [
        sum(name in own for name in names) / len(names) if names else 0.0
        for own, names in zip(gold, lists, strict=True)
    ]
    places = [*range(min(max(map(len, lists), default=0), CHECKED_POSITIONS)), -1]
    for place in places:
        # The last position of a short list is one of the first positions, so skip it.
        least = max(2, place + 1) if place >= 0 else CHECKED_POSITIONS + 1
        rows = [row for row, names in enumerate(lists) if len(names) >= least]
        hits = [row for row in rows if lists[row][place] in gold[row]]
        if not hits:
            continue
        expected = math.fsum(chances[row] for row in rows)
        # A binomial with the mean chance has a larger variance than the true sum.
        p = bdtrc(len(hits) - 1, len(rows), expected / len(rows))
        if p * len(places) < SIGNIFICANCE_LEVEL:
            where = "the last" if place < 0 else f"number {place + 1}"
            yield FrequentAnswerPosition(
                hits,
                f"{where} of the candidates is right in {len(hits)} of {len(rows)} instances, by chance "
                f"in {expected:.1f}: a run can win by their order",
            )


class IgnoredWordsFinding(NamedTuple):
    """The rows whose reference texts contain words that ROUGE ignores, and a message."""

    rows: list[int]
    message: str


def unseen_words(
    references: Sequence[Sequence[str]], metrics: Iterable[str]
) -> IgnoredWordsFinding | None:
    """Return the rows whose reference texts have words that ROUGE ignores, or None if
    ROUGE's tokens cover at least half of all letters.
    """
    blind = [name for name in metrics if name.startswith(_LATIN_TOKEN_METRIC_PREFIXES)]
    rows = []
    letters = seen = 0
    for row, texts in enumerate(references):
        own, covered, tokens = _count_rouge_letters(texts)
        letters, seen = letters + own, seen + covered
        if covered < MIN_COVERED_LETTER_SHARE * own or (
            own > MAX_LETTERS_OF_SINGLE_TOKEN and tokens == 1
        ):
            rows.append(row)
    if not blind or not rows or seen >= MIN_COVERED_LETTER_SHARE * letters:
        return None
    return IgnoredWordsFinding(
        rows,
        f"the words of {', '.join(blind)} cover {seen} of {letters} letters of the references, less "
        f"than half in {len(rows)} of {len(references)} instances",
    )


def _count_rouge_letters(texts: Iterable[str]) -> tuple[int, int, int]:
    """Return the number of letters in the texts, the number of letters in ROUGE's
    tokens, and the number of these tokens.
    """
    letters = seen = tokens = 0
    for text in texts:
        letters += sum(unicodedata.category(char)[0] in "LMN" for char in text)
        found = _ROUGE_TOKEN_PATTERN.findall(text.lower())
        seen += sum(map(len, found))
        tokens += len(found)
    return letters, seen, tokens


class EqualTextsFinding(NamedTuple):
    """The names of documents whose text equals the text of another document, and a
    message.
    """

    names: list[str]
    message: str


def find_equal_texts(texts: Mapping[str, str]) -> EqualTextsFinding | None:
    """Return the documents whose texts are equal after normalisation, or None if all
    texts differ.
    """
    by_text: dict[str, list[str]] = defaultdict(list)
    for name, text in texts.items():
        if text:
            by_text[text].append(name)
    same = [names for names in by_text.values() if len(names) > 1]
    if not same:
        return None
    names = [name for group in same for name in group]
    return EqualTextsFinding(
        names,
        f"{len(names)} documents of the pool have the text of another, such as "
        f"“{shorten_for_message(same[0][0])}” and “{shorten_for_message(same[0][1])}”: "
        "a run that ranks the other one is wrong",
    )


def normalise_for_comparison(value: Any) -> str:
    """Return a text after Unicode normalisation (NFKC), case folding and whitespace
    normalisation.
    """
    text = "\n".join(value) if isinstance(value, list) else str(value)
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def shorten_for_message(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def build_absent_labels_finding(absent: Sequence[str]) -> GoldFinding:
    named = ", ".join(f"“{shorten_for_message(label)}”" for label in absent)
    message = (
        f"no instance has the label {named}: a macro average over all labels counts it as 0, even of "
        'a perfect run, unless the rule set says zero = "left-out"'
    )
    return GoldFinding(kind="label_absent", count=len(absent), message=message)


#: A finder takes task type, gold files, parsed gold and metric names to yield findings.
FindingsFunction = Callable[
    [TaskType, Files, Split, Sequence[str]], Iterable[GoldFinding]
]


def find_in_built_in_gold(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    """Yield the anomalies in the gold of a built-in task type."""
    for find in FINDERS_BY_TASK_TYPE.get(task_type.slug, ()):
        yield from find(task_type, files, split, metrics)


def _find_frequent_cited_places(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    """Find positions in cited papers whose sentences are cited more often than by
    chance.
    """
    rows = [
        ([*topic.order], set(list_real_sentence_ids(citance)), citance.line)
        for topic in split.content
        if topic.order
        for file in topic.files
        for citance in file.citances
    ]
    lists, gold = [row[0] for row in rows], [row[1] for row in rows]
    for place in find_frequent_answer_positions(lists, gold):
        lines = [rows[row][2] for row in place.rows][:MAX_LISTED_LINES]
        yield GoldFinding(
            kind="answer_first",
            count=len(place.rows),
            lines=lines,
            message=place.message,
        )


def _find_absent_facets(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    present = {
        facet
        for topic in split.content
        for file in topic.files
        for citance in file.citances
        for facet in normalise_distinct_facets(citance.facets)
    }
    if absent := [facet for facet in FACETS if facet not in present]:
        named = ", ".join(f"“{facet}”" for facet in absent)
        message = f"no citance has the facet {named}"
        yield GoldFinding(kind="label_absent", count=len(absent), message=message)


def _find_odd_offsets(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    """Find citances (citing sentences) of CL-Summ whose offsets and quoted text refer
    to different sentences.
    """
    topics: Sequence[ClsummTopic] = split.content
    odd = [
        citance
        for topic in topics
        for file in topic.files
        for citance in file.citances
        if not any(sid.startswith("piece ") for sid in citance.texts)
        and set(citance.texts) != set(citance.sentences)
    ]
    if odd:
        first = odd[0]
        message = (
            f"the offsets of {len(odd)} citances name other sentences than their text quotes, such as "
            f"{', '.join(first.sentences)} beside {', '.join(first.texts)} in {first.topic}"
        )
        yield GoldFinding(
            kind="offset_text_mismatch",
            count=len(odd),
            lines=[citance.line for citance in odd][:MAX_LISTED_LINES],
            message=message,
        )


def _find_unseen_words(
    references: Sequence[Sequence[str]], metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    if unseen := unseen_words(references, metrics):
        yield GoldFinding(
            kind="words_not_seen", count=len(unseen.rows), message=unseen.message
        )


def _find_unseen_summary_words(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    texts = [
        [line for reference in topic.references for line in reference.lines]
        for topic in split.content
    ]
    yield from _find_unseen_words(texts, metrics)


def _find_unseen_target_words(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    yield from _find_unseen_words([[one.target] for one in split.content], metrics)


def _find_unseen_reference_words(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    yield from _find_unseen_words([one.references for one in split.content], metrics)


def _find_frequent_candidate_places(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    """Find positions in candidate lists that have the right candidate more often than
    by chance. A candidate list shared by all queries is skipped, because some
    candidates are naturally frequent.
    """
    pools, pool_of = split.index["pools"], split.index["pool_of"]
    if pool_of is None:
        return
    lists = [pools[number] for number in pool_of]
    gold = [
        {names[number] for number in own}
        for names, own in zip(lists, split.content.gold, strict=True)
    ]
    for place in find_frequent_answer_positions(lists, gold):
        yield GoldFinding(
            kind="answer_first", count=len(place.rows), message=place.message
        )


def _find_equal_pool_texts(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    """Find documents of a ranking task with equal texts, and queries whose text is that
    of a document.
    """
    if (
        task_type.trec is None
        or sum(map(len, split.index["pools"])) > MAX_COMPARED_DOCUMENTS
    ):
        return
    texts = {
        name: normalise_for_comparison(text)
        for name, text in task_type.trec.documents(files)
    }
    queries = [
        normalise_for_comparison(text) for _name, text in task_type.trec.topics(files)
    ]
    yield from _find_equal_texts_and_queries(texts, queries)


def _find_equal_report_texts(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    """Find documents of cited reports with equal texts, and topics whose text is that
    of a document.
    """
    gold: ReportCollection = split.content
    texts = {
        name: normalise_for_comparison(document.text)
        for name, document in gold.documents.items()
    }
    queries = [
        normalise_for_comparison(topic.shown.get("problem_statement") or topic.title)
        for topic in gold.topics.values()
    ]
    yield from _find_equal_texts_and_queries(texts, queries)


def _find_equal_texts_and_queries(
    texts: Mapping[str, str], queries: Sequence[str]
) -> Iterator[GoldFinding]:
    if same := find_equal_texts(texts):
        yield GoldFinding(
            kind="same_text_in_pool", count=len(same.names), message=same.message
        )
    known = set(texts.values())
    if found := sum(bool(query) and query in known for query in queries):
        message = (
            f"{found} queries are the text of a document: a search finds them first"
        )
        yield GoldFinding(kind="query_in_pool", count=found, message=message)


def _find_ordered_systems(
    task_type: TaskType, files: Files, split: Split, metrics: Sequence[str]
) -> Iterator[GoldFinding]:
    """Find a correlation between the order of system ids and the true ranking of the
    systems.
    """
    scores = [own.score for own in split.content.values()]
    pairs = itertools.combinations(scores, 2)
    balance = sum((one > other) - (one < other) for one, other in pairs)
    count = len(scores)
    if count < 2:
        return
    tau = 2 * balance / (count * (count - 1))
    # Kendall's τ is approximately normal, and ties reduce its variance (Kendall 1938).
    error = math.sqrt(2 * (2 * count + 5) / (9 * count * (count - 1)))
    if math.erfc(abs(tau) / error / math.sqrt(2)) < SIGNIFICANCE_LEVEL:
        message = (
            f"the order of the systems' ids is like that of the truth (τ {tau:.2f}): a judge "
            "can win by the names"
        )
        yield GoldFinding(kind="answer_first", count=count, message=message)


FINDERS_BY_TASK_TYPE: Mapping[str, Sequence[FindingsFunction]] = {
    "clsumm-1a": (_find_frequent_cited_places, _find_odd_offsets),
    "clsumm-1b": (_find_absent_facets, _find_odd_offsets),
    "clsumm-2": (_find_unseen_summary_words,),
    "citation-text": (_find_unseen_target_words,),
    "positional-citations": (_find_unseen_reference_words,),
    "citation-recommendation": (_find_equal_pool_texts,),
    "citation-resolution": (_find_frequent_candidate_places, _find_equal_pool_texts),
    "cited-reports": (_find_equal_report_texts,),
    "judge-leaderboards": (_find_ordered_systems,),
}
