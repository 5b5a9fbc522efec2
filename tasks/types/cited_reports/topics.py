"""The gold of cited reports, which contains topics, nuggets, documents and judgements.
The fields of a record determine whether the record is a topic, nugget, document or
judgement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.types import jsonlines
from tasks.types.base import Index, Options, Split
from tasks.types.cited_reports.judgements import (
    ASSIGNS_KIND,
    SUPPORTS_KIND,
    JudgementsOfKind,
    NuggetAndCitationJudgements,
    compute_prefixed_text_digest,
    has_nugget_assignments,
    read_judgement_files,
    read_judgements_of_option,
)
from tasks.types.cited_reports.options import (
    JUDGEMENT_KINDS_BY_OPTION,
    get_ledger_judge_name,
    has_ledger_labels,
)
from tasks.types.files import Files, InputFile
from tasks.types.jsonlines import JsonRecord, replace_unpaired_surrogates
from tasks.types.problems import ProblemList, raise_if_any_problem_is_fatal
from tasks.types.text import describe_json_type, is_list_of_texts, is_text_or_integer

TOPICS_FILE_NAME, DOCUMENTS_FILE_NAME = "topics.jsonl", "documents.jsonl"
#: The topic's id is under the first key of `TOPIC_ID_KEYS` that a record has.
TOPIC_ID_KEYS = ("request_id", "topic_id", "narrative_id")
#: `PUBLIC_TOPIC_FIELDS` lists the public fields of a topic in addition to the topic's id.
PUBLIC_TOPIC_FIELDS = ("title", "background", "problem_statement", "limit", "kind")
VITAL_IMPORTANCE, OKAY_IMPORTANCE = "vital", "okay"
ANY_OF_RULE, ALL_OF_RULE = "OR", "AND"


@dataclass(frozen=True)
class CollectionDocument:
    """A document that reports can cite. A citation of a document without text cannot be
    judged.
    """

    title: str
    text: str

    def list_forms_seen_by_judges(self) -> tuple[str, ...]:
        """Return each form in which judges may have seen the document. A form has
        title, line break and text, with or without the prefix *Title:*.
        """
        if not self.text.strip():
            return ()
        whole = f"{self.title}\n{self.text}"
        return (whole, f"Title: {whole}") if self.title else (self.text, whole)

    def compute_digests_of_forms(self) -> tuple[str, ...]:
        """Return the digest of each form of the document."""
        return tuple(
            map(compute_prefixed_text_digest, self.list_forms_seen_by_judges())
        )


@dataclass(frozen=True)
class JudgedNuggetPart:
    """A part of a nugget that is judged separately. The part is the text of the nugget
    (expected fact), or one answer to a question in a nugget bank. Judgements may refer
    to the part by any text in ``names``.
    """

    text: str
    names: tuple[str, ...]

    @property
    def shown(self) -> str:
        """Return the text that judges read, which is the nugget, or a question with one
        answer.
        """
        return self.names[1]


@dataclass(frozen=True)
class Nugget:
    """A fact that a report should contain. If the nugget has several parts, ``rule``
    determines how their credits are combined.
    """

    id: str
    text: str
    importance: str
    parts: tuple[JudgedNuggetPart, ...]
    rule: str = ANY_OF_RULE

    @property
    def is_vital(self) -> bool:
        return self.importance == VITAL_IMPORTANCE

    @property
    def whole_nugget_part(self) -> JudgedNuggetPart:
        """Return the nugget without its answers, as a part that can be judged."""
        return JudgedNuggetPart(self.text, (self.id, self.text))

    def facts(self) -> dict[str, Any]:
        texts = [part.text for part in self.parts]
        return {"id": self.id, "text": self.text, "importance": self.importance} | (
            {} if texts == [self.text] else {"answers": texts, "rule": self.rule}
        )


@dataclass(frozen=True)
class ReportTopic:
    """A topic with its public fields and its nuggets. ``nuggets`` is None if no file
    contains nuggets (expected facts) of the topic.
    """

    id: str
    shown: Mapping[str, Any]
    nuggets: tuple[Nugget, ...] | None = None

    @property
    def title(self) -> str:
        return str(self.shown.get("title", ""))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the title and the id, under which judgements may refer to the topic.
        The first name is the one that judges read.
        """
        return (self.title, self.id) if self.title else (self.id,)

    @property
    def kind(self) -> str:
        return str(self.shown.get("kind") or "")

    @property
    def vital_nugget_count(self) -> int:
        return sum(nugget.is_vital for nugget in self.nuggets or ())


@dataclass(frozen=True)
class NuggetOfTopic:
    """A nugget and the topic of the nugget, which are the gold of one row."""

    nugget: Nugget
    topic: ReportTopic


@dataclass(frozen=True)
class ReportCollection:
    """The gold of a split with topics, nuggets, documents and judgements."""

    topics: Mapping[str, ReportTopic]
    documents: Mapping[str, CollectionDocument]
    judgements: NuggetAndCitationJudgements
    #: `rows` counts the records in the files with topics.
    #: If no file has topics, `rows` counts the records in the files with nuggets.
    rows: int = 0


@dataclass
class _GoldRecordReader:
    """The records of the gold files that have been read so far."""

    problems: ProblemList = field(default_factory=ProblemList)
    topics: dict[str, dict[str, Any]] = field(default_factory=dict)
    nuggets: dict[str, tuple[Nugget, ...]] = field(default_factory=dict)
    where: dict[str, JsonRecord] = field(default_factory=dict)
    documents: dict[str, CollectionDocument] = field(default_factory=dict)
    judged: list[InputFile] = field(default_factory=list)
    #: `rows` counts the records of each kind, such as topics or nuggets.
    rows: Counter[str] = field(default_factory=Counter)

    def read_files(self, files: Files) -> None:
        for file in files:
            if not jsonlines.is_records_file(file.name):
                continue
            records = list(jsonlines.read_records(file, self.problems))
            if any(map(_is_judgement, records)):
                self.judged.append(file)
                continue
            before = len(self.topics), len(self.nuggets)
            for record in records:
                self._add_record(record)
            if len(self.topics) > before[0]:
                self.rows["topics"] += len(records)
            elif len(self.nuggets) > before[1]:
                self.rows["nuggets"] += len(records)

    def _add_record(self, record: JsonRecord) -> None:
        value = record.value
        if "docid" in value:
            self._add_document(record)
        elif "nugget_bank" in value or "nuggets" in value:
            self._add_nuggets(record)
        elif any(key in value for key in TOPIC_ID_KEYS):
            self._add_topic(record)
        else:
            fields = ", ".join(f"“{key[:40]}”" for key in [*value][:5])
            expected = (
                "a topic (request_id), nuggets, a document (docid) or a judgement"
            )
            self.problems.append(record.problem(f"found {fields}", expected))

    def _add_topic(self, record: JsonRecord) -> None:
        value = record.value
        name = _read_topic_id(value)
        faults = []
        if not name:
            faults.append(("“request_id” is no id", "a text"))
        elif name in self.topics:
            faults.append((f"topic “{name}” is there twice", "an id for each topic"))
        if not isinstance(value.get("title", ""), str):
            faults.append(
                (f"“title” is {describe_json_type(value['title'])}", "a text")
            )
        limit = value.get("limit")
        if limit is not None and type(limit) is not int:
            faults.append((f"“limit” is {describe_json_type(limit)}", "a whole number"))
        self.problems += [record.problem(*fault) for fault in faults]
        if not faults:
            self.topics[name] = {
                key: value[key] for key in PUBLIC_TOPIC_FIELDS if key in value
            }

    def _add_document(self, record: JsonRecord) -> None:
        value = record.value
        name, title, text = value["docid"], value.get("title"), value.get("text")
        faults = []
        if not is_text_or_integer(name):
            faults.append(("“docid” is no id", "a text"))
        elif str(name) in self.documents:
            faults.append((f"document “{name}” is there twice", "one for each id"))
        for key, own in (("title", title), ("text", text)):
            if not isinstance(own or "", str):
                faults.append((f"“{key}” is {describe_json_type(own)}", "a text"))
        self.problems += [record.problem(*fault) for fault in faults]
        if not faults:
            self.documents[str(name)] = CollectionDocument(title or "", text or "")

    def _add_nuggets(self, record: JsonRecord) -> None:
        value = record.value
        metadata = value.get("metadata")
        name = _read_topic_id(value) or _read_topic_id(
            metadata if isinstance(metadata, dict) else {}
        )
        nuggets = value.get("nugget_bank", value.get("nuggets"))
        if not name or name in self.nuggets or not isinstance(nuggets, list):
            found = (
                f"nuggets of “{name}” a second time"
                if name in self.nuggets
                else "nuggets"
            )
            self.problems.append(
                record.problem(found, "a topic id and a list, once for each topic")
            )
            return
        made = [
            self._parse_nugget(record, nugget, index, name)
            for index, nugget in enumerate(nuggets)
        ]
        self.nuggets[name] = tuple(nugget for nugget in made if nugget)
        self.where[name] = record

    def _parse_nugget(
        self, record: JsonRecord, value: Any, place: int, topic: str
    ) -> Nugget | None:
        nugget = value if isinstance(value, dict) else {}
        text = nugget.get("question", nugget.get("text"))
        texts = _read_nugget_answers(nugget.get("answers") or [])
        rule = nugget.get("aggregator_type") or ANY_OF_RULE
        if (
            not isinstance(text, str)
            or texts is None
            or rule not in (ANY_OF_RULE, ALL_OF_RULE)
        ):
            expected = '{"text": "…"} or {"question": "…", "aggregator_type": "AND", "answers": […]}'
            self.problems.append(
                record.problem(f"nugget {place + 1} is in no form", expected)
            )
            return None
        name = str(
            nugget.get("nugget_id")
            or nugget.get("question_id")
            or f"{topic}.{place + 1}"
        )
        parts = tuple(
            JudgedNuggetPart(
                one, (f"{name}.{nth}", f"{text}\n{one}", f"{text} {one}", one)
            )
            for nth, one in enumerate(texts, start=1)
        )
        return Nugget(
            name,
            replace_unpaired_surrogates(text),
            _parse_nugget_importance(nugget.get("importance")),
            parts or (JudgedNuggetPart(text, (name, text)),),
            rule,
        )


def _read_nugget_answers(answers: Any) -> list[str] | None:
    """Return the texts of the answers in a nugget bank, or None if an answer is not a
    text.
    """
    if not isinstance(answers, list):
        return None
    texts = [
        answer.get("answer") if isinstance(answer, dict) else answer
        for answer in answers
    ]
    return texts if is_list_of_texts(texts) else None


def _parse_nugget_importance(value: Any) -> str:
    """Return the importance of a nugget (expected fact), which is a text in lower case,
    OKAY_IMPORTANCE for 0, and VITAL_IMPORTANCE for other numbers or without a value.
    """
    if value is None or value == "":
        return VITAL_IMPORTANCE
    if isinstance(value, str):
        return value.strip().lower()
    return VITAL_IMPORTANCE if value else OKAY_IMPORTANCE


def _read_topic_id(value: Mapping[str, Any]) -> str:
    name = next((value[key] for key in (*TOPIC_ID_KEYS, "qid") if key in value), None)
    return str(name) if is_text_or_integer(name) and name != "" else ""


def _is_judgement(record: JsonRecord) -> bool:
    return (
        "items" in record.value
        or "texts" in record.value
        or has_nugget_assignments(record.value)
    )


def read_collection(files: Files, options: Options) -> ReportCollection:
    """Read the gold, including the judgement files that the options name.

    Raises InputRefused with all problems of the gold files and the judgement files.
    """
    reading = _GoldRecordReader()
    reading.read_files(files)
    rows = {kind: JudgementsOfKind(kind) for kind in (ASSIGNS_KIND, SUPPORTS_KIND)}
    read_judgement_files(reading.judged, rows, reading.problems)
    known = reading.topics or {name: {} for name in reading.nuggets}
    for name, record in reading.where.items():
        if name not in known:
            message = f"nuggets of “{name}”, which is no topic"
            reading.problems.append(record.problem(message, "topics of the split"))
    jsonlines.refuse_faulty_gold(
        files, reading.problems, known, "topics", '{"request_id": "7", "title": "…"}'
    )
    raise_if_any_problem_is_fatal(reading.problems)
    stored = {
        kind: JudgementsOfKind(kind)
        for option, kind in JUDGEMENT_KINDS_BY_OPTION.items()
        if get_ledger_judge_name(options, option)
    }
    for option, kind in JUDGEMENT_KINDS_BY_OPTION.items():
        path = options.get(option, "")
        if path and not has_ledger_labels(options, option):
            read_judgements_of_option(kind, path, stored.get(kind, rows[kind]))
    for row in (*rows.values(), *stored.values()):
        row.determine_final_labels()
    return ReportCollection(
        {
            name: ReportTopic(name, shown, reading.nuggets.get(name))
            for name, shown in known.items()
        },
        reading.documents,
        NuggetAndCitationJudgements(rows[ASSIGNS_KIND], rows[SUPPORTS_KIND], stored),
        reading.rows["topics"] or reading.rows["nuggets"],
    )


def read_gold(files: Files, options: Options) -> Split:
    """Read the gold of a split of topics. The digest of the split includes the
    judgements. Raises InputRefused.
    """
    gold = read_collection(files, options)
    return Split(
        content=gold,
        instances=len(gold.topics),
        rows=gold.rows,
        index=_make_topics_index(gold),
        digest=jsonlines.compute_records_digest(_iterate_records_for_digest(gold)),
    )


def _iterate_records_for_digest(gold: ReportCollection) -> Iterator[dict[str, Any]]:
    for topic in gold.topics.values():
        nuggets = (
            []
            if topic.nuggets is None
            else [nugget.facts() for nugget in topic.nuggets]
        )
        yield {
            "id": f"topic {topic.id}",
            "shown": dict(topic.shown),
            "nuggets": nuggets,
        }
    for name, document in gold.documents.items():
        yield {"id": f"document {name}", "title": document.title, "text": document.text}
    yield from gold.judgements.facts


def _make_topics_index(gold: ReportCollection) -> Index:
    return {
        "instances": list(gold.topics),
        "topics": {name: dict(topic.shown) for name, topic in gold.topics.items()},
    }


def read_inputs(files: Files, options: Options) -> Index:
    """Build the index, which validates a run, from the topics. The index does not
    depend on judgement files that the options name.
    """
    return _make_topics_index(read_collection(files, {}))


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the topics and the documents, but no nuggets or judgements."""
    gold = read_collection(files, {})
    yield (
        TOPICS_FILE_NAME,
        jsonlines.format_as_json_lines(
            {"request_id": topic.id, **topic.shown} for topic in gold.topics.values()
        ),
    )
    if gold.documents:
        yield (
            DOCUMENTS_FILE_NAME,
            jsonlines.format_as_json_lines(
                {"docid": name, "title": document.title, "text": document.text}
                for name, document in gold.documents.items()
            ),
        )


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    """Yield for each topic its public fields and its nuggets."""
    for topic in split.content.topics.values():
        yield dict(topic.shown), [one.facts() for one in topic.nuggets or ()]


def instance_names(
    file: InputFile, records: Sequence[JsonRecord]
) -> Iterator[str | None]:
    """Yield the topic id of each record that is a topic. Nuggets, documents and
    judgements are not instances.
    """
    for record in records:
        is_topic = "request_id" in record.value or (
            "title" in record.value and "docid" not in record.value
        )
        yield _read_topic_id(record.value) if is_topic else None
