"""Change the settings of a season, and delete its tasks and phases."""

from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import with_rehearsal
from tasks.seasons.file.load import change_settings
from tasks.seasons.history import delete_phase, delete_task

CHANGE_SETTINGS = with_rehearsal(
    change_settings,
    "Change settings, or add a task or a phase; for organisers.",
    subject="season",
)
DELETE_TASK = with_rehearsal(
    delete_task,
    "Delete a task without runs and gold; for organisers.",
    _("%(task)s is deleted. The history can bring it back."),
    subject="task",
)
DELETE_PHASE = with_rehearsal(
    delete_phase,
    "Delete a phase without runs; for organisers.",
    _("%(phase)s is deleted. The history can bring it back."),
    subject="phase",
)
