"""Render figures as SVG, with data for Plotly. Plotly never interprets names in the
data as markup.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext as _

from citeboard.core.instants import MONTH_ABBREVIATIONS
from citeboard.core.middleware import ENGLISH_LANGUAGE_CODE
from citeboard.core.words import localize_separators
from scoring.exchange.figure_files import list_figure_formats, list_image_formats
from scoring.figures import (
    Figure,
    FigureWording,
    HeatMap,
    ScatterPlot,
    as_plotly,
    as_svg,
    escape_html_in_texts,
)

register = template.Library()


@register.simple_tag(takes_context=True)
def chart(context: Mapping[str, Any], *name: object) -> SafeString:
    """Render a figure from `figures` in the template context. The name of the figure is
    also its HTML id.

    A script on the page replaces the SVG by an interactive figure. If the template
    context contains `figure_address`, readers can download the figure.
    """
    key = "".join(map(str, name))
    figure = translate_figure(context["figures"][key])
    return format_html(
        '<div class="chart" id="{0}" data-figure="{0}-data" tabindex="0" role="group" aria-label="{1}">'
        "{2}</div>{3}{4}",
        key,
        figure.title,
        SafeString(as_svg(figure)),
        json_script(escape_html_in_texts(as_plotly(figure)), f"{key}-data"),
        _render_download_links(context.get("figure_address"), key, figure.title),
    )


@register.simple_tag
def drawing(figure: Figure) -> SafeString:
    """Render a figure as static SVG, which scripts must not replace."""
    return SafeString(as_svg(translate_figure(figure)))


def translate_figure(figure: Figure) -> Figure:
    """Return the figure with its texts translated to the language of the page."""
    if get_language() == ENGLISH_LANGUAGE_CODE or isinstance(figure, HeatMap):
        return figure
    wording = FigureWording(
        decimal_mark=localize_separators("."),
        interval=_("{low} to {high}"),
        point=_("{name}: {y} at {x}"),
        undefined=_("undefined"),
        day=_("{day} {month}"),
        months=tuple(map(str, MONTH_ABBREVIATIONS)),
    )
    if isinstance(figure, ScatterPlot):
        return replace(
            figure,
            x=replace(figure.x, wording=wording),
            y=replace(figure.y, wording=wording),
        )
    return replace(figure, axis=replace(figure.axis, wording=wording))


def _render_download_links(
    address: Callable[[str], str] | None, key: str, title: str
) -> SafeString:
    if address is None:
        return SafeString("")
    links = format_html_join(
        " ",
        '<a href="{}" download="{}" aria-label="{}: {}">{}</a>',
        (
            (address(file := f"{key}.{form}"), file, form.upper(), title, form.upper())
            for form in list_figure_formats()
        ),
    )
    return format_html('<p class="figure-files">{} {}</p>', _("Chart as"), links)


@register.simple_tag
def share(title: str, name: str, *args: str, query: str = "") -> SafeString:
    """Return the meta tags for previews of links to the page.

    The meta tags contain the title of the page and the URL of the preview image.
    """
    if "png" not in list_image_formats():
        return SafeString("")
    facts = {
        "og:title": title,
        "og:type": "website",
        "og:image": f"{settings.BASE_URL}{reverse(name, args=args)}{query}",
        "og:image:width": "1200",
        "og:image:height": "630",
        "twitter:card": "summary_large_image",
    }
    return format_html_join("\n", '<meta property="{}" content="{}">', facts.items())
