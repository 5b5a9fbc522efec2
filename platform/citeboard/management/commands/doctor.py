import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from citeboard.ops.doctor import CHECKS_BY_NAME, FindingState, run_health_checks


class Command(BaseCommand):
    help = (
        "Examine settings, database, clock, storage, disk, mail, static files, confinement, queue, workers, "
        "and jobs, and say what to do. Exits 1 where something is bad, so that it serves as a probe."
    )
    # Django's checks would stop `doctor` at errors in settings that `doctor` reports.
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--only",
            nargs="+",
            choices=list(CHECKS_BY_NAME),
            help="these checks and no others",
        )
        parser.add_argument(
            "--json", action="store_true", help="a list of objects instead of lines"
        )

    def handle(self, *args: Any, only: list[str] | None, **options: Any) -> None:
        findings = run_health_checks(only)
        if options["json"]:
            self.stdout.write(
                json.dumps([finding.as_dict() for finding in findings], indent=2)
            )
        else:
            for finding in findings:
                self.stdout.write(
                    f"{finding.state:<5} {finding.name:<11} {finding.found}"
                )
                if finding.advice:
                    self.stdout.write(f"{'':<17} {finding.advice}")
        if any(finding.state == FindingState.BAD for finding in findings):
            raise SystemExit(1)
