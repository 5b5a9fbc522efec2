"""The site's privacy notice and imprint."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import READ, SIGN_IN, TOO_MANY
from citeboard.core.legal_pages import notices as notices_of_site


class NoticeSerializer(serializers.Serializer[Any]):
    """A page that the site's settings fill."""

    name = serializers.CharField(help_text="privacy or imprint.")
    title = serializers.CharField()
    text = serializers.CharField(help_text="Markdown.")


@extend_schema(
    operation_id="notices",
    summary="The site's privacy notice and imprint, where it has them",
    responses={200: NoticeSerializer(many=True), 401: SIGN_IN, 429: TOO_MANY},
)
@api_view(READ)
@permission_classes([AllowAny])
def notices(request: Request) -> Response:
    return Response(NoticeSerializer(notices_of_site(), many=True).data)
