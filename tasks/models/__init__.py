"""What runs: seasons, their tasks and phases, gold, runs and the jobs that score them."""

from tasks.models.acknowledgements import Acknowledgement
from tasks.models.announcements import Announcement, AnnouncementEdit
from tasks.models.bundles import Bundle
from tasks.models.extra_tries import ExtraTries
from tasks.models.gold import Gold
from tasks.models.jobs import Job
from tasks.models.joining import JoinRequest
from tasks.models.merging import MergeProposal
from tasks.models.notifications import Notification, NotificationChoice
from tasks.models.questions import Question, Report
from tasks.models.registrations import Registration
from tasks.models.season_files import SeasonFile
from tasks.models.seasons import Organiser, Phase, Season, Task
from tasks.models.submissions import Submission
from tasks.models.team_figures import TeamFigure
from tasks.models.terms import Terms, TermsAcceptance
from tasks.models.webhooks import Delivery, Webhook
from tasks.models.worker_groups import WorkerGroup

__all__ = [
    "Acknowledgement", "Announcement", "AnnouncementEdit", "Bundle", "Delivery", "ExtraTries", "Gold", "Job",
    "JoinRequest", "MergeProposal",
    "Notification", "NotificationChoice", "Organiser", "Phase", "Question", "Registration", "Report",
    "Season", "SeasonFile", "Submission", "Task", "TeamFigure", "Terms", "TermsAcceptance", "Webhook",
    "WorkerGroup",
]  # fmt: skip
