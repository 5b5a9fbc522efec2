"""The pilot's topics with their scores, and the tables that a page shows them in."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from scoring.offline.evaluate import Resampling, Scores, evaluate
from scoring.tools.baselines.clsumm_facets import FacetReport, facet_pairs, facet_reports
from scoring.tools.baselines.clsumm_spans import Choice, answered
from scoring.tools.baselines.clsumm_supervised import answers as supervised_answers
from tasks.types import Split, TaskType, task_type
from tasks.types.baselines import Answer
from tasks.types.clsumm.inputs import InputTopic, read_input_topics
from tasks.types.clsumm.options import ANNOTATION
from tasks.types.clsumm.rules import OFFICIAL_2014
from tasks.types.files import InputFile
from tasks.types.runs import read_run

#: The paper leaves this topic out of its table of summaries.
NO_SUMMARY = "X96-1048"
PARTS = ("precision", "recall", "f1")
WIDTH = 110


@dataclass(frozen=True)
class Scored:
    """The pilot's topics with one version of the annotation."""

    files: Sequence[InputFile]
    version: str

    @cached_property
    def topics(self) -> list[InputTopic]:
        return read_input_topics(self.files, {"annotation": self.version})

    @cached_property
    def gold(self) -> Split:
        chosen = task_type("clsumm-1a")
        return chosen.read_gold(self.files, chosen.checked_options({"annotation": self.version}))

    def spans(self, choose: Choice, rules: str = OFFICIAL_2014, only: Sequence[str] = ()) -> Scores:
        """By the metrics of these names, or by all of the rule set."""
        own = task_type("clsumm-1a")
        wanted = tuple(metric for metric in own.rules[rules] if not only or metric.name in only)
        chosen = replace(own, rules={rules: wanted})
        return scored(chosen, self.gold, answered(self.topics, choose), rules)

    def supervised(self) -> Scores:
        answers = supervised_answers(self.files, {ANNOTATION.name: self.version})
        return scored(task_type("clsumm-1a"), self.gold, answers, OFFICIAL_2014)

    @cached_property
    def facets(self) -> list[FacetReport]:
        return list(facet_reports(facet_pairs(self.gold.content)))


def scored(chosen: TaskType, split: Split, answers: Iterator[Answer], rules: str) -> Scores:
    """The scores of a run that never was a file."""
    options = chosen.checked_options({})
    lines = "".join(json.dumps(answer) + "\n" for answer in answers).encode()
    file = InputFile("run.jsonl", "run.jsonl", lambda: io.BytesIO(lines))
    run, _ = read_run(chosen, [file], split.index, options)
    pairs = chosen.pair(split, run, rules, options)
    return evaluate(
        chosen, pairs, rules=rules, options=options, gold=split.digest, resampling=Resampling(resamples=0)
    )


def prose(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in header[1:])]
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, rule, *rows))


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def values_of(scores: Scores, names: Sequence[str]) -> list[str]:
    return [number(scores.metrics[name].value) for name in names]


def heads_of(source: str) -> list[str]:
    return [f"{source} {part}" for part in ("P", "R", "F1")]
