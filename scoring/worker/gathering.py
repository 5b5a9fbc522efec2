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
from collections.abc import Mapping
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from citeboard.core.commits import after_commit
from scoring.models import Evaluation, Judge, Receipt, UsedJudgements
from scoring.models.ledger import LABEL_BYTES, short_digests, short_units
from scoring.worker.entailment_labels import deciding_judges, pairs_in
from scoring.worker.ledger import Decision, in_parts, look_up
from tasks.models import Job
from tasks.models.seasons import bump_version
from tasks.types.ledger import Settled
from tasks.types.stored_judges import (
    StoredJudge,
    first_line,
    label_line,
    stored_judge,
    with_label_file,
)

NAME = "labels.jsonl"
Versions = Mapping[int, int]


def gathered_for(job: Job) -> Gathered | None:
    """Return an empty collection of judgements for a scoring job, or None if the job
    needs no judgements from the ledger.
    """
    judge = stored_judge(job.options)
    return Gathered(job, judge) if job.kind == Job.Kind.SCORE and judge else None


class Gathered:
    """The labels in the judgement ledger for the pairs of one run, when the ledger was
    last searched.
    """

    def __init__(self, job: Job, judge: StoredJudge) -> None:
        self._job, self._judge = job, judge
        self.deciding = deciding_judges(job)
        self._seen: Versions = versions_of(self.deciding)
        #: The versions of the judges at the time of the first search for labels.
        self._since = self._seen
        #: The label of each pair, and a digest of the judgements that determined it.
        self._labels: dict[str, Settled] = {}
        self._digests: dict[str, bytes] = {}
        #: The resampling unit of each pair, such as its question.
        self._units: list[str] = []
        self._imports: set[int] = set()
        self._ties = 0

    def options(self, folder: Path) -> dict[str, str]:
        """Return the options of the job, with a file of the collected labels as the
        source of labels.
        """
        path = folder / NAME
        kind = self._judge.kind
        with path.open("w", encoding="utf-8") as file:
            file.write(first_line(kind, self._judge.name))
            for items, settled in self._labels.items():
                if settled.is_final(kind):
                    file.write(label_line(kind, items, settled.label))
        return with_label_file(self._job.options, path)

    def add(self, pending: Path) -> bool:
        """Look up the pairs in the ledger for which a scorer had no label. Return True
        if the ledger has a label for at least one of the pairs.
        """
        self.deciding = deciding_judges(self._job)
        self._seen = versions_of(self.deciding)
        if not self._labels:
            self._since = self._seen
        before = len(self._labels)
        for pairs in in_parts(pairs_in(pending)):
            units = {
                form: pair.unit for pair in pairs for form in (pair.items, *pair.others)
            }
            for items, found in look_up(self.deciding, units):
                if items not in self._labels:
                    self._keep(items, found, units[items])
        return len(self._labels) > before

    def _keep(self, items: str, found: Decision, unit: str) -> None:
        self._labels[items] = found.settled
        # Runs have many pairs of few units, which share the name in memory.
        self._units.append(sys.intern(unit))
        self._digests[items] = _digest(items, found)
        self._imports |= found.imports
        self._ties += found.settled.is_tie

    @property
    def is_outdated(self) -> bool:
        """Return True if judgements were added to the ledger or withdrawn after the
        last search.
        """
        return versions_of(deciding_judges(self._job)) != self._seen

    def record(self, evaluation: Evaluation, receipt: Receipt) -> None:
        """In the transaction that publishes the scores, store which judgements were
        used for the scores.
        """
        evaluation.used_judgements.filter(is_current=True).update(is_current=False)
        if not self._labels:
            return
        used = UsedJudgements.objects.create(
            evaluation=evaluation,
            receipt=receipt,
            kind=self._judge.kind,
            name=self.deciding[0].name,
            digest=digest_of_rows(self._digests),
            rows=len(self._labels),
            ties=self._ties,
            items=short_digests(self._labels).tobytes(),
            labels=bytes(LABEL_BYTES[one.label] for one in self._labels.values()),
            units=short_units(self._units).tobytes(),
        )
        used.imports.set(self._imports)
        after_commit(self._check_again, used)

    def _check_again(self, used: UsedJudgements) -> None:
        if versions_of(deciding_judges(self._job)) == self._since:
            return
        found = look_up(deciding_judges(self._job), self._labels)
        now = {items: _digest(items, one) for items, one in found}
        if digest_of_rows(now) == used.digest:
            return
        with transaction.atomic():
            UsedJudgements.objects.filter(pk=used.pk).update(outdated_at=timezone.now())
            bump_version(used.evaluation.phase_id)


def versions_of(judges: list[Judge]) -> Versions:
    return {judge.pk: judge.version for judge in judges}


def _digest(items: str, found: Decision) -> bytes:
    said = "".join(
        f"{items} {row.by}\0{row.repeat} {row.label}\n" for row in found.rows
    )
    return hashlib.sha256(said.encode()).digest()


def digest_of_rows(digests: Mapping[str, bytes]) -> str:
    """Return a digest of the collected judgements that does not depend on their order."""
    return hashlib.sha256(b"".join(sorted(digests.values()))).hexdigest()
