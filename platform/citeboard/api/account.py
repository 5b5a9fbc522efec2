"""API operations for the user's account and messages, and for staff who check the state
of the site.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts.claims import DECIDE_CLAIM
from citeboard.acts.mails import RETRY_FAILED_MAILS
from citeboard.acts.own_measures import APPROVE_OR_WITHDRAW_MEASURES
from citeboard.api.operations import get, post, register_action_operation
from citeboard.api.season_settings import QueuedScoringsSerializer
from citeboard.api.serializers import (
    build_dataclass_serializer,
    build_model_serializer,
    build_serializer,
)
from citeboard.core import health
from citeboard.core.api import NOT_FOUND_RESPONSE
from citeboard.core.database import SchemaState
from citeboard.core.legal_pages import Notice, list_legal_notices as notices_of_site
from citeboard.ops import site_state
from citeboard.ops.accounts import collect_user_data
from citeboard.ops.doctor import Finding
from citeboard.teams.accounts import normalize_orcid, update_profile
from citeboard.teams.api import require_signed_in_user
from citeboard.teams.models import User
from tasks.delivery.notifications.reading import (
    list_notifications_of_user,
    load_channels_by_kind,
    mark_notifications_as_read,
    store_notification_channels,
)
from tasks.delivery.notifications.wording import write_notification_text
from tasks.jobs.mails import OutgoingMailState
from tasks.models import Claim, MeasuresFile, Notification
from tasks.models.notifications import NotificationChannel, NotificationKind
from tasks.seasons.access import require_staff

MAX_MESSAGES_MARKED = 200
EDITABLE_ACCOUNT_FIELDS = (
    "name",
    "affiliation",
    "country",
    "legal_name",
    "orcid",
    "is_listed",
    "language",
)


class AccountSerializer(serializers.ModelSerializer[User]):
    """Your account. A POST changes only the fields in its body. The e-mail address
    cannot be changed.
    """

    address = serializers.EmailField(source="email", read_only=True)
    language = serializers.ChoiceField(
        choices=settings.LANGUAGES, allow_blank=True, required=False
    )

    class Meta:
        model = User
        fields = ["address", *EDITABLE_ACCOUNT_FIELDS]

    def validate_orcid(self, value: str) -> str:
        try:
            return normalize_orcid(value)
        except ValidationError as refused:
            raise serializers.ValidationError(refused.messages) from refused


@get("account/", answers=AccountSerializer)
def account(request: Request) -> User:
    """Return your account, with your name, affiliation and e-mail address."""
    return require_signed_in_user(request)


@post("account/", body=AccountSerializer(partial=True), answers=AccountSerializer)
def describe_account(request: Request) -> User:
    """Change the name, affiliation, country, language, or consent to be listed of your
    account.
    """
    user = require_signed_in_user(request)
    form = AccountSerializer(user, data=request.data, partial=True)
    form.is_valid(raise_exception=True)
    # REST framework reads a check box that is missing from an HTML form as False.
    # Fields of the account that are missing from a request must stay unchanged.
    sent = {
        name: value
        for name, value in form.validated_data.items()
        if name in request.data
    }
    update_profile(
        user=user,
        **{
            name: sent.get(name, getattr(user, name))
            for name in EDITABLE_ACCOUNT_FIELDS
        },
    )
    return user


@get("account/data/", responses={200: OpenApiTypes.OBJECT}, without=204)
def account_data(request: Request) -> Response:
    """Return all data that the site stores about you."""
    return Response(collect_user_data(require_signed_in_user(request)))


class MessageSerializer(serializers.ModelSerializer[Notification]):
    """A message to a user about an event. Messages contain no scores."""

    season = serializers.SlugField(source="season.slug", default=None, allow_null=True)
    title = serializers.SerializerMethodField()
    text = serializers.SerializerMethodField()
    page = serializers.SerializerMethodField(help_text="Where it is seen.")

    class Meta:
        model = Notification
        fields = [
            "id",
            "kind",
            "season",
            "title",
            "text",
            "page",
            "created_at",
            "read_at",
        ]

    def get_title(self, told: Notification) -> str:
        return write_notification_text(told).title

    def get_text(self, told: Notification) -> str:
        return write_notification_text(told).text

    def get_page(self, told: Notification) -> str:
        return str(
            self.context["request"].build_absolute_uri(
                write_notification_text(told).path
            )
        )


ReadForm = build_serializer(
    "ReadForm",
    "Which messages were read; without numbers all.",
    messages=serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**53),
        required=False,
        max_length=MAX_MESSAGES_MARKED,
    ),
)
MarkedMessageCountSerializer = build_serializer(
    "Marked", "How many were marked.", marked=int
)
MessageChannelSerializer = build_serializer(
    "Choice",
    "How you are told of one kind of event.",
    kind=serializers.ChoiceField(choices=NotificationKind.choices),
    channel=serializers.ChoiceField(choices=NotificationChannel.choices),
)
MessageChannelsSerializer = build_serializer(
    "Choices",
    "How you are told of every kind.",
    choices=MessageChannelSerializer(many=True),
)


@get("messages/", pages=MessageSerializer, without=404)
def messages(request: Request) -> QuerySet[Notification]:
    """List your messages, newest first."""
    return list_notifications_of_user(require_signed_in_user(request))


@post(
    "messages/read/",
    form=ReadForm,
    answers=MarkedMessageCountSerializer,
    name="messages-read",
)
def read_messages(request: Request, form: dict[str, Any]) -> dict[str, int]:
    """Mark messages as read."""
    return {
        "marked": mark_notifications_as_read(
            user=require_signed_in_user(request), ids=form.get("messages") or None
        )
    }


@get("messages/choices/", answers=MessageChannelsSerializer)
def message_choices(request: Request) -> dict[str, Any]:
    """Return the channel by which you receive each kind of message, such as e-mail."""
    choices = load_channels_by_kind(require_signed_in_user(request))
    return {
        "choices": [
            {"kind": kind, "channel": channel} for kind, channel in choices.items()
        ]
    }


@post(
    "messages/choices/",
    form=MessageChannelSerializer,
    answers=MessageChannelsSerializer,
)
def choose_messages(request: Request, form: dict[str, Any]) -> dict[str, Any]:
    """Change the channel by which you receive one kind of message."""
    store_notification_channels(
        user=require_signed_in_user(request), wanted={form["kind"]: form["channel"]}
    )
    return message_choices(request)


LegalNoticeSerializer = build_dataclass_serializer(
    Notice,
    "A page that the site's settings fill.",
    name="privacy or imprint.",
    text="Markdown.",
)


@get("notices/", answers=[LegalNoticeSerializer], is_open=True)
def notices(request: Request) -> Any:
    """Return the site's privacy notice and imprint, if they exist."""
    return notices_of_site()


build_dataclass_serializer(
    Finding,
    "What `manage.py doctor` says of one thing.",
    state="`good`, `odd` or `bad`.",
)
build_dataclass_serializer(
    health.Missing,
    "What `/health/ready` misses.",
    stops="`web`, `worker`.",
    lacks="What the others go on without.",
)
build_dataclass_serializer(
    site_state.Queue,
    "The jobs of one queue.",
    oldest_seconds="Of the queued jobs; 0 where none is.",
    why_unserved="Empty where some group takes its jobs.",
)
build_dataclass_serializer(
    site_state.Group,
    "A group of workers that was seen within the last day.",
    queues="Empty: all of them.",
)
build_dataclass_serializer(
    site_state.Waiting,
    "Jobs that wait for one reason.",
    submission="The first of their runs.",
)
build_dataclass_serializer(
    site_state.Failure,
    "A job that failed within the last day.",
    trace="The request that made it, as in the log.",
)
build_dataclass_serializer(
    site_state.Place, "Where files are kept, and the disk of the data folder in bytes."
)
build_dataclass_serializer(SchemaState, "Migrations as `app.name`.")
build_dataclass_serializer(
    site_state.Versions,
    "What runs here, and of which release the database is.",
    release="A digest of the program's files.",
    known_epoch="The latest that this release works with.",
)
build_dataclass_serializer(
    OutgoingMailState,
    "E-mails that wait, and those that were given up.",
    "Mails",
    since="When the first of them was written.",
    error="What the mail server said last; empty for nothing.",
    failures=None,
)
SiteStateSerializer = build_dataclass_serializer(
    site_state.SiteState, "How the site stands.", "Site", failures="The last of them."
)
MeasuresFileSerializer = build_model_serializer(
    MeasuresFile,
    "A `measures.py` that somebody brought; it is run where it is approved.",
    "id digest text brought_at approved_at",
    "Measures",
)


@get("site/measures/", pages=MeasuresFileSerializer)
def site_measures(request: Request) -> QuerySet[MeasuresFile]:
    """List the metrics that tasks define, for the site's staff."""
    require_staff(request.user)
    return MeasuresFile.objects.order_by("pk")


register_action_operation(
    APPROVE_OR_WITHDRAW_MEASURES,
    "site/measures/<int:measures>/",
    answers=MeasuresFileSerializer,
    lets_out=False,
)
SeasonClaimSerializer = build_model_serializer(
    Claim,
    "Hidden gold of `season` shows texts that `later`, published after it, shows too.",
    "id season later state made_at decided_at reason",
    "Claim",
    season=serializers.SlugRelatedField(slug_field="slug", read_only=True),
    later=serializers.SlugRelatedField(slug_field="slug", read_only=True),
)


@get("site/claims/", pages=SeasonClaimSerializer)
def site_claims(request: Request) -> QuerySet[Claim]:
    """List the claims of seasons on texts of later seasons, for the site's staff."""
    require_staff(request.user)
    return Claim.objects.select_related("season", "later").order_by("pk")


register_action_operation(
    DECIDE_CLAIM,
    "site/claims/<int:claim>/",
    answers=SeasonClaimSerializer,
    lets_out=False,
)
register_action_operation(
    RETRY_FAILED_MAILS,
    "site/mails/",
    "send_mails_again",
    gives=lambda request, mails: {"queued": mails},
    answers=QueuedScoringsSerializer,
    lets_out=False,
)


@get(
    "site/",
    role=require_staff,
    answers=SiteStateSerializer,
    responses={404: NOT_FOUND_RESPONSE},
)
def site(request: Request, user: User) -> site_state.SiteState:
    """Return the state of the site, for the site's staff."""
    return site_state.collect_site_state()
