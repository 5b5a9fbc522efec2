import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.ops.backups import BackupNotPossible
from citeboard.ops.drill.faults import INJECTED_FAULTS
from citeboard.ops.drill.playing import (
    find_unmet_requirements,
    inject_fault_and_observe,
)
from citeboard.ops.drill.site_copy import SiteCopyFailed, restore_site_copy
from citeboard.ops.drill.table import MARKDOWN_TABLE_HEAD, format_table_row
from tasks.management.problems import convert_to_command_error


class Command(BaseCommand):
    help = (
        "Play faults on a copy of the site: what is answered, what probe, doctor and alarms show, and how "
        "the copy recovers. The site itself is only read. Exits 1 where something is not as promised."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = [fault.name for fault in INJECTED_FAULTS]
        parser.add_argument(
            "--only", nargs="+", choices=names, help="these faults and no others"
        )
        parser.add_argument(
            "--folder",
            type=Path,
            help="where the copy is made, in a folder that is removed at the end",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        asked = options["only"] or [fault.name for fault in INJECTED_FAULTS]
        faults = [fault for fault in INJECTED_FAULTS if fault.name in asked]
        differing = False
        with (
            convert_to_command_error(
                SiteCopyFailed,
                BackupNotPossible,
                OSError,
                words="The drill stopped: {}",
            ),
            tempfile.TemporaryDirectory(
                prefix="citeboard-drill-", dir=options["folder"]
            ) as folder,
            restore_site_copy(Path(folder)) as copy,
        ):
            self.stdout.write(MARKDOWN_TABLE_HEAD)
            for fault in faults:
                if obstacle := fault.find_obstacle():
                    self.stderr.write(f"{fault.name} is not played: {obstacle}")
                    continue
                outcome = inject_fault_and_observe(fault, copy)
                self.stdout.write(format_table_row(fault, outcome))
                for problem in find_unmet_requirements(fault, outcome):
                    differing = True
                    self.stderr.write(f"{fault.name}: {problem}")
        if differing:
            raise CommandError("The site differs from what is promised")
