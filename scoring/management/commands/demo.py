import json
import os
import time
from argparse import ArgumentParser
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from django.conf import settings
from django.core.management.base import BaseCommand

from scoring.demo.prepare import Demo, bring_field_tasks, prepare_demo
from tasks.management.problems import problems_told


class Command(BaseCommand):
    help = "Load the demo season and say how to sign in; once more, it changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="for programs")
        parser.add_argument(
            "--field-tasks",
            action="store_true",
            help="load the second season, as soon as a page of the site has been answered",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["field_tasks"]:
            if has_answered():
                bring_field_tasks()
            return
        with problems_told(self, otherwise="the demo season was not loaded"):
            demo = prepare_demo()
        if options["json"]:
            self.stdout.write(json.dumps(as_facts(demo), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(as_words(demo)))


def has_answered() -> bool:
    """Once the site does; False where whoever serves it is gone."""
    parent = os.getppid()
    while os.getppid() == parent:
        try:
            with urlopen(f"http://{settings.BIND}:{settings.PORT}/health/ready", timeout=5):
                return True
        except HTTPError:
            return True
        except OSError:
            pass
        time.sleep(1)
    return False


def as_facts(demo: Demo) -> dict[str, Any]:
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


def as_words(demo: Demo) -> list[str]:
    return [
        f"Citeboard with the demo season, at {settings.BASE_URL}",
        "Sign in as",
        *(
            f"  {role:<12} {user.email:<28} password {demo.passwords[role]}"
            for role, user in demo.users.items()
        ),
        f"The participant's token for the API: {demo.token}",
    ]
