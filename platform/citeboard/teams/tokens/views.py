"""The page of one's own tokens."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.teams.models import Token
from citeboard.teams.tokens.forms import TokenForm
from citeboard.teams.tokens.services import TooManyTokens, create_token, revoke_token


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def tokens(request: HttpRequest) -> HttpResponse:
    """The list; after making one, the answer itself shows the secret, which is kept nowhere else."""
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
