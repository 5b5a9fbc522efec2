"""Who can know what of a season's gold, and versions of it that are sealed or deleted."""

from django.http import HttpRequest, JsonResponse
from django.utils.translation import gettext as _

from scoring.board.who_knows import GROUPS, as_json, who_knows
from scoring.web.pages import Answer, SignedInRequest, organisers, private
from tasks.gold import versions
from tasks.models import Gold, Season


@organisers.page("organise/secrecy.html", "secrecy")
def secrecy(request: HttpRequest, season: Season) -> Answer:
    return {"contents": who_knows(season), "groups": list(GROUPS.values())}


@organisers.page()
def secrecy_as_json(request: HttpRequest, season: Season) -> Answer:
    return private(JsonResponse({"season": season.slug, "contents": as_json(who_knows(season))}))


@organisers.act("organise-secrecy season")
def settle(request: SignedInRequest, season: Season, gold: Gold, how: str) -> Answer:
    act = versions.seal_gold if how == "seal" else versions.delete_gold
    done = act(gold=gold, reason=request.POST.get("reason", ""), by=request.user)
    words = (
        _("Gold v%(number)s of %(task)s is sealed.")
        if how == "seal"
        else _("Gold v%(number)s of %(task)s is deleted.")
    )
    return words % {"number": done.number, "task": done.task}
