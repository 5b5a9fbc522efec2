"""What a venue asks of a season's overview paper: for the ACL Anthology, and for OpenReview."""

from citeboard.teams.models import User
from scoring.board.exports import json_text
from scoring.exchange.results import as_yaml
from tasks.models import Organiser, Season


def paper_title(season: Season) -> str:
    return f"Overview of {season}"


def authors_of(season: Season) -> list[User]:
    """The organisers, whom the season's page names too."""
    found = Organiser.objects.filter(season=season, role=Organiser.Role.ORGANISER).select_related("user")
    return [organiser.user for organiser in found.order_by("pk")]


def acl_papers(season: Season) -> str:
    """`papers.yml` of https://github.com/rycolab/aclpub2; the last word of a name is the last name."""
    authors = []
    for person in authors_of(season):
        first, _space, last = str(person).rpartition(" ")
        facts = {"institution": person.affiliation, "orcid": person.orcid}
        given = {name: value for name, value in facts.items() if value}
        authors.append({"first_name": first, "last_name": last, **given})
    paper = {"id": 1, "authors": authors, "file": f"{season.slug}.pdf", "title": paper_title(season)}
    return as_yaml([{**paper, "abstract": season.summary}])


def openreview_note(season: Season) -> str:
    """The content of a submission in API 2 of OpenReview, but for the authors' ids there."""
    content = {
        "title": paper_title(season),
        "authors": [str(person) for person in authors_of(season)],
        "keywords": ["shared task", "citation research", *map(str, season.tasks.all())],
        "abstract": season.summary,
    }
    return json_text({"content": {name: {"value": value} for name, value in content.items()}}) + "\n"
