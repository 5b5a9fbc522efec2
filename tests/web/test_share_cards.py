"""The picture that others show of a link: what everybody may see, and no more."""

import re
import struct

import pytest
from django.urls import reverse

from citeboard.web.boards import files
from scoring.exchange.figure_files import convert_svg, list_image_formats
from scoring.figures.share_card import (
    ACCENT_COLOUR,
    BACKGROUND_COLOUR,
    CardRow,
    draw_share_card,
)
from tasks.models import Season
from tests.scoring import boards

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        "png" not in list_image_formats(),
        reason="the library that draws PNG is not here",
    ),
]


@pytest.fixture
def drawn(monkeypatch) -> list[str]:
    """What is converted to a picture, as SVG."""
    found: list[str] = []

    def convert(svg, form, scale):
        found.append(svg.decode())
        return b"picture"

    monkeypatch.setattr(files, "convert_svg", convert)
    return found


def card(client, phase, query=""):
    return client.get(boards.address("board-card", phase) + query)


def test_pictures_and_documents_are_set_in_the_letters_of_the_site():
    card = draw_share_card(
        "Title", "", "", [CardRow(rank="1", name="System", beside="")], ""
    )
    assert b"CiteboardSerif" in convert_svg(card.encode(), "pdf")


def test_a_card_breaks_its_verdict_into_lines_and_cuts_what_does_not_fit():
    rows = [CardRow(rank="1", name=f"System {place}", beside="") for place in range(9)]
    words = [f"word{place}" for place in range(200)]
    for count, is_cut in ((30, False), (200, True)):
        drawn = draw_share_card("Title", "", "", rows, "", " ".join(words[:count]))
        told = [text for text in re.findall(r">([^<>]+)<", drawn) if "word" in text]
        assert 1 < len(told) <= 3
        assert " ".join(told).endswith("…") == is_cut
        assert drawn.count("System ") == 4


def test_a_baseline_has_an_open_mark_and_italics_as_on_boards(client, drawn):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5, system="Ahead")
    boards.scored_run(phase, None, 0.25, system="Lead")
    card(client, phase)
    [svg] = drawn
    assert re.search(r'<text[^>]*font-style="italic"[^>]*>Lead<', svg)
    assert not re.search(r'<text[^>]*font-style="italic"[^>]*>Ahead<', svg)
    fills = re.findall(r'<circle[^>]*fill="([^"]+)"', svg)
    assert fills == [ACCENT_COLOUR, BACKGROUND_COLOUR]


def test_the_card_has_its_day_as_pages_write_it(client, drawn):
    card(client, boards.make_phase())
    assert re.search(r", \d{1,2} [A-Z][a-z]{2} \d{4}<", drawn[0])


def test_the_card_of_a_board_has_its_verdict(client, drawn):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5, system="Ahead")
    card(client, phase)
    assert (
        "Ahead is the only ranked system. The board ranks without a test." in drawn[0]
    )


def test_a_board_has_a_picture_of_the_size_that_is_shown(client):
    phase = boards.make_phase()
    boards.scored_run(
        phase, boards.make_team(phase, "Ada"), 0.5, system="<b>Ahead & on</b>"
    )
    answer = card(client, phase)
    assert answer["Content-Type"] == "image/png"
    assert struct.unpack(">II", answer.content[16:24]) == (1200, 630)


def test_pages_name_their_picture_with_what_it_is_of(client):
    phase = boards.make_phase()
    runs = [
        boards.scored_run(phase, boards.make_team(phase, name), 0.5)
        for name in ("Ada", "Bo")
    ]
    here = boards.address("board-card", phase)
    pages = {
        boards.address("board", phase): here,
        f"{boards.address('board', phase)}runs/{runs[0].pk}/": f"{here}?run={runs[0].pk}",
        f"{boards.address('compare', phase)}?a={runs[0].pk}&b={runs[1].pk}": (
            f"{here}?run={runs[0].pk}&amp;run={runs[1].pk}"
        ),
        reverse("season", args=[phase.task.season.slug]): reverse(
            "season-card", args=[phase.task.season.slug]
        ),
    }
    for page, picture in pages.items():
        found = re.search(
            r'og:image" content="https?://[^/]+(/[^"]+)"',
            client.get(page).content.decode(),
        )
        assert found is not None, page
        assert found[1] == picture


def test_a_picture_of_runs_has_these_alone(client, drawn):
    phase = boards.make_phase()
    runs = [
        boards.scored_run(phase, boards.make_team(phase, name), value, system=name)
        for name, value in (("First", 0.5), ("Second", 0.4), ("Third", 0.3))
    ]
    card(client, phase, f"?run={runs[0].pk}&run={runs[2].pk}")
    assert "First" in drawn[0]
    assert "Third" in drawn[0]
    assert "Second" not in drawn[0]


def test_hidden_numbers_and_boards_are_on_no_picture(client, drawn):
    ranks, hidden = (
        boards.make_phase(board="ranks"),
        boards.make_phase(board="organisers"),
    )
    for phase in (ranks, hidden):
        boards.scored_run(
            phase,
            boards.make_team(phase, f"Team {phase.pk}"),
            0.5,
            system="Secret system",
        )
        for address in (
            boards.address("board-card", phase),
            reverse("season-card", args=[phase.task.season.slug]),
        ):
            client.get(address)
    assert len(drawn) == 4
    assert not any("0.5000" in svg for svg in drawn)
    assert ["Secret system" in svg for svg in drawn] == [True, True, False, False]


def test_a_draft_season_has_no_picture(client):
    phase = boards.make_phase()
    Season.objects.update(is_public=False)
    assert card(client, phase).status_code == 404
    assert (
        client.get(reverse("season-card", args=[phase.task.season.slug])).status_code
        == 404
    )
