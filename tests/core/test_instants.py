"""Instants as people write them."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation

from citeboard.core.instants import (
    ENDLESS_PHASE_END,
    InvalidTimeText,
    format_parsable_time,
    format_phase_end,
    format_utc_minute,
    localize_times_in_history_value,
    parse_phase_end,
    parse_time,
    parse_time_zone,
)

ROME = ZoneInfo("Europe/Rome")


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-05-01 23:59", "2026-05-01T21:59"),
        ("2026-05-01T23:59:30", "2026-05-01T21:59:30"),
        ("2026-05-01T23:59Z", "2026-05-01T23:59"),
        ("2026-05-01T23:59+03:00", "2026-05-01T20:59"),
        ("2026-05-01 23:59 AoE", "2026-05-02T11:59"),
        ("2026-05-01 23:59 aoe", "2026-05-02T11:59"),
        ("2026-05-01 23:59 UTC", "2026-05-01T23:59"),
        ("2026-05-01 23:59 America/New_York", "2026-05-02T03:59"),
        ("1 May 2026, 23:59 UTC", "2026-05-01T23:59"),
        ("1 May 2026, 23:59 AoE", "2026-05-02T11:59"),
    ],
)
def test_an_instant_is_read_as_it_is_written_and_printed(text, instant):
    assert parse_time(text, ROME) == dt.datetime.fromisoformat(instant).replace(
        tzinfo=dt.UTC
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("soon", "is not a date and time"),
        ("2026-05-01", "is not a date and time such as"),
        ("2026-13-01 00:00", "is not a date and time such as"),
        ("", "is not a date and time such as"),
        ("2026-05-01 23:59 Mars/Base", "“Mars/Base” is not a time zone such as"),
        ("2026-05-01 23:59+02:00 AoE", "names both an offset and a zone"),
        ("2026-03-29 02:30", "the clocks of Europe/Rome skip 2026-03-29 02:30:00"),
        ("2026-10-25 02:30", "comes twice in Europe/Rome"),
        ("9999-12-31 23:59 AoE", "beyond the calendar"),
        ("x" * 100_000, "is not a"),
    ],
)
def test_what_is_no_instant_is_refused_with_what_is_wrong(text, words):
    with pytest.raises(InvalidTimeText, match=words):
        parse_time(text, ROME)


def test_an_instant_is_written_so_that_it_is_read_again():
    at = dt.datetime(2026, 5, 2, 11, 59, 59, tzinfo=dt.UTC)
    assert format_parsable_time(at, parse_time_zone("AoE")) == "2026-05-01 23:59:59"
    assert parse_time(format_parsable_time(at, ROME), ROME) == at


@pytest.mark.parametrize(
    "text",
    ["No end", "2099-12-31 23:59:59", "2099-01-01 12:00 AoE", "3000-01-01 00:00"],
)
def test_no_end_is_read_in_words_or_as_any_date_of_that_year_or_later_and_written_in_words(
    text,
):
    assert parse_phase_end(text, ROME) == ENDLESS_PHASE_END
    assert (
        format_phase_end(parse_phase_end(text, ROME), ROME),
        format_utc_minute(ENDLESS_PHASE_END),
    ) == (
        "no end",
        "no end",
    )
    with translation.override("de"):
        assert (
            parse_phase_end(format_phase_end(ENDLESS_PHASE_END, ROME), ROME)
            == ENDLESS_PHASE_END
        )
    last = dt.datetime(2098, 12, 31, 22, 59, tzinfo=dt.UTC)
    assert parse_phase_end(format_phase_end(last, ROME), ROME) == last


def test_a_stored_fact_is_worded_in_the_language_of_its_reader():
    stored = "2026-05-01 23:59 – 2026-12-02 00:00 UTC"
    endless = "2026-05-01 23:59 UTC without an end"
    assert (
        localize_times_in_history_value(stored)
        == "1 May 2026, 23:59 – 2 Dec 2026, 00:00 UTC"
    )
    assert (
        localize_times_in_history_value(endless)
        == "1 May 2026, 23:59 UTC without an end"
    )
    assert (
        localize_times_in_history_value("the team of 2026-05-01")
        == "the team of 2026-05-01"
    )
    with translation.override("de"):
        assert "Dez." in localize_times_in_history_value(stored)
        assert (
            localize_times_in_history_value(endless)
            == "1. Mai 2026, 23:59 UTC ohne Ende"
        )


def test_only_an_end_may_be_none():
    with pytest.raises(InvalidTimeText, match="“no end” is not a date and time"):
        parse_time("no end", ROME)
