"""Collect the judgements that the scorer of a run may read, which are the judgements on
pairs of this run.

The first scorer of a run reports the pairs that need judgements. The site looks up
judgements of the pairs in the judgement ledger, and passes the judgements to a second
scorer. A digest of the judgements that the scorer used is stored with the scores of the
run.
"""

from __future__ import annotations

import hashlib
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from citeboard.core.commits import call_after_commit
from scoring.models import Evaluation, Judge, Receipt, UsedJudgements
from scoring.models.ledger import (
    BYTE_BY_LABEL,
    hash_items_to_eight_bytes,
    hash_units_to_four_bytes,
)
from scoring.worker.entailment_labels import find_deciding_judges, iterate_pending_pairs
from scoring.worker.ledger import LabelDecision, look_up_labels, split_into_batches
from tasks.models import Job
from tasks.models.seasons import increment_board_version
from tasks.types.ledger import DecidedLabel, ItemToJudge
from tasks.types.stored_judges import (
    LedgerJudge,
    format_label_file_header,
    format_label_line,
    list_ledger_judges,
    replace_judges_by_label_files,
)

JudgeVersionsById = Mapping[int, int]


def start_judgement_collection(job: Job) -> CollectedJudgementsOfRun | None:
    """Return an empty collection of judgements for a scoring job, or None if the job
    needs no judgements from the ledger.
    """
    judges = list_ledger_judges(job.options)
    if job.kind != Job.Kind.SCORE or not judges:
        return None
    return CollectedJudgementsOfRun(job, judges)


class CollectedJudgementsOfRun:
    """The labels in the judgement ledger for the pairs of one run, by the kind of the
    labels. Each kind of labels has one judge.
    """

    def __init__(self, job: Job, judges: Sequence[LedgerJudge]) -> None:
        self._job = job
        self._by_kind = {
            judge.kind: _CollectedLabelsOfKind(job, judge) for judge in judges
        }

    @property
    def decided(self) -> Mapping[str, int]:
        """Return the number of collected labels of each kind that a scorer can use."""
        return {kind: own.decided for kind, own in self._by_kind.items()}

    def options(self, folder: Path) -> dict[str, str]:
        """Return the options of the job, with files of the collected labels as the
        sources of labels.
        """
        paths = {}
        for kind, own in self._by_kind.items():
            path = folder / f"labels-{kind}.jsonl"
            own.write(path)
            paths[own.judge.option] = path
        return replace_judges_by_label_files(self._job.options, paths)

    def add(self, pending: Path) -> bool:
        """Look up the pairs in the ledger for which a scorer had no label. Return True
        if the ledger has a label for at least one of the pairs.
        """
        for own in self._by_kind.values():
            own.refresh_deciding_judges()
        before = self.decided
        for pairs in split_into_batches(iterate_pending_pairs(pending)):
            by_kind: dict[str, list[ItemToJudge]] = defaultdict(list)
            for pair in pairs:
                by_kind[pair.kind].append(pair)
            for kind, asked in by_kind.items():
                self._by_kind[kind].look_up_labels_of_pairs(asked)
        return self.decided != before

    @property
    def is_outdated(self) -> bool:
        """Return True if judgements were added to the ledger or withdrawn after the
        last search.
        """
        return any(own.is_outdated for own in self._by_kind.values())

    def record(self, evaluation: Evaluation, receipt: Receipt) -> None:
        """In the transaction that publishes the scores, store which judgements were
        used for the scores.
        """
        evaluation.used_judgements.filter(is_current=True).update(is_current=False)
        for own in self._by_kind.values():
            own.record(evaluation, receipt)


class _CollectedLabelsOfKind:
    """The labels of one kind for the pairs of one run, when the ledger was last
    searched.
    """

    def __init__(self, job: Job, judge: LedgerJudge) -> None:
        self._job, self.judge = job, judge
        self._deciding = find_deciding_judges(job, judge)
        self._seen: JudgeVersionsById = list_judge_versions(self._deciding)
        #: The versions of the judges at the time of the first search for labels.
        self._since = self._seen
        #: The label of each pair, and a digest of the judgements that determined it.
        self._labels: dict[str, DecidedLabel] = {}
        self._digests: dict[str, bytes] = {}
        #: The resampling unit of each pair, such as its question.
        self._units: list[str] = []
        self._imports: set[int] = set()
        self._ties = 0
        self.decided = 0

    def write(self, path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.write(format_label_file_header(self.judge.kind, self.judge.name))
            for items, settled in self._labels.items():
                if settled.is_final(self.judge.kind):
                    file.write(format_label_line(self.judge.kind, items, settled.label))

    def refresh_deciding_judges(self) -> None:
        """Read which judges decide now, before labels are looked up."""
        self._deciding = find_deciding_judges(self._job, self.judge)
        self._seen = list_judge_versions(self._deciding)
        if not self._labels:
            self._since = self._seen

    def look_up_labels_of_pairs(self, pairs: Iterable[ItemToJudge]) -> None:
        units = {
            form: pair.unit for pair in pairs for form in (pair.items, *pair.others)
        }
        for items, found in look_up_labels(self._deciding, units):
            if items not in self._labels:
                self._store_decision(items, found, units[items])

    def _store_decision(self, items: str, found: LabelDecision, unit: str) -> None:
        self._labels[items] = found.settled
        # Runs have many pairs of few units, which share the name in memory.
        self._units.append(sys.intern(unit))
        self._digests[items] = _hash_decision(items, found)
        self._imports |= found.imports
        self._ties += found.settled.is_tie
        self.decided += found.settled.is_final(self.judge.kind)

    @property
    def is_outdated(self) -> bool:
        return (
            list_judge_versions(find_deciding_judges(self._job, self.judge))
            != self._seen
        )

    def record(self, evaluation: Evaluation, receipt: Receipt) -> None:
        if not self._labels:
            return
        used = UsedJudgements.objects.create(
            evaluation=evaluation,
            receipt=receipt,
            kind=self.judge.kind,
            name=self.judge.name,
            digest=hash_collected_judgements(self._digests),
            rows=len(self._labels),
            ties=self._ties,
            items=hash_items_to_eight_bytes(self._labels).tobytes(),
            labels=bytes(BYTE_BY_LABEL[one.label] for one in self._labels.values()),
            units=hash_units_to_four_bytes(self._units).tobytes(),
        )
        used.imports.set(self._imports)
        call_after_commit(self._mark_outdated_if_changed, used)

    def _mark_outdated_if_changed(self, used: UsedJudgements) -> None:
        deciding = find_deciding_judges(self._job, self.judge)
        if list_judge_versions(deciding) == self._since:
            return
        found = look_up_labels(deciding, self._labels)
        now = {items: _hash_decision(items, one) for items, one in found}
        if hash_collected_judgements(now) == used.digest:
            return
        with transaction.atomic():
            UsedJudgements.objects.filter(pk=used.pk).update(outdated_at=timezone.now())
            increment_board_version(used.evaluation.phase_id)


def list_judge_versions(judges: list[Judge]) -> JudgeVersionsById:
    return {judge.pk: judge.version for judge in judges}


def _hash_decision(items: str, found: LabelDecision) -> bytes:
    said = "".join(
        f"{items} {row.by}\0{row.repeat} {row.label}\n" for row in found.rows
    )
    return hashlib.sha256(said.encode()).digest()


def hash_collected_judgements(digests: Mapping[str, bytes]) -> str:
    """Return a digest of the collected judgements that does not depend on their order."""
    return hashlib.sha256(b"".join(sorted(digests.values()))).hexdigest()
