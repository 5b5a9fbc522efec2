"""URLs of the API's root, of version 1 of the API, and of the API schema."""

from functools import cache
from typing import Any

from django.urls import URLPattern, URLResolver, include, path, re_path, reverse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer2
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework import exceptions
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import READ_METHODS, allow_any_origin

app_name = "api"
API_ROOT_HELP_TEXT = (
    "Send a token as `Authorization: Token …`; what there is, with every field, "
    "stands in the schema."
)


@cache
def _generate_schema_once(version: str | None) -> Any:
    generator: Any = SchemaGenerator
    return generator(api_version=version).get_schema(public=True)


class CachedSchemaGenerator(SchemaGenerator):
    def get_schema(self, request: Request | None = None, public: bool = False) -> Any:
        return _generate_schema_once(self.api_version)


class OpenApiSchemaView(SpectacularAPIView):
    """Return the OpenAPI schema as JSON, which is also valid YAML."""

    renderer_classes = [OpenApiJsonRenderer2]
    generator_class = CachedSchemaGenerator


@extend_schema(exclude=True)
@api_view(["GET", "POST", "PUT", "PATCH", "DELETE"])
@permission_classes([AllowAny])
def unknown_address(request: Request, rest: str) -> Response:
    """Return an error in the API's format for an unknown URL."""
    raise exceptions.NotFound


@extend_schema(exclude=True)
@api_view(READ_METHODS)
@permission_classes([AllowAny])
def api_root(request: Request) -> Response:
    """Return links to the main parts of the API, at `/api/` and `/api/v1/`."""
    addresses = {
        name: f"api:{name}" for name in ("schema", "seasons", "submissions", "teams")
    }
    described = {
        name: request.build_absolute_uri(reverse(route))
        for name, route in addresses.items()
    }
    described["guide"] = request.build_absolute_uri(reverse("guide", args=["api"]))
    return Response({"detail": API_ROOT_HELP_TEXT, "version": 1, **described})


version_1_url_patterns: list[URLPattern | URLResolver] = [
    path("", include("citeboard.api.urls")),
    path("", api_root, name="version-1"),
    path("schema/", allow_any_origin(OpenApiSchemaView.as_view()), name="schema"),
]
urlpatterns = [
    path("", api_root, name="root"),
    path("v1/", include(version_1_url_patterns)),
    re_path(r"^(?P<rest>[\s\S]*)$", unknown_address, name="nowhere"),
]
