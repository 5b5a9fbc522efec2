"""What an address asks for, as a value and as an address again."""

from dataclasses import dataclass

import pytest
from django.http import QueryDict

from citeboard.core.query import (
    MAX_TEXT,
    Query,
    number_from,
    numbers_from,
    search_from,
    switch_from,
    text_from,
)


@dataclass(frozen=True, kw_only=True)
class Asked(Query):
    rules: str | None = text_from("rules", default=None)
    way: str = text_from("rank", default="value", choices=("value", "significance"))
    words: str = search_from("q")
    page: int = number_from("page", default=1)
    runs: tuple[int, ...] = numbers_from("run")
    shows_all: bool = switch_from("all", "no", default=True)


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("", Asked()),
        ("rules=&rank=beauty&q=%20&page=0&run=x&all=yes", Asked()),
        ("page=-1&run=1.5&run=%D9%A1&page=9999999999999999", Asked()),
        ("rules=a&rules=b", Asked(rules="b")),
        ("page=3&page=x", Asked(page=3)),
        ("run=1&run=x&run=2", Asked(runs=(1, 2))),
        ("q=%20two%20%20owls", Asked(words="two owls")),
        ("all=no&rank=significance", Asked(shows_all=False, way="significance")),
        ("rules=" + "x" * 999, Asked(rules="x" * MAX_TEXT)),
    ],
)
def test_what_cannot_be_meant_is_passed_over(address, asked):
    assert Asked.of(QueryDict(address)) == asked


def test_an_address_names_what_departs_from_the_defaults_and_reads_back_the_same():
    asked = Asked(rules="a&b", words="two owls", runs=(3, 9), shows_all=False)
    address = asked.with_(page=2)
    assert address == "?rules=a%26b&q=two+owls&page=2&run=3&run=9&all=no"
    assert Asked.of(QueryDict(address.removeprefix("?"))).with_(page=1) == asked.with_()
    assert asked.with_(rules=None, words="", runs=(), shows_all=True) == "?"


def test_a_form_carries_the_parameters_that_it_does_not_ask_for():
    assert Asked(rules="a", words="owls", runs=(3, 9)).pairs(words="") == [
        ("rules", "a"),
        ("run", "3"),
        ("run", "9"),
    ]


def test_a_switch_has_a_link_for_each_value_and_knows_the_current_one():
    links = Asked(words="owls", page=3).choices(
        "rules", ["a", "b"], "b", str.upper, page=1
    )
    assert [(link.label, link.href, link.is_current) for link in links] == [
        ("A", "?rules=a&q=owls", False),
        ("B", "?rules=b&q=owls", True),
    ]
