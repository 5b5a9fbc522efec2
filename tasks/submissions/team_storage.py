"""A team's storage contains the files of its runs, and refused or repaired files that
the team may still submit.
"""

import datetime as dt

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from citeboard.core import storage
from citeboard.teams.models import Team
from tasks.models import Submission

#: Files in the folder KEPT can be submitted within KEPT_SECONDS.
#: Files in the folder KEPT that are not runs are removed after KEPT_SECONDS.
KEPT, KEPT_SECONDS = "kept", 3_600


def kept_files_folder(team: Team) -> str:
    return f"{KEPT}/{team.pk}"


def storage_used_bytes(team: Team) -> int:
    runs = Submission.objects.filter(team=team).exclude(file="").order_by()
    files = runs.values("file", "size").distinct()
    since = timezone.now() - dt.timedelta(seconds=KEPT_SECONDS)
    kept = (
        entry.size
        for entry in storage.runs.entries(kept_files_folder(team))
        if entry.modified > since
    )
    return (files.aggregate(all=Sum("size"))["all"] or 0) + sum(kept)


def max_storage_bytes() -> int:
    return settings.TEAM_STORAGE_MB << 20


def has_room_for(team: Team, size: int) -> bool:
    return storage_used_bytes(team) + size <= max_storage_bytes()
