"""Questions with passages and reference answers, and runs of systems.

Each line of a run contains an answer with citation marks. Other fields of a line are
ignored.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tasks.types import jsonlines
from tasks.types.base import (
    OFFICIAL,
    Index,
    Options,
    Pairs,
    ShownInstance,
    Split,
    rows_by_name,
)
from tasks.types.files import Files, InputFile
from tasks.types.positional_citations import claims as atomic, sentences as marking
from tasks.types.positional_citations.options import (
    MERGE_GROUPS,
    PARSER,
    PASSAGES,
    chosen_splitter,
)
from tasks.types.positional_citations.parsing import parses_of
from tasks.types.problems import Problem, Problems
from tasks.types.run_forms import RunForm
from tasks.types.text import are_texts, json_kind, length_class, nfc

INPUTS, PROMPTS = "inputs.json", "prompts.md"
#: `FORMS` names a passage's shorter versions in ALCE's files, a summary and a snippet.
FORMS = ("summary", "extraction")
Faults = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Passage:
    """A passage that answers can cite. The citation mark is the position of the passage
    in the question, starting from 1.

    ``forms`` maps names to shorter versions of the text. A model may receive a shorter
    version instead of the text.
    """

    title: str
    text: str
    forms: tuple[tuple[str, str], ...] = ()

    def facts(self) -> dict[str, str]:
        """Return the content of a passage for digests. Shorter versions of the passage
        are omitted because shorter versions cannot change scores.
        """
        return {"title": self.title, "text": self.text}


@dataclass(frozen=True)
class Question:
    """A question with the passages that answers can cite, and with the gold (reference
    answers).

    ``short_answers`` contains the accepted spellings of each short answer, and
    ``references`` contains the annotators' long answers. ``answers`` contains the
    accepted spellings of each item that a list question asks for. ``claims`` are the
    statements that a complete answer makes. ``answer`` is the reference answer for
    released programs that use only one.
    """

    id: str
    dataset: str
    question: str
    passages: tuple[Passage, ...]
    short_answers: tuple[tuple[str, ...], ...] = ()
    references: tuple[str, ...] = ()
    answers: tuple[tuple[str, ...], ...] = ()
    claims: tuple[str, ...] = ()
    answer: str = ""

    def facts(self) -> dict[str, Any]:
        """Return the content of a question for the digest of the gold. Empty lists of
        answers and claims are omitted. ``answer`` is omitted from the digest, since
        only MAUVE uses the reference answer.
        """
        facts = {
            **asdict(self),
            "passages": tuple(passage.facts() for passage in self.passages),
        }
        del facts["answer"]
        return {
            name: value
            for name, value in facts.items()
            if value or name not in ("answers", "claims")
        }


def read_gold(files: Files, options: Options) -> Split:
    """Read the questions of a split with their gold. Raises InputRefused with all
    problems.
    """
    questions = read_questions(files)
    return Split(
        content=questions,
        instances=len(questions),
        rows=len(questions),
        index=index_of(questions),
        digest=jsonlines.content_digest([question.facts() for question in questions]),
    )


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    shown = ("question", "passages")
    for question in split.content:
        facts = question.facts()
        secret = {
            name: value
            for name, value in facts.items()
            if name not in (*shown, "id", "dataset")
        }
        yield [facts[name] for name in shown], secret


def read_inputs(files: Files, options: Options) -> Index:
    return index_of(read_questions(files))


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the questions with their passages, and the prompts from the papers.

    A passage has its title, its text, and the shorter forms that the options allow. In
    some data sets, the shorter form of a passage reveals the answer.
    """
    form = options.get(PASSAGES.name, PASSAGES.default)
    inputs = [
        {
            "id": question.id,
            "dataset": question.dataset,
            "question": question.question,
            "docs": [
                passage.facts()
                | {name: text for name, text in passage.forms if form in (name, "all")}
                for passage in question.passages
            ],
        }
        for question in read_questions(files)
    ]
    yield INPUTS, json.dumps(inputs, ensure_ascii=False, indent=1).encode()
    yield PROMPTS, (Path(__file__).parent / PROMPTS).read_bytes()


def index_of(questions: Sequence[Question]) -> Index:
    return {"passages": {question.id: len(question.passages) for question in questions}}


def read_questions(files: Files) -> tuple[Question, ...]:
    """Read the questions in all gold files. Raises InputRefused with all problems."""
    problems: list[Problem] = []
    questions: dict[str, Question] = {}
    for file in files:
        for record in (
            jsonlines.read_records(file, problems)
            if jsonlines.is_records_file(file.name)
            else ()
        ):
            faults = [
                record.problem(*fault) for fault in _question_faults(record.value)
            ]
            name = record.id or str(record.item)
            if name in questions:
                faults.append(
                    record.problem(
                        f"instance “{name}” is there twice", "an id for each instance"
                    )
                )
            problems += faults
            if not faults:
                questions[name] = _parse_question(name, record.value, dataset=file.stem)
    jsonlines.refuse_faulty(
        files, problems, questions, "questions", "a JSON list of questions"
    )
    return tuple(questions.values())


def _parse_question(name: str, value: Mapping[str, Any], *, dataset: str) -> Question:
    """Return the question in a record of a data set. The references of a question are
    the annotators' long answers. A question with short answers may have no reference.
    """
    pairs = value.get("qa_pairs") or ()
    annotations = value.get("annotations") or ()
    answer = value["answer"] if isinstance(value.get("answer"), str) else None
    references = [
        annotation["long_answer"]
        for annotation in annotations
        if annotation.get("long_answer")
    ]
    if not annotations and not pairs and answer is not None:
        references = [answer]
    passages = (
        Passage(
            title=jsonlines.well_formed(str(doc.get("title") or "")),
            text=jsonlines.well_formed(doc["text"]),
            forms=tuple(
                (form, jsonlines.well_formed(doc[form]))
                for form in FORMS
                if doc.get(form)
            ),
        )
        for doc in value["docs"]
    )
    return Question(
        id=jsonlines.well_formed(name),
        dataset=jsonlines.well_formed(str(value.get("dataset") or dataset)),
        question=jsonlines.well_formed(value["question"]),
        passages=tuple(passages),
        short_answers=tuple(
            tuple(map(jsonlines.well_formed, pair["short_answers"])) for pair in pairs
        ),
        references=tuple(map(jsonlines.well_formed, references)),
        answers=tuple(
            tuple(map(jsonlines.well_formed, one)) for one in value.get("answers") or ()
        ),
        claims=tuple(map(jsonlines.well_formed, value.get("claims") or ())),
        answer=jsonlines.well_formed((answer or "").strip()),
    )


def _question_faults(value: Mapping[str, Any]) -> Faults:
    if not isinstance(value.get("question"), str):
        yield f"“question” is {_kind_of_value(value, 'question')}", "a text"
    yield from _list_faults(value, "docs", "text", str)
    passages = value.get("docs")
    for position, passage in enumerate(
        passages if isinstance(passages, list) else (), start=1
    ):
        for form in FORMS if isinstance(passage, dict) else ():
            if not isinstance(passage.get(form) or "", str):
                yield (
                    f"“docs”: {form} at place {position} is {json_kind(passage[form])}",
                    "a text",
                )
    if value.get("qa_pairs") is not None:
        yield from _list_faults(value, "qa_pairs", "short_answers", list)
    if value.get("annotations") is not None:
        yield from _list_faults(value, "annotations", "long_answer", str)
    if not are_texts(value.get("claims") or []):
        yield "“claims” are not all texts", "a list of texts"
    answers = value.get("answers") or []
    if not isinstance(answers, list) or not all(
        answer and are_texts(answer) for answer in answers
    ):
        yield (
            "“answers” is no list of spellings of each answer",
            '[["Ford Model T", "Model T"], ["Ford A"]]',
        )


def _list_faults(value: Mapping[str, Any], key: str, part: str, kind: type) -> Faults:
    expected = f"a list of objects with “{part}”"
    items = value.get(key)
    if not isinstance(items, list):
        yield f"“{key}” is {_kind_of_value(value, key)}", expected
        return
    for position, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not isinstance(item.get(part), kind):
            yield f"“{key}”: the entry at place {position} has no {part}", expected
        elif kind is list and not are_texts(item[part]):
            yield (
                f"“{key}”: {part} at place {position} are not all texts",
                "a list of texts",
            )


def _kind_of_value(value: Mapping[str, Any], key: str) -> str:
    return json_kind(value[key]) if key in value else "missing"


EXAMPLE = '{"id": "q1", "output": "It rains most in Mawsynram [2]."}'
FORM = jsonlines.AnswerForm(example=EXAMPLE, later_counts=True)
RUN_FORM = RunForm(described=FORM.files, keys=(frozenset({"output"}),))

#: `Run` contains the answers by question, without questions that have no answer.
Run = Mapping[str, str]


def read_run(files: Files, index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """Return the answers of a run, which are valid only if no problem is fatal, and all
    problems of the files.
    """
    passages: dict[str, int] = index["passages"]

    def read(name: str, line: jsonlines.Line) -> str | None:
        output = line.text("output", example=EXAMPLE)
        if output is None or not line.is_sound:
            return None
        if not output.strip():
            line.doubt("the answer is empty")
        given = set(marking.marks(marking.with_plain_marks(output)))
        count = passages[name]
        if beyond := sorted(
            mark for mark in given if not marking.is_in_range(mark, count)
        ):
            shown = ", ".join(f"[{mark}]" for mark in beyond[:5]) + (
                " and others" if len(beyond) > 5 else ""
            )
            line.doubt(f"{shown} stand for no passage", f"marks from [1] to [{count}]")
        if unread := marking.unread_citations(output):
            line.doubt(
                f"“{unread[0]}” is read as no citation",
                "[1], [1, 2] or [1-3], with passages from 1 on and at most "
                f"{marking.MAX_CITED} in one citation",
            )
        return output

    def by_id_or_place(
        file: InputFile, problems: Problems
    ) -> Iterator[tuple[str | None, jsonlines.Record]]:
        """Yield each record of a run with the id in the record. If a record has no id,
        the position of the record in the file is used.
        """
        for name, record in jsonlines.by_id(file, problems):
            by_place = str(record.item)
            yield name or (by_place if by_place in passages else None), record

    return jsonlines.read_answers(files, passages, read, FORM, named=by_id_or_place)


#: `_FALLBACKS` names a note for each reason why a sentence is not split into claims.
#: The note counts the sentences, and boards show the notes beside the scores.
_FALLBACKS = {
    atomic.Fallback.TOO_LONG: "sentences_too_long",
    atomic.Fallback.ROOT_CITED: "sentences_with_root_cited",
    atomic.Fallback.UNMATCHED: "sentences_unmatched",
}
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
    *_FALLBACKS.values(),
)


def pair(split: Split, run: Run, rules: str, options: Options) -> Pairs:
    """Return one row per response (answer of a run), followed by the rows of the
    response's sentences and claims. A response is the resampling unit, with all rows of
    the response.

    The official rules leave out questions without an answer.
    """
    reader = _Reader(run, rules, options)
    notes = Counter(dict.fromkeys(NOTES, 0))
    rows: list[tuple[Question, Part | None]] = []
    questions = split.content
    if not reader.is_official:
        questions = [in_normal_form(question) for question in questions]
    for question in questions:
        if question.id in run:
            rows += [(question, part) for part in reader.parts(question, notes)]
        else:
            notes["missing_answers"] += 1
            if not reader.is_official:
                rows.append((question, None))
    classes = [
        {**(part.features if part else {}), "dataset": (question.dataset,)}
        for question, part in rows
    ]
    names = [question.id for question, _ in rows]
    return Pairs(
        gold=[
            question if part is None or isinstance(part, Response) else None
            for question, part in rows
        ],
        answers=[part for _, part in rows],
        units=names,
        features={
            name: [of_row.get(name, ()) for of_row in classes] for name in DIMENSIONS
        },
        names=names,
        notes=notes,
    )


def in_normal_form(question: Question) -> Question:
    """Return the question with all texts that are compared with answers in the Unicode
    form NFC.
    """
    return replace(
        question,
        passages=tuple(
            replace(passage, title=nfc(passage.title), text=nfc(passage.text))
            for passage in question.passages
        ),
        short_answers=_composed_lists(question.short_answers),
        references=tuple(map(nfc, question.references)),
        answers=_composed_lists(question.answers),
        claims=tuple(map(nfc, question.claims)),
        answer=nfc(question.answer),
    )


def _composed_lists(lists: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(nfc, texts)) for texts in lists)


class _Reader:
    """The sentences and claims of a whole run. Each distinct sentence of the run is
    parsed once.
    """

    def __init__(self, run: Run, rules: str, options: Options) -> None:
        self.is_official = rules == OFFICIAL
        split = marking.SPLITTERS[
            chosen_splitter(options, is_official=self.is_official)
        ]
        self._outputs = run
        if self.is_official:
            moved = partial(marking.with_marks_moved, is_official=True)
            self._moved = {name: moved(split(output)) for name, output in run.items()}
            self._for_alce = {
                name: split(marking.first_line(output)) for name, output in run.items()
            }
        else:
            self._outputs = {
                name: nfc(marking.with_plain_marks(output))
                for name, output in run.items()
            }
            self._moved = self._for_alce = {
                name: marking.sentences_of(output, split, moves_marks=True)
                for name, output in self._outputs.items()
            }
        texts = {
            text
            for lists in (self._moved, self._for_alce)
            for one in lists.values()
            for text in one
        }
        splitting = atomic.ClaimRules(
            is_official=self.is_official,
            merge_groups=options[MERGE_GROUPS.name] == "yes",
        )
        to_parse = {
            text: atomic.text_to_parse(text, splitting) for text in sorted(texts)
        }
        parses = parses_of(filter(None, to_parse.values()), options[PARSER.name])
        known = {text: parses.get(wanted or "") for text, wanted in to_parse.items()}
        self._sentences = {
            text: atomic.split_into_claims(text, parse, splitting)
            for text, parse in known.items()
        }

    def _without_marks(self, sentence: str) -> str:
        if self.is_official:
            return marking.without_marks(sentence)
        return marking.without_plain_marks(sentence)

    def _alce_marks(self, sentence: str) -> list[int]:
        if not self.is_official:
            return marking.marks(sentence)
        return [marking.number(mark) for mark in marking.ALCE_MARK.findall(sentence)]

    def parts(self, question: Question, notes: Counter[str]) -> "Iterator[Part]":
        output, passages = self._outputs[question.id], len(question.passages)
        sentences = [self._sentences[text] for text in self._moved[question.id]]
        where = [marking.positions(sentence.text) for sentence in sentences]
        is_positional = any(placed.is_positional for placed in where)
        end = (
            "at sentence ends" if any(placed.units for placed in where) else "no marks"
        )
        placing = "within sentences" if is_positional else end
        plain_text = marking.without_marks if self.is_official else marking.plain_text
        whole = plain_text(output)
        common = {"placing": (placing,), "length": (length_class(len(whole.split())),)}
        classes = [sentence_features(sentence) for sentence in sentences]
        labels = (
            (name, {label for row in classes for label in row[name]})
            for name in OF_SENTENCES
        )
        yield Response(
            question=question,
            features={**common, **{name: tuple(sorted(own)) for name, own in labels}},
            plain=whole,
            is_positional=is_positional,
            sentences=tuple(sentences),
        )
        has_claims = False
        for index, sentence in enumerate(sentences):
            for nth, claim in enumerate(sentence.claims):
                if marking.are_in_range(
                    claim.marks, passages, is_official=self.is_official
                ):
                    has_claims = True
                    row = {**common, **classes[index]}
                    if claim.position is not None:
                        row["mark_position"] = (marking.third(claim.position),)
                    yield ScoredClaim(
                        question=question,
                        features=row,
                        claim=claim,
                        sentence=index,
                        place=nth,
                    )
        for text in self._for_alce[question.id]:
            cited = tuple(self._alce_marks(text))
            features = {
                **common,
                **sentence_features(self._sentences[text], len(cited)),
            }
            plain = self._without_marks(text).strip()
            yield AlceSentence(
                question=question, features=features, text=plain, marks=cited
            )
        for sentence, placed, own in zip(sentences, where, classes, strict=True):
            if placed.units:
                row = {**common, **own}
                yield CitedSentence(
                    question=question,
                    features=row,
                    text=sentence.text,
                    positions=placed,
                )
        notes["empty_answers"] += not output.strip()
        notes["positional_answers"] += is_positional
        notes["responses_without_claims"] += not has_claims
        is_in_range = partial(
            marking.is_in_range, passages=passages, is_official=self.is_official
        )
        # Sentences without a letter or digit are ignored.
        for sentence in sentences:
            given = marking.marks(sentence.text)
            has_words = any(
                character.isalnum() for character in self._without_marks(sentence.text)
            )
            notes["sentences"] += has_words
            notes["uncited_sentences"] += has_words and not given
            beyond = [mark for mark in given if not is_in_range(mark)]
            notes["out_of_range_marks"] += len(beyond)
            notes["out_of_range_claims"] += sum(
                not set(beyond).isdisjoint(claim.marks) for claim in sentence.claims
            )
            notes["lost_groups"] += sentence.lost
            if sentence.fallback:
                notes[_FALLBACKS[sentence.fallback]] += 1


#: `Features` contains a row's classes in each dimension with a class.
Features = Mapping[str, tuple[str, ...]]
SHORT_WORDS = 20
#: `OF_SENTENCES` lists the dimensions of a response's sentences in order.
#: `DIMENSIONS` lists all dimensions of breakdowns in order.
#: The paper analyses the dimension of mark positions.
OF_SENTENCES = (
    "mark_position",
    "marks_per_sentence",
    "claims_per_sentence",
    "sentence_length",
)
DIMENSIONS = (*OF_SENTENCES, "placing", "dataset", "length")


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of a response that one row of the matrix represents. Only the row of the
    whole response has gold and is counted as an instance.
    """

    question: Question
    features: Features


@dataclass(frozen=True, kw_only=True)
class Response(Part):
    """The response (answer of a run) as a whole. ``plain`` is the response's text after
    ALCE's removal of citation marks.
    """

    plain: str
    is_positional: bool
    sentences: tuple[atomic.Sentence, ...]


@dataclass(frozen=True, kw_only=True)
class ScoredClaim(Part):
    """A claim of a response whose citation marks all refer to passages. ``sentence`` is
    the number of the sentence, and ``place`` is the number of the claim within the
    sentence.
    """

    claim: atomic.Claim
    sentence: int
    place: int


@dataclass(frozen=True, kw_only=True)
class AlceSentence(Part):
    """A sentence of a response without citation marks, and a list of the sentence's
    marks. The official program reads only the first line of an answer.
    """

    text: str
    marks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class CitedSentence(Part):
    """A sentence of a response with the citation marks and the positions of the marks.
    Citation marks between two sentences belong to the first sentence.
    """

    text: str
    positions: marking.Positions


def sentence_features(
    sentence: atomic.Sentence, count: int | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the classes of a cited sentence in each dimension. ``count`` is the number
    of citation marks that ALCE counts, if the number is different.
    """
    count_here = len(marking.marks(sentence.text)) if count is None else count
    return {
        "marks_per_sentence": (_counted(count_here, 4),),
        "mark_position": tuple(
            dict.fromkeys(map(marking.third, marking.positions(sentence.text).units))
        ),
        "claims_per_sentence": (_counted(len(sentence.claims), 3),)
        if count_here
        else (),
        "sentence_length": (
            _length_class(len(marking.without_marks(sentence.text).split())),
        )
        if count_here
        else (),
    }


def _length_class(words: int) -> str:
    """Return the length class of a cited sentence. Sentences of the longest class are
    not split into claims.
    """
    if words > atomic.MAX_WORDS:
        return f"over {atomic.MAX_WORDS} words"
    usual = f"{SHORT_WORDS + 1} to {atomic.MAX_WORDS} words"
    return f"up to {SHORT_WORDS} words" if words <= SHORT_WORDS else usual


def _counted(count: int, most: int) -> str:
    return str(count) if count < most else f"{most} or more"


def show_instances(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield for each question the text of the question, the passages, the reference
    answers, and the response with citation marks.
    """
    for name, rows in rows_by_name(pairs.names).items():
        question, response = pairs.gold[rows[0]], pairs.answers[rows[0]]
        marked = enumerate(question.passages, start=1)
        passages = (f"[{mark}] {one.title}: {one.text}" for mark, one in marked)
        short = (
            " or ".join(spellings)
            for spellings in (*question.short_answers, *question.answers)
        )
        yield ShownInstance(
            name=name,
            given="\n".join([question.question, *passages]),
            gold="\n".join([*question.references, *question.claims, *short]),
            answer=" ".join(sentence.text for sentence in response.sentences)
            if response
            else "",
        )
