"""Who is signed in stays so until the session ends, and nobody is by a session that is not kept."""

import datetime as dt

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone

from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def is_signed_in(client) -> bool:
    return client.get(reverse("teams")).status_code == 200


def test_a_session_counts_until_it_has_ended(client):
    client.force_login(make_user())
    assert is_signed_in(client)
    Session.objects.update(expire_date=timezone.now() - dt.timedelta(seconds=1))
    assert not is_signed_in(client)


@pytest.mark.parametrize("key", ["a" * 32, "x", "' OR '1'='1' --", "", "é" * 32])
def test_a_key_that_nobody_was_given_signs_nobody_in(client, key):
    client.force_login(make_user())
    client.cookies[settings.SESSION_COOKIE_NAME] = key
    assert not is_signed_in(client)


def test_a_session_that_was_changed_in_the_database_signs_nobody_in(client):
    client.force_login(make_user())
    Session.objects.update(session_data="e30:1abcde:forged")
    assert not is_signed_in(client)
