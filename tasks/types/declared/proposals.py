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

from tasks.types.declared.baselines import BASELINE_MAKERS_BY_FORM, TFIDF_BASELINE_NAME
from tasks.types.declared.fields import (
    ANSWER_FIELD_NAMES_BY_FORM,
    MAX_LABELS_OF_FIELD,
    MIN_MEAN_WORDS_OF_TEXT,
    RecordRows,
    compute_mean_word_count,
    list_nonempty_fields,
    list_scalar_values_as_texts,
)
from tasks.types.declared.gold_files import (
    QRELS_TOPIC_FIELD,
    GoldFileWithRows,
    RecognisedGold,
    choose_table_form,
    iterate_ids_in_value,
    make_missing_documents_problem,
    read_gold_files,
    read_query_rows,
    recognise_gold,
)
from tasks.types.declared.measures import (
    MEASURES_BY_FORM,
    NEEDS_PROBABILITIES,
    NEEDS_PROBABILITIES_OR_CONFIDENCE,
)
from tasks.types.declared.read_forms import READERS_BY_FORM
from tasks.types.declared.recognised import (
    CANDIDATES_FIELD_PATTERN,
    LIKELY_CONFIDENCE,
    SettingGuess,
    list_labels_of_evidence,
)
from tasks.types.declared.secrecy import (
    can_field_contain_answer,
    is_named_like_answer,
    list_secret_inner_fields,
)
from tasks.types.declared.tag_proposals import (
    list_token_fields,
    propose_tag_answer_settings,
)
from tasks.types.files import Files, InputFile
from tasks.types.forms.instances import TREC, get_value_at_path
from tasks.types.forms.shapes import convert_label_to_text
from tasks.types.problems import InputRefused, Problem, ProblemList
from tasks.types.tables import DEFAULT_DELIMITERS_BY_FORMAT, detect_delimiter
from tasks.types.text import decode_utf8_or_windows_1252
from tasks.types.toml_lines import format_toml_table

TomlValues = dict[str, Any]
#: `MAX_CLASSES_OF_DIMENSION` limits the number of classes in a proposed breakdown of scores.
#: A separate F1 for each label is proposed for at most `MAX_LABELS_WITH_OWN_F1` labels.
MAX_CLASSES_OF_DIMENSION, MAX_LABELS_WITH_OWN_F1 = 20, 8
#: `MAX_FIELDS_DESCRIBED` is the maximum number of gold fields that a proposal describes.
MAX_FIELDS_DESCRIBED = 200
#: For each measure with a rank cut-off, users can select the cut-offs in `SELECTABLE_CUTOFFS`.
SELECTABLE_CUTOFFS = (1, 5, 10, 20, 100)
#: A field reveals the label if a classifier that uses only this field is often right.
#: A field is secret if it alone predicts labels with an accuracy over `MIN_ACCURACY_OF_SECRET_FIELD`.
MIN_ACCURACY_OF_SECRET_FIELD = 0.9
#: A field is secret if it occurs `MIN_FREQUENCY_RATIO_OF_SECRET_FIELD` times as often with one label.
#: Fields in fewer than `MIN_INSTANCES_OF_TESTED_FIELD` instances are exempt from this frequency test.
MIN_FREQUENCY_RATIO_OF_SECRET_FIELD, MIN_INSTANCES_OF_TESTED_FIELD = 3, 20
#: `MIN_SHARE_OF_LISTS_WITH_OTHER_ITEMS` is the least share of candidate lists with items besides the answers.
MIN_SHARE_OF_LISTS_WITH_OTHER_ITEMS = 0.9
PROPOSED_MEASURES_BY_FORM = {
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
class GoldFieldSummary:
    """A summary of one field in the gold files, with counts and an example value.
    ``there`` is the number of instances with a value in the field. ``different`` is the
    number of distinct values in the field.
    """

    name: str
    there: int
    different: int
    example: str


@dataclass(frozen=True)
class TaskProposal:
    """The fields of the gold instances and of the pool (list of candidates), and the
    proposed contents of `task.toml`.
    """

    instances: int
    fields: list[GoldFieldSummary]
    pool: list[GoldFieldSummary]
    files: list[str]
    task: TomlValues
    guesses: list[SettingGuess]
    #: `lacks` lists problems of recognised gold that prevent the creation of a task.
    lacks: list[Problem]


def propose_declaration(
    form: str,
    slug: str,
    title: str,
    files: Files,
    known: TomlValues | None = None,
    delimiter: str = "",
) -> TaskProposal:
    """Describe the fields of gold files, and propose a `task.toml` for the task. If
    ``known`` contains an existing `task.toml`, describe the gold files according to
    ``known`` and propose nothing. Raises InputRefused.

    ``delimiter`` is needed if several delimiters split a CSV file consistently.
    """
    problems = ProblemList()
    said = {"delimiter": delimiter, **(known or {}).get("gold", {})}
    read = read_gold_files(files, form, said, problems)
    if not any(own.records for own in read.values()) or problems.has_errors:
        nothing = Problem(
            message="there are no instances", expected="JSON lines, JSON, CSV or TSV"
        )
        raise InputRefused([*problems, *problems.rest()] or [nothing])
    if known is not None:
        return _summarise_declared_fields(known, read)
    found = recognise_gold(form, read)
    task = {
        "slug": slug,
        "title": title,
        "form": form,
        **_propose_task_settings(form, found),
    }
    if found.pool:
        task["pool"] = _propose_pool_settings(form, read[found.pool].rows, found)
    if files_are := _propose_file_format(read[found.main].file, said):
        task["gold"] = {**files_are, **task["gold"]}
    return TaskProposal(
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


def _list_unchanged_rows(source: GoldFileWithRows) -> RecordRows:
    """Return the unchanged rows of a gold file, or no rows if the file contains qrels
    (relevance judgements), whose columns have no names.
    """
    return () if source.keys.get("files") == TREC else source.rows


def _summarise_declared_fields(
    task: TomlValues, read: Mapping[str, GoldFileWithRows]
) -> TaskProposal:
    """Return the fields of the gold files as an existing `task.toml` describes them."""
    gold, pool = task.get("gold", {}), str(task.get("pool", {}).get("file", ""))
    others = (pool, gold.get("queries", ""))
    main = next((name for name in read if name not in others), next(iter(read)))
    key = (
        QRELS_TOPIC_FIELD
        if gold.get("files") == TREC
        else gold.get("id", QRELS_TOPIC_FIELD)
    )
    topics = {str(row.get(key)) for row in read[main].rows}
    beside: RecordRows = ()
    if queries := read.get(gold.get("queries", "")):
        beside = read_query_rows(queries, gold["id"])
    is_grouped = "document" in gold or gold.get("files") == TREC
    instances = len(topics) if is_grouped else len(read[main].rows)
    pooled = read[pool].rows if pool in read else ()
    fields = _summarise_fields(_list_unchanged_rows(read[main]), beside)
    return TaskProposal(
        instances, fields, _summarise_fields(pooled), list(read), task, [], []
    )


def _propose_pool_settings(
    form: str, rows: RecordRows, found: RecognisedGold
) -> TomlValues:
    key = found.pool_key
    names = list_nonempty_fields(rows)
    texts = [
        name
        for name in names
        if name != key and compute_mean_word_count(rows, name) >= MIN_MEAN_WORDS_OF_TEXT
    ]
    text = next((name for name in texts if not is_named_like_answer(name)), key)
    lists = [
        name for name in names if any(isinstance(row.get(name), list) for row in rows)
    ]
    shown = {"sentences": (*lists, text)[0]} if form == "evidence" else {"text": text}
    return {"file": found.pool, "id": key, **shown}


def format_task_toml(task: TomlValues) -> str:
    """Return the text of the `task.toml` with the proposed settings."""
    below = {
        name: value
        for name, value in task.items()
        if name in _ARRAY_TABLE_KEYS or isinstance(value, dict)
    }
    parts = [
        format_toml_table(
            "[task]", {name: value for name, value in task.items() if name not in below}
        )
    ]
    for name, value in below.items():
        if name in _ARRAY_TABLE_KEYS:
            parts += [format_toml_table(f"[[task.{name}]]", own) for own in value]
        else:
            parts.append(format_toml_table(f"[task.{name}]", value))
    return "\n".join(parts)


def _propose_file_format(file: InputFile, gold: TomlValues) -> dict[str, str]:
    """Return the settings of the table [task.gold] that state the format of a gold
    file. A gold file of JSON lines needs no settings, because JSON lines are the
    default format.
    """
    form = file.suffix.removeprefix(".")
    if form not in DEFAULT_DELIMITERS_BY_FORMAT:
        return {"files": "json"} if form == "json" else {}
    delimiter = detect_delimiter(
        decode_utf8_or_windows_1252(file.read()), choose_table_form(file, gold)
    )
    is_other = delimiter != DEFAULT_DELIMITERS_BY_FORMAT[form]
    return {"files": form, **({"delimiter": delimiter} if is_other else {})}


def _summarise_fields(
    file: RecordRows, beside: RecordRows = ()
) -> list[GoldFieldSummary]:
    """Return a summary of each field in ``file``, and of each further field in
    ``beside``.
    """
    found = []
    own_names = list_nonempty_fields(file)
    others = [name for name in list_nonempty_fields(beside) if name not in own_names]
    for name in (*own_names, *others):
        rows = file if name in own_names else beside
        own = [row.get(name) for row in rows]
        inner = dict.fromkeys(
            part for value in own if isinstance(value, dict) for part in value
        )
        for path in [name, *(f"{name}.{part}" for part in inner)][
            : MAX_CLASSES_OF_DIMENSION + 1
        ]:
            values = [
                str(value)
                for row in rows
                if (value := get_value_at_path(row, path)) not in (None, "")
            ]
            if values:
                found.append(
                    GoldFieldSummary(
                        path, len(values), len(set(values)), values[0][:80]
                    )
                )
    return found[:MAX_FIELDS_DESCRIBED]


def _propose_task_settings(form: str, recognised: RecognisedGold) -> TomlValues:
    rows, key, answer = recognised.rows, recognised.key, recognised.answer
    names = list_nonempty_fields(rows)
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
    groups = groups if len(set(groups)) <= MAX_LABELS_OF_FIELD else []
    shown = _propose_public_fields(
        form, recognised, [name for name in others if name != unit], groups
    )
    hidden = [
        path
        for name in shown
        for path in dict.fromkeys(
            [
                *list_secret_inner_fields(rows, name),
                *_iterate_revealing_fields(rows, name, groups),
            ]
        )
    ]
    task: TomlValues = {"unit": unit} if unit else {}
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
        {"name": name}
        for name in BASELINE_MAKERS_BY_FORM[form]
        if name != TFIDF_BASELINE_NAME and has_inputs
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
    form: str, recognised: RecognisedGold, others: Sequence[str], groups: Sequence[str]
) -> list[str]:
    """Return the names of gold fields that neither contain nor reveal the answer, and
    are therefore proposed as public.
    """
    rows, answer = recognised.rows, recognised.answer
    # The tokens of sentences are always public, because systems must tag the tokens.
    tokens = list_token_fields(rows, answer)[:1] if form == "tags" else []
    names = list_nonempty_fields(rows)
    before = names[: names.index(answer)] if answer in names else []

    def is_harmless(name: str) -> bool:
        if name in recognised.secret or can_field_contain_answer(form, rows, name):
            return False
        if name not in before and not all(row.get(name) for row in rows):
            return False
        if form == "ranking":
            return not _mentions_answer_ids(rows, name, answer)
        return not _reveals_label(rows, name, groups)

    return [name for name in others if name in tokens or is_harmless(name)]


def _guess_candidates(
    task: TomlValues, recognised: RecognisedGold
) -> list[SettingGuess]:
    """Return a guess that names the field with each instance's list of candidates, or
    no guess if there is no such field.
    """
    name = task["answer"].get("candidates")
    if task["form"] != "ranking" or not name:
        return []
    reason = f"“{name}” holds every answer and more in each row, and is named so"
    return [SettingGuess("candidates", name, LIKELY_CONFIDENCE, reason)]


def _find_missing_documents(
    task: TomlValues, recognised: RecognisedGold
) -> list[Problem]:
    """Return the problem that a ranking task has no documents to rank. Raises
    InputRefused if the gold has neither a pool of documents nor a field that could
    contain candidates.
    """
    if task["form"] != "ranking" or recognised.pool or task["answer"].get("candidates"):
        return []
    fields = list_candidate_fields(recognised.rows, recognised.answer)
    problem = make_missing_documents_problem(recognised, fields)
    if not fields:
        raise InputRefused([problem])
    return [problem]


def _guess_public_fields(task: TomlValues, recognised: RecognisedGold) -> SettingGuess:
    shown = task["gold"]["shown"]
    ids = recognised.keys.get("ids", ())
    others = [
        name
        for name in list_nonempty_fields(recognised.rows)
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
    return SettingGuess("shown", ", ".join(shown) or "–", LIKELY_CONFIDENCE, reason)


def _list_long_fields(rows: RecordRows, shown: Sequence[str]) -> list[str]:
    return [
        name
        for name in shown
        if compute_mean_word_count(rows, name) >= MIN_MEAN_WORDS_OF_TEXT
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _list_labels_by_frequency(found: RecognisedGold) -> list[str]:
    """Return the labels of a task in order of descending frequency. If answers are
    vectors of 0 and 1, return the labels in the order of the vector positions.
    """
    if found.labels:
        return [*found.labels]
    values = [row.get(found.answer) for row in found.rows]
    flat = [
        convert_label_to_text(own)
        for value in values
        for own in (value if isinstance(value, list) else [value])
        if own not in (None, "") and not isinstance(own, dict | list)
    ]
    return [label for label, _ in Counter(flat).most_common()]


def _is_resampling_unit(rows: RecordRows, name: str) -> bool:
    """Return True if the values of the field identify groups of instances that should
    be resampled together in a bootstrap.
    """
    own = list_scalar_values_as_texts(rows, name) or []
    is_several = len(own) == len(rows) and 1 < len(set(own)) <= len(rows) / 2
    return is_several and _UNIT_FIELD_PATTERN.search(name) is not None


def _reveals_label(rows: RecordRows, name: str, groups: Sequence[str]) -> bool:
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
    own = list_scalar_values_as_texts(rows, name)
    if own is not None and len(set(own)) <= min(
        MAX_CLASSES_OF_DIMENSION, len(rows) / 4
    ):
        by_value = Counter(
            (str(row.get(name)), label) for row, label in zip(rows, groups, strict=True)
        )
        values = {value for value, _ in by_value}
        best = max(
            best,
            sum(max(by_value[value, label] for label in whole) for value in values),
        )
    return best > max(*whole.values(), MIN_ACCURACY_OF_SECRET_FIELD * len(rows))


def _mentions_answer_ids(rows: RecordRows, name: str, answer: str) -> bool:
    """Return True if the field mentions the ids of right answers in most rows. Lists in
    the field are ignored, because a list of candidates necessarily contains the right
    answers.
    """
    told = [
        row
        for row in rows
        if any(
            own in str(row.get(name)) for own in iterate_ids_in_value(row.get(answer))
        )
    ]
    return len(told) > len(rows) / 2 and not any(
        isinstance(row.get(name), list) for row in told
    )


def _iterate_revealing_fields(
    rows: RecordRows, name: str, groups: Sequence[str]
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
            label
            for row, label in labelled
            if get_value_at_path(row, path) not in (None, "")
        )
        shares = [there[label] / whole[label] for label in whole]
        if there.total() >= MIN_INSTANCES_OF_TESTED_FIELD and max(
            shares
        ) >= MIN_FREQUENCY_RATIO_OF_SECRET_FIELD * min(shares):
            yield path


def _propose_dimension(
    rows: RecordRows, name: str, answer: str, groups: Sequence[str]
) -> TomlValues | None:
    own = list_scalar_values_as_texts(rows, name)
    if own is None or len(own) < len(rows) / 2:
        return None
    said: TomlValues = {"name": name, "field": name}
    if all(_DATE_PATTERN.fullmatch(value) for value in own):
        said["as"] = "year"
        own = [value[:4] for value in own]
    if not 1 < len(set(own)) <= min(MAX_CLASSES_OF_DIMENSION, len(own) / 2):
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
    form: str,
    rows: RecordRows,
    answer: str,
    labels: Sequence[str],
    shown: Sequence[str],
) -> tuple[TomlValues, list[Any]]:
    """Return the settings of [task.answer] in `task.toml`, and the proposed measures
    with the measure for ranking systems first.
    """
    measures: list[Any] = list(PROPOSED_MEASURES_BY_FORM[form])
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
        named = next(
            filter(
                CANDIDATES_FIELD_PATTERN.search, list_candidate_fields(rows, answer)
            ),
            "",
        )
        return found | ({"candidates": named} if named else {}), measures
    if form == "spans":
        text = next(iter(_list_long_fields(rows, shown)), "text")
        kinds = sorted(
            {str(own[2]) for value in values for own in value or () if len(own) > 2}
        )
        return {"text": text, **({"labels": kinds} if kinds else {})}, measures
    if form == "tags":
        return {**propose_tag_answer_settings(rows, answer)}, measures
    if form == "evidence":
        if kinds := sorted(set().union(*map(list_labels_of_evidence, values))):
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


def list_candidate_fields(rows: RecordRows, answer: str) -> list[str]:
    """Return the names of list fields that could contain candidates to rank. A field
    could contain candidates if each list includes every right answer, and nearly all
    lists include further items.
    """
    found = []
    for name in list_nonempty_fields(rows):
        if name == answer or not all(isinstance(row.get(name), list) for row in rows):
            continue
        both = [
            (
                {*iterate_ids_in_value(row.get(name))},
                {*iterate_ids_in_value(row.get(answer))},
            )
            for row in rows
        ]
        more = sum(gold < own for own, gold in both)
        if all(
            gold <= own for own, gold in both
        ) and more >= MIN_SHARE_OF_LISTS_WITH_OTHER_ITEMS * len(rows):
            found.append(name)
    return found


def _propose_label_answer(
    labels: Sequence[str], measures: list[Any], *, has_lists: bool
) -> tuple[TomlValues, list[Any]]:
    """Return the settings of [task.answer] in `task.toml`, and the proposed measures,
    for a classification task.
    """
    said: TomlValues = {"labels": list(labels)}
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
        _propose_f1_of_labels(labels) if len(labels) <= MAX_LABELS_WITH_OWN_F1 else []
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


def list_available_measures(task: TomlValues) -> dict[str, Any]:
    """Return all measures that the task can use, as a mapping from name to entry in
    `task.toml`. Measures that the first rule set of the task already uses come first in
    the mapping.
    """
    said, form = task.get("answer", {}), task["form"]
    has = {
        own if isinstance(own, str) else own["name"]: own
        for own in task["rules"][0]["measures"]
    }
    known = MEASURES_BY_FORM["evidence-one" if said.get("shape") == "one" else form]
    sure = {
        NEEDS_PROBABILITIES_OR_CONFIDENCE: {"probabilities", "confidence"},
        NEEDS_PROBABILITIES: {"probabilities"},
    }
    given = {
        name
        for name in sure[NEEDS_PROBABILITIES_OR_CONFIDENCE]
        if said.get(name, "none") != "none"
    }
    found: TomlValues = {}
    for name, measure in known.items():
        fits = (
            measure.several is None
            or measure.several == said.get("several", False)
            or form != "labels"
        )
        fits = fits and (not measure.asks or bool(given & sure[measure.asks]))
        if fits and not ("label" in measure.options and not said.get("positive")):
            cuts = (
                [f"{name}@{cut}" for cut in SELECTABLE_CUTOFFS] if measure.cut else []
            )
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


assert (
    READERS_BY_FORM.keys()
    == PROPOSED_MEASURES_BY_FORM.keys()
    == ANSWER_FIELD_NAMES_BY_FORM.keys()
)
