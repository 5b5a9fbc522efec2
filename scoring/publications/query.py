"""What a reader chooses on a page of published results."""

from __future__ import annotations

from dataclasses import dataclass

from citeboard.core.query import Query, text_from, texts_from


@dataclass(frozen=True, kw_only=True)
class PublishedQuery(Query):
    """``sort`` is the metric that orders systems, ``metric`` what tables by class show where they have it.

    ``order`` is the system that orders classes. A minus sign before it turns an order round. ``systems`` are
    those in the bars; ``figure`` is a figure of the page as a file, `bars-1.svg`.
    """

    sort: str = text_from("sort")
    metric: str = text_from("metric")
    order: str = text_from("order")
    systems: tuple[str, ...] = texts_from("system")
    figure: str = text_from("figure", max_length=80)
