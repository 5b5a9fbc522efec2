"""Citances are sentences that cite a reference paper. The task is to find the reference
sentences that a citance refers to, and their facet.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tasks.types.probabilities import ProbabilityByLabel

FACETS = ("Aim", "Hypothesis", "Method", "Results", "Implication")
#: The trivial baseline answers with `MAJORITY_FACET`, the majority class in every edition.
MAJORITY_FACET = "Method"
#: `NO_REFERENCE_VALUE` is the placeholder for an answer without a reference sentence.
#: `NO_FACET_VALUES` lists the placeholders for an answer without a facet.
NO_REFERENCE_VALUE = "NA"
NO_FACET_VALUES = ("", "none", "na")
_MERGED_FACET_NAMES = {
    "result": "Results",
    **{facet.lower(): facet for facet in FACETS},
}


class CitanceName(NamedTuple):
    """The fields that identify a citance (citing sentence), which are reference paper,
    citing paper, marker offset, and Citance Number.
    """

    reference: str
    citing: str
    marker: str
    number: str


@dataclass(frozen=True, slots=True)
class CitanceAnnotation:
    """One annotated citance (citing sentence) of the gold or of a run. Ids and facets
    have the spelling of the official programs.

    ``texts`` maps sentence ids to the sentences that the file quotes. ``topic`` is the
    reference paper of the file, although a line may name another paper. In a run,
    missing parts of ``name`` are empty. ``is_quoted`` is False if a CSV row quotes no
    sentence, or a sentence without text. If ``is_quoted`` is False, the official
    program ignores ids and facets of the row, but registers the key of the row.
    ``has_key`` is False for a row that the program skips, and ``is_quoted`` is then
    False too. ``is_last`` is True for a line of the gold if no later line has the same
    key in the official program.
    """

    topic: str
    name: CitanceName
    sentences: tuple[str, ...]
    facets: tuple[str, ...]
    texts: Mapping[str, str]
    line: int
    is_quoted: bool = True
    has_key: bool = True
    is_last: bool = True
    facets_as_written: tuple[str, ...] = ()
    #: `probabilities` contains the run's probability of each facet.
    #: `probabilities` is None in the gold, and in a run without probabilities.
    probabilities: ProbabilityByLabel | None = None


CitanceKeyFunction = Callable[[CitanceAnnotation], tuple[str, ...]]


def get_citance_key_2017(annotation: CitanceAnnotation) -> tuple[str, ...]:
    """Return the key that identifies a citance in the official program for annotation
    lines.
    """
    return annotation.name.reference, annotation.name.citing, annotation.name.marker


def get_citance_key_2016(annotation: CitanceAnnotation) -> tuple[str, ...]:
    """Return the key that identifies a citance in the program of 2016. The program of
    2016 takes the reference paper from the file name.
    """
    return annotation.name.citing, annotation.name.marker


def get_citance_key_2018(annotation: CitanceAnnotation) -> tuple[str, ...]:
    """Return the key that identifies a citance in the official program for CSV files."""
    return annotation.name.reference, annotation.name.citing


def mark_last_line_of_each_key(
    lines: Sequence[CitanceAnnotation], key: CitanceKeyFunction
) -> tuple[CitanceAnnotation, ...]:
    """Set ``is_last`` for each line of one gold file, so that only the last line with a
    key has the value True.
    """
    last = {key(line): line.line for line in lines if line.is_quoted}
    return tuple(
        replace(line, is_last=last.get(key(line), line.line) == line.line)
        for line in lines
    )


def sort_key_by_citance_number(name: CitanceName) -> tuple[int, CitanceName]:
    """Return a sort key of a citance's name, by which citances are sorted by number.
    Citances without a number come before all others.
    """
    return (int(name.number) if name.number.isdecimal() else 0), name


def make_digest_values(annotation: CitanceAnnotation) -> list[Any]:
    quotes = (
        "sentences"
        if annotation.is_quoted
        else "nothing"
        if annotation.has_key
        else "no key"
    )
    texts = [list(quoted) for quoted in annotation.texts.items()]
    found = [
        list(annotation.sentences),
        list(annotation.facets),
        texts,
        quotes,
        annotation.is_last,
    ]
    return [*annotation.name, *found]


def list_real_sentence_ids(annotation: CitanceAnnotation) -> tuple[str, ...]:
    """Return the sentence ids of an annotation without the placeholders for no
    sentence, which are `NA` and the empty text.
    """
    return tuple(
        sid for sid in annotation.sentences if sid not in ("", NO_REFERENCE_VALUE)
    )


def remove_duplicate_ids_and_facets(annotation: CitanceAnnotation) -> CitanceAnnotation:
    """Return the annotation with distinct ids and facets, as the program of 2016
    compares annotations. The program treats a missing facet as an empty facet.
    """
    ids = dict.fromkeys(sid for sid in annotation.sentences if sid)
    return replace(
        annotation,
        sentences=tuple(ids),
        facets=tuple(dict.fromkeys(annotation.facets)) or ("",),
    )


def has_reference_sentence(annotation: CitanceAnnotation) -> bool:
    return bool(list_real_sentence_ids(annotation))


def normalise_facet(spelling: str) -> str | None:
    """Return the standard facet for a spelling such as `Result_Citation`, `method
    citation` or `Aim_Facet`. Return None for an unknown facet.
    """
    word = spelling.strip(" '\"_").lower().replace(" ", "_")
    for ending in ("_citation", "_facet"):
        word = word.removesuffix(ending)
    return _MERGED_FACET_NAMES.get(word)


def normalise_distinct_facets(spellings: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct facets (kinds of content) in a uniform spelling. Spellings of
    unknown facets do not change.
    """
    merged = (normalise_facet(spelling) or spelling for spelling in spellings)
    return tuple(
        dict.fromkeys(facet for facet in merged if facet not in NO_FACET_VALUES)
    )


def count_contiguous_spans(sentences: Sequence[str], order: Mapping[str, int]) -> int:
    """Count the contiguous spans that the sentences form in the document."""
    places = {order[sid] for sid in sentences if sid in order}
    return sum(place - 1 not in places for place in places)


#: Many citances in CSV files share the values `NO_MARKER_VALUES` of the marker offset.
NO_MARKER_VALUES = ("", "0")


class CitanceMatcher:
    """Matches answers to the citances of one topic.

    The key of a citance consists of reference paper, citing paper and marker offset. If
    two citances share reference paper, citing paper and marker offset, the key also
    contains the Citance Number. An answer with an unknown number is matched to the next
    citance without an answer, if reference paper, citing paper and marker offset are
    equal. ``in_order`` is the number of answers with an unknown number that are matched
    to the next citance.
    """

    def __init__(self, names: Sequence[CitanceName]) -> None:
        self.names = names
        self.in_order = 0
        self._by_citing: dict[str, list[int]] = defaultdict(list)
        self._everywhere = sorted(
            range(len(names)),
            key=lambda place: sort_key_by_citance_number(names[place]),
        )
        for place in self._everywhere:
            self._by_citing[names[place].citing].append(place)
        self._markers_tell = any(name.marker not in NO_MARKER_VALUES for name in names)

    @classmethod
    def from_index_entry(cls, entry: dict[str, Any]) -> "CitanceMatcher":
        return cls([CitanceName(*parts) for parts in entry["citances"]])

    def places(self, answers: Sequence[CitanceName]) -> list[int | None]:
        """Return for each answer the position of the answer's citance in the topic, or
        None.
        """
        fitting = [self._find_fitting_places(answer) for answer in answers]
        places = [
            fit[0] if is_exact and len(fit) == 1 else None for fit, is_exact in fitting
        ]
        taken = {place for place in places if place is not None}
        for turn, (fit, is_exact) in enumerate(fitting):
            if is_exact and len(fit) == 1:
                continue
            place = next(
                (candidate for candidate in fit if candidate not in taken), None
            )
            if place is not None:
                places[turn] = place
                taken.add(place)
                self.in_order += 1
        return places

    def _find_fitting_places(self, answer: CitanceName) -> tuple[list[int], bool]:
        fitting = [
            place
            for place in (
                self._by_citing.get(answer.citing, ())
                if answer.citing
                else self._everywhere
            )
            if (not answer.reference or self.names[place].reference == answer.reference)
            and (not answer.marker or self.names[place].marker in ("", answer.marker))
        ]
        is_told_by_marker = (
            self._markers_tell and bool(answer.marker) and len(fitting) == 1
        )
        if not answer.number or is_told_by_marker:
            return fitting, True
        numbered = [
            place for place in fitting if self.names[place].number == answer.number
        ]
        return (numbered, True) if numbered or not answer.citing else (fitting, False)
