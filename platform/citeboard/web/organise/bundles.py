"""Pages that import a bundle of Codabench or CodaLab, with a report on the bundle, the
draft season, and old runs.
"""

from typing import Any

from django import forms
from django.core import signing
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.acts.old_runs import SCORE_OLD_RUNS
from citeboard.background.kinds import jobs_of
from citeboard.core import storage
from citeboard.web import pages
from scoring.exchange.bundles.importing import (
    drafted,
    kept_report,
    make_season,
    parts_of,
)
from scoring.worker.background import Kind
from scoring.worker.local_copies import fetched
from tasks.gold.drafts import MAX_AGE, keep_draft
from tasks.models import Phase, Season
from tasks.seasons import access
from tasks.submissions.uploads import received
from tasks.types import InputRefused
from tasks.types.problems import capped

#: SALT is the salt of the signed bundle name until the draft season is created.
SALT = "bundle"


class CompetitionForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("Bundle"),
        required=False,
        max_length=200,
        help_text=gettext_lazy(
            "The zip of a competition, with competition.yaml: of Codabench or of CodaLab."
        ),
    )
    title = forms.CharField(label=gettext_lazy("Title"), max_length=120, required=False)
    slug = forms.CharField(
        label=gettext_lazy("Name in addresses"),
        max_length=60,
        required=False,
        help_text=gettext_lazy("Lower-case letters, digits and single hyphens."),
    )
    stored = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("file") is None and not given.get("stored"):
            raise forms.ValidationError(_("Choose the file."))
        return given

    def keep(self, owner: int) -> tuple[str, str]:
        file = self.cleaned_data["file"]
        if file is None:
            return self._kept(owner)
        with received(file) as upload:
            return keep_draft(upload.path), upload.filename

    def _kept(self, owner: int) -> tuple[str, str]:
        try:
            given = signing.loads(
                self.cleaned_data["stored"], salt=SALT, max_age=MAX_AGE
            )
        except signing.BadSignature:
            return "", ""
        is_there = given["owner"] == owner and storage.gold.exists(given["name"])
        return (given["name"], given["filename"]) if is_there else ("", "")


@pages.Pages(access.creator_of_seasons).form("organise/bundle.html")
def new_from_bundle(request: pages.SignedInRequest, user: Any) -> pages.Answer:
    """Show staff the report on a bundle of Codabench or CodaLab, and create a season
    from the bundle.
    """
    form = CompetitionForm(**pages.sent(request), label_suffix="")
    pages.require_known_fields(request, form, ["make", "gold"])
    context: dict[str, Any] = {"form": form}
    gold = [item for item in request.POST.getlist("gold") if item]
    if not form.is_valid():
        return context
    name, filename = form.keep(user.pk)
    if not name:
        form.add_error(None, _("Choose the file again."))
        return context
    given = {part: form.cleaned_data[part] for part in ("slug", "title")}
    try:
        with (
            fetched(storage.gold, name) as path,
            drafted(path, filename, by=user, gold=gold, **given) as draft,
        ):
            season = draft.values["season"] if draft.values is not None else {}
            context |= {"parts": parts_of(draft.report), "is_possible": bool(season)}
            context["choices"] = draft.choices
            if draft.values is not None and "make" in request.POST:
                loaded = make_season(draft, filename=filename, by=user)
                storage.gold.delete(name)
                return redirect("organise-bundle", loaded.season.slug)
    except InputRefused as refused:
        problems, more = capped(refused.problems)
        form.add_error(None, _("The draft cannot be created; nothing has changed."))
        context |= {"problems": problems, "more": more}
    if context.get("is_possible"):
        kept = {"owner": user.pk, "name": name, "filename": filename}
        context["making"] = CompetitionForm(
            initial={
                **given,
                "title": given["title"] or season["title"],
                "slug": given["slug"] or season["slug"],
                "stored": signing.dumps(kept, salt=SALT),
            },
            label_suffix="",
        )
    else:
        storage.gold.delete(name)
    return context


@pages.organisers.page("organise/bundle_report.html", "file")
def report(request: pages.SignedInRequest, season: Season) -> dict[str, Any]:
    """Show the report on the bundle from which the season was created."""
    return {"parts": parts_of(kept_report(season))}


def _old_run_jobs(_request: HttpRequest, phase: Phase) -> dict[str, Any]:
    return {"jobs": jobs_of(phase.task.season, Kind.OLD_RUNS, phase=phase.pk)}


old_runs = pages.fills(
    SCORE_OLD_RUNS,
    "organise/old_runs.html",
    "phases",
    at="file",
    shows=_old_run_jobs,
    then=pages.to_job,
)
