"""Checks of an installed site, by which operators find faults. Each check reports one
problem in a sentence and suggests a remedy.
"""

import datetime as dt
import importlib.util
import json
import secrets
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from smtplib import SMTPException

import redis
from django.conf import settings
from django.core import checks
from django.core.cache import caches
from django.core.files.base import ContentFile
from django.core.mail import get_connection
from django.db import DatabaseError, connection
from django.db.models import Exists, OuterRef, Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django_q.brokers import get_broker
from django_q.status import Stat

from citeboard.core import outages, storage
from citeboard.core.confinement import (
    PROBE_PROGRAM,
    find_allowed_mechanisms,
    find_reason_for_refusing_uploads,
    read_upload,
)
from citeboard.core.database import (
    MAX_CLOCK_SKEW_SECONDS,
    database_time_expression,
    fetch_database_time,
    measure_clock_skew,
    read_schema_state,
)
from citeboard.core.health import GIGABYTE, MIN_FREE_DISK_BYTES
from citeboard.core.processes import extract_host_name
from citeboard.core.words import count_with_noun, localize_separators
from citeboard.core.writability import find_write_problem
from scoring.models import Judge, LogEntry
from scoring.receipts.log import find_current_signing_key, find_signing_key_problem
from scoring.worker.child import WAITING_MESSAGE_PREFIX
from scoring.worker.entailment_labels import (
    count_open_pairs,
    find_jobs_waiting_for_labels,
)
from scoring.worker.supply import list_requirements_of_task
from tasks.jobs import tallies
from tasks.jobs.queue_choice import choose_queue_of_task, explain_unserved_queue
from tasks.jobs.sweeper import load_last_sweep_time
from tasks.models import Gold, Job, Phase, Submission, Task
from tasks.seasons.organisers import write_first_organiser_instructions

MAIL_TIMEOUT_SECONDS = 5  # seconds
MAX_JOB_WAITING_TIME = dt.timedelta(hours=1)
#: The groups are listed at most MAX_WORKER_GROUP_QUERIES times, enough for a dozen dead groups.
MAX_WORKER_GROUP_QUERIES = 4
MODEL_PACKAGES = ("torch", "transformers", "spacy", "bert_score")


class FindingState(StrEnum):
    GOOD, ODD, BAD = "good", "odd", "bad"


@dataclass(frozen=True, kw_only=True)
class Finding:
    name: str
    state: FindingState
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        return {name: str(value) for name, value in asdict(self).items()}


def run_health_checks(names: list[str] | None = None) -> list[Finding]:
    """Return the findings of all checks of the site, or of the checks in ``names``.

    If a check raises an exception, the finding of the check reports the exception.

    If the database cannot be written, an examination without ``names`` returns only
    this finding, because the advice of all other checks would be misleading.
    """
    if names is None and (cause := _find_database_outage()) is not None:
        return [cause]
    findings = []
    for name in names or CHECKS_BY_NAME:
        try:
            state, words, advice = CHECKS_BY_NAME[name]()
        except DatabaseError as reason:
            outage = outages.find_outage(reason)
            findings.append(
                _build_outage_finding(name, outage.reason if outage else str(reason))
            )
            continue
        except redis.RedisError:
            state, words = FindingState.BAD, _("Redis does not answer")
            advice = _("See that the server of REDIS_URL runs and can be reached.")
        except Exception as reason:  # noqa: BLE001  (the finding reports the exception)
            state, words = FindingState.BAD, _("it could not be examined: %(reason)s")
            words %= {"reason": f"{type(reason).__name__}: {reason}"}
            advice = _("See what the other checks say; the log of the site has more.")
        findings.append(Finding(name=name, state=state, found=words, advice=advice))
    return findings


CheckResult = tuple[FindingState, str, str]

REMEDIES_BY_OUTAGE_REASON = {
    outages.READ_ONLY_REASON: gettext_lazy(
        "Let DATABASE_URL name the server that takes writes: after a failover it may be another one."
    ),
    outages.MISSING_PERMISSION_REASON: gettext_lazy(
        "Give the site's role back its rights on the tables of its database."
    ),
    outages.FULL_DISK_REASON: gettext_lazy("Make room on the disk of the database."),
    outages.BUSY_REASON: gettext_lazy("Uploads wait; see who writes so long."),
    outages.UPGRADE_IN_PROGRESS_REASON: gettext_lazy(
        "Wait until `manage.py migrate` has ended."
    ),
}
_DEFAULT_DATABASE_REMEDY = gettext_lazy(
    "See that the server of DATABASE_URL runs and can be reached."
)


def _find_database_outage() -> Finding | None:
    problem = find_write_problem()
    reason = problem.reason if problem is not None else _try_reading_database()
    return _build_outage_finding("database", reason) if reason else None


def _build_outage_finding(name: str, reason: str) -> Finding:
    state = FindingState.ODD if reason == outages.BUSY_REASON else FindingState.BAD
    advice = str(REMEDIES_BY_OUTAGE_REASON.get(reason, _DEFAULT_DATABASE_REMEDY))
    return Finding(name=name, state=state, found=reason, advice=advice)


def _try_reading_database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        connection.close()
        outage = outages.find_outage(error)
        return outage.reason if outage else outages.NO_ANSWER_REASON
    return ""


def _check_settings() -> CheckResult:
    issues = checks.run_checks(include_deployment_checks=False)
    serious = [message for message in issues if message.is_serious()]
    if told := serious or issues:
        state = FindingState.BAD if serious else FindingState.ODD
        return state, "; ".join(message.msg for message in told), told[0].hint or ""
    return FindingState.GOOD, "nothing contradicts itself", ""


def _check_database() -> CheckResult:
    if missing := read_schema_state().missing:
        message = _("%(number)s migration(s) behind this release") % {
            "number": len(missing)
        }
        return FindingState.BAD, message, _("Run `manage.py migrate`.")
    if (problem := find_write_problem()) is not None:
        found = _build_outage_finding("database", problem.reason)
        return found.state, found.found, found.advice
    message = _("%(database)s answers and is of this release") % {
        "database": connection.display_name
    }
    return FindingState.GOOD, message, ""


def _check_clock() -> CheckResult:
    if (seconds := measure_clock_skew()) > MAX_CLOCK_SKEW_SECONDS:
        advice = _("Let all machines keep time by NTP; phases open and close by it.")
        message = _("this machine and the database differ by %(seconds)s s")
        return (
            FindingState.BAD,
            message % {"seconds": localize_separators(f"{seconds:.1f}")},
            advice,
        )
    return FindingState.GOOD, _("this machine and the database agree on the time"), ""


def _check_storage() -> CheckResult:
    place = str(settings.BUCKET or settings.FILES_DIR)
    if trouble := _find_storage_error():
        advice = "Mend it; until then uploads are answered 503 or 507, and runs wait."
        return FindingState.BAD, f"{place}: {trouble}", advice
    names = {
        name
        for gold in Gold.objects.all()
        for name in (gold.file, gold.index, gold.public)
    }
    missing = sorted(
        name for name in names if not storage.gold_file_storage.exists(name)
    )
    if missing and len(missing) == len(names):
        message = f"none of the {len(names)} files of gold are in {place}, so that it is another place than before"  # noqa: E501
        advice = (
            "Let CITEBOARD_DATA_DIR and CITEBOARD_STORAGE name the place that holds them, or move them there "
            "with `manage.py storage copy`, or restore them from a backup."
        )
        return FindingState.BAD, message, advice
    if missing:
        advice = "Load the gold again with `manage.py load_gold`; the same content keeps its version."
        return (
            FindingState.BAD,
            f"{len(missing)} files of gold are missing, such as {missing[0]}",
            advice,
        )
    message = f"files can be written to {place} and read; all {len(names)} files of gold are there"
    return FindingState.GOOD, message, ""


def _find_storage_error() -> str:
    content = secrets.token_bytes(1024)
    try:
        written = storage.statistics_file_storage.save(
            f"doctor/{secrets.token_hex(8)}", ContentFile(content)
        )
        try:
            with storage.statistics_file_storage.open(written) as file:
                content_read = file.read()
        finally:
            storage.statistics_file_storage.delete(written)
    except OSError as trouble:
        return f"a file cannot be written and read there: {trouble.strerror or trouble}"
    return "" if content_read == content else "a file came back changed"


def _check_disk_space() -> CheckResult:
    free = shutil.disk_usage(settings.DATA_DIR).free
    words = _("%(size)s GB are free for %(folder)s")
    words %= {
        "size": localize_separators(f"{free / GIGABYTE:.1f}"),
        "folder": settings.DATA_DIR,
    }
    if free < 2 * GIGABYTE:
        advice = _("Make room; runs wait while nothing can be written.")
        return (
            FindingState.BAD if free < MIN_FREE_DISK_BYTES else FindingState.ODD,
            words,
            advice,
        )
    return FindingState.GOOD, words, ""


def _check_mail_server() -> CheckResult:
    """Check that the mail server accepts the sign-in, without sending an e-mail."""
    if not settings.EMAIL_HOST:
        advice = "Nobody gets a mail to confirm an address or set a password; set CITEBOARD_EMAIL_HOST."
        return (
            FindingState.ODD,
            "no mail server is set; mails are written to the console",
            advice,
        )
    place = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        with get_connection(timeout=MAIL_TIMEOUT_SECONDS):
            return FindingState.GOOD, f"{place} lets the site send mails", ""
    except (OSError, SMTPException) as trouble:
        advice = "See CITEBOARD_EMAIL_HOST, _PORT, _USER, _PASSWORD and _SECURITY."
        return FindingState.BAD, f"{place} lets no mail be sent: {trouble}", advice


def _check_static_files() -> CheckResult:
    advice = "Run `manage.py collectstatic --no-input`."
    manifest = Path(settings.STATIC_ROOT) / "staticfiles.json"
    try:
        named = sorted(
            json.loads(manifest.read_text(encoding="utf-8"))["paths"].values()
        )
    except (OSError, ValueError, KeyError, AttributeError) as trouble:
        return FindingState.BAD, f"{manifest} cannot be read: {trouble}", advice
    if missing := [name for name in named if not (manifest.parent / name).is_file()]:
        return (
            FindingState.BAD,
            f"{len(missing)} static files are missing, such as {missing[0]}",
            advice,
        )
    return (
        FindingState.GOOD,
        f"all {len(named)} static files are in {settings.STATIC_ROOT}",
        "",
    )


def _check_confinement() -> CheckResult:
    """Check confinement with a sandboxed process that tries to reach files, the network
    and other processes.
    """
    with read_upload(
        PROBE_PROGRAM, Path(__file__), {"file": "/etc/passwd"}, owner=None
    ) as done:
        closed = [name for name, is_closed in done.result.items() if is_closed]
        still_open = [name for name, is_closed in done.result.items() if not is_closed]
    if not still_open:
        return (
            FindingState.GOOD,
            f"closed to processes that read uploads: {', '.join(closed)}",
            "",
        )
    message = (
        f"open to processes that read uploads, beside limits: {', '.join(still_open)}"
    )
    if reason := find_reason_for_refusing_uploads():
        advice = (
            "Run the site where the kernel has Landlock, or lets users make namespaces, and seccomp filters; "
            "or set CITEBOARD_CONFINEMENT=best-effort, which reads uploads with what there is."
        )
        return FindingState.BAD, f"{message}; {reason}", advice
    if not find_allowed_mechanisms():
        advice = "CITEBOARD_CONFINEMENT=limits leaves out what the kernel can do."
    else:
        advice = "A kernel with Landlock and seccomp filters (Linux 5.13 or later) closes them."
    return FindingState.ODD, message, advice


def _check_queue() -> CheckResult:
    broker = get_broker()
    broker.ping()
    waiting = Job.objects.filter(state=Job.State.QUEUED).order_by("created_at")
    oldest = waiting.first()
    facts = {"broker": broker.info(), "jobs": waiting.count()}
    if oldest is None:
        return (
            FindingState.GOOD,
            _("%(broker)s answers; %(jobs)s jobs are queued") % facts,
            "",
        )
    message = _(
        "%(broker)s answers; %(jobs)s jobs are queued, the oldest since %(ago)s"
    )
    return (
        FindingState.GOOD,
        message % {**facts, "ago": _format_time_since(oldest.created_at)},
        "",
    )


def _check_queue_names() -> CheckResult:
    waiting = Counter(
        Job.objects.filter(state=Job.State.QUEUED)
        .order_by()
        .values_list("queue", flat=True)
    )
    tasks = Task.objects.filter(
        is_reported_only=False, phases__closes__gt=timezone.now()
    ).distinct()
    used = {*waiting, *(choose_queue_of_task(task) for task in tasks)}
    unserved = {
        queue: why for queue in sorted(used) if (why := explain_unserved_queue(queue))
    }
    scaled_to_zero = [
        queue
        for queue in unserved
        if queue in settings.SCALED_QUEUES and not waiting[queue]
    ]
    for queue in scaled_to_zero:
        del unserved[queue]
    if unserved:
        words = _("%(why)s (%(jobs)s in it)")
        jobs = {queue: count_with_noun(waiting[queue], "job") for queue in unserved}
        words = "; ".join(
            words % {"why": why, "jobs": jobs[queue]} for queue, why in unserved.items()
        )
        advice = _(
            "Start a group of workers that serves it: CITEBOARD_QUEUES names queues, all without it."
        )
        return (
            FindingState.BAD
            if any(waiting[queue] for queue in unserved)
            else FindingState.ODD,
            words,
            advice,
        )
    served = ", ".join(sorted(used.difference(scaled_to_zero))) or _("none is")
    words = _("all queues in use are served: %(names)s") % {"names": served}
    if scaled_to_zero:
        empty = _("; scaled to zero and empty: %(names)s")
        words += empty % {"names": ", ".join(scaled_to_zero)}
    return FindingState.GOOD, words, ""


def _check_workers() -> CheckResult:
    # When django-q removes a dead group from its list, django-q skips the next group.
    # The check lists the groups repeatedly, in order to find every living group.
    groups = list(
        {
            group.cluster_id: group
            for _ in range(MAX_WORKER_GROUP_QUERIES)
            for group in Stat.get_all()
        }.values()
    )
    busy = Job.objects.filter(
        state=Job.State.RUNNING, lease_expires_at__gt=database_time_expression()
    )
    owners = {
        extract_host_name(owner) for owner in busy.values_list("lease_owner", flat=True)
    }
    if not groups and not owners and (trouble := _find_heartbeat_error()):
        advice = _(
            "Fix that first; until then it is unknown whether there are workers."
        )
        message = _("no sign of life can be kept where workers leave them: %(trouble)s")
        return FindingState.BAD, message % {"trouble": trouble}, advice
    if not groups and not owners:
        advice = _(
            "Start `manage.py serve`, or `manage.py serve --only worker` beside a site of its own."
        )
        return FindingState.BAD, _("no group of workers gives a sign of life"), advice
    hosts = sorted({group.host for group in groups} | owners)
    restarts = sum(group.reincarnations for group in groups)
    facts = {
        "groups": count_with_noun(len(groups), "group"),
        "jobs": count_with_noun(busy.count(), "job"),
    }
    facts |= {"hosts": ", ".join(hosts), "workers": count_with_noun(restarts, "worker")}
    return (
        FindingState.GOOD,
        _("%(groups)s, %(jobs)s at work, on %(hosts)s; %(workers)s replaced") % facts,
        "",
    )


def _find_heartbeat_error() -> str:
    name, sign = f"doctor-{secrets.token_hex(8)}", secrets.token_hex(8)
    try:
        caches["queue"].set(name, sign, 60)
        content_read = caches["queue"].get(name)
        caches["queue"].delete(name)
    except Exception as trouble:  # noqa: BLE001  (a cache may be a file, a table or Redis)
        return f"{type(trouble).__name__}: {trouble}"
    return "" if content_read == sign else _("what was written is not there")


def _check_sweeper() -> CheckResult:
    if (last := load_last_sweep_time()) is None and (
        trouble := _find_heartbeat_error()
    ):
        advice = _("Fix that first; until then it is unknown whether anybody sweeps.")
        message = _(
            "no sign of life can be kept where sweepers leave them: %(trouble)s"
        )
        return FindingState.BAD, message % {"trouble": trouble}, advice
    advice = _(
        "`manage.py serve` sweeps by itself; without it, let a timer run `manage.py sweep`."
    )
    if last is None:
        return FindingState.BAD, _("nobody sweeps, so that lost jobs stay lost"), advice
    late = fetch_database_time() - last > dt.timedelta(
        seconds=3 * settings.SWEEP_SECONDS + settings.LEASE_SECONDS
    )
    message = _("the last sweep was %(ago)s") % {"ago": _format_time_since(last)}
    return (
        (FindingState.BAD if late else FindingState.GOOD),
        message,
        advice if late else "",
    )


def _check_run_counts() -> CheckResult:
    if wrong := tallies.correct_tallied_counts():
        message = _(
            "%(number)s of the numbers of runs and jobs were wrong; they are right now"
        )
        advice = _(
            "`manage.py migrate` makes the triggers anew that count them, where they are missing."
        )
        return FindingState.ODD, message % {"number": wrong}, advice
    return FindingState.GOOD, _("there are as many runs and jobs as pages say"), ""


def _check_stuck_jobs() -> CheckResult:
    now = fetch_database_time()
    bound = dt.timedelta(
        seconds=2 * settings.LEASE_SECONDS + 2 * settings.SWEEP_SECONDS
    )
    lost = Job.objects.filter(
        state=Job.State.RUNNING, lease_expires_at__lt=now - bound
    ).count()
    moving = Job.objects.filter(
        submission=OuterRef("pk"), sets_status=True, state__in=Job.MOVING
    )
    # The filter by phase lets the database use the index on phase and status.
    runs = Submission.objects.filter(
        phase__in=Phase.objects.values("pk"), status__in=Submission.MOVING
    )
    left = runs.filter(~Exists(moving)).count()
    if lost or left:
        advice = _(
            "`manage.py sweep` sets lost jobs moving, `manage.py rescore` makes those that are missing."
        )
        message = _(
            "%(jobs)s jobs are held by nobody, %(runs)s runs move without a job"
        )
        return FindingState.BAD, message % {"jobs": lost, "runs": left}, advice
    waiting = Job.objects.filter(state=Job.State.WAITING).order_by("started_at")
    if first := waiting.first():
        long = first.started_at and now - first.created_at > MAX_JOB_WAITING_TIME
        message = _("%(jobs)s jobs wait: %(reason)s") % {
            "jobs": waiting.count(),
            "reason": first.reason,
        }
        return (
            (FindingState.ODD if long else FindingState.GOOD),
            message,
            _("They go on by themselves.") if long else "",
        )
    return FindingState.GOOD, _("no job is stuck"), ""


def _check_scoring_models() -> CheckResult:
    absent = [name for name in MODEL_PACKAGES if importlib.util.find_spec(name) is None]
    tasks = Task.objects.filter(
        is_reported_only=False, phases__closes__gt=timezone.now()
    ).distinct()
    lacking = dict.fromkeys(
        need
        for task in tasks
        for need in list_requirements_of_task(task)
        if need.missing
    )
    missing = [f"{model.kind} {model.name}: {model.missing}" for model in lacking]
    # Earlier releases did not store the name of the package for which a job waits.
    unsupplied = Q(reason__contains="not installed") | Q(
        reason__startswith=WAITING_MESSAGE_PREFIX
    )
    waiting = Job.objects.filter(unsupplied, state=Job.State.WAITING).count()
    if waiting:
        words = "; ".join([f"{waiting} jobs wait for models or programs", *missing])
        return FindingState.BAD, words, "Run `make models` on the workers."
    if missing:
        return (
            FindingState.ODD,
            "; ".join(missing),
            "Runs will wait for them; run `make models` on the workers.",
        )
    if absent:
        return (
            FindingState.GOOD,
            f"{', '.join(absent)} are not installed, and no task needs them",
            "",
        )
    return FindingState.GOOD, "what the tasks are scored with is here", ""


def _check_entailment_labels() -> CheckResult:
    if waiting := list(find_jobs_waiting_for_labels()):
        models = ", ".join(sorted({row.judge.name for row in waiting}))
        words = _("%(pairs)s pairs of %(scorings)s scorings wait for %(models)s")
        words %= {
            "pairs": count_open_pairs(find_jobs_waiting_for_labels()),
            "scorings": len(waiting),
            "models": models,
        }
        return (
            FindingState.ODD,
            words,
            _("`manage.py export_pairs`, decide elsewhere, `manage.py import_labels`."),
        )
    labels = Judge.objects.aggregate(labels=Sum("decided"))["labels"] or 0
    words = _("%(labels)s labels are kept and nothing waits for others") % {
        "labels": labels
    }
    return FindingState.GOOD, words, ""


def _format_time_since(then: dt.datetime) -> str:
    return _("%(seconds)s s ago") % {
        "seconds": f"{(fetch_database_time() - then).total_seconds():.0f}"
    }


def _check_receipt_key() -> CheckResult:
    waiting = LogEntry.objects.filter(index=None).count()
    if lost := find_signing_key_problem():
        facts = {"receipts": count_with_noun(waiting, "receipt"), "reason": lost}
        advice = _(
            "Give the site the secret key back that it had, or the key in CITEBOARD_RECEIPT_KEY; if it is "
            "gone, `manage.py receipt_key --replace` makes another one."
        )
        return (
            FindingState.BAD,
            _("%(receipts)s cannot be signed, because %(reason)s") % facts,
            advice,
        )
    if (key := find_current_signing_key()) is None:
        return (
            FindingState.GOOD,
            _("the key that signs receipts is made at the first start"),
            "",
        )
    return (
        FindingState.GOOD,
        _("receipts are signed by the key %(key)s") % {"key": key.public[:16]},
        "",
    )


def _check_organiser_exists() -> CheckResult:
    if words := write_first_organiser_instructions():
        return FindingState.ODD, _("nobody may organise yet"), words
    return FindingState.GOOD, _("there is somebody who may organise"), ""


#: CHECKS_BY_NAME maps the names that `doctor --only` accepts to the functions of the checks.
CHECKS_BY_NAME: dict[str, Callable[[], CheckResult]] = {
    "settings": _check_settings,
    "database": _check_database,
    "clock": _check_clock,
    "storage": _check_storage,
    "disk": _check_disk_space,
    "mail": _check_mail_server,
    "static": _check_static_files,
    "confinement": _check_confinement,
    "queue": _check_queue,
    "queues": _check_queue_names,
    "workers": _check_workers,
    "sweeper": _check_sweeper,
    "jobs": _check_stuck_jobs,
    "counts": _check_run_counts,
    "receipts": _check_receipt_key,
    "models": _check_scoring_models,
    "labels": _check_entailment_labels,
    "organiser": _check_organiser_exists,
}
