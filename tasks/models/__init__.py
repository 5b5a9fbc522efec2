"""What runs: seasons, their tasks and phases, gold, runs and the jobs that score them."""

from tasks.models.announcements import Announcement, AnnouncementEdit, Question, Report
from tasks.models.declarations import Declaration
from tasks.models.jobs import Acknowledgement, Job, WorkerGroup
from tasks.models.notifications import Delivery, Notification, NotificationChoice, Webhook
from tasks.models.registrations import JoinRequest, MergeProposal, Registration, Terms, TermsAcceptance
from tasks.models.seasons import Gold, GoldContent, GoldOverlap, Organiser, Phase, Season, SeasonFile, Task
from tasks.models.submissions import Bundle, ExtraTries, LateReading, Submission, TeamFigure

__all__ = [
    "Acknowledgement", "Announcement", "AnnouncementEdit", "Bundle", "Declaration", "Delivery", "ExtraTries",
    "Gold", "GoldContent", "GoldOverlap", "Job", "JoinRequest", "LateReading", "MergeProposal",
    "Notification", "NotificationChoice", "Organiser", "Phase", "Question", "Registration", "Report",
    "Season", "SeasonFile", "Submission", "Task", "TeamFigure", "Terms", "TermsAcceptance", "Webhook",
    "WorkerGroup",
]  # fmt: skip
