"""An archive of another site, mounted: shown with its numbers, read-only, and only where it holds."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from scoring.exchange.mounted import list_mounted_archives
from tests.archive.archives import BOARD, SLUG, write_small_archive
from tests.archive.test_archive import archive, first, kept_archive, kept_phase, rewrite  # noqa: F401  (fixtures)

pytestmark = pytest.mark.django_db


def mount(folder, *more) -> str:
    out = io.StringIO()
    call_command("mount_archive", str(folder), *more, stdout=out)
    return out.getvalue()


def test_a_mounted_archive_shows_the_boards_and_hands_out_its_files(client, archive):  # noqa: F811
    told = mount(archive, "--as", "past-elsewhere")
    assert "numbers equal, 0 not checked; shown at /archives/past-elsewhere/" in told
    page = client.get("/archives/past-elsewhere/").content.decode()
    assert "A mounted archive" in page
    assert "numbers equal" in page
    board = first(archive, "boards/*.json")
    row = json.loads(board.read_text())["rows"][0]
    shown = client.get(
        f"/archives/past-elsewhere/boards/{board.stem}/"
    ).content.decode()
    assert row["system"] in shown
    assert f"{row['scores']['overlap_f1_micro']['value']:.4f}" in shown
    given = client.get(f"/archives/past-elsewhere/files/boards/{board.name}")
    assert b"".join(given.streaming_content) == board.read_bytes()
    assert given["Content-Disposition"].startswith("attachment")
    told = client.get("/api/v1/archives/").json()["results"][0]
    assert (told["slug"], len(told["boards"])) == (
        "past-elsewhere",
        len(list(archive.glob("boards/*.json"))),
    )
    assert "/archives/past-elsewhere/" in client.get("/sitemap.xml").content.decode()
    assert "/archives/past-elsewhere/" in client.get("/").content.decode()


def test_an_archive_in_which_a_digit_was_changed_is_not_mounted(archive):  # noqa: F811
    def change(evaluations):
        evaluations[0]["metrics"]["overlap_f1_micro"]["value"] += 1e-6

    rewrite(first(archive, "scores/*.json"), change)
    with pytest.raises(CommandError, match="not mounted: it does not hold: run"):
        mount(archive)
    assert list_mounted_archives() == []


def test_nothing_can_be_sent_to_a_mounted_archive_and_it_can_be_taken_away(
    client, tmp_path
):
    mount(write_small_archive(tmp_path / "archive"))
    for path in (
        f"/archives/{SLUG}/",
        f"/archives/{SLUG}/boards/{BOARD}/",
        f"/api/v1/archives/{SLUG}/",
    ):
        assert client.get(path).status_code == 200
        assert client.post(path).status_code == 405
    with pytest.raises(CommandError, match="mounted as “elsewhere-2020” already"):
        mount(tmp_path / "archive")
    call_command("mount_archive", "--unmount", SLUG, stdout=io.StringIO())
    assert client.get(f"/archives/{SLUG}/").status_code == 404


def test_what_others_wrote_is_text_on_our_pages_and_never_a_page_of_its_own(
    client, tmp_path
):
    mount(write_small_archive(tmp_path / "archive", system="<script>theirs()</script>"))
    shown = client.get(f"/archives/{SLUG}/boards/{BOARD}/").content.decode()
    assert "&lt;script&gt;theirs()" in shown
    assert "<script>theirs" not in shown
    page = client.get(f"/archives/{SLUG}/files/index.html")
    assert page["Content-Type"] == "application/octet-stream"
    assert page["Content-Disposition"].startswith("attachment")
    page.close()


@pytest.mark.parametrize(
    "name", ["../mount.json", "mount.json", "SHA256SUMS/../season.json", "runs/1.jsonl"]
)
def test_no_file_but_those_of_the_archive_is_handed_out(client, tmp_path, name):
    mount(write_small_archive(tmp_path / "archive"))
    assert client.get(f"/archives/{SLUG}/files/{name}").status_code == 404


def test_a_folder_that_is_no_archive_is_refused(tmp_path):
    with pytest.raises(CommandError, match="not mounted"):
        mount(tmp_path)
    with pytest.raises(CommandError, match="not mounted"):
        mount(write_small_archive(tmp_path / "archive"), "--as", "No Slug")
