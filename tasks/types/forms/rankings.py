"""A ranking of candidates for each instance: retrieval and recommendation."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.types.base import Index, Options, Pairs, Split
from tasks.types.files import InputFile
from tasks.types.forms.instances import TABLES, Content, Fault, InstanceTask, at_path, table_records
from tasks.types.jsonlines import AnswerForm, Line, as_lines, read_records, record_id
from tasks.types.problems import InputRefused, Problem, Problems
from tasks.types.ranking.lists import Choices, GradedLists, Lists
from tasks.types.ranking.runs import RankedRun, RunLimits, filled, read_ranked_run
from tasks.types.run_forms import RUN_FORM, RunForm
from tasks.types.text import json_kind

MAX_GRADE = 100
LONGEST = 1000
#: Of a ranking, so many candidates from the top are shown.
TOP = 10


@dataclass(frozen=True, kw_only=True)
class RankingTask(InstanceTask):
    """Candidates in order, the best first, of a pool that all instances share, or of the field
    ``candidates`` of each. Gold is an id, a list of ids, or an object of grades.
    """

    candidates: str = ""
    pool_id: str = "id"
    pool_text: str = "text"
    pool_shown: tuple[str, ...] = ()
    #: The field with the query, for baselines.
    query: str = ""
    longest: int = LONGEST

    @property
    def example(self) -> Any:
        return ["d9", "d3"]

    @property
    def answer_key(self) -> str:
        return self.answer_field or "ranking"

    @property
    def run_form(self) -> RunForm:
        keys = (frozenset({self.answer_key}), frozenset({self.id, "scores"}))
        return RunForm(described=RUN_FORM.described, keys=keys, is_line=RUN_FORM.is_line)

    def gold_of(self, record: Mapping[str, Any], fault: Fault) -> Any:
        """By candidate its grade."""
        value = at_path(record, self.field)
        if isinstance(value, str | int) and not isinstance(value, bool):
            value = [value]
        if isinstance(value, list) and all(isinstance(own, str | int) for own in value):
            return dict.fromkeys(map(str, value), 1)
        if isinstance(value, dict) and all(
            type(own) is int and 0 <= own <= MAX_GRADE for own in value.values()
        ):
            return value
        found = "missing" if value is None else json_kind(value)
        fault(f"“{self.field}” is {found}", 'an id, a list of ids, or grades such as {"d3": 2}')
        return None

    def answer_of(self, line: Line, name: str, index: Index) -> Any:
        raise AssertionError("runs of rankings are read as columns")

    def read_pool(self, files: Sequence[InputFile], problems: Problems) -> Mapping[str, Mapping[str, Any]]:
        records: dict[str, Mapping[str, Any]] = {}
        for file in files:
            table = TABLES.get(file.suffix.removeprefix("."))
            for record in table_records(file, table, problems) if table else read_records(file, problems):
                name = record_id(record.value, self.pool_id)
                if not name or name in records:
                    fault = (
                        f"“{self.pool_id}” is missing" if not name else f"candidate “{name}” is there twice"
                    )
                    problems.append(record.problem(fault, "an id for each candidate"))
                else:
                    records[name] = record.value
        if self.pool_file and not records and not problems.has_errors:
            problems.append(
                Problem(message=f"there is no {self.pool_file}, or nothing in it", expected="candidates")
            )
        return records

    def public_pool(self, pool: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, bytes]]:
        if self.pool_file:
            keys = (self.pool_id, self.pool_text, *self.pool_shown)
            rows = ({key: record[key] for key in keys if key in record} for record in pool.values())
            yield self.pool_file, self._as_pool_file(rows)

    def _as_pool_file(self, rows: Iterator[dict[str, Any]]) -> bytes:
        delimiter = TABLES.get(self.pool_file.rpartition(".")[2])
        if delimiter is None:
            return as_lines(rows)
        text = io.StringIO(newline="")
        heads = list(dict.fromkeys((self.pool_id, self.pool_text, *self.pool_shown)))
        writer = csv.DictWriter(text, heads, delimiter=delimiter, restval="")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()

    def content(self, files: Sequence[InputFile], *, with_gold: bool) -> Content:
        content = super().content(files, with_gold=with_gold)
        problems = Problems()
        for instance in content.instances:
            own = self._own(instance.record)
            if self.candidates and not own:
                problems.append(Problem(message=f"instance “{instance.id}” has no “{self.candidates}”"))
            known = content.pool if own is None else set(own)
            for name in instance.gold or () if with_gold else ():
                if name not in known:
                    message = f"the gold of instance “{instance.id}” is no candidate: “{name[:100]}”"
                    problems.append(Problem(message=message, expected="an id of the pool"))
        if problems.has_errors:
            raise InputRefused([*problems, *problems.rest()])
        return content

    def _own(self, record: Mapping[str, Any]) -> list[str] | None:
        value = at_path(record, self.candidates) if self.candidates else None
        return None if not self.candidates else [str(own) for own in value] if isinstance(value, list) else []

    def index_facts(self, content: Content) -> Index:
        if not self.candidates:
            return {"pools": [list(content.pool)], "pool_of": None}
        pools = [list(dict.fromkeys(self._own(instance.record) or ())) for instance in content.instances]
        return {"pools": pools, "pool_of": list(range(len(pools)))}

    def read_run(
        self, files: Sequence[InputFile], index: Index, options: Options
    ) -> tuple[RankedRun, list[Problem]]:
        form = AnswerForm(example=self.form.example, noun="ranking", id=self.id)
        return read_ranked_run(files, index, RunLimits(longest=self.longest, key=self.answer_key, form=form))

    def filled(self, run: RankedRun, index: Index) -> Iterable[bool]:
        return filled(run, index)

    def pair(self, split: Split, run: RankedRun, rules: str, options: Options) -> Pairs:
        choices, instances = Choices(split.index), split.content.instances
        numbers = [
            {choices.candidates(row)[name]: grade for name, grade in instance.gold.items()}
            for row, instance in enumerate(instances)
        ]
        relevant = Lists.of([[number for number, grade in own.items() if grade] for own in numbers])
        is_graded = any(grade != 1 for own in numbers for grade in own.values())
        grades = np.array([grade for own in numbers for grade in own.values()], dtype=np.int32)
        gold = (
            GradedLists(relevant, Lists.of([list(own) for own in numbers]), grades) if is_graded else relevant
        )
        names = [instance.id for instance in instances]
        records = [instance.record for instance in instances]
        return Pairs(
            gold=gold,
            answers=run.lists,
            units=[str(at_path(record, self.unit)) for record in records] if self.unit else names,
            features={dimension.name: dimension.features(records) for dimension in self.dimensions},
            names=names,
            notes={"missing_answers": run.missing, "empty_rankings": run.empty, "tied_scores": run.ties},
        )

    def show_instances(self, files: Any, split: Split, pairs: Pairs, options: Options) -> Iterator[Any]:
        choices = Choices(split.index)
        shown = [
            None if own is None else [list(choices.candidates(row))[number] for number in own[:TOP]]
            for row, own in enumerate(pairs.answers)
        ]
        plain = Pairs(gold=pairs.gold, answers=shown, units=pairs.units, features={}, names=pairs.names)
        return super().show_instances(files, split, plain, options)

    def gold_text(self, gold: Any) -> str:
        return "\n".join(f"{name} ({grade})" if grade != 1 else name for name, grade in gold.items())

    def answer_text(self, answer: Any) -> str:
        return "\n".join(answer)
