import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.refusals import ActionRefused
from scoring.human.claim_review import (
    compute_file_agreement,
    publish_judged_run,
    store_judgement_file,
)
from scoring.worker.local_copies import UploadedFileRefused
from tasks.management.problems import convert_to_command_error, format_problem_lines
from tasks.models import Submission


class Command(BaseCommand):
    help = "Keep the judgements of a run in place of earlier ones, and print how far they agree, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "run", type=int, metavar="RUN", help="the run at /submissions/RUN/"
        )
        parser.add_argument("file", type=Path, metavar="FILE", help="JSON lines")
        parser.add_argument(
            "--publish",
            action="store_true",
            help="put the ratings of its responses on the board",
        )

    def handle(self, *args: Any, run: int, file: Path, **options: Any) -> None:
        submission = (
            Submission.objects.select_related("phase__task__season")
            .filter(pk=run)
            .first()
        )
        if submission is None:
            raise CommandError(f"there is no run {run}")
        if not file.is_file():
            raise CommandError(f"there is no file {file}")
        try:
            agreed = compute_file_agreement(submission, file, file.name, None)
            store_judgement_file(
                submission=submission, path=file, filename=file.name, by=None
            )
        except UploadedFileRefused as refused:
            raise CommandError(
                "\n".join(
                    ["nothing was kept:", *format_problem_lines(refused.problems)]
                )
            ) from refused
        self.stdout.write(json.dumps(agreed, ensure_ascii=False))
        if options["publish"]:
            with convert_to_command_error(
                ActionRefused, words="the judgements are kept; not published: {}"
            ):
                publish_judged_run(submission=submission, by=None)
