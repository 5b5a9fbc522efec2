"""Webhooks: signed, tried again, visible, and never to a private network."""

import datetime as dt
import hashlib
import hmac
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from tasks.delivery.webhooks import posting
from tasks.delivery.webhooks.posting import (
    WebhookUrlRefused,
    is_public_ip_address,
    resolve_webhook_target,
    validate_webhook_url,
)
from tasks.delivery.webhooks.services import (
    derive_webhook_secret,
    make_webhook,
    repeat_delivery,
)
from tasks.jobs import deliveries
from tasks.jobs.deliveries import RETRY_PAUSES_SECONDS, send_due_deliveries
from tasks.jobs.engine import claim_job
from tasks.models import Delivery, Job, Season, Webhook
from tasks.seasons.announcements import announce
from tests import factories
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

ADDRESS = "https://bot.example.org/citeboard"


@pytest.fixture
def organiser(client):
    person = factories.make_user(name="Olga")
    client.force_login(person)
    return person


@pytest.fixture
def season(organiser):
    return factories.make_season(organiser=organiser, slug="the-season")


@pytest.fixture
def webhook(season, organiser):
    return make_webhook(season=season, url=ADDRESS, by=organiser)


class Program(HTTPServer):
    """What an organiser runs: it keeps what it was posted, and answers with ``code``."""

    code = 204

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answering)
        self.posted = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?x=1"


class Answering(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posted.append((self.path, dict(self.headers), body))
        self.send_response(self.server.code)
        self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *given):
        pass


@pytest.fixture
def program(settings):
    settings.WEBHOOK_HOSTS = frozenset({"127.0.0.1"})
    with Program() as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def due_now() -> None:
    Job.all_kinds.update(due_at=timezone.now() - dt.timedelta(days=1))


def test_an_event_is_posted_with_a_signature_that_the_secret_explains(
    program, season, organiser
):
    own = make_webhook(season=season, url=program.url, by=organiser)
    announce(season=season, text="We extend.", by=organiser)
    assert send_due_deliveries() == 1
    [(path, headers, body)] = program.posted
    assert path == "/hook?x=1"
    said = json.loads(body)
    assert (said["kind"], said["season"], said["text"]) == (
        "announced",
        "the-season",
        "We extend.",
    )
    signed = headers["Citeboard-Timestamp"].encode() + b"." + body
    expected = hmac.new(
        derive_webhook_secret(own).encode(), signed, hashlib.sha256
    ).hexdigest()
    assert headers["Citeboard-Signature"] == f"sha256={expected}"
    assert send_due_deliveries() == 0
    assert Delivery.objects.get().response_code == 204


@pytest.mark.both_databases
@pytest.mark.parametrize("code", [302, 404, 500])
def test_what_is_not_taken_is_tried_again_and_given_up_in_the_end(
    program, season, organiser, code
):
    program.code = code
    make_webhook(season=season, url=program.url, by=organiser)
    announce(season=season, text="We extend.", by=organiser)
    for attempts in range(1, len(RETRY_PAUSES_SECONDS) + 2):
        assert send_due_deliveries() == 0
        assert Delivery.objects.get().attempts == attempts
        assert send_due_deliveries() == 0
        due_now()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.response_code) == ("failed", code)
    # A redirect is not followed.
    assert {path for path, _, _ in program.posted} == {"/hook?x=1"}
    assert len(program.posted) == len(RETRY_PAUSES_SECONDS) + 1


def test_what_waits_for_a_webhook_that_was_switched_off_is_not_posted(
    program, season, organiser
):
    make_webhook(season=season, url=program.url, by=organiser)
    announce(season=season, text="We extend.", by=organiser)
    Webhook.objects.update(is_active=False)
    assert send_due_deliveries() == 0
    Webhook.objects.update(is_active=True)
    assert send_due_deliveries() == 1


@pytest.mark.both_databases
def test_the_page_shows_deliveries_and_posts_them_again(
    client, program, season, organiser
):
    program.code = 500
    own = make_webhook(season=season, url=program.url, by=organiser)
    announce(season=season, text="We extend.", by=organiser)
    send_due_deliveries()
    page = reverse("organise-deliveries", args=[season.slug, own.pk])
    assert "announced" in text_of(client.get(page))
    assert "500" in text_of(client.get(page))
    program.code = 200
    client.post(
        reverse(
            "organise-delivery-repeat", args=[season.slug, Delivery.objects.get().pk]
        )
    )
    assert send_due_deliveries() == 1
    assert "delivered" in text_of(client.get(page))
    assert find_history_of_place(season).filter(action="webhook-repeated").exists()


def test_a_delivery_that_is_being_posted_is_not_queued_again(season, organiser):
    make_webhook(season=season, url="https://bot.example.org/", by=organiser)
    announce(season=season, text="We extend.", by=organiser)
    delivery = Delivery.objects.get()
    job = claim_job(delivery.job_id, "a sweeper")
    repeat_delivery(delivery=delivery, by=organiser)
    job.refresh_from_db()
    assert job.state == Job.State.RUNNING


def test_a_secret_is_shown_once_and_kept_nowhere(client, season, organiser):
    address = reverse("organise-webhooks", args=[season.slug])
    made = client.post(address, {"url": ADDRESS})
    own = Webhook.objects.get()
    secret = derive_webhook_secret(own)
    assert secret in made.content.decode()
    assert secret not in client.get(address).content.decode()
    assert secret not in str(Webhook.objects.values()) + str(
        list(find_history_of_place(season).values())
    )
    renewed = client.post(reverse("organise-webhook-renew", args=[season.slug, own.pk]))
    assert secret not in renewed.content.decode()
    assert derive_webhook_secret(Webhook.objects.get()) in renewed.content.decode()


@pytest.mark.both_databases
def test_the_same_address_twice_is_refused(client, season, webhook):
    refused = client.post(
        reverse("organise-webhooks", args=[season.slug]), {"url": ADDRESS}
    )
    assert refused.status_code == 422
    assert "has a webhook with this address already" in text_of(refused)


def test_nobody_sees_or_repeats_the_deliveries_of_another_season(
    season, webhook, organiser
):
    announce(season=season, text="We extend.", by=organiser)
    other = factories.make_user()
    elsewhere = factories.make_season(organiser=other)
    client = Client()
    client.force_login(other)
    delivery = Delivery.objects.get().pk
    assert (
        client.post(
            reverse("organise-delivery-repeat", args=[elsewhere.slug, delivery])
        ).status_code
        == 404
    )
    assert (
        client.get(
            reverse("organise-deliveries", args=[elsewhere.slug, webhook.pk])
        ).status_code
        == 404
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://bot.example.org/", "ftp://bot.example.org/", "https://", "https://user:pw@bot.example.org/",
        "https://bot.example.org:8443/", "https://[::1", "https://bot.example.org/\r\nX: y", "javascript:x",
    ],
)  # fmt: skip
def test_an_address_that_could_not_be_posted_to_is_refused(client, season, url):
    with pytest.raises(WebhookUrlRefused):
        validate_webhook_url(url)
    assert (
        client.post(
            reverse("organise-webhooks", args=[season.slug]), {"url": url}
        ).status_code
        == 422
    )


@pytest.mark.parametrize(
    "number",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.1", "100.64.0.1",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "not a number",
    ],
)  # fmt: skip
def test_no_private_number_is_public(number):
    assert not is_public_ip_address(number)


@pytest.mark.parametrize(
    "number", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"]
)
def test_a_number_of_the_internet_is_public(number):
    assert is_public_ip_address(number)


def leads_to(monkeypatch, *answers: list[str]):
    """The name server gives these numbers, another answer each time."""
    asked = []

    def lookup(host, port, **given):
        asked.append(host)
        numbers = answers[min(len(asked), len(answers)) - 1]
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port))
            for number in numbers
        ]

    monkeypatch.setattr(posting.socket, "getaddrinfo", lookup)
    return asked


@pytest.mark.parametrize("numbers", [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"]])
def test_a_name_that_leads_to_a_private_network_is_not_posted_to(
    season, webhook, organiser, monkeypatch, numbers
):
    leads_to(monkeypatch, numbers)
    monkeypatch.setattr(
        deliveries, "post_delivery", lambda *given, **more: pytest.fail("posted")
    )
    announce(season=season, text="We extend.", by=organiser)
    send_due_deliveries()
    assert "private network" in Delivery.objects.get().error


def test_a_name_server_that_does_not_answer_is_not_waited_for(monkeypatch):
    answers = threading.Event()
    monkeypatch.setattr(posting, "DNS_LOOKUP_TIMEOUT_SECONDS", 0)
    monkeypatch.setattr(
        posting.socket, "getaddrinfo", lambda *given, **more: answers.wait() and []
    )
    with pytest.raises(WebhookUrlRefused, match="cannot be found"):
        resolve_webhook_target(ADDRESS)
    answers.set()


def test_a_name_that_leads_elsewhere_a_moment_later_gains_nothing(monkeypatch):
    asked = leads_to(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    target = resolve_webhook_target(ADDRESS)
    assert (target.number, target.host, asked) == (
        "93.184.216.34",
        "bot.example.org",
        ["bot.example.org"],
    )


@pytest.mark.both_databases
def test_an_event_is_written_once_and_not_where_it_is_rolled_back(
    season, webhook, organiser
):
    with transaction.atomic():
        announce(season=season, text="Never.", by=organiser)
        transaction.set_rollback(True)
    assert Delivery.objects.count() == 0
    announce(season=season, text="We extend.", by=organiser)
    announce(season=season, text="We extend.", by=organiser)
    assert Delivery.objects.count() == 1


def test_removing_a_webhook_is_told_in_the_history(client, season, webhook):
    client.post(reverse("organise-webhook-remove", args=[season.slug, webhook.pk]))
    assert not Webhook.objects.exists()
    assert find_history_of_place(season).first().action == "webhook-removed"
    assert Season.objects.filter(pk=season.pk).exists()
