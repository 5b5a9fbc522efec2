"""Baseline systems that a task's `task.toml` can select by name. A baseline such as
tf-idf has a separate implementation for each form of task, such as ranking or labels.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import Any

from tasks.types.baselines import Answer, AnswerIteratorFunction, Baseline
from tasks.types.declared.keys import TomlTable
from tasks.types.files import Files, InputFile
from tasks.types.forms.instances import (
    JSON_FILE_FORMATS,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.forms.labels import NONE, LabelTask
from tasks.types.forms.numbers import NumberTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.forms.texts import TextTask
from tasks.types.problems import InputRefused, Problem

#: `Making` functions build a baseline system from a task and its training instances.
#: The training instances are None if `task.toml` names no training file.
BaselineMaker = Callable[[Any, Sequence[TaskInstance] | None, Sequence[str]], Baseline]
NO_PAPER_SOURCE = "No paper: what a system must be better than."


def read_baselines(
    said: Sequence[TomlTable],
    form: str,
    task: InstanceTask,
    files: Mapping[str, str],
    faults: list[Problem],
) -> tuple[Baseline, ...]:
    found = []
    for keys in said:
        name = keys.choice("name", BASELINE_MAKERS_BY_FORM[form])
        train, fields = keys.text("train", ""), keys.texts("text", task.shown)
        keys.close()
        for field in fields:
            if field.partition(".")[0] not in task.shown:
                keys.add_problem_at_key(
                    "text",
                    f"“{field}” is no field that is shown",
                    f"one of {', '.join(task.shown)}",
                )
        if name == TFIDF_BASELINE_NAME and not train:
            keys.add_problem_at_key(
                "name", f"{TFIDF_BASELINE_NAME} is trained", 'train = "train.jsonl"'
            )
        training = None
        if train and train not in files:
            # Processes that receive no training files need no baseline systems.
            if "card.md" in files:
                message = f"there is no file “{train}” in the folder"
                keys.add_problem_at_key(
                    "train", message, "JSON lines in the form of the gold"
                )
            continue
        if train:
            own = replace(task, files=JSON_FILE_FORMATS[0], shown=(), unit="")
            try:
                file = InputFile(train, train, partial(BytesIO, files[train].encode()))
                training = own.content([file], with_gold=True).instances
            except InputRefused as refused:
                faults += refused.problems
                continue
        if name and (name != TFIDF_BASELINE_NAME or train):
            found.append(BASELINE_MAKERS_BY_FORM[form][name](task, training, fields))
    return tuple(found)


def join_field_values(instance: TaskInstance, fields: Sequence[str]) -> str:
    values = (get_value_at_path(instance.record, field) for field in fields)
    return " ".join(str(value) for value in values if value is not None)


def _make_majority_baseline(
    name: str,
    words: str,
    task: LabelTask,
    training: Sequence[TaskInstance] | None,
    fields: Sequence[str],
) -> Baseline:
    """Return a baseline system that predicts the most frequent label. Without training
    data, the baseline counts the gold labels of all resampling units except the unit of
    the instance that it answers.
    """

    def answers(files: Files) -> Iterator[Answer]:
        split = task.content(files, with_gold=training is None)
        of_unit: dict[str, Counter[str]] = defaultdict(Counter)
        for instance in split.instances if training is None else training:
            labels = (
                instance.gold if isinstance(instance.gold, tuple) else (instance.gold,)
            )
            of_unit[
                _name_resampling_unit(task, instance) if training is None else ""
            ].update(map(str, labels))
        total = sum(of_unit.values(), Counter(dict.fromkeys(task.labels, 0)))
        for instance in split.instances:
            own = (
                of_unit[_name_resampling_unit(task, instance)]
                if training is None
                else Counter()
            )
            counts = {label: total[label] - own[label] for label in task.labels}
            whole = sum(counts.values())
            shares = (
                {label: count / whole for label, count in counts.items()}
                if whole
                else {}
            )
            yield _choose_most_frequent_answer(
                task, instance, counts, shares if name == "prior" else {}
            )

    return _make_paperless_baseline(name, words, training, answers)


def _choose_most_frequent_answer(
    task: LabelTask,
    instance: TaskInstance,
    by_label: Mapping[str, float],
    shares: Mapping[str, float],
) -> Answer:
    """Return an answer with the label whose count or probability is highest. If the
    task accepts probabilities, the answer also contains the probability of each label.
    """
    best = max(by_label, key=by_label.__getitem__)
    answer = {
        task.run_id_key: instance.id,
        task.run_answer_key: [best] if task.several else best,
    }
    return answer | (
        {"probabilities": shares} if shares and task.probabilities != NONE else {}
    )


def _make_paperless_baseline(
    name: str,
    words: str,
    training: Sequence[TaskInstance] | None,
    answers: AnswerIteratorFunction,
) -> Baseline:
    seen = "of the other instances" if training is None else "of the training data"
    given: dict[str, Any] = {
        "learns_from_gold": training is None,
        "source": NO_PAPER_SOURCE,
        "answers": answers,
    }
    return Baseline(name=name, summary=f"{words} {seen}.", **given)


def _name_resampling_unit(task: InstanceTask, instance: TaskInstance) -> str:
    return (
        str(get_value_at_path(instance.record, task.unit)) if task.unit else instance.id
    )


TFIDF_BASELINE_NAME, MOST_FREQUENT_LABEL_SUMMARY = (
    "tfidf-logistic",
    "The most frequent label",
)


def _make_tfidf_logistic_baseline(
    task: LabelTask, training: Sequence[TaskInstance] | None, fields: Sequence[str]
) -> Baseline:
    def answers(files: Files) -> Iterator[Answer]:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        assert training is not None
        vectorizer, model = TfidfVectorizer(), LogisticRegression(max_iter=1000)
        vectors = vectorizer.fit_transform(
            [join_field_values(instance, fields) for instance in training]
        )
        gold = [instance.gold for instance in training]
        model.fit(
            vectors, [own[0] if isinstance(own, tuple) else str(own) for own in gold]
        )
        instances = task.inputs(files).instances
        vectors = vectorizer.transform(
            [join_field_values(instance, fields) for instance in instances]
        )
        for instance, shares in zip(
            instances, model.predict_proba(vectors).tolist(), strict=True
        ):
            by_label = dict(zip(map(str, model.classes_), shares, strict=True))
            yield _choose_most_frequent_answer(task, instance, by_label, by_label)

    return Baseline(
        name=TFIDF_BASELINE_NAME,
        summary=f"Logistic regression on TF-IDF of {', '.join(fields)}, by scikit-learn with its defaults.",
        source="Pedregosa et al. 2011, Scikit-learn: Machine Learning in Python, JMLR 12",
        answers=answers,
    )


def _make_mean_baseline(
    task: NumberTask, training: Sequence[TaskInstance] | None, fields: Sequence[str]
) -> Baseline:
    def answers(files: Files) -> Iterator[Answer]:
        instances = task.content(files, with_gold=training is None).instances
        known = list(instances if training is None else training)
        total = sum(instance.gold for instance in known)
        for instance in instances:
            others = len(known) - (training is None)
            value = (
                (total - (instance.gold if training is None else 0)) / others
                if others
                else instance.gold
            )
            yield {task.run_id_key: instance.id, task.run_answer_key: value}

    return _make_paperless_baseline("mean", "The mean number", training, answers)


#: The answer of the lead baseline is the first `WORDS_IN_LEAD_BASELINE` words of the text.
WORDS_IN_LEAD_BASELINE = 30


def _make_lead_baseline(
    task: TextTask, training: Sequence[TaskInstance] | None, fields: Sequence[str]
) -> Baseline:
    def answers(files: Files) -> Iterator[Answer]:
        for instance in task.inputs(files).instances:
            words = join_field_values(instance, fields).split()[:WORDS_IN_LEAD_BASELINE]
            yield {
                task.run_id_key: instance.id,
                task.run_answer_key: " ".join(words)[: task.longest],
            }

    summary = f"The first {WORDS_IN_LEAD_BASELINE} words of {', '.join(fields)}."
    return Baseline(
        name="lead", summary=summary, source=NO_PAPER_SOURCE, answers=answers
    )


def _make_bm25_baseline(
    task: RankingTask, training: Sequence[TaskInstance] | None, fields: Sequence[str]
) -> Baseline:
    def answers(files: Files) -> Iterator[Answer]:
        from tasks.types.bm25 import LuceneBm25, tokenise_without_stop_words

        content = task.inputs(files)
        names = list(content.pool)
        documents = LuceneBm25(
            tokenise_without_stop_words(str(record.get(task.pool_content, "")))
            for record in content.pool.values()
        )
        for instance in content.instances:
            query = tokenise_without_stop_words(
                str(get_value_at_path(instance.record, task.query) or "")
            )
            order = (-documents.scores(query)).argsort(kind="stable")
            first = [names[place] for place in order[: min(100, task.longest)]]
            yield {task.run_id_key: instance.id, task.run_answer_key: first}

    return Baseline(
        name="bm25",
        summary=f"BM25 of {task.query} among the pool's {task.pool_content}.",
        source="Robertson and Zaragoza 2009, The Probabilistic Relevance Framework: BM25 and Beyond",
        answers=answers,
        lacks=lambda: (
            "" if task.pool_file else "it ranks a pool, and the task names none"
        ),
    )


BASELINE_MAKERS_BY_FORM: Mapping[str, Mapping[str, BaselineMaker]] = {
    "numbers": {"mean": _make_mean_baseline},
    "text": {"lead": _make_lead_baseline},
    "ranking": {"bm25": _make_bm25_baseline},
    "spans": {},
    "tags": {},
    "evidence": {},
    "labels": {
        "majority": partial(
            _make_majority_baseline, "majority", MOST_FREQUENT_LABEL_SUMMARY
        ),
        "prior": partial(
            _make_majority_baseline,
            "prior",
            f"{MOST_FREQUENT_LABEL_SUMMARY}, with the share of each as its probability",
        ),
        TFIDF_BASELINE_NAME: _make_tfidf_logistic_baseline,
    },
}
