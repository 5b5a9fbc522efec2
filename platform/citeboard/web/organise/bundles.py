"""Pages that import a bundle of Codabench or CodaLab, with a report on the bundle, the
draft season, and old runs.
"""

from typing import Any

from django import forms
from django.core import signing
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.acts.old_runs import RESCORE_RUNS_OF_OTHER_PLATFORM
from citeboard.background.kinds import find_background_jobs
from citeboard.core import storage
from citeboard.web import pages
from scoring.exchange.bundles.importing import (
    create_drafted_season,
    draft_season_from_bundle,
    group_report_by_heading,
    load_stored_import_report,
)
from scoring.worker.background import BackgroundJobKind
from scoring.worker.local_copies import temporary_local_copy
from tasks.gold.drafts import MAX_DRAFT_SIGNATURE_AGE, store_gold_draft
from tasks.models import Phase, Season
from tasks.seasons import access
from tasks.submissions.uploads import receive_upload
from tasks.types import InputRefused
from tasks.types.problems import select_problems_to_list

#: BUNDLE_NAME_SIGNING_SALT is the salt of the signed bundle name until the draft season is created.
BUNDLE_NAME_SIGNING_SALT = "bundle"


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
            return self._load_stored_bundle(owner)
        with receive_upload(file) as upload:
            return store_gold_draft(upload.path), upload.filename

    def _load_stored_bundle(self, owner: int) -> tuple[str, str]:
        try:
            given = signing.loads(
                self.cleaned_data["stored"],
                salt=BUNDLE_NAME_SIGNING_SALT,
                max_age=MAX_DRAFT_SIGNATURE_AGE,
            )
        except signing.BadSignature:
            return "", ""
        is_there = given["owner"] == owner and storage.gold_file_storage.exists(
            given["name"]
        )
        return (given["name"], given["filename"]) if is_there else ("", "")


@pages.PageDecorators(access.require_season_creator).form("organise/bundle.html")
def create_season_from_bundle(
    request: pages.SignedInRequest, user: Any
) -> pages.ViewResult:
    """Show staff the report on a bundle of Codabench or CodaLab, and create a season
    from the bundle.
    """
    form = CompetitionForm(**pages.build_form_arguments(request), label_suffix="")
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
            temporary_local_copy(storage.gold_file_storage, name) as path,
            draft_season_from_bundle(
                path, filename, by=user, gold=gold, **given
            ) as draft,
        ):
            season = draft.values["season"] if draft.values is not None else {}
            context |= {
                "parts": group_report_by_heading(draft.report),
                "is_possible": bool(season),
            }
            context["choices"] = draft.choices
            if draft.values is not None and "make" in request.POST:
                loaded = create_drafted_season(draft, filename=filename, by=user)
                storage.gold_file_storage.delete(name)
                return redirect("organise-bundle", loaded.season.slug)
    except InputRefused as refused:
        problems, more = select_problems_to_list(refused.problems)
        form.add_error(None, _("The draft cannot be created; nothing has changed."))
        context |= {"problems": problems, "more": more}
    if context.get("is_possible"):
        kept = {"owner": user.pk, "name": name, "filename": filename}
        context["making"] = CompetitionForm(
            initial={
                **given,
                "title": given["title"] or season["title"],
                "slug": given["slug"] or season["slug"],
                "stored": signing.dumps(kept, salt=BUNDLE_NAME_SIGNING_SALT),
            },
            label_suffix="",
        )
    else:
        storage.gold_file_storage.delete(name)
    return context


@pages.organiser_pages.page("organise/bundle_report.html", "file")
def show_bundle_report(
    request: pages.SignedInRequest, season: Season
) -> dict[str, Any]:
    """Show the report on the bundle from which the season was created."""
    return {"parts": group_report_by_heading(load_stored_import_report(season))}


def _build_old_runs_context(_request: HttpRequest, phase: Phase) -> dict[str, Any]:
    return {
        "jobs": find_background_jobs(
            phase.task.season, BackgroundJobKind.OLD_RUNS, phase=phase.pk
        )
    }


score_old_runs = pages.build_form_view(
    RESCORE_RUNS_OF_OTHER_PLATFORM,
    "organise/old_runs.html",
    "phases",
    at="file",
    shows=_build_old_runs_context,
    then=pages.redirect_to_job,
)
