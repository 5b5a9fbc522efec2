"""Runs: an answer with its marks for each question, and nothing else of what a line may say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.types.base import OFFICIAL, Index, Options, Pairs, ShownInstance, Split, rows_by_name
from tasks.types.files import InputFile
from tasks.types.jsonlines import AnswerForm, Line, Record, by_id, read_answers
from tasks.types.positional_citations.claims import (
    Claim,
    ClaimRules,
    Fallback,
    Sentence,
    split_into_claims,
    text_to_parse,
)
from tasks.types.positional_citations.gold import Question
from tasks.types.positional_citations.options import PARSER, chosen_splitter, claim_rules
from tasks.types.positional_citations.parsing import parses_of
from tasks.types.positional_citations.sentences import (
    SPLITTERS,
    Positions,
    alce_marks,
    are_in_range,
    first_line,
    is_in_range,
    marks,
    positions,
    third,
    with_marks_moved,
    without_marks,
)
from tasks.types.problems import Problem, Problems
from tasks.types.run_forms import RunForm

EXAMPLE = '{"id": "q1", "output": "It rains most in Mawsynram [2]."}'
FORM = AnswerForm(example=EXAMPLE, later_counts=True)
RUN_FORM = RunForm(described=FORM.files, keys=(frozenset({"output"}),))


@dataclass(frozen=True)
class Run:
    """A team's answers by instance; an instance that the run does not mention is not among them."""

    outputs: dict[str, str]


def read_run(files: Sequence[InputFile], index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """The answers, and everything that is wrong with the files.

    The run is only meant where nothing is fatal.
    """
    passages: dict[str, int] = index["passages"]

    def read(name: str, line: Line) -> str | None:
        output = line.text("output", example=EXAMPLE)
        if output is not None and line.is_sound:
            _note_doubts(line, output, passages[name])
        return output

    def by_id_or_place(file: InputFile, problems: Problems) -> Iterator[tuple[str | None, Record]]:
        """Without an id, the place in the file is the name of an instance."""
        for name, record in by_id(file, problems):
            by_place = str(record.item)
            yield name or (by_place if by_place in passages else None), record

    outputs, problems = read_answers(files, passages, read, FORM, named=by_id_or_place)
    return Run(outputs), problems


def _note_doubts(line: Line, output: str, passages: int) -> None:
    if not output.strip():
        line.doubt("the answer is empty")
    beyond = sorted({mark for mark in marks(output) if not is_in_range(mark, passages)})
    if beyond:
        shown = ", ".join(f"[{mark}]" for mark in beyond[:5]) + (" and others" if len(beyond) > 5 else "")
        line.doubt(f"{shown} stand for no passage", f"marks from [1] to [{passages}]")


#: What is counted beside the scores, since the scores do not show it.
NOTES = (
    "missing_answers",
    "empty_answers",
    "positional_answers",
    "responses_without_claims",
    "sentences",
    "uncited_sentences",
    "out_of_range_marks",
    "out_of_range_claims",
    "lost_groups",
    "sentences_too_long",
    "sentences_with_root_cited",
    "sentences_unmatched",
)
_FALLBACKS = {
    Fallback.TOO_LONG: "sentences_too_long",
    Fallback.ROOT_CITED: "sentences_with_root_cited",
    Fallback.UNMATCHED: "sentences_unmatched",
}


def pair(split: Split, run: Run, rules: str, options: Options) -> Pairs:
    """A row for each response, behind it the rows of its parts. A response is the unit that is resampled.

    Under the official rules, what a run does not answer is no part of the evaluation.
    """
    reader = _Reader(run, rules, options)
    notes = Counter(dict.fromkeys(NOTES, 0))
    rows: list[tuple[Question, Part | None]] = []
    for question in split.content:
        if question.id in run.outputs:
            rows += [(question, part) for part in reader.parts(question, notes)]
        else:
            notes["missing_answers"] += 1
            if not reader.is_official:
                rows.append((question, None))
    own = [part is None or isinstance(part, Response) for _, part in rows]
    return Pairs(
        gold=[question if is_own else None for (question, _), is_own in zip(rows, own, strict=True)],
        answers=[part for _, part in rows],
        units=[question.id for question, _ in rows],
        features={name: [_classes(question, part, name) for question, part in rows] for name in DIMENSIONS},
        names=[question.id for question, _ in rows],
        notes=notes,
    )


def _classes(question: Question, part: Part | None, dimension: str) -> tuple[str, ...]:
    if dimension == "dataset":
        return (question.dataset,)
    return part.features.get(dimension, ()) if part else ()


class _Reader:
    """The sentences and claims of a whole run, each distinct sentence parsed once."""

    def __init__(self, run: Run, rules: str, options: Options) -> None:
        self.is_official = rules == OFFICIAL
        split = SPLITTERS[chosen_splitter(options, is_official=self.is_official)]
        self._outputs = run.outputs
        self._moved = {
            name: with_marks_moved(split(output), is_official=self.is_official)
            for name, output in run.outputs.items()
        }
        self._first_lines = {name: split(first_line(output)) for name, output in run.outputs.items()}
        texts = {
            text for own in (self._moved, self._first_lines) for own_text in own.values() for text in own_text
        }
        self._sentences = _read_sentences(sorted(texts), claim_rules(rules, options), options[PARSER.name])

    def parts(self, question: Question, notes: Counter[str]) -> Iterator[Part]:
        output = self._outputs[question.id]
        sentences = [self._sentences[text] for text in self._moved[question.id]]
        where = [positions(sentence.text) for sentence in sentences]
        is_positional = any(placed.is_positional for placed in where)
        common = {
            "placing": (_placing(is_positional, any(placed.units for placed in where)),),
            "length": (length_class(len(without_marks(output).split())),),
        }
        yield Response(
            question=question,
            features={**common, **response_features(sentences)},
            plain=without_marks(output),
            is_positional=is_positional,
            sentences=tuple(sentences),
        )
        claims = list(self._claims(question, sentences, common))
        yield from claims
        yield from self._alce_sentences(question, common)
        for sentence, placed in zip(sentences, where, strict=True):
            if placed.units:
                features = {**common, **sentence_features(sentence)}
                yield CitedSentence(
                    question=question, features=features, text=sentence.text, positions=placed
                )
        notes["empty_answers"] += not output.strip()
        notes["positional_answers"] += is_positional
        notes["responses_without_claims"] += not claims
        _count(sentences, len(question.passages), self.is_official, notes)

    def _claims(
        self, question: Question, sentences: Sequence[Sentence], common: Features
    ) -> Iterator[ScoredClaim]:
        for place, sentence in enumerate(sentences):
            for number, claim in enumerate(sentence.claims):
                if are_in_range(claim.marks, len(question.passages), is_official=self.is_official):
                    features = {**common, **claim_features(sentence, claim)}
                    yield ScoredClaim(
                        question=question, features=features, claim=claim, sentence=place, place=number
                    )

    def _alce_sentences(self, question: Question, common: Features) -> Iterator[AlceSentence]:
        for text in self._first_lines[question.id]:
            found = tuple(alce_marks(text))
            features = {**common, **sentence_features(self._sentences[text], len(found))}
            plain = without_marks(text).strip()
            yield AlceSentence(question=question, features=features, text=plain, marks=found)


def _read_sentences(texts: Sequence[str], rules: ClaimRules, parser: str) -> Mapping[str, Sentence]:
    asked = {text: text_to_parse(text, rules) for text in texts}
    parses = parses_of((wanted for wanted in asked.values() if wanted), parser)
    return {text: split_into_claims(text, parses.get(wanted or ""), rules) for text, wanted in asked.items()}


def _placing(is_positional: bool, has_marks: bool) -> str:
    if is_positional:
        return "within sentences"
    return "at sentence ends" if has_marks else "no marks"


def _count(sentences: Sequence[Sentence], passages: int, is_official: bool, notes: Counter[str]) -> None:
    """What the scores do not show. A sentence is one that has a letter or digit."""
    for sentence in sentences:
        found = marks(sentence.text)
        has_words = any(character.isalnum() for character in without_marks(sentence.text))
        notes["sentences"] += has_words
        notes["uncited_sentences"] += has_words and not found
        beyond = [mark for mark in found if not is_in_range(mark, passages, is_official=is_official)]
        notes["out_of_range_marks"] += len(beyond)
        notes["out_of_range_claims"] += sum(
            not set(beyond).isdisjoint(claim.marks) for claim in sentence.claims
        )
        notes["lost_groups"] += sentence.lost
        if sentence.fallback:
            notes[_FALLBACKS[sentence.fallback]] += 1


#: The classes of a row by dimension; a dimension that is not there has none.
Features = Mapping[str, tuple[str, ...]]
#: The breakdowns, in order.
DIMENSIONS = ("dataset", "placing", "marks_per_sentence", "mark_position", "claims_per_sentence", "length")
_LENGTHS = (
    (25, "under 25 words"),
    (50, "25 to 49 words"),
    (100, "50 to 99 words"),
    (200, "100 to 199 words"),
)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one row looks at. Only the row of the response itself bears gold and counts as an instance."""

    question: Question
    features: Features


@dataclass(frozen=True, kw_only=True)
class Response(Part):
    """The answer as a whole: ``plain`` is it without marks, as ALCE removes them."""

    plain: str
    is_positional: bool
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, kw_only=True)
class ScoredClaim(Part):
    """A claim whose marks all stand for passages, the number of its sentence, and its own within that."""

    claim: Claim
    sentence: int
    place: int


@dataclass(frozen=True, kw_only=True)
class AlceSentence(Part):
    """A sentence of the first line without its marks, and these as ALCE reads them."""

    text: str
    marks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class CitedSentence(Part):
    """A sentence with marks and where they stand, marks between sentences moved to the one before."""

    text: str
    positions: Positions


def sentence_features(sentence: Sentence, count: int | None = None) -> dict[str, tuple[str, ...]]:
    """The classes of a sentence; ``count`` is its number of marks, where ALCE counts otherwise."""
    found = len(marks(sentence.text)) if count is None else count
    units = positions(sentence.text).units
    return {
        "marks_per_sentence": (_counted(found, 4),),
        "mark_position": tuple(dict.fromkeys(map(third, units))),
        "claims_per_sentence": (_counted(len(sentence.claims), 3),) if found else (),
    }


def claim_features(sentence: Sentence, claim: Claim) -> dict[str, tuple[str, ...]]:
    """Those of its sentence, with the position of the claim's own marks."""
    own = sentence_features(sentence)
    return own if claim.position is None else {**own, "mark_position": (third(claim.position),)}


def response_features(sentences: list[Sentence]) -> dict[str, tuple[str, ...]]:
    """The classes of all its sentences."""
    features = [sentence_features(sentence) for sentence in sentences]
    return {
        name: tuple(sorted({label for own in features for label in own[name]}))
        for name in ("marks_per_sentence", "mark_position", "claims_per_sentence")
    }


def length_class(words: int) -> str:
    return next((name for limit, name in _LENGTHS if words < limit), "200 words or more")


def _counted(count: int, most: int) -> str:
    return str(count) if count < most else f"{most} or more"


def show_instances(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """The question with its passages, the answers that are known, and the response with its marks."""
    for name, rows in rows_by_name(pairs.names).items():
        question, response = pairs.gold[rows[0]], pairs.answers[rows[0]]
        yield ShownInstance(
            name=name,
            given=_given(question),
            gold=_gold(question),
            answer=" ".join(sentence.text for sentence in response.sentences) if response else "",
        )


def _given(question: Question) -> str:
    passages = (
        f"[{mark}] {passage.title}: {passage.text}" for mark, passage in enumerate(question.passages, start=1)
    )
    return "\n".join([question.question, *passages])


def _gold(question: Question) -> str:
    short = (" or ".join(spellings) for spellings in (*question.short_answers, *question.answers))
    return "\n".join([*question.references, *question.claims, *short])
