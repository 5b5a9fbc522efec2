"""Making a sheet: instances drawn from the public inputs, the texts of several runs, shuffled and blinded."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.core.confinement import UploadUnreadable, limits_for_organisers, read_upload
from citeboard.core.refusals import Refused
from citeboard.core.words import counted
from citeboard.teams.models import User
from scoring.board.standings import standings
from scoring.human.scales import scales_of
from scoring.models import Sheet, SheetInstance, SheetText
from scoring.worker.child import RunFailed, ScorerWaits
from scoring.worker.local_copies import run_copy
from tasks.gold.gold_files import index_file
from tasks.models import Gold, Phase, Submission
from tasks.submissions.run_card import READING
from tasks.types.human_evaluation import Sources

MAX_INSTANCES, MAX_SYSTEMS = 200, 20
#: Codes are drawn by chance, so that neither one nor its neighbours tell whose text it is; of letters alone,
#: since table programs make numbers of what looks like one.
_LETTERS, _CODE_LENGTH = "bcdfghjkmnpqrstvwxz", 10


class SheetRefused(Refused):
    """No sheet can be made of this; the message says why."""


def judged_phases(phases: Sequence[Phase]) -> list[Phase]:
    """Those whose runs are texts that people can judge."""
    return [phase for phase in phases if phase.task.task_type.human_evaluation is not None]


def runs_on_board(phase: Phase, viewer: User) -> list[Submission]:
    """The runs that stand on the board now, in its order, as far as they have a file."""
    rows = standings(phase, viewer).rows
    runs = Submission.objects.in_bulk([row.submission for row in rows])
    return [runs[row.submission] for row in rows if runs[row.submission].file]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The instances of a sheet in their order, what they were written from, and what each run says."""

    phase: Phase
    seed: int
    names: Sequence[str]
    sources: Mapping[str, Sources]
    texts: Mapping[int, Mapping[str, str]]


def check_size(runs: int, instances: int) -> None:
    """Raises SheetRefused."""
    if not 1 <= runs <= MAX_SYSTEMS or not 1 <= instances <= MAX_INSTANCES:
        raise SheetRefused(
            _("%(runs)s and %(instances)s: a sheet has 1 to %(most_runs)s runs and 1 to %(most)s instances")
            % {
                "runs": counted(runs, "run"),
                "instances": counted(instances, "instance"),
                "most_runs": MAX_SYSTEMS,
                "most": MAX_INSTANCES,
            }
        )


def make_sheet(*, phase: Phase, runs: Sequence[Submission], instances: int, seed: int, by: User) -> Sheet:
    """A sheet of so many instances for which each run has a text. Raises SheetRefused."""
    return keep_sheet(draw_sheet(phase=phase, runs=runs, instances=instances, seed=seed), by=by)


def draw_sheet(
    *,
    phase: Phase,
    runs: Sequence[Submission],
    instances: int,
    seed: int,
    tell: Callable[[float, str], object] = lambda share, doing: None,
) -> Drawn:
    """Read the inputs and every run, and draw. Raises SheetRefused.

    The same seed draws the same instances from the same runs. ``tell`` hears how far it is.
    """
    check_size(len(runs), instances)
    tell(0, "reading the public inputs")
    sources = _sources(phase)
    texts = {}
    for place, run in enumerate(runs, start=1):
        tell(place / (len(runs) + 1), f"reading run {place} of {len(runs)}")
        texts[run.pk] = _texts(run)
    shared = [name for name in sources if all(own.get(name, "").strip() for own in texts.values())]
    if len(shared) < instances:
        raise SheetRefused(
            _("only %(instances)s of %(total)s have a text of every chosen run, and %(asked)s are asked for")
            % {"instances": counted(len(shared), "instance"), "total": len(sources), "asked": instances}
        )
    names = sorted(shared, key=lambda name: _place(seed, name))[:instances]
    return Drawn(phase=phase, seed=seed, names=names, sources=sources, texts=texts)


def keep_sheet(drawn: Drawn, *, by: User) -> Sheet:
    """The order of an instance's texts is drawn anew each time, as are the codes: seeds and the numbers of
    runs are known, and would tell whose a text is.
    """
    phase = drawn.phase
    with transaction.atomic():
        sheet = Sheet.objects.create(phase=phase, seed=drawn.seed, created_by=by)
        _fill(sheet, drawn.names, drawn.sources, drawn.texts)
        facts = {"instances": len(drawn.names), "runs": len(drawn.texts)}
        audit.record("sheet", actor=by, subject=phase, place=phase.task.season, facts=facts)
    return sheet


def _fill(
    sheet: Sheet, drawn: Sequence[str], sources: Mapping[str, Sources], texts: Mapping[int, Mapping[str, str]]
) -> None:
    sheet.scales = scales_of(sheet.phase)
    sheet.save(update_fields=["scales"])
    made = SheetInstance.objects.bulk_create(
        SheetInstance(
            sheet=sheet, position=position, name=name, sources=[list(source) for source in sources[name]]
        )
        for position, name in enumerate(drawn, start=1)
    )
    SheetText.objects.bulk_create(
        SheetText(
            instance=instance,
            position=position,
            code="".join(secrets.choice(_LETTERS) for place in range(_CODE_LENGTH)),
            submission_id=run,
            # A database keeps no NUL, which JSON can spell.
            text=texts[run][instance.name].replace("\0", "\ufffd"),
        )
        for instance in made
        for position, run in enumerate(secrets.SystemRandom().sample(list(texts), len(texts)), start=1)
    )


def _place(seed: int, name: str) -> bytes:
    """A place in an order that follows from the seed alone, on every machine."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()


def _sources(phase: Phase) -> Mapping[str, Sources]:
    """What the texts were written from, by the public inputs that participants have."""
    human_evaluation = phase.task.task_type.human_evaluation
    gold = Gold.objects.current(phase)
    if human_evaluation is None or gold is None:
        raise SheetRefused(_("the phase has no texts that people could judge, or no gold yet"))
    given = {"task_type": phase.task.type}
    with tempfile.TemporaryDirectory(prefix="citeboard-sheet-") as folder:
        try:
            path = storage.local_copy(storage.gold, gold.public, Path(folder))
            with read_upload(
                f"{READING}:sources", path, given, owner=None, limits=limits_for_organisers()
            ) as done:
                return {
                    name: tuple((heading, text) for heading, text in own) for name, own in done.result.items()
                }
        except (OSError, UploadUnreadable) as reason:
            raise SheetRefused(_("the public inputs of the phase cannot be read")) from reason


def _texts(run: Submission) -> Mapping[str, str]:
    """By instance what a run says."""
    task_type = run.phase.task.task_type
    gold = Gold.objects.current(run.phase)
    assert gold is not None
    given = {
        "task_type": task_type.slug,
        "options": task_type.checked_options(run.phase.task.options),
        "filename": run.filename,
    }
    limits, index = limits_for_organisers(), index_file(gold)
    with tempfile.TemporaryDirectory(prefix="citeboard-sheet-") as folder:
        try:
            path = run_copy(run, Path(folder))
            with read_upload(
                f"{READING}:texts", path, given, owner=None, limits=limits, shared=index
            ) as done:
                return dict(done.result)
        except (OSError, UploadUnreadable, RunFailed, ScorerWaits) as reason:
            raise SheetRefused(_("the run of %(run)s cannot be read") % {"run": run}) from reason
