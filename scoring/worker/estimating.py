"""Run the offline scorer to sample units that people label, and to estimate scores from
the labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scoring.metrics import entailment
from scoring.models import Judge
from scoring.offline.estimated_units import KINDS
from scoring.worker import child, local_copies
from scoring.worker.ledger import look_up
from scoring.worker.scorers import (
    POLL_SECONDS,
    limits_for,
    option_arguments,
    ready_scorer,
)
from tasks.jobs import interruptions
from tasks.models import Gold, Phase, Submission
from tasks.types.ledger import digest_of
from tasks.types.stored_judges import (
    StoredJudge,
    first_line,
    label_line,
    stored_judge,
    with_label_file,
)

FAULT = "The estimates failed by a fault of the scorer; the log says what happened."
SHEET, PEOPLE, LABELS = "sheet.jsonl", "people.jsonl", "labels.jsonl"
ROWS = "rows.jsonl"
#: A number that is greater than the number of units of any run.
ALL_UNITS = 10**9


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The parameters of a sample of units that people label.

    ``of`` is the kind of unit that people label, and ``labels`` is the number of units
    that are sampled from each run.
    """

    phase: Phase
    gold: Gold
    rules: str
    of: str
    labels: int
    seed: str
    runs: Sequence[Submission]


def sheet_of(sampling: Sampling) -> bytes:
    """Return the content of a file with sampled units that people label. Raises
    RunFailed if no units can be sampled.
    """
    with closing(ready_scorer()) as scorer:
        return _sheet(scorer, sampling).read_bytes()


@dataclass(frozen=True)
class Computed:
    """The estimated scores, and people's labels as lines with pseudonyms and with
    digests in place of texts.
    """

    result: dict[str, Any]
    rows: bytes


def estimates_of(sampling: Sampling, people: Path) -> Computed:
    """Estimate scores from the labels in the file ``people``. Raises FileRefused or
    RunFailed.
    """
    options = _options(sampling)
    judge = stored_judge(options)
    labels = _stored_labels(sampling, judge) if judge else None
    with closing(ready_scorer()) as scorer:
        path = scorer.folder / PEOPLE
        path.write_bytes(people.read_bytes())
        if labels is not None:
            options = _with_labels(scorer, options, labels)
        arguments = _arguments(scorer, sampling, "scores", sampling.labels, options)
        rows = scorer.folder / ROWS
        arguments += [f"--people={path}", f"--rows={rows}"]
        result = _result(scorer, sampling, arguments)
        return Computed(result, rows.read_bytes())


def _sheet(scorer: child.Scorer, sampling: Sampling, labels: int | None = None) -> Path:
    options = _options(sampling)
    if stored_judge(options):
        # To sample units, the scorer needs no labels of the judge.
        options = _with_labels(scorer, options, [])
    count = sampling.labels if labels is None else labels
    out = scorer.folder / SHEET
    arguments = _arguments(scorer, sampling, "sheet", count, options)
    _result(scorer, sampling, [*arguments, f"--out={out}"])
    return out


def _stored_labels(sampling: Sampling, judge: StoredJudge) -> list[str]:
    if KINDS[sampling.of] != judge.kind:
        return []
    season = sampling.phase.task.season
    deciding = list(Judge.objects.deciding(judge.name, season, judge.kind))
    with all_rows(sampling) as rows:
        asked = (form for row in rows for form in forms_of(row))
        return [
            label_line(judge.kind, items, decision.settled.label)
            for items, decision in look_up(deciding, asked)
            if decision.settled.is_final(judge.kind)
        ]


@contextmanager
def all_rows(sampling: Sampling) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield an iterator over all units of the runs, as rows of a file that people
    label. Raises RunFailed.

    The file is read line by line, because the texts of all pairs can take gigabytes of
    memory.
    """
    with closing(ready_scorer()) as scorer, ExitStack() as files:
        sheet = _sheet(scorer, sampling, ALL_UNITS)
        lines = files.enter_context(sheet.open(encoding="utf-8"))
        next(lines)
        yield map(json.loads, lines)


def forms_of(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the digests under which the judgement ledger may have stored a pair. Older
    labels have a SHA-1 digest of the premise, and documents have several forms.
    """
    texts = row["texts"]
    if "premise" in texts:
        premise, hypothesis = texts["premise"], digest_of(texts["hypothesis"])
        yield f"{digest_of(premise)} {hypothesis}"
        yield f"{entailment.sha1(premise)} {hypothesis}"
        return
    sentence, document = digest_of(texts["sentence"]), texts["document"]
    for form in (document, f"Title: {document}", f"\n{document}"):
        yield f"{sentence} {digest_of(form)}"


def _with_labels(
    scorer: child.Scorer, options: dict[str, str], lines: Sequence[str]
) -> dict[str, str]:
    path = scorer.folder / LABELS
    judge = stored_judge(options)
    assert judge is not None, "the options name a judge of the ledger"
    first = first_line(judge.kind, judge.name)
    path.write_text("".join([first, *lines]), encoding="utf-8")
    return with_label_file(options, path)


def _options(sampling: Sampling) -> dict[str, str]:
    task = sampling.phase.task
    return dict(task.task_type.checked_options(task.options))


def _arguments(
    scorer: child.Scorer,
    sampling: Sampling,
    command: str,
    labels: int,
    options: dict[str, str],
) -> list[str]:
    runs = []
    for run in sampling.runs:
        folder = scorer.folder / f"run-{run.pk}"
        folder.mkdir(mode=0o700)
        runs += [
            f"--run={local_copies.run_copy(run, folder)}",
            f"--run-name={run.pk}",
        ]
    return [
        "estimates",
        command,
        sampling.phase.task.task_type.reference,
        f"--of={sampling.of}",
        f"--labels={labels}",
        f"--seed={sampling.seed}",
        f"--gold={local_copies.gold_copy(sampling.gold)}",
        f"--reading={sampling.gold.reading_version}",
        f"--rules={sampling.rules}",
        *runs,
        *option_arguments(options),
    ]


def _result(
    scorer: child.Scorer, sampling: Sampling, arguments: list[str]
) -> dict[str, Any]:
    command = child.ScorerCommand(
        arguments,
        doing="Estimating",
        fault=FAULT,
        refused=partial(_refusal, PEOPLE),
    )
    scorer.begin(command, limits_for(sampling.phase.task, len(sampling.runs)))
    while not scorer.ended(within=POLL_SECONDS):
        interruptions.check()
    for result in scorer.results():
        return result
    raise scorer.verdict(sampling.rules)


def _refusal(filename: str, problems: Sequence[Any], more: int) -> child.RunFailed:
    return child.RunFailed(
        problems[0]["message"] if problems else f"{filename} cannot be read", problems
    )
