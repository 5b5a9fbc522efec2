"""Who rates a sheet. Nobody judges the texts of their own team."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import Membership, User
from scoring.models import Annotator, Sheet
from tasks.notifications.events import sheet_event, take_back, tell_sheet


class AnnotatorRefused(Refused):
    """This person cannot rate this sheet; the message says why."""


def add_person(*, sheet: Sheet, email: str, is_adjudicator: bool = False) -> Annotator:
    """Have the person with this address rate the sheet, or decide on it. Raises AnnotatorRefused."""
    person = User.objects.filter(email__iexact=email.strip(), is_active=True).first()
    if person is None:
        raise AnnotatorRefused(_("nobody has an account with this address; they can sign up first"))
    if has_own_texts(sheet, person):
        raise AnnotatorRefused(_("a member of a team whose run is on the sheet cannot rate it"))
    return _add(sheet, str(person), person, is_adjudicator=is_adjudicator)


def has_own_texts(sheet: Sheet, person: User) -> bool:
    """Whether a text of the sheet is of a team that the person is in now."""
    teams = sheet.instances.values("texts__submission__team")
    return Membership.objects.filter(user=person, team__in=teams).exists()


def add_name(*, sheet: Sheet, name: str) -> Annotator:
    """A name whose ratings an organiser brings as a file; the annotator of this name where there is one."""
    known = sheet.annotators.filter(name=name).first()
    if known is not None and known.user is not None:
        raise AnnotatorRefused(_("%(name)s rates in the site, and can bring a file there") % {"name": known})
    return known or _add(sheet, name, None)


def remove_annotator(*, annotator: Annotator, by: User) -> int:
    """Take the annotator and their ratings off the sheet; how many ratings went. Raises AnnotatorRefused."""
    with transaction.atomic():
        sheet = Sheet.objects.select_for_update().get(pk=annotator.sheet_id)
        if not sheet.is_open:
            raise AnnotatorRefused(_("the sheet is published; take it back before you remove who rated it"))
        ratings = annotator.ratings.count()
        facts = {"annotator": annotator, "ratings": ratings}
        audit.record("annotator-removed", actor=by, subject=sheet, place=sheet.phase.task.season, facts=facts)
        if annotator.user_id is not None:
            take_back(sheet_event(sheet.pk), annotator.user_id)
        annotator.delete()
    return ratings


def _add(sheet: Sheet, name: str, person: User | None, *, is_adjudicator: bool = False) -> Annotator:
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if not locked.is_open:
            raise AnnotatorRefused(_("the sheet is published and takes no more ratings"))
        if person is not None and (known := locked.annotators.filter(user=person).first()):
            if known.is_adjudicator != is_adjudicator:
                raise AnnotatorRefused(
                    _("%(name)s is on the sheet already, and nobody decides on their own ratings")
                    % {"name": known}
                )
            return known
        if is_adjudicator and (other := locked.annotators.filter(is_adjudicator=True).first()):
            raise AnnotatorRefused(_("%(name)s adjudicates the sheet already") % {"name": other})
        taken = set(locked.annotators.values_list("name", flat=True))
        numbered = (f"{name[:70]} ({number})" for number in range(2, len(taken) + 3))
        free = (
            name if name not in taken else next(candidate for candidate in numbered if candidate not in taken)
        )
        added = Annotator.objects.create(
            sheet=locked, name=free[:80], user=person, is_adjudicator=is_adjudicator
        )
        if person is not None:
            tell_sheet(locked.pk, locked.phase, person.pk)
        return added
