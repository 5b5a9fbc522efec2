from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from citeboard.core.words import listed
from scoring.models import EntailmentModel
from scoring.worker.entailment_labels import label_lines
from tasks.management.problems import season_named


class Command(BaseCommand):
    help = "Write the labels of an entailment model, as the offline scorer and import_labels take them."

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

    def handle(self, *args: Any, model: str, season: str, **options: Any) -> None:
        own = season_named(season) if season else None
        found = list(EntailmentModel.objects.deciding(model, own))
        if not found:
            models = EntailmentModel.objects.filter(Q(season=None) | Q(season=own))
            known = listed(list(models.values_list("name", flat=True).distinct()))
            there = f"those of {known}" if known else "none at all"
            raise CommandError(f"there are no labels of “{model}”; there are {there}")
        for line in label_lines(found):
            self.stdout.write(line, ending="")
