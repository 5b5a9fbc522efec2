"""No name that somebody chose is markup: neither in figures, which Plotly reads as HTML, nor in LaTeX."""

import json
import re

import pytest
from django.urls import reverse

from scoring.figures import escape_html_in_texts
from scoring.results.board.exports import escape_latex
from tests import factories
from tests.scoring import boards

LINK = '<a href="https://evil.example.org">click</a>'
FIGURE = re.compile(
    r'<script id="[^"]+" type="application/json">(.*?)</script>', re.DOTALL
)


def texts(part):
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for value in part.values() if isinstance(part, dict) else part:
            yield from texts(value)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["differences", "pairings", "costs"])
def test_a_system_named_by_markup_is_a_text_in_every_figure(client, name):
    phase = factories.make_phase()
    for number in range(3):
        run = factories.make_submission(
            phase=phase, status="scored", system=f"{LINK} {number}"
        )
        boards.score(run, 0.5 + number / 10)
        boards.by_class(run, "facet", {"Method": 0.5, "Aim": 0.4})
        run.team_figures.create(phase=phase, name="wall_seconds", value=1.0 + number)
    page = client.get(
        reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])
    )
    figures = [json.loads(found) for found in FIGURE.findall(page.content.decode())]
    told = [text for figure in figures for text in texts(figure)]
    if name != "pairings":
        assert any("&lt;a href" in text for text in told)
    assert not [text for text in told if "<a" in text]


@pytest.mark.django_db
def test_a_teams_own_chart_takes_the_names_of_its_runs_as_texts(client):
    phase = factories.make_phase()
    lead = factories.make_user()
    team = factories.make_team(season=phase.task.season, lead=lead)
    for number in range(2):
        run = factories.make_submission(
            phase=phase, team=team, status="scored", system=f"{LINK} {number}"
        )
        boards.score(run, 0.5)
    client.force_login(lead)
    page = client.get(reverse("team", args=[team.slug])).content.decode()
    told = [text for found in FIGURE.findall(page) for text in texts(json.loads(found))]
    assert any("&lt;a href" in text for text in told)
    assert not [text for text in told if "<a" in text]


def test_every_text_of_a_figure_is_escaped():
    figure = {
        "data": [{"x": ("<b>", 1, None, True), "hovertext": "a & <extra></extra>"}]
    }
    assert escape_html_in_texts(figure) == {
        "data": [
            {
                "x": ["&lt;b&gt;", 1, None, True],
                "hovertext": "a &amp; &lt;extra&gt;&lt;/extra&gt;",
            }
        ]
    }


def test_no_template_sends_a_figure_past_this_door(root):
    found = [
        str(path)
        for path in (root / "templates").rglob("*.html")
        if "json_script" in path.read_text()
    ]
    assert found == []


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("100 % & more", r"100 \% \& more"),
        ("a\n\\end{tabular}", r"a \textbackslash{}end\{tabular\}"),
        ("<x|y>", r"\textless{}x\textbar{}y\textgreater{}"),
        ("$x^2_~#", r"\$x\textasciicircum{}2\_\textasciitilde{}\#"),
        ("a\u2028b\u202ec\x00", "a b c"),
    ],
)
def test_a_name_is_what_latex_prints(name, printed):
    assert escape_latex(name) == printed
