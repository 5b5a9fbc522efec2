"""Assign the citation contexts that a diagnostic split may use to classes."""

import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from scoring.tools.builders.contexts import (
    DAMAGED_STYLE,
    has_unmarked_citation,
    split_into_tokens,
)
from scoring.tools.builders.corpus import (
    CITATION_PLACEHOLDER,
    OTHER_CITATION_PLACEHOLDER,
)
from scoring.tools.builders.store import SQL, CorpusStore


def create_classified_view(
    store: CorpusStore, rules: "SamplingRules"
) -> "tuple[LengthThresholds, Counter[str]]":
    """Create the database view `classified` with all contexts that can be sampled.

    Return the thresholds between short, medium and long sentences, and the number of
    excluded contexts by reason.
    """
    if rules.length_thresholds is not None:
        thresholds = LengthThresholds(*rules.length_thresholds)
    else:
        lengths = store.rows("SELECT tokens, sentences FROM lengths")
        thresholds = compute_length_thresholds(
            {row["tokens"]: row["sentences"] for row in lengths}, rules.outlier_z
        )
    shares = store.counts(
        "SELECT field, count(*) FROM papers WHERE field IS NOT NULL GROUP BY field"
    )
    fewest = rules.low_resource_share * sum(shares.values())
    low = frozenset(field for field, count in shares.items() if count < fewest)
    refused: Counter[str] = Counter()
    store.connection.executescript(SQL["classes: table"])
    store.write(
        SQL["classes: insert"],
        _iterate_classified_contexts(store, rules, thresholds, low, refused),
    )
    store.connection.execute("CREATE INDEX by_target ON features (target)")
    groups = {"fewest": rules.fewest_citations, "groups": rules.citation_groups}
    store.connection.execute(SQL["classes: citation groups"], groups)
    store.connection.execute(
        SQL["classes: h index groups"], {"groups": rules.h_index_groups}
    )
    return thresholds, refused


CLASSIFIED_COLUMNS = (
    "number",
    "paper_id",
    "target",
    "citations",
    "context_type",
    "h_index",
)


def _iterate_classified_contexts(
    store: CorpusStore,
    rules: "SamplingRules",
    thresholds: "LengthThresholds",
    low: frozenset[str],
    refused: Counter[str],
) -> Iterator[dict[str, Any]]:
    for row in store.rows(SQL["classes: contexts"]):
        cited = len(json.loads(row["gold"])) if row["target"] is not None else 0
        if reason := find_exclusion_reason(row, cited):
            refused[reason] += 1
            continue
        words = split_into_tokens(row["sentence"])
        position = (words.index(CITATION_PLACEHOLDER) + 1) / len(words)
        field = row[rules.field_of]
        year = row["year"] or find_reference_year(row["raw"], latest=row["citing_year"])
        yield {
            **{key: row[key] for key in CLASSIFIED_COLUMNS},
            "draw": draw_seeded_number(rules.seed, row["context_id"]),
            "field": field,
            "low_resource": field if field in low else None,
            "cited_year": year,
            "year_group": rules.year_group(year),
            "n_tokens": len(words),
            "length_class": thresholds.classify_length(len(words)),
            "position": round(position, 4),
            "location_class": rules.location(position),
        }


def draw_seeded_number(seed: int, name: str) -> int:
    """Return a pseudo-random number that depends only on the seed and the name."""
    return int.from_bytes(
        hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=7).digest()
    )


#: For each dimension, the classes that all sampled contexts have in other dimensions.
SIDE_CONDITIONS: Mapping[str, Mapping[str, str]] = {
    "field": {},
    "year_group": {},
    "citation_group": {},
    "length_class": {"location_class": "end"},
    "location_class": {"length_class": "medium"},
    "context_type": {"length_class": "medium", "location_class": "end"},
    "pos_before": {"length_class": "medium", "location_class": "middle"},
    "pos_after": {"length_class": "medium", "location_class": "middle"},
    "low_resource": {"length_class": "medium", "location_class": "end"},
    "h_index_group": {},
}
#: Classes that the data sheet reports even if they have no contexts.
CLASSES_ALWAYS_REPORTED = {
    "length_class": ("short", "medium", "long"),
    "location_class": ("start", "middle", "end"),
}
#: Methods of sampling, either for `each` dimension or as in Maharjan's paper.
EACH_DIMENSION_SAMPLING, OFFICIAL_SAMPLING = "each", "official"
#: The papers that systems rank as candidates, with a description of each choice.
CITED_CANDIDATES, ALL_CANDIDATES = "cited", "all"
CANDIDATE_DESCRIPTIONS: Mapping[str, str] = {
    CITED_CANDIDATES: "the papers of the collection that are cited",
    ALL_CANDIDATES: "all papers of the collection, cited or not",
}
#: Maharjan's paper samples contexts of these dimensions into one common set.
STRATUM_DIMENSIONS = ("field", "year_group", "citation_group", "h_index_group")
#: The default number of contexts in each stratum, by method of sampling.
CONTEXTS_PER_STRATUM: Mapping[str, int] = {
    EACH_DIMENSION_SAMPLING: 10,
    OFFICIAL_SAMPLING: 3,
}


@dataclass(frozen=True, kw_only=True)
class SamplingRules:
    """The rules by which contexts of a diagnostic split are selected and assigned to
    classes.

    Without ``length_thresholds``, the thresholds of sentence length are computed from
    the corpus. The computed thresholds are one standard deviation below and above the
    mean length of sentences in tokens. Sentences whose length differs from the mean by
    more than ``outlier_z`` standard deviations are excluded.
    """

    seed: int = 0
    sampling: str = EACH_DIMENSION_SAMPLING
    candidates: str = CITED_CANDIDATES
    per_stratum: int = 10
    #: In Maharjan's method, the number of cited papers drawn for each stratum.
    drawn: int = 10
    most_per_class: int = 1500
    every_context: bool = False
    outlier_z: float = 3.0
    length_thresholds: tuple[float, float] | None = None
    #: Citations up to the first fraction of a sentence are at its start.
    #: Citations after the second fraction of a sentence are at its end.
    location_bounds: tuple[float, float] = (1 / 3, 2 / 3)
    first_year: int = 1996
    last_year: int = 2020
    years_a_group: int = 5
    citation_groups: int = 10
    fewest_citations: int = 5
    h_index_groups: int = 4
    #: `field_of` chooses the paper whose field is the class: `cited` or `citing`.
    #: `auto` chooses the cited paper if at least half of the cited papers have a field.
    field_of: str = "auto"
    #: A field with a smaller fraction of the papers is called low-resource.
    low_resource_share: float = 0.03

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "side_conditions": {} if self.every_context else SIDE_CONDITIONS,
        }

    def year_group(self, year: int | None) -> str | None:
        return (
            None
            if year is None or not self.first_year <= year <= self.last_year
            else self.format_year_group(year)
        )

    def format_year_group(self, year: int) -> str:
        """Return the name of the group of years to which a year of publication belongs,
        such as 2011-2015. Years outside the configured range belong to further groups
        of the same length.
        """
        first = year - (year - self.first_year) % self.years_a_group
        return f"{first}-{first + self.years_a_group - 1}"

    def location(self, position: float) -> str:
        low, high = self.location_bounds
        return "start" if position <= low else "middle" if position <= high else "end"


@dataclass(frozen=True)
class LengthThresholds:
    """The thresholds between short, medium and long sentences. Sentences with fewer
    than ``low`` tokens are short, sentences with more than ``high`` tokens are long.
    The other fields document how the thresholds ``low`` and ``high`` were computed.
    """

    low: float
    high: float
    mean: float | None = None
    deviation: float | None = None
    sentences: int = 0
    dropped: int = 0

    def classify_length(self, tokens: int) -> str:
        return (
            "short" if tokens < self.low else "long" if tokens > self.high else "medium"
        )


def compute_length_thresholds(
    counts: Mapping[int, int], outlier_z: float
) -> LengthThresholds:
    mean, deviation = _compute_mean_and_deviation(counts)
    tokens_in = (
        n for n in counts if not deviation or abs(n - mean) / deviation <= outlier_z
    )
    plausible = {tokens: counts[tokens] for tokens in tokens_in}
    counted = sum(plausible.values())
    mean, deviation = _compute_mean_and_deviation(plausible)
    dropped = sum(counts.values()) - counted
    return LengthThresholds(
        mean - deviation, mean + deviation, mean, deviation, counted, dropped
    )


def _compute_mean_and_deviation(counts: Mapping[int, int]) -> tuple[float, float]:
    if not (total := sum(counts.values())):
        return 0.0, 0.0
    mean = sum(tokens * sentences for tokens, sentences in counts.items()) / total
    square = (
        sum((tokens - mean) ** 2 * sentences for tokens, sentences in counts.items())
        / total
    )
    return mean, square**0.5


#: Matches URLs and identifiers, because their digits may look like years.
_URLS_AND_PREPRINT_NUMBERS = re.compile(
    r"https?://\S+|\bdoi:?\s*\S+|\b10\.\d{4,9}/\S+|\barxiv:\s*\S+|\b\d{4}\.\d{4,5}\b|\{\{[^{}]*\}\}",
    re.IGNORECASE,
)
_YEAR_REGEX = r"(?:1[89]|20)\d\d"
_BRACKETED_YEAR_PATTERN = re.compile(rf"[(\[]\s*({_YEAR_REGEX})[a-z]?\s*[)\]]")
_UNBRACKETED_YEAR_PATTERN = re.compile(rf"(?<![\d.])({_YEAR_REGEX})(?!\d|[-–]\d)")


def find_reference_year(reference: str, *, latest: int | None) -> int | None:
    """Return the last year in brackets in the text of a reference, or otherwise the
    last year in the text.

    Digits in URLs and in numbers of preprints are ignored.
    """
    text = _URLS_AND_PREPRINT_NUMBERS.sub(" ", reference)
    years = (
        int(year)
        for pattern in (_UNBRACKETED_YEAR_PATTERN, _BRACKETED_YEAR_PATTERN)
        for year in pattern.findall(text)
    )
    possible = [year for year in years if latest is None or year <= latest]
    return possible[-1] if possible else None


#: Reasons for which contexts are excluded, in the order of the checks.
EXCLUSION_REASONS = (
    "several citations in the sentence",
    "the cited paper is not in the reference list",
    "the sentence does not end with . ? or !",
    "the sentence begins with a number, as footnotes do",
    "the mark is damaged",
    "the style of the mark is not known",
    "the sentence prints a citation that is not marked",
)


def find_exclusion_reason(context: sqlite3.Row, cited: int) -> str | None:
    """Return the reason for which a context cannot be sampled, or None if it can be
    sampled. ``cited`` is the number of references that the context cites and that are
    in the reference list of the paper.
    """
    sentence = context["sentence"]
    checks = (
        context["markers"] == 1
        and sentence.count(CITATION_PLACEHOLDER) == 1
        and OTHER_CITATION_PLACEHOLDER not in sentence,
        cited == 1,
        sentence.rstrip().endswith((".", "?", "!")),
        not sentence[:1].isdigit(),
        context["style"] != DAMAGED_STYLE,
        context["style"] != "",
        not has_unmarked_citation(sentence),
    )
    return next(
        (
            reason
            for reason, holds in zip(EXCLUSION_REASONS, checks, strict=True)
            if not holds
        ),
        None,
    )


def counted(reasons: Counter[str]) -> dict[str, int]:
    return {reason: reasons[reason] for reason in EXCLUSION_REASONS if reasons[reason]}


#: A sentence matches the text of an intent if they share this fraction of words.
MIN_SHARED_WORD_FRACTION = 0.5
_WORD_PATTERN = re.compile(r"[^\W\d_]+")


def assign_intent_types(store: CorpusStore) -> None:
    if not store.value("SELECT EXISTS (SELECT 1 FROM intents)"):
        return
    store.connection.execute("CREATE INDEX by_pair ON intents (citing, cited)")
    store.connection.execute(
        "CREATE TABLE typed (number INTEGER PRIMARY KEY, context_type TEXT)"
    )
    store.write("INSERT INTO typed VALUES (?, ?)", _iterate_context_types(store))
    moved = "UPDATE contexts SET context_type = typed.context_type FROM typed"
    store.connection.execute(f"{moved} WHERE typed.number = contexts.number")


def _iterate_context_types(store: CorpusStore) -> Iterator[tuple[int, str]]:
    for number, group in groupby(
        store.rows(SQL["classes: pairs"]), key=itemgetter("number")
    ):
        rows = list(group)
        sentence = _split_words(rows[0]["sentence"])
        shares = [
            len(sentence & _split_words(row["context"])) / (len(sentence) or 1)
            for row in rows
        ]
        best = max(shares)
        types = {
            row["context_type"]
            for row, share in zip(rows, shares, strict=True)
            if share == best
        }
        if best < MIN_SHARED_WORD_FRACTION or len(types) > 1:
            types = {row["context_type"] for row in rows}
        if len(types) == 1:
            yield number, types.pop()


def _split_words(text: str) -> set[str]:
    return set(
        _WORD_PATTERN.findall(
            text.replace(CITATION_PLACEHOLDER, " ")
            .replace(OTHER_CITATION_PLACEHOLDER, " ")
            .casefold()
        )
    )
