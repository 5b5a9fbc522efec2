from typing import Any

from allauth.account.models import EmailAddress
from django.apps import apps
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from citeboard.core.admin import AnyTabularInline, AuditedAdmin, ReadOnlyAdmin
from citeboard.core.words import format_as_sentence
from citeboard.teams.accounts import (
    remove_second_factor,
    revoke_token,
    toggle_right_to_create_seasons,
)
from citeboard.teams.membership import (
    MembershipChangeRefused,
    add_member,
    remove_member,
)
from citeboard.teams.models import (
    Invitation,
    MailedInvitation,
    Membership,
    Team,
    Token,
    User,
)


@admin.register(User)
class UserAdmin(AuditedAdmin):
    list_display = ["email", "name", "is_active", "is_staff", "date_joined"]
    list_filter = ["is_active", "is_staff"]
    search_fields = ["email", "name"]
    fields = [
        "email",
        "name",
        "is_active",
        "is_staff",
        "is_superuser",
        "date_joined",
        "last_login",
    ]
    readonly_fields = ["email", "date_joined", "last_login"]
    actions = ["remove_second_factor", "right_to_create_seasons"]

    @admin.action(
        description="Give the right to create seasons, or take it",
        permissions=["change"],
    )
    def right_to_create_seasons(
        self, request: HttpRequest, people: QuerySet[Any]
    ) -> None:
        for person in people:
            entry = toggle_right_to_create_seasons(user=person, by=request.user)
            self.message_user(request, f"You {entry.words}.")

    @admin.action(description="Remove the second factor", permissions=["change"])
    def remove_second_factor(self, request: HttpRequest, people: QuerySet[Any]) -> None:
        for person in people:
            remove_second_factor(user=person, by=request.user)
        self.message_user(request, "They sign in by their password alone now.")


@admin.register(EmailAddress)
class EmailAddressAdmin(ReadOnlyAdmin):
    list_display = ["email", "user", "verified", "primary"]
    search_fields = ["email", "user__name"]


class MembershipInline(AnyTabularInline):
    model = Membership
    extra = 0
    fields = ["user", "role", "joined_at"]
    raw_id_fields = ["user"]
    readonly_fields = ["role", "joined_at"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Team)
class TeamAdmin(AuditedAdmin):
    list_display = ["name", "slug", "created_at"]
    search_fields = ["name", "slug"]
    readonly_fields = ["slug", "created_at"]
    inlines = [MembershipInline]

    def save_formset(
        self, request: HttpRequest, form: Any, formset: Any, change: bool
    ) -> None:
        assert isinstance(request.user, User)
        formset.save(commit=False)
        try:
            for membership in formset.new_objects:
                add_member(team=membership.team, user=membership.user)
            for membership in formset.deleted_objects:
                remove_member(
                    team=membership.team, user=membership.user, by=request.user
                )
        except MembershipChangeRefused as refused:
            self.message_user(request, format_as_sentence(refused), messages.ERROR)


@admin.register(Token)
class TokenAdmin(ReadOnlyAdmin):
    list_display = [
        "name",
        "user",
        "hint",
        "scope",
        "created_at",
        "last_used_at",
        "expires_at",
        "revoked_at",
    ]
    search_fields = ["name", "user__email"]
    exclude = ["digest"]
    actions = ["revoke"]

    @admin.action(description="Revoke", permissions=["view"])
    def revoke(self, request: HttpRequest, tokens: QuerySet[Any]) -> None:
        for token in tokens:
            revoke_token(token)
        self.message_user(
            request, "They are revoked; no program can use them any more."
        )


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = ["team", "created_by", "created_at", "expires_at"]
    search_fields = ["team__name"]
    exclude = ["nonce"]


@admin.register(MailedInvitation)
class MailedInvitationAdmin(ReadOnlyAdmin):
    list_display = [
        "team",
        "address",
        "state",
        "created_by",
        "created_at",
        "expires_at",
        "mail",
    ]
    search_fields = ["team__name", "address"]
    exclude = ["nonce"]

    @admin.display(description="mail")
    def mail(self, invitation: MailedInvitation) -> str:
        # Import contracts do not allow this module to import the model `Job`.
        jobs = apps.get_model("tasks", "Job")._default_manager  # noqa: SLF001  (documented)
        return (
            jobs.filter(pk=invitation.job or 0).values_list("state", flat=True).first()
            or "none"
        )
