"""Test whether a field of data records contains ids, numbers, texts or lists."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.types.forms.shapes import parse_json_list_or_keep

RecordRows = Sequence[Mapping[str, Any]]
MAX_LABELS_OF_FIELD = 50
#: A field is classified as text if its values have at least `MIN_MEAN_WORDS_OF_TEXT` words on average.
#: Values of a label field have fewer than `MAX_MEAN_WORDS_OF_LABEL` words on average.
MIN_MEAN_WORDS_OF_TEXT, MAX_MEAN_WORDS_OF_LABEL = 4, 8
#: At least the share `MIN_DISTINCT_SHARE_OF_IDS` of the values in an id field must be distinct.
MIN_DISTINCT_SHARE_OF_IDS = 0.9
EMPTY_VALUES: Sequence[Any] = (None, "", [], {})
#: `ANSWER_FIELD_NAMES_BY_FORM` lists typical names of answer fields by form of task.
ANSWER_FIELD_NAMES_BY_FORM = {
    "labels": ("label", "gold", "answer", "class", "intent", "category"),
    "ranking": ("answers", "gold", "relevant", "answer", "qrels"),
    "text": ("references", "reference", "summary", "target", "answer", "gold"),
    "spans": ("spans", "gold", "answer"),
    "tags": ("tags", "ner_tags", "labels", "gold", "answer"),
    "evidence": ("evidence", "gold"),
    "numbers": ("score", "similarity", "rating", "gold", "answer"),
}
ID_FIELD_PATTERN = re.compile(
    r"(^|[_\W])(id|ids|key|index|idx|uuid|uid)s?$|[a-z](Id|ID|Key)$|[a-z]id$",
)
#: `ANSWER_FIELD_PATTERN` matches names of fields that contain or explain an answer.
ANSWER_FIELD_PATTERN = re.compile(
    r"label|gold|answer|class(?!ic)|categor|intent|verdict|stance|annot|target|relevan"
    r"|qrel|judg|grade|score|rating|similar|truth|solution|rational|explan|justif"
    r"|reason|evidence|finding|trace|summar|reference|span|pred|correct|positive"
    r"|negative|response|output|comment|(^|_)(note|why|y|tags?)s?$|cited_?(id|doc)",
    re.IGNORECASE,
)
#: `METADATA_FIELD_PATTERN` matches the names of metadata fields, which rarely contain the answer.
METADATA_FIELD_PATTERN = re.compile(
    r"(^|_)(data_?set|split|set|venue|year|date|lang(uage)?|domain|section|author|keyword"
    r"|url|version|title|name|publisher|journal|specificity|quality)s?$",
    re.IGNORECASE,
)


def list_nonempty_fields(rows: RecordRows) -> list[str]:
    """Return the names of the fields that have a value in at least one row, in the
    order in which the rows mention them.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return [
        name for name in names if any(row.get(name) not in EMPTY_VALUES for row in rows)
    ]


def list_nonempty_values(rows: RecordRows, name: str) -> list[Any]:
    return [value for row in rows if (value := row.get(name)) not in EMPTY_VALUES]


def list_scalar_values_as_texts(rows: RecordRows, name: str) -> list[str] | None:
    """Return the non-empty values of a field as texts, or None if any value is a list
    or an object.
    """
    there = [value for row in rows if (value := row.get(name)) not in (None, "")]
    return (
        None
        if any(isinstance(value, dict | list) for value in there)
        else list(map(str, there))
    )


def has_unique_values(rows: RecordRows, name: str) -> bool:
    """Return True if every row has a value in the field and no two rows have the same
    value.
    """
    own = list_scalar_values_as_texts(rows, name) or ()
    return 0 < len(own) == len(set(own)) == len(rows)


def compute_mean_word_count(rows: RecordRows, name: str) -> float:
    """Return the mean number of words in the values of a field. Lists and objects in
    the field are converted to text before words are counted.
    """
    texts = [str(value) for row in rows if (value := row.get(name)) not in (None, "")]
    return sum(len(text.split()) for text in texts) / len(texts)


def parse_list_value(value: Any) -> list[Any] | None:
    """Return the value if it is a list, or the list that a text such as `["a", "b"]`
    encodes. Return None if the value neither is nor encodes a list.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, str) and value.strip().startswith("["):
        found = parse_json_list_or_keep(value.strip())
        return found if isinstance(found, list) else None
    return None


def is_possible_id(value: Any) -> bool:
    """Return True if the value has a type that an instance id can have (text or
    integer).
    """
    return isinstance(value, str | int) and not isinstance(value, bool)


def parse_float_or_none(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def look_like_ids(values: Sequence[Any]) -> bool:
    """Return True if each value is a text or an integer without spaces and with at
    least one digit.
    """
    return all(
        is_possible_id(value)
        and len(str(value).split()) == 1
        and re.search(r"\d", str(value))
        for value in values
    )
