"""Who gets which answer: a row for every address, and in it the answer to each role by each method."""

import pkgutil
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from django.urls import URLPattern, reverse

import citeboard.acts
from citeboard.acts.declared import UserAction
from citeboard.teams.membership import sign_mailed_invitation_secret
from tasks.delivery.notifications.reading import sign_unsubscribe_secret
from tasks.models.notifications import NotificationKind
from tests.access.scene import ROLES, Scene, routes
from tests.archive import archives

Answers = tuple[int, ...]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Row:
    """The status for each role, in the order of ROLES, by method."""

    GET: Answers
    POST: Answers
    PUT: Answers
    PATCH: Answers
    DELETE: Answers


# In the order of ROLES: visitor, reader (signed in, in no team), stranger (in another team of the season),
# removed (was in the team), member of the team, organiser of the season, organiser of another one, staff.
# A visitor is sent to sign in (302, in the API 401); what others own looks absent (404). A post is answered
# with 302 where it was done, and with 422 where the page names the fields that it lacks.
EVERYBODY = (200,) * 8
NOBODY = (404,) * 8
REFUSED = (405,) * 8
SIGNED_IN = (302, *(200,) * 7)
SIGN_IN_FIRST = (302, *(405,) * 7)
TOKEN_FIRST = (401, *(405,) * 7)
IN_THE_SEASON = (302, 403, 200, 403, 200, 403, 403, 403)
OWN = (302, 404, 404, 404, 200, 404, 404, 404)
OWN_OR_ORGANISED = (302, 404, 404, 404, 200, 200, 404, 200)
#: The same where nobody is sent to sign in, since others may read it in other phases.
OWN_OR_ORGANISED_IN_SECRET = (404, *OWN_OR_ORGANISED[1:])
DONE_FOR_OWN = (302, 404, 404, 404, 302, 404, 404, 404)
DONE_FOR_OWN_OR_ORGANISED = (302, 404, 404, 404, 302, 302, 404, 302)
ORGANISED = (302, 404, 404, 404, 404, 200, 404, 200)
DONE_FOR_ORGANISERS = (302, 404, 404, 404, 404, 302, 404, 302)
LACKING_FOR_ORGANISERS = (302, 404, 404, 404, 404, 422, 404, 422)
OF_STAFF = (302, *(404,) * 6, 200)
ANNOTATED = (302, 200, *(404,) * 6)
DONE_FOR_ANNOTATORS = (302, 302, *(404,) * 6)
SIGNED_OUT = (200, *(302,) * 7)
SENT_ELSEWHERE = (302,) * 8


def read(answers: Answers, others: Answers = REFUSED) -> Row:
    """A page that is read, and refuses whatever else."""
    return Row(answers, others, others, others, others)


def read_signed_in(answers: Answers) -> Row:
    """A page of somebody's own: who has not signed in is asked to, whatever the method."""
    return read(answers, SIGN_IN_FIRST)


def form(answers: Answers, posted: Answers, others: Answers = SIGN_IN_FIRST) -> Row:
    return Row(answers, posted, others, others, others)


def post(answers: Answers, others: Answers = REFUSED) -> Row:
    return Row(others, answers, others, others, others)


def allauth(answers: Answers, posted: Answers, others: Answers = REFUSED) -> Row:
    """Its forms take a PUT as a POST."""
    return Row(answers, posted, posted, others, others)


TABLE = {
    "health-live": read(EVERYBODY),
    "health-ready": read(EVERYBODY),
    # For programs; whom it answers is in tests/ops/test_metrics.py.
    "metrics": read(NOBODY),
    # Reading
    "home": read(EVERYBODY),
    "about": read(EVERYBODY),
    "receipt-log": read(EVERYBODY),
    # The site of the scene has none; where one has, tests/core/test_notices.py.
    "language": read(SENT_ELSEWHERE),
    "privacy": read(NOBODY),
    "imprint": read(NOBODY),
    "client": read(EVERYBODY),
    "guides": read(EVERYBODY),
    "client-file": read(EVERYBODY),
    "guide": read(EVERYBODY),
    "archives": read(EVERYBODY),
    "archive": read(EVERYBODY),
    "archive-board": read(EVERYBODY),
    "archive-file": read(EVERYBODY),
    "season": read(EVERYBODY),
    "task": read(EVERYBODY),
    "inputs": read(EVERYBODY),
    "announcements": read(EVERYBODY),
    "questions": form(EVERYBODY, (302, *(422,) * 7), REFUSED),
    "report": form(SIGNED_IN, (302, *(422,) * 7)),
    "season-feed": read(EVERYBODY),
    "season-calendar": read(EVERYBODY),
    "board-feed": read(EVERYBODY),
    "terms": form(EVERYBODY, (302, *(422,) * 7), REFUSED),
    "board": read(EVERYBODY),
    "board-csv": read(EVERYBODY),
    "board-json": read(EVERYBODY),
    "board-tex": read(EVERYBODY),
    "board-xlsx": read(EVERYBODY),
    "board-bib": read(EVERYBODY),
    "board-every-eval-ever": read(EVERYBODY),
    "board-hugging-face": read(EVERYBODY),
    "board-ir-metadata": read(EVERYBODY),
    "board-papers-with-code": read(EVERYBODY),
    "team-badge": read(EVERYBODY),
    "team-system-badge": read(EVERYBODY),
    "team-results": read(EVERYBODY),
    "team-feed": read(EVERYBODY),
    "team-system": read(EVERYBODY),
    "team-system-feed": read(EVERYBODY),
    "team-describe": post(DONE_FOR_OWN),
    # The board is kept, and the answer leads there.
    "cite": read(SENT_ELSEWHERE),
    "snapshot": read(EVERYBODY),
    "snapshot-json": read(EVERYBODY),
    "snapshot-bib": read(EVERYBODY),
    # The phase of the scene gives out no gold; where one does, tests/exchange/test_recompute.py.
    "gold": read(NOBODY),
    # The same of labels, in tests/exchange/test_open_labels.py.
    "labels": read(NOBODY),
    "standing-run": read(NOBODY),
    "croissant": read(EVERYBODY),
    # The scene's task finds spans in papers: tests/exchange/test_data_files.py has those that are given out.
    "data-trec": read(NOBODY),
    "data-hugging-face": read(NOBODY),
    # Its type has no data sets: tests/web/test_data_sets.py has one that does.
    "data-sets": read(NOBODY),
    # Its instances are of the sample that ships with the code.
    "try": form(EVERYBODY, EVERYBODY, others=REFUSED),
    "embed": read(EVERYBODY),
    "robots": read(EVERYBODY),
    "sitemap": read(EVERYBODY),
    "season-bib": read(EVERYBODY),
    "task-bib": read(EVERYBODY),
    "standing-bib": read(EVERYBODY),
    "paper-bib": read(EVERYBODY),
    "classes-csv": read(EVERYBODY),
    "classes-json": read(EVERYBODY),
    "classes-tex": read(EVERYBODY),
    "overview-paper": read(EVERYBODY),
    # A zip has to be made first; where it is, tests/web/test_overview_paper.py.
    "overview-paper-zip": form(SENT_ELSEWHERE, SENT_ELSEWHERE, REFUSED),
    "background-job": read(ORGANISED),
    "background-job-status": read(ORGANISED),
    "overview-paper-file": read(EVERYBODY),
    # The scene's season has none; where one has, tests/web/test_overall.py.
    "overall": read(NOBODY),
    "overall-csv": read(NOBODY),
    "overall-json": read(NOBODY),
    "overall-tex": read(NOBODY),
    "compare": read(EVERYBODY),
    # Who may see two answers: tests/web/test_compare_instances.py. The scene has no two runs to compare.
    "compare-instances": read(NOBODY),
    "instances": read((404, *ORGANISED[1:])),
    "compare-several": read(EVERYBODY),
    "differences": read(EVERYBODY),
    "costs": read(EVERYBODY),
    "confidence": read(EVERYBODY),
    "over-time": read(EVERYBODY),
    "board-card": read(EVERYBODY),
    "season-card": read(EVERYBODY),
    "outside": read(EVERYBODY),
    "board-paper": read(EVERYBODY),
    # The sheet of the scene is open; a published one's is in tests/web/test_human_evaluation.py.
    "human-data-sheet": read(NOBODY),
    # The scene has no board of battles; tests/web/test_battles.py has one.
    # The scene has no published estimates; tests/web/test_estimates.py has them.
    "estimates": read(NOBODY),
    "estimates-json": read(NOBODY),
    "estimates-csv": read(NOBODY),
    # The scene has one judge; tests/judges/test_views_by_judge.py has two.
    "judges": read(NOBODY),
    "board-judge": read(NOBODY),
    "battles": read(NOBODY),
    "battles-json": read(NOBODY),
    "battles-csv": read(NOBODY),
    "battles-jsonl": read(NOBODY),
    # The reader is the judge.
    "judge": form(ANNOTATED, (302, 422, *(404,) * 6)),
    "human-data-sheet-md": read(NOBODY),
    "human-data-sheet-json": read(NOBODY),
    # The scene draws no metrics against each other; tests/web/test_pairings.py does.
    "pairings": read((404,) * 8),
    "gold-changes": read(EVERYBODY),
    # The task of the scene counts no labels of sentences; where one does, tests/web/test_discourse_page.py.
    "discourse": read(NOBODY),
    # Nobody has rated the texts of the scene; where somebody has, tests/web/test_metrics_against_people.py.
    "people": read(NOBODY),
    "standing": read(EVERYBODY),
    "thresholds": read(EVERYBODY),
    # No run of the scene says what it was trained on.
    "transfer": read(NOBODY),
    "papers": read(EVERYBODY),
    "paper": read(EVERYBODY),
    "published": read(EVERYBODY),
    "published-csv": read(EVERYBODY),
    "published-json": read(EVERYBODY),
    "reproduced": read(EVERYBODY),
    # Rating texts: the reader is the annotator
    "messages": read_signed_in(SIGNED_IN),
    "messages-read": post(SENT_ELSEWHERE),
    "message-choices": form(SIGNED_IN, SENT_ELSEWHERE),
    # The link is what allows it; who has it need not sign in.
    "unsubscribe": form(EVERYBODY, EVERYBODY, REFUSED),
    "annotations": read_signed_in(SIGNED_IN),
    "annotate": form(ANNOTATED, DONE_FOR_ANNOTATORS),
    "annotate-csv": read_signed_in(ANNOTATED),
    "annotate-upload": post(DONE_FOR_ANNOTATORS),
    # Taking part
    "teams": form(SIGNED_IN, (302, *(422,) * 7)),
    "enter": post(DONE_FOR_OWN),
    "team": read_signed_in(OWN),
    "own-runs": read_signed_in(SIGNED_IN),
    "upload": form(IN_THE_SEASON, (302, 403, 422, 403, 422, 403, 403, 403)),
    "season-upload": form(IN_THE_SEASON, (302, 403, 422, 403, 422, 403, 403, 403)),
    "bundle": read_signed_in(OWN_OR_ORGANISED),
    "submission": read_signed_in(OWN_OR_ORGANISED),
    "submission-status": read_signed_in(OWN_OR_ORGANISED),
    "submission-run": read_signed_in(OWN_OR_ORGANISED),
    "submission-cancel": post(DONE_FOR_OWN_OR_ORGANISED),
    "submission-withdraw": post(DONE_FOR_OWN_OR_ORGANISED),
    "submission-select": post(DONE_FOR_OWN_OR_ORGANISED),
    "submission-priority": post(DONE_FOR_OWN_OR_ORGANISED),
    "submission-seed": post(DONE_FOR_OWN_OR_ORGANISED),
    "submission-accept": post(DONE_FOR_ORGANISERS),
    "submission-disqualify": post(DONE_FOR_ORGANISERS),
    "submission-hide": post(DONE_FOR_ORGANISERS),
    "submission-reinstate": post(DONE_FOR_ORGANISERS),
    "tokens": form(SIGNED_IN, (302, *(422,) * 7)),
    "token-revoke": post(DONE_FOR_OWN, SIGN_IN_FIRST),
    # Teams. Whoever has the link may join with it, unless they take part with another team.
    "join": form(EVERYBODY, (200, 302, 409, *(302,) * 5), REFUSED),
    "team-invitation-renew": post(DONE_FOR_OWN),
    "team-invitation-revoke": post(DONE_FOR_OWN),
    "join-decline": post(EVERYBODY),
    # The reader has asked to join.
    "join-take-back": post((302, 302, *(404,) * 6)),
    "ask-to-join": post((302, 302, 302, 302, 404, 302, 302, 302)),
    "team-request": post(DONE_FOR_OWN),
    "team-invite": post(DONE_FOR_OWN),
    "team-invite-withdraw": post(DONE_FOR_OWN),
    # What is posted names no season.
    "team-merge": post((302, *(404,) * 7)),
    "team-merge-answer": post(DONE_FOR_OWN),
    "organise-merge": post(DONE_FOR_ORGANISERS),
    "team-member-remove": post(DONE_FOR_OWN),
    "team-lead": post(DONE_FOR_OWN),
    "team-leave": post(DONE_FOR_OWN),
    "take-back": post(DONE_FOR_OWN),
    # Organising
    "organise": read_signed_in(ORGANISED),
    "organise-runs": read_signed_in(ORGANISED),
    "organise-acknowledge": post(DONE_FOR_ORGANISERS),
    "organise-acknowledge-back": post(DONE_FOR_ORGANISERS),
    "organise-progress": read_signed_in(ORGANISED),
    "organise-gold": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-power": read_signed_in(ORGANISED),
    "organise-suspects": read_signed_in(ORGANISED),
    "organise-secrecy": read_signed_in(ORGANISED),
    "organise-secrecy-json": read_signed_in(ORGANISED),
    "organise-gold-seal": post(DONE_FOR_ORGANISERS),
    "organise-gold-delete": post(DONE_FOR_ORGANISERS),
    "organise-baselines": read_signed_in(ORGANISED),
    "organise-baselines-compute": post(DONE_FOR_ORGANISERS),
    "organise-models": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-pairs": read_signed_in(ORGANISED),
    # The scene's task asks for no entailment labels, and its runs have no claims.
    "organise-labels": read_signed_in((302, *(404,) * 7)),
    "organise-labels-share": post((302, *(404,) * 7)),
    # The scene's season has no judgements.
    "organise-ledger": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-ledger-rows": read_signed_in((302, *(404,) * 7)),
    "organise-ledger-withdraw": post(DONE_FOR_ORGANISERS),
    "organise-judges": read_signed_in(ORGANISED),
    "organise-judges-agree": post(LACKING_FOR_ORGANISERS),
    "organise-judges-ask": post(DONE_FOR_ORGANISERS),
    "organise-judges-estimate": post(DONE_FOR_ORGANISERS),
    "organise-judges-leave-out": post(DONE_FOR_ORGANISERS),
    "organise-judges-dismiss": post(DONE_FOR_ORGANISERS),
    "submission-claims": read(NOBODY),
    "submission-instances": read(OWN_OR_ORGANISED_IN_SECRET),
    "submission-judgements": form((302, *(404,) * 7), (302, *(404,) * 7)),
    "submission-judgements-publish": post((302, *(404,) * 7)),
    "submission-judgements-take-back": post((302, *(404,) * 7)),
    "organise-rescore": post(DONE_FOR_ORGANISERS),
    "organise-rescore-stop": post(DONE_FOR_ORGANISERS),
    "organise-rescore-season": post(DONE_FOR_ORGANISERS),
    "submission-rescore": post(DONE_FOR_ORGANISERS),
    "organise-phases": read_signed_in(ORGANISED),
    "organise-times": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-open": post(DONE_FOR_ORGANISERS),
    "organise-close": post(DONE_FOR_ORGANISERS),
    "organise-teams": read_signed_in(ORGANISED),
    "organise-decide": post(DONE_FOR_ORGANISERS),
    "organise-entry": post(DONE_FOR_ORGANISERS),
    "organise-people": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-person-remove": post(DONE_FOR_ORGANISERS),
    "organise-team-rules": post(DONE_FOR_ORGANISERS),
    "organise-annotator-remove": post(DONE_FOR_ORGANISERS),
    "organise-terms": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-terms-csv": read_signed_in(ORGANISED),
    "organise-announcement": form(ORGANISED, DONE_FOR_ORGANISERS),
    "organise-mails": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-archive": form(ORGANISED, LACKING_FOR_ORGANISERS),
    # The scene has none; who gets one is in tests/archive/test_archive.py.
    "organise-archive-zip": read_signed_in((302, *(404,) * 7)),
    "organise-announcement-edit": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-announcement-take-back": post(DONE_FOR_ORGANISERS),
    "organise-questions": read_signed_in(ORGANISED),
    "organise-answer": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-webhooks": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-deliveries": read_signed_in(ORGANISED),
    "organise-webhook-renew": post(ORGANISED),
    "organise-webhook-remove": post(DONE_FOR_ORGANISERS),
    "organise-delivery-repeat": post(DONE_FOR_ORGANISERS),
    "organise-human": read_signed_in(ORGANISED),
    "organise-sheet-make": post(LACKING_FOR_ORGANISERS),
    "organise-sheet": read_signed_in(ORGANISED),
    "organise-sheet-annotator": post(LACKING_FOR_ORGANISERS),
    "organise-sheet-adjudication": post(DONE_FOR_ORGANISERS),
    "organise-data-sheet": form(ORGANISED, DONE_FOR_ORGANISERS),
    "organise-sheet-references": post(DONE_FOR_ORGANISERS),
    "organise-sheet-ratings": post(LACKING_FOR_ORGANISERS),
    "organise-sheet-publish": post(DONE_FOR_ORGANISERS),
    "organise-sheet-take-back": post(DONE_FOR_ORGANISERS),
    "organise-sheet-reopen": post(DONE_FOR_ORGANISERS),
    "organise-battles": read_signed_in(ORGANISED),
    "organise-pairs-make": post(LACKING_FOR_ORGANISERS),
    "organise-battles-bring": post(LACKING_FOR_ORGANISERS),
    "organise-pair-sheet": read_signed_in(ORGANISED),
    "organise-judge-add": post(LACKING_FOR_ORGANISERS),
    "organise-judge-remove": post(DONE_FOR_ORGANISERS),
    "organise-pair-sheet-rows": read_signed_in(ORGANISED),
    "organise-pairs-publish": post(DONE_FOR_ORGANISERS),
    "organise-pairs-take-back": post(DONE_FOR_ORGANISERS),
    "organise-pairs-reopen": post(DONE_FOR_ORGANISERS),
    "organise-estimates": read_signed_in(ORGANISED),
    "organise-estimates-make": post(LACKING_FOR_ORGANISERS),
    "organise-disagreements-make": post(LACKING_FOR_ORGANISERS),
    "organise-estimates-rows": read_signed_in(ORGANISED),
    "organise-estimates-labels": post(LACKING_FOR_ORGANISERS),
    "organise-estimates-publish": post(DONE_FOR_ORGANISERS),
    "organise-estimates-take-back": post(DONE_FOR_ORGANISERS),
    "organise-file": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-toml": read_signed_in(ORGANISED),
    "organise-zip": read_signed_in(ORGANISED),
    "organise-zip-gold": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-launch": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-launch-baselines": post(DONE_FOR_ORGANISERS),
    "organise-launch-mail": post(DONE_FOR_ORGANISERS),
    "organise-launch-open": post(DONE_FOR_ORGANISERS),
    "organise-calendar": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-clone": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-settings": read_signed_in(ORGANISED),
    "organise-settings-season": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-settings-task": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-settings-phase": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-settings-new-task": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-settings-declare": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-settings-declaration": form((302, *(404,) * 7), (302, *(404,) * 7)),
    "organise-settings-new-phase": form(ORGANISED, LACKING_FOR_ORGANISERS),
    # The scene's task and phase have runs, which stay; the page says so.
    "organise-settings-delete-task": post(DONE_FOR_ORGANISERS),
    # What is posted does not name the season.
    "organise-delete": post(DONE_FOR_ORGANISERS),
    "organise-settings-delete-phase": post(DONE_FOR_ORGANISERS),
    # The scene has organisers.
    "first-organiser": form(NOBODY, NOBODY, REFUSED),
    "new-season-preset": form((302, *(404,) * 6, 200), (302, *(404,) * 6, 422)),
    "new-season": form((302, *(404,) * 6, 200), (302, *(404,) * 6, 422)),
    # Whoever entered the scene's history did nothing that can be taken back.
    "organise-undo": post((302, 404, 404, 404, 404, 302, 404, 302)),
    "organise-history": read_signed_in(ORGANISED),
    # Operating
    "operate": read_signed_in(OF_STAFF),
    "operate-reports": read_signed_in(OF_STAFF),
    "operate-report-close": post((302, *(404,) * 6, 302)),
    "operate-claims": read_signed_in(OF_STAFF),
    "operate-claim-decide": post((302, *(404,) * 6, 302)),
    "operate-measures": read_signed_in(OF_STAFF),
    "operate-measures-decide": post((302, *(404,) * 6, 302)),
    "operate-mails": post((302, *(404,) * 6, 302)),
    # The API
    "api:seasons": read(EVERYBODY),
    "api:season": read(EVERYBODY),
    # Those of the scene have runs, which stay.
    **dict.fromkeys(
        ("api:task", "api:phase"),
        Row(
            EVERYBODY,
            REFUSED,
            REFUSED,
            REFUSED,
            (401, 404, 404, 404, 404, 409, 404, 409),
        ),
    ),
    "api:leaderboard": read(EVERYBODY),
    "api:published": read(EVERYBODY),
    "api:instances": read(NOBODY),
    "api:overall": read(NOBODY),
    "api:several": read(EVERYBODY),
    "api:overview-paper": read(EVERYBODY),
    "api:overview-paper-files": read((409,) * 8),
    "api:overview-paper-archive": post((202,) * 8),
    "api:background-job": read((404, 404, 404, 404, 404, 200, 404, 200)),
    "api:sheets": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:add-annotator": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:remove-annotator": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 404, 204, 404, 204),
    ),
    "api:change-adjudication": post(
        (401, 404, 404, 404, 404, 204, 404, 204), TOKEN_FIRST
    ),
    # The texts of the scene's task are not judged against a gold text.
    "api:show-references": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:answer-data-sheet": post(
        (401, 404, 404, 404, 404, 204, 404, 204), TOKEN_FIRST
    ),
    "api:bring-ratings": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:battles": form(NOBODY, (401, 404, 404, 404, 404, 400, 404, 400), REFUSED),
    "api:battle-rows": read(NOBODY),
    "api:estimates": read(NOBODY),
    "api:judges": read(NOBODY),
    "api:disagreements": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:estimate-sheets": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:estimate-sheet-rows": read(
        (401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST
    ),
    "api:bring-labels": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:publish-estimates": post(
        (401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST
    ),
    "api:take-estimates-back": post(
        (401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST
    ),
    "api:pair-sheets": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:pair-sheet-rows": read((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:add-judge": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:remove-judge": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 404, 204, 404, 204),
    ),
    "api:publish-pairs": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:take-pairs-back": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:reopen-pairs": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    # The reader is the judge.
    "api:judge": Row(
        (401, 200, *(404,) * 6),
        (401, 400, *(404,) * 6),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    # The reader is the annotator.
    "api:rate": Row(
        (401, 200, *(404,) * 6),
        (401, 400, *(404,) * 6),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:phase-judge": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:ask-judge": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:estimate-judge": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:leave-pairs-out": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:dismiss-judge": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:ledger": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:withdraw-import": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:labels": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:share-labels": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:judgements": post((401, *(404,) * 7), TOKEN_FIRST),
    "api:schema": read(EVERYBODY),
    "api:site-claims": read((401, *(404,) * 6, 200), TOKEN_FIRST),
    "api:decide-claim": Row(
        TOKEN_FIRST, (401, *(404,) * 6, 200), TOKEN_FIRST, TOKEN_FIRST, TOKEN_FIRST
    ),
    "api:site-measures": read((401, *(404,) * 6, 200), TOKEN_FIRST),
    "api:decide-measures": Row(
        TOKEN_FIRST, (401, *(404,) * 6, 200), TOKEN_FIRST, TOKEN_FIRST, TOKEN_FIRST
    ),
    "api:site": read((401, *(404,) * 6, 200), TOKEN_FIRST),
    "api:root": read(EVERYBODY),
    "api:version-1": read(EVERYBODY),
    "api:archives": read(EVERYBODY),
    "api:receipt-log": read(EVERYBODY),
    "api:log-entries": read(EVERYBODY),
    # Which entry, of how many, is not said.
    "api:log-inclusion": read((400,) * 8),
    "api:log-consistency": read((400,) * 8),
    # Whom receipts open what is in them: tests/scoring/test_receipts.py.
    "api:receipts": read(EVERYBODY),
    "api:archive": read(EVERYBODY),
    "api:teams": Row(
        (401, *(200,) * 7), (401, *(400,) * 7), TOKEN_FIRST, TOKEN_FIRST, TOKEN_FIRST
    ),
    "api:team": read((401, 404, 404, 404, 200, 404, 404, 404), TOKEN_FIRST),
    "api:team-description": post((401, 404, 404, 404, 200, 404, 404, 404), TOKEN_FIRST),
    "api:team-results": read(EVERYBODY),
    "api:team-system": read(EVERYBODY),
    "api:invitation": Row(
        TOKEN_FIRST,
        (401, 404, 404, 404, 201, 404, 404, 404),
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 204, 404, 404, 404),
    ),
    "api:member": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 204, 404, 404, 404),
    ),
    "api:lead": post((401, 404, 404, 404, 200, 404, 404, 404), TOKEN_FIRST),
    # Whoever leads others hands the lead over first.
    "api:leave": post((401, 404, 404, 404, 409, 404, 404, 404), TOKEN_FIRST),
    "api:invitations": Row(
        (401, 404, 404, 404, 200, 404, 404, 404),
        (401, 404, 404, 404, 400, 404, 404, 404),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:invited": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 204, 404, 404, 404),
    ),
    "api:join-decline": post((401, *(400,) * 7), TOKEN_FIRST),
    "api:join-requests": read((401, 404, 404, 404, 200, 404, 404, 404), TOKEN_FIRST),
    "api:join-request": post((401, 404, 404, 404, 400, 404, 404, 404), TOKEN_FIRST),
    "api:ask-to-join": post((401, 201, 409, 201, 404, 201, 201, 201), TOKEN_FIRST),
    "api:own-join-requests": read((401, *(200,) * 7), TOKEN_FIRST),
    "api:own-join-request": Row(
        TOKEN_FIRST, TOKEN_FIRST, TOKEN_FIRST, TOKEN_FIRST, (401, 204, *(404,) * 6)
    ),
    "api:merges": Row(
        (401, 404, 404, 404, 200, 404, 404, 404),
        (401, 404, 404, 404, 400, 404, 404, 404),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:merge": post((401, 404, 404, 404, 400, 404, 404, 404), TOKEN_FIRST),
    "api:season-merge": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:notices": read(EVERYBODY),
    "api:join": post((401, *(400,) * 7), TOKEN_FIRST),
    "api:registrations": Row(
        (401, *(200,) * 7),
        (401, 404, 404, 404, 200, 404, 404, 404),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:registration": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 409, 404, 404, 404),
    ),
    "api:decide": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    # The scene's season has none; where one has, tests/web/test_terms.py.
    "api:terms": form(NOBODY, (401, *(400,) * 7), REFUSED),
    "api:account": Row(
        (401, *(200,) * 7), (401, *(200,) * 7), TOKEN_FIRST, TOKEN_FIRST, TOKEN_FIRST
    ),
    "api:messages": read((401, *(200,) * 7), TOKEN_FIRST),
    "api:messages-read": post((401, *(200,) * 7), TOKEN_FIRST),
    "api:message-choices": Row(
        (401, *(200,) * 7), (401, *(400,) * 7), TOKEN_FIRST, TOKEN_FIRST, TOKEN_FIRST
    ),
    "api:account-data": read((401, *(200,) * 7), TOKEN_FIRST),
    "api:people": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:acceptances": read((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:announcement": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:mails": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:announcements": read(EVERYBODY),
    "api:one-announcement": Row(
        TOKEN_FIRST,
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 404, 204, 404, 204),
    ),
    "api:questions": form(EVERYBODY, (401, *(400,) * 7), REFUSED),
    "api:answer": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:reports": Row(
        (401, *(404,) * 6, 200),
        (401, *(400,) * 7),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:webhooks": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:webhook": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 404, 204, 404, 204),
    ),
    "api:webhook-secret": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:deliveries": read((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:delivery-repeat": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:season-file": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:history": read((401, *(200,) * 7), TOKEN_FIRST),
    "api:undo": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:make-archive": post((401, 404, 404, 404, 404, 202, 404, 202), TOKEN_FIRST),
    # The scene has none; who gets one is in tests/archive/test_archive.py.
    "api:archive-zip": read((401, *(404,) * 7), TOKEN_FIRST),
    "api:send-mails-again": post((401, *(404,) * 6, 200), TOKEN_FIRST),
    "api:clone": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:new-season": post((401, *(404,) * 6, 400), TOKEN_FIRST),
    "api:new-season-preset": post((401, *(404,) * 6, 400), TOKEN_FIRST),
    "api:settings": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:settings-row": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 404, 409, 404, 409),
    ),
    "api:gold": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:declare-task": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    # The scene's task is a built-in type.
    "api:declaration": Row(
        (401, *(404,) * 7), (401, *(404,) * 7), TOKEN_FIRST, TOKEN_FIRST, TOKEN_FIRST
    ),
    "api:seal-gold": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:delete-gold": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:rescoring": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 200, 404, 200),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:stop-rescoring": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:compute-first-baselines": post(
        (401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST
    ),
    "api:send-test-mail": post((401, 404, 404, 404, 404, 204, 404, 204), TOKEN_FIRST),
    "api:rescore-season": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:rescore-run": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:compute-baselines": post(
        (401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST
    ),
    "api:publish-terms": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:publish-sheet": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:take-sheet-back": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:reopen-sheet": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:publish-judgements": post((401, *(404,) * 7), TOKEN_FIRST),
    "api:take-judgements-back": post((401, *(404,) * 7), TOKEN_FIRST),
    "api:close-report": post((401, *(404,) * 6, 204), TOKEN_FIRST),
    "api:times": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:export": read(EVERYBODY),
    "api:open": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:close": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:select": post((401, 404, 404, 404, 409, 400, 404, 400), TOKEN_FIRST),
    "api:priority": post((401, 404, 404, 404, 400, 400, 404, 400), TOKEN_FIRST),
    "api:seed": post((401, 404, 404, 404, 200, 400, 404, 400), TOKEN_FIRST),
    "organise-outside": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-old-runs": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "api:old-runs": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "organise-bundle": read_signed_in(ORGANISED),
    "new-season-bundle": form((302, *(404,) * 6, 200), (302, *(404,) * 6, 422)),
    "api:new-season-bundle": post((401, *(404,) * 6, 400), TOKEN_FIRST),
    "api:outside": form(EVERYBODY, (401, 404, 404, 404, 404, 400, 404, 400), REFUSED),
    "organise-errata": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "api:errata": form(EVERYBODY, (401, 404, 404, 404, 404, 400, 404, 400), REFUSED),
    "organise-runs-csv": read_signed_in(ORGANISED),
    "organise-counting-zip": read_signed_in(ORGANISED),
    "api:failures": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:failure": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 404, 204, 404, 204),
    ),
    "api:progress": read((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:season-runs": read((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:counting-runs": read((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "submission-describe": post(DONE_FOR_OWN),
    "submission-delete-file": post(DONE_FOR_OWN),
    "api:description": post((401, 404, 404, 404, 200, 403, 404, 403), TOKEN_FIRST),
    # The scene's run has no scores; tests/web/test_changes.py has two scored runs.
    "api:run-changes": read((401, *(404,) * 7), TOKEN_FIRST),
    "api:run-history": read((401, 404, 404, 404, 200, 200, 404, 200), TOKEN_FIRST),
    "organise-board": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-reveal": post(DONE_FOR_ORGANISERS),
    "organise-freeze": form(ORGANISED, DONE_FOR_ORGANISERS),
    "organise-freeze-now": post(DONE_FOR_ORGANISERS),
    "organise-unfreeze": post(DONE_FOR_ORGANISERS),
    "organise-draw-again": post(DONE_FOR_ORGANISERS),
    "organise-confirmation": read(ORGANISED, SIGN_IN_FIRST),
    "organise-confirmation-end": post(DONE_FOR_ORGANISERS),
    "organise-confirmation-reopen": post(DONE_FOR_ORGANISERS),
    "submission-confirm": post((302, 404, 404, 404, 302, 404, 404, 404)),
    "submission-contest": post((302, 404, 404, 404, 302, 404, 404, 404)),
    "api:confirmation": read((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:end-confirmation": post((401, 404, 404, 404, 404, 400, 404, 400), TOKEN_FIRST),
    "api:reopen-confirmation": post(
        (401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST
    ),
    "api:confirm": post((401, 404, 404, 404, 409, 404, 404, 404), TOKEN_FIRST),
    "api:contest": post((401, 404, 404, 404, 400, 404, 404, 404), TOKEN_FIRST),
    "api:freeze": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:unfreeze": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:draw-again": post((401, 404, 404, 404, 404, 409, 404, 409), TOKEN_FIRST),
    "api:board": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "api:reveal": post((401, 404, 404, 404, 404, 200, 404, 200), TOKEN_FIRST),
    "organise-tries": form(ORGANISED, LACKING_FOR_ORGANISERS),
    "organise-tries-back": post(DONE_FOR_ORGANISERS),
    "api:disqualify": post((401, 404, 404, 404, 403, 400, 404, 400), TOKEN_FIRST),
    "api:hide": post((401, 404, 404, 404, 403, 400, 404, 400), TOKEN_FIRST),
    "api:reinstate": post((401, 404, 404, 404, 403, 400, 404, 400), TOKEN_FIRST),
    "api:extra-tries": Row(
        (401, 404, 404, 404, 404, 200, 404, 200),
        (401, 404, 404, 404, 404, 400, 404, 400),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
    ),
    "api:extra-tries-back": Row(
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 404, 204, 404, 204),
    ),
    "api:accept": post((401, 404, 404, 404, 403, 400, 404, 400), TOKEN_FIRST),
    "api:nowhere": read(NOBODY, NOBODY),
    "api:submit": post((401, *(400,) * 7), TOKEN_FIRST),
    "api:bundle": post((401, *(400,) * 7), TOKEN_FIRST),
    "api:check": post((401, *(400,) * 7), TOKEN_FIRST),
    "api:submissions": read((401, *(200,) * 7), TOKEN_FIRST),
    "api:submission": read((401, 404, 404, 404, 200, 200, 404, 200), TOKEN_FIRST),
    "api:run": Row(
        (401, 404, 404, 404, 200, 200, 404, 200),
        TOKEN_FIRST,
        TOKEN_FIRST,
        TOKEN_FIRST,
        (401, 404, 404, 404, 409, 403, 404, 403),
    ),
    "api:cancel": post((401, 404, 404, 404, 409, 400, 404, 400), TOKEN_FIRST),
    "api:withdraw": post((401, 404, 404, 404, 200, 400, 404, 400), TOKEN_FIRST),
    # One's account
    "account_login": allauth(SIGNED_OUT, SIGNED_OUT, (405, *(302,) * 7)),
    "account_signup": allauth(SIGNED_OUT, SIGNED_OUT, (405, *(302,) * 7)),
    "account_logout": form(SIGNED_IN, SENT_ELSEWHERE, REFUSED),
    "account-data": read_signed_in(SIGNED_IN),
    "account-delete": form(SIGNED_IN, (302, *(422,) * 7)),
    "account-name": form(SIGNED_IN, SENT_ELSEWHERE),
    "account_email": allauth(SIGNED_IN, SENT_ELSEWHERE, SIGN_IN_FIRST),
    "account_change_password": allauth(SIGNED_IN, SIGNED_IN, SIGN_IN_FIRST),
    "account_reauthenticate": allauth(SIGNED_IN, SIGNED_IN, SIGN_IN_FIRST),
    "account_set_password": read(SENT_ELSEWHERE, SENT_ELSEWHERE),
    "account_confirm_login_code": read(SENT_ELSEWHERE, SENT_ELSEWHERE),
    "account_inactive": read(EVERYBODY),
    "account_email_verification_sent": read(EVERYBODY),
    "account_confirm_email": form(EVERYBODY, NOBODY, REFUSED),
    "account_reset_password": allauth(EVERYBODY, EVERYBODY),
    "account_reset_password_done": read(EVERYBODY),
    "account_reset_password_from_key": read(EVERYBODY, EVERYBODY),
    "account_reset_password_from_key_done": read(EVERYBODY),
    # The second factor: nobody of the scene has one, and all have to give their password again first.
    "mfa_index": read_signed_in(SIGNED_IN),
    "mfa_authenticate": read(SENT_ELSEWHERE, SENT_ELSEWHERE),
    "mfa_reauthenticate": read(SENT_ELSEWHERE, SENT_ELSEWHERE),
    "mfa_activate_totp": read(SENT_ELSEWHERE, SENT_ELSEWHERE),
    "mfa_deactivate_totp": read((302, *(404,) * 7), (302, *(404,) * 7)),
    "mfa_view_recovery_codes": read_signed_in((302, *(404,) * 7)),
    "mfa_generate_recovery_codes": read(SENT_ELSEWHERE, SENT_ELSEWHERE),
    "mfa_download_recovery_codes": read((302, *(404,) * 7), (302, *(404,) * 7)),
    # Signing in through others: none are set up.
    "socialaccount_login_cancelled": read(EVERYBODY),
    "socialaccount_login_error": read((401,) * 8),
    "socialaccount_signup": read(SENT_ELSEWHERE, SENT_ELSEWHERE),
    "socialaccount_connections": allauth(SIGNED_IN, SIGNED_IN, SIGN_IN_FIRST),
    # Django's admin sends whoever is not staff to its sign-in, and that sends on to the site's own.
    "admin:login": read((302, *(403,) * 6, 302), (302, *(403,) * 6, 200)),
    "admin:*": read(SENT_ELSEWHERE, SENT_ELSEWHERE),
}


#: What somebody who adds an address has to do.
ADD_A_ROW = (
    "Add its row to TABLE in tests/access/table.py: each role's answer, by method."
)


def has_row(name: str) -> bool:
    return name in TABLE or name.startswith("admin:")


def row(name: str) -> Row:
    """Raise LookupError for an address without a row, and say where to add one."""
    if not has_row(name):
        raise LookupError(f"The address {name!r} has no row. {ADD_A_ROW}")
    return TABLE.get(name, TABLE["admin:*"])


def with_rows(addresses: dict[str, URLPattern]) -> dict[str, URLPattern]:
    """Leave out the addresses without a row, so that one test fails for each of them."""
    return {name: pattern for name, pattern in addresses.items() if has_row(name)}


#: What every walk goes through; `test_every_address_has_a_row` fails for the rest.
ROUTES = with_rows(routes())
PHASE_BY_NUMBER = (
    "organise-times", "organise-open", "organise-close", "organise-rescore", "organise-rescore-stop",
    "organise-baselines-compute", "organise-sheet-make", "organise-board", "organise-reveal",
    "organise-counting-zip", "organise-errata", "organise-outside", "organise-freeze",
    "organise-freeze-now", "organise-unfreeze", "organise-draw-again", "organise-confirmation",
    "organise-confirmation-end",
    "organise-confirmation-reopen",
    "organise-suspects", "organise-old-runs",
    "organise-judges-agree", "organise-judges-ask", "organise-judges-estimate", "organise-judges-dismiss",
    "organise-judges-leave-out",
    "organise-pairs-make", "organise-battles-bring", "organise-estimates-make",
    "organise-disagreements-make",
)  # fmt: skip
PHASE_IN_THE_API = (
    "open", "close", "times", "phase", "submit", "check", "leaderboard", "export", "extra-tries",
    "extra-tries-back", "instances", "several", "board", "reveal", "counting-runs", "errata",
    "outside", "sheets", "freeze", "unfreeze", "confirmation", "end-confirmation", "reopen-confirmation",
    "old-runs", "rescoring", "stop-rescoring", "compute-baselines", "draw-again",
    "rescoring", "stop-rescoring", "compute-baselines", "draw-again",
    "battles", "battle-rows", "pair-sheets", "phase-judge", "ask-judge", "estimate-judge", "dismiss-judge",
    "leave-pairs-out",
    "estimates", "estimate-sheets", "judges", "disagreements",
)  # fmt: skip
SHEET_IN_THE_API = (
    "publish-sheet", "take-sheet-back", "reopen-sheet", "add-annotator", "change-adjudication",
    "show-references", "answer-data-sheet", "bring-ratings",
)  # fmt: skip
PAIRS_IN_THE_API = (
    "pair-sheet-rows", "add-judge", "publish-pairs", "take-pairs-back", "reopen-pairs",
)  # fmt: skip
ESTIMATES_IN_THE_API = (
    "estimate-sheet-rows",
    "bring-labels",
    "publish-estimates",
    "take-estimates-back",
)
OF_A_JOB = ("background-job", "background-job-status", "api:background-job")
#: Their `slug` is that of a team.
OF_A_TEAM = (
    "team", "api:team", "api:invitation", "api:invited", "api:member", "api:lead", "api:leave",
    "api:join-request", "api:merge",
)  # fmt: skip
POSTED = {
    "api:decide-claim": {"decision": "release", "reason": "They agreed."},
    "operate-claim-decide": {"decision": "release", "reason": "They agreed."},
    "api:decide-measures": {"decision": "approve"},
    "operate-measures-decide": {"decision": "approve"},
    "api:decide": {"decision": "approve"},
    "organise-decide": {"decision": "approve"},
    "organise-entry": {"registration": "open"},
    "organise-merge": {"merge-team": "no-such-team"},
}
#: Operations that take the name of a team.
TEAM_IN_THE_API = (
    "api:ask-to-join",
    "api:registrations",
    "api:extra-tries",
    "api:submit",
    "api:bundle",
)
#: Every address but those of Django's admin, which are walked apart.
OUR_ROUTES = [name for name in ROUTES if not name.startswith("admin:")]


#: Where a helper of the season gets what its organiser gets; anywhere else it is what an organiser of another
#: season gets.
HELPED = (
    "organise", "organise-runs", "organise-runs-csv", "api:season-runs", "organise-teams", "organise-decide",
    "organise-questions", "organise-answer", "api:answer",
    "organise-acknowledge", "organise-acknowledge-back", "api:failures", "api:failure",
    "organise-announcement", "organise-announcement-edit", "organise-announcement-take-back",
    "api:one-announcement", "organise-history", "organise-progress", "api:progress", "api:decide",
    "api:announcement", "bundle", "submission", "submission-status",
    "submission-instances", "submission-run",
    "api:submission", "api:run", "api:run-history", "api:description",
)  # fmt: skip
#: Of runs that a helper sees, but only their teams and organisers change.
NOT_HELPED = (
    "api:accept", "api:cancel", "api:disqualify", "api:hide", "api:reinstate", "api:select", "api:withdraw",
    "api:priority", "api:seed",
)  # fmt: skip


def expected(name: str, method: str, role: str) -> int:
    if role == "helper" and name in NOT_HELPED and method == "POST":
        return 403
    if role == "helper":
        role = "organiser" if name in HELPED else "elsewhere"
    return getattr(row(name), method)[ROLES.index(role)]


def is_read(name: str) -> bool:
    """Whether the address answers a GET with something."""
    return 200 in row(name).GET


def address(name: str, scene: Scene, phase=None) -> str:
    """The address of the scene's own things, or of another phase of it."""
    pattern = ROUTES[name].pattern
    parts = list(pattern.converters) or list(getattr(pattern, "regex").groupindex)  # noqa: B009
    values = named(name, scene, phase or scene.phase)
    return reverse(name, kwargs={part: values[part] for part in parts})


def named(name: str, scene: Scene, phase=None) -> dict[str, object]:
    phase = phase or scene.phase
    task = phase.task
    number = {"token-revoke": scene.token.pk, "bundle": scene.bundle.pk}
    number |= dict.fromkeys(
        ("api:task", "api:published", "api:gold", "api:declaration"), task.pk
    )
    number |= dict.fromkeys(OF_A_JOB, scene.job.pk)
    number |= dict.fromkeys(("api:seal-gold", "api:delete-gold"), scene.values["gold"])
    number |= {f"api:{of_sheet}": scene.sheet.pk for of_sheet in SHEET_IN_THE_API}
    number |= {
        f"api:{of_pairs}": scene.values["pairs"] for of_pairs in PAIRS_IN_THE_API
    }
    number |= {
        f"api:{of_sheet}": scene.values["estimates"]
        for of_sheet in ESTIMATES_IN_THE_API
    }
    number |= dict.fromkeys(
        ("api:remove-annotator", "api:remove-judge"), scene.values["annotator"]
    )
    number |= {"api:close-report": scene.values["report"]}
    number |= {f"api:{of_phase}": phase.pk for of_phase in PHASE_IN_THE_API}
    slug = scene.team.slug if name.startswith(OF_A_TEAM) else task.season.slug
    own = {"phase": phase.pk if name in PHASE_BY_NUMBER else phase.slug}
    if name in ("archive-board", "archive-file"):
        own = {"file": "season.json", "board": archives.BOARD}
    if name in ("judge", "api:judge"):
        own = {"sheet": scene.values["pairs"]}
    if name == "overview-paper-file":
        own = {"rest": "results.md"}
    if name == "api:archive":
        own = {"slug": archives.SLUG}
    if name in ("paper", "paper-bib"):
        own = {"key": "own-2020"}
    if name == "join-decline":
        own = {
            "secret": sign_mailed_invitation_secret(scene.team.mailed_invitations.get())
        }
    if name == "unsubscribe":
        own = {
            "secret": sign_unsubscribe_secret(
                scene.people["member"], NotificationKind.ANNOUNCED
            )
        }
    if name.startswith("organise-settings"):
        own = {
            "task": task.pk,
            "phase": phase.pk,
            "number": task.pk if "task" in name else phase.pk,
        }
    return {
        **scene.values,
        "change": scene.last_entry,
        "code": "en",
        "team": scene.team.slug,
        "pk": number.get(name, scene.run.pk),
        "slug": slug,
        **own,
    }


#: Pages with a field `team` that are no declared acts.
TEAM_ON_PAGES = ("enter", "submit", "take-back")


@cache
def fields_by_summary() -> dict[str, set[str]]:
    """The fields of the acts that say the same of what they do."""
    modules = [
        import_module(f"citeboard.acts.{one.name}")
        for one in pkgutil.iter_modules(citeboard.acts.__path__)
    ]
    found: dict[str, set[str]] = {}
    for act in (
        act
        for module in modules
        for act in vars(module).values()
        if isinstance(act, UserAction)
    ):
        found.setdefault(act.summary, set()).update(
            act.form.base_fields if act.form else ()
        )
    return found


def takes_team(name: str) -> bool:
    """False if a post to the address would be refused for a field that its act does not have."""
    if name.startswith("api:"):
        return name in TEAM_IN_THE_API
    if name in TEAM_ON_PAGES:
        return True
    fields = fields_by_summary().get(ROUTES[name].callback.__doc__)
    return fields is not None and "team" in fields


def ask(client, name: str, method: str, scene: Scene, phase=None):
    """The answer, read to its end so that a file that is sent is closed."""
    where = address(name, scene, phase)
    if method == "POST":
        team = {"team": scene.team.slug} if takes_team(name) else {}
        response = client.post(where, POSTED.get(name, team))
    else:
        response = getattr(client, method.lower())(where)
    response.said = response.getvalue()
    return response


def sign_in(client, scene: Scene, role: str) -> None:
    client.logout()
    if person := scene.people[role]:
        client.force_login(person)
