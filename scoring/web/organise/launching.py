"""A season's dates in one table, and what there is to do before it is opened."""

from django.contrib import messages
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from citeboard.core.words import counted
from scoring.acts.launching import CALENDAR, COMPUTE_FIRST, OPEN_SEASON, TEST_MAIL, FirstGoldForm
from scoring.ops.launching import steps
from scoring.web.pages import Answer, SignedInRequest, does, fills, organisers, sent
from tasks.models import Season

calendar = fills(CALENDAR, "organise/calendar.html", "calendar", "organise-calendar season")


@organisers.form("organise/launch.html", "launch")
def launch(request: SignedInRequest, season: Season) -> Answer:
    """The checklist, with the gold of all splits that have none and what is done for all tasks at once."""
    form = FirstGoldForm(**sent(request), of=season)
    if form.is_valid() and (published := form.publish(request.user)):
        words = _("Gold of %(splits)s is published.") % {"splits": counted(published, "split")}
        messages.success(request, words)
        return redirect("organise-launch", season.slug)
    found = steps(season)
    return {"steps": found, "left": sum(not step.is_done for step in found), "form": form}


compute_first, test_mail, open_season = (
    does(act, "organise-launch season") for act in (COMPUTE_FIRST, TEST_MAIL, OPEN_SEASON)
)
