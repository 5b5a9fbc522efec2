"""Recognise gold files for sequence labelling, which contain BIO lines, or lists of
tags next to lists of tokens.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.types.declared.fields import RecordRows, list_nonempty_fields
from tasks.types.files import InputFile
from tasks.types.forms.bio import (
    BIO_SUFFIXES,
    SentenceRecordKeys,
    iterate_sentence_records,
)
from tasks.types.forms.tags import (
    BEGIN_PREFIX,
    NO_ENTITY_TYPE,
    OUTSIDE_TAG,
    find_stray_inside_tags,
    split_tag,
)
from tasks.types.jsonlines import JsonRecord
from tasks.types.problems import ProblemList

_TOKENS_FIELD_PATTERN = re.compile(r"token|word|text|sentence", re.IGNORECASE)
_BIO_TAG_PATTERN = re.compile(r"O|[BI](-.*)?")


def is_bio_file_of_tag_task(file: InputFile, form: str) -> bool:
    return form == "tags" and file.suffix in BIO_SUFFIXES


def read_bio_records(file: InputFile, problems: ProblemList) -> list[JsonRecord]:
    """Return a record for each sentence in a file of BIO lines (one token and its tag
    per line).
    """
    return [
        *iterate_sentence_records(file, problems, _find_tag_fault, SentenceRecordKeys())
    ]


def _find_tag_fault(tag: str) -> tuple[str, str] | None:
    if _BIO_TAG_PATTERN.fullmatch(tag):
        return None
    return f"the tag is “{tag[:100]}”", "O, or B- or I- and a type"


def list_token_fields(rows: RecordRows, answer: str) -> list[str]:
    """Return the names of fields that may contain the tokens of sentences. A field may
    contain the tokens if its name suggests tokens or words, and its lists are as long
    as the lists of tags.
    """
    return [
        name
        for name in list_nonempty_fields(rows)
        if name != answer
        and _TOKENS_FIELD_PATTERN.search(name)
        and all(_has_length_of_tags(row, name, answer) for row in rows)
    ]


def propose_tag_answer_settings(rows: RecordRows, answer: str) -> Mapping[str, Any]:
    """Return the settings of [task.answer] in `task.toml` for a sequence labelling
    task.
    """
    tokens = list_token_fields(rows, answer)
    lists = [value for row in rows if isinstance(value := row.get(answer), list)]
    types = Counter(
        tag[2:] or NO_ENTITY_TYPE
        for tags in lists
        for tag in tags
        if tag != OUTSIDE_TAG
    )
    labels = tuple(label for label, _ in types.most_common())
    said = {"tokens": next(iter(tokens), "tokens"), "labels": [*labels]}
    return said | ({"repair": True} if _follows_iob1_scheme(lists, labels) else {})


def _has_length_of_tags(row: Mapping[str, Any], name: str, answer: str) -> bool:
    own = row.get(name)
    return isinstance(own, list) and len(own) == len(row[answer])


def _follows_iob1_scheme(lists: Sequence[Sequence[str]], labels: Sequence[str]) -> bool:
    """Return True if the tags follow the scheme IOB1, in which most entities begin with
    I-. If fewer entities begin with I- than with B-, the tags are taken as IOB2 with
    errors.
    """
    stray = sum(
        len(
            find_stray_inside_tags(
                [split_tag(tag, labels) or (OUTSIDE_TAG, "") for tag in tags]
            )
        )
        for tags in lists
    )
    begun = sum(tag.startswith(BEGIN_PREFIX) for tags in lists for tag in tags)
    return stray > begun
