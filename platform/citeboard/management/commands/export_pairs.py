import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from scoring.worker.entailment_labels import (
    find_jobs_waiting_for_labels,
    iterate_open_pairs,
)
from tasks.types.ledger import JUDGEMENT_KINDS_BY_NAME


class Command(BaseCommand):
    help = "Write the pairs that runs wait to have decided, each once, as JSON lines."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--model", metavar="NAME", help="those for this model alone"
        )
        parser.add_argument(
            "--kind",
            choices=list(JUDGEMENT_KINDS_BY_NAME),
            help="those of this kind of labels alone",
        )
        parser.add_argument(
            "--run",
            type=int,
            metavar="NUMBER",
            help="those of the run at /submissions/NUMBER/",
        )
        parser.add_argument(
            "--next",
            action="store_true",
            help="only what has to be decided in any case; less, in more rounds",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        given = {
            "judge__name": options["model"] or None,
            "judge__kind": options["kind"],
            "job__submission": options["run"],
        }
        waiting = find_jobs_waiting_for_labels().filter(
            **{name: own for name, own in given.items() if own is not None}
        )
        count = 0
        for pair in iterate_open_pairs(list(waiting), is_next_only=options["next"]):
            self.stdout.write(json.dumps(pair, ensure_ascii=False))
            count += 1
        self.stderr.write(f"{count} pairs are pending")
