import os
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from citeboard.core.processes import group_name
from citeboard.core.words import count_with_noun
from citeboard.core.writability import write_problem
from tasks.jobs import interruptions
from tasks.jobs.queue_choice import GroupHeartbeat, claimable_jobs, delete_worker_group
from tasks.jobs.work import do_next_job

#: While no job waits, the command checks for new jobs every LOOK_SECONDS seconds.
LOOK_SECONDS = 1.0


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
        sign, count = GroupHeartbeat(group), 0
        try:
            while not interruptions.is_stop_requested():
                problem = write_problem()
                if problem is not None and not problem.is_busy:
                    raise CommandError(f"{problem.reason}; no job can be taken.")
                sign.give()
                if do_next_job():
                    count += 1
                elif (
                    options["until_idle"]
                    and not claimable_jobs(group_name(group)).exists()
                ):
                    # The queue is empty, because `claimable_jobs` raises database errors.
                    break
                else:
                    time.sleep(LOOK_SECONDS)
        finally:
            interruptions.default_on_database_error(
                lambda: delete_worker_group(group_name(group)), None
            )
        left = "" if interruptions.is_stop_requested() else "; none is left"
        self.stdout.write(f"{count_with_noun(count, 'job')} taken{left}.")
