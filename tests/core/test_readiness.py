"""A site is not ready while every page of it is an error."""

import pytest
from django.db.migrations.recorder import MigrationRecorder

from citeboard.core import health, writability

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(autouse=True)
def _nothing_was_in_order(monkeypatch) -> None:
    monkeypatch.setattr(health, "_REQUIREMENTS_EVER_MET", set())


def told(client, part: str = "web"):
    answer = client.get("/health/ready", {"for": part})
    return answer.status_code, {
        lack["what"]: lack["reason"] for lack in answer.json()["missing"]
    }


def test_a_site_is_ready_and_its_schema_is_asked_for_once(
    client, settings, tmp_path, django_assert_num_queries
):
    settings.WORK_DIR = tmp_path / "work"
    writability.write_heartbeat()
    assert told(client) == (200, {})
    with django_assert_num_queries(1):
        assert told(client) == (200, {})


def test_a_database_that_is_behind_stops_pages_and_workers(client):
    MigrationRecorder.Migration.objects.filter(app="core").latest("name").delete()
    for part in health.SITE_PROCESS_KINDS:
        status, missing = told(client, part)
        assert status == 503
        assert missing["schema"] == "the database is 1 migration(s) behind this release"


def test_pages_that_cannot_be_made_stop_the_site_and_not_the_workers(
    client, monkeypatch
):
    def refuse(*_, **__):
        raise ValueError("Missing staticfiles manifest entry for 'style.css'")

    monkeypatch.setattr(health, "render_to_string", refuse)
    status, missing = told(client)
    assert (status, list(missing)) == (503, ["pages"])
    assert "Missing staticfiles manifest entry" in missing["pages"]
    assert told(client, "worker")[0] == 200
    monkeypatch.undo()
    assert told(client) == (200, {})
