"""Labels of entailment models, how they come in and go out; and the runs that wait for them.

A waiting job has a row for each pair that is open. The rows go as pairs are decided; a job that has lost one
is scored again, which finds what is still open. Both who decides and who begins to wait look after they have
committed, so that one of them sees the other.
"""

import datetime as dt
import gzip
import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.teams.models import User
from scoring.metrics import entailment
from scoring.models import (
    EntailmentLabel,
    EntailmentModel,
    LabelImport,
    PendingLabels,
    PendingPair,
)
from scoring.worker.child import PairsPending
from scoring.worker.local_copies import (
    FileRefused,
    read_sent,
    storage_in_use,
    work_folder,
)
from tasks.jobs import engine
from tasks.models import Job, Season
from tasks.submissions.uploads import safe_filename
from tasks.types import InputRefused, Problem

#: Rows that are asked for or written in one statement.
AT_ONCE = 500
MAX_MODEL = 200
SAME_PAIR = {"premise": OuterRef("premise"), "hypothesis": OuterRef("hypothesis")}


@dataclass(frozen=True, kw_only=True)
class Imported:
    model: EntailmentModel
    added: int
    known: int
    resumed: int


@dataclass(frozen=True, kw_only=True)
class GivenLabels:
    labels: entailment.LabelFile
    filename: str
    sha256: str


def import_labels(
    *,
    path: Path,
    filename: str,
    by: User | None,
    season: Season | None = None,
    model: str = "",
) -> Imported:
    """Keep a file's labels, all of them or none. Those that are there already may come again."""
    file = read_labels(path, filename, model, by)
    stored = store_labels(file, season=season, by=by)
    return replace(stored, resumed=go_on(stored, file))


def read_labels(path: Path, filename: str, model: str, by: User | None) -> GivenLabels:
    try:
        labels = (
            _sent(path, filename, by)
            if by
            else entailment.read_entailment_labels(path, shown=filename)
        )
    except InputRefused as refused:
        raise FileRefused(refused.problems) from refused
    name, message, expected = labels.model or model, "", ""
    if not labels.entailed:
        message, expected = (
            _("there is no label in it"),
            _("one JSON object on each line"),
        )
    elif not name:
        message = _("it does not say whose labels these are")
        expected = _("“model” on its lines, or the model's name beside the file")
    elif model and labels.model and model != labels.model:
        message = _("these are labels of “%(model)s”") % {"model": labels.model}
        expected = _("those of “%(model)s”") % {"model": model}
    elif len(name) > MAX_MODEL or not name.isprintable() or name != name.strip():
        message = _("the model's name cannot be kept")
        expected = _("at most %(number)s printable characters") % {"number": MAX_MODEL}
    if message:
        raise FileRefused([Problem(file=filename, message=message, expected=expected)])
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return GivenLabels(
        labels=replace(labels, model=name), filename=filename, sha256=sha256
    )


def _sent(path: Path, filename: str, by: User) -> entailment.LabelFile:
    values = read_sent("scoring.worker.reading:labels", path, filename, by)
    read = entailment.LabelFile(values["model"])
    for premise, hypothesis, entailed, shown, line in values["labels"]:
        read.entailed[premise, hypothesis] = entailed
        read.places[premise, hypothesis] = (shown, line)
    return read


def store_labels(
    file: GivenLabels, *, season: Season | None, by: User | None
) -> Imported:
    given = file.labels
    with transaction.atomic():
        EntailmentModel.objects.get_or_create(name=given.model, season=season)
        # Other imports of labels of this model wait here.
        deciding = list(
            EntailmentModel.objects.select_for_update().deciding(given.model, season)
        )
        model = deciding[0]
        known = _known(deciding, given)
        source = LabelImport.objects.create(
            model=model,
            filename=safe_filename(file.filename),
            sha256=file.sha256,
            added=len(given.entailed) - len(known),
            known=len(known),
            imported_by=by,
        )
        rows = [
            EntailmentLabel(
                model=model,
                premise=key[0],
                hypothesis=key[1],
                entailed=entailed,
                source=source,
            )
            for key, entailed in given.entailed.items()
            if key not in known
        ]
        EntailmentLabel.objects.bulk_create(rows, batch_size=AT_ONCE)
        if source.added:
            EntailmentModel.objects.filter(pk=model.pk).update(
                decided=model.decided + source.added
            )
            if season is not None:
                facts = {"labels": source.added, "model": model}
                audit.record(
                    "labels-imported",
                    actor=by,
                    subject=source,
                    place=season,
                    facts=facts,
                )
    return Imported(model=model, added=source.added, known=source.known, resumed=0)


def go_on(stored: Imported, file: GivenLabels) -> int:
    has_sha1 = any(
        len(premise) < len(hypothesis) for premise, hypothesis in file.labels.entailed
    )
    return resume_waiting(stored.model, is_unsure=has_sha1 and stored.added > 0)


def models_of_season(season: Season) -> list[str]:
    found = (entailment.stored_model(task.options) for task in season.tasks.all())
    return list(dict.fromkeys(name for name in found if name))


def label_lines(deciding: Sequence[EntailmentModel]) -> Iterator[str]:
    yield _line({"model": deciding[0].name, entailment.KEPT: True})
    for place, model in enumerate(deciding):
        before = EntailmentLabel.objects.filter(model__in=deciding[:place], **SAME_PAIR)
        rows = (
            model.entailment_labels.exclude(Exists(before))
            if place
            else model.entailment_labels
        )
        found = rows.order_by("pk").values_list("premise", "hypothesis", "entailed")
        for premise, hypothesis, entailed in found.iterator(chunk_size=5000):
            digest = (
                "premise_sha256" if len(premise) == len(hypothesis) else "premise_sha1"
            )
            yield _line(
                {
                    digest: premise,
                    "hypothesis_sha256": hypothesis,
                    "entailed": int(entailed),
                }
            )


def _line(value: Mapping[str, str | int]) -> str:
    return f"{json.dumps(value, ensure_ascii=False)}\n"


def _known(
    deciding: Sequence[EntailmentModel], given: entailment.LabelFile
) -> set[entailment.Key]:
    known: dict[entailment.Key, bool] = {}
    premises = sorted({premise for premise, _ in given.entailed})
    for model in reversed(deciding):
        for start in range(0, len(premises), AT_ONCE):
            rows = model.entailment_labels.filter(
                premise__in=premises[start : start + AT_ONCE]
            )
            for premise, hypothesis, entailed in rows.values_list(
                "premise", "hypothesis", "entailed"
            ):
                known[premise, hypothesis] = entailed
    contradictions = [
        Problem(
            file=given.places[key][0],
            line=given.places[key][1],
            message=_("this pair is kept as %(label)s") % {"label": int(known[key])},
            expected=_(
                "what a model has decided once; another model goes by another name"
            ),
        )
        for key, entailed in given.entailed.items()
        if known.get(key, entailed) != entailed
    ]
    if contradictions:
        raise FileRefused(
            sorted(contradictions, key=lambda contradiction: contradiction.line or 0)
        )
    return given.entailed.keys() & known.keys()


def share_labels(*, season: Season, model: str, by: User) -> Imported:
    """Keep the season's labels of a model for all seasons, all or none; runs that wait go on with them."""
    EntailmentModel.objects.get(name=model, season=season)
    with transaction.atomic():
        EntailmentModel.objects.get_or_create(name=model, season=None)
        own, shared = EntailmentModel.objects.select_for_update().deciding(
            model, season
        )
        there = shared.entailment_labels.filter(**SAME_PAIR)
        otherwise = there.filter(~Q(entailed=OuterRef("entailed")))
        if contradicted := own.entailment_labels.filter(Exists(otherwise)).count():
            message = _(
                "%(number)s of these labels contradict those that all seasons share"
            )
            message %= {"number": contradicted}
            raise FileRefused(
                [Problem(message=message, expected=_("what a model has decided once"))]
            )
        known = own.entailment_labels.filter(Exists(there)).count()
        digest = hashlib.sha256()
        for line in label_lines([own]):
            digest.update(line.encode())
        source = LabelImport.objects.create(
            model=shared,
            filename=safe_filename(f"labels of {season.slug}"),
            sha256=digest.hexdigest(),
            added=own.decided - known,
            known=known,
            imported_by=by,
        )
        new = own.entailment_labels.exclude(Exists(there)).order_by("pk")
        last, has_sha1 = 0, False
        while labels := list(new.filter(pk__gt=last)[:AT_ONCE]):
            last = labels[-1].pk
            has_sha1 = has_sha1 or any(
                len(label.premise) < len(label.hypothesis) for label in labels
            )
            for label in labels:
                label.pk, label.model, label.source = None, shared, source
            EntailmentLabel.objects.bulk_create(labels)
        EntailmentModel.objects.filter(pk=shared.pk).update(
            decided=shared.decided + source.added
        )
        facts = {"labels": source.added, "model": shared}
        audit.record(
            "labels-shared", actor=by, subject=source, place=season, facts=facts
        )
    resumed = resume_waiting(shared, is_unsure=has_sha1)
    return Imported(model=shared, added=source.added, known=known, resumed=resumed)


NAME = "labels.jsonl"


def local_options(job: Job, folder: Path) -> dict[str, str]:
    """The job's options as a scorer takes them, with the labels that they ask for in its folder."""
    if not (deciding := _deciding(job)):
        return dict(job.options)
    path = _copy_path(deciding)
    with storage_in_use():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            handle, draft = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.writelines(label_lines(deciding))
                Path(draft).replace(path)
            finally:
                Path(draft).unlink(missing_ok=True)
            counts = _counts(path)
            for other in path.parent.glob(f"{deciding[0].pk}-*.jsonl"):
                is_older = all(
                    count <= counts.get(model, -1)
                    for model, count in _counts(other).items()
                )
                if other != path and is_older:
                    other.unlink(missing_ok=True)
        # A second name of the same file: it stays, whatever becomes of the first.
        os.link(path, folder / NAME)
    return entailment.with_labels(job.options, folder / NAME)


def is_outdated(job: Job, folder: Path) -> bool:
    if not (deciding := _deciding(job)):
        return False
    path = _copy_path(deciding)
    return not path.exists() or not path.samefile(folder / NAME)


def _deciding(job: Job) -> list[EntailmentModel]:
    """Return the models that have labels, the season's own first; the season's own alone if none has."""
    if (name := entailment.stored_model(job.options)) is None:
        return []
    season = job.submission.phase.task.season
    own, _ = EntailmentModel.objects.get_or_create(name=name, season=season)
    return list(
        EntailmentModel.objects.deciding(name, season).filter(decided__gt=0)
    ) or [own]


def _copy_path(deciding: Sequence[EntailmentModel]) -> Path:
    state = "_".join(f"{model.pk}-{model.decided}" for model in deciding)
    return work_folder() / "entailment_labels" / f"{state}.jsonl"


def _counts(path: Path) -> dict[int, int]:
    return {
        int(model): int(count)
        for model, count in (part.split("-") for part in path.stem.split("_"))
    }


#: A sweep tries again only so late, since whoever brings labels sees to it.
PATIENCE = dt.timedelta(days=1)


def wait_for_labels(job: Job, found: PairsPending, pairs: Path) -> bool:
    """Put the job off until its pairs are decided; False once the job is no longer ours."""
    model_name = entailment.stored_model(job.options)
    assert model_name is not None, f"job {job.pk} asks for no kept labels"
    season = job.submission.phase.task.season
    EntailmentModel.objects.get_or_create(name=model_name, season=season)
    deciding = list(EntailmentModel.objects.deciding(model_name, season))
    model = deciding[0]
    # A passage may hold what Unicode calls the end of a line.
    with pairs.open(encoding="utf-8", newline="\n") as kept:
        lines = [json.loads(line) for line in kept]
    content = "".join(
        f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines
    ).encode()
    # In the folder of the run, named like its statistics: they go when the job is scored.
    name = f"{job.submission_id}/job-{job.pk}-pairs-{secrets.token_hex(4)}.jsonl.gz"
    with storage_in_use():
        name = storage.statistics.save(name, ContentFile(gzip.compress(content)))
    is_kept = False
    try:
        with transaction.atomic():
            reason = (
                f"{found.pending} of {found.pairs} pairs pending: whether passages entail claims is decided "
                f"by {model}, outside of this site. Scoring goes on by itself when the last label is there."
            )
            if is_kept := engine.defer(job, reason, until=timezone.now() + PATIENCE):
                _replace(job, model, found.pairs, name, lines)
    finally:
        if not is_kept:
            storage.statistics.delete(name)
    for model in deciding:
        resume_waiting(model)
    return is_kept


def resume_waiting(model: EntailmentModel, *, is_unsure: bool = False) -> int:
    """Strike out what has been decided and resume the jobs that this concerns; returns how many."""
    decided = EntailmentLabel.objects.filter(model=model, **SAME_PAIR)
    with transaction.atomic():
        struck = PendingPair.objects.filter(
            Exists(decided), waits__in=_waiting_for(model)
        )
        concerned = set(struck.values_list("waits__job", flat=True).distinct())
        struck.delete()
    waiting = Job.objects.filter(
        pending_labels__in=_waiting_for(model), state=Job.State.WAITING
    )
    if not is_unsure:
        waiting = waiting.filter(pk__in=concerned)
    resumed = sum(engine.resume(job) for job in waiting.order_by("pk"))
    # Labels that jobs waited for which have been scored or cancelled since.
    for ended in _waiting_for(model).exclude(job__state__in=Job.MOVING):
        storage.statistics.delete(ended.file)
        ended.delete()
    return resumed


def waiting_jobs() -> QuerySet[PendingLabels]:
    return (
        PendingLabels.objects.filter(job__state__in=Job.MOVING)
        .annotate(left=Count("open_pairs"))
        .select_related(
            "model",
            "job__gold",
            "job__submission__phase__task__season",
            "job__submission__team",
        )
        .order_by("since", "pk")
    )


def pairs_left(waiting: QuerySet[PendingLabels]) -> int:
    return waiting.aggregate(all=Sum("left"))["all"] or 0


def open_pairs(
    waiting: Sequence[PendingLabels], *, is_next_only: bool = False
) -> Iterator[dict[str, str]]:
    shown: set[entailment.Pair] = set()
    for row in waiting:
        still_open = set(row.open_pairs.values_list("premise", "hypothesis"))
        with (
            storage.statistics.open(row.file) as kept,
            gzip.open(kept, "rt", encoding="utf-8") as lines,
        ):
            for line in lines:
                value = json.loads(line)
                pair = entailment.Pair(value["premise"], value["hypothesis"])
                if (
                    pair in shown
                    or pair.key not in still_open
                    or (is_next_only and not value["next"])
                ):
                    continue
                shown.add(pair)
                yield {"premise": pair.premise, "hypothesis": pair.hypothesis}


def _waiting_for(model: EntailmentModel) -> QuerySet[PendingLabels]:
    waiting = PendingLabels.objects.filter(model__name=model.name)
    if model.season_id is None:
        return waiting
    return waiting.filter(job__submission__phase__task__season=model.season_id)


def _replace(
    job: Job,
    model: EntailmentModel,
    pairs: int,
    name: str,
    lines: Sequence[dict[str, Any]],
) -> None:
    before = PendingLabels.objects.filter(job=job).first()
    since = before.since if before else timezone.now()
    if before is not None:
        old = before.file
        before.delete()
        transaction.on_commit(lambda: storage.statistics.delete(old), robust=True)
    waits = PendingLabels.objects.create(
        job=job, model=model, pairs=pairs, file=name, since=since
    )
    keys = (entailment.Pair(line["premise"], line["hypothesis"]).key for line in lines)
    rows = [
        PendingPair(waits=waits, premise=premise, hypothesis=hypothesis)
        for premise, hypothesis in keys
    ]
    PendingPair.objects.bulk_create(rows, batch_size=AT_ONCE)
