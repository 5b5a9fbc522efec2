"""The privacy notice and the imprint: pages that the site's settings fill, and none where they do not."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse

from citeboard.core.env import EnvironmentReader

pytestmark = pytest.mark.django_db


def test_without_the_settings_there_are_no_such_pages_and_the_foot_names_none(client):
    for name in ("privacy", "imprint"):
        assert client.get(reverse(name)).status_code == 404
    page = client.get("/").content.decode()
    assert "Privacy notice" not in page
    assert "Imprint" not in page
    assert client.get("/api/v1/notices/").json() == []


def test_what_the_settings_say_is_shown_and_linked_from_every_page(client, settings):
    settings.PRIVACY_NOTICE = "We keep *little*.\n\n<script>alert(1)</script>"
    settings.IMPRINT = "## Who we are"
    page = client.get("/").content.decode()
    assert '<a href="/privacy/">Privacy notice</a>' in page
    assert '<a href="/imprint/">Imprint</a>' in page
    page = client.get("/privacy/").content.decode()
    assert "<h1>Privacy notice</h1>" in page
    assert "We keep <em>little</em>." in page
    assert "<script>alert" not in page
    assert "Who we are" in client.get("/imprint/").content.decode()
    assert [own["name"] for own in client.get("/api/v1/notices/").json()] == [
        "privacy",
        "imprint",
    ]


def test_one_may_be_there_without_the_other(client, settings):
    settings.IMPRINT = "Who we are."
    assert client.get("/privacy/").status_code == 404
    assert "Privacy notice" not in client.get("/imprint/").content.decode()


def read(path) -> str:
    return EnvironmentReader({"CITEBOARD_IMPRINT_FILE": str(path)}).read_markdown_file(
        "CITEBOARD_IMPRINT_FILE", "The imprint."
    )


def test_a_file_is_read_at_the_start(tmp_path):
    (tmp_path / "imprint.md").write_text("\ufeffWho we are: Ünal.\n", encoding="utf-8")
    assert read(tmp_path / "imprint.md") == "Who we are: Ünal.\n"
    assert (
        EnvironmentReader({}).read_markdown_file(
            "CITEBOARD_IMPRINT_FILE", "The imprint."
        )
        == ""
    )


@pytest.mark.parametrize(
    "wrong", ["missing.md", "folder", "latin.md", "empty.md", "large.md"]
)
def test_a_file_that_cannot_be_meant_stops_the_start_by_the_name_of_its_setting(
    tmp_path, wrong
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.md").write_bytes("Ünal".encode("latin-1"))
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "large.md").write_text("x" * 100_001)
    with pytest.raises(ImproperlyConfigured, match="CITEBOARD_IMPRINT_FILE"):
        read(tmp_path / wrong)


def test_a_relative_path_is_refused():
    with pytest.raises(ImproperlyConfigured, match="absolute path"):
        read("imprint.md")
