"""Models of seasons, their tasks and phases, gold, runs and the jobs that score them."""

from tasks.models.claims import Claim
from tasks.models.declarations import Declaration, MeasuresFile
from tasks.models.jobs import Acknowledgement, Job, Tallied, Tally, WorkerGroup
from tasks.models.notifications import (
    Announcement,
    AnnouncementEdit,
    Delivery,
    Notification,
    NotificationChoice,
    Question,
    Report,
    Webhook,
)
from tasks.models.registrations import (
    JoinRequest,
    MergeProposal,
    Registration,
    Terms,
    TermsAcceptance,
)
from tasks.models.seasons import (
    Gold,
    GoldContent,
    GoldOverlap,
    GoldPublication,
    Organiser,
    Phase,
    Season,
    SeasonFile,
    Task,
)
from tasks.models.submissions import (
    Bundle,
    ExtraTries,
    LateReading,
    Submission,
    TeamFigure,
)

__all__ = [
    "Acknowledgement",
    "Announcement",
    "AnnouncementEdit",
    "Bundle",
    "Claim",
    "Declaration",
    "Delivery",
    "ExtraTries",
    "Gold",
    "GoldContent",
    "GoldOverlap",
    "GoldPublication",
    "Job",
    "JoinRequest",
    "LateReading",
    "MeasuresFile",
    "MergeProposal",
    "Notification",
    "NotificationChoice",
    "Organiser",
    "Phase",
    "Question",
    "Registration",
    "Report",
    "Season",
    "SeasonFile",
    "Submission",
    "Tallied",
    "Tally",
    "Task",
    "TeamFigure",
    "Terms",
    "TermsAcceptance",
    "Webhook",
    "WorkerGroup",
]
