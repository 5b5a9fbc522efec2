"""A season's terms: published by its organisers, accepted by participants before data are given out."""

from __future__ import annotations

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.models import Season, Terms, TermsAcceptance

MAX_LENGTH = 30_000


class NotTheTerms(Refused):
    """The version that was accepted is not the one that holds; the message says so."""


def current_terms(season: Season) -> Terms | None:
    """The newest version, which is the one that holds."""
    return Terms.objects.filter(season=season).order_by("-number").first()


def acceptance_of(terms: Terms, user: object) -> TermsAcceptance | None:
    if not isinstance(user, User):
        return None
    return TermsAcceptance.objects.filter(terms=terms, user=user).first()


def terms_to_accept(season: Season, user: object) -> Terms | None:
    """The terms that the person has yet to accept; None where there are none, and for who organises."""
    terms = current_terms(season)
    if terms is None or acceptance_of(terms, user) is not None:
        return None
    return None if Season.objects.organised_by(user).filter(pk=season.pk).exists() else terms


def terms_text(text: str) -> str:
    """As it is kept: ends of lines and of the text differ between browsers, files and programs."""
    return text.replace("\r\n", "\n").strip()


def publish_terms(*, season: Season, text: str, by: User | None) -> Terms:
    """A new version, which everybody has to accept before more data are given out.

    The text of the version that holds changes nothing. ``by`` of None is the site's operator.
    """
    with transaction.atomic():
        Season.objects.select_for_update().get(pk=season.pk)
        before, text = current_terms(season), terms_text(text)
        if before is not None and terms_text(before.text) == text:
            return before
        number = before.number + 1 if before else 1
        terms = Terms.objects.create(season=season, number=number, text=text, published_by=by)
        audit.note(
            actor=by, action="terms-published", words=f"published {terms}", subject=terms, place=season
        )
    return terms


def accept_terms(*, season: Season, number: int, user: User) -> TermsAcceptance:
    """Once more changes nothing. Raises NotTheTerms where another version has been published meanwhile."""
    with transaction.atomic():
        Season.objects.select_for_update().get(pk=season.pk)
        terms = current_terms(season)
        if terms is None:
            raise NotTheTerms(_("%(season)s has no terms to accept") % {"season": season})
        if terms.number != number:
            raise NotTheTerms(
                _("version %(version)s of the terms holds now; read it and accept it")
                % {"version": terms.number}
            )
        acceptance, is_new = TermsAcceptance.objects.get_or_create(
            terms=terms, user=user, defaults={"name": str(user)}
        )
        if is_new:
            audit.note(
                actor=user, action="terms-accepted", words=f"accepted {terms}", subject=user, place=season
            )
    return acceptance


def acceptances(season: Season) -> QuerySet[TermsAcceptance]:
    """Who accepted which version and when, the latest first."""
    found = TermsAcceptance.objects.filter(terms__season=season).select_related("terms", "user")
    return found.order_by("-accepted_at", "-pk")
