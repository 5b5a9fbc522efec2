"""Export a chart as an SVG, PDF, PNG, Plotly JSON or HTML file."""

import ctypes
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec

from django.conf import settings
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _

from citeboard.core.confined.turns import SandboxPoolFull
from scoring.figures import Figure, as_plotly, as_svg, escape_html_in_texts

IMAGE_CONTENT_TYPES = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
}
#: Browsers download HTML figures, so that their scripts never run on the site's origin.
PLOTLY_CONTENT_TYPES = {"json": "application/json", "html": "application/octet-stream"}
#: A PNG figure has PNG_SCALE_FACTOR pixels per unit of the SVG, for sharp screens and print.
PNG_SCALE_FACTOR = 2.0
#: A request waits at most MAX_WAIT_FOR_CONVERTER_SECONDS seconds for the conversion of another figure.
MAX_WAIT_FOR_CONVERTER_SECONDS = 5.0
_conversion_lock = threading.Lock()


class FigureConverterBusy(SandboxPoolFull):
    """An error if another figure is still being converted, after which a client may
    repeat the request.
    """

    is_upload = False

    def __init__(self) -> None:
        super().__init__(
            _(
                "another chart is being converted; please ask for it again in a few "
                "seconds"
            )
        )


@cache
def list_image_formats() -> tuple[str, ...]:
    try:
        import cairosvg  # noqa: F401
    except OSError:
        return ("svg",)
    return tuple(IMAGE_CONTENT_TYPES)


@cache
def list_plotly_formats() -> tuple[str, ...]:
    """Return the names of the formats that Plotly can write, or none if Plotly is not
    installed.
    """
    return tuple(PLOTLY_CONTENT_TYPES) if find_spec("plotly") else ()


def list_figure_formats() -> tuple[str, ...]:
    """Return the names of the file formats of figures that this machine can write."""
    return (*list_image_formats(), *list_plotly_formats())


def find_figure_content_type(wanted: str) -> str:
    return (IMAGE_CONTENT_TYPES | PLOTLY_CONTENT_TYPES).get(
        wanted.rpartition(".")[2], IMAGE_CONTENT_TYPES["svg"]
    )


def render_figure(figures: Mapping[str, Figure], wanted: str) -> bytes:
    """Return the figure in the format of the file extension, for a file name such as
    `heat-map.svg`. Raises Http404 and FigureConverterBusy.
    """
    name, _, form = wanted.rpartition(".")
    if name in figures and form in PLOTLY_CONTENT_TYPES and not list_plotly_formats():
        raise Http404(
            f"Plotly is not installed here, which writes a figure as {form.upper()}."
        )
    if name not in figures or form not in list_figure_formats():
        raise Http404(
            f"There is no figure {wanted!r} here; there are {', '.join(figures) or 'none'}."
        )
    if form in PLOTLY_CONTENT_TYPES:
        # The import of Plotly is slow, so only this function imports Plotly.
        from plotly import graph_objects

        drawn = graph_objects.Figure(escape_html_in_texts(as_plotly(figures[name])))
        return str(
            drawn.to_json() if form == "json" else drawn.to_html(include_plotlyjs=True)
        ).encode()
    svg = as_svg(figures[name]).encode()
    return svg if form == "svg" else convert_svg(svg, form)


@cache
def register_fonts() -> None:
    """Register the site's fonts with fontconfig, so that PDF and PNG files use these
    fonts.
    """
    with suppress(OSError):
        fontconfig = ctypes.CDLL("libfontconfig.so.1")
        fontconfig.FcConfigAppFontAddDir(
            None, os.fsencode(settings.BASE_DIR / "static" / "fonts")
        )


def convert_svg(svg: bytes, form: str, scale: float = PNG_SCALE_FACTOR) -> bytes:
    """Convert an SVG figure to PDF or PNG. Raises FigureConverterBusy."""
    import cairosvg

    # Convert one figure at a time, because a large figure uses much CPU time.
    if not _conversion_lock.acquire(timeout=MAX_WAIT_FOR_CONVERTER_SECONDS):
        raise FigureConverterBusy
    try:
        register_fonts()
        return bytes(
            cairosvg.svg2pdf(svg)
            if form == "pdf"
            else cairosvg.svg2png(svg, scale=scale)
        )
    finally:
        _conversion_lock.release()


def build_figure_response(figures: Mapping[str, Figure], wanted: str) -> HttpResponse:
    return HttpResponse(
        render_figure(figures, wanted), content_type=find_figure_content_type(wanted)
    )
