import datetime as dt
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.teams.models import Token, User

#: More valid tokens than this are a sign that old ones are not revoked.
MOST = 20


class TooManyTokens(Exception):
    def __init__(self) -> None:
        words = gettext("You have %(tokens)s tokens; revoke one that no program uses any more.")
        super().__init__(words % {"tokens": MOST})


def create_token(
    *, user: User, name: str, scope: str = Token.Scope.SUBMIT, days: int | None = None
) -> tuple[Token, str]:
    expires_at = None if days is None else timezone.now() + dt.timedelta(days=days)
    with transaction.atomic():
        # Two requests at once would both count the tokens before either adds one.
        User.objects.select_for_update().get(pk=user.pk)
        if Token.objects.valid().filter(user=user).count() >= MOST:
            raise TooManyTokens
        return Token.objects.issue(user=user, name=name, scope=scope, expires_at=expires_at)


def revoke_token(token: Token) -> None:
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())


#: In days; an empty choice is for ever.
LIFETIMES = [
    ("", gettext_lazy("never")),
    ("7", gettext_lazy("in a week")),
    ("30", gettext_lazy("in 30 days")),
    ("90", gettext_lazy("in 90 days")),
    ("365", gettext_lazy("in a year")),
]


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    lifetime = forms.TypedChoiceField(
        label=gettext_lazy("When does it expire?"),
        choices=LIFETIMES,
        coerce=int,
        empty_value=None,
        required=False,
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        # A program that was written before there were scopes may leave it out.
        self.fields["scope"].required = False

    def clean_scope(self) -> str:
        return self.cleaned_data["scope"] or Token.Scope.SUBMIT

    class Meta:
        model = Token
        fields = ["name", "scope"]
        labels = {"name": gettext_lazy("What is it for?"), "scope": gettext_lazy("What may it do?")}
        help_texts = {"name": gettext_lazy("For example the machine or the program that will use it.")}


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def tokens(request: HttpRequest) -> HttpResponse:
    assert request.user.is_authenticated
    form = TokenForm(request.POST or None)
    secret = None
    if form.is_valid():
        try:
            _, secret = create_token(
                user=request.user,
                name=form.cleaned_data["name"],
                scope=form.cleaned_data["scope"],
                days=form.cleaned_data["lifetime"],
            )
        except TooManyTokens as refused:
            form.add_error(None, str(refused))
        else:
            form = TokenForm()
    own = Token.objects.filter(user=request.user)
    status = 422 if form.errors else 200
    return render(
        request, "teams/tokens.html", {"form": form, "tokens": own, "secret": secret}, status=status
    )


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    assert request.user.is_authenticated
    token = get_object_or_404(Token, pk=pk, user=request.user)
    revoke_token(token)
    words = gettext("“%(token)s” is revoked; no program can use it any more.")
    messages.success(request, words % {"token": token.name})
    return redirect("tokens")
