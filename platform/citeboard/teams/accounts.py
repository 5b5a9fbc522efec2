"""Accounts and API tokens of users.

A user's account has a name, an affiliation and a country.
"""

import datetime as dt
import re
import secrets
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal.ratelimit import consume, get_ip
from allauth.mfa.models import Authenticator
from django import forms
from django.conf import settings
from django.contrib.auth.models import Permission
from django.core import signing
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext, gettext as _, gettext_lazy

from citeboard.core import audit, lookalikes, middleware
from citeboard.core.models import AuditEntry
from citeboard.teams.countries import countries
from citeboard.teams.models import Token, User

#: A user can have at most MAX_API_TOKENS_PER_USER valid tokens.
#: A user with more than MAX_API_TOKENS_PER_USER valid tokens has probably not revoked old tokens.
MAX_API_TOKENS_PER_USER = 20


class TooManyTokens(Exception):
    def __init__(self) -> None:
        message = gettext(
            "You have %(tokens)s tokens; revoke one that no program uses any more."
        )
        super().__init__(message % {"tokens": MAX_API_TOKENS_PER_USER})


def create_token(
    *, user: User, name: str, scope: str = Token.Scope.SUBMIT, days: int | None = None
) -> tuple[Token, str]:
    expires_at = None if days is None else timezone.now() + dt.timedelta(days=days)
    with transaction.atomic():
        # Without the lock, two requests could count the tokens before either adds one.
        User.objects.select_for_update().get(pk=user.pk)
        if Token.objects.valid().filter(user=user).count() >= MAX_API_TOKENS_PER_USER:
            raise TooManyTokens
        return Token.objects.create_token(
            user=user, name=name, scope=scope, expires_at=expires_at
        )


def revoke_token(token: Token) -> None:
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())


#: Each choice in TOKEN_LIFETIME_CHOICES is a token's lifetime in days, or empty for no expiry.
TOKEN_LIFETIME_CHOICES = [
    ("", gettext_lazy("never")),
    ("7", gettext_lazy("in a week")),
    ("30", gettext_lazy("in 30 days")),
    ("90", gettext_lazy("in 90 days")),
    ("365", gettext_lazy("in a year")),
]


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    lifetime = forms.TypedChoiceField(
        label=gettext_lazy("When does it expire?"),
        choices=TOKEN_LIFETIME_CHOICES,
        coerce=int,
        empty_value=None,
        required=False,
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        # API clients for earlier releases omit the scope of a token.
        self.fields["scope"].required = False

    def clean_scope(self) -> str:
        return self.cleaned_data["scope"] or Token.Scope.SUBMIT

    class Meta:
        model = Token
        fields = ["name", "scope"]
        labels = {
            "name": gettext_lazy("What is it for?"),
            "scope": gettext_lazy("What may it do?"),
        }
        help_texts = {
            "name": gettext_lazy(
                "For example the machine or the program that will use it."
            )
        }


class NameForm(forms.Form):
    #: `person` is the user who changes the name, or None during sign-up.
    person: User | None = None
    name = forms.CharField(
        label=gettext_lazy("Your name"),
        required=False,
        max_length=120,
        help_text=gettext_lazy(
            "Your team and the organisers of its seasons see it. Without one they see the part of your "
            "address before the @."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )

    def clean(self) -> dict[str, Any]:
        given = {"name": "", **(super().clean() or {})}
        return {**given, "name": validate_person_name(given["name"], self.person)}

    def signup(self, request: HttpRequest, user: User) -> None:
        user.language, user.name = translation.get_language(), self.cleaned_data["name"]
        user.save(update_fields=["language", "name", "name_skeleton"])


class ProfileForm(NameForm):
    affiliation = forms.CharField(
        label=gettext_lazy("Affiliation"),
        required=False,
        max_length=200,
        help_text=gettext_lazy(
            "Organisers of the seasons that your team enters see it, with your name and address."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    country = forms.ChoiceField(
        label=gettext_lazy("Country"),
        choices=lambda: [("", "–"), *countries()],
        required=False,
        help_text=gettext_lazy(
            "Of your affiliation. Organisers see it as they see that."
        ),
        widget=forms.Select(attrs={"autocomplete": "country"}),
    )
    legal_name = forms.CharField(
        label=gettext_lazy("Legal name"),
        required=False,
        max_length=200,
        help_text=gettext_lazy(
            "As you sign with it. Organisers read it where you have accepted terms that ask for it, and "
            "nobody else."
        ),
    )
    orcid = forms.CharField(
        label=gettext_lazy("ORCID iD"),
        required=False,
        max_length=60,
        help_text=gettext_lazy("Such as 0000-0002-1825-0097."),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=settings.LANGUAGES,
        required=False,
        help_text=gettext_lazy("Of e-mails to you, and of pages wherever you sign in."),
    )
    is_listed = forms.BooleanField(
        label=gettext_lazy(
            "My name, affiliation and ORCID iD may be published in lists of a season's participants."
        ),
        required=False,
    )

    def clean_orcid(self) -> str:
        return normalize_orcid(self.cleaned_data["orcid"])


def validate_person_name(text: str, person: User | None) -> str:
    """Return the name of an account with each white space replaced by one space.

    Raises ValidationError if the name resembles the name of another account.
    """
    name = " ".join(text.split())
    if lookalikes.has_lookalike_name(
        User.objects.exclude(pk__in=[person.pk] if person else []), "name", name
    ):
        message = _(
            "Another account has a name that looks like this one in other letters. Write yours in "
            "the letters of one language, or add a name."
        )
        raise ValidationError({"name": message})
    return name


def normalize_orcid(text: str) -> str:
    """Return an ORCID iD in its standard form, from an iD or its URL.

    Raises ValidationError if the check digit of the ORCID iD is wrong.
    """
    digits = text.strip().rstrip("/").rpartition("/")[2].replace("-", "").upper()
    if not digits:
        return ""
    if not re.fullmatch(r"[0-9]{15}[0-9X]", digits):
        raise ValidationError(
            _("An ORCID iD has sixteen digits, such as 0000-0002-1825-0097.")
        )
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    if digits[-1] != "0123456789X"[(12 - total % 11) % 11]:
        raise ValidationError(_("This is no ORCID iD; a digit is mistyped."))
    return "-".join(digits[start : start + 4] for start in range(0, 16, 4))


def update_profile(*, user: User, name: str, language: str, **facts: Any) -> None:
    facts |= {
        "name": validate_person_name(name, user),
        "language": language or user.language,
    }
    for field, fact in facts.items():
        setattr(user, field, " ".join(fact.split()) if isinstance(fact, str) else fact)
    user.save(update_fields=["name_skeleton", *facts])


#: The cookie KNOWN_BROWSER_COOKIE_NAME only marks a browser in which a user has signed in.
KNOWN_BROWSER_COOKIE_NAME = "known_browser"
#: Browsers in which the user has signed in have a separate limit on wrong passwords.
KNOWN_BROWSER_RATE_LIMITS = {"login_failed": "10/300s/key"}


def find_known_browser_name(request: HttpRequest, login: str) -> str:
    """Return the stored name of a browser in which the user has signed in before, or an
    empty text for other browsers.
    """
    try:
        given = request.COOKIES.get(KNOWN_BROWSER_COOKIE_NAME, "")
        person, browser = signing.loads(
            given, salt=KNOWN_BROWSER_COOKIE_NAME, max_age=middleware.YEAR_SECONDS
        )
    except (signing.BadSignature, ValueError):
        return ""
    return str(browser) if person == _compute_login_digest(login) else ""


def _compute_login_digest(login: str) -> str:
    return salted_hmac(KNOWN_BROWSER_COOKIE_NAME, login.lower()).hexdigest()


class AccountAdapter(DefaultAccountAdapter):
    """The adapter of allauth, whose links in e-mails begin with CITEBOARD_BASE_URL.

    The site counts wrong passwords for each account, separately for each network and
    each browser in which the user has signed in before.
    """

    def _get_login_attempts_cache_key(
        self, request: HttpRequest, **credentials: Any
    ) -> str:
        account = super()._get_login_attempts_cache_key(request, **credentials)
        browser = find_known_browser_name(request, credentials.get("email", ""))
        return (
            f"{account}:browser {browser}"
            if browser
            else f"{account}:network {get_ip(request)}"
        )

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        if not find_known_browser_name(request, credentials.get("email", "")):
            super().pre_authenticate(request, **credentials)
            return
        key = self._get_login_attempts_cache_key(request, **credentials)
        facts: dict[str, Any] = {
            "app": "allauth.account",
            "action": "login_failed",
            "key": key,
        }
        self._login_failed_rl_usage = consume(
            request, config=KNOWN_BROWSER_RATE_LIMITS, **facts
        )
        if not self._login_failed_rl_usage:
            raise self.validation_error("too_many_login_attempts")

    def send_mail(
        self, template_prefix: str, email: str, context: dict[str, Any]
    ) -> None:
        links = {
            name: build_site_address(link)
            for name, link in context.items()
            if name.endswith("_url")
        }
        site = dict.fromkeys(("domain", "name"), urlsplit(settings.BASE_URL).netloc)
        # Anyone may request an e-mail, so an e-mail uses the recipient's language.
        reader = context.get("user")
        own = reader.language if isinstance(reader, User) else ""
        with translation.override(own or translation.get_language()):
            super().send_mail(
                template_prefix, email, {**context, **links, "current_site": site}
            )

    def post_login(self, request: Any, user: Any, **facts: Any) -> HttpResponse:
        response: HttpResponse = super().post_login(request, user, **facts)
        if isinstance(user, User) and user.language:
            middleware.set_persistent_cookie(
                response, settings.LANGUAGE_COOKIE_NAME, user.language
            )
        if isinstance(user, User):
            name = find_known_browser_name(request, user.email) or secrets.token_hex(16)
            signed = signing.dumps(
                [_compute_login_digest(user.email), name],
                salt=KNOWN_BROWSER_COOKIE_NAME,
            )
            middleware.set_persistent_cookie(
                response, KNOWN_BROWSER_COOKIE_NAME, signed
            )
        return response


def build_site_address(link: str) -> str:
    return (
        f"{settings.BASE_URL}{urlsplit(link)._replace(scheme='', netloc='').geturl()}"
    )


def toggle_right_to_create_seasons(*, user: User, by: Any) -> AuditEntry:
    with transaction.atomic():
        right = Permission.objects.get(
            content_type__app_label="tasks", codename="add_season"
        )
        own = user.user_permissions
        has_it = own.filter(pk=right.pk).exists()
        own.remove(right) if has_it else own.add(right)
        key = "seasons-allowed/not" if has_it else "seasons-allowed"
        return audit.record_action(
            key, actor=by, subject=user, place=user, facts={"person": user}
        )


def remove_second_factor(*, user: User, by: Any) -> None:
    with transaction.atomic():
        deleted, _ = Authenticator.objects.filter(user=user).delete()
        if deleted:
            audit.record_action(
                "second-factor-removed",
                actor=by,
                subject=user,
                place=user,
                facts={"person": user},
            )
