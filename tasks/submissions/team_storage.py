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

#: Files in the folder TEMPORARY_UPLOADS_FOLDER can be submitted within TEMPORARY_UPLOADS_LIFETIME_SECONDS.
#: Files in TEMPORARY_UPLOADS_FOLDER that are not runs are removed after TEMPORARY_UPLOADS_LIFETIME_SECONDS.
TEMPORARY_UPLOADS_FOLDER, TEMPORARY_UPLOADS_LIFETIME_SECONDS = "kept", 3_600


def get_temporary_uploads_folder(team: Team) -> str:
    return f"{TEMPORARY_UPLOADS_FOLDER}/{team.pk}"


def compute_used_storage_bytes(team: Team) -> int:
    runs = Submission.objects.filter(team=team).exclude(file="").order_by()
    files = runs.values("file", "size").distinct()
    since = timezone.now() - dt.timedelta(seconds=TEMPORARY_UPLOADS_LIFETIME_SECONDS)
    kept = (
        entry.size
        for entry in storage.run_file_storage.entries(
            get_temporary_uploads_folder(team)
        )
        if entry.modified > since
    )
    return (files.aggregate(all=Sum("size"))["all"] or 0) + sum(kept)


def get_max_storage_bytes() -> int:
    return settings.TEAM_STORAGE_MB << 20


def has_storage_room_for(team: Team, size: int) -> bool:
    return compute_used_storage_bytes(team) + size <= get_max_storage_bytes()
