from django.apps import AppConfig

from tasks.types import registry


class TasksConfig(AppConfig):
    name = "tasks"
    verbose_name = "Seasons, tasks and runs"

    def ready(self) -> None:
        from tasks.models import declarations

        if declarations.newest not in registry.STORES:
            registry.STORES.append(declarations.newest)
