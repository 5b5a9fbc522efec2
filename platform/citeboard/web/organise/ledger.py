"""The organisers' page on the ledger of judgements, with judges, imports, and runs that
used withdrawn or outdated judgements.
"""

from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from citeboard.acts.ledger import IMPORT_JUDGEMENTS_TO_LEDGER, WITHDRAW_LEDGER_IMPORT
from citeboard.background.kinds import find_background_jobs
from citeboard.web import pages
from scoring.models import Judge, JudgementImport, UsedJudgements
from scoring.worker import background
from scoring.worker.entailment_labels import (
    annotate_imports_left_out_of_season,
    build_judge_filter,
    list_stored_judges_of_season,
)
from scoring.worker.ledger import iterate_judgement_file_lines
from tasks.models import Season

MAX_IMPORTS_SHOWN = 50


def find_judges_of_season(season: Season) -> QuerySet[Judge]:
    """Return the judges of the season, and shared judges whose name and kind of labels
    the season's tasks name.
    """
    shared = Q(season=None) & build_judge_filter(list_stored_judges_of_season(season))
    return Judge.objects.filter(Q(season=season) | shared)


def _build_ledger_context(request: HttpRequest, season: Season) -> dict[str, Any]:
    judges = find_judges_of_season(season)
    outdated = UsedJudgements.objects.filter(
        is_current=True,
        evaluation__phase__task__season=season,
        outdated_at__isnull=False,
    )
    return {
        "jobs": find_background_jobs(season, background.BackgroundJobKind.LEDGER),
        "judges": judges.filter(decided__gt=0),
        "outdated": outdated.values("evaluation__submission").distinct().count(),
        "imports": _find_latest_imports(judges, season, is_staff=request.user.is_staff),
    }


def _find_latest_imports(
    judges: QuerySet[Judge], season: Season, *, is_staff: bool
) -> list[JudgementImport]:
    """Return the latest imports of judgements into the ledger.

    Only the site's staff see the number of runs in other seasons, and the season that
    shared the judgements.
    """
    own = None if is_staff else Q(used_by__evaluation__phase__task__season=season)
    imports = JudgementImport.objects.filter(judge__in=judges).annotate(
        runs=Count("used_by__evaluation__submission", filter=own, distinct=True)
    )
    judgement_imports: list[JudgementImport] = list(
        annotate_imports_left_out_of_season(imports).select_related("judge")[
            :MAX_IMPORTS_SHOWN
        ]
    )
    for one in judgement_imports:
        if one.judge.season_id is None and not is_staff:
            one.filename = _("another season")
    return judgement_imports


import_judgements_to_ledger = pages.build_form_view(
    IMPORT_JUDGEMENTS_TO_LEDGER,
    "organise/ledger.html",
    "ledger",
    at="file",
    shows=_build_ledger_context,
    then=pages.redirect_to_job,
)


@pages.organiser_pages.page()
def download_ledger_judgements(
    request: HttpRequest, season: Season
) -> pages.ViewResult:
    """Return the judgements of a judge of the season, including shared judgements.

    The file identifies texts only by their digests.
    """
    name, kind = request.GET.get("judge", ""), request.GET.get("kind", "")
    # NUL is removed from the names of judges, because databases reject NUL.
    asked = Judge.objects.deciding(
        name.replace("\0", ""), season, kind.replace("\0", "")
    )
    judges = list(asked.filter(pk__in=find_judges_of_season(season).values("pk")))
    if not judges:
        raise Http404(_("The season has no judgements of this judge and kind."))
    return pages.build_download_response(
        iterate_judgement_file_lines(judges), "judgements.jsonl", is_private=True
    )


withdraw_ledger_import = pages.build_action_view(
    WITHDRAW_LEDGER_IMPORT, "organise-ledger season"
)
