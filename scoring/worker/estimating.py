"""Run the offline scorer to sample units that people label, and to estimate scores from
the labels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from scoring.metrics import entailment
from scoring.models import Judge
from scoring.offline.estimated_units import KINDS
from scoring.worker import child, local_copies
from scoring.worker.entailment_labels import read_pending_pairs
from scoring.worker.ledger import look_up_labels
from scoring.worker.scorers import (
    POLL_SECONDS,
    make_scorer,
    option_arguments,
    scoring_limits_for,
)
from tasks.jobs import interruptions
from tasks.models import Gold, Phase, Submission
from tasks.types.ledger import ASSIGNS, KINDS as LEDGER_KINDS, AskedItem, digest_of
from tasks.types.stored_judges import (
    StoredJudge,
    first_line,
    label_line,
    stored_judges,
    with_label_files,
)

SCORER_FAULT_MESSAGE = (
    "The estimates failed by a fault of the scorer; the log says what happened."
)
SHEET, PEOPLE, ASKED = "sheet.jsonl", "people.jsonl", "asked.jsonl"
ROWS_FILE_NAME = "rows.jsonl"
#: A number that is greater than the number of units of any run.
ALL_UNITS = 10**9


@dataclass(frozen=True, kw_only=True)
class SampleParameters:
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


def sample_sheet_bytes(sampling: SampleParameters) -> bytes:
    """Return the content of a file with sampled units that people label. Raises
    RunFailed if no units can be sampled.
    """
    with closing(make_scorer()) as scorer:
        return _write_sample_sheet(scorer, sampling).read_bytes()


@dataclass(frozen=True)
class ComputedEstimates:
    """The estimated scores, and people's labels as lines with pseudonyms and with
    digests in place of texts.
    """

    result: dict[str, Any]
    rows: bytes


def compute_estimates(sampling: SampleParameters, people: Path) -> ComputedEstimates:
    """Estimate scores from the labels in the file ``people``. Raises FileRefused or
    RunFailed.
    """
    options = _task_options(sampling)
    # Only labels of the sampled kind of unit determine the estimates.
    labels = {
        judge.kind: _stored_labels(sampling, judge)
        for judge in stored_judges(options)
        if judge.kind == KINDS[sampling.of]
    }
    with closing(make_scorer()) as scorer:
        path = scorer.folder / PEOPLE
        path.write_bytes(people.read_bytes())
        options = _options_with_label_file(scorer, options, labels)
        arguments = _estimate_arguments(
            scorer, sampling, "scores", sampling.labels, options
        )
        rows = scorer.folder / ROWS_FILE_NAME
        arguments += [f"--people={path}", f"--rows={rows}"]
        result = _run_estimate_command(scorer, sampling, arguments)
        return ComputedEstimates(result, rows.read_bytes())


def _write_sample_sheet(
    scorer: child.Scorer,
    sampling: SampleParameters,
    labels: int | None = None,
    asked: Path | None = None,
) -> Path:
    # To sample units, the scorer needs no labels of judges.
    options = _options_with_label_file(scorer, _task_options(sampling), {})
    count = sampling.labels if labels is None else labels
    out = scorer.folder / SHEET
    arguments = _estimate_arguments(scorer, sampling, "sheet", count, options)
    if asked is not None:
        arguments.append(f"--asked={asked}")
    _run_estimate_command(scorer, sampling, [*arguments, f"--out={out}"])
    return out


def _stored_labels(sampling: SampleParameters, judge: StoredJudge) -> list[str]:
    season = sampling.phase.task.season
    deciding = list(Judge.objects.deciding(judge.name, season, judge.kind))
    reader = _asked_forms if judge.kind == ASSIGNS else _forms_of_rows
    with reader(sampling) as forms:
        return [
            label_line(judge.kind, items, decision.settled.label)
            for items, decision in look_up_labels(deciding, forms)
            if decision.settled.is_final(judge.kind)
        ]


@contextmanager
def _forms_of_rows(sampling: SampleParameters) -> Iterator[Iterator[str]]:
    with open_all_unit_rows(sampling) as rows:
        yield (form for row in rows for form in item_digests_of_row(row))


@contextmanager
def _asked_forms(sampling: SampleParameters) -> Iterator[Iterator[str]]:
    """Yield an iterator over the digests under which the ledger may have the nuggets of
    the runs. Judges may have seen other forms of a nugget than people see.
    """
    with _open_asked_items(sampling) as asked:
        yield (form for item in asked for form in (item.items, *item.others))


@contextmanager
def _open_asked_items(sampling: SampleParameters) -> Iterator[Iterator[AskedItem]]:
    """Yield an iterator over what a judge is asked about the runs. Raises RunFailed."""
    with closing(make_scorer()) as scorer:
        asked = scorer.folder / ASKED
        _write_sample_sheet(scorer, sampling, asked=asked)
        yield read_pending_pairs(asked)


@contextmanager
def open_all_unit_rows(
    sampling: SampleParameters,
) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield an iterator over all units of the runs, as rows of a file that people
    label. Raises RunFailed.

    The file is read line by line, because the texts of all pairs can take gigabytes of
    memory.
    """
    with closing(make_scorer()) as scorer, ExitStack() as files:
        sheet = _write_sample_sheet(scorer, sampling, ALL_UNITS)
        lines = files.enter_context(sheet.open(encoding="utf-8"))
        next(lines)
        yield map(json.loads, lines)


class UnitForms(NamedTuple):
    """A unit as a row of a file that people label, with the digests under which the
    judgement ledger may have stored labels of the unit.
    """

    row: Mapping[str, Any]
    forms: tuple[str, ...]


@contextmanager
def open_all_unit_forms(sampling: SampleParameters) -> Iterator[Iterator[UnitForms]]:
    """Yield an iterator over all units of the runs, each distinct unit once. Raises
    RunFailed.

    The names of a nugget are part of the gold, so the scorer writes their digests.
    """
    if KINDS[sampling.of] != ASSIGNS:
        with open_all_unit_rows(sampling) as rows:
            yield (UnitForms(row, tuple(item_digests_of_row(row))) for row in rows)
        return
    with _open_asked_items(sampling) as asked:
        yield _distinct_units(asked)


def _distinct_units(asked: Iterable[AskedItem]) -> Iterator[UnitForms]:
    known = set[bytes]()
    for item in asked:
        # Two runs can have the same report.
        key = hashlib.sha256(item.items.encode()).digest()
        if key not in known:
            known.add(key)
            yield UnitForms({"texts": item.by_role}, (item.items, *item.others))


def item_digests_of_row(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the digests under which the judgement ledger may have stored a pair. Older
    labels have a SHA-1 digest of the premise, and documents have several forms. Of a
    nugget, the row has only the form that people see.
    """
    texts = row["texts"]
    if "premise" in texts:
        premise, hypothesis = texts["premise"], digest_of(texts["hypothesis"])
        yield f"{digest_of(premise)} {hypothesis}"
        yield f"{entailment.sha1(premise)} {hypothesis}"
    elif "nugget" in texts:
        yield " ".join(digest_of(texts[role]) for role in LEDGER_KINDS[ASSIGNS].items)
    else:
        sentence, document = digest_of(texts["sentence"]), texts["document"]
        for form in (document, f"Title: {document}", f"\n{document}"):
            yield f"{sentence} {digest_of(form)}"


def _options_with_label_file(
    scorer: child.Scorer, options: dict[str, str], labels: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the options with a file of labels in place of each judge of the ledger.
    ``labels`` has lines by the kind of labels, and may lack kinds.
    """
    paths = {}
    for judge in stored_judges(options):
        path = scorer.folder / f"labels-{judge.kind}.jsonl"
        lines = [first_line(judge.kind, judge.name), *labels.get(judge.kind, ())]
        path.write_text("".join(lines), encoding="utf-8")
        paths[judge.option] = path
    return with_label_files(options, paths)


def _task_options(sampling: SampleParameters) -> dict[str, str]:
    task = sampling.phase.task
    return dict(task.task_type.checked_options(task.options))


def _estimate_arguments(
    scorer: child.Scorer,
    sampling: SampleParameters,
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


def _run_estimate_command(
    scorer: child.Scorer, sampling: SampleParameters, arguments: list[str]
) -> dict[str, Any]:
    command = child.ScorerCommand(
        arguments,
        doing="Estimating",
        fault=SCORER_FAULT_MESSAGE,
        refused=partial(_estimate_failure, PEOPLE),
    )
    scorer.begin(command, scoring_limits_for(sampling.phase.task, len(sampling.runs)))
    while not scorer.ended(within=POLL_SECONDS):
        interruptions.raise_if_stop_requested()
    for result in scorer.results():
        return result
    raise scorer.verdict(sampling.rules)


def _estimate_failure(
    filename: str, problems: Sequence[Any], more: int
) -> child.RunFailed:
    return child.RunFailed(
        problems[0]["message"] if problems else f"{filename} cannot be read", problems
    )
