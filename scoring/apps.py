from contextlib import suppress
from typing import Any

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"
    verbose_name = "Scores and boards"

    def ready(self) -> None:
        from django.core.signals import request_started
        from django_q.signals import post_spawn

        from tasks.types.declared.own_measures import use
        from tasks.types.references import lazy

        request_started.connect(
            _without_names, dispatch_uid="scoring.results.board.formatting"
        )
        use(lazy("scoring.worker.declaring", "compute"))
        post_spawn.connect(_prepare_worker, dispatch_uid="scoring.worker.score")


def _without_names(**_: Any) -> None:
    from scoring.results.board.formatting import name_as

    name_as(None)


def _prepare_worker(**_: Any) -> None:
    """In a worker's process, as soon as the queue has started it."""
    from scoring.worker.child import scorer_server

    # What keeps it from being started is told with the first run.
    with suppress(OSError):
        scorer_server()
