from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.refusals import ActionRefused
from scoring.worker.rescoring import (
    queue_all_rescorings_of_phase,
    rescore_run,
    stop_rescoring,
)
from tasks.management.problems import convert_to_command_error
from tasks.models import Gold, Phase, Submission
from tasks.seasons.access import AddressNotFound, find_phase_by_address


class Command(BaseCommand):
    help = (
        "Queue what is missing: each run of a phase or season against its present gold, under each rule set "
        "and in each metric's present version; or one run anew. Once more, it queues nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "phase",
            metavar="PHASE",
            nargs="?",
            help="SEASON/TASK/PHASE, or the phase's number",
        )
        what.add_argument(
            "--season", metavar="SEASON", help="every phase of the season that has gold"
        )
        what.add_argument(
            "--run", metavar="NUMBER", type=int, help="the run at /submissions/NUMBER/"
        )
        parser.add_argument(
            "--stop",
            action="store_true",
            help="take out of the queue instead what waits to be scored again",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["run"] is not None:
            if options["stop"]:
                raise CommandError("--stop takes a phase or a season")
            self.rescore_run(options["run"])
            return
        for phase in self.phases(options):
            if options["stop"]:
                taken = stop_rescoring(phase=phase, by=None)
                self.stdout.write(
                    f"{phase.task.slug}/{phase.slug}: {taken} scorings taken out of the queue"
                )
            else:
                self.queue(phase, is_one=options["phase"] is not None)

    def phases(self, options: dict[str, Any]) -> list[Phase]:
        if options["phase"] is not None:
            with convert_to_command_error(AddressNotFound):
                return [find_phase_by_address(options["phase"])]
        phases = Phase.objects.select_related("task__season").filter(
            task__season__slug=options["season"]
        )
        found = [phase for phase in phases if Gold.objects.current(phase)]
        if not found:
            raise CommandError(f"no season “{options['season']}” has a phase with gold")
        return found

    def queue(self, phase: Phase, *, is_one: bool) -> None:
        if (gold := Gold.objects.current(phase)) is None:
            raise CommandError(
                f"split {phase.split} has no gold yet; load_gold or load_season brings it"
            )
        jobs = queue_all_rescorings_of_phase(phase)
        where = "" if is_one else f"{phase.task.slug}/{phase.slug}: "
        message = (
            f"every run has been queued or scored against gold v{gold.number} already"
        )
        if jobs:
            runs = len({job.submission_id for job in jobs})
            message = f"{len(jobs)} scorings queued for {runs} runs, against gold v{gold.number}"
        self.stdout.write(f"{where}{message}")

    def rescore_run(self, number: int) -> None:
        run = (
            Submission.objects.select_related("phase__task__season")
            .filter(pk=number)
            .first()
        )
        if run is None:
            raise CommandError(f"there is no run {number}")
        with convert_to_command_error(ActionRefused):
            queued = rescore_run(submission=run, by=None)
        message = (
            f"{queued} scorings of {run} queued"
            if queued
            else f"{run} is being scored already"
        )
        self.stdout.write(message)
