"""`manage.py load_gold TASK PATH [PATH …] --reason TEXT [--split NAME]`"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core import audit
from tasks.gold.early import EmbargoBreach, UnequalPublicParts, confirm_disclosure
from tasks.gold.gold_files import (
    GoldEqualsCorrectedVersion,
    load_gold,
    make_gold_digest_change,
    read_kit_checksums_of_gold,
    record_kit_change,
)
from tasks.jobs.leases import queue_missing_scorings
from tasks.management.problems import (
    EMBARGO_BREACH_OPTION_HELP,
    convert_to_command_error,
    report_refused_input,
)
from tasks.models import Gold
from tasks.seasons.access import AddressNotFound, find_task_by_address


class Command(BaseCommand):
    help = "Make PATH the next version of a split's gold and score its runs again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "task", metavar="TASK", help="SEASON/TASK, or the task's number"
        )
        parser.add_argument(
            "paths", type=Path, nargs="+", metavar="PATH", help="a file, folder or zip"
        )
        parser.add_argument(
            "--reason", required=True, metavar="TEXT", help="why; teams read it"
        )
        message = "publish what a version before the present one holds once more"
        parser.add_argument("--again", action="store_true", help=message)
        parser.add_argument(
            "--let-out", metavar="TASK", default="", help=EMBARGO_BREACH_OPTION_HELP
        )
        parser.add_argument(
            "--split", metavar="NAME", help="needed where a task has several splits"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        reason = options["reason"].strip()
        if not reason:
            raise CommandError(
                "--reason is empty; say what is new or what was corrected"
            )
        with convert_to_command_error(AddressNotFound):
            task = find_task_by_address(options["task"])
        phases = list(task.phases.all())
        splits = sorted({phase.split for phase in phases})
        split = options["split"] or (splits[0] if len(splits) == 1 else None)
        if split not in splits:
            names = ", ".join(splits) or "no split: the task has no phase"
            raise CommandError(f"--split names one of {names}")
        with report_refused_input(self, otherwise="the gold stays as it was"):
            before = (
                Gold.objects.filter(task=task, split=split).order_by("-number").first()
            )
            kit = read_kit_checksums_of_gold(before) if before is not None else {}
            with (
                convert_to_command_error(
                    EmbargoBreach, words="{}, by --let-out and --reason"
                ),
                convert_to_command_error(UnequalPublicParts),
                convert_to_command_error(
                    GoldEqualsCorrectedVersion, words="{}, by --again"
                ),
                confirm_disclosure(options["let_out"], reason),
            ):
                gold, is_new = load_gold(
                    task=task,
                    split=split,
                    paths=options["paths"],
                    reason=reason,
                    again=options["again"],
                )
        if is_new:
            facts = {"version": gold.number, "task": task, "reason": gold.reason}
            changes = [make_gold_digest_change(before, gold)]
            audit.record_action(
                "gold-added",
                actor=None,
                subject=gold,
                place=task.season,
                facts=facts,
                changes=changes,
            )
        if before is not None:
            record_kit_change(gold, kit, None)
        known = "" if is_new else ", as it was"
        rows = "" if gold.rows is None else f" from {gold.rows} rows"
        self.stdout.write(
            f"split {split}: version {gold.number}, {gold.instances} instances{rows}{known}"
        )
        for phase in phases:
            if phase.split == split and (jobs := queue_missing_scorings(phase)):
                self.stdout.write(f"{len(jobs)} scorings queued in phase {phase.slug}")
