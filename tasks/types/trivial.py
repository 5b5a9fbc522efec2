"""Runs that know nothing of the answers, such as the same label everywhere, for declared tasks."""

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from statistics import fmean, median
from typing import Any

from tasks.types.base import Split, TaskType
from tasks.types.files import InputFile
from tasks.types.forms.instances import Content, Instance, InstanceTask, at_path
from tasks.types.forms.labels import NEEDED, LabelTask
from tasks.types.forms.numbers import NumberTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.forms.spans import SpanTask
from tasks.types.forms.tags import BEGIN, OUTSIDE, TagTask
from tasks.types.forms.texts import TextTask

EMPTY, CONSTANT, FIRST, LONGEST, INPUT = (
    "empty",
    "constant",
    "first",
    "longest",
    "input",
)
RANDOM, RANDOM_BEST = "random", "random_best"
DRAWS = 20

#: The answer of each instance as a line of a run has it; None leaves an instance out.
Answers = Sequence[Any]


@dataclass(frozen=True, kw_only=True)
class TrivialAnswers:
    """The answers of trivial runs: `runs` by name, `constants` by what they answer, `draws` one each."""

    runs: Mapping[str, Answers] = field(default_factory=dict)
    constants: Mapping[str, Answers] = field(default_factory=dict)
    draws: Sequence[Answers] = ()


def form_of(task_type: TaskType) -> InstanceTask | None:
    """Return the form that reads the task's files, which declared tasks have; None of other types."""
    reader = getattr(task_type.pair, "__self__", None)
    return reader if isinstance(reader, InstanceTask) else None


def trivial_answers(form: InstanceTask, split: Split) -> TrivialAnswers:
    """Return what runs without knowledge answer; nothing for forms that have no such runs."""
    content: Content = split.content
    match form:
        case LabelTask():
            return _labels(form, content.instances)
        case NumberTask():
            return _numbers(form, content.instances)
        case TextTask():
            return _texts(form, content.instances)
        case RankingTask():
            return _rankings(form, content)
        case SpanTask():
            return _spans(form, content.instances)
        case TagTask():
            return _tags(form, content.instances)
    return TrivialAnswers()


def run_of(form: InstanceTask, content: Content, answers: Answers) -> list[InputFile]:
    """Return the answers as the file of a run, for the reader of the task."""
    extra: dict[str, Any] = {}
    if isinstance(form, LabelTask) and form.confidence == NEEDED:
        extra["confidence"] = 0.5
    lines = [
        {form.id_key: instance.id, form.answer_key: answer}
        | extra
        | _probabilities(form, answer)
        for instance, answer in zip(content.instances, answers, strict=True)
        if answer is not None
    ]
    return _file_of(lines, content.reading)


def _file_of(lines: Iterable[Mapping[str, Any]], reading: int) -> list[InputFile]:
    data = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    name = "trivial.jsonl"
    return [InputFile(name, name, partial(BytesIO, data.encode()), reading)]


#: Candidates of a ranking that a trivial run of a built-in type gives.
MOST_RANKED = 1_000


def ranked_answers(split: Split, most: int) -> TrivialAnswers:
    """Return what runs without knowledge rank in a built-in type; nothing if there are too many candidates.

    The candidates are in the order of the gold's files; ``most`` is how many of them a run may give in all.
    """
    lists = [own[:MOST_RANKED] for own in _pools(split)]
    if not lists or sum(map(len, lists)) > most:
        return TrivialAnswers()
    constants: dict[str, Answers] = {}
    if split.index["pool_of"] is None:
        pool = split.index["pools"][0]
        right = Counter(number for own in split.content.gold for number in own)
        best = max(right, key=lambda number: (right[number], -number), default=0)
        common = pool[best]
        ranking = [common, *(name for name in lists[0] if name != common)]
        constants[common] = [ranking[:MOST_RANKED]] * len(lists)
    draws = [list(_drawn(_pools(split), draw, MOST_RANKED)) for draw in range(DRAWS)]
    return TrivialAnswers(runs={FIRST: lists}, constants=constants, draws=draws)


def _pools(split: Split) -> list[list[str]]:
    """Return the candidates of each instance; none of a type that ranks nothing."""
    pools, pool_of = split.index.get("pools"), split.index.get("pool_of")
    if not pools:
        return []
    count = len(split.index["instances"])
    return [pools[0 if pool_of is None else pool_of[row]] for row in range(count)]


def ranked_run(split: Split, answers: Answers) -> list[InputFile]:
    """Return rankings as the file of a run of a built-in type."""
    names = zip(split.index["instances"], answers, strict=True)
    return _file_of(({"id": name, "ranked": own} for name, own in names), split.reading)


def _probabilities(form: InstanceTask, answer: Any) -> dict[str, Any]:
    if not isinstance(form, LabelTask) or form.probabilities != NEEDED:
        return {}
    return {"probabilities": {label: float(label == answer) for label in form.labels}}


def _random(draw: int) -> random.Random:
    return random.Random(draw)  # noqa: S311  (no secret)


def _labels(form: LabelTask, instances: Sequence[Instance]) -> TrivialAnswers:
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
            [written(label) for label in _random(draw).choices(form.labels, k=count)]
            for draw in range(DRAWS)
        ],
    )


def _numbers(form: NumberTask, instances: Sequence[Instance]) -> TrivialAnswers:
    gold = [float(instance.gold) for instance in instances]
    values = dict.fromkeys((fmean(gold), median(gold)))
    return TrivialAnswers(
        constants={f"{value:g}": [value] * len(gold) for value in values},
        draws=[_random(draw).sample(gold, len(gold)) for draw in range(DRAWS)],
    )


def _texts(form: TextTask, instances: Sequence[Instance]) -> TrivialAnswers:
    firsts = [instance.gold[0][: form.longest] for instance in instances]
    shown = [list(_shown_texts(form, instance)) for instance in instances]
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
        draws=[_random(draw).sample(firsts, len(firsts)) for draw in range(DRAWS)],
    )


def _shown_texts(form: InstanceTask, instance: Instance) -> Iterator[str]:
    """The texts that participants see of an instance, field by field."""
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
    """Return the candidates of each instance: of a ranking its own, else a shown list with the gold in it."""
    if isinstance(form, RankingTask) and form.candidates:
        return [_texts_at(instance, form.candidates) or [] for instance in instances]
    for name in form.shown if isinstance(form, LabelTask | TextTask) else ():
        lists = [_texts_at(instance, name) for instance in instances]
        if all(
            own and not answers_of(instance).isdisjoint(own)
            for instance, own in zip(instances, lists, strict=True)
        ):
            return [own or [] for own in lists]
    return None


def answers_of(instance: Instance) -> set[str]:
    """Return the texts of which each is a right answer."""
    gold = instance.gold
    if isinstance(gold, Mapping):
        return {name for name, grade in gold.items() if grade}
    return {str(own) for own in gold} if isinstance(gold, tuple) else {str(gold)}


def _texts_at(instance: Instance, name: str) -> list[str] | None:
    value = at_path(instance.record, name)
    if not isinstance(value, list):
        return None
    if not all(isinstance(own, str | int) for own in value):
        return None
    return [str(own) for own in value]


def _rankings(form: RankingTask, content: Content) -> TrivialAnswers:
    """Of a pool that all share, or of each instance's own candidates, in the order of the gold's files."""
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
        [(common, _)] = right.most_common(1) or [(pool[0], 0)]
        ranking = [common, *(name for name in pool if name != common)]
        constants[common] = cut([ranking] * len(instances))
    return TrivialAnswers(
        runs=runs,
        constants=constants,
        draws=[list(_drawn(lists, draw, form.longest)) for draw in range(DRAWS)],
    )


def _drawn(
    lists: Sequence[Sequence[str]], draw: int, longest: int
) -> Iterator[list[str]]:
    source = _random(draw)
    for names in lists:
        yield source.sample(names, min(longest, len(names)))


def _spans(form: SpanTask, instances: Sequence[Instance]) -> TrivialAnswers:
    """No span, or the whole text as one."""
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


def _tags(form: TagTask, instances: Sequence[Instance]) -> TrivialAnswers:
    """No entity, each word as one of a type, or the tags of the gold in any order."""
    gold = [at_path(instance.record, form.field) for instance in instances]
    sizes = [len(tags) for tags in gold]
    drawn = []
    for draw in range(DRAWS):
        tags = [tag for own in gold for tag in own]
        _random(draw).shuffle(tags)
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
