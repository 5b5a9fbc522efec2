"""Limits on attempts and requests: all processes count together, and nothing pushes a count out."""

import re
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from citeboard.core import api
from citeboard.core.caches import RateLimitCache
from citeboard.core.models import Limit
from tests import factories

pytestmark = pytest.mark.both_databases

WRONG = {"login": "person@example.org", "password": "a wrong one"}
#: allauth's limit of failed attempts, for one address and for one account.
ATTEMPTS = 10


def attempts(
    number: int,
    *,
    address: str = "192.0.2.1",
    forwarded: str | None = None,
    email=None,
    client=None,
) -> str:
    """The last answer to so many wrong passwords, each for another account unless one is named."""
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    client = client or Client(REMOTE_ADDR=address, headers=headers)
    for place in range(number):
        fields = WRONG | {"login": email or f"person{address}{place}@example.org"}
        response = client.post(reverse("account_login"), fields)
    return response.content.decode()


def is_locked_out(page: str) -> bool:
    return bool(re.search("too many", page, re.IGNORECASE))


@pytest.mark.django_db
@pytest.mark.usefixtures("one_minute")
def test_wrong_passwords_from_one_address_are_counted():
    assert not is_locked_out(attempts(ATTEMPTS))
    assert is_locked_out(attempts(1))
    assert not is_locked_out(attempts(1, address="192.0.2.2"))


def signs_in(client: Client, person) -> bool:
    fields = {"login": person.email, "password": factories.PASSWORD}
    return client.post(reverse("account_login"), fields).status_code == 302


@pytest.mark.django_db
@pytest.mark.usefixtures("one_minute")
def test_nobody_locks_another_out_from_elsewhere():
    person = factories.make_user()
    assert is_locked_out(attempts(6, email=person.email))
    assert not signs_in(Client(REMOTE_ADDR="192.0.2.1"), person)
    assert signs_in(Client(REMOTE_ADDR="198.51.100.7"), person)


@pytest.mark.django_db
@pytest.mark.usefixtures("one_minute")
def test_a_browser_in_which_they_have_signed_in_before_passes_and_has_a_count_of_its_own():
    person, other = factories.make_user(), factories.make_user()
    known = Client(REMOTE_ADDR="192.0.2.1")
    assert signs_in(known, person)
    cookie = known.cookies["known_browser"].value
    known.logout()
    known.cookies["known_browser"] = cookie
    attempts(ATTEMPTS + 1, email=person.email)
    attempts(ATTEMPTS + 1, email=other.email)
    assert not signs_in(known, other)
    assert signs_in(known, person)
    thief = Client(REMOTE_ADDR="192.0.2.9")
    thief.cookies["known_browser"] = cookie
    assert is_locked_out(attempts(ATTEMPTS + 1, email=person.email, client=thief))


@pytest.mark.django_db
@pytest.mark.usefixtures("one_minute")
def test_a_mailed_link_opens_what_wrong_passwords_have_closed(mailoutbox):
    person, client = factories.make_user(), Client(REMOTE_ADDR="192.0.2.1")
    assert is_locked_out(attempts(6, email=person.email))
    client.post(reverse("account_reset_password"), {"email": person.email})
    [link] = re.findall(r"https?://\S+/reset/\S+", mailoutbox[-1].body)
    page = client.get(urlsplit(link).path, follow=True)
    client.post(
        page.request["PATH_INFO"],
        dict.fromkeys(("password1", "password2"), "another good one 25"),
    )
    fields = {"login": person.email, "password": "another good one 25"}
    client.logout()
    assert client.post(reverse("account_login"), fields).status_code == 302


@pytest.mark.django_db
@pytest.mark.usefixtures("one_minute")
def test_reading_pages_with_other_parameters_pushes_no_count_out():
    board = boards_address()
    attempts(ATTEMPTS)
    client = Client()
    for number in range(700):
        client.get(f"{board}?x={number}")
    assert is_locked_out(attempts(1))


def boards_address() -> str:
    phase = factories.make_phase()
    return reverse("board", args=[phase.task.season.slug, phase.task.slug, phase.slug])


@pytest.mark.django_db
@pytest.mark.usefixtures("one_minute")
def test_behind_a_proxy_one_client_locks_out_nobody_else(settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    proxy = "10.0.0.1"
    assert is_locked_out(
        attempts(ATTEMPTS + 1, address=proxy, forwarded="198.51.100.1")
    )
    assert not is_locked_out(attempts(1, address=proxy, forwarded="198.51.100.2"))


@pytest.mark.django_db
@pytest.mark.usefixtures("one_minute")
def test_a_client_behind_a_proxy_cannot_choose_its_address(settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    for place in range(ATTEMPTS):
        attempts(1, address="10.0.0.1", forwarded=f"203.0.113.{place}, 198.51.100.1")
    assert is_locked_out(
        attempts(1, address="10.0.0.1", forwarded="203.0.113.99, 198.51.100.1")
    )


@pytest.mark.django_db
@pytest.mark.usefixtures("one_minute")
def test_without_a_proxy_the_header_is_not_believed():
    for place in range(ATTEMPTS):
        attempts(1, forwarded=f"203.0.113.{place}")
    assert is_locked_out(attempts(1, forwarded="203.0.113.99"))


@pytest.mark.django_db
def test_the_admin_has_no_sign_in_of_its_own(client):
    address = reverse("admin:login") + "?next=/admin/"
    signing_in = f"{reverse('account_login')}?next=%2Fadmin%2F"
    assert client.get(address)["Location"] == signing_in
    person = factories.make_user(is_staff=True, is_superuser=True)
    answer = client.post(
        address, {"username": person.email, "password": factories.PASSWORD}
    )
    assert answer["Location"] == signing_in
    assert "_auth_user_id" not in client.session


@pytest.mark.django_db(transaction=True)
def test_requests_at_the_same_time_are_each_counted():
    """Each thread has a connection of its own, as a process has."""

    def count(_: int) -> int:
        try:
            try:
                return cache.incr("requests")
            except ValueError:
                return 1 if cache.add("requests", 1, 60) else cache.incr("requests")
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        numbers = list(threads.map(count, range(80)))
    assert sorted(numbers) == list(range(1, 81))


@pytest.mark.django_db(transaction=True)
def test_of_many_who_add_the_same_key_one_succeeds():
    def add(_: int) -> bool:
        try:
            return cache.add("lock", True, 60)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(add, range(40))) == 1


@pytest.mark.django_db
def test_what_has_expired_is_absent_can_be_added_anew_and_is_removed(monkeypatch):
    now = 1_000_000.0
    monkeypatch.setattr("time.time", lambda: now)
    limits = RateLimitCache("", {})
    assert limits.add("old", 1, timeout=60)
    assert limits.add("again", 1, timeout=60)
    now += 61
    assert limits.get("old") is None
    with pytest.raises(ValueError, match="There is no number"):
        limits.incr("old")
    assert limits.add("again", 5, timeout=60)
    assert list(Limit.objects.values_list("value", flat=True)) == ["5"]


@pytest.mark.django_db
def test_values_come_back_as_they_were_kept():
    limits = RateLimitCache("", {})
    for value in (True, 3, "a text", [1.5, 2.5], None):
        limits.set("key", value, 60)
        assert limits.get("key", "nothing") == value
    limits.set("for-ever", 1, None)
    assert limits.incr("for-ever", 4) == 5
    assert limits.delete("key")
    assert not limits.delete("key")
    limits.clear()
    assert limits.get("for-ever") is None


@pytest.mark.django_db
def test_of_a_large_number_a_process_tells_the_others_now_and_then_and_counts_all(
    monkeypatch,
):
    monkeypatch.setattr(api, "_REQUEST_COUNTS", OrderedDict())
    with CaptureQueriesContext(connection) as statements:
        assert [api.count_request("many", step=5) for _ in range(12)] == list(
            range(1, 13)
        )
    # The first makes the row, and with it rows that have expired go.
    assert len([said for said in statements if "core_limit" in said["sql"]]) == 3 + 2
    # What another process has counted is known once this one tells what it has.
    cache.incr("many", 100)
    assert [api.count_request("many", step=5) for _ in range(5)] == [
        13,
        14,
        15,
        116,
        117,
    ]


@pytest.mark.django_db
def test_a_small_number_is_counted_by_all_processes_at_once(monkeypatch):
    answered = []
    for _ in range(3):
        monkeypatch.setattr(api, "_REQUEST_COUNTS", OrderedDict())
        answered.append(api.count_request("few"))
    assert answered == [1, 2, 3]
