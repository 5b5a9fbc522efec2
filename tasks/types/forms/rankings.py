"""Retrieval and recommendation tasks, in which the answer to each instance is a ranking
of candidates.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tasks.types.base import (
    MAX_STORED_CANDIDATES,
    MAX_STORED_INSTANCES,
    RANKING_VIEW,
    AnswerPart,
    Index,
    Options,
    Pairs,
    Split,
)
from tasks.types.files import Files
from tasks.types.forms.instances import (
    FaultRecorder,
    InstancesAndPool,
    InstanceTask,
    TaskInstance,
    get_value_at_path,
)
from tasks.types.jsonlines import AnswerLine
from tasks.types.problems import Problem, ProblemList, raise_if_any_problem_is_fatal
from tasks.types.ranking.lists import (
    GradedListColumn,
    InstanceAndCandidateLookup,
    ListColumn,
)
from tasks.types.ranking.runs import (
    RankedRun,
    RankingReadingSettings,
    filled,
    read_ranked_run,
)
from tasks.types.run_forms import RUN_FORM, RunFormatSignature
from tasks.types.tables import (
    DOCUMENT_COLUMN,
    RANK_COLUMN,
    SCORE_COLUMN,
    RunTableColumns,
    read_run_with_tables,
)
from tasks.types.text import describe_json_type_or_missing, normalise_to_nfc

MAX_RELEVANCE_GRADE = 100
#: Web pages show at most `MAX_CANDIDATE_TEXT_CHARACTERS` characters of a candidate's text.
MAX_CANDIDATE_TEXT_CHARACTERS = 160
DEFAULT_MAX_RANKING_LENGTH = 1000


@dataclass(frozen=True, kw_only=True)
class RankingTask(InstanceTask):
    """A ranking task, in which an answer is a list of candidates with the best
    candidate first.

    All instances share the candidates in the pool file, or the field ``candidates`` of
    each instance lists its candidates. The gold of an instance is a candidate id, a
    list of ids, or an object that maps ids to relevance grades.
    """

    drawn_as: ClassVar[str] = RANKING_VIEW
    noun: ClassVar[str] = "ranking"
    own_key: ClassVar[str] = "ranking"
    pool_noun: ClassVar[str] = "candidate"
    candidates: str = ""
    pool_content: str = "text"
    #: `query` names the field that baselines use as the query.
    query: str = ""
    longest: int = DEFAULT_MAX_RANKING_LENGTH

    @property
    def example(self) -> Any:
        return ["d9", "d3"]

    @property
    def columns(self) -> RunTableColumns:
        names = {
            name: self.get_run_key_of_field(name)
            for name in (DOCUMENT_COLUMN, RANK_COLUMN, SCORE_COLUMN)
        }
        return self._make_run_table_columns(**names)

    @property
    def run_form(self) -> RunFormatSignature:
        keys = (
            frozenset({self.run_answer_key}),
            frozenset({self.run_id_key, "scores"}),
        )
        return RunFormatSignature(
            described=f"JSON lines or a TREC run file, or CSV or TSV with {self.columns.description}",
            keys=keys,
            is_line=RUN_FORM.is_line,
            columns=frozenset(self.columns.names),
        )

    def gold_of(self, record: Mapping[str, Any], fault: FaultRecorder) -> Any:
        """Return a mapping from candidate id to relevance grade for the gold in a
        record.
        """
        value = self.shape.parts(get_value_at_path(record, self.field))
        if isinstance(value, str | int) and not isinstance(value, bool):
            value = [value]
        if isinstance(value, list) and all(isinstance(own, str | int) for own in value):
            return dict.fromkeys(map(str, value), 1)
        grades = value.values() if isinstance(value, dict) else [None]
        if all(
            type(grade) is int and 0 <= grade <= MAX_RELEVANCE_GRADE for grade in grades
        ):
            return value
        fault(
            f"“{self.field}” is {describe_json_type_or_missing(value)}",
            'an id, a list of ids, or grades such as {"d3": 2}',
        )
        return None

    def parse_answer(self, line: AnswerLine, name: str, index: Index) -> Any:
        raise AssertionError("runs of rankings are read as columns")

    def content(self, files: Files, *, with_gold: bool) -> InstancesAndPool:
        content = super().content(files, with_gold=with_gold)
        problems = ProblemList()
        for instance in content.instances:
            own = self._read_own_candidates(instance.record)
            if self.candidates and not own:
                problems.append(
                    Problem(
                        message=f"instance “{instance.id}” has no “{self.candidates}”"
                    )
                )
            known = content.pool if own is None else set(own)
            if content.reading > 1:
                known = set(map(normalise_to_nfc, known))
                if own is not None and len(known) < len(set(own)):
                    problems.append(
                        Problem(
                            message=f"two candidates of instance “{instance.id}” are equal in NFC",
                            expected="ids that differ in Unicode's form C",
                        )
                    )
            for name in instance.gold or () if with_gold else ():
                if name not in known and normalise_to_nfc(name) not in known:
                    message = f"the gold of instance “{instance.id}” is no candidate: “{name[:100]}”"
                    problems.append(
                        Problem(message=message, expected="an id of the pool")
                    )
        raise_if_any_problem_is_fatal(problems)
        return content

    def _read_own_candidates(self, record: Mapping[str, Any]) -> list[str] | None:
        value = get_value_at_path(record, self.candidates) if self.candidates else None
        return (
            None
            if not self.candidates
            else [str(own) for own in value]
            if isinstance(value, list)
            else []
        )

    def make_additional_index_entries(self, content: InstancesAndPool) -> Index:
        if not self.candidates:
            return {"pools": [list(content.pool)], "pool_of": None}
        pools = [
            list(dict.fromkeys(self._read_own_candidates(instance.record) or ()))
            for instance in content.instances
        ]
        return {"pools": pools, "pool_of": list(range(len(pools)))}

    def read_run(
        self, files: Files, index: Index, options: Options
    ) -> tuple[RankedRun, list[Problem]]:
        limits = RankingReadingSettings(
            longest=self.longest, key=self.run_answer_key, form=self.form
        )
        run: RankedRun
        run, problems = read_run_with_tables(
            files, self.columns, lambda lines: read_ranked_run(lines, index, limits)
        )
        return run, problems

    def filled(self, run: RankedRun, index: Index) -> Iterable[bool]:
        return filled(run, index)

    def pair(self, split: Split, run: RankedRun, rules: str, options: Options) -> Pairs:
        choices, numbers = InstanceAndCandidateLookup(split.index, split.reading), []
        for row, instance in enumerate(split.content.instances):
            candidates = choices.candidates(row)
            numbers.append(
                {candidates[name]: grade for name, grade in instance.gold.items()}
            )
        gold = ListColumn.of(
            [[number for number, grade in own.items() if grade] for own in numbers]
        )
        grades = np.array(
            [grade for number in numbers for grade in number.values()], dtype=np.int32
        )
        if (grades != 1).any():
            gold = GradedListColumn(
                gold, ListColumn.of([list(number) for number in numbers]), grades
            )
        return replace(
            self.rows(split.content, gold, run.lists, run.notes), scores=run.scores
        )

    def show_instances(
        self, files: Any, split: Split, pairs: Pairs, options: Options
    ) -> Iterator[Any]:
        choices, content = InstanceAndCandidateLookup(split.index), split.content
        shown: list[list[str] | None] = [None] * len(pairs.answers)
        for row, ranking in enumerate(pairs.answers[:MAX_STORED_INSTANCES]):
            shown[row] = (
                None
                if ranking is None
                else [
                    choices.pool(row)[number]
                    for number in ranking[:MAX_STORED_CANDIDATES]
                ]
            )
        plain = replace(pairs, answers=shown)
        for row, own in enumerate(super().show_instances(files, split, plain, options)):
            scores = tuple(
                zip(shown[row] or (), pairs.scores.get(row, ()), strict=False)
            )
            pool, gold = choices.pool(row), content.instances[row].gold
            later = tuple(
                self._make_candidate_part(content, pool[number], index)
                for index, number in enumerate(pairs.answers[row] or ())
                if index >= MAX_STORED_CANDIDATES and gold.get(pool[number])
            )
            yield replace(
                own,
                beside=scores,
                pool=len(pool),
                answer_parts=(*own.answer_parts, *later),
            )

    def gold_parts(
        self, content: InstancesAndPool, instance: TaskInstance
    ) -> Iterator[AnswerPart]:
        """Yield the relevant candidates of an instance, and show relevance grades other
        than 1.
        """
        for name, grade in instance.gold.items():
            if grade:
                note = "" if grade == 1 else str(grade)
                yield self._make_candidate_part(content, name)._replace(note=note)

    def answer_parts(
        self, content: InstancesAndPool, instance: TaskInstance, answer: Any
    ) -> Iterator[AnswerPart]:
        """Yield the candidates in a run's answer with their ranks."""
        for index, name in enumerate(answer):
            yield self._make_candidate_part(content, name, index)

    def _make_candidate_part(
        self, content: InstancesAndPool, name: str, number: int = -1
    ) -> AnswerPart:
        record = content.pool.get(name, {})
        own = record.get(
            "title" if "title" in self._public_pool_keys else self.pool_content
        )
        text = own if isinstance(own, str) else ""
        if len(text) > MAX_CANDIDATE_TEXT_CHARACTERS:
            text = f"{text[:MAX_CANDIDATE_TEXT_CHARACTERS].rstrip()} …"
        return AnswerPart(name, text, number=number)

    def format_gold(self, gold: Any) -> str:
        return "\n".join(
            f"{name} ({grade})" if grade != 1 else name for name, grade in gold.items()
        )

    def format_answer(self, answer: Any) -> str:
        return "\n".join(answer)
