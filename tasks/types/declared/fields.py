"""Test whether a field of data records contains ids, numbers, texts or lists."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.types.forms.shapes import listed

Rows = Sequence[Mapping[str, Any]]
MAX_LABELS = 50
#: A field is classified as text if its values have at least `TEXT` words on average.
#: Values of a label field have fewer than `LONG_LABEL` words on average.
TEXT, LONG_LABEL = 4, 8
#: At least the share `MOSTLY` of the values in an id field must be distinct.
MOSTLY = 0.9
NOTHING: Sequence[Any] = (None, "", [], {})
#: `ANSWERS` lists typical names of answer fields by form of task.
ANSWERS = {
    "labels": ("label", "gold", "answer", "class", "intent", "category"),
    "ranking": ("answers", "gold", "relevant", "answer", "qrels"),
    "text": ("references", "reference", "summary", "target", "answer", "gold"),
    "spans": ("spans", "gold", "answer"),
    "tags": ("tags", "ner_tags", "labels", "gold", "answer"),
    "evidence": ("evidence", "gold"),
    "numbers": ("score", "similarity", "rating", "gold", "answer"),
}
IS_ID = re.compile(
    r"(^|[_\W])(id|ids|key|index|idx|uuid|uid)s?$|[a-z](Id|ID|Key)$|[a-z]id$",
)
#: `IS_ANSWER` matches names of fields that contain or explain an answer.
IS_ANSWER = re.compile(
    r"label|gold|answer|class(?!ic)|categor|intent|verdict|stance|annot|target|relevan"
    r"|qrel|judg|grade|score|rating|similar|truth|solution|rational|explan|justif"
    r"|reason|evidence|finding|trace|summar|reference|span|pred|correct|positive"
    r"|negative|response|output|comment|(^|_)(note|why|y|tags?)s?$|cited_?(id|doc)",
    re.IGNORECASE,
)
#: `IS_FACT` matches the names of metadata fields, which rarely contain the answer.
IS_FACT = re.compile(
    r"(^|_)(data_?set|split|set|venue|year|date|lang(uage)?|domain|section|author|keyword"
    r"|url|version|title|name|publisher|journal|specificity|quality)s?$",
    re.IGNORECASE,
)


def names_of(rows: Rows) -> list[str]:
    """Return the names of the fields that have a value in at least one row, in the
    order in which the rows mention them.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if any(row.get(name) not in NOTHING for row in rows)]


def present(rows: Rows, name: str) -> list[Any]:
    return [value for row in rows if (value := row.get(name)) not in NOTHING]


def scalars(rows: Rows, name: str) -> list[str] | None:
    """Return the non-empty values of a field as texts, or None if any value is a list
    or an object.
    """
    there = [value for row in rows if (value := row.get(name)) not in (None, "")]
    return (
        None
        if any(isinstance(value, dict | list) for value in there)
        else list(map(str, there))
    )


def is_key(rows: Rows, name: str) -> bool:
    """Return True if every row has a value in the field and no two rows have the same
    value.
    """
    own = scalars(rows, name) or ()
    return 0 < len(own) == len(set(own)) == len(rows)


def words(rows: Rows, name: str) -> float:
    """Return the mean number of words in the values of a field. Lists and objects in
    the field are converted to text before words are counted.
    """
    texts = [str(value) for row in rows if (value := row.get(name)) not in (None, "")]
    return sum(len(text.split()) for text in texts) / len(texts)


def as_list(value: Any) -> list[Any] | None:
    """Return the value if it is a list, or the list that a text such as `["a", "b"]`
    encodes. Return None if the value neither is nor encodes a list.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, str) and value.strip().startswith("["):
        found = listed(value.strip())
        return found if isinstance(found, list) else None
    return None


def is_named(value: Any) -> bool:
    """Return True if the value has a type that an instance id can have (text or
    integer).
    """
    return isinstance(value, str | int) and not isinstance(value, bool)


def as_float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def are_ids(values: Sequence[Any]) -> bool:
    """Return True if each value is a text or an integer without spaces and with at
    least one digit.
    """
    return all(
        is_named(value)
        and len(str(value).split()) == 1
        and re.search(r"\d", str(value))
        for value in values
    )
