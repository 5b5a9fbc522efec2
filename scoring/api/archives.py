"""Mounted archives for programs."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import PAGE_PARAMETERS, READ, Pages, paged, readable_anywhere
from scoring.api.seasons import READING
from scoring.api.serializers import address
from scoring.exchange.mounted import Mounted, mounted_archive, mounted_archives


class ArchiveSerializer(serializers.Serializer[Any]):
    """A season of another site, from its archive; nothing in it changes."""

    slug = serializers.CharField()
    title = serializers.CharField()
    licence = serializers.CharField(allow_blank=True)
    verified = serializers.CharField(help_text="What verifying it said, when it was mounted.")
    sha256 = serializers.CharField(help_text="Of the file with its checksums.")
    page = serializers.CharField()
    boards = serializers.ListField(child=serializers.CharField(), help_text="Addresses of boards as JSON.")


@readable_anywhere
@extend_schema(
    operation_id="archives",
    summary="The mounted archives of other sites' seasons",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(ArchiveSerializer), **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def archives(request: Request) -> Response:
    pages = Pages()
    page = pages.paginate_queryset(mounted_archives(), request)
    return pages.get_paginated_response([_described(request, found) for found in page or ()])


@readable_anywhere
@extend_schema(
    operation_id="archive",
    summary="A mounted archive",
    responses={200: ArchiveSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def archive(request: Request, slug: str) -> Response:
    found = mounted_archive(slug)
    if found is None:
        raise Http404("No archive is mounted here.")
    return Response(_described(request, found))


def _described(request: Request, found: Mounted) -> dict[str, Any]:
    return {
        "slug": found.slug,
        "title": found.title,
        "licence": found.licence,
        "verified": found.mount["verified"],
        "sha256": found.mount["sha256"],
        "page": address(request, "archive", found.slug),
        "boards": [
            address(request, "archive-file", found.slug, f"boards/{name}.json") for name, _ in found.boards
        ],
    }
