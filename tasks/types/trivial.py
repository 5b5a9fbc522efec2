"""Compute trivial runs of tasks that a `task.toml` defines, which answer an instance
without its gold answer. For example, one trivial run of a classification task gives the
same label to all instances.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from tasks.types.base import Options, Split, TaskType
from tasks.types.files import Files, InputFile
from tasks.types.forms.evidence import LABEL_KEY, EvidenceTask, SingleVerdictTask
from tasks.types.forms.instances import (
    InstancesAndPool,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.forms.labels import REQUIRED_PROBABILITIES, LabelTask
from tasks.types.forms.numbers import NumberTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.forms.spans import SpanTask
from tasks.types.forms.tags import BEGIN_PREFIX, OUTSIDE_TAG, TagTask
from tasks.types.forms.texts import TextTask
from tasks.types.trivial_runs import (
    EMPTY_RUN,
    FIRST_ITEM_RUN,
    INPUT_COPY_RUN,
    LONGEST_ITEM_RUN,
    RANDOM_RUN_DRAWS,
    TrivialRunFiles,
    make_run_file,
    make_seeded_random,
)

#: `Answers` contains the answer of a run to each instance, in the format of run files.
#: An item of `Answers` is None if the run does not answer the instance.
AnswerOfEachInstance = Sequence[Any]


@dataclass(frozen=True, kw_only=True)
class AnswersOfTrivialRuns:
    """The answers of all trivial runs of a task, which do not depend on the gold answer
    of the instance. `runs` maps names of trivial runs to answers, `constants` maps each
    constant answer to a run that repeats it, and `draws` lists random runs.
    """

    runs: Mapping[str, AnswerOfEachInstance] = field(default_factory=dict)
    constants: Mapping[str, AnswerOfEachInstance] = field(default_factory=dict)
    draws: Sequence[AnswerOfEachInstance] = ()


def get_instance_task(task_type: TaskType) -> InstanceTask | None:
    """Return the `InstanceTask` of a task type that a `task.toml` defines, or None for
    other task types.
    """
    reader = getattr(task_type.pair, "__self__", None)
    return reader if isinstance(reader, InstanceTask) else None


def make_trivial_answers(form: InstanceTask, split: Split) -> AnswersOfTrivialRuns:
    """Return the answers of all trivial runs (such as a constant label) of a task that
    a `task.toml` defines. Return an empty result for a form of task without trivial
    runs.
    """
    content: InstancesAndPool = split.content
    match form:
        case LabelTask():
            return _make_label_answers(form, content.instances)
        case NumberTask():
            return _make_number_answers(form, content.instances)
        case TextTask():
            return _make_text_answers(form, content.instances)
        case RankingTask():
            return _make_ranking_answers(form, content)
        case SpanTask():
            return _make_span_answers(form, content.instances)
        case TagTask():
            return _make_tag_answers(form, content.instances)
        case EvidenceTask():
            return _make_evidence_answers(form, content)
    return AnswersOfTrivialRuns()


def make_trivial_run_files(
    form: InstanceTask, content: InstancesAndPool, answers: AnswerOfEachInstance
) -> list[InputFile]:
    """Return a list with the run file that contains the answers of a trivial run."""
    extra: dict[str, Any] = {}
    if isinstance(form, LabelTask) and form.confidence == REQUIRED_PROBABILITIES:
        extra["confidence"] = 0.5
    lines = [
        {form.run_id_key: instance.id}
        | (
            answer
            if isinstance(form, SingleVerdictTask)
            else {form.run_answer_key: answer}
        )
        | extra
        | _make_certain_probabilities(form, answer)
        for instance, answer in zip(content.instances, answers, strict=True)
        if answer is not None
    ]
    return make_run_file(lines, content.reading)


#: Trivial rankings of built-in tasks have at most `MAX_CANDIDATES_PER_TRIVIAL_RANKING` candidates each.
#: All rankings of a run have at most `MAX_CANDIDATES_PER_TRIVIAL_RUN` candidates in total.
#: No trivial runs are computed for tasks that would exceed `MAX_CANDIDATES_PER_TRIVIAL_RUN`.
MAX_CANDIDATES_PER_TRIVIAL_RANKING, MAX_CANDIDATES_PER_TRIVIAL_RUN = 1_000, 200_000


def make_trivial_ranking_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRunFiles:
    """Return trivial runs of a built-in ranking task, such as rankings in random order.
    Return no runs if the task type has no rankings, or if the rankings would contain
    too many candidates in total.

    Trivial rankings contain the candidates in the order of the gold files.
    """
    lists = [
        pool[:MAX_CANDIDATES_PER_TRIVIAL_RANKING]
        for pool in _list_candidate_pools(split)
    ]
    if not lists or sum(map(len, lists)) > MAX_CANDIDATES_PER_TRIVIAL_RUN:
        return TrivialRunFiles(split=split)

    def make_run_of_rankings(rankings: Iterable[Sequence[str]]) -> Files:
        names = zip(split.index["instances"], rankings, strict=True)
        return make_run_file(
            ({"id": name, "ranked": own} for name, own in names), split.reading
        )

    constants = {}
    if split.index["pool_of"] is None:
        pool = split.index["pools"][0]
        right = Counter(number for own in split.content.gold for number in own)
        best = max(right, key=lambda number: (right[number], -number), default=0)
        common = pool[best]
        ranking = [common, *(name for name in lists[0] if name != common)]
        constants[common] = make_run_of_rankings(
            [ranking[:MAX_CANDIDATES_PER_TRIVIAL_RANKING]] * len(lists)
        )
    return TrivialRunFiles(
        split=split,
        runs={FIRST_ITEM_RUN: make_run_of_rankings(lists)},
        constants=constants,
        draws=[
            make_run_of_rankings(
                _draw_random_rankings(
                    _list_candidate_pools(split),
                    draw,
                    MAX_CANDIDATES_PER_TRIVIAL_RANKING,
                )
            )
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )


def _list_candidate_pools(split: Split) -> list[list[str]]:
    """Return the list of candidates of each instance, or an empty list if the task type
    has no rankings.
    """
    pools, pool_of = split.index.get("pools"), split.index.get("pool_of")
    if not pools:
        return []
    count = len(split.index["instances"])
    return [pools[0 if pool_of is None else pool_of[row]] for row in range(count)]


def _make_certain_probabilities(form: InstanceTask, answer: Any) -> dict[str, Any]:
    if not isinstance(form, LabelTask) or form.probabilities != REQUIRED_PROBABILITIES:
        return {}
    return {"probabilities": {label: float(label == answer) for label in form.labels}}


def _make_label_answers(
    form: LabelTask, instances: Sequence[TaskInstance]
) -> AnswersOfTrivialRuns:
    def make_answer_with_label(label: str) -> Any:
        return [label] if form.several else label

    count, runs = len(instances), {}
    if lists := list_candidates_of_instances(form, instances):
        firsts = [own[0] for own in lists]
        runs[FIRST_ITEM_RUN] = [
            make_answer_with_label(own) if own in form.labels else None
            for own in firsts
        ]
    return AnswersOfTrivialRuns(
        runs=runs,
        constants={
            label: [make_answer_with_label(label)] * count for label in form.labels
        },
        draws=[
            [
                make_answer_with_label(label)
                for label in make_seeded_random(draw).choices(form.labels, k=count)
            ]
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )


def _make_number_answers(
    form: NumberTask, instances: Sequence[TaskInstance]
) -> AnswersOfTrivialRuns:
    gold = [float(instance.gold) for instance in instances]
    values = dict.fromkeys((fmean(gold), median(gold)))
    return AnswersOfTrivialRuns(
        constants={f"{value:g}": [value] * len(gold) for value in values},
        draws=[
            make_seeded_random(draw).sample(gold, len(gold))
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )


def _make_text_answers(
    form: TextTask, instances: Sequence[TaskInstance]
) -> AnswersOfTrivialRuns:
    firsts = [instance.gold[0][: form.longest] for instance in instances]
    shown = [list(_iterate_public_texts(form, instance)) for instance in instances]
    lists = list_candidates_of_instances(form, instances)
    runs: dict[str, AnswerOfEachInstance] = {
        EMPTY_RUN: [""] * len(instances),
        INPUT_COPY_RUN: ["\n".join(texts)[: form.longest] for texts in shown],
        LONGEST_ITEM_RUN: [
            max(texts, key=len, default="")[: form.longest]
            for texts in (lists or shown)
        ],
    }
    if lists:
        runs[FIRST_ITEM_RUN] = [own[0][: form.longest] for own in lists]
    [(common, _)] = Counter(firsts).most_common(1)
    return AnswersOfTrivialRuns(
        runs=runs,
        constants={common: [common] * len(instances)},
        draws=[
            make_seeded_random(draw).sample(firsts, len(firsts))
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )


def _iterate_public_texts(form: InstanceTask, instance: TaskInstance) -> Iterator[str]:
    """Yield all texts in the public fields of an instance, including texts in lists."""
    for name, value in form.public(instance).items():
        if name != form.id:
            yield from iterate_nested_texts(value)


def iterate_nested_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for own in value:
            yield from iterate_nested_texts(own)


def list_candidates_of_instances(
    form: InstanceTask, instances: Sequence[TaskInstance]
) -> list[list[str]] | None:
    """Return the list of candidate answers of each instance, or None if the instances
    have no such lists. In other tasks than ranking tasks, a public field is taken for
    the candidates if its lists contain a right answer in all instances.
    """
    if isinstance(form, RankingTask) and form.candidates:
        return [
            _read_text_list(instance, form.candidates) or [] for instance in instances
        ]
    for name in form.shown if isinstance(form, LabelTask | TextTask) else ():
        lists = [_read_text_list(instance, name) for instance in instances]
        if all(
            own and not get_right_answers(instance).isdisjoint(own)
            for instance, own in zip(instances, lists, strict=True)
        ):
            return [own or [] for own in lists]
    return None


def get_right_answers(instance: TaskInstance) -> set[str]:
    """Return the set of all right answers to an instance as texts."""
    gold = instance.gold
    if isinstance(gold, Mapping):
        return {name for name, grade in gold.items() if grade}
    return {str(own) for own in gold} if isinstance(gold, tuple) else {str(gold)}


def _read_text_list(instance: TaskInstance, name: str) -> list[str] | None:
    value = get_value_at_path(instance.record, name)
    if not isinstance(value, list):
        return None
    if not all(isinstance(own, str | int) for own in value):
        return None
    return [str(own) for own in value]


def _make_ranking_answers(
    form: RankingTask, content: InstancesAndPool
) -> AnswersOfTrivialRuns:
    """Return the answers of trivial runs of a ranking task, such as rankings in the
    order of the gold files or in random order.
    """
    instances, pool = content.instances, list(content.pool)
    own = list_candidates_of_instances(form, instances) if form.candidates else None
    lists: list[list[str]] = own or [pool] * len(instances)
    if own:
        lists = [list(dict.fromkeys(names)) for names in own]

    def cut_rankings_to_max_length(
        rankings: Iterable[Sequence[str]],
    ) -> AnswerOfEachInstance:
        return [list(ranking[: form.longest]) for ranking in rankings]

    runs = {FIRST_ITEM_RUN: cut_rankings_to_max_length(lists)}
    constants = {}
    if not form.candidates:
        texts = {
            name: str(record.get(form.pool_content, ""))
            for name, record in content.pool.items()
        }
        by_length = sorted(pool, key=lambda name: -len(texts[name]))
        runs[LONGEST_ITEM_RUN] = cut_rankings_to_max_length(
            [by_length] * len(instances)
        )
        right = Counter(
            name
            for instance in instances
            for name in sorted(get_right_answers(instance))
        )
        common = max(right, key=right.__getitem__, default=pool[0])
        ranking = [common, *(name for name in pool if name != common)]
        constants[common] = cut_rankings_to_max_length([ranking] * len(instances))
    return AnswersOfTrivialRuns(
        runs=runs,
        constants=constants,
        draws=[
            list(_draw_random_rankings(lists, draw, form.longest))
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )


def _draw_random_rankings(
    lists: Sequence[Sequence[str]], draw: int, longest: int
) -> Iterator[list[str]]:
    source = make_seeded_random(draw)
    for names in lists:
        yield source.sample(names, min(longest, len(names)))


def _make_span_answers(
    form: SpanTask, instances: Sequence[TaskInstance]
) -> AnswersOfTrivialRuns:
    """Return the answers of trivial runs that mark no span, and of trivial runs that
    mark the whole text as one span.
    """
    texts = [
        str(get_value_at_path(instance.record, form.text) or "")
        for instance in instances
    ]
    kinds: Sequence[tuple[str, ...]] = [(label,) for label in form.labels] or [()]
    whole = {
        "".join(kind): [[[0, len(text), *kind]] if text else [] for text in texts]
        for kind in kinds
    }
    runs: dict[str, AnswerOfEachInstance] = {EMPTY_RUN: [[] for _ in texts]}
    if len(whole) == 1:
        return AnswersOfTrivialRuns(
            runs=runs | {LONGEST_ITEM_RUN: next(iter(whole.values()))}
        )
    return AnswersOfTrivialRuns(runs=runs, constants=whole)


def _make_tag_answers(
    form: TagTask, instances: Sequence[TaskInstance]
) -> AnswersOfTrivialRuns:
    """Return the answers of trivial runs without entities, with each token as an
    entity, and with the gold tags in random order.
    """
    gold = [get_value_at_path(instance.record, form.field) for instance in instances]
    sizes = [len(tags) for tags in gold]
    drawn = []
    for draw in range(RANDOM_RUN_DRAWS):
        tags = [tag for own in gold for tag in own]
        make_seeded_random(draw).shuffle(tags)
        left = iter(tags)
        drawn.append([[next(left) for _ in range(size)] for size in sizes])
    return AnswersOfTrivialRuns(
        runs={EMPTY_RUN: [[OUTSIDE_TAG] * size for size in sizes]},
        constants={
            label: [[f"{BEGIN_PREFIX}-{label}"] * size for size in sizes]
            for label in form.labels
        },
        draws=drawn,
    )


def _make_evidence_answers(
    form: EvidenceTask, content: InstancesAndPool
) -> AnswersOfTrivialRuns:
    """Return the answers of trivial runs with a constant or random label, and the first
    sentence of the first document as evidence.
    """
    pool = list(content.pool)
    documents = []
    for instance in content.instances:
        given = _read_text_list(instance, form.given) if form.given else None
        documents.append(
            next((own for own in given or pool if own in content.pool), "")
        )

    def make_evidence_answer(label: str, document: str) -> Any:
        if isinstance(form, SingleVerdictTask):
            sentences = [f"{document}:0"] if document and label != form.abstain else []
            return {LABEL_KEY: label, form.run_answer_key: sentences}
        return {document: {"sentences": [0], LABEL_KEY: label}} if document else {}

    labels = [*form.labels, *([form.abstain] if form.abstain else [])]
    return AnswersOfTrivialRuns(
        constants={
            label: [make_evidence_answer(label, document) for document in documents]
            for label in labels
        },
        draws=[
            [
                make_evidence_answer(label, document)
                for label, document in zip(
                    make_seeded_random(draw).choices(labels, k=len(documents)),
                    documents,
                    strict=True,
                )
            ]
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )
