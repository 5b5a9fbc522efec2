"""Citances: which sentence of a citing paper cites, which reference sentences, and in which facet."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tasks.types.probabilities import Probabilities

FACETS = ("Aim", "Hypothesis", "Method", "Results", "Implication")
#: What most citances are in every edition, and so the line to beat.
MAJORITY = "Method"
#: What stands where no reference sentence was found, and in the facet's place where there is none.
NO_REFERENCE = "NA"
NO_FACET = ("", "none", "na")
_MERGED = {"result": "Results", **{facet.lower(): facet for facet in FACETS}}


class CitanceName(NamedTuple):
    """What names a citance: the reference and citing paper, the marker offset, the Citance Number."""

    reference: str
    citing: str
    marker: str
    number: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotated citance, of the gold or of a run; ids and facets in the official programs' spelling.

    ``texts`` maps sentence ids to the quoted sentences, as they stand in the file. ``topic`` is the
    reference paper that the file is about; a line may name another one. In a run, what a line did not give
    is empty in ``name``. ``is_quoted`` is False where a CSV row quotes no sentence, or one without text:
    the official program then takes neither its ids nor its facets, but knows its key, unless ``has_key`` is
    False too, for a row that it passes over. ``is_last`` says of a line of the gold that no later one has
    the key under which the program of its form keeps it.
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
    #: What a run says of each facet; None where it does not, and in the gold.
    probabilities: Probabilities | None = None


Key = Callable[[Annotation], tuple[str, ...]]


def key_2017(annotation: Annotation) -> tuple[str, ...]:
    """What names a citance to the official program of the text form."""
    return annotation.name.reference, annotation.name.citing, annotation.name.marker


def key_2016(annotation: Annotation) -> tuple[str, ...]:
    """What names a citance to the program of 2016, which takes the reference paper from the file's name."""
    return annotation.name.citing, annotation.name.marker


def key_2018(annotation: Annotation) -> tuple[str, ...]:
    """What names one to that of the CSV form."""
    return annotation.name.reference, annotation.name.citing


def marked_last(lines: Sequence[Annotation], key: Key) -> tuple[Annotation, ...]:
    """The lines of one gold file, each with whether it is the last that quotes something under its key."""
    last = {key(line): line.line for line in lines if line.is_quoted}
    return tuple(
        replace(line, is_last=last.get(key(line), line.line) == line.line)
        for line in lines
    )


def numbered(name: CitanceName) -> tuple[int, CitanceName]:
    """Citances in the order of their numbers, whatever that of the lines; unnumbered ones come first."""
    return (int(name.number) if name.number.isdecimal() else 0), name


def facts(annotation: Annotation) -> list[Any]:
    """Whatever of a line of the gold a number can depend on."""
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


def named_sentences(annotation: Annotation) -> tuple[str, ...]:
    """The ids as given, without those that say that none was found: `NA` and the empty text."""
    return tuple(sid for sid in annotation.sentences if sid not in ("", NO_REFERENCE))


def as_sets(annotation: Annotation) -> Annotation:
    """Ids and facets each once, as the program of 2016 compares them, to which no facet is an empty one."""
    ids = dict.fromkeys(sid for sid in annotation.sentences if sid)
    return replace(
        annotation,
        sentences=tuple(ids),
        facets=tuple(dict.fromkeys(annotation.facets)) or ("",),
    )


def has_reference(annotation: Annotation) -> bool:
    return bool(named_sentences(annotation))


def canonical_facet(spelling: str) -> str | None:
    """The facet that a spelling means (`Result_Citation`, `method citation`, `Aim_Facet`), or None."""
    word = spelling.strip(" '\"_").lower().replace(" ", "_")
    for ending in ("_citation", "_facet"):
        word = word.removesuffix(ending)
    return _MERGED.get(word)


def merged_facets(spellings: Iterable[str]) -> tuple[str, ...]:
    """The facets with their spellings merged, each once; what names none keeps its spelling."""
    merged = (canonical_facet(spelling) or spelling for spelling in spellings)
    return tuple(dict.fromkeys(facet for facet in merged if facet not in NO_FACET))


def spans(sentences: Sequence[str], order: Mapping[str, int]) -> int:
    """How many contiguous reference spans the sentences make, in the document's order."""
    places = {order[sid] for sid in sentences if sid in order}
    return sum(place - 1 not in places for place in places)


#: What the CSV form has for every marker offset.
NO_MARKERS = ("", "0")


class Matcher:
    """Finds the citances of one topic that answers name. The key is reference paper, citing paper and marker
    offset, and the Citance Number where two citances share these or where the markers tell nothing. What is
    not found by its number, or gives none, takes its turn, in the order of the numbers, among the citances
    that it fits and that no answer names; ``in_order`` counts these.
    """

    def __init__(self, names: Sequence[CitanceName]) -> None:
        self.names = names
        self.in_order = 0
        self._by_citing: dict[str, list[int]] = defaultdict(list)
        self._everywhere = sorted(
            range(len(names)), key=lambda place: numbered(names[place])
        )
        for place in self._everywhere:
            self._by_citing[names[place].citing].append(place)
        self._markers_tell = any(name.marker not in NO_MARKERS for name in names)

    @classmethod
    def of_index(cls, entry: dict[str, Any]) -> "Matcher":
        return cls([CitanceName(*parts) for parts in entry["citances"]])

    def places(self, answers: Sequence[CitanceName]) -> list[int | None]:
        """Where the citance of each answer stands in the topic; None where there is none for it."""
        fitting = [self._fitting(answer) for answer in answers]
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

    def _fitting(self, answer: CitanceName) -> tuple[list[int], bool]:
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
