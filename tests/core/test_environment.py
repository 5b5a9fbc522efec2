"""The readers of the environment refuse nonsense by name."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from citeboard.core.env import EnvironmentReader


def reader(**values: str) -> EnvironmentReader:
    return EnvironmentReader(values)


def refusal(call) -> str:
    with pytest.raises(ImproperlyConfigured) as caught:
        call()
    return str(caught.value)


def test_an_unset_name_has_its_default():
    env = reader()
    assert env.seconds("WAIT", 30, "…") == 30
    assert env.read_boolean("LOUD", False, "…") is False
    assert env.text("NAME", "board", "…") == "board"
    assert env.names("HOSTS", ["a"], "…", shown="a") == ["a"]


def test_an_empty_name_counts_as_unset():
    assert reader(WAIT="  ").seconds("WAIT", 30, "…") == 30


def test_a_wait_that_is_no_number_is_refused_by_name():
    words = refusal(lambda: reader(WAIT="soon").seconds("WAIT", 30, "…"))
    assert words == 'WAIT: "soon" is not a whole number of seconds of at least 1'


@pytest.mark.parametrize("given", ["0", "65536", "-1", "8000.5", "80 00"])
def test_a_number_out_of_bounds_is_refused(given):
    words = refusal(
        lambda: reader(PORT=given).read_integer("PORT", 8000, "…", low=1, high=65535)
    )
    assert words == f'PORT: "{given}" is not a whole number from 1 to 65535'


@pytest.mark.parametrize(
    ("given", "meant"),
    [("yes", True), ("1", True), ("On", True), ("no", False), ("0", False)],
)
def test_a_yes_or_no_is_read_in_every_usual_spelling(given, meant):
    assert reader(LOUD=given).read_boolean("LOUD", not meant, "…") is meant


def test_a_yes_or_no_that_is_neither_names_the_choices():
    assert refusal(
        lambda: reader(LOUD="maybe").read_boolean("LOUD", False, "…")
    ).startswith('LOUD: "maybe" is not one of 1, true, yes, on')


def test_a_choice_is_given_in_our_spelling_whatever_its_case():
    assert (
        reader(LEVEL="info").choice("LEVEL", "ERROR", ("INFO", "ERROR"), "…") == "INFO"
    )


def test_an_unknown_choice_names_the_known_ones():
    words = refusal(
        lambda: reader(LEVEL="loud").choice("LEVEL", "ERROR", ("INFO", "ERROR"), "…")
    )
    assert words == 'LEVEL: "loud" is not one of INFO, ERROR'


def test_names_are_separated_by_commas_and_trimmed():
    assert reader(HOSTS="a.org, b.org,").names("HOSTS", [], "…", shown="none") == [
        "a.org",
        "b.org",
    ]


def test_a_relative_folder_is_refused(tmp_path):
    words = refusal(
        lambda: reader(DATA="here").folder("DATA", tmp_path, "…", shown="…")
    )
    assert words == 'DATA: "here" is not an absolute path'


@pytest.mark.parametrize(
    "given",
    [
        "board.example.org",
        "ftp://board.example.org",
        "https://",
        "https://a.org/board",
        "https://a.org:99999",
    ],
)
def test_an_address_that_is_no_site_is_refused(given):
    words = refusal(
        lambda: reader(SITE=given).read_web_address(
            "SITE", "http://127.0.0.1", "…", shown="…"
        )
    )
    assert words.startswith(f'SITE: "{given}" is not an address')


def test_an_address_loses_its_trailing_slash():
    site = reader(SITE="https://a.org/").read_web_address(
        "SITE", "http://127.0.0.1", "…", shown="…"
    )
    assert site == "https://a.org"


@pytest.mark.parametrize(
    "given",
    ["mysql://me:hush@db/board", "postgres", "nonsense://x/y", "postgres://me:hush@db"],
)
def test_a_database_we_cannot_use_is_refused_without_showing_the_password(given):
    words = refusal(
        lambda: reader(DB=given).database("DB", "sqlite:///x", "…", shown="…")
    )
    assert words.startswith("DB: its value is not a SQLite or PostgreSQL address")
    assert "hush" not in words


def test_a_postgresql_address_is_read():
    config = reader(DB="postgres://me:hush@db:5433/board").database(
        "DB", "sqlite:///x", "…", shown="…"
    )
    assert config["ENGINE"] == "django.db.backends.postgresql"
    assert (config["HOST"], config["PORT"], config["NAME"]) == ("db", 5433, "board")


def test_a_redis_address_of_another_kind_is_refused():
    assert refusal(
        lambda: reader(R="http://cache").read_redis_address("R", "…")
    ).startswith("R: its value is not an address")


def test_a_name_is_declared_once():
    env = reader()
    env.text("NAME", "", "…")
    with pytest.raises(ValueError, match="NAME is declared twice"):
        env.text("NAME", "", "…")
