from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import post_migrate

from tasks.types import registry


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = "Seasons, tasks and runs"

    def ready(self) -> None:
        from tasks.models import declarations

        if declarations.load_newest_declared_type not in registry.STORED_TYPE_FINDERS:
            registry.STORED_TYPE_FINDERS.append(declarations.load_newest_declared_type)
        post_migrate.connect(
            _create_counting_triggers, sender=self, dispatch_uid="tasks.jobs.tallies"
        )


def _create_counting_triggers(using: str, apps: Any, **_: Any) -> None:
    from tasks.jobs import tallies

    # The state of old migrations, to which a site can return, has no model `Tallied`.
    if "tallied" in apps.all_models["tasks"]:
        tallies.create_counting_triggers(connections[using])
