from contextlib import suppress
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Warning as Caution, register


class ScoringConfig(AppConfig):
    name = "scoring"
    verbose_name = "Scores and boards"

    def ready(self) -> None:
        from django.core.signals import request_started
        from django_q.signals import post_spawn

        from tasks.types.declared.own_measures import use
        from tasks.types.references import lazy

        register(_check_file_of_judges, "environment")
        request_started.connect(
            _without_names, dispatch_uid="scoring.results.board.formatting"
        )
        use(lazy("scoring.worker.declaring", "compute_approved_measure"))
        post_spawn.connect(_prepare_worker, dispatch_uid="scoring.worker.score")


def _without_names(**_: Any) -> None:
    from scoring.results.board.formatting import use_names_of_task

    use_names_of_task(None)


def _prepare_worker(**_: Any) -> None:
    """Start the scorer server when the queue starts a worker process."""
    from scoring.worker.child import scorer_server

    # If the server does not start, the first run that is scored reports the error.
    with suppress(OSError):
        scorer_server()


def _check_file_of_judges(*_: Any, **options: Any) -> list[CheckMessage]:
    """Warn about errors in the operator's file of judges. The site offers no judges
    until the errors are corrected.
    """
    from scoring.worker.judging import offered_judges

    fault = offered_judges().fault
    return [Caution(fault, id="citeboard.W010")] if fault else []
