"""Read questions with passages and reference answers, and runs in which systems answer
the questions.

Each line of a run contains an answer to a question, with citation marks in the text.
All fields of a line except id and answer are ignored.
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
    group_row_numbers_by_instance,
)
from tasks.types.files import Files, InputFile
from tasks.types.positional_citations import claims as atomic, sentences as marking
from tasks.types.positional_citations.options import (
    MERGE_GROUPS_OPTION,
    PARSER_OPTION,
    PASSAGES_OPTION,
    choose_splitter,
)
from tasks.types.positional_citations.parsing import parse_texts
from tasks.types.problems import Problem, ProblemList
from tasks.types.run_forms import RunFormatSignature
from tasks.types.text import (
    describe_json_type,
    is_list_of_texts,
    length_class,
    normalise_to_nfc,
)

INPUTS_FILE_NAME, PROMPTS_FILE_NAME = "inputs.json", "prompts.md"
#: `SHORTER_PASSAGE_FIELDS` lists fields in ALCE's data with shorter versions of a passage.
SHORTER_PASSAGE_FIELDS = ("summary", "extraction")
MessageAndExpectedPairs = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class QuestionPassage:
    """A passage of a question that answers can cite. The citation mark `[1]` refers to
    the first passage of the question, `[2]` to the second, and so on.

    ``forms`` contains shorter versions of the passage, each with its name, such as a
    summary. A system may read a shorter version of the passage instead of the full
    text.
    """

    title: str
    text: str
    forms: tuple[tuple[str, str], ...] = ()

    def facts(self) -> dict[str, str]:
        """Return the title and the text of the passage, from which the digest of the
        gold is computed. Shorter versions of the passage are not part of the digest,
        because metrics do not use shorter versions.
        """
        return {"title": self.title, "text": self.text}


@dataclass(frozen=True)
class QuestionWithPassages:
    """A question with passages that answers can cite, and with reference answers.

    ``short_answers`` contains the accepted spellings of each short answer, and
    ``references`` contains long answers by annotators. ``answers`` contains the
    accepted spellings of each item in the answer to a list question. ``claims`` are
    statements that a complete answer must contain. ``answer`` is the only reference
    answer that the released program uses for MAUVE.
    """

    id: str
    dataset: str
    question: str
    passages: tuple[QuestionPassage, ...]
    short_answers: tuple[tuple[str, ...], ...] = ()
    references: tuple[str, ...] = ()
    answers: tuple[tuple[str, ...], ...] = ()
    claims: tuple[str, ...] = ()
    answer: str = ""

    def facts(self) -> dict[str, Any]:
        """Return the fields of the question from which the digest of the gold is
        computed. The fields ``answers`` and ``claims`` are omitted if they are empty.
        The field ``answer`` is always omitted from the digest, because only MAUVE uses
        this reference answer.
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
    """Read the questions and reference answers in the gold files of a split. Raises
    InputRefused with all problems.
    """
    questions = read_questions(files)
    return Split(
        content=questions,
        instances=len(questions),
        rows=len(questions),
        index=build_index_of_questions(questions),
        digest=jsonlines.compute_records_digest(
            [question.facts() for question in questions]
        ),
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
    return build_index_of_questions(read_questions(files))


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield a file with the questions and their passages, and a file with the prompts
    of the published papers.

    For each passage, the file contains the title, the text, and the shorter versions
    that the option `passages` selects. A shorter version is not always public, because
    in some data sets it reveals the answer.
    """
    form = options.get(PASSAGES_OPTION.name, PASSAGES_OPTION.default)
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
    yield INPUTS_FILE_NAME, json.dumps(inputs, ensure_ascii=False, indent=1).encode()
    yield PROMPTS_FILE_NAME, (Path(__file__).parent / PROMPTS_FILE_NAME).read_bytes()


def build_index_of_questions(questions: Sequence[QuestionWithPassages]) -> Index:
    return {"passages": {question.id: len(question.passages) for question in questions}}


def read_questions(files: Files) -> tuple[QuestionWithPassages, ...]:
    """Return the questions in all gold files. Raises InputRefused with all problems."""
    problems: list[Problem] = []
    questions: dict[str, QuestionWithPassages] = {}
    for file in files:
        for record in (
            jsonlines.read_records(file, problems)
            if jsonlines.is_records_file(file.name)
            else ()
        ):
            faults = [
                record.problem(*fault) for fault in _find_question_faults(record.value)
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
    jsonlines.refuse_faulty_gold(
        files, problems, questions, "questions", "a JSON list of questions"
    )
    return tuple(questions.values())


def _parse_question(
    name: str, value: Mapping[str, Any], *, dataset: str
) -> QuestionWithPassages:
    """Return the question that a record of a data set describes. The references of the
    question are the long answers by annotators. A question with short answers may have
    no long reference answer.
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
        QuestionPassage(
            title=jsonlines.replace_unpaired_surrogates(str(doc.get("title") or "")),
            text=jsonlines.replace_unpaired_surrogates(doc["text"]),
            forms=tuple(
                (form, jsonlines.replace_unpaired_surrogates(doc[form]))
                for form in SHORTER_PASSAGE_FIELDS
                if doc.get(form)
            ),
        )
        for doc in value["docs"]
    )
    return QuestionWithPassages(
        id=jsonlines.replace_unpaired_surrogates(name),
        dataset=jsonlines.replace_unpaired_surrogates(
            str(value.get("dataset") or dataset)
        ),
        question=jsonlines.replace_unpaired_surrogates(value["question"]),
        passages=tuple(passages),
        short_answers=tuple(
            tuple(map(jsonlines.replace_unpaired_surrogates, pair["short_answers"]))
            for pair in pairs
        ),
        references=tuple(map(jsonlines.replace_unpaired_surrogates, references)),
        answers=tuple(
            tuple(map(jsonlines.replace_unpaired_surrogates, one))
            for one in value.get("answers") or ()
        ),
        claims=tuple(
            map(jsonlines.replace_unpaired_surrogates, value.get("claims") or ())
        ),
        answer=jsonlines.replace_unpaired_surrogates((answer or "").strip()),
    )


def _find_question_faults(value: Mapping[str, Any]) -> MessageAndExpectedPairs:
    if not isinstance(value.get("question"), str):
        yield f"“question” is {_describe_kind_of_value(value, 'question')}", "a text"
    yield from _find_list_faults(value, "docs", "text", str)
    passages = value.get("docs")
    for position, passage in enumerate(
        passages if isinstance(passages, list) else (), start=1
    ):
        for form in SHORTER_PASSAGE_FIELDS if isinstance(passage, dict) else ():
            if not isinstance(passage.get(form) or "", str):
                yield (
                    f"“docs”: {form} at place {position} is {describe_json_type(passage[form])}",
                    "a text",
                )
    if value.get("qa_pairs") is not None:
        yield from _find_list_faults(value, "qa_pairs", "short_answers", list)
    if value.get("annotations") is not None:
        yield from _find_list_faults(value, "annotations", "long_answer", str)
    if not is_list_of_texts(value.get("claims") or []):
        yield "“claims” are not all texts", "a list of texts"
    answers = value.get("answers") or []
    if not isinstance(answers, list) or not all(
        answer and is_list_of_texts(answer) for answer in answers
    ):
        yield (
            "“answers” is no list of spellings of each answer",
            '[["Ford Model T", "Model T"], ["Ford A"]]',
        )


def _find_list_faults(
    value: Mapping[str, Any], key: str, part: str, kind: type
) -> MessageAndExpectedPairs:
    expected = f"a list of objects with “{part}”"
    items = value.get(key)
    if not isinstance(items, list):
        yield f"“{key}” is {_describe_kind_of_value(value, key)}", expected
        return
    for position, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not isinstance(item.get(part), kind):
            yield f"“{key}”: the entry at place {position} has no {part}", expected
        elif kind is list and not is_list_of_texts(item[part]):
            yield (
                f"“{key}”: {part} at place {position} are not all texts",
                "a list of texts",
            )


def _describe_kind_of_value(value: Mapping[str, Any], key: str) -> str:
    return describe_json_type(value[key]) if key in value else "missing"


ANSWER_EXAMPLE = '{"id": "q1", "output": "It rains most in Mawsynram [2]."}'
ANSWER_FORM = jsonlines.AnswerForm(example=ANSWER_EXAMPLE, later_counts=True)
RUN_FORM = RunFormatSignature(
    described=ANSWER_FORM.files, keys=(frozenset({"output"}),)
)

#: `Run` maps the id of each answered question to the answer's text.
OutputsByQuestion = Mapping[str, str]


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[OutputsByQuestion, list[Problem]]:
    """Return the answers of a run, which are valid only if no problem is fatal, and all
    problems of the files.
    """
    passages: dict[str, int] = index["passages"]

    def read(name: str, line: jsonlines.AnswerLine) -> str | None:
        output = line.text("output", example=ANSWER_EXAMPLE)
        if output is None or not line.is_sound:
            return None
        if not output.strip():
            line.doubt("the answer is empty")
        given = set(
            marking.list_mark_numbers(marking.expand_citations_to_single_marks(output))
        )
        count = passages[name]
        if beyond := sorted(
            mark for mark in given if not marking.is_mark_in_range(mark, count)
        ):
            shown = ", ".join(f"[{mark}]" for mark in beyond[:5]) + (
                " and others" if len(beyond) > 5 else ""
            )
            line.doubt(f"{shown} stand for no passage", f"marks from [1] to [{count}]")
        if unread := marking.find_unsupported_citations(output):
            line.doubt(
                f"“{unread[0]}” is read as no citation",
                "[1], [1, 2] or [1-3], with passages from 1 on and at most "
                f"{marking.MAX_PASSAGES_PER_CITATION} in one citation",
            )
        return output

    def iterate_records_by_id_or_position(
        file: InputFile, problems: ProblemList
    ) -> Iterator[tuple[str | None, jsonlines.JsonRecord]]:
        """Yield each record of a run with the id of the question that the record
        answers. If the record states no id, its position in the file is used as the id.
        """
        for name, record in jsonlines.iterate_records_with_ids(file, problems):
            by_place = str(record.item)
            yield name or (by_place if by_place in passages else None), record

    return jsonlines.read_answers(
        files, passages, read, ANSWER_FORM, named=iterate_records_by_id_or_position
    )


#: `_COUNTER_OF_UNSPLIT_REASON` maps reasons for keeping a sentence whole to names of counters.
#: Leaderboards display the number of sentences that were not split, beside the scores.
_COUNTER_OF_UNSPLIT_REASON = {
    atomic.UnsplitReason.TOO_LONG: "sentences_too_long",
    atomic.UnsplitReason.ROOT_CITED: "sentences_with_root_cited",
    atomic.UnsplitReason.UNMATCHED: "sentences_unmatched",
}
NOTE_NAMES = (
    "missing_answers",
    "empty_answers",
    "positional_answers",
    "responses_without_claims",
    "sentences",
    "uncited_sentences",
    "out_of_range_marks",
    "out_of_range_claims",
    "lost_groups",
    *_COUNTER_OF_UNSPLIT_REASON.values(),
)


def pair(split: Split, run: OutputsByQuestion, rules: str, options: Options) -> Pairs:
    """Return the rows from which metrics are computed, with a row for each answer of
    the run, and rows for the sentences and claims of the answer. All rows of an answer
    belong to one resampling unit.

    Under the official rules, questions that the run does not answer have no row.
    """
    reader = _AnswerSplitter(run, rules, options)
    notes = Counter(dict.fromkeys(NOTE_NAMES, 0))
    rows: list[tuple[QuestionWithPassages, AnswerRow | None]] = []
    questions = split.content
    if not reader.is_official:
        questions = [normalise_question_to_nfc(question) for question in questions]
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
            question if part is None or isinstance(part, WholeAnswerRow) else None
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


def normalise_question_to_nfc(question: QuestionWithPassages) -> QuestionWithPassages:
    """Return a copy of the question in which passages and reference answers have the
    Unicode form NFC.
    """
    return replace(
        question,
        passages=tuple(
            replace(
                passage,
                title=normalise_to_nfc(passage.title),
                text=normalise_to_nfc(passage.text),
            )
            for passage in question.passages
        ),
        short_answers=_normalise_lists_to_nfc(question.short_answers),
        references=tuple(map(normalise_to_nfc, question.references)),
        answers=_normalise_lists_to_nfc(question.answers),
        claims=tuple(map(normalise_to_nfc, question.claims)),
        answer=normalise_to_nfc(question.answer),
    )


def _normalise_lists_to_nfc(
    lists: tuple[tuple[str, ...], ...],
) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(normalise_to_nfc, texts)) for texts in lists)


class _AnswerSplitter:
    """Splits all answers of a run into sentences and claims. A sentence that occurs
    several times in the run is parsed only once.
    """

    def __init__(self, run: OutputsByQuestion, rules: str, options: Options) -> None:
        self.is_official = rules == OFFICIAL
        split = marking.SENTENCE_SPLITTERS_BY_NAME[
            choose_splitter(options, is_official=self.is_official)
        ]
        self._outputs = run
        if self.is_official:
            moved = partial(marking.move_leading_marks_to_previous, is_official=True)
            self._moved = {name: moved(split(output)) for name, output in run.items()}
            self._for_alce = {
                name: split(marking.get_first_line(output))
                for name, output in run.items()
            }
        else:
            self._outputs = {
                name: normalise_to_nfc(marking.expand_citations_to_single_marks(output))
                for name, output in run.items()
            }
            self._moved = self._for_alce = {
                name: marking.split_into_claim_sentences(
                    output, split, moves_marks=True
                )
                for name, output in self._outputs.items()
            }
        texts = {
            text
            for lists in (self._moved, self._for_alce)
            for one in lists.values()
            for text in one
        }
        splitting = atomic.ClaimSplittingRules(
            is_official=self.is_official,
            merge_groups=options[MERGE_GROUPS_OPTION.name] == "yes",
        )
        to_parse = {
            text: atomic.get_text_to_parse(text, splitting) for text in sorted(texts)
        }
        parses = parse_texts(
            filter(None, to_parse.values()), options[PARSER_OPTION.name]
        )
        known = {text: parses.get(wanted or "") for text, wanted in to_parse.items()}
        self._sentences = {
            text: atomic.split_into_claims(text, parse, splitting)
            for text, parse in known.items()
        }

    def _remove_citation_marks(self, sentence: str) -> str:
        if self.is_official:
            return marking.remove_marks_like_alce(sentence)
        return marking.remove_marks(sentence)

    def _find_alce_marks(self, sentence: str) -> list[int]:
        if not self.is_official:
            return marking.list_mark_numbers(sentence)
        return [
            marking.parse_mark_number(mark)
            for mark in marking.ALCE_MARK_PATTERN.findall(sentence)
        ]

    def parts(
        self, question: QuestionWithPassages, notes: Counter[str]
    ) -> "Iterator[AnswerRow]":
        output, passages = self._outputs[question.id], len(question.passages)
        sentences = [self._sentences[text] for text in self._moved[question.id]]
        where = [
            marking.compute_mark_positions(sentence.text) for sentence in sentences
        ]
        is_positional = any(placed.is_positional for placed in where)
        end = (
            "at sentence ends" if any(placed.units for placed in where) else "no marks"
        )
        placing = "within sentences" if is_positional else end
        plain_text = (
            marking.remove_marks_like_alce
            if self.is_official
            else marking.convert_to_text_without_marks
        )
        whole = plain_text(output)
        common = {"placing": (placing,), "length": (length_class(len(whole.split())),)}
        classes = [classify_cited_sentence(sentence) for sentence in sentences]
        labels = (
            (name, {label for row in classes for label in row[name]})
            for name in SENTENCE_DIMENSIONS
        )
        yield WholeAnswerRow(
            question=question,
            features={**common, **{name: tuple(sorted(own)) for name, own in labels}},
            plain=whole,
            is_positional=is_positional,
            sentences=tuple(sentences),
        )
        has_claims = False
        for index, sentence in enumerate(sentences):
            for nth, claim in enumerate(sentence.claims):
                if marking.are_marks_in_range(
                    claim.marks, passages, is_official=self.is_official
                ):
                    has_claims = True
                    row = {**common, **classes[index]}
                    if claim.position is not None:
                        row["mark_position"] = (
                            marking.name_third_of_sentence(claim.position),
                        )
                    yield ClaimRow(
                        question=question,
                        features=row,
                        claim=claim,
                        sentence=index,
                        place=nth,
                    )
        for text in self._for_alce[question.id]:
            cited = tuple(self._find_alce_marks(text))
            features = {
                **common,
                **classify_cited_sentence(self._sentences[text], len(cited)),
            }
            plain = self._remove_citation_marks(text).strip()
            yield AlceSentenceRow(
                question=question, features=features, text=plain, marks=cited
            )
        for sentence, placed, own in zip(sentences, where, classes, strict=True):
            if placed.units:
                row = {**common, **own}
                yield CitedSentenceRow(
                    question=question,
                    features=row,
                    text=sentence.text,
                    positions=placed,
                )
        notes["empty_answers"] += not output.strip()
        notes["positional_answers"] += is_positional
        notes["responses_without_claims"] += not has_claims
        is_in_range = partial(
            marking.is_mark_in_range, passages=passages, is_official=self.is_official
        )
        # Sentences without a letter or digit are ignored.
        for sentence in sentences:
            given = marking.list_mark_numbers(sentence.text)
            has_words = any(
                character.isalnum()
                for character in self._remove_citation_marks(sentence.text)
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
                notes[_COUNTER_OF_UNSPLIT_REASON[sentence.fallback]] += 1


#: `Features` maps breakdowns of scores to the classes to which a row belongs.
ClassesByDimension = Mapping[str, tuple[str, ...]]
MAX_WORDS_OF_SHORT_SENTENCE = 20
#: `SENTENCE_DIMENSIONS` lists those dimensions (breakdowns of scores) that classify sentences.
#: `DIMENSIONS` lists all breakdowns of scores of the task in display order.
#: The breakdown by the position of citation marks is that of the published paper.
SENTENCE_DIMENSIONS = (
    "mark_position",
    "marks_per_sentence",
    "claims_per_sentence",
    "sentence_length",
)
DIMENSIONS = (*SENTENCE_DIMENSIONS, "placing", "dataset", "length")


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """A row from which metrics are computed, which is an answer or a sentence or claim
    of an answer. Only the row of a whole answer contains the reference answers and
    counts as an instance.
    """

    question: QuestionWithPassages
    features: ClassesByDimension


@dataclass(frozen=True, kw_only=True)
class WholeAnswerRow(AnswerRow):
    """The row of a whole answer. ``plain`` is the text of the answer without citation
    marks.
    """

    plain: str
    is_positional: bool
    sentences: tuple[atomic.SentenceWithClaims, ...]


@dataclass(frozen=True, kw_only=True)
class ClaimRow(AnswerRow):
    """The row of a claim whose citation marks all refer to passages of the question.
    ``sentence`` is the index of the sentence in the answer, and ``place`` is the index
    of the claim in the sentence.
    """

    claim: atomic.AtomicClaim
    sentence: int
    place: int


@dataclass(frozen=True, kw_only=True)
class AlceSentenceRow(AnswerRow):
    """The row of a sentence for the metrics of ALCE, with the text without citation
    marks, and the list of marks. Under the official rules, only sentences in the first
    line of the answer have such a row.
    """

    text: str
    marks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class CitedSentenceRow(AnswerRow):
    """The row of a sentence with citation marks, with the positions of the marks in the
    sentence. A citation mark between two sentences belongs to the first of the two
    sentences.
    """

    text: str
    positions: marking.RelativeMarkPositions


def classify_cited_sentence(
    sentence: atomic.SentenceWithClaims, count: int | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the classes to which a cited sentence belongs in each dimension (breakdown
    of scores). ``count`` is the number of citation marks in the sentence, if ALCE
    counts another number than this module.
    """
    count_here = (
        len(marking.list_mark_numbers(sentence.text)) if count is None else count
    )
    return {
        "marks_per_sentence": (_format_capped_count(count_here, 4),),
        "mark_position": tuple(
            dict.fromkeys(
                map(
                    marking.name_third_of_sentence,
                    marking.compute_mark_positions(sentence.text).units,
                )
            )
        ),
        "claims_per_sentence": (_format_capped_count(len(sentence.claims), 3),)
        if count_here
        else (),
        "sentence_length": (
            _name_length_class(
                len(marking.remove_marks_like_alce(sentence.text).split())
            ),
        )
        if count_here
        else (),
    }


def _name_length_class(words: int) -> str:
    """Return the class of a cited sentence by its number of words. Sentences in the
    class with most words are not split into claims.
    """
    if words > atomic.MAX_PARSED_WORDS:
        return f"over {atomic.MAX_PARSED_WORDS} words"
    usual = f"{MAX_WORDS_OF_SHORT_SENTENCE + 1} to {atomic.MAX_PARSED_WORDS} words"
    return (
        f"up to {MAX_WORDS_OF_SHORT_SENTENCE} words"
        if words <= MAX_WORDS_OF_SHORT_SENTENCE
        else usual
    )


def _format_capped_count(count: int, most: int) -> str:
    return str(count) if count < most else f"{most} or more"


def show_instances(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield each question with its passages, its reference answers, and the answer of
    the run, for display on web pages.
    """
    for name, rows in group_row_numbers_by_instance(pairs.names).items():
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
