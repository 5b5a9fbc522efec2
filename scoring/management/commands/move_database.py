from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from citeboard.core.words import counted
from scoring.ops.moving import MoveRefused, move_database
from tasks.management.problems import refusing


class Command(BaseCommand):
    help = (
        "Copy this site's SQLite database into an empty one of PostgreSQL, every row compared, all or "
        "nothing. Stop the site before; afterwards start it with DATABASE_URL naming the new one. Files stay."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", metavar="ADDRESS", help="postgres://user:password@host:5432/name")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusing(MoveRefused, ValueError, words="Nothing is moved: {}"):
            tables = move_database(options["address"])
        for name, number in tables.items():
            self.stdout.write(f"{number:>10,}  {name}")
        rows = counted(sum(tables.values()), "row")
        words = f"{rows} are there and are what they were. Start the site with the new DATABASE_URL."
        self.stdout.write(words)
