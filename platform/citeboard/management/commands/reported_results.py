from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from scoring.models import Paper
from scoring.results.publications import reading, season_results
from tasks.management.problems import report_refused_input
from tasks.types import InputRefused


class Command(BaseCommand):
    help = "Bring published results to the site; docs/published-results.md describes the file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "files",
            type=Path,
            nargs="+",
            metavar="FILE",
            help="of the form published-results/1, or TOML that describes tables in CSV",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with report_refused_input(self, otherwise="nothing was loaded"):
            read, refused = [], []
            for path in options["files"]:
                try:
                    read.append(reading.read_publication(path))
                except InputRefused as fault:
                    refused += fault.problems
            if refused:
                raise InputRefused(refused)
        with transaction.atomic():
            for publication, odd in read:
                key, changes = (
                    publication.paper.key,
                    season_results.store_publication(publication),
                )
                for line in (*changes, *(f"note: {problem}" for problem in odd)):
                    self.stdout.write(line)
                state = "" if changes else ", as it was"
                self.stdout.write(
                    f"{key}: at {Paper.objects.get(key=key).get_absolute_url()}{state}"
                )
