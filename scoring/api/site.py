"""How the site stands, for programs of its staff; the page for operators shows the same."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import READ
from citeboard.teams.api import person
from scoring.api.seasons import READING
from scoring.ops.site_state import site_state


class FindingSerializer(serializers.Serializer[Any]):
    """What `manage.py doctor` says of one thing."""

    name = serializers.CharField()
    state = serializers.CharField(help_text="`good`, `odd` or `bad`.")
    found = serializers.CharField()
    advice = serializers.CharField(allow_blank=True)


class MissingSerializer(serializers.Serializer[Any]):
    """What `/health/ready` misses."""

    what = serializers.CharField()
    reason = serializers.CharField()
    stops = serializers.ListField(child=serializers.CharField(), help_text="`web`, `worker`.")
    lacks = serializers.CharField(allow_blank=True, help_text="What the others go on without.")


class QueueSerializer(serializers.Serializer[Any]):
    """The jobs of one queue."""

    name = serializers.CharField()
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    waiting = serializers.IntegerField()
    oldest_seconds = serializers.FloatField(help_text="Of the queued jobs; 0 where none is.")
    leases_lost = serializers.IntegerField()
    why_unserved = serializers.CharField(allow_blank=True, help_text="Empty where some group takes its jobs.")


class GroupSerializer(serializers.Serializer[Any]):
    """A group of workers that was seen within the last day."""

    name = serializers.CharField()
    host = serializers.CharField()
    queues = serializers.ListField(child=serializers.CharField(), help_text="Empty: all of them.")
    workers = serializers.IntegerField()
    seen_at = serializers.DateTimeField()
    is_living = serializers.BooleanField()


class WaitingSerializer(serializers.Serializer[Any]):
    """Jobs that wait for one reason."""

    reason = serializers.CharField()
    jobs = serializers.IntegerField()
    since = serializers.DateTimeField()
    submission = serializers.IntegerField(help_text="The first of their runs.")


class FailureSerializer(serializers.Serializer[Any]):
    """A job that failed within the last day."""

    job = serializers.IntegerField()
    submission = serializers.IntegerField()
    run = serializers.CharField()
    step = serializers.CharField()
    reason = serializers.CharField()
    at = serializers.DateTimeField()
    trace = serializers.CharField(allow_blank=True, help_text="The request that made it, as in the log.")


class PlaceSerializer(serializers.Serializer[Any]):
    """Where files are kept, and the disk of the data folder in bytes."""

    files = serializers.CharField()
    data_folder = serializers.CharField()
    free = serializers.IntegerField(allow_null=True)
    size = serializers.IntegerField(allow_null=True)


class SchemaStateSerializer(serializers.Serializer[Any]):
    """Migrations as `app.name`."""

    applied = serializers.ListField(child=serializers.CharField())
    missing = serializers.ListField(child=serializers.CharField())
    unknown = serializers.ListField(child=serializers.CharField())


class VersionsSerializer(serializers.Serializer[Any]):
    """What runs here, and of which release the database is."""

    version = serializers.CharField()
    release = serializers.CharField(help_text="A digest of the program's files.")
    python = serializers.CharField()
    django = serializers.CharField()
    database = serializers.CharField()
    epoch = serializers.IntegerField()
    known_epoch = serializers.IntegerField(help_text="The latest that this release works with.")
    schema = SchemaStateSerializer()


class MailsSerializer(serializers.Serializer[Any]):
    """E-mails that wait, and those that were given up."""

    waiting = serializers.IntegerField()
    since = serializers.DateTimeField(allow_null=True, help_text="When the first of them was written.")
    error = serializers.CharField(help_text="What the mail server said last; empty for nothing.")
    failed = serializers.IntegerField()


class SiteSerializer(serializers.Serializer[Any]):
    """How the site stands."""

    at = serializers.DateTimeField()
    findings = FindingSerializer(many=True)
    missing = MissingSerializer(many=True)
    queues = QueueSerializer(many=True)
    groups = GroupSerializer(many=True)
    waiting = WaitingSerializer(many=True)
    failures = FailureSerializer(many=True, help_text="The last of them.")
    failures_in_all = serializers.IntegerField()
    place = PlaceSerializer()
    mails = MailsSerializer()
    last_sweep = serializers.DateTimeField(allow_null=True)
    last_backup = serializers.DateTimeField(allow_null=True)
    versions = VersionsSerializer()


@extend_schema(
    operation_id="site",
    summary="How the site stands, for its staff",
    responses={200: SiteSerializer, **READING},
)
@api_view(READ)
def site(request: Request) -> Response:
    if not person(request).is_staff:
        raise Http404
    return Response(SiteSerializer(site_state()).data)
