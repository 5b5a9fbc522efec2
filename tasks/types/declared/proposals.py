"""What gold says of itself: its fields with counts, and a declaration that is proposed for it.

A proposal is right more often than not and never generous: what could give an answer away is not shown.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from operator import sub
from typing import Any

from tasks.types.declared.baselines import BASELINES, TFIDF
from tasks.types.declared.measures import CATALOGUE, PROBABILITIES, SCORES
from tasks.types.declared.read_forms import FORMS
from tasks.types.files import Files, InputFile
from tasks.types.forms.bio import BIO, SUFFIXES, Keys, sentence_records
from tasks.types.forms.instances import at_path
from tasks.types.forms.tags import BEGIN, NO_TYPE, OUTSIDE, strays, tag_parts
from tasks.types.jsonlines import Record, is_records_file, read_records
from tasks.types.problems import InputRefused, Problem, Problems
from tasks.types.tables import TABLES, TableForm, delimiter_of, table_records
from tasks.types.text import decoded
from tasks.types.toml_lines import table

Rows = Sequence[Mapping[str, Any]]
Values = dict[str, Any]
#: Classes of a dimension, and labels that have a measure each.
MAX_CLASSES, MAX_LABEL_MEASURES = 20, 8
MAX_LABELS = 50
#: Fields of which something is said.
MAX_FIELDS = 200
#: The cut-offs of measures that are offered.
CUTS = (1, 5, 10, 100)
#: From so many words on average a field is a text.
TEXT = 4
#: What tells of a label in so large a share of instances gives it away.
GIVES_AWAY = 0.9
#: A part of a field stands so much more often beside one label than beside another.
MORE_OFTEN, OFTEN = 3, 20
ANSWERS = {
    "labels": ("label", "gold", "answer", "class", "intent", "category"),
    "ranking": ("answers", "gold", "relevant", "answer", "qrels"),
    "text": ("references", "reference", "summary", "target", "answer", "gold"),
    "spans": ("spans", "gold", "answer"),
    "tags": ("tags", "ner_tags", "labels", "gold", "answer"),
    "evidence": ("evidence", "gold"),
    "numbers": ("score", "similarity", "rating", "gold", "answer"),
}
MEASURES = {
    "labels": ("macro_f1", "accuracy", "mcc"),
    "ranking": ("mrr@10", "recall@10", "ndcg@10"),
    "text": ("rouge_l", "rouge_1", "rouge_2", "length"),
    "spans": ("partial_f1", "strict_f1", "character_f1"),
    "tags": ("entity_f1", "entity_precision", "entity_recall"),
    "evidence": (
        "abstract_rationalized_f1",
        "abstract_label_only_f1",
        "sentence_selection_f1",
    ),
    "numbers": ("spearman", "pearson", "mae"),
}
#: What a task has several tables of; other lists of tables stand in a line.
_ARRAYS = ("rules", "baselines")
#: A tag of a token.
_TAG = re.compile(r"O|[BI](-.*)?")
_IS_ID = re.compile(r"(^|[_-])(id|key)s?$", re.IGNORECASE)
_IS_UNIT = re.compile(
    r"(^|_)(id|key|paper|document|doc|article|topic|author)s?$", re.IGNORECASE
)
_IS_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")
#: Of two labels the one that is not of interest.
_PLAIN = re.compile(
    r"(no|none|not|non|false|0|valid|negative|other|real|human)([ _-].*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Field:
    """``there`` is in how many instances it stands, ``different`` how many values it has."""

    name: str
    there: int
    different: int
    example: str


@dataclass(frozen=True)
class Found:
    """The fields of the instances and of what is beside them, and the table `task` that is proposed."""

    instances: int
    fields: list[Field]
    pool: list[Field]
    files: list[str]
    task: Values


def look(
    form: str,
    slug: str,
    title: str,
    files: Files,
    known: Values | None = None,
    delimiter: str = "",
) -> Found:
    """What the files hold; with a ``known`` table nothing is proposed. Raises InputRefused.

    The ``delimiter`` is that of a CSV file whose rows several part alike.
    """
    problems = Problems()
    said = {"delimiter": delimiter, **(known or {}).get("gold", {})}
    read = {
        file.name.rpartition("/")[2]: (
            file,
            [record.value for record in _records(file, problems, form, said)],
        )
        for file in files
        if file.suffix.removeprefix(".") in TABLES
        or is_records_file(file.name)
        or _is_bio(file, form)
    }
    if not any(rows for _, rows in read.values()) or problems.has_errors:
        nothing = Problem(
            message="there are no instances", expected="JSON lines, JSON, CSV or TSV"
        )
        raise InputRefused([*problems, *problems.rest()] or [nothing])
    rows_of = {name: rows for name, (_, rows) in read.items()}
    main, pool, key, field = _places(form, rows_of)
    if known is not None:
        pool = str(known.get("pool", {}).get("file", ""))
        main = next((name for name in rows_of if name != pool), main)
    rows = rows_of[main]
    if not (task := known):
        task = {
            "slug": slug,
            "title": title,
            "form": form,
            **_proposed(form, rows, field),
        }
        if pool:
            own = rows_of[pool]
            text = next(
                (
                    name
                    for name in _names(own)
                    if name != key and _words(own, name) >= TEXT
                ),
                key,
            )
            lists = [
                name
                for name in _names(own)
                if any(isinstance(row.get(name), list) for row in own)
            ]
            texts = (
                {"sentences": (*lists, text)[0]}
                if form == "evidence"
                else {"text": text}
            )
            task["pool"] = {"file": pool, "id": key, **texts}
        if _is_bio(read[main][0], form):
            task["gold"] = {"files": BIO, **task["gold"]}
        elif files_are := _file_form(read[main][0], said):
            task["gold"] = {**files_are, **task["gold"]}
    return Found(
        len(rows), _fields(rows), _fields(rows_of.get(pool, ())), list(read), task
    )


def declaration(task: Values) -> str:
    """The text of a `task.toml`."""
    below = {
        name: value
        for name, value in task.items()
        if name in _ARRAYS or isinstance(value, dict)
    }
    parts = [
        table(
            "[task]", {name: value for name, value in task.items() if name not in below}
        )
    ]
    for name, value in below.items():
        if name in _ARRAYS:
            parts += [table(f"[[task.{name}]]", own) for own in value]
        else:
            parts.append(table(f"[task.{name}]", value))
    return "\n".join(parts)


def _records(
    file: InputFile, problems: Problems, form: str, gold: Values
) -> Iterator[Record]:
    if _is_bio(file, form):
        return sentence_records(file, problems, _tag_fault, Keys())
    if file.suffix.removeprefix(".") not in TABLES:
        return read_records(file, problems)
    records = table_records(file, _table_form(file, gold), problems)
    if form != "numbers":
        return records
    # The cells of a table are texts.
    return (
        replace(one, value={k: _as_number(cell) for k, cell in one.value.items()})
        for one in records
    )


def _is_bio(file: InputFile, form: str) -> bool:
    return form == "tags" and file.suffix in SUFFIXES


def _tag_fault(tag: str) -> tuple[str, str] | None:
    if _TAG.fullmatch(tag):
        return None
    return f"the tag is “{tag[:100]}”", "O, or B- or I- and a type"


def _tags_of(rows: Rows, answer: str) -> list[list[str]]:
    return [value for row in rows if isinstance(value := row.get(answer), list)]


def _tag_answer(rows: Rows, answer: str) -> Values:
    """Return [task.answer] of the form tags: the words are the list as long as that of the tags."""
    words = [
        name
        for name in _names(rows)
        if name != answer
        and all(
            isinstance(own := row.get(name), list) and len(own) == len(row[answer])
            for row in rows
        )
    ]
    tags = [tag for own in _tags_of(rows, answer) for tag in own]
    types = Counter(tag[2:] or NO_TYPE for tag in tags if tag != OUTSIDE)
    labels = tuple(label for label, _ in types.most_common())
    stray = 0
    for own in _tags_of(rows, answer):
        stray += len(strays([tag_parts(tag, labels) or (OUTSIDE, "") for tag in own]))
    # By IOB1 most entities begin with I-; single ones are faults of the gold.
    is_lenient = stray > sum(tag.startswith(BEGIN) for tag in tags)
    said: Values = {"tokens": next(iter(words), "tokens"), "labels": [*labels]}
    return said | ({"repair": True} if is_lenient else {})


def _as_number(cell: Any) -> Any:
    for kind in (int, float):
        with suppress(ValueError):
            if math.isfinite(number := kind(cell)):
                return number
    return cell


def _table_form(file: InputFile, gold: Values) -> TableForm:
    kind = file.suffix.removeprefix(".")
    if gold.get("files", kind) != kind:
        return TableForm(kind)
    return TableForm(kind, gold.get("delimiter", ""), gold.get("quotes"))


def _file_form(file: InputFile, gold: Values) -> dict[str, str]:
    """What a declaration says of files that are no JSON lines."""
    form = file.suffix.removeprefix(".")
    if form not in TABLES:
        return {"files": "json"} if form == "json" else {}
    delimiter = delimiter_of(decoded(file.read()), _table_form(file, gold))
    is_other = delimiter != TABLES[form]
    return {"files": form, **({"delimiter": delimiter} if is_other else {})}


def _names(rows: Rows) -> list[str]:
    """Fields of which some row says something, in the order in which they come."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [
        name
        for name in names
        if any(row.get(name) not in (None, "", [], {}) for row in rows)
    ]


def _fields(rows: Rows) -> list[Field]:
    found = []
    for name in _names(rows):
        own = [row.get(name) for row in rows]
        inner = dict.fromkeys(
            part for value in own if isinstance(value, dict) for part in value
        )
        for path in [name, *(f"{name}.{part}" for part in inner)][: MAX_CLASSES + 1]:
            values = [
                str(value)
                for row in rows
                if (value := at_path(row, path)) not in (None, "")
            ]
            if values:
                found.append(Field(path, len(values), len(set(values)), values[0][:80]))
    return found[:MAX_FIELDS]


def _scalars(rows: Rows, name: str) -> list[str] | None:
    """What a field says in each row where it says something; None where it says more than a word can."""
    there = [value for row in rows if (value := row.get(name)) not in (None, "")]
    return (
        None
        if any(isinstance(value, dict | list) for value in there)
        else list(map(str, there))
    )


def _is_key(rows: Rows, name: str) -> bool:
    """Whether it says something else in each row."""
    own = _scalars(rows, name) or ()
    return 0 < len(own) == len(set(own)) == len(rows)


def _words(rows: Rows, name: str) -> float:
    """How many words it has on average; one whose values hold texts is as long as they are."""
    texts = [str(value) for row in rows if (value := row.get(name)) not in (None, "")]
    return sum(len(text.split()) for text in texts) / len(texts)


def _flat(value: Any) -> Iterable[str]:
    """The ids that an answer names."""
    if isinstance(value, dict):
        return map(str, value)
    if isinstance(value, list):
        return (
            name
            for own in value
            for name in (_flat(own) if isinstance(own, list) else [str(own)])
        )
    return [] if value in (None, "") else [str(value)]


def _places(form: str, rows_of: Mapping[str, Rows]) -> tuple[str, str, str, str]:
    """The file of instances, that of the pool, the ids there, and the field that names them."""
    main = next(
        (name for name in rows_of if name.startswith("gold")), next(iter(rows_of))
    )
    for pool, rows in rows_of.items() if form in ("ranking", "evidence") else ():
        ids = {
            name: {str(row[name]) for row in rows}
            for name in _names(rows)
            if _is_key(rows, name)
        }
        for name, instances in rows_of.items():
            for field in _names(instances) if name != pool else ():
                named = {
                    part.partition(":")[0]
                    for row in instances
                    for part in _flat(row.get(field))
                }
                for key, known in ids.items():
                    if named and named <= known:
                        return name, pool, key, field
    return main, "", "", ""


def _proposed(form: str, rows: Rows, answer: str) -> Values:
    names = _names(rows)
    unique = [name for name in names if name != answer and _is_key(rows, name)]
    shortest = min(unique, key=lambda name: _words(rows, name), default="id")
    key = next(filter(_IS_ID.search, unique), shortest)
    answer = answer or _answer(form, rows, [name for name in names if name != key])
    labels = _labels(rows, answer) if form in ("labels", "evidence") else []
    others = [name for name in names if name not in (key, answer)]
    unit = next((name for name in others if _is_unit(rows, name)), "")
    groups = [str(row.get(answer)) for row in rows] if form == "labels" else []
    groups = groups if len(set(groups)) <= MAX_LABELS else []
    before = names[: names.index(answer)] if answer in names else []
    shown = [
        name
        for name in others
        if name != unit
        and (
            name in before
            or (_words(rows, name) >= TEXT and all(row.get(name) for row in rows))
        )
        and not (
            _names_answers(rows, name, answer)
            if form == "ranking"
            else _tells(rows, name, groups)
        )
        and not (form == "text" and name in ANSWERS["text"])
    ]
    hidden = [path for name in shown for path in _telling_parts(rows, name, groups)]
    task: Values = {"unit": unit} if unit else {}
    long = _long(rows, shown)
    short = [name for name in others if name not in (unit, *long)]
    dimensions = [
        said for name in short if (said := _dimension(rows, name, answer, groups))
    ]
    if form == "labels":
        dimensions.append({"name": answer, "field": answer})
    gold = {
        "id": key,
        "field": answer,
        "shown": shown,
        **({"hidden": hidden} if hidden else {}),
    }
    said, measures = _of_form(form, rows, answer, labels, shown)
    baselines = [
        {"name": name}
        for name in BASELINES[form]
        if name != TFIDF and "candidates" not in said
    ]
    return {
        **task,
        **({"dimensions": dimensions} if dimensions else {}),
        "gold": gold,
        "answer": said,
        "rules": [{"name": "corrected", "measures": measures}],
        **({"baselines": baselines} if baselines else {}),
    }


def _long(rows: Rows, shown: Sequence[str]) -> list[str]:
    return [name for name in shown if _words(rows, name) >= TEXT]


def _answer(form: str, rows: Rows, names: Sequence[str]) -> str:
    fit = [name for name in names if _fits(form, [row.get(name) for row in rows])]
    usual = [name for wanted in ANSWERS[form] for name in fit if name.lower() == wanted]
    usual += [
        name for wanted in ANSWERS[form] for name in fit if wanted in name.lower()
    ]
    fewest = sorted(fit, key=lambda name: len({str(row.get(name)) for row in rows}))
    if not fit:
        message = f"no field of the instances looks like an answer of the form {form}"
        raise InputRefused(
            [Problem(message=message, expected=f"a field such as “{ANSWERS[form][0]}”")]
        )
    return (usual or fewest)[0]


def _fits(form: str, values: Sequence[Any]) -> bool:
    there = [value for value in values if value not in (None, "", [])]
    flat = [
        own
        for value in there
        for own in (value if isinstance(value, list) else [value])
    ]
    if form == "labels":
        words = [own for own in flat if isinstance(own, str)]
        return (
            len(words) == len(flat)
            and len(there) == len(values)
            and 1 < len(set(words)) <= MAX_LABELS
        )
    if form == "numbers":
        return bool(flat) and len(there) == len(values) and all(map(_is_number, flat))
    if form == "spans":
        return bool(flat) and all(
            isinstance(own, list) and len(own) in (2, 3) for own in flat
        )
    if form == "tags":
        are_lists = all(isinstance(value, list) for value in there)
        are_tags = all(isinstance(own, str) and _TAG.fullmatch(own) for own in flat)
        return are_lists and are_tags and any(own != OUTSIDE for own in flat)
    if form == "evidence":
        return any(isinstance(value, list) or _kinds(value) for value in there)
    if form == "ranking":
        return bool(flat) and all(isinstance(own, str | int | dict) for own in flat)
    return bool(flat) and all(isinstance(own, str) for own in flat)


def _kinds(value: Any) -> set[str]:
    """The labels of evidence by document."""
    lists = value.values() if isinstance(value, dict) else ()
    sets = [
        own
        for sets in lists
        if isinstance(sets, list)
        for own in sets
        if isinstance(own, dict)
    ]
    return {str(own["label"]) for own in sets if "label" in own}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _labels(rows: Rows, answer: str) -> list[str]:
    """The most frequent first."""
    values = [row.get(answer) for row in rows]
    flat = [
        str(own)
        for value in values
        for own in (value if isinstance(value, list) else [value])
        if own
    ]
    return [label for label, _ in Counter(flat).most_common()]


def _is_unit(rows: Rows, name: str) -> bool:
    """Whether it names what several instances belong to."""
    own = _scalars(rows, name) or []
    is_several = len(own) == len(rows) and 1 < len(set(own)) <= len(rows) / 2
    return is_several and _IS_UNIT.search(name) is not None


def _tells(rows: Rows, name: str, groups: Sequence[str]) -> bool:
    """Whether a field gives the label away: by being there, by what it says, or by one of its words."""
    if not groups:
        return False
    signs = [
        {"", *str(row[name]).split()} if row.get(name) not in (None, "") else set()
        for row in rows
    ]
    by_sign = Counter(
        (sign, label) for own, label in zip(signs, groups, strict=True) for sign in own
    )
    whole = Counter(groups)
    # How many instances one gets right who looks at a word alone.
    best = 0
    for sign in {sign for sign, _ in by_sign}:
        there = [by_sign[sign, label] for label in whole]
        best = max(best, max(there) + max(map(sub, whole.values(), there)))
    own = _scalars(rows, name)
    if own is not None and len(set(own)) <= min(MAX_CLASSES, len(rows) / 4):
        by_value = Counter(
            (str(row.get(name)), label) for row, label in zip(rows, groups, strict=True)
        )
        values = {value for value, _ in by_value}
        best = max(
            best,
            sum(max(by_value[value, label] for label in whole) for value in values),
        )
    return best > max(*whole.values(), GIVES_AWAY * len(rows))


def _names_answers(rows: Rows, name: str, answer: str) -> bool:
    """Whether a text has the id of what is to be found; a list of candidates is to have it."""
    told = [
        row
        for row in rows
        if any(own in str(row.get(name)) for own in _flat(row.get(answer)))
    ]
    return len(told) > len(rows) / 2 and not any(
        isinstance(row.get(name), list) for row in told
    )


def _telling_parts(rows: Rows, name: str, groups: Sequence[str]) -> Iterator[str]:
    """Parts of a field that stand far more often beside one label than beside another."""
    parts = dict.fromkeys(
        part for row in rows if isinstance(row.get(name), dict) for part in row[name]
    )
    whole = Counter(groups)
    for path in (f"{name}.{part}" for part in parts if groups):
        labelled = zip(rows, groups, strict=True)
        there = Counter(
            label for row, label in labelled if at_path(row, path) not in (None, "")
        )
        shares = [there[label] / whole[label] for label in whole]
        if there.total() >= OFTEN and max(shares) >= MORE_OFTEN * min(shares):
            yield path


def _dimension(
    rows: Rows, name: str, answer: str, groups: Sequence[str]
) -> Values | None:
    own = _scalars(rows, name)
    if own is None or len(own) < len(rows) / 2:
        return None
    said: Values = {"name": name, "field": name}
    if all(_IS_DATE.fullmatch(value) for value in own):
        said["as"] = "year"
        own = [value[:4] for value in own]
    if not 1 < len(set(own)) <= min(MAX_CLASSES, len(own) / 2):
        return None
    without = {
        label
        for row, label in zip(rows, groups, strict=False)
        if row.get(name) in (None, "")
    }
    if len(without) == 1:
        (label,) = without
        within = {
            label
            for row, label in zip(rows, groups, strict=True)
            if row.get(name) not in (None, "")
        }
        if label not in within:
            # Grades get those without one beside each, which a measure needs; kinds stay by themselves.
            is_grade = all(
                _is_number(row.get(name)) for row in rows if row.get(name) is not None
            )
            return said | (
                {"with": {answer: label}} if is_grade else {"absent": label.lower()}
            )
    return said


def _of_form(
    form: str, rows: Rows, answer: str, labels: Sequence[str], shown: Sequence[str]
) -> tuple[Values, list[Any]]:
    """What [task.answer] says, and the measures, of which the first ranks."""
    measures: list[Any] = list(MEASURES[form])
    values = [row.get(answer) for row in rows]
    if form == "labels":
        return _label_answer(
            labels, measures, has_lists=any(isinstance(value, list) for value in values)
        )
    if form == "numbers":
        flat: list[Any] = [
            own
            for value in values
            for own in (value if isinstance(value, list) else [value])
        ]
        return {"least": min(flat), "most": max(flat)}, measures
    if form == "ranking":
        texts = [
            name
            for name in shown
            if not any(isinstance(row.get(name), list) for row in rows)
        ]
        query = next(iter([*_long(rows, texts), *texts]), "")
        found = {"query": query} if query else {}
        for name in _names(rows):
            both = [(row.get(name), row.get(answer)) for row in rows if name != answer]
            if both and all(
                isinstance(own, list) and {*_flat(gold)} <= {*_flat(own)}
                for own, gold in both
            ):
                return found | {"candidates": name}, measures
        return found, measures
    if form == "spans":
        text = next(iter(_long(rows, shown)), "text")
        kinds = sorted(
            {str(own[2]) for value in values for own in value or () if len(own) > 2}
        )
        return {"text": text, **({"labels": kinds} if kinds else {})}, measures
    if form == "tags":
        return _tag_answer(rows, answer), measures
    if form == "evidence":
        if kinds := sorted(set().union(*map(_kinds, values))):
            return {
                "shape": "sets",
                "labels": kinds,
                "abstain": "NOT_ENOUGH_INFO",
            }, measures
        kinds = sorted({str(row["label"]) for row in rows if "label" in row})
        return {"shape": "one", "labels": kinds}, [
            "fever_score",
            "label_accuracy",
            "evidence_f1",
        ]
    return {"field": "text"}, measures


def _label_answer(
    labels: Sequence[str], measures: list[Any], *, has_lists: bool
) -> tuple[Values, list[Any]]:
    """Return [task.answer] of the form labels, and the measures."""
    said: Values = {"labels": list(labels)}
    if has_lists:
        return said | {"several": True}, ["macro_f1", "micro_f1", "exact_match"]
    said["probabilities"] = "optional"
    if len(labels) == 2:
        plain = next((label for label in labels if _PLAIN.fullmatch(label)), labels[0])
        said |= {
            "positive": next(label for label in labels if label != plain),
            "confidence": "optional",
        }
        return said, ["f1", "precision", "recall", *measures]
    return said, measures + (
        _of_labels(labels) if len(labels) <= MAX_LABEL_MEASURES else []
    )


def _of_labels(labels: Sequence[str]) -> list[Any]:
    """Return F1 of each label; labels that differ in case or signs alone get numbers."""
    measures: dict[str, Any] = {}
    for label in labels:
        slug = re.sub(r"\W+", "_", label.lower()).strip("_")
        name = f"f1_{slug or 'label'}"
        if name in measures:
            number = next(n for n in count(2) if f"{name}_{n}" not in measures)
            name = f"{name}_{number}"
        measures[name] = {"name": name, "measure": "f1", "label": label}
    return [*measures.values()]


def measures_of(task: Values) -> dict[str, Any]:
    """By its name each measure that the task may have, as a rule set says it, those that it has first."""
    said, form = task.get("answer", {}), task["form"]
    has = {
        own if isinstance(own, str) else own["name"]: own
        for own in task["rules"][0]["measures"]
    }
    known = CATALOGUE["evidence-one" if said.get("shape") == "one" else form]
    sure = {SCORES: {"probabilities", "confidence"}, PROBABILITIES: {"probabilities"}}
    given = {name for name in sure[SCORES] if said.get(name, "none") != "none"}
    found: Values = {}
    for name, measure in known.items():
        fits = (
            measure.several is None
            or measure.several == said.get("several", False)
            or form != "labels"
        )
        fits = fits and (not measure.asks or bool(given & sure[measure.asks]))
        if fits and not ("label" in measure.options and not said.get("positive")):
            cuts = [f"{name}@{cut}" for cut in CUTS] if measure.cut else []
            found |= dict.fromkeys(
                [*([name] if measure.cut != "always" else []), *cuts]
            )
    own = (
        {one["name"]: one for one in _of_labels(said.get("labels", []))}
        if form == "labels"
        else {}
    )
    return {
        **has,
        **{
            name: value or name
            for name, value in {**found, **own}.items()
            if name not in has
        },
    }


assert FORMS.keys() == MEASURES.keys() == ANSWERS.keys()
