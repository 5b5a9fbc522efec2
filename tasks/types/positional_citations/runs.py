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
from tasks.types.text import length_class

EXAMPLE = '{"id": "q1", "output": "It rains most in Mawsynram [2]."}'
FORM = AnswerForm(example=EXAMPLE, later_counts=True)
RUN_FORM = RunForm(described=FORM.files, keys=(frozenset({"output"}),))


@dataclass(frozen=True)
class Run:
    """A team's answers by instance; an instance that the run does not mention is not among them."""

    outputs: dict[str, str]


def read_run(files: Sequence[InputFile], index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """The answers, only meant where nothing is fatal, and everything that is wrong with the files."""
    passages: dict[str, int] = index["passages"]

    def read(name: str, line: Line) -> str | None:
        output = line.text("output", example=EXAMPLE)
        if output is None or not line.is_sound:
            return None
        if not output.strip():
            line.doubt("the answer is empty")
        beyond = sorted({mark for mark in marks(output) if not is_in_range(mark, passages[name])})
        if beyond:
            shown = ", ".join(f"[{mark}]" for mark in beyond[:5]) + (" and others" if len(beyond) > 5 else "")
            line.doubt(f"{shown} stand for no passage", f"marks from [1] to [{passages[name]}]")
        return output

    def by_id_or_place(file: InputFile, problems: Problems) -> Iterator[tuple[str | None, Record]]:
        """Without an id, the place in the file is the name of an instance."""
        for name, record in by_id(file, problems):
            by_place = str(record.item)
            yield name or (by_place if by_place in passages else None), record

    outputs, problems = read_answers(files, passages, read, FORM, named=by_id_or_place)
    return Run(outputs), problems


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
    classes = [{**(part.features if part else {}), "dataset": (question.dataset,)} for question, part in rows]
    names = [question.id for question, _ in rows]
    return Pairs(
        gold=[question if part is None or isinstance(part, Response) else None for question, part in rows],
        answers=[part for _, part in rows],
        units=names,
        features={name: [of_row.get(name, ()) for of_row in classes] for name in DIMENSIONS},
        names=names,
        notes=notes,
    )


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
        texts = {text for lists in (self._moved, self._first_lines) for one in lists.values() for text in one}
        splitting = claim_rules(rules, options)
        to_parse = {text: text_to_parse(text, splitting) for text in sorted(texts)}
        parses = parses_of(filter(None, to_parse.values()), options[PARSER.name])
        self._sentences = {
            text: split_into_claims(text, parses.get(wanted or ""), splitting)
            for text, wanted in to_parse.items()
        }

    def parts(self, question: Question, notes: Counter[str]) -> Iterator[Part]:
        output = self._outputs[question.id]
        sentences = [self._sentences[text] for text in self._moved[question.id]]
        where = [positions(sentence.text) for sentence in sentences]
        is_positional = any(placed.is_positional for placed in where)
        end = "at sentence ends" if any(placed.units for placed in where) else "no marks"
        common = {
            "placing": ("within sentences" if is_positional else end,),
            "length": (length_class(len(without_marks(output).split())),),
        }
        classes = [sentence_features(sentence) for sentence in sentences]
        yield Response(
            question=question,
            features={
                **common,
                **{
                    name: tuple(sorted({label for row in classes for label in row[name]}))
                    for name in ("marks_per_sentence", "mark_position", "claims_per_sentence")
                },
            },
            plain=without_marks(output),
            is_positional=is_positional,
            sentences=tuple(sentences),
        )
        has_claims = False
        for place, sentence in enumerate(sentences):
            for number, claim in enumerate(sentence.claims):
                if are_in_range(claim.marks, len(question.passages), is_official=self.is_official):
                    has_claims = True
                    features = {**common, **classes[place]}
                    if claim.position is not None:
                        features["mark_position"] = (third(claim.position),)
                    yield ScoredClaim(
                        question=question, features=features, claim=claim, sentence=place, place=number
                    )
        for text in self._first_lines[question.id]:
            cited = tuple(alce_marks(text))
            features = {**common, **sentence_features(self._sentences[text], len(cited))}
            plain = without_marks(text).strip()
            yield AlceSentence(question=question, features=features, text=plain, marks=cited)
        for sentence, placed, row in zip(sentences, where, classes, strict=True):
            if placed.units:
                features = {**common, **row}
                yield CitedSentence(
                    question=question, features=features, text=sentence.text, positions=placed
                )
        notes["empty_answers"] += not output.strip()
        notes["positional_answers"] += is_positional
        notes["responses_without_claims"] += not has_claims
        self._count(sentences, len(question.passages), notes)

    def _count(self, sentences: Sequence[Sentence], passages: int, notes: Counter[str]) -> None:
        """What the scores do not show. A sentence is one that has a letter or digit."""
        for sentence in sentences:
            cited = marks(sentence.text)
            has_words = any(character.isalnum() for character in without_marks(sentence.text))
            notes["sentences"] += has_words
            notes["uncited_sentences"] += has_words and not cited
            beyond = {mark for mark in cited if not is_in_range(mark, passages, is_official=self.is_official)}
            notes["out_of_range_marks"] += sum(mark in beyond for mark in cited)
            notes["out_of_range_claims"] += sum(not beyond.isdisjoint(one.marks) for one in sentence.claims)
            notes["lost_groups"] += sentence.lost
            if sentence.fallback:
                notes[_FALLBACKS[sentence.fallback]] += 1


#: The classes of a row by dimension; a dimension that is not there has none.
Features = Mapping[str, tuple[str, ...]]
#: The breakdowns, in order.
DIMENSIONS = ("dataset", "placing", "marks_per_sentence", "mark_position", "claims_per_sentence", "length")


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
    count_here = len(marks(sentence.text)) if count is None else count
    units = positions(sentence.text).units
    return {
        "marks_per_sentence": (_counted(count_here, 4),),
        "mark_position": tuple(dict.fromkeys(map(third, units))),
        "claims_per_sentence": (_counted(len(sentence.claims), 3),) if count_here else (),
    }


def _counted(count: int, most: int) -> str:
    return str(count) if count < most else f"{most} or more"


def show_instances(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """The question with its passages, the answers that are known, and the response with its marks."""
    for name, rows in rows_by_name(pairs.names).items():
        question, response = pairs.gold[rows[0]], pairs.answers[rows[0]]
        passages = (
            f"[{mark}] {one.title}: {one.text}" for mark, one in enumerate(question.passages, start=1)
        )
        short = (" or ".join(spellings) for spellings in (*question.short_answers, *question.answers))
        yield ShownInstance(
            name=name,
            given="\n".join([question.question, *passages]),
            gold="\n".join([*question.references, *question.claims, *short]),
            answer=" ".join(sentence.text for sentence in response.sentences) if response else "",
        )
