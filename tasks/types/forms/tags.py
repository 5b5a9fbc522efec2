"""Sequence labelling tasks, in which each token of a sentence has a tag such as
`B-Method`. Metrics score the entities that the tags encode.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any, ClassVar

from tasks.types import jsonlines
from tasks.types.base import TAGS_VIEW, AnswerPart, Index, Options
from tasks.types.files import GZIP_SUFFIX, IGNORED_FILE_NAMES, Files, InputFile
from tasks.types.forms.bio import (
    BIO,
    BIO_SUFFIXES,
    SentenceRecordKeys,
    iterate_sentence_records,
    read_bio_sentences,
)
from tasks.types.forms.instances import (
    Dimension,
    FaultRecorder,
    InstancesAndPool,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.jsonlines import AnswerLine, JsonRecord
from tasks.types.problems import InputRefused, Problem, ProblemList, TooManyProblems
from tasks.types.run_forms import RunFormatSignature
from tasks.types.text import (
    are_equal_except_case_and_space,
    describe_json_type_or_missing,
    find_label_equal_in_nfc,
    is_list_of_texts,
    normalise_to_nfc,
)

OUTSIDE_TAG, BEGIN_PREFIX, INSIDE_PREFIX = "O", "B", "I"
#: A tag without an entity type, such as `B`, gets the type `NO_ENTITY_TYPE` as in seqeval.
NO_ENTITY_TYPE = "_"
#: `ENTITY_TYPE_DIMENSION` is the default name for the breakdown of scores by entity type.
ENTITY_TYPE_DIMENSION = "entity_type"
#: `Entity` contains the first token's index, the end index, and the entity type.
TokenSpanWithType = tuple[int, int, str]


class EntitiesOfSentence(tuple[TokenSpanWithType, ...]):  # noqa: SLOT001  (it has an attribute)
    """The entities that the tags of a sentence encode, in the order of the tokens. The
    attribute ``tokens`` lists the tokens of the sentence.
    """

    tokens: Sequence[str]


@lru_cache(maxsize=4096)
def split_tag(tag: str, labels: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the prefix and the entity type of a tag such as `B-Method`, or None if the
    prefix is invalid or ``labels`` does not contain the type.
    """
    if tag == OUTSIDE_TAG:
        return OUTSIDE_TAG, ""
    mark, rest = tag[:1], tag[1:]
    if mark not in (BEGIN_PREFIX, INSIDE_PREFIX) or (rest and not rest.startswith("-")):
        return None
    label = find_label_equal_in_nfc(rest[1:] or NO_ENTITY_TYPE, labels)
    return None if label is None else (mark, label)


def decode_entities(
    parts: Sequence[tuple[str, str]], *, repair: bool
) -> list[TokenSpanWithType]:
    """Return the entities that the tags of a sentence encode, given the prefix and type
    of each tag.

    In IOB2, an entity begins at `B-` and continues over each following `I-` of the same
    type. If ``repair`` is True, an `I-` tag that continues no entity begins an entity
    as in conlleval, and is otherwise ignored.
    """
    found: list[TokenSpanWithType] = []
    start, label = -1, ""
    for index, (mark, own) in enumerate([*parts, (OUTSIDE_TAG, "")]):
        if start >= 0 and mark == INSIDE_PREFIX and own == label:
            continue
        if start >= 0:
            found.append((start, index, label))
        is_begin = mark == BEGIN_PREFIX or (repair and mark == INSIDE_PREFIX)
        start, label = (index, own) if is_begin else (-1, "")
    return found


def find_stray_inside_tags(parts: Sequence[tuple[str, str]]) -> list[int]:
    """Return the positions of the `I-` tags that continue no entity of the same type."""
    before = [(OUTSIDE_TAG, ""), *parts[:-1]]
    return [
        index
        for index, ((mark, label), (previous, other)) in enumerate(
            zip(parts, before, strict=True)
        )
        if mark == INSIDE_PREFIX and (previous == OUTSIDE_TAG or other != label)
    ]


@dataclass(frozen=True, kw_only=True)
class TagTask(InstanceTask):
    """A sequence labelling task, in which an answer contains a tag for each token of
    the sentence. A tag is `O`, or consists of the prefix `B-` or `I-` and an entity
    type in ``labels``. If ``repair`` is True, an `I-` tag that continues no entity
    begins an entity.
    """

    drawn_as: ClassVar[str] = TAGS_VIEW
    noun: ClassVar[str] = "list of tags"
    labels: tuple[str, ...]
    tokens: str = "tokens"
    repair: bool = False

    @property
    def example(self) -> Any:
        return [
            OUTSIDE_TAG,
            f"{BEGIN_PREFIX}-{self.labels[0]}",
            f"{INSIDE_PREFIX}-{self.labels[0]}",
        ]

    @property
    def form(self) -> jsonlines.AnswerForm:
        return replace(super().form, others="BIO lines (`TOKEN TAG`)")

    @property
    def run_form(self) -> RunFormatSignature:
        return replace(super().run_form, is_line=_looks_like_bio_line)

    @property
    def label_dimensions(self) -> tuple[str, ...]:
        return self.dimensions_of_answer_classes

    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        tokens = get_value_at_path(record, self.tokens)
        if not is_list_of_texts(tokens) or not tokens:
            found = "empty" if tokens == [] else describe_json_type_or_missing(tokens)
            fault(f"“{self.tokens}” is {found}", 'a list of texts: ["We", "use"]')
            return None
        value = get_value_at_path(record, self.field)
        return self._parse_tags(value, self.field, tokens, fault)

    def parse_answer(self, line: AnswerLine, name: str, index: Index) -> Any:
        tokens = index["tokens"].get(name)
        if tokens is None:
            return None
        value = line.value.get(self.run_answer_key)
        return self._parse_tags(value, self.run_answer_key, tokens, line.wrong)

    def make_additional_index_entries(self, content: InstancesAndPool) -> Index:
        by_name = {
            instance.id: get_value_at_path(instance.record, self.tokens)
            for instance in content.instances
        }
        return {
            "tokens": {
                name: tokens if is_list_of_texts(tokens) else []
                for name, tokens in by_name.items()
            }
        }

    def _parse_tags(
        self, value: Any, key: str, tokens: Sequence[str], fault: FaultRecorder
    ) -> EntitiesOfSentence | None:
        if not is_list_of_texts(value):
            fault(
                f"“{key}” is {describe_json_type_or_missing(value)}",
                "a list of tags, one a token",
            )
            return None
        if len(value) != len(tokens):
            fault(
                f"“{key}” has {len(value)} tags", f"{len(tokens)}, one for each token"
            )
            return None
        parts = []
        for position, tag in enumerate(value, start=1):
            own = split_tag(tag, self.labels)
            if own is None:
                fault(
                    f"tag {position} of “{key}” is {self._describe_invalid_tag(tag)}",
                    self._description_of_expected_tags,
                )
                return None
            parts.append(own)
        tags = EntitiesOfSentence(decode_entities(parts, repair=self.repair))
        tags.tokens = tokens
        return tags

    def split_gold_tags(self, record: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the prefix and the entity type of each tag in a valid gold record."""
        tags = get_value_at_path(record, self.field)
        return [part for tag in tags if (part := split_tag(tag, self.labels))]

    @property
    def _description_of_expected_tags(self) -> str:
        return f"{OUTSIDE_TAG}, or {BEGIN_PREFIX}- or {INSIDE_PREFIX}- and one of {', '.join(self.labels)}"

    def _describe_invalid_tag(self, tag: str) -> str:
        meant = next(
            (
                label
                for label in self.labels
                if are_equal_except_case_and_space(tag[2:], label)
            ),
            None,
        )
        is_near = meant is not None and tag[:1].upper() in (BEGIN_PREFIX, INSIDE_PREFIX)
        hint = f"; did you mean “{tag[:1].upper()}-{meant}”?" if is_near else ""
        return f"“{tag[:100]}”{hint}"

    # The following methods read and write BIO files, with a token and a tag per line.

    def is_instances_file(self, name: str) -> bool:
        if self.files != BIO:
            return super().is_instances_file(name)
        path = PurePosixPath(name.lower().removesuffix(GZIP_SUFFIX))
        has_clutter = IGNORED_FILE_NAMES.intersection(PurePosixPath(name).parts)
        return path.suffix in BIO_SUFFIXES and not has_clutter

    def records(self, file: InputFile, problems: ProblemList) -> Iterator[JsonRecord]:
        """Yield a record for each sentence in a gold file. The gold file may be a BIO
        file, which has a token and its tag on each line. The id of the record is in a
        comment, or the id is the number of the sentence.
        """
        if self.files != BIO:
            yield from super().records(file, problems)
            return
        keys = SentenceRecordKeys(self.id, self.tokens, self.field)
        yield from iterate_sentence_records(file, problems, self._find_tag_fault, keys)

    def _find_tag_fault(self, tag: str) -> tuple[str, str] | None:
        """Return an error message and the expected form for an invalid tag, or None for
        a valid tag.
        """
        if split_tag(tag, self.labels) is not None:
            return None
        return (
            f"the tag is {self._describe_invalid_tag(tag)}",
            self._description_of_expected_tags,
        )

    def read_run(
        self, files: Files, index: Index, options: Options
    ) -> tuple[Any, list[Problem]]:
        problems = ProblemList(counts=jsonlines.MAX_UNLISTED_ERRORS)
        lines = []
        for file in files:
            try:
                is_bio = _is_bio_file(file)
                lines.append(
                    self._convert_bio_to_json_lines(file, index, problems)
                    if is_bio
                    else file
                )
            except TooManyProblems:
                raise
            except InputRefused as refused:
                problems.extend(refused.problems)
        if problems.has_errors:
            return None, problems
        return super().read_run(lines, index, options)

    def _convert_bio_to_json_lines(
        self, file: InputFile, index: Index, problems: ProblemList
    ) -> InputFile:
        """Convert a run in the format of BIO files (a token and its tag per line) to
        JSON lines. The answer to a sentence is on the same line number as the
        sentence's first token, so error messages state the right line.
        """
        names = index["instances"]
        spelling = {normalise_to_nfc(name): name for name in names}
        content, at = [], 1
        for sentence in read_bio_sentences(file, problems, self._find_tag_fault):
            name = sentence.id
            if not name and sentence.number <= len(names):
                name = names[sentence.number - 1]
            wanted = index["tokens"].get(spelling.get(normalise_to_nfc(name), name))
            if not name:
                message = f"this is sentence {sentence.number}"
                problems.append(
                    file.make_problem(
                        message, f"{len(names)} sentences", line=sentence.line
                    )
                )
            elif wanted is not None and (other := sentence.differs(wanted)):
                problems.append(file.make_problem(*other.texts, line=other.line))
            else:
                record = {self.run_id_key: name, self.run_answer_key: sentence.tags}
                content.append(b"\n" * (sentence.line - at))
                content.append(jsonlines.format_as_json_lines([record]))
                at = sentence.line + 1
        data = b"".join(content)
        name = f"{file.name}.jsonl"
        return replace(file, name=name, open=lambda: BytesIO(data), encoding="")

    # The following methods prepare sentences for web pages.

    def classify_instances(
        self, dimension: Dimension, content: InstancesAndPool
    ) -> Any:
        """Return the classes to which each sentence belongs in a dimension (a breakdown
        of scores). If the dimension uses the field with the tags, the classes are the
        entity types in the sentence.
        """
        if dimension.field != self.field:
            return super().classify_instances(dimension, content)
        types = (
            [label for _, _, label in instance.gold] for instance in content.instances
        )
        return dimension.features([{self.field: type_} for type_ in types])

    def format_public_value(self, name: str, value: Any) -> str:
        if name == self.tokens and is_list_of_texts(value):
            return " ".join(map(_make_token_visible, value))
        return super().format_public_value(name, value)

    def format_gold(self, gold: Any) -> str:
        """Return the text of the sentence, followed by a line for each entity with its
        token numbers.
        """
        tokens = [*map(_make_token_visible, gold.tokens)]
        lines = (
            f"{start + 1}-{end} {label}: {' '.join(tokens[start:end])}"
            for start, end, label in gold
        )
        return "\n".join([" ".join(tokens), *lines])

    def gold_parts(
        self, content: InstancesAndPool, instance: TaskInstance
    ) -> Iterator[AnswerPart]:
        return self.answer_parts(content, instance, instance.gold)

    def answer_parts(
        self, content: InstancesAndPool, instance: TaskInstance, answer: Any
    ) -> Iterator[AnswerPart]:
        tokens = [*map(_make_token_visible, answer.tokens)]
        for start, end, label in answer:
            text = " ".join(tokens[start:end])
            yield AnswerPart(f"{start + 1}–{end}", text, label, start=start, end=end)


def _make_token_visible(token: str) -> str:
    return "\u00a0".join(token.split()) or "·"


def _is_bio_file(file: InputFile) -> bool:
    if file.suffix in jsonlines.JSON_SUFFIXES:
        return False
    return file.suffix in BIO_SUFFIXES or not jsonlines.begins_like_json(file)


def _looks_like_bio_line(line: bytes) -> bool:
    tag = (line[:4000].split() or [b""])[-1]
    return tag == b"O" or tag.startswith((b"B-", b"I-"))
