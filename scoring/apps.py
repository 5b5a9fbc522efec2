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

        from tasks.types.declared.own_measures import set_measure_computation
        from tasks.types.references import make_lazy_function

        register(_check_file_of_declared_judges, "environment")
        request_started.connect(
            _clear_display_names_of_task,
            dispatch_uid="scoring.results.board.formatting",
        )
        set_measure_computation(
            make_lazy_function("scoring.worker.declaring", "compute_approved_measure")
        )
        post_spawn.connect(
            _start_scorer_server_in_worker, dispatch_uid="scoring.worker.score"
        )


def _clear_display_names_of_task(**_: Any) -> None:
    from scoring.results.board.formatting import set_display_names_of_task

    set_display_names_of_task(None)


def _start_scorer_server_in_worker(**_: Any) -> None:
    """Start the scorer server when the queue starts a worker process."""
    from scoring.worker.child import get_or_start_scorer_server

    # If the server does not start, the first run that is scored reports the error.
    with suppress(OSError):
        get_or_start_scorer_server()


def _check_file_of_declared_judges(*_: Any, **options: Any) -> list[CheckMessage]:
    """Warn about errors in the operator's file of judges. The site offers no judges
    until the errors are corrected.
    """
    from scoring.worker.judging import read_judges_offered_by_operator

    fault = read_judges_offered_by_operator().fault
    return [Caution(fault, id="citeboard.W010")] if fault else []
