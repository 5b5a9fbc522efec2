"""What browsers and proxies may keep: nothing that one person sees and others do not."""

import pytest
from django.urls import reverse

from tasks.models import Phase, Season
from tests.access.scene import Scene, make_scene, mount_archive
from tests.access.table import ROUTES, address
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = pytest.mark.django_db
#: Pages that everybody sees alike, and that a signed-in browser may keep for as long as they stay the same.
PUBLIC = {
    "outside", "board-xlsx",
    "board", "differences", "costs", "gold-changes", "board-csv", "board-json", "board-tex",
    "over-time", "confidence", "board-paper",
    "board-bib", "board-every-eval-ever", "board-hugging-face", "board-ir-metadata", "board-papers-with-code",
    "classes-csv", "classes-json", "classes-tex", "api:leaderboard", "api:export",
}  # fmt: skip
#: What the public sees, whoever asks; a board that is hidden has none.
FOR_THE_PUBLIC = {
    "embed",
    "team-badge",
    "team-system-badge",
    "board-feed",
    "board-card",
    "season-card",
}


@pytest.fixture(scope="module")
def kept_scene(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_scene, django_db_blocker)


@pytest.fixture
def scene(db, kept_scene) -> Scene:
    mount_archive()
    return kept_scene()


def kept(client, scene, role: str, names) -> dict[str, str]:
    """By route the header of each answer with a page."""
    client.logout()
    client.force_login(scene.people[role])
    found = {}
    for name in names:
        response = client.get(address(name, scene))
        response.getvalue()
        if response.status_code == 200:
            found[name] = response.get("Cache-Control", "")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("role", ["member", "organiser"])
def test_only_public_boards_are_kept_for_somebody_who_has_signed_in(
    client, scene, role
):
    answers = kept(
        client, scene, role, [name for name in ROUTES if not name.startswith("admin:")]
    )
    assert len(answers) > 40
    may_keep = {
        name
        for name, header in answers.items()
        if "no-store" not in header or "private" not in header
    }
    assert may_keep <= PUBLIC | FOR_THE_PUBLIC


@pytest.mark.parametrize("hide", ["a hidden board", "a draft season"])
def test_nothing_of_what_is_hidden_from_others_is_kept(client, scene, hide):
    if hide == "a draft season":
        Season.objects.update(is_public=False)
    else:
        Phase.objects.update(board="organisers", version=2)
    answers = kept(client, scene, "organiser", PUBLIC)
    assert set(answers) == PUBLIC
    assert set(answers.values()) == {"private, no-store"}


def test_a_program_is_told_the_same(client, scene):
    _, secret = type(scene.token).objects.create_token(
        user=scene.people["member"], name="x"
    )
    answer = client.get(
        reverse("api:submissions"), headers={"Authorization": f"Token {secret}"}
    )
    assert answer["Cache-Control"] == "private, no-store"


def test_an_invitation_link_is_kept_nowhere_for_a_visitor_either(client, scene):
    header = client.get(address("join", scene))["Cache-Control"]
    assert {"private", "no-store"} <= set(header.split(", "))


def test_visitors_ask_whether_a_board_has_changed(client, scene):
    assert client.get(address("board", scene))["Cache-Control"] == "no-cache"
