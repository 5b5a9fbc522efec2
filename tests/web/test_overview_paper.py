"""What an overview paper is written from: tables, charts, teams, facts, and who sees what of it."""

import csv
import datetime as dt
import io
import json
import re
import zipfile

import pytest
import yaml
from django.urls import reverse
from django.utils import timezone

from citeboard.core import storage
from citeboard.teams.models import Team, User
from scoring.exchange.figure_files import list_image_formats
from scoring.models import BackgroundJob, Comparison
from scoring.results.board.comparisons import save_comparisons
from scoring.results.board.leaders import StoredClassLeaders
from scoring.worker.background import delete_old_background_jobs
from tasks.models import Phase, Registration, Season, Submission
from tasks.models.seasons import increment_board_version
from tests import factories
from tests.background.background import work_off
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

OF_THE_SEASON = {
    "results.md", "participants.csv", "participants.tex", "systems.bib", "papers.yml", "openreview.json",
}  # fmt: skip


@pytest.fixture
def season() -> Season:
    return factories.make_season(
        title="CL-Summ 2031", organiser=factories.make_user(email="org@example.org")
    )


@pytest.fixture
def phase(season) -> Phase:
    """Bo before Ada, who are tied, and a baseline; two topics, of which one is hard."""
    phase = boards.make_phase(season, rules=("corrected",), title="Test")
    ada, bo = (
        factories.make_user(
            email=f"{name.split()[0].lower()}@example.org", name=name, **fields
        )
        for name, fields in (
            (
                "Ada L",
                {
                    "is_listed": True,
                    "affiliation": "Analytical Engines & Co",
                    "orcid": "",
                },
            ),
            ("Bo K", {}),
        )
    )
    runs = [
        boards.scored_run(
            phase, boards.make_team(phase, team, person), value, system=system
        )
        for team, person, value, system in (
            ("Team A", ada, 0.5, "alpha"),
            ("Team B", bo, 0.6, "beta_1"),
        )
    ]
    runs.append(boards.scored_run(phase, None, 0.3, system="Lead"))
    for run, (first, second) in zip(
        runs, ((0.2, 0.9), (0.3, 0.8), (0.1, 0.4)), strict=True
    ):
        boards.by_class(run, "topic", {"C90-2039": first, "E03-1020": second})
    return phase


def compared(phase: Phase, p: float) -> None:
    one, two = (
        run.evaluations.get()
        for run in phase.submissions.filter(team__isnull=False).order_by("pk")
    )
    facts = {
        "metric": "overlap_f1_micro",
        "test": "exact",
        "trials": 1024,
        "units": 10,
        "difference": 0.1,
    }
    save_comparisons([Comparison(first=one, second=two, p=p, **facts)])
    increment_board_version(phase.pk)


def zipped(client, season, query="") -> dict[str, bytes]:
    where = reverse("overview-paper-zip", args=[season.slug]) + query
    client.post(where)
    work_off()
    response = client.get(where)
    assert response.status_code == 200
    with zipfile.ZipFile(io.BytesIO(response.getvalue())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(client, season, name: str, query="") -> str:
    response = client.get(
        reverse("overview-paper-file", args=[season.slug, name]) + query
    )
    assert response.status_code == 200, name
    return response.content.decode()


def test_the_zip_has_all_that_the_page_links_to(client, season, phase):
    page = client.get(reverse("overview-paper", args=[season.slug])).content.decode()
    linked = set(
        re.findall(rf'href="/overview-paper/{season.slug}/files/([^"]+)"', page)
    )
    found = zipped(client, season)
    board = f"{phase.task.slug}-{phase.slug}-corrected"
    assert set(found) >= OF_THE_SEASON
    assert {f"boards/{board}.{form}" for form in ("csv", "json", "tex")} <= set(found)
    assert {
        f"classes/{board}.csv",
        f"classes/{board}.json",
        f"classes/{board}-topic.tex",
    } <= set(found)
    assert {f"figures/{board}.{form}" for form in list_image_formats()} <= set(found)
    assert set(found) <= linked
    assert {
        name for name in linked - set(found) if not name.endswith((".pdf", ".png"))
    } == set()
    beginnings = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG", "json": b"{"}
    for name, content in found.items():
        assert content.startswith(beginnings.get(name.rpartition(".")[2], b"")), name
        assert content


def test_the_facts_of_the_results_section(client, season, phase):
    found = written(client, season, "results.md")
    assert found.startswith("# Results of CL\\-Summ 2031\n")
    assert "2 teams take part." in found
    assert re.search(
        rf"^- {re.escape(str(phase.task))}, Test: .+ runs of 2 teams\.$",
        found,
        re.MULTILINE,
    )
    assert (
        "Of 2 ranked runs beta\\_1 of Team B with 0.6000 (0.5500 to 0.6500) has the best value."
        in found
    )
    assert "until all systems have been compared." in found
    assert (
        "The best baseline is Lead with 0.3000 (0.2500 to 0.3500); 2 ranked runs are better."
        in found
    )
    # No class is called easier than another: their intervals are not known.
    assert "easi" not in found
    compared(phase, 0.4)
    found = written(client, season, "results.md")
    assert "alpha could be tied for first place" in found
    compared(phase, 0.001)
    found = written(client, season, "results.md")
    assert "is first of 2 ranked systems. alpha is behind" in found


def report(client, season, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(written(client, season, f"report/{name}.csv"))))[
        1:
    ]


@pytest.mark.both_databases
def test_a_report_has_participation_days_declared_methods_and_ties(
    client, season, phase
):
    """As CSV, LaTeX and SVG, in the zip too."""
    at = dt.datetime(2026, 3, 4, 23, 30, tzinfo=dt.UTC)
    Submission.objects.filter(system="alpha").update(
        card={"model": "open"}, submitted_at=at
    )
    at -= dt.timedelta(days=1)
    Submission.objects.filter(system="beta_1").update(
        card={"model": "open"}, submitted_at=at
    )
    assert report(client, season, "affiliations") == [
        ["Analytical Engines & Co", "1", "1"],
        ["not said", "1", "0"],
    ]
    assert report(client, season, "days") == [
        ["2026-03-03", "1", "1", "1", "1"],
        ["2026-03-04", "1", "1", "2", "2"],
    ]
    board = [str(phase.task), "Test", "corrected"]
    assert report(client, season, "methods") == [
        [*board, "Model", "open", "2", "0.6000", "0.5500"]
    ]
    ties = reverse("overview-paper-file", args=[season.slug, "report/ties.csv"])
    assert client.get(ties).status_code == 404
    compared(phase, 0.4)
    assert report(client, season, "ties") == [
        [*board, "beta_1", "Team B", "1–2", "0", "1", "0"],
        [*board, "alpha", "Team A", "1–2", "0", "1", "0"],
    ]
    compared(phase, 0.001)
    assert [line[6:] for line in report(client, season, "ties")] == [
        ["1", "0", "0"],
        ["0", "0", "1"],
    ]
    found = zipped(client, season)
    stem = f"{phase.task.slug}-{phase.slug}-corrected"
    for name in ("affiliations", "days", f"methods-{stem}", f"ties-{stem}"):
        assert found[f"figures/report-{name}.svg"].startswith(b"<svg")
    assert rb"Analytical Engines \& Co & 1 & 1 \\" in found["report/affiliations.tex"]
    assert rb"\begin{tabular}{llllllrrr}" in found["report/ties.tex"]


def test_countries_are_counted_for_who_runs_the_season_alone(client, season, phase):
    User.objects.filter(name="Ada L").update(country="GB")
    where = reverse("overview-paper-file", args=[season.slug, "report/countries.csv"])
    assert client.get(where).status_code == 404
    client.force_login(User.objects.get(email="org@example.org"))
    assert report(client, season, "countries") == [
        ["GB", "1", "1"],
        ["not said", "1", "0"],
    ]
    assert client.get(where + "?as=everybody").status_code == 404


@pytest.mark.both_databases
def test_days_are_of_phases_whose_numbers_of_runs_are_shown(client, season, phase):
    Phase.objects.update(shows_run_counts=False)
    where = reverse("overview-paper-file", args=[season.slug, "report/days.csv"])
    assert client.get(where).status_code == 404
    client.force_login(User.objects.get(email="org@example.org"))
    assert client.get(where).status_code == 200
    assert client.get(where + "?as=everybody").status_code == 404


def test_people_are_named_who_agreed_to_it_and_nobody_else(client, season, phase):
    client.force_login(User.objects.get(email="org@example.org"))
    lines = list(
        csv.DictReader(io.StringIO(written(client, season, "participants.csv")))
    )
    assert [(line["team"], line["name"], line["members"]) for line in lines] == [
        ("team-a", "Ada L", "1"),
        ("team-b", "", "1"),
    ]
    assert lines[0]["affiliation"] == "Analytical Engines & Co"
    tex = written(client, season, "participants.tex")
    assert r"Team A & Ada L & Analytical Engines \& Co \\" in tex
    assert r"Team B & 1 member &  \\" in tex
    everything = b"".join(zipped(client, season).values())
    assert b"Bo K" not in everything
    assert b"bo@example.org" not in everything
    assert b"ada@example.org" not in everything


@pytest.mark.parametrize("name", ["[-9cm] Over", "*Star"])
def test_a_team_is_not_an_argument_of_the_line_before(client, season, phase, name):
    factories.make_team(season=season, name=name, slug="over")
    assert f"\n{{}}{name}" in written(client, season, "participants.tex")


def test_teams_that_wait_or_were_refused_are_no_participants(client, season, phase):
    Registration.objects.filter(team__slug="team-b").update(is_approved=False)
    assert "team-b" not in written(client, season, "participants.csv")
    Phase.objects.filter(pk=phase.pk).update(shows_teams=False)
    assert "team-a" not in written(client, season, "participants.csv")
    facts = written(client, season, "results.md")
    assert "1 team takes part." in facts
    assert "Team A" not in facts + written(client, season, "systems.bib")


def test_a_team_with_an_organiser_is_marked(client, season, phase):
    season.organisers.create(user=User.objects.get(email="ada@example.org"))
    lines = list(
        csv.DictReader(io.StringIO(written(client, season, "participants.csv")))
    )
    assert [line["has_organiser"] for line in lines] == ["yes", ""]
    assert "* with an organiser of the season" in written(
        client, season, "participants.tex"
    )


@pytest.mark.parametrize("board", ["ranks", "organisers"])
def test_a_hidden_board_is_there_for_who_runs_the_season_alone(
    client, season, phase, board
):
    Phase.objects.filter(pk=phase.pk).update(board=board)
    name = f"boards/{phase.task.slug}-{phase.slug}-corrected.csv"
    where = reverse("overview-paper-file", args=[season.slug, name])
    for person in (None, User.objects.get(email="ada@example.org")):
        if person:
            client.force_login(person)
        assert client.get(where).status_code == 404
        page = text_of(client.get(reverse("overview-paper", args=[season.slug])))
        assert "Tables and charts appear here once a board shows scores to you." in page
        assert b"0.6000" not in b"".join(zipped(client, season).values())
    client.force_login(User.objects.get(email="org@example.org"))
    assert client.get(where).status_code == 200
    assert client.get(where + "?as=everybody").status_code == 404
    page = text_of(client.get(reverse("overview-paper", args=[season.slug])))
    assert "Others do not see these numbers yet." in page
    assert (
        "No board shows its scores."
        in zipped(client, season, "?as=everybody")["results.md"].decode()
    )


def made(client, season, query="") -> BackgroundJob:
    answer = client.post(reverse("overview-paper-zip", args=[season.slug]) + query)
    return BackgroundJob.objects.get(pk=answer.url.split("/")[2])


@pytest.mark.both_databases
def test_the_zip_is_made_once_for_what_the_season_shows(client, season, phase):
    job = made(client, season)
    assert made(client, season) == job
    work_off()
    assert made(client, season) == job
    page = text_of(client.get(reverse("overview-paper", args=[season.slug])))
    assert "Download the zip" in page
    assert "Create it again" not in page
    increment_board_version(phase.pk)
    page = text_of(client.get(reverse("overview-paper", args=[season.slug])))
    assert "the season shows something else since" in page
    assert "Create it again" in page
    assert made(client, season) != job


def test_without_a_zip_its_address_leads_to_where_one_is_made(client, season, phase):
    response = client.get(reverse("overview-paper-zip", args=[season.slug]))
    assert response.url == f"{reverse('overview-paper', args=[season.slug])}#zip"


def test_a_zip_is_given_out_no_more_once_its_board_is_hidden_or_somebody_wants_not_to_be_named(
    client, season, phase
):
    where = reverse("overview-paper-zip", args=[season.slug])
    assert b"Ada L" in zipped(client, season)["participants.csv"]
    User.objects.filter(email="ada@example.org").update(is_listed=False)
    assert client.get(where).status_code == 302
    assert b"Ada L" not in zipped(client, season)["participants.csv"]
    Phase.objects.filter(pk=phase.pk).update(board="organisers")
    assert client.get(where).status_code == 302


def test_what_an_organiser_has_made_is_for_nobody_else(client, season, phase):
    Phase.objects.filter(pk=phase.pk).update(board="organisers")
    client.force_login(User.objects.get(email="org@example.org"))
    job = made(client, season)
    work_off()
    assert client.get(f"/jobs/{job.pk}/").status_code == 200
    for person in ("ada@example.org", None):
        client.logout()
        if person:
            client.force_login(User.objects.get(email=person))
        assert client.get(f"/jobs/{job.pk}/").status_code == (404 if person else 302)
        assert client.get(f"/api/v1/jobs/{job.pk}/").status_code == 404
        assert (
            client.get(reverse("overview-paper-zip", args=[season.slug])).status_code
            == 302
        )


@pytest.mark.both_databases
def test_old_zips_go_with_their_files_and_so_do_those_that_newer_ones_replace(
    client, season, phase
):
    zipped(client, season)
    first = BackgroundJob.objects.get()
    increment_board_version(phase.pk)
    zipped(client, season)
    newer = BackgroundJob.objects.exclude(pk=first.pk).get()
    assert delete_old_background_jobs() == 0
    hence = timezone.now() + dt.timedelta(hours=2)
    assert delete_old_background_jobs(hence) == 1
    assert not storage.statistics_file_storage.exists(first.file)
    assert storage.statistics_file_storage.exists(newer.file)
    assert delete_old_background_jobs(timezone.now() + dt.timedelta(days=8)) == 1
    assert not BackgroundJob.objects.exists()
    assert not storage.statistics_file_storage.exists(newer.file)


def test_a_draft_season_and_an_unknown_file_are_not_there(client, season, phase):
    for name in ("nothing.csv", "boards/../results.md", "results.md/"):
        where = reverse("overview-paper-file", args=[season.slug, name])
        assert client.get(where).status_code == 404
    Season.objects.filter(pk=season.pk).update(is_public=False)
    for name in ("overview-paper", "overview-paper-zip"):
        assert client.get(reverse(name, args=[season.slug])).status_code == 404


def test_venues_are_told_of_the_paper_and_its_authors_are_the_organisers(
    client, season, phase
):
    organiser = User.objects.get(email="org@example.org")
    User.objects.filter(pk=organiser.pk).update(
        name="Grace Brewster Hopper",
        affiliation="Yale: of old",
        orcid="0000-0002-1825-0097",
    )
    Season.objects.filter(pk=season.pk).update(summary="Who cites what: #1.")
    [paper] = yaml.safe_load(written(client, season, "papers.yml"))
    assert {"id", "title", "abstract", "file"} < set(paper)
    assert paper["authors"] == [
        {
            "first_name": "Grace Brewster",
            "last_name": "Hopper",
            "institution": "Yale: of old",
            "orcid": "0000-0002-1825-0097",
        }
    ]
    note = json.loads(written(client, season, "openreview.json"))["content"]
    assert note["title"]["value"] == paper["title"] == "Overview of CL-Summ 2031"
    assert note["authors"]["value"] == ["Grace Brewster Hopper"]
    assert note["abstract"]["value"] == paper["abstract"] == "Who cites what: #1."


def test_a_season_without_tasks_has_its_teams_and_no_board(client):
    season = factories.make_season()
    found = zipped(client, season)
    assert set(found) == OF_THE_SEASON
    assert "0 teams" not in found["results.md"].decode()
    assert "No teams take part." in found["results.md"].decode()


def test_the_bibliography_has_every_system_once_and_keeps_nothing(
    client, season, phase
):
    found = written(client, season, "systems.bib")
    assert found.count("@misc{") == 4
    assert len(set(re.findall(r"@misc\{(.+),", found))) == 4
    assert not phase.snapshots.exists()


def test_programs_get_the_same(client, season, phase):
    base = f"/api/v1/seasons/{season.slug}/overview-paper/"
    names = [file["name"] for file in client.get(base).json()["files"]]
    assert names[0] == "results.md"
    one = client.get(base + "files/", {"name": "results.md"})
    assert one["Content-Type"].startswith("text/markdown")
    assert one.content.decode() == written(client, season, "results.md")
    assert client.get(base + "files/", {"name": "nothing"}).status_code == 404
    assert (
        "a POST to ../archive/ has it made"
        in client.get(base + "files/").json()["detail"]
    )
    asked = client.post(base + "archive/")
    assert (asked.status_code, asked["Location"]) == (202, asked.json()["url"])
    work_off()
    followed = client.get(asked["Location"]).json()
    assert (followed["state"], followed["detail"]) == ("done", "The zip is created.")
    assert client.get(base + "files/").getvalue()[:2] == b"PK"
    again = client.post(base + "archive/")
    assert (again.status_code, again.json()["id"]) == (200, followed["id"])


def test_a_table_has_the_columns_the_caption_and_the_marks_that_are_asked_for(
    client, phase
):
    compared(phase, 0.4)
    where = boards.address("board-tex", phase)
    told = client.get(
        where, {"column": "overlap_f1_micro", "caption": "50% of #1"}
    ).content.decode()
    assert r"\caption{50\% of \#1}" in told
    assert "Rank & System & Team & Overlap F1, micro \\\\" in told
    assert r"0.5000$^{\dagger}$ [0.4500, 0.5500]" in told
    plain = client.get(where, {"marks": "no", "intervals": "no"}).content.decode()
    assert "dagger" not in plain
    assert "[0.4500" not in plain
    refused = client.get(where, {"column": "rouge_9"})
    assert refused.status_code == 404
    assert "no column “rouge_9”; it has overlap_f1_micro" in text_of(refused)
    program = client.get(
        f"/api/v1/phases/{phase.pk}/exports/tex/", {"column": "rouge_9"}
    )
    assert program.status_code == 404


def test_a_class_table_has_its_best_in_bold_marks_and_italics(client, phase):
    where = boards.address("classes-tex", phase)
    told = client.get(where).content.decode()
    assert told.startswith("\\begin{table}\n")
    assert r"Topic & Support & beta\_1 & alpha & \textit{Lead} \\" in told
    assert r"C90-2039 & 5 & \textbf{0.3000} & 0.2000 & 0.1000 \\" in told
    assert r"\ast" not in told
    caption = client.get(
        where, {"caption": "Topics", "system": phase.submissions.get(system="alpha").pk}
    )
    assert r"\caption{Topics}" in caption.content.decode()
    assert "beta" not in caption.content.decode()


def test_the_best_of_a_class_is_marked_where_it_is_significantly_best(
    client, phase, monkeypatch
):
    beta = phase.submissions.get(system="beta_1").evaluations.get()
    found = StoredClassLeaders(is_known=True, significant={"C90-2039": beta.pk})
    monkeypatch.setattr(
        "citeboard.web.boards.files.load_class_leaders", lambda *_: found
    )
    told = client.get(boards.address("classes-tex", phase)).content.decode()
    assert r"C90-2039 & 5 & \textbf{0.3000}$^{\ast}$ & 0.2000" in told
    assert "significantly better than every other system" in told
    assert (
        r"\ast"
        not in client.get(
            boards.address("classes-tex", phase), {"marks": "no"}
        ).content.decode()
    )


def test_classes_as_json(client, phase):
    found = json.loads(client.get(boards.address("classes-json", phase)).content)
    [table] = found["tables"]
    assert (table["dimension"], table["metric"], table["higher_is_better"]) == (
        "topic", "overlap_f1_micro", True,
    )  # fmt: skip
    first = table["classes"][0]
    assert (first["class"], first["support"]) == ("C90-2039", 5)
    alpha = phase.submissions.get(system="alpha").pk
    assert {"submission": alpha, "value": 0.2, "low": None, "high": None} in first[
        "scores"
    ]


def test_names_that_markup_would_run_are_text(client, season, phase):
    phase.submissions.filter(system="alpha").update(
        system=r"[x](javascript:1) \input{y}"
    )
    Team.objects.filter(slug="team-b").update(name="=HYPERLINK(1)")
    compared(phase, 0.4)
    assert r"\[x\]\(javascript:1\) \\input\{y\} could be tied" in written(
        client, season, "results.md"
    )
    lines = list(
        csv.DictReader(io.StringIO(written(client, season, "participants.csv")))
    )
    assert "'=HYPERLINK(1)" in {line["team_name"] for line in lines}
    name = f"boards/{phase.task.slug}-{phase.slug}-corrected.tex"
    assert r"\textbackslash{}input\{y\}" in written(client, season, name)
