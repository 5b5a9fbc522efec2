from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.words import join_names
from scoring.models import Judge
from scoring.worker.entailment_labels import iterate_label_file_lines
from scoring.worker.ledger import iterate_judgement_file_lines
from tasks.management.problems import get_season_or_command_error
from tasks.types.ledger import ENTAILS_KIND, JUDGEMENT_KINDS_BY_NAME


class Command(BaseCommand):
    help = (
        "Write the judgements of a judge, as import_labels takes them; of an entailment model its labels, "
        "as the offline scorer takes them too."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "model", metavar="MODEL", help="by its full name, such as NAME@REVISION"
        )
        parser.add_argument(
            "--season",
            default="",
            metavar="SLUG",
            help="its own labels beside those that all seasons share, as its runs are scored",
        )

        parser.add_argument(
            "--kind",
            default=ENTAILS_KIND,
            choices=list(JUDGEMENT_KINDS_BY_NAME),
            help="of the judgements",
        )
        parser.add_argument(
            "--rows",
            action="store_true",
            help="every row with all that it says, in place of the labels that count",
        )

    def handle(
        self,
        *args: Any,
        model: str,
        season: str,
        kind: str,
        rows: bool,
        **options: Any,
    ) -> None:
        own = get_season_or_command_error(season) if season else None
        found = list(Judge.objects.deciding(model, own, kind))
        if not found:
            models = Judge.objects.of_season_or_shared(own).filter(kind=kind)
            known = join_names(list(models.values_list("name", flat=True).distinct()))
            there = f"those of {known}" if known else "none at all"
            raise CommandError(f"there are no labels of “{model}”; there are {there}")
        has_labels = kind == ENTAILS_KIND and not rows
        for line in (
            iterate_label_file_lines(found)
            if has_labels
            else iterate_judgement_file_lines(found)
        ):
            self.stdout.write(line, ending="")
