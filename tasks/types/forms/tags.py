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
from tasks.types.base import TAGS, AnswerPart, Index, Options
from tasks.types.files import CLUTTER, PACKED, Files, InputFile
from tasks.types.forms.bio import BIO, SUFFIXES, Keys, read_sentences, sentence_records
from tasks.types.forms.instances import (
    Content,
    Dimension,
    Fault,
    Instance,
    InstanceTask,
    at_path,
)
from tasks.types.jsonlines import Line, Record
from tasks.types.problems import InputRefused, Problem, Problems, TooManyProblems
from tasks.types.run_forms import RunForm
from tasks.types.text import are_texts, equal_label, kind_found, nearly_equal, nfc

OUTSIDE, BEGIN, INSIDE = "O", "B", "I"
#: A tag without an entity type, such as `B`, gets the type `NO_TYPE` as in seqeval.
NO_TYPE = "_"
#: `ENTITY_TYPE` is the default name for the breakdown of scores by entity type.
ENTITY_TYPE = "entity_type"
#: `Entity` contains the first token's index, the end index, and the entity type.
Entity = tuple[int, int, str]


class Tags(tuple[Entity, ...]):  # noqa: SLOT001  (it has an attribute)
    """The entities that the tags of a sentence encode, in the order of the tokens. The
    attribute ``tokens`` lists the tokens of the sentence.
    """

    tokens: Sequence[str]


@lru_cache(maxsize=4096)
def tag_parts(tag: str, labels: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the prefix and the entity type of a tag such as `B-Method`, or None if the
    prefix is invalid or ``labels`` does not contain the type.
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    mark, rest = tag[:1], tag[1:]
    if mark not in (BEGIN, INSIDE) or (rest and not rest.startswith("-")):
        return None
    label = equal_label(rest[1:] or NO_TYPE, labels)
    return None if label is None else (mark, label)


def entities(parts: Sequence[tuple[str, str]], *, repair: bool) -> list[Entity]:
    """Return the entities that the tags of a sentence encode, given the prefix and type
    of each tag.

    In IOB2, an entity begins at `B-` and continues over each following `I-` of the same
    type. If ``repair`` is True, an `I-` tag that continues no entity begins an entity
    as in conlleval, and is otherwise ignored.
    """
    found: list[Entity] = []
    start, label = -1, ""
    for index, (mark, own) in enumerate([*parts, (OUTSIDE, "")]):
        if start >= 0 and mark == INSIDE and own == label:
            continue
        if start >= 0:
            found.append((start, index, label))
        is_begin = mark == BEGIN or (repair and mark == INSIDE)
        start, label = (index, own) if is_begin else (-1, "")
    return found


def strays(parts: Sequence[tuple[str, str]]) -> list[int]:
    """Return the positions of the `I-` tags that continue no entity of the same type."""
    before = [(OUTSIDE, ""), *parts[:-1]]
    return [
        index
        for index, ((mark, label), (previous, other)) in enumerate(
            zip(parts, before, strict=True)
        )
        if mark == INSIDE and (previous == OUTSIDE or other != label)
    ]


@dataclass(frozen=True, kw_only=True)
class TagTask(InstanceTask):
    """A sequence labelling task, in which an answer contains a tag for each token of
    the sentence. A tag is `O`, or consists of the prefix `B-` or `I-` and an entity
    type in ``labels``. If ``repair`` is True, an `I-` tag that continues no entity
    begins an entity.
    """

    drawn_as: ClassVar[str] = TAGS
    noun: ClassVar[str] = "list of tags"
    labels: tuple[str, ...]
    tokens: str = "tokens"
    repair: bool = False

    @property
    def example(self) -> Any:
        return [OUTSIDE, f"{BEGIN}-{self.labels[0]}", f"{INSIDE}-{self.labels[0]}"]

    @property
    def form(self) -> jsonlines.AnswerForm:
        return replace(super().form, others="BIO lines (`TOKEN TAG`)")

    @property
    def run_form(self) -> RunForm:
        return replace(super().run_form, is_line=_looks_like_bio_line)

    @property
    def label_dimensions(self) -> tuple[str, ...]:
        return self.answer_dimensions

    def gold_of(self, record: Mapping[str, Any], fault: Fault) -> Any:
        tokens = at_path(record, self.tokens)
        if not are_texts(tokens) or not tokens:
            found = "empty" if tokens == [] else kind_found(tokens)
            fault(f"“{self.tokens}” is {found}", 'a list of texts: ["We", "use"]')
            return None
        value = at_path(record, self.field)
        return self._parse_tags(value, self.field, tokens, fault)

    def answer_of(self, line: Line, name: str, index: Index) -> Any:
        tokens = index["tokens"].get(name)
        if tokens is None:
            return None
        value = line.value.get(self.answer_key)
        return self._parse_tags(value, self.answer_key, tokens, line.wrong)

    def index_facts(self, content: Content) -> Index:
        by_name = {
            instance.id: at_path(instance.record, self.tokens)
            for instance in content.instances
        }
        return {
            "tokens": {
                name: tokens if are_texts(tokens) else []
                for name, tokens in by_name.items()
            }
        }

    def _parse_tags(
        self, value: Any, key: str, tokens: Sequence[str], fault: Fault
    ) -> Tags | None:
        if not are_texts(value):
            fault(f"“{key}” is {kind_found(value)}", "a list of tags, one a token")
            return None
        if len(value) != len(tokens):
            fault(
                f"“{key}” has {len(value)} tags", f"{len(tokens)}, one for each token"
            )
            return None
        parts = []
        for position, tag in enumerate(value, start=1):
            own = tag_parts(tag, self.labels)
            if own is None:
                fault(
                    f"tag {position} of “{key}” is {self._describe_invalid_tag(tag)}",
                    self._expected_tags,
                )
                return None
            parts.append(own)
        tags = Tags(entities(parts, repair=self.repair))
        tags.tokens = tokens
        return tags

    def parts_of(self, record: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the prefix and the entity type of each tag in a valid gold record."""
        tags = at_path(record, self.field)
        return [part for tag in tags if (part := tag_parts(tag, self.labels))]

    @property
    def _expected_tags(self) -> str:
        return (
            f"{OUTSIDE}, or {BEGIN}- or {INSIDE}- and one of {', '.join(self.labels)}"
        )

    def _describe_invalid_tag(self, tag: str) -> str:
        meant = next(
            (label for label in self.labels if nearly_equal(tag[2:], label)), None
        )
        is_near = meant is not None and tag[:1].upper() in (BEGIN, INSIDE)
        hint = f"; did you mean “{tag[:1].upper()}-{meant}”?" if is_near else ""
        return f"“{tag[:100]}”{hint}"

    # The following methods read and write BIO files, with a token and a tag per line.

    def is_instances_file(self, name: str) -> bool:
        if self.files != BIO:
            return super().is_instances_file(name)
        path = PurePosixPath(name.lower().removesuffix(PACKED))
        has_clutter = CLUTTER.intersection(PurePosixPath(name).parts)
        return path.suffix in SUFFIXES and not has_clutter

    def records(self, file: InputFile, problems: Problems) -> Iterator[Record]:
        """Yield a record for each sentence in a gold file. The gold file may be a BIO
        file, which has a token and its tag on each line. The id of the record is in a
        comment, or the id is the number of the sentence.
        """
        if self.files != BIO:
            yield from super().records(file, problems)
            return
        keys = Keys(self.id, self.tokens, self.field)
        yield from sentence_records(file, problems, self._find_tag_fault, keys)

    def _find_tag_fault(self, tag: str) -> tuple[str, str] | None:
        """Return an error message and the expected form for an invalid tag, or None for
        a valid tag.
        """
        if tag_parts(tag, self.labels) is not None:
            return None
        return f"the tag is {self._describe_invalid_tag(tag)}", self._expected_tags

    def read_run(
        self, files: Files, index: Index, options: Options
    ) -> tuple[Any, list[Problem]]:
        problems = Problems(counts=jsonlines.MAX_COUNTED)
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
        self, file: InputFile, index: Index, problems: Problems
    ) -> InputFile:
        """Convert a run in the format of BIO files (a token and its tag per line) to
        JSON lines. The answer to a sentence is on the same line number as the
        sentence's first token, so error messages state the right line.
        """
        names = index["instances"]
        spelling = {nfc(name): name for name in names}
        content, at = [], 1
        for sentence in read_sentences(file, problems, self._find_tag_fault):
            name = sentence.id
            if not name and sentence.number <= len(names):
                name = names[sentence.number - 1]
            wanted = index["tokens"].get(spelling.get(nfc(name), name))
            if not name:
                message = f"this is sentence {sentence.number}"
                problems.append(
                    file.problem(message, f"{len(names)} sentences", line=sentence.line)
                )
            elif wanted is not None and (other := sentence.differs(wanted)):
                problems.append(file.problem(*other.texts, line=other.line))
            else:
                record = {self.id_key: name, self.answer_key: sentence.tags}
                content.append(b"\n" * (sentence.line - at))
                content.append(jsonlines.as_lines([record]))
                at = sentence.line + 1
        data = b"".join(content)
        name = f"{file.name}.jsonl"
        return replace(file, name=name, open=lambda: BytesIO(data), encoding="")

    # The following methods prepare sentences for web pages.

    def features_of(self, dimension: Dimension, content: Content) -> Any:
        """Return the classes to which each sentence belongs in a dimension (a breakdown
        of scores). If the dimension uses the field with the tags, the classes are the
        entity types in the sentence.
        """
        if dimension.field != self.field:
            return super().features_of(dimension, content)
        types = (
            [label for _, _, label in instance.gold] for instance in content.instances
        )
        return dimension.features([{self.field: type_} for type_ in types])

    def shown_text(self, name: str, value: Any) -> str:
        if name == self.tokens and are_texts(value):
            return " ".join(map(_visible_token, value))
        return super().shown_text(name, value)

    def gold_text(self, gold: Any) -> str:
        """Return the text of the sentence, followed by a line for each entity with its
        token numbers.
        """
        tokens = [*map(_visible_token, gold.tokens)]
        lines = (
            f"{start + 1}-{end} {label}: {' '.join(tokens[start:end])}"
            for start, end, label in gold
        )
        return "\n".join([" ".join(tokens), *lines])

    def gold_parts(self, content: Content, instance: Instance) -> Iterator[AnswerPart]:
        return self.answer_parts(content, instance, instance.gold)

    def answer_parts(
        self, content: Content, instance: Instance, answer: Any
    ) -> Iterator[AnswerPart]:
        tokens = [*map(_visible_token, answer.tokens)]
        for start, end, label in answer:
            text = " ".join(tokens[start:end])
            yield AnswerPart(f"{start + 1}–{end}", text, label, start=start, end=end)


def _visible_token(token: str) -> str:
    return "\u00a0".join(token.split()) or "·"


def _is_bio_file(file: InputFile) -> bool:
    if file.suffix in jsonlines.SUFFIXES:
        return False
    return file.suffix in SUFFIXES or not jsonlines.begins_as_json(file)


def _looks_like_bio_line(line: bytes) -> bool:
    tag = (line[:4000].split() or [b""])[-1]
    return tag == b"O" or tag.startswith((b"B-", b"I-"))
