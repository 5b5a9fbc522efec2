import os
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from citeboard.core.processes import build_process_group_name
from citeboard.core.words import count_with_noun
from citeboard.core.writability import find_write_problem
from tasks.jobs import interruptions
from tasks.jobs.queue_choice import (
    WorkerGroupHeartbeat,
    delete_worker_group,
    list_claimable_jobs,
)
from tasks.jobs.work import claim_and_do_next_job

#: While no job waits, the command checks for new jobs every JOB_POLL_SECONDS seconds.
JOB_POLL_SECONDS = 1.0


class Command(BaseCommand):
    help = (
        "Takes jobs one after the other in this process, for batch systems and timers."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--queue",
            action="append",
            default=[],
            metavar="NAME",
            help="a queue to take jobs from; may be repeated (default: CITEBOARD_QUEUES, or all)",
        )
        parser.add_argument(
            "--until-idle",
            action="store_true",
            help="end once no job is left to take (default: wait for the next one)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["queue"]:
            settings.QUEUES = options["queue"]
        group = os.getpgrp()
        sign, count = WorkerGroupHeartbeat(group), 0
        try:
            while not interruptions.is_stop_requested():
                problem = find_write_problem()
                if problem is not None and not problem.is_busy:
                    raise CommandError(f"{problem.reason}; no job can be taken.")
                sign.record_if_due()
                if claim_and_do_next_job():
                    count += 1
                elif (
                    options["until_idle"]
                    and not list_claimable_jobs(
                        build_process_group_name(group)
                    ).exists()
                ):
                    # The queue is empty, because `list_claimable_jobs` raises database errors.
                    break
                else:
                    time.sleep(JOB_POLL_SECONDS)
        finally:
            interruptions.default_on_database_error(
                lambda: delete_worker_group(build_process_group_name(group)), None
            )
        left = "" if interruptions.is_stop_requested() else "; none is left"
        self.stdout.write(f"{count_with_noun(count, 'job')} taken{left}.")
