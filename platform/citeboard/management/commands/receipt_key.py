from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.refusals import ActionRefused
from scoring.receipts import log
from scoring.receipts.log import find_current_signing_key, find_signing_key_problem
from tasks.management.problems import convert_to_command_error


class Command(BaseCommand):
    help = "Print the public key that signs receipts; or put another one in its place, as when it was lost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--replace",
            action="store_true",
            help="with a new key, which the old one signs",
        )

    def handle(self, *args: Any, replace: bool, **options: Any) -> None:
        if replace:
            with convert_to_command_error(ActionRefused):
                key = log.replace_signing_key()
            if not key.endorsement and log.describe_signing_keys()[1:]:
                self.stderr.write(
                    "The key before it was lost and could not sign it: whoever trusts that one has to be "
                    "told of the new one in another way."
                )
            self.stdout.write(
                f"{log.append_waiting_receipts_to_log()} receipts that waited are in the log."
            )
        if lost := find_signing_key_problem():
            raise CommandError(f"Receipts wait: {lost}. --replace makes another key.")
        log.create_or_extend_receipt_log()
        self.stdout.write(str(find_current_signing_key()))
