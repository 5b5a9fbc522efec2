"""Which questions in an address a page reads: one that it passes over need not be asked."""

from urllib.parse import parse_qs

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.http import QueryDict
from django.utils.functional import cached_property


class Questions(QueryDict):
    """What stands behind the question mark, and the names by which it was looked up."""

    def __init__(self, *arguments, **named) -> None:
        self.read: set[str] = set()
        self.is_read_whole = False
        super().__init__(*arguments, **named)

    def reads(self, query: str) -> bool:
        """Whether an answer may be another one with this query."""
        return self.is_read_whole or not self.read.isdisjoint(
            parse_qs(query.removeprefix("?"))
        )

    def __getitem__(self, name):
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name) -> bool:
        self.read.add(name)
        return super().__contains__(name)

    def getlist(self, name, default=None):
        self.read.add(name)
        return super().getlist(name, default)

    def __iter__(self):
        self.is_read_whole = True
        return super().__iter__()

    def __len__(self) -> int:
        self.is_read_whole = True
        return super().__len__()

    def keys(self):
        self.is_read_whole = True
        return super().keys()

    def values(self):
        self.is_read_whole = True
        return super().values()

    def lists(self):
        self.is_read_whole = True
        return super().lists()


@pytest.fixture
def questions_are_noted(monkeypatch) -> None:
    """`response.wsgi_request.GET` says what the page has read of it."""
    noted = cached_property(
        lambda request: Questions(request.environ.get("QUERY_STRING", ""))
    )
    noted.__set_name__(WSGIRequest, "GET")
    monkeypatch.setattr(WSGIRequest, "GET", noted)
