"""Questions with their passages, and what a good answer says: short answers, or answers in full."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tasks.types.base import Index, Options, Split
from tasks.types.files import InputFile
from tasks.types.jsonlines import content_digest, is_records_file, read_records, refuse_faulty, well_formed
from tasks.types.positional_citations.options import PASSAGES
from tasks.types.problems import Problem
from tasks.types.text import json_kind

INPUTS, PROMPTS = "inputs.json", "prompts.md"
#: Shorter forms of a passage, as ALCE's files call them: a summary of it, and a snippet.
FORMS = ("summary", "extraction")
Faults = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Passage:
    """What a mark points at; its mark is its place among the question's passages, from 1.

    ``forms`` are shorter ones that a model may be given instead of the text, by their names.
    """

    title: str
    text: str
    forms: tuple[tuple[str, str], ...] = ()

    def facts(self) -> dict[str, str]:
        """What is asked about; its shorter forms decide nothing."""
        return {"title": self.title, "text": self.text}


@dataclass(frozen=True)
class Question:
    """An instance. ``short_answers`` holds the spellings of each, ``references`` the answers in full.

    ``answers`` are those of a question that asks for a list, ``claims`` what a full answer should say,
    ``answer`` the one in full that the released programs take where a single one is needed.
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
        """What a gold's digest is of: lists of answers and claims only where there are some, and no single
        answer, which MAUVE alone reads.
        """
        facts = {**asdict(self), "passages": tuple(passage.facts() for passage in self.passages)}
        del facts["answer"]
        return {name: value for name, value in facts.items() if value or name not in ("answers", "claims")}


def read_gold(files: Sequence[InputFile], options: Options) -> Split:
    """The questions of one or several files. Raises InputRefused with everything that is wrong with them."""
    questions = read_questions(files)
    return Split(
        content=questions,
        instances=len(questions),
        index=_index(questions),
        digest=content_digest([question.facts() for question in questions]),
    )


def contents(files: Sequence[InputFile], split: Split) -> Iterator[tuple[Any, Any]]:
    shown = ("question", "passages")
    for question in split.content:
        facts = question.facts()
        yield (
            [facts[name] for name in shown],
            {name: value for name, value in facts.items() if name not in (*shown, "id", "dataset")},
        )


def read_inputs(files: Sequence[InputFile], options: Options) -> Index:
    return _index(read_questions(files))


def public_files(files: Sequence[InputFile], options: Options) -> Iterator[tuple[str, bytes]]:
    """The questions and passages, and what the papers' prompts ask of an answer.

    Of passages title and text alone, and the shorter forms that the options give out, as some data sets mark
    there what answers.
    """
    form = options.get(PASSAGES.name, PASSAGES.default)
    inputs = [
        {
            "id": question.id,
            "dataset": question.dataset,
            "question": question.question,
            "docs": [
                {**passage.facts(), **{name: text for name, text in passage.forms if form in (name, "all")}}
                for passage in question.passages
            ],
        }
        for question in read_questions(files)
    ]
    yield INPUTS, json.dumps(inputs, ensure_ascii=False, indent=1).encode()
    yield PROMPTS, (Path(__file__).parent / PROMPTS).read_bytes()


def _index(questions: Sequence[Question]) -> Index:
    return {"passages": {question.id: len(question.passages) for question in questions}}


def read_questions(files: Sequence[InputFile]) -> tuple[Question, ...]:
    """Those of one or several files. Raises InputRefused with everything that is wrong with them."""
    problems: list[Problem] = []
    questions: dict[str, Question] = {}
    for file in files:
        for record in read_records(file, problems) if is_records_file(file.name) else ():
            faults = [record.problem(*fault) for fault in _faults(record.value)]
            name = record.id or str(record.item)
            if name in questions:
                faults.append(record.problem(f"instance “{name}” is there twice", "an id for each instance"))
            problems += faults
            if not faults:
                questions[name] = _question(name, record.value, dataset=file.stem)
    refuse_faulty(files, problems, questions, "questions", "a JSON list of questions")
    return tuple(questions.values())


def _question(name: str, value: Mapping[str, Any], *, dataset: str) -> Question:
    """References are the annotators' long answers; a question that has short answers needs no other."""
    pairs = value.get("qa_pairs") or ()
    annotations = value.get("annotations") or ()
    answer = value["answer"] if isinstance(value.get("answer"), str) else None
    references = [annotation["long_answer"] for annotation in annotations if annotation.get("long_answer")]
    if not annotations and not pairs and answer is not None:
        references = [answer]
    passages = (
        Passage(
            title=well_formed(str(doc.get("title") or "")),
            text=well_formed(doc["text"]),
            forms=tuple((form, well_formed(doc[form])) for form in FORMS if doc.get(form)),
        )
        for doc in value["docs"]
    )
    return Question(
        id=well_formed(name),
        dataset=well_formed(str(value.get("dataset") or dataset)),
        question=well_formed(value["question"]),
        passages=tuple(passages),
        short_answers=tuple(tuple(map(well_formed, pair["short_answers"])) for pair in pairs),
        references=tuple(map(well_formed, references)),
        answers=tuple(tuple(map(well_formed, spellings)) for spellings in value.get("answers") or ()),
        claims=tuple(map(well_formed, value.get("claims") or ())),
        answer=well_formed((answer or "").strip()),
    )


def _faults(value: Mapping[str, Any]) -> Faults:
    if not isinstance(value.get("question"), str):
        yield f"“question” is {_found(value, 'question')}", "a text"
    yield from _list_faults(value, "docs", "text", str)
    passages = value.get("docs")
    for place, passage in enumerate(passages if isinstance(passages, list) else (), start=1):
        for form in FORMS if isinstance(passage, dict) else ():
            if not isinstance(passage.get(form) or "", str):
                yield f"“docs”: {form} at place {place} is {json_kind(passage[form])}", "a text"
    if value.get("qa_pairs") is not None:
        yield from _list_faults(value, "qa_pairs", "short_answers", list)
    if value.get("annotations") is not None:
        yield from _list_faults(value, "annotations", "long_answer", str)
    if not _are_texts(value.get("claims") or []):
        yield "“claims” are not all texts", "a list of texts"
    answers = value.get("answers") or []
    if not isinstance(answers, list) or not all(one and _are_texts(one) for one in answers):
        yield "“answers” is no list of spellings of each answer", '[["Ford Model T", "Model T"], ["Ford A"]]'


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _list_faults(value: Mapping[str, Any], key: str, part: str, kind: type) -> Faults:
    expected = f"a list of objects with “{part}”"
    items = value.get(key)
    if not isinstance(items, list):
        yield f"“{key}” is {_found(value, key)}", expected
        return
    for place, item in enumerate(items, start=1):
        if not isinstance(item, dict) or not isinstance(item.get(part), kind):
            yield f"“{key}”: the entry at place {place} has no {part}", expected
        elif kind is list and not all(isinstance(text, str) for text in item[part]):
            yield f"“{key}”: {part} at place {place} are not all texts", "a list of texts"


def _found(value: Mapping[str, Any], key: str) -> str:
    return json_kind(value[key]) if key in value else "missing"
