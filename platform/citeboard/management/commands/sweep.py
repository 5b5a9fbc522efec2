import threading
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.ops.pruning import (
    POSTING_STEP_MESSAGES,
    SWEEP_STEP_MESSAGES,
    post_mails_and_events_until,
    run_posting_steps,
    run_sweep_steps,
)


class Command(BaseCommand):
    help = (
        "Set moving again what has stopped: jobs whose worker is gone, jobs that wait, wakes that were lost. "
        "`serve` does this by itself; any number of sweepers may run."
    )
    requires_system_checks = ["environment", "models"]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--every",
            type=float,
            metavar="SECONDS",
            help="go on until ended, at this pace",
        )
        parser.add_argument(
            "--without-posting",
            action="store_true",
            help="wait for no mail server and no program of organisers; another sweeper sends to them",
        )

    def handle(
        self, *args: Any, every: float | None, without_posting: bool, **options: Any
    ) -> None:
        if every is None:
            done, steps = run_sweep_steps(), len(SWEEP_STEP_MESSAGES)
            if not without_posting:
                done, steps = (
                    [*done, *run_posting_steps()],
                    steps + len(POSTING_STEP_MESSAGES),
                )
            self.stdout.write("; ".join(done))
            if len(done) < steps:
                raise CommandError(
                    f"{steps - len(done)} of {steps} steps failed; the log says why."
                )
            return
        if not without_posting:
            threading.Thread(
                target=post_mails_and_events_until,
                args=[threading.Event()],
                name="posting",
                daemon=True,
            ).start()
        while True:
            run_sweep_steps()
            time.sleep(every)
