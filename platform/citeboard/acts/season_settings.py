"""Change the settings of a season, and delete its tasks and phases."""

from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import build_rehearsed_action
from citeboard.ops.pruning import delete_phase, delete_task
from tasks.seasons.file.load import change_settings

CHANGE_SEASON_SETTINGS = build_rehearsed_action(
    change_settings,
    "Change settings, or add a task or a phase; for organisers.",
    subject="season",
)
DELETED_WITH_RESULTS_MESSAGE = _(
    "%(title)s is deleted, with what the site computed in it. The history can restore "
    "its settings."
)
DELETE_TASK = build_rehearsed_action(
    delete_task,
    "Delete a task without runs of teams, and without gold if the season was public; for organisers.",
    lambda has_more, _filled: (
        DELETED_WITH_RESULTS_MESSAGE
        if has_more
        else _("%(task)s is deleted. The history can restore it.")
    ),
    subject="task",
)
DELETE_PHASE = build_rehearsed_action(
    delete_phase,
    "Delete a phase without runs of teams, and without runs if the season was public; for organisers.",
    lambda has_more, _filled: (
        DELETED_WITH_RESULTS_MESSAGE
        if has_more
        else _("%(phase)s is deleted. The history can restore it.")
    ),
    subject="phase",
)
