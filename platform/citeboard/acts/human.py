"""Manage the annotators of a sheet for human evaluation, and their ratings."""

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    UserAction,
    build_long_text_field,
    build_organiser_action,
)
from citeboard.core import audit
from citeboard.teams.models import User
from scoring.human.data_sheet import (
    DATA_SHEET_QUESTIONS,
    MAX_DATA_SHEET_ANSWER_CHARACTERS,
    QUESTIONS_BY_SECTION,
    save_data_sheet,
)
from scoring.human.ratings import (
    ADJUDICATION_DISTANCES,
    read_rating_file,
    save_ratings,
    set_adjudication_distance,
)
from scoring.human.sheets import (
    add_annotator_by_email,
    get_or_add_named_annotator,
    has_texts_of_own_team,
    remove_annotator,
    show_references,
)
from scoring.models import Annotator, Sheet
from tasks.submissions.uploads import receive_upload


def annotator_or_404(user: object, sheet: int) -> Annotator:
    """Return the user's role as an annotator of a sheet for human evaluation.

    Raises Http404 for users who are not annotators. Raises PermissionDenied for members
    of teams whose runs are on the sheet.
    """
    return _find_annotator_by_sheet_kind(user, sheet, Sheet.Kind.RATINGS)


def pair_judge_or_404(user: object, sheet: int) -> Annotator:
    """Return the user's role as a judge of a sheet of pairs.

    Raises Http404 and PermissionDenied in the same cases as `annotator_or_404`.
    """
    return _find_annotator_by_sheet_kind(user, sheet, Sheet.Kind.PAIRS)


def _find_annotator_by_sheet_kind(user: object, sheet: int, kind: str) -> Annotator:
    annotators = Annotator.objects.select_related("sheet__phase__task__season", "user")
    annotator = annotators.filter(
        sheet__pk=sheet, sheet__kind=kind, user=getattr(user, "pk", None) or 0
    ).first()
    if annotator is None or not isinstance(user, User):
        raise Http404(gettext("There is no sheet for you to rate at this address."))
    if has_texts_of_own_team(annotator.sheet, user):
        message = gettext(
            "You have joined a team whose texts are on this sheet, and cannot rate it."
        )
        raise PermissionDenied(message)
    return annotator


class AnnotatorForm(ActForm):
    """The account of a person who becomes an annotator of a sheet."""

    email = forms.EmailField(label=_("E-mail address of their account"))
    is_adjudicator = forms.BooleanField(
        label=_("Adjudicates: rates only what the others differ on, and decides it"),
        required=False,
    )
    api = {
        "is_adjudicator": {
            "default": False,
            "help_text": "Decides what the others differ on.",
        }
    }


def _adjudication_distance_choices() -> list[tuple[int | str, str]]:
    differ = gettext("where two ratings of a text differ by %(distance)s or more")
    differing = [
        (distance, differ % {"distance": distance})
        for distance in ADJUDICATION_DISTANCES
    ]
    return [("", gettext("never: all ratings count alike")), *differing]


class DistanceForm(ActForm):
    """The difference between two ratings from which an adjudicator decides."""

    distance = forms.TypedChoiceField(
        label=_("An adjudicator decides"),
        coerce=int,
        empty_value=None,
        required=False,
        choices=_adjudication_distance_choices,
    )
    only_on_pages = ("distance",)
    only_in_api = {
        "distance": forms.IntegerField(
            required=False,
            min_value=min(ADJUDICATION_DISTANCES),
            max_value=max(ADJUDICATION_DISTANCES),
        )
    }
    api = {
        "distance": {
            "default": None,
            "allow_null": True,
            "help_text": "Where two ratings of a text differ by so much; left out, all count alike.",
        }
    }


class RatingsForm(ActForm):
    """Ratings of an annotator who has no account on the site."""

    name = forms.CharField(label=_("Name of the annotator"), max_length=80)
    file = forms.FileField(label=_("Ratings, as CSV"))
    api = {"file": "CSV, as the sheet is given to annotators."}


class OwnRatingsForm(ActForm):
    """Ratings of one's own."""

    file = forms.FileField(
        error_messages={"required": _("Choose the file that holds your ratings.")}
    )
    api = {"file": "CSV, as the sheet is given to you, with the criteria filled in."}


class DataSheetForm(ActForm):
    """Answers to the questions of the data sheet, by question name. Omitted answers
    stay unchanged, and an empty text deletes an answer.
    """

    mirrors = True
    only_in_api = {
        name: forms.CharField(
            required=False, max_length=MAX_DATA_SHEET_ANSWER_CHARACTERS
        )
        for name in DATA_SHEET_QUESTIONS
    }
    api = DATA_SHEET_QUESTIONS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, question in DATA_SHEET_QUESTIONS.items():
            self.fields[name] = build_long_text_field(
                gettext(question), MAX_DATA_SHEET_ANSWER_CHARACTERS, 2, required=False
            )

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [
            (gettext(section), [self[name] for name in questions])
            for section, questions in QUESTIONS_BY_SECTION.items()
        ]


def _import_ratings(*, sheet: Sheet, name: str, file: Any, by: User) -> int:
    with receive_upload(file) as upload:
        given = read_rating_file(upload.path, sheet, upload.filename, by)
    with transaction.atomic():
        annotator = get_or_add_named_annotator(sheet=sheet, name=name.strip(), by=by)
        rated = save_ratings(annotator=annotator, ratings=given)
        facts = {"annotator": annotator, "ratings": rated, "sheet": sheet.pk}
        audit.record_action(
            "ratings-brought",
            actor=by,
            subject=sheet,
            place=sheet.phase.task.season,
            facts=facts,
        )
    return rated


def _save_uploaded_ratings(*, annotator: Annotator, file: Any, by: User) -> int:
    with receive_upload(file) as upload:
        given = read_rating_file(upload.path, annotator.sheet, upload.filename, by)
    return save_ratings(annotator=annotator, ratings=given)


ADD_ANNOTATOR = build_organiser_action(
    add_annotator_by_email,
    "Let somebody with an account rate a sheet; for organisers.",
    _("%(name)s can rate the sheet."),
    form=AnnotatorForm,
    subject="sheet",
)
REMOVE_ANNOTATOR = build_organiser_action(
    remove_annotator,
    "Take somebody off a sheet, with their ratings; for organisers.",
    _("%(name)s is off the sheet, with %(ratings)s."),
    subject="annotator",
)
CHANGE_ADJUDICATION_DISTANCE = build_organiser_action(
    set_adjudication_distance,
    "Say from which difference of ratings on an adjudicator decides; for organisers.",
    _("Adjudication is as you chose."),
    form=DistanceForm,
    subject="sheet",
)
SHOW_GOLD_TEXTS_TO_ANNOTATORS = build_organiser_action(
    show_references,
    "Let annotators read the gold text of each instance; for organisers.",
    _("Annotators read the gold text of each instance now."),
    subject="sheet",
)
IMPORT_RATINGS = build_organiser_action(
    _import_ratings,
    "Bring a file of ratings of somebody without an account; for organisers.",
    _("%(texts)s rated by %(name)s."),
    form=RatingsForm,
    subject="sheet",
)
ANSWER_DATA_SHEET = build_organiser_action(
    lambda sheet, by, **answers: save_data_sheet(
        sheet=sheet, answers={**sheet.data_sheet, **answers}, by=by
    ),
    "Answer the questions of a sheet's data sheet; for organisers.",
    _("The data sheet is saved."),
    form=DataSheetForm,
    subject="sheet",
)
IMPORT_OWN_RATINGS = UserAction(
    _save_uploaded_ratings,
    "Rate the texts of a sheet by a file; for its annotators.",
    _("%(texts)s rated."),
    role=annotator_or_404,
    form=OwnRatingsForm,
    subject="annotator",
)
