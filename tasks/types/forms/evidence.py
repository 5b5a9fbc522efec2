"""Tasks whose answers are evidence for or against a claim, which consists of document
sentences and labels.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tasks.types.base import EVIDENCE_VIEW, AnswerPart, Index, Split
from tasks.types.files import Files
from tasks.types.forms.instances import (
    FaultRecorder,
    InstancesAndPool,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.forms.mapping import (
    LabelsBySpelling,
    replace_spelling_by_label,
    replace_spellings_under_key,
    replace_value_at_path,
)
from tasks.types.jsonlines import AnswerLine
from tasks.types.text import (
    describe_json_type,
    describe_json_type_or_missing,
    find_label_equal_in_nfc,
    is_list_of_texts,
    make_unknown_label_message,
)

LABEL_KEY = "label"
#: `GoldEvidenceByDocument` maps each evidence document to a label and alternative sentence sets.
#: Each set of sentences in `GoldEvidenceByDocument` is sufficient evidence on its own.
GoldEvidenceByDocument = dict[str, tuple[str, tuple[frozenset[int], ...]]]
#: `AnswerEvidenceByDocument` maps each document of an answer to a label and sentence numbers.
AnswerEvidenceByDocument = dict[str, tuple[str, tuple[int, ...]]]


@dataclass(frozen=True, kw_only=True)
class EvidenceTask(InstanceTask):
    """The common base class of the two evidence tasks `EvidenceSetsTask` and
    `SingleVerdictTask`.

    ``labels`` are the labels that answers may have, and ``abstain`` is a further label
    with which systems abstain. ``pool_id`` and ``pool_content`` name the fields with
    the id and the sentences of a document, and ``pool_shown`` names further public
    fields of documents. ``given`` names a public field of the claims that lists
    documents, or is empty.
    """

    drawn_as: ClassVar[str] = EVIDENCE_VIEW
    labels: tuple[str, ...]
    abstain: str = ""
    pool_id: str = "doc_id"
    pool_content: str = "abstract"
    given: str = ""

    def replace_mapped_values(
        self, record: Mapping[str, Any], path: str, values: LabelsBySpelling
    ) -> Mapping[str, Any]:
        value = replace_spellings_under_key(
            get_value_at_path(record, path), values, LABEL_KEY
        )
        if value is not None:
            record = replace_value_at_path(record, path, value)
        if LABEL_KEY in record:
            record = {
                **record,
                LABEL_KEY: replace_spelling_by_label(record[LABEL_KEY], values),
            }
        return record

    def find_pool_record_faults(
        self, record: Mapping[str, Any]
    ) -> Iterator[tuple[str, str]]:
        if not is_list_of_texts(record.get(self.pool_content)):
            yield f"“{self.pool_content}” is no list of texts", "a list of sentences"

    def make_additional_index_entries(self, content: InstancesAndPool) -> Index:
        return {
            "sizes": {
                name: len(record[self.pool_content])
                for name, record in content.pool.items()
            }
        }

    def sentence(self, content: InstancesAndPool, document: str, number: int) -> str:
        """Return the text of a sentence in a document, or an empty text if the document
        has no sentence with this number.
        """
        sentences = content.pool.get(document, {}).get(self.pool_content, ())
        return str(sentences[number]) if number < len(sentences) else ""

    def title(self, content: InstancesAndPool, document: str) -> str:
        """Return the title of a document, for display with the evidence. If the
        document has no title, return the first sentence of the document.
        """
        record = content.pool.get(document, {})
        titles = (record.get(name) for name in self.pool_shown)
        own = next((title for title in titles if isinstance(title, str)), "")
        return own or self.sentence(content, document, 0)

    def unreachable(self, files: Files, split: Split) -> Iterator[str]:
        """Yield the gold sentences that the pool of documents does not contain."""
        sizes = self.make_additional_index_entries(split.content)["sizes"]
        for instance in split.content.instances:
            for document, number in sorted(self.list_evidence_sentences(instance.gold)):
                if number >= sizes.get(document, 0):
                    yield f"{instance.id}: {document}:{number}"

    @abstractmethod
    def list_evidence_sentences(self, side: Any) -> set[tuple[str, int]]:
        """Return the evidence sentences of a gold answer or a system's answer, as pairs
        of document id and sentence number.
        """

    def read_label(
        self, value: Any, fault: FaultRecorder, *, may_abstain: bool
    ) -> str | None:
        allowed = (
            *self.labels,
            *([self.abstain] if self.abstain and may_abstain else []),
        )
        is_text = isinstance(value, str)
        if is_text and (label := find_label_equal_in_nfc(value, allowed)) is not None:
            return label
        found = (
            make_unknown_label_message(value, allowed)
            if is_text
            else f"“{LABEL_KEY}” is {describe_json_type_or_missing(value)}"
        )
        fault(found, f"one of {', '.join(allowed)}")
        return None

    def read_sentence_numbers(
        self,
        value: Any,
        document: str,
        sizes: Mapping[str, int] | None,
        fault: FaultRecorder,
    ) -> tuple[int, ...] | None:
        """Return the sentence numbers in the evidence from one document, counted from
        0. If the document or one of its sentence numbers does not exist, record a fault
        and return None.
        """
        most = None
        if sizes is not None and (most := sizes.get(document)) is None:
            fault(
                f"document “{document[:100]}” is not in the pool",
                "the id of a document",
            )
            return None
        if not isinstance(value, list) or any(type(own) is not int for own in value):
            fault(
                f"“sentences” of “{document[:100]}” is no list of whole numbers",
                "such as [0, 2]",
            )
            return None
        if wrong := [
            own for own in value if own < 0 or (most is not None and own >= most)
        ]:
            expected = f"from 0 to {most - 1}" if most else "from 0"
            fault(f"document “{document[:100]}” has no sentence {wrong[0]}", expected)
            return None
        return tuple(value)


@dataclass(frozen=True, kw_only=True)
class EvidenceSetsTask(EvidenceTask):
    """Evidence as in SciFact. An answer to a claim contains several documents, each
    with a label and with evidence sentences.
    """

    @property
    def example(self) -> Any:
        return {"12": {"sentences": [0], LABEL_KEY: self.labels[0]}}

    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        value = get_value_at_path(record, self.field)
        if not isinstance(value, dict):
            fault(
                f"“{self.field}” is {describe_json_type_or_missing(value)}",
                "an object of documents",
            )
            return None
        gold_sets: GoldEvidenceByDocument = {}
        for document, sets in value.items():
            shown = document[:100]
            if (
                not isinstance(sets, list)
                or not sets
                or not all(isinstance(own, dict) for own in sets)
            ):
                fault(
                    f"document “{shown}” has no list of evidence sets",
                    '[{"sentences": [0], "label": …}]',
                )
                return None
            labels = {
                self.read_label(own.get(LABEL_KEY), fault, may_abstain=False)
                for own in sets
            }
            sentences = [
                self.read_sentence_numbers(own.get("sentences"), document, None, fault)
                for own in sets
            ]
            if None in labels or None in sentences:
                return None
            if len(labels) > 1:
                fault(
                    f"the sets of document “{shown}” have several labels",
                    "one for each document",
                )
                return None
            flat = [own for numbers in sentences for own in numbers or ()]
            if len(flat) > len(set(flat)) or not all(sentences):
                message = f"a sentence of “{shown}” is in two sets, or a set is empty"
                fault(message, "each sentence in one set")
                return None
            gold_sets[document] = (
                str(labels.pop()),
                tuple(frozenset(numbers or ()) for numbers in sentences),
            )
        return gold_sets

    def parse_answer(self, line: AnswerLine, name: str, index: Index) -> Any:
        value = line.value.get(self.run_answer_key)
        if not isinstance(value, dict):
            line.wrong(
                f"“{self.run_answer_key}” is {describe_json_type_or_missing(value)}",
                self.form.example,
            )
            return None
        found: AnswerEvidenceByDocument = {}
        for document, own in value.items():
            if not isinstance(own, dict):
                line.wrong(
                    f"document “{document[:100]}” is {describe_json_type(own)}",
                    self.form.example,
                )
                continue
            label = self.read_label(own.get(LABEL_KEY), line.wrong, may_abstain=True)
            sentences = self.read_sentence_numbers(
                own.get("sentences"), document, index["sizes"], line.wrong
            )
            if label is not None and sentences is not None and label != self.abstain:
                found[document] = (label, sentences)
        return found

    def list_evidence_sentences(self, side: Any) -> set[tuple[str, int]]:
        sets = (
            (name, [own] if isinstance(own, int) else own)
            for name, (_, sets) in side.items()
            for own in sets
        )
        return {(document, number) for document, numbers in sets for number in numbers}

    def format_gold(self, gold: Any) -> str:
        return "\n".join(
            f"{name}: {label} {[*map(sorted, sets)]}"
            for name, (label, sets) in gold.items()
        )

    def format_answer(self, answer: Any) -> str:
        return "\n".join(
            f"{document}: {label} {list(own)}"
            for document, (label, own) in answer.items()
        )

    def gold_parts(
        self, content: InstancesAndPool, instance: TaskInstance
    ) -> Iterator[AnswerPart]:
        """Yield each evidence document with its gold label, and after each document the
        sets of evidence sentences.
        """
        for document, (label, sets) in instance.gold.items():
            yield AnswerPart(document, self.title(content, document), label)
            for own in sets:
                yield self._make_sentences_part(content, document, sorted(own))

    def answer_parts(
        self, content: InstancesAndPool, instance: TaskInstance, answer: Any
    ) -> Iterator[AnswerPart]:
        """Yield each evidence document with the label in the answer, and after each
        document the evidence sentences.
        """
        for document, (label, own) in answer.items():
            yield AnswerPart(document, self.title(content, document), label)
            for number in own:
                yield self._make_sentences_part(content, document, [number])

    def _make_sentences_part(
        self, content: InstancesAndPool, document: str, numbers: Sequence[int]
    ) -> AnswerPart:
        name = ", ".join(str(number + 1) for number in numbers)
        texts = (self.sentence(content, document, number) for number in numbers)
        return AnswerPart(name, " ".join(texts), level=1)


@dataclass(frozen=True)
class VerdictWithEvidence:
    """The label of a claim and the evidence sentences for the label. Each of the
    ``sentences`` has the form `document:number`. In gold (reference answers),
    ``sentences`` contains alternative sets of sentences, each of which is sufficient
    evidence.
    """

    label: str
    sentences: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class SingleVerdictTask(EvidenceTask):
    """Evidence as in FEVER. An answer to a claim contains one label and sentences from
    any documents.
    """

    @property
    def example(self) -> Any:
        return ["d1:0"]

    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        label = self.read_label(record.get(LABEL_KEY), fault, may_abstain=True)
        value = get_value_at_path(record, self.field)
        sets = [] if value is None else value
        if not isinstance(sets, list) or not all(
            own and is_list_of_texts(own) for own in sets
        ):
            fault(f"“{self.field}” is no list of evidence sets", '[["d1:0", "d1:2"]]')
            return None
        if label is not None and label != self.abstain and not sets:
            expected = (
                f"a set of sentences, unless the label is {self.abstain or 'another'}"
            )
            fault(f"“{self.field}” is empty", expected)
            return None
        return (
            None
            if label is None
            else VerdictWithEvidence(label, tuple(frozenset(own) for own in sets))
        )

    def parse_answer(self, line: AnswerLine, name: str, index: Index) -> Any:
        label = self.read_label(line.value.get(LABEL_KEY), line.wrong, may_abstain=True)
        value = line.value.get(self.run_answer_key, [])
        if not is_list_of_texts(value):
            line.wrong(f"“{self.run_answer_key}” is no list of texts", '["d1:0"]')
            return None
        for sentence in value:
            document, _, number = sentence.rpartition(":")
            numbers = [int(number)] if number.isdecimal() and len(number) < 10 else None
            self.read_sentence_numbers(numbers, document, index["sizes"], line.wrong)
        return VerdictWithEvidence(str(label), tuple(value)) if line.is_sound else None

    def list_evidence_sentences(self, side: Any) -> set[tuple[str, int]]:
        names = {
            name
            for sentence in side.sentences
            for name in ([sentence] if isinstance(sentence, str) else sentence)
        }
        parts = (name.rpartition(":") for name in names)
        return {
            (document, int(number))
            for document, _, number in parts
            if number.isdecimal()
        }

    def format_gold(self, gold: Any) -> str:
        return "\n".join(
            [gold.label, *(", ".join(sorted(sentence)) for sentence in gold.sentences)]
        )

    def format_answer(self, answer: Any) -> str:
        return "\n".join([answer.label, *answer.sentences])

    def gold_parts(
        self, content: InstancesAndPool, instance: TaskInstance
    ) -> Iterator[AnswerPart]:
        """Yield the gold label of a claim, followed by the sets of evidence."""
        yield AnswerPart(instance.gold.label)
        for sentence in instance.gold.sentences:
            yield self._make_named_sentences_part(content, sorted(sentence))

    def answer_parts(
        self, content: InstancesAndPool, instance: TaskInstance, answer: Any
    ) -> Iterator[AnswerPart]:
        yield AnswerPart(answer.label)
        for sentence in answer.sentences:
            yield self._make_named_sentences_part(content, [sentence])

    def _make_named_sentences_part(
        self, content: InstancesAndPool, names: Sequence[str]
    ) -> AnswerPart:
        shown, texts = [], []
        for name in names:
            document, _, number = name.rpartition(":")
            place = int(number) if number.isdecimal() else -1
            shown.append(f"{document}: {place + 1}" if place >= 0 else name)
            texts.append(self.sentence(content, document, place) if place >= 0 else "")
        return AnswerPart(", ".join(shown), " ".join(filter(None, texts)), level=1)
