"""The demo season as tests look at it, made once in a run: without its runs, and complete."""

import datetime as dt

import pytest

from citeboard.demo import prepare
from tasks.models import Submission


def make_without_runs() -> None:
    """For what does not rest on them: sending fifty runs takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("send_runs", "publish_ratings"):
            patch.setattr(prepare, name, lambda *given: None)
        prepare.begin_demo()
        prepare.finish_demo()


def make_complete() -> dict[int, dt.datetime]:
    """Return when the runs were sent that come with the season, as dated at the beginning."""
    prepare.begin_demo()
    loaded = dict(Submission.objects.values_list("pk", "submitted_at"))
    prepare.finish_demo()
    return loaded
