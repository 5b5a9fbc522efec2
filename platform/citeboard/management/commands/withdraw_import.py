from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.refusals import ActionRefused
from citeboard.core.words import count_with_noun
from scoring.models import JudgementImport
from scoring.worker.withdrawal import withdraw_import


class Command(BaseCommand):
    help = (
        "Withdraw an import of judgements as a whole. Runs that used it are scored again; frozen boards "
        "and receipts stay and state it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "number", type=int, metavar="NUMBER", help="as the page Ledger has it"
        )
        parser.add_argument("--reason", required=True, metavar="TEXT")

    def handle(self, *args: Any, number: int, reason: str, **options: Any) -> None:
        found = JudgementImport.objects.filter(pk=number).select_related("judge")
        if (source := found.first()) is None:
            raise CommandError(f"there is no import {number}")
        if not reason.strip() or len(reason) > 500:
            raise CommandError("the reason is a text of at most 500 characters")
        try:
            done = withdraw_import(source=source, reason=reason.strip(), by=None)
        except ActionRefused as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(
            f"{count_with_noun(source.added, 'judgement')} of {source.judge} withdrawn; "
            f"{count_with_noun(done.runs, 'run')} rested on them, {done.frozen} frozen boards stay"
        )
