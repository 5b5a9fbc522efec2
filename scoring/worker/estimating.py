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
from scoring.offline.estimated_units import LABEL_KIND_BY_UNIT_KIND
from scoring.worker import child, local_copies
from scoring.worker.entailment_labels import iterate_pending_pairs
from scoring.worker.ledger import look_up_labels
from scoring.worker.scorers import (
    SCORER_POLL_SECONDS,
    build_option_arguments,
    build_scoring_limits,
    create_scorer_process,
)
from tasks.jobs import interruptions
from tasks.models import Gold, Phase, Submission
from tasks.types.ledger import (
    ASSIGNS_KIND,
    JUDGEMENT_KINDS_BY_NAME as LEDGER_KINDS,
    ItemToJudge,
    compute_text_digest,
)
from tasks.types.stored_judges import (
    LedgerJudge,
    format_label_file_header,
    format_label_line,
    list_ledger_judges,
    replace_judges_by_label_files,
)

SCORER_FAULT_MESSAGE = (
    "The estimates failed by a fault of the scorer; the log says what happened."
)
SAMPLE_SHEET_FILE_NAME, PEOPLE_LABELS_FILE_NAME, ASKED_NUGGETS_FILE_NAME = (
    "sheet.jsonl",
    "people.jsonl",
    "asked.jsonl",
)
EXPORTED_ROWS_FILE_NAME = "rows.jsonl"
#: A number that is greater than the number of units of any run.
MORE_UNITS_THAN_ANY_RUN = 10**9


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


def sample_units_as_sheet(sampling: SampleParameters) -> bytes:
    """Return the content of a file with sampled units that people label. Raises
    ScoringOfRunFailed if no units can be sampled.
    """
    with closing(create_scorer_process()) as scorer:
        return _write_sample_sheet(scorer, sampling).read_bytes()


@dataclass(frozen=True)
class ComputedEstimates:
    """The estimated scores, and people's labels as lines with pseudonyms and with
    digests in place of texts.
    """

    result: dict[str, Any]
    rows: bytes


def compute_estimates(sampling: SampleParameters, people: Path) -> ComputedEstimates:
    """Estimate scores from the labels in the file ``people``. Raises UploadedFileRefused or
    ScoringOfRunFailed.
    """
    options = _build_task_options(sampling)
    # Only labels of the sampled kind of unit determine the estimates.
    labels = {
        judge.kind: _load_stored_label_lines(sampling, judge)
        for judge in list_ledger_judges(options)
        if judge.kind == LABEL_KIND_BY_UNIT_KIND[sampling.of]
    }
    with closing(create_scorer_process()) as scorer:
        path = scorer.folder / PEOPLE_LABELS_FILE_NAME
        path.write_bytes(people.read_bytes())
        options = _build_options_with_label_file(scorer, options, labels)
        arguments = _build_estimate_arguments(
            scorer, sampling, "scores", sampling.labels, options
        )
        rows = scorer.folder / EXPORTED_ROWS_FILE_NAME
        arguments += [f"--people={path}", f"--rows={rows}"]
        result = _run_estimate_command(scorer, sampling, arguments)
        return ComputedEstimates(result, rows.read_bytes())


def _write_sample_sheet(
    scorer: child.ScorerProcess,
    sampling: SampleParameters,
    labels: int | None = None,
    asked: Path | None = None,
) -> Path:
    # To sample units, the scorer needs no labels of judges.
    options = _build_options_with_label_file(scorer, _build_task_options(sampling), {})
    count = sampling.labels if labels is None else labels
    out = scorer.folder / SAMPLE_SHEET_FILE_NAME
    arguments = _build_estimate_arguments(scorer, sampling, "sheet", count, options)
    if asked is not None:
        arguments.append(f"--asked={asked}")
    _run_estimate_command(scorer, sampling, [*arguments, f"--out={out}"])
    return out


def _load_stored_label_lines(
    sampling: SampleParameters, judge: LedgerJudge
) -> list[str]:
    season = sampling.phase.task.season
    deciding = list(Judge.objects.deciding(judge.name, season, judge.kind))
    reader = (
        _open_item_digests_of_nuggets
        if judge.kind == ASSIGNS_KIND
        else _open_item_digests_of_rows
    )
    with reader(sampling) as forms:
        return [
            format_label_line(judge.kind, items, decision.settled.label)
            for items, decision in look_up_labels(deciding, forms)
            if decision.settled.is_final(judge.kind)
        ]


@contextmanager
def _open_item_digests_of_rows(sampling: SampleParameters) -> Iterator[Iterator[str]]:
    with open_all_unit_rows(sampling) as rows:
        yield (form for row in rows for form in iterate_item_digests_of_row(row))


@contextmanager
def _open_item_digests_of_nuggets(
    sampling: SampleParameters,
) -> Iterator[Iterator[str]]:
    """Yield an iterator over the digests under which the ledger may have the nuggets of
    the runs. Judges may have seen other forms of a nugget than people see.
    """
    with _open_asked_items(sampling) as asked:
        yield (form for item in asked for form in (item.items, *item.others))


@contextmanager
def _open_asked_items(sampling: SampleParameters) -> Iterator[Iterator[ItemToJudge]]:
    """Yield an iterator over what a judge is asked about the runs. Raises ScoringOfRunFailed."""
    with closing(create_scorer_process()) as scorer:
        asked = scorer.folder / ASKED_NUGGETS_FILE_NAME
        _write_sample_sheet(scorer, sampling, asked=asked)
        yield iterate_pending_pairs(asked)


@contextmanager
def open_all_unit_rows(
    sampling: SampleParameters,
) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield an iterator over all units of the runs, as rows of a file that people
    label. Raises ScoringOfRunFailed.

    The file is read line by line, because the texts of all pairs can take gigabytes of
    memory.
    """
    with closing(create_scorer_process()) as scorer, ExitStack() as files:
        sheet = _write_sample_sheet(scorer, sampling, MORE_UNITS_THAN_ANY_RUN)
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
    ScoringOfRunFailed.

    The names of a nugget are part of the gold, so the scorer writes their digests.
    """
    if LABEL_KIND_BY_UNIT_KIND[sampling.of] != ASSIGNS_KIND:
        with open_all_unit_rows(sampling) as rows:
            yield (
                UnitForms(row, tuple(iterate_item_digests_of_row(row))) for row in rows
            )
        return
    with _open_asked_items(sampling) as asked:
        yield _distinct_units(asked)


def _distinct_units(asked: Iterable[ItemToJudge]) -> Iterator[UnitForms]:
    known = set[bytes]()
    for item in asked:
        # Two runs can have the same report.
        key = hashlib.sha256(item.items.encode()).digest()
        if key not in known:
            known.add(key)
            yield UnitForms({"texts": item.texts_by_role}, (item.items, *item.others))


def iterate_item_digests_of_row(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the digests under which the judgement ledger may have stored a pair. Older
    labels have a SHA-1 digest of the premise, and documents have several forms.
    The row of a nugget has only the form that people see.
    """
    texts = row["texts"]
    if "premise" in texts:
        premise, hypothesis = texts["premise"], compute_text_digest(texts["hypothesis"])
        yield f"{compute_text_digest(premise)} {hypothesis}"
        yield f"{entailment.compute_sha1(premise)} {hypothesis}"
    elif "nugget" in texts:
        yield " ".join(
            compute_text_digest(texts[role])
            for role in LEDGER_KINDS[ASSIGNS_KIND].items
        )
    else:
        sentence, document = compute_text_digest(texts["sentence"]), texts["document"]
        for form in (document, f"Title: {document}", f"\n{document}"):
            yield f"{sentence} {compute_text_digest(form)}"


def _build_options_with_label_file(
    scorer: child.ScorerProcess,
    options: dict[str, str],
    labels: Mapping[str, Sequence[str]],
) -> dict[str, str]:
    """Return the options with a file of labels in place of each judge of the ledger.
    ``labels`` has lines by the kind of labels, and may lack kinds.
    """
    paths = {}
    for judge in list_ledger_judges(options):
        path = scorer.folder / f"labels-{judge.kind}.jsonl"
        lines = [
            format_label_file_header(judge.kind, judge.name),
            *labels.get(judge.kind, ()),
        ]
        path.write_text("".join(lines), encoding="utf-8")
        paths[judge.option] = path
    return replace_judges_by_label_files(options, paths)


def _build_task_options(sampling: SampleParameters) -> dict[str, str]:
    task = sampling.phase.task
    return dict(task.task_type.validate_options(task.options))


def _build_estimate_arguments(
    scorer: child.ScorerProcess,
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
            f"--run={local_copies.copy_run_file_to_folder(run, folder)}",
            f"--run-name={run.pk}",
        ]
    return [
        "estimates",
        command,
        sampling.phase.task.task_type.reference,
        f"--of={sampling.of}",
        f"--labels={labels}",
        f"--seed={sampling.seed}",
        f"--gold={local_copies.get_or_make_local_gold_copy(sampling.gold)}",
        f"--reading={sampling.gold.reading_version}",
        f"--rules={sampling.rules}",
        *runs,
        *build_option_arguments(options),
    ]


def _run_estimate_command(
    scorer: child.ScorerProcess, sampling: SampleParameters, arguments: list[str]
) -> dict[str, Any]:
    command = child.ScorerCommand(
        arguments,
        doing="Estimating",
        fault=SCORER_FAULT_MESSAGE,
        refused=partial(_build_estimate_failure, PEOPLE_LABELS_FILE_NAME),
    )
    scorer.start_command(
        command, build_scoring_limits(sampling.phase.task, len(sampling.runs))
    )
    while not scorer.wait_for_end(within=SCORER_POLL_SECONDS):
        interruptions.raise_if_stop_requested()
    for result in scorer.results():
        return result
    raise scorer.verdict(sampling.rules)


def _build_estimate_failure(
    filename: str, problems: Sequence[Any], more: int
) -> child.ScoringOfRunFailed:
    return child.ScoringOfRunFailed(
        problems[0]["message"] if problems else f"{filename} cannot be read", problems
    )
