"""Count the values of each gold field, and propose a `task.toml` for a new task.

The proposals are conservative, so a field that could reveal the answer is not proposed
as public.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from operator import sub
from typing import Any

from tasks.types.declared.baselines import BASELINES, TFIDF
from tasks.types.declared.fields import (
    ANSWERS,
    MAX_LABELS,
    TEXT,
    Rows,
    names_of,
    scalars,
    words,
)
from tasks.types.declared.gold_files import (
    TOPIC,
    GoldFile,
    Recognised,
    ids_in,
    query_rows,
    read_gold_files,
    recognise,
    table_form,
    without_candidates,
)
from tasks.types.declared.measures import CATALOGUE, PROBABILITIES, SCORES
from tasks.types.declared.read_forms import FORMS
from tasks.types.declared.recognised import (
    IS_CANDIDATES,
    LIKELY,
    Guess,
    evidence_labels,
)
from tasks.types.declared.secrecy import (
    could_contain_answer,
    is_named_like_answer,
    secret_parts,
)
from tasks.types.declared.tag_proposals import tag_answer, token_fields
from tasks.types.files import Files, InputFile
from tasks.types.forms.instances import TREC, at_path
from tasks.types.forms.shapes import label_text
from tasks.types.problems import InputRefused, Problem, Problems
from tasks.types.tables import TABLES, delimiter_of
from tasks.types.text import decoded
from tasks.types.toml_lines import table

Values = dict[str, Any]
#: `MAX_CLASSES` limits the number of classes in a proposed breakdown of scores.
#: A separate F1 for each label is proposed for at most `MAX_LABEL_MEASURES` labels.
MAX_CLASSES, MAX_LABEL_MEASURES = 20, 8
#: `MAX_FIELDS` is the maximum number of gold fields that a proposal describes.
MAX_FIELDS = 200
#: For each measure with a rank cut-off, users can select the cut-offs in `CUTS`.
CUTS = (1, 5, 10, 20, 100)
#: A field reveals the label if a classifier that uses only this field is often right.
#: A field is secret if it alone predicts labels with an accuracy over `GIVES_AWAY`.
GIVES_AWAY = 0.9
#: A field is secret if it occurs `MORE_OFTEN` times as often with one label.
#: Fields in fewer than `OFTEN` instances are exempt from the test with `MORE_OFTEN`.
MORE_OFTEN, OFTEN = 3, 20
#: `HAS_MORE` is the least share of candidate lists with items besides the answers.
HAS_MORE = 0.9
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
#: Lists under the keys in `_ARRAY_TABLE_KEYS` become arrays of tables such as [[task.rules]].
#: Lists under keys that are not in `_ARRAY_TABLE_KEYS` are written inline in TOML.
_ARRAY_TABLE_KEYS = ("rules", "baselines")
_UNIT_FIELD_PATTERN = re.compile(
    r"(^|_)(id|key|paper|document|doc|article|topic|author)s?$", re.IGNORECASE
)
_DATE_PATTERN = re.compile(r"\d{4}-\d{2}(-\d{2})?")
#: `_NEGATIVE_LABEL_PATTERN` matches typical names of the negative class in binary classification.
#: If a task has two labels, `_NEGATIVE_LABEL_PATTERN` matches the label of the negative class.
_NEGATIVE_LABEL_PATTERN = re.compile(
    r"(no|none|not|non|false|0|valid|negative|other|real|human)([ _-].*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Field:
    """A summary of one field in the gold files, with counts and an example value.
    ``there`` is the number of instances with a value in the field. ``different`` is the
    number of distinct values in the field.
    """

    name: str
    there: int
    different: int
    example: str


@dataclass(frozen=True)
class Found:
    """The fields of the gold instances and of the pool (list of candidates), and the
    proposed contents of `task.toml`.
    """

    instances: int
    fields: list[Field]
    pool: list[Field]
    files: list[str]
    task: Values
    guesses: list[Guess]
    #: `lacks` lists problems of recognised gold that prevent the creation of a task.
    lacks: list[Problem]


def look(
    form: str,
    slug: str,
    title: str,
    files: Files,
    known: Values | None = None,
    delimiter: str = "",
) -> Found:
    """Describe the fields of gold files, and propose a `task.toml` for the task. If
    ``known`` contains an existing `task.toml`, describe the gold files according to
    ``known`` and propose nothing. Raises InputRefused.

    ``delimiter`` is needed if several delimiters split a CSV file consistently.
    """
    problems = Problems()
    said = {"delimiter": delimiter, **(known or {}).get("gold", {})}
    read = read_gold_files(files, form, said, problems)
    if not any(own.records for own in read.values()) or problems.has_errors:
        nothing = Problem(
            message="there are no instances", expected="JSON lines, JSON, CSV or TSV"
        )
        raise InputRefused([*problems, *problems.rest()] or [nothing])
    if known is not None:
        return _summarise_declared_fields(known, read)
    found = recognise(form, read)
    task = {
        "slug": slug,
        "title": title,
        "form": form,
        **_propose_task_settings(form, found),
    }
    if found.pool:
        task["pool"] = _propose_pool(form, read[found.pool].rows, found)
    if files_are := _propose_file_format(read[found.main].file, said):
        task["gold"] = {**files_are, **task["gold"]}
    return Found(
        len(found.rows),
        _summarise_fields(_list_unchanged_rows(read[found.main]), found.rows),
        _summarise_fields(read[found.pool].rows if found.pool else ()),
        list(read),
        task,
        [
            *found.guesses,
            *_guess_candidates(task, found),
            _guess_public_fields(task, found),
        ],
        _find_missing_documents(task, found),
    )


def _list_unchanged_rows(source: GoldFile) -> Rows:
    """Return the unchanged rows of a gold file, or no rows if the file contains qrels
    (relevance judgements), whose columns have no names.
    """
    return () if source.keys.get("files") == TREC else source.rows


def _summarise_declared_fields(task: Values, read: Mapping[str, GoldFile]) -> Found:
    """Return the fields of the gold files as an existing `task.toml` describes them."""
    gold, pool = task.get("gold", {}), str(task.get("pool", {}).get("file", ""))
    others = (pool, gold.get("queries", ""))
    main = next((name for name in read if name not in others), next(iter(read)))
    key = TOPIC if gold.get("files") == TREC else gold.get("id", TOPIC)
    topics = {str(row.get(key)) for row in read[main].rows}
    beside: Rows = ()
    if queries := read.get(gold.get("queries", "")):
        beside = query_rows(queries, gold["id"])
    is_grouped = "document" in gold or gold.get("files") == TREC
    instances = len(topics) if is_grouped else len(read[main].rows)
    pooled = read[pool].rows if pool in read else ()
    fields = _summarise_fields(_list_unchanged_rows(read[main]), beside)
    return Found(instances, fields, _summarise_fields(pooled), list(read), task, [], [])


def _propose_pool(form: str, rows: Rows, found: Recognised) -> Values:
    key = found.pool_key
    names = names_of(rows)
    texts = [name for name in names if name != key and words(rows, name) >= TEXT]
    text = next((name for name in texts if not is_named_like_answer(name)), key)
    lists = [
        name for name in names if any(isinstance(row.get(name), list) for row in rows)
    ]
    shown = {"sentences": (*lists, text)[0]} if form == "evidence" else {"text": text}
    return {"file": found.pool, "id": key, **shown}


def declaration(task: Values) -> str:
    """Return the text of the `task.toml` with the proposed settings."""
    below = {
        name: value
        for name, value in task.items()
        if name in _ARRAY_TABLE_KEYS or isinstance(value, dict)
    }
    parts = [
        table(
            "[task]", {name: value for name, value in task.items() if name not in below}
        )
    ]
    for name, value in below.items():
        if name in _ARRAY_TABLE_KEYS:
            parts += [table(f"[[task.{name}]]", own) for own in value]
        else:
            parts.append(table(f"[task.{name}]", value))
    return "\n".join(parts)


def _propose_file_format(file: InputFile, gold: Values) -> dict[str, str]:
    """Return the settings of the table [task.gold] that state the format of a gold
    file. A gold file of JSON lines needs no settings, because JSON lines are the
    default format.
    """
    form = file.suffix.removeprefix(".")
    if form not in TABLES:
        return {"files": "json"} if form == "json" else {}
    delimiter = delimiter_of(decoded(file.read()), table_form(file, gold))
    is_other = delimiter != TABLES[form]
    return {"files": form, **({"delimiter": delimiter} if is_other else {})}


def _summarise_fields(file: Rows, beside: Rows = ()) -> list[Field]:
    """Return a summary of each field in ``file``, and of each further field in
    ``beside``.
    """
    found = []
    own_names = names_of(file)
    others = [name for name in names_of(beside) if name not in own_names]
    for name in (*own_names, *others):
        rows = file if name in own_names else beside
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


def _propose_task_settings(form: str, recognised: Recognised) -> Values:
    rows, key, answer = recognised.rows, recognised.key, recognised.answer
    names = names_of(rows)
    labels = (
        _list_labels_by_frequency(recognised) if form in ("labels", "evidence") else []
    )
    others = [
        name
        for name in names
        if name not in (key, answer, *recognised.keys.get("ids", ()))
    ]
    unit = next((name for name in others if _is_resampling_unit(rows, name)), "")
    if not unit:
        # The part of a composed id with the fewest values becomes the resampling unit.
        parts = [
            name
            for name in recognised.keys.get("ids", ())
            if _is_resampling_unit(rows, name)
        ]
        unit = min(parts, key=lambda name: len({row[name] for row in rows}), default="")
    groups = [str(row.get(answer)) for row in rows] if form == "labels" else []
    groups = groups if len(set(groups)) <= MAX_LABELS else []
    shown = _propose_public_fields(
        form, recognised, [name for name in others if name != unit], groups
    )
    hidden = [
        path
        for name in shown
        for path in dict.fromkeys(
            [*secret_parts(rows, name), *_iterate_revealing_fields(rows, name, groups)]
        )
    ]
    task: Values = {"unit": unit} if unit else {}
    long = _list_long_fields(rows, shown)
    short = [name for name in others if name not in (unit, *long)]
    dimensions = [
        said
        for name in short
        if (said := _propose_dimension(rows, name, answer, groups))
    ]
    if form == "labels":
        dimensions.append({"name": answer, "field": answer})
    gold = {
        **recognised.keys,
        "shown": shown,
        **({"hidden": hidden} if hidden else {}),
    }
    said, measures = _propose_answer_and_measures(form, rows, answer, labels, shown)
    # Ranking baselines need documents, and the lead baseline needs a text to copy.
    has_inputs = {"ranking": bool(recognised.pool), "text": bool(shown)}.get(form, True)
    baselines = [
        {"name": name} for name in BASELINES[form] if name != TFIDF and has_inputs
    ]
    return {
        **task,
        **({"dimensions": dimensions} if dimensions else {}),
        "gold": gold,
        "answer": said,
        "rules": [{"name": "corrected", "measures": measures}],
        **({"baselines": baselines} if baselines else {}),
    }


def _propose_public_fields(
    form: str, recognised: Recognised, others: Sequence[str], groups: Sequence[str]
) -> list[str]:
    """Return the names of gold fields that neither contain nor reveal the answer, and
    are therefore proposed as public.
    """
    rows, answer = recognised.rows, recognised.answer
    # The tokens of sentences are always public, because systems must tag the tokens.
    tokens = token_fields(rows, answer)[:1] if form == "tags" else []
    names = names_of(rows)
    before = names[: names.index(answer)] if answer in names else []

    def is_harmless(name: str) -> bool:
        if name in recognised.secret or could_contain_answer(form, rows, name):
            return False
        if name not in before and not all(row.get(name) for row in rows):
            return False
        if form == "ranking":
            return not _mentions_answer_ids(rows, name, answer)
        return not _reveals_label(rows, name, groups)

    return [name for name in others if name in tokens or is_harmless(name)]


def _guess_candidates(task: Values, recognised: Recognised) -> list[Guess]:
    """Return a guess that names the field with each instance's list of candidates, or
    no guess if there is no such field.
    """
    name = task["answer"].get("candidates")
    if task["form"] != "ranking" or not name:
        return []
    reason = f"“{name}” holds every answer and more in each row, and is named so"
    return [Guess("candidates", name, LIKELY, reason)]


def _find_missing_documents(task: Values, recognised: Recognised) -> list[Problem]:
    """Return the problem that a ranking task has no documents to rank. Raises
    InputRefused if the gold has neither a pool of documents nor a field that could
    contain candidates.
    """
    if task["form"] != "ranking" or recognised.pool or task["answer"].get("candidates"):
        return []
    fields = candidate_fields(recognised.rows, recognised.answer)
    problem = without_candidates(recognised, fields)
    if not fields:
        raise InputRefused([problem])
    return [problem]


def _guess_public_fields(task: Values, recognised: Recognised) -> Guess:
    shown = task["gold"]["shown"]
    ids = recognised.keys.get("ids", ())
    others = [
        name
        for name in names_of(recognised.rows)
        if name not in (recognised.key, recognised.answer, *shown, *ids)
    ]
    reason = (
        "texts that could not be the answer"
        if shown
        else "no field is surely none of the answer"
    )
    if others:
        reason += (
            f"; not ticked, since they could answer or tell: {', '.join(others[:10])}"
        )
    return Guess("shown", ", ".join(shown) or "–", LIKELY, reason)


def _list_long_fields(rows: Rows, shown: Sequence[str]) -> list[str]:
    return [name for name in shown if words(rows, name) >= TEXT]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list_labels_by_frequency(found: Recognised) -> list[str]:
    """Return the labels of a task in order of descending frequency. If answers are
    vectors of 0 and 1, return the labels in the order of the vector positions.
    """
    if found.labels:
        return [*found.labels]
    values = [row.get(found.answer) for row in found.rows]
    flat = [
        label_text(own)
        for value in values
        for own in (value if isinstance(value, list) else [value])
        if own not in (None, "") and not isinstance(own, dict | list)
    ]
    return [label for label, _ in Counter(flat).most_common()]


def _is_resampling_unit(rows: Rows, name: str) -> bool:
    """Return True if the values of the field identify groups of instances that should
    be resampled together in a bootstrap.
    """
    own = scalars(rows, name) or []
    is_several = len(own) == len(rows) and 1 < len(set(own)) <= len(rows) / 2
    return is_several and _UNIT_FIELD_PATTERN.search(name) is not None


def _reveals_label(rows: Rows, name: str, groups: Sequence[str]) -> bool:
    """Return True if the presence of a field, the value of the field, or a word in the
    field reveals the label.
    """
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
    # `best` is the number of right answers of the best classifier with one word.
    best = 0
    for sign in {sign for sign, _ in by_sign}:
        there = [by_sign[sign, label] for label in whole]
        best = max(best, max(there) + max(map(sub, whole.values(), there)))
    own = scalars(rows, name)
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


def _mentions_answer_ids(rows: Rows, name: str, answer: str) -> bool:
    """Return True if the field mentions the ids of right answers in most rows. Lists in
    the field are ignored, because a list of candidates necessarily contains the right
    answers.
    """
    told = [
        row
        for row in rows
        if any(own in str(row.get(name)) for own in ids_in(row.get(answer)))
    ]
    return len(told) > len(rows) / 2 and not any(
        isinstance(row.get(name), list) for row in told
    )


def _iterate_revealing_fields(
    rows: Rows, name: str, groups: Sequence[str]
) -> Iterator[str]:
    """Yield the paths of inner fields that occur much more often with one label than
    with another.
    """
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


def _propose_dimension(
    rows: Rows, name: str, answer: str, groups: Sequence[str]
) -> Values | None:
    own = scalars(rows, name)
    if own is None or len(own) < len(rows) / 2:
        return None
    said: Values = {"name": name, "field": name}
    if all(_DATE_PATTERN.fullmatch(value) for value in own):
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
            # A measure of grades needs both labels in each class.
            # Instances without a grade are therefore added to every class.
            # For other fields, instances without a value form a separate class.
            is_grade = all(
                _is_number(row.get(name)) for row in rows if row.get(name) is not None
            )
            return said | (
                {"with": {answer: label}} if is_grade else {"absent": label.lower()}
            )
    return said


def _propose_answer_and_measures(
    form: str, rows: Rows, answer: str, labels: Sequence[str], shown: Sequence[str]
) -> tuple[Values, list[Any]]:
    """Return the settings of [task.answer] in `task.toml`, and the proposed measures
    with the measure for ranking systems first.
    """
    measures: list[Any] = list(MEASURES[form])
    values = [row.get(answer) for row in rows]
    if form == "labels":
        return _propose_label_answer(
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
        query = next(iter([*_list_long_fields(rows, texts), *texts]), "")
        found = {"query": query} if query else {}
        named = next(filter(IS_CANDIDATES.search, candidate_fields(rows, answer)), "")
        return found | ({"candidates": named} if named else {}), measures
    if form == "spans":
        text = next(iter(_list_long_fields(rows, shown)), "text")
        kinds = sorted(
            {str(own[2]) for value in values for own in value or () if len(own) > 2}
        )
        return {"text": text, **({"labels": kinds} if kinds else {})}, measures
    if form == "tags":
        return {**tag_answer(rows, answer)}, measures
    if form == "evidence":
        if kinds := sorted(set().union(*map(evidence_labels, values))):
            return {
                "shape": "sets",
                "labels": kinds,
                "abstain": "NOT_ENOUGH_INFO",
            }, measures
        kinds = sorted({str(row["label"]) for row in rows if "label" in row})
        if not kinds:
            message = f"“{answer}” has no labels, and there is no field “label”"
            raise InputRefused([Problem(message=message, expected="a label for each")])
        return {"shape": "one", "labels": kinds}, [
            "fever_score",
            "label_accuracy",
            "evidence_f1",
        ]
    return {"field": "text"}, measures


def candidate_fields(rows: Rows, answer: str) -> list[str]:
    """Return the names of list fields that could contain candidates to rank. A field
    could contain candidates if each list includes every right answer, and nearly all
    lists include further items.
    """
    found = []
    for name in names_of(rows):
        if name == answer or not all(isinstance(row.get(name), list) for row in rows):
            continue
        both = [({*ids_in(row.get(name))}, {*ids_in(row.get(answer))}) for row in rows]
        more = sum(gold < own for own, gold in both)
        if all(gold <= own for own, gold in both) and more >= HAS_MORE * len(rows):
            found.append(name)
    return found


def _propose_label_answer(
    labels: Sequence[str], measures: list[Any], *, has_lists: bool
) -> tuple[Values, list[Any]]:
    """Return the settings of [task.answer] in `task.toml`, and the proposed measures,
    for a classification task.
    """
    said: Values = {"labels": list(labels)}
    if has_lists:
        return said | {"several": True}, ["macro_f1", "micro_f1", "exact_match"]
    said["probabilities"] = "optional"
    if len(labels) == 2:
        plain = next(
            (label for label in labels if _NEGATIVE_LABEL_PATTERN.fullmatch(label)),
            labels[0],
        )
        said |= {
            "positive": next(label for label in labels if label != plain),
            "confidence": "optional",
        }
        return said, ["f1", "precision", "recall", *measures]
    return said, measures + (
        _propose_f1_of_labels(labels) if len(labels) <= MAX_LABEL_MEASURES else []
    )


def _propose_f1_of_labels(labels: Sequence[str]) -> list[Any]:
    """Return an entry of `task.toml` for the F1 measure of each label. If the names of
    two measures are equal except for case or punctuation in the labels, the second name
    ends with a number.
    """
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
    """Return all measures that the task can use, as a mapping from name to entry in
    `task.toml`. Measures that the first rule set of the task already uses come first in
    the mapping.
    """
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
        {
            label["name"]: label
            for label in _propose_f1_of_labels(said.get("labels", []))
        }
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
