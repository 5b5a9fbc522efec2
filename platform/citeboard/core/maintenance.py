import datetime as dt

from citeboard.core.models import LastDone


def note_done(name: str, at: dt.datetime) -> None:
    LastDone.objects.update_or_create(name=name, defaults={"at": at})


def last_done(name: str) -> dt.datetime | None:
    return LastDone.objects.filter(name=name).values_list("at", flat=True).first()
