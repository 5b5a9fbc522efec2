import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from citeboard.demo.conclude import conclude_ended_demo_season
from citeboard.demo.judged import publish_estimates
from citeboard.demo.judgements import publish_judgements
from citeboard.demo.prepare import (
    DemoCredentials,
    create_demo,
    finish_demo,
    load_field_tasks,
)
from tasks.management.problems import report_refused_input

#: The command waits at most MAX_SCORING_WAIT_SECONDS seconds for the scores of a demo season's runs.
#: After a timeout, operators can continue the demo by starting the command again.
MAX_SCORING_WAIT_SECONDS = 600


class Command(BaseCommand):
    help = "Load the demo season and say how to sign in; once more, it changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")
        message = "what signing in needs, or what may come while the site is served, with the second season"
        parser.add_argument("--only", choices=("begin", "rest"), help=message)

    def handle(self, *args: Any, only: str | None, **options: Any) -> None:
        with report_refused_input(self, otherwise="the demo is not complete"):
            if only != "rest":
                demo = create_demo()
                facts = (
                    json.dumps(build_demo_json(demo), ensure_ascii=False)
                    if options["json"]
                    else ""
                )
                self.stdout.write(facts or format_demo_instructions(demo))
            if only != "begin":
                finish_demo()
            if only == "rest":
                load_field_tasks()
                publish_estimates(patience=MAX_SCORING_WAIT_SECONDS)
                conclude_ended_demo_season(patience=MAX_SCORING_WAIT_SECONDS)
                publish_judgements(patience=MAX_SCORING_WAIT_SECONDS)


def build_demo_json(demo: DemoCredentials) -> dict[str, Any]:
    return {
        "base_url": settings.BASE_URL,
        "users": [
            {"role": role, "email": user.email, "password": demo.passwords[role]}
            for role, user in demo.users.items()
        ],
        "token": demo.token,
        "phases": [
            {
                "id": phase.pk,
                "season": phase.task.season.slug,
                "task": phase.task.slug,
                "task_type": phase.task.type,
                "example_run": str(run),
            }
            for phase, run in demo.example_runs.items()
        ],
    }


def format_demo_instructions(demo: DemoCredentials) -> str:
    lines = [
        "The demo season is there. Sign in as",
        *(
            f"  {role:<12} {user.email:<28} password {demo.passwords[role]}"
            for role, user in demo.users.items()
        ),
        f"The participant's token for the API: {demo.token}",
    ]
    return "\n".join(lines)
