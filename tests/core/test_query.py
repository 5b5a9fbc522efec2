"""What an address asks for, as a value and as an address again."""

import re
from dataclasses import dataclass

import pytest
from django.http import QueryDict

from citeboard.core.query import (
    MAX_PARAMETER_LENGTH,
    MAX_QUOTED_CHARACTERS,
    MAX_UNKNOWN_NAMES_LISTED,
    InvalidParameters,
    PageParameters,
    declare_number_list_parameter,
    declare_number_parameter,
    declare_search_parameter,
    declare_switch_parameter,
    declare_text_parameter,
    reject_unknown_names,
)


@dataclass(frozen=True, kw_only=True)
class Asked(PageParameters):
    rules: str | None = declare_text_parameter("rules", default=None)
    way: str = declare_text_parameter(
        "rank", default="value", choices=("value", "significance")
    )
    words: str = declare_search_parameter("q")
    page: int = declare_number_parameter("page", default=1)
    runs: tuple[int, ...] = declare_number_list_parameter("run")
    shows_all: bool = declare_switch_parameter("all", "no", default=True)


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("", Asked()),
        ("rules=&rank=&q=%20&page=0&run=x&all=", Asked()),
        ("page=-1&run=1.5&run=%D9%A1&page=9999999999999999", Asked()),
        ("rules=a&rules=b", Asked(rules="b")),
        ("page=3&page=x", Asked(page=3)),
        ("run=1&run=x&run=2", Asked(runs=(1, 2))),
        ("q=%20two%20%20owls", Asked(words="two owls")),
        ("all=no&rank=significance", Asked(shows_all=False, way="significance")),
        ("rules=" + "x" * 999, Asked(rules="x" * MAX_PARAMETER_LENGTH)),
    ],
)
def test_what_cannot_be_meant_is_passed_over(address, asked):
    assert Asked.of(QueryDict(address)) == asked


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (
            "rank=beauty",
            "“beauty” is not a value of “rank”; expected: “value”, “significance”.",
        ),
        (
            "rank=value&rank=Value",
            "“Value” is not a value of “rank”; expected: “value”, “significance”.",
        ),
        ("all=yes", "“yes” is not a value of “all”; expected: “no”."),
        ("all=no&all=0", "“0” is not a value of “all”; expected: “no”."),
        ("all=%20no", "“ no” is not a value of “all”; expected: “no”."),
        (
            "all=" + "x" * 999,
            f"“{'x' * MAX_QUOTED_CHARACTERS}” is not a value of “all”; expected: “no”.",
        ),
    ],
)
def test_a_switch_refuses_a_value_that_it_does_not_define_and_names_those_it_has(
    address, words
):
    with pytest.raises(InvalidParameters, match=f"^{re.escape(words)}$"):
        Asked.of(QueryDict(address))


@pytest.mark.parametrize(
    ("name", "known", "words"),
    [
        (
            "dryrun",
            ["dry_run", "page"],
            "“dryrun” is unknown here; did you mean “dry_run”?",
        ),
        ("zzz", ["dry_run", "page"], "“zzz” is unknown here; expected: dry_run, page."),
        ("zzz", [], "“zzz” is unknown here; nothing is expected."),
        ("\ud800", ["page"], "“?” is unknown here; expected: page."),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(name, known, words):
    with pytest.raises(InvalidParameters, match=f"^{re.escape(words)}$"):
        reject_unknown_names([name, *known], known)


def test_an_answer_names_so_many_unknown_fields_and_no_more():
    with pytest.raises(InvalidParameters) as refused:
        reject_unknown_names(map(str, range(1_000)), ["page"])
    assert list(refused.value.errors) == [
        str(number) for number in range(MAX_UNKNOWN_NAMES_LISTED)
    ]


def test_an_address_names_what_departs_from_the_defaults_and_reads_back_the_same():
    asked = Asked(rules="a&b", words="two owls", runs=(3, 9), shows_all=False)
    address = asked.build_query_string(page=2)
    assert address == "?rules=a%26b&q=two+owls&page=2&run=3&run=9&all=no"
    assert (
        Asked.of(QueryDict(address.removeprefix("?"))).build_query_string(page=1)
        == asked.build_query_string()
    )
    assert (
        asked.build_query_string(rules=None, words="", runs=(), shows_all=True) == "?"
    )


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
