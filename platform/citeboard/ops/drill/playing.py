"""Inject a fault into a copy of the site, and record the outcome.

The outcome contains the site's responses, the findings of `manage.py doctor`, the
alerts and the recovery.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from citeboard.ops.drill.alarms import find_firing_alerts, parse_metrics
from citeboard.ops.drill.faults import (
    INSUFFICIENT_STORAGE_STATUS,
    UNAVAILABLE_STATUS,
    InjectedFault,
    find_namespace_command,
)
from citeboard.ops.drill.own_redis import TemporaryRedisServer
from citeboard.ops.drill.site_copy import (
    SiteCopy,
    SiteCopyFailed,
    SiteResponse,
    wait_until,
)

#: Health probes notice a fault within MAX_NOTICE_SECONDS seconds.
MAX_NOTICE_SECONDS = 15.0
#: Metrics are scraped every SCRAPE_INTERVAL_SECONDS seconds, less often than sweeps run.
SCRAPE_INTERVAL_SECONDS = 15.0
#: A drill mounts a small disk with SMALL_DISK_FREE_MB free megabytes.
SMALL_DISK_FREE_MB = 24
DEMO_SEASON_PATH = "/seasons/demo/"
FINAL_RUN_STATUSES = ("scored", "failed")


@dataclass(frozen=True, kw_only=True)
class FaultObservations:
    """The observations of the copied site during and after a fault.

    ``alarms`` maps each alert to the minute at which the alert fires, and is None
    without promtool.
    """

    probe: SiteResponse
    upload: SiteResponse
    page: SiteResponse
    doctor: list[dict[str, str]]
    alarms: dict[str, int] | None
    #: The site accepted uploads again `ready_after` seconds after the end of the fault.
    #: All accepted runs were scored `scored_after` seconds after the end of the fault.
    ready_after: float
    scored_after: float
    #: `ends` contains the final states of the runs accepted before the recovery.
    ends: list[str] = field(default_factory=list)

    @property
    def doctor_finding_texts(self) -> list[str]:
        return [f"{finding['name']}: {finding['found']}" for finding in self.doctor]


def find_unmet_requirements(
    fault: InjectedFault, outcome: FaultObservations
) -> list[str]:
    """Return the requirements of a fault that the copy of the site did not meet in a
    drill.
    """
    found = []
    for what, answer, expected in (
        ("an upload", outcome.upload, fault.upload),
        ("a page", outcome.page, fault.page),
    ):
        if answer.status != expected:
            found.append(f"{what} was answered {answer.status}, expected {expected}")
        if (
            answer.status in (UNAVAILABLE_STATUS, INSUFFICIENT_STORAGE_STATUS)
            and "retry-after" not in answer.headers
        ):
            found.append(f"the answer to {what} has no Retry-After")
    if fault.upload in (UNAVAILABLE_STATUS, INSUFFICIENT_STORAGE_STATUS) and not (
        outcome.doctor_finding_texts or _is_fault_noticed(outcome)
    ):
        found.append("neither probe nor doctor shows it")
    lost = [end or "gone" for end in outcome.ends if end != "scored"]
    if lost:
        found.append(
            f"{len(lost)} of {len(outcome.ends)} runs that were taken: {lost[0]}"
        )
    return found


def _is_fault_noticed(outcome: FaultObservations) -> bool:
    return outcome.probe.status != 200 or bool(outcome.probe.facts.get("missing"))


def inject_fault_and_observe(fault: InjectedFault, copy: SiteCopy) -> FaultObservations:
    """Inject a fault into the copy of the site, and return the outcome.

    Raises SiteCopyFailed if the copy of the site does not recover.
    """
    with _prepare_copy_for_fault(fault, copy) as prepared:
        if fault.ends_site:
            return _inject_fatal_fault_and_restart(fault, prepared)
        with prepared.served():
            taken = [prepared.upload()]
            quiet, known = _find_alerts_without_fault(prepared), _run_doctor(prepared)
            with fault.begin(prepared):
                outcome = _observe_site(prepared)
            taken.append(outcome.upload)
            outcome = replace(
                outcome,
                alarms=_subtract_known_alerts(outcome.alarms, quiet),
                doctor=_subtract_known_findings(outcome.doctor, known),
            )
            return _await_recovery(prepared, outcome, taken)


def _inject_fatal_fault_and_restart(
    fault: InjectedFault, copy: SiteCopy
) -> FaultObservations:
    """Inject a fault that makes the copy of the site exit, and restart the copy after
    the fault.
    """
    with copy.served():
        taken = [copy.upload()]
        known = _run_doctor(copy)
        with fault.begin(copy):
            wait_until(lambda: not copy.is_alive(), "the site does not end")
            outcome = _observe_site(copy)
    outcome = replace(outcome, doctor=_subtract_known_findings(outcome.doctor, known))
    with copy.served():
        return _await_recovery(copy, outcome, taken)


@contextmanager
def _prepare_copy_for_fault(fault: InjectedFault, copy: SiteCopy) -> Iterator[SiteCopy]:
    if fault.small_disk is not None:
        folder = fault.small_disk(copy)
        yield replace(copy, wrapper=_build_small_disk_command(str(folder)))
        return
    if not fault.needs_redis:
        yield copy
        return
    redis = TemporaryRedisServer(copy.folder)
    redis.start()
    environment = {**copy.environment, "REDIS_URL": redis.address}
    try:
        yield replace(copy, redis=redis, environment=environment)
    finally:
        redis.stop()


def _build_small_disk_command(folder: str) -> tuple[str, ...]:
    """Return the command prefix that mounts a small disk at a folder."""
    script = (
        'kept=$(mktemp -d) && cp -a "$0/." "$kept" && '
        f'size=$(( $(du -sm "$kept" | cut -f1) + {SMALL_DISK_FREE_MB} )) && '
        'mount -t tmpfs -o "size=${size}m" drill "$0" && cp -a "$kept/." "$0" && '
        'rm -r "$kept" && exec "$@"'
    )
    return (*find_namespace_command(), "sh", "-c", script, folder)


def _observe_site(copy: SiteCopy) -> FaultObservations:
    began = time.monotonic()
    first = _scrape_metrics(copy)
    with suppress(SiteCopyFailed):
        wait_until(
            lambda: (
                not copy.is_ready() or time.monotonic() - began > MAX_NOTICE_SECONDS
            ),
            "the probe notices nothing",
        )
    probe, page, upload = (
        copy.get("/health/ready"),
        copy.get(DEMO_SEASON_PATH),
        copy.upload(),
    )
    time.sleep(max(0.0, SCRAPE_INTERVAL_SECONDS - (time.monotonic() - began)))
    last, seconds = _scrape_metrics(copy), time.monotonic() - began
    return FaultObservations(
        probe=probe,
        upload=upload,
        page=page,
        doctor=_run_doctor(copy),
        alarms=find_firing_alerts(first, last, seconds, copy.folder),
        ready_after=0.0,
        scored_after=0.0,
    )


def _find_alerts_without_fault(copy: SiteCopy) -> dict[str, int] | None:
    first = _scrape_metrics(copy)
    time.sleep(SCRAPE_INTERVAL_SECONDS)
    return find_firing_alerts(
        first, _scrape_metrics(copy), SCRAPE_INTERVAL_SECONDS, copy.folder
    )


def _run_doctor(copy: SiteCopy) -> list[dict[str, str]]:
    done = copy.manage("doctor", "--json")
    if not done.stdout.startswith("["):
        raise SiteCopyFailed(f"doctor: {done.stderr.strip()[-500:]}")
    output = done.stdout.replace(f"{copy.folder}/", "")
    return [found for found in json.loads(output) if found["state"] != "good"]


def _subtract_known_findings(
    findings: list[dict[str, str]], known: list[dict[str, str]]
) -> list[dict[str, str]]:
    return [found for found in findings if found not in known]


def _subtract_known_alerts(
    alarms: dict[str, int] | None, quiet: dict[str, int] | None
) -> dict[str, int] | None:
    if alarms is None or quiet is None:
        return None
    return {name: minutes for name, minutes in alarms.items() if name not in quiet}


def _scrape_metrics(copy: SiteCopy) -> dict[str, float]:
    answer = copy.get("/metrics")
    return parse_metrics(answer.body.decode()) if answer.status == 200 else {}


def _await_recovery(
    copy: SiteCopy, outcome: FaultObservations, taken: list[SiteResponse]
) -> FaultObservations:
    began = time.monotonic()
    last = copy.upload()
    while last.status != 201:
        if time.monotonic() - began > MAX_NOTICE_SECONDS * 8:
            raise SiteCopyFailed(f"uploads are still answered {last.status}")
        time.sleep(0.5)
        last = copy.upload()
    ready_after = time.monotonic() - began
    runs = [
        int(answer.facts["id"]) for answer in (*taken, last) if answer.status == 201
    ]
    wait_until(
        lambda: all(copy.fetch_run_status(run) in FINAL_RUN_STATUSES for run in runs),
        "runs that were taken are not scored",
        alive=copy.is_alive,
    )
    return replace(
        outcome,
        ready_after=ready_after,
        scored_after=time.monotonic() - began,
        ends=[copy.fetch_run_status(run) for run in runs],
    )
