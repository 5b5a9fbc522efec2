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
from tasks.types.forms.evidence import LABEL, EvidenceOfOne, EvidenceTask
from tasks.types.forms.instances import Content, Instance, InstanceTask, at_path
from tasks.types.forms.labels import NEEDED, LabelTask
from tasks.types.forms.numbers import NumberTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.forms.spans import SpanTask
from tasks.types.forms.tags import BEGIN, OUTSIDE, TagTask
from tasks.types.forms.texts import TextTask
from tasks.types.trivial_runs import (
    DRAWS,
    EMPTY,
    FIRST,
    INPUT,
    LONGEST,
    TrivialRuns,
    random_of,
    run_file,
)

#: `Answers` contains the answer of a run to each instance, in the format of run files.
#: An item of `Answers` is None if the run does not answer the instance.
Answers = Sequence[Any]


@dataclass(frozen=True, kw_only=True)
class TrivialAnswers:
    """The answers of all trivial runs of a task, which do not depend on the gold answer
    of the instance. `runs` maps names of trivial runs to answers, `constants` maps each
    constant answer to a run that repeats it, and `draws` lists random runs.
    """

    runs: Mapping[str, Answers] = field(default_factory=dict)
    constants: Mapping[str, Answers] = field(default_factory=dict)
    draws: Sequence[Answers] = ()


def form_of(task_type: TaskType) -> InstanceTask | None:
    """Return the `InstanceTask` of a task type that a `task.toml` defines, or None for
    other task types.
    """
    reader = getattr(task_type.pair, "__self__", None)
    return reader if isinstance(reader, InstanceTask) else None


def trivial_answers(form: InstanceTask, split: Split) -> TrivialAnswers:
    """Return the answers of all trivial runs (such as a constant label) of a task that
    a `task.toml` defines. Return an empty result for a form of task without trivial
    runs.
    """
    content: Content = split.content
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
    return TrivialAnswers()


def run_of(form: InstanceTask, content: Content, answers: Answers) -> list[InputFile]:
    """Return a list with the run file that contains the answers of a trivial run."""
    extra: dict[str, Any] = {}
    if isinstance(form, LabelTask) and form.confidence == NEEDED:
        extra["confidence"] = 0.5
    lines = [
        {form.id_key: instance.id}
        | (answer if isinstance(form, EvidenceOfOne) else {form.answer_key: answer})
        | extra
        | _make_certain_probabilities(form, answer)
        for instance, answer in zip(content.instances, answers, strict=True)
        if answer is not None
    ]
    return run_file(lines, content.reading)


#: Trivial rankings of built-in tasks have at most `MOST_RANKED` candidates each.
#: All rankings of a run have at most `MOST_RANKED_IN_ALL` candidates in total.
#: No trivial runs are computed for tasks that would exceed `MOST_RANKED_IN_ALL`.
MOST_RANKED, MOST_RANKED_IN_ALL = 1_000, 200_000


def ranked_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRuns:
    """Return trivial runs of a built-in ranking task, such as rankings in random order.
    Return no runs if the task type has no rankings, or if the rankings would contain
    too many candidates in total.

    Trivial rankings contain the candidates in the order of the gold files.
    """
    lists = [pool[:MOST_RANKED] for pool in _list_candidate_pools(split)]
    if not lists or sum(map(len, lists)) > MOST_RANKED_IN_ALL:
        return TrivialRuns(split=split)

    def ranked(rankings: Iterable[Sequence[str]]) -> Files:
        names = zip(split.index["instances"], rankings, strict=True)
        return run_file(
            ({"id": name, "ranked": own} for name, own in names), split.reading
        )

    constants = {}
    if split.index["pool_of"] is None:
        pool = split.index["pools"][0]
        right = Counter(number for own in split.content.gold for number in own)
        best = max(right, key=lambda number: (right[number], -number), default=0)
        common = pool[best]
        ranking = [common, *(name for name in lists[0] if name != common)]
        constants[common] = ranked([ranking[:MOST_RANKED]] * len(lists))
    return TrivialRuns(
        split=split,
        runs={FIRST: ranked(lists)},
        constants=constants,
        draws=[
            ranked(
                _draw_random_rankings(_list_candidate_pools(split), draw, MOST_RANKED)
            )
            for draw in range(DRAWS)
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
    if not isinstance(form, LabelTask) or form.probabilities != NEEDED:
        return {}
    return {"probabilities": {label: float(label == answer) for label in form.labels}}


def _make_label_answers(
    form: LabelTask, instances: Sequence[Instance]
) -> TrivialAnswers:
    def written(label: str) -> Any:
        return [label] if form.several else label

    count, runs = len(instances), {}
    if lists := candidate_lists(form, instances):
        firsts = [own[0] for own in lists]
        runs[FIRST] = [written(own) if own in form.labels else None for own in firsts]
    return TrivialAnswers(
        runs=runs,
        constants={label: [written(label)] * count for label in form.labels},
        draws=[
            [written(label) for label in random_of(draw).choices(form.labels, k=count)]
            for draw in range(DRAWS)
        ],
    )


def _make_number_answers(
    form: NumberTask, instances: Sequence[Instance]
) -> TrivialAnswers:
    gold = [float(instance.gold) for instance in instances]
    values = dict.fromkeys((fmean(gold), median(gold)))
    return TrivialAnswers(
        constants={f"{value:g}": [value] * len(gold) for value in values},
        draws=[random_of(draw).sample(gold, len(gold)) for draw in range(DRAWS)],
    )


def _make_text_answers(form: TextTask, instances: Sequence[Instance]) -> TrivialAnswers:
    firsts = [instance.gold[0][: form.longest] for instance in instances]
    shown = [list(_iterate_public_texts(form, instance)) for instance in instances]
    lists = candidate_lists(form, instances)
    runs: dict[str, Answers] = {
        EMPTY: [""] * len(instances),
        INPUT: ["\n".join(texts)[: form.longest] for texts in shown],
        LONGEST: [
            max(texts, key=len, default="")[: form.longest]
            for texts in (lists or shown)
        ],
    }
    if lists:
        runs[FIRST] = [own[0][: form.longest] for own in lists]
    [(common, _)] = Counter(firsts).most_common(1)
    return TrivialAnswers(
        runs=runs,
        constants={common: [common] * len(instances)},
        draws=[random_of(draw).sample(firsts, len(firsts)) for draw in range(DRAWS)],
    )


def _iterate_public_texts(form: InstanceTask, instance: Instance) -> Iterator[str]:
    """Yield all texts in the public fields of an instance, including texts in lists."""
    for name, value in form.public(instance).items():
        if name != form.id:
            yield from texts_in(value)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for own in value:
            yield from texts_in(own)


def candidate_lists(
    form: InstanceTask, instances: Sequence[Instance]
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
            own and not answers_of(instance).isdisjoint(own)
            for instance, own in zip(instances, lists, strict=True)
        ):
            return [own or [] for own in lists]
    return None


def answers_of(instance: Instance) -> set[str]:
    """Return the set of all right answers to an instance as texts."""
    gold = instance.gold
    if isinstance(gold, Mapping):
        return {name for name, grade in gold.items() if grade}
    return {str(own) for own in gold} if isinstance(gold, tuple) else {str(gold)}


def _read_text_list(instance: Instance, name: str) -> list[str] | None:
    value = at_path(instance.record, name)
    if not isinstance(value, list):
        return None
    if not all(isinstance(own, str | int) for own in value):
        return None
    return [str(own) for own in value]


def _make_ranking_answers(form: RankingTask, content: Content) -> TrivialAnswers:
    """Return the answers of trivial runs of a ranking task, such as rankings in the
    order of the gold files or in random order.
    """
    instances, pool = content.instances, list(content.pool)
    own = candidate_lists(form, instances) if form.candidates else None
    lists: list[list[str]] = own or [pool] * len(instances)
    if own:
        lists = [list(dict.fromkeys(names)) for names in own]

    def cut(rankings: Iterable[Sequence[str]]) -> Answers:
        return [list(ranking[: form.longest]) for ranking in rankings]

    runs = {FIRST: cut(lists)}
    constants = {}
    if not form.candidates:
        texts = {
            name: str(record.get(form.pool_content, ""))
            for name, record in content.pool.items()
        }
        by_length = sorted(pool, key=lambda name: -len(texts[name]))
        runs[LONGEST] = cut([by_length] * len(instances))
        right = Counter(
            name for instance in instances for name in sorted(answers_of(instance))
        )
        common = max(right, key=right.__getitem__, default=pool[0])
        ranking = [common, *(name for name in pool if name != common)]
        constants[common] = cut([ranking] * len(instances))
    return TrivialAnswers(
        runs=runs,
        constants=constants,
        draws=[
            list(_draw_random_rankings(lists, draw, form.longest))
            for draw in range(DRAWS)
        ],
    )


def _draw_random_rankings(
    lists: Sequence[Sequence[str]], draw: int, longest: int
) -> Iterator[list[str]]:
    source = random_of(draw)
    for names in lists:
        yield source.sample(names, min(longest, len(names)))


def _make_span_answers(form: SpanTask, instances: Sequence[Instance]) -> TrivialAnswers:
    """Return the answers of trivial runs that mark no span, and of trivial runs that
    mark the whole text as one span.
    """
    texts = [str(at_path(instance.record, form.text) or "") for instance in instances]
    kinds: Sequence[tuple[str, ...]] = [(label,) for label in form.labels] or [()]
    whole = {
        "".join(kind): [[[0, len(text), *kind]] if text else [] for text in texts]
        for kind in kinds
    }
    runs: dict[str, Answers] = {EMPTY: [[] for _ in texts]}
    if len(whole) == 1:
        return TrivialAnswers(runs=runs | {LONGEST: next(iter(whole.values()))})
    return TrivialAnswers(runs=runs, constants=whole)


def _make_tag_answers(form: TagTask, instances: Sequence[Instance]) -> TrivialAnswers:
    """Return the answers of trivial runs without entities, with each token as an
    entity, and with the gold tags in random order.
    """
    gold = [at_path(instance.record, form.field) for instance in instances]
    sizes = [len(tags) for tags in gold]
    drawn = []
    for draw in range(DRAWS):
        tags = [tag for own in gold for tag in own]
        random_of(draw).shuffle(tags)
        left = iter(tags)
        drawn.append([[next(left) for _ in range(size)] for size in sizes])
    return TrivialAnswers(
        runs={EMPTY: [[OUTSIDE] * size for size in sizes]},
        constants={
            label: [[f"{BEGIN}-{label}"] * size for size in sizes]
            for label in form.labels
        },
        draws=drawn,
    )


def _make_evidence_answers(form: EvidenceTask, content: Content) -> TrivialAnswers:
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

    def answer(label: str, document: str) -> Any:
        if isinstance(form, EvidenceOfOne):
            sentences = [f"{document}:0"] if document and label != form.abstain else []
            return {LABEL: label, form.answer_key: sentences}
        return {document: {"sentences": [0], LABEL: label}} if document else {}

    labels = [*form.labels, *([form.abstain] if form.abstain else [])]
    return TrivialAnswers(
        constants={
            label: [answer(label, document) for document in documents]
            for label in labels
        },
        draws=[
            [
                answer(label, document)
                for label, document in zip(
                    random_of(draw).choices(labels, k=len(documents)),
                    documents,
                    strict=True,
                )
            ]
            for draw in range(DRAWS)
        ],
    )
