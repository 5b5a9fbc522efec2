"""The URL patterns of the site's pages. The module `organise.urls` contains the URLs of
organisers' pages.
"""

from django.urls import include, path

from citeboard.acts.runs import CHANGES
from citeboard.web import (
    account,
    annotate,
    guides,
    harvesting,
    inbox,
    judging,
    operate,
    teams,
)
from citeboard.web.boards import (
    battles,
    board,
    classes,
    estimates,
    files,
    judge_page,
    standing,
)
from citeboard.web.boards.tab_pages import alone
from citeboard.web.organise import urls as organise
from citeboard.web.pages import in_forms, page
from citeboard.web.runs import compare, instances, submission, upload
from citeboard.web.seasons import messages, overview, papers, trying
from scoring.exchange.formats import FORMATS

of_phase = [
    page("", board.board, "board"),
    page("inputs.zip", overview.inputs, "inputs"),
    page("submit/", upload.upload, "upload"),
    *(
        page(
            f"board.{suffix}",
            files.board_export,
            f"board-{suffix.partition('.')[0]}",
            suffix=suffix,
        )
        for suffix in FORMATS
        if suffix != "hugging-face.zip"
    ),
    page("board.hugging-face.zip", files.board_hugging_face, "board-hugging-face"),
    page("board.atom", harvesting.of_board, "board-feed"),
    page("cite/", files.cite, "cite"),
    page("snapshots/<slug:digest>/", files.snapshot, "snapshot"),
    page("snapshots/<slug:digest>/board.json", files.snapshot_json, "snapshot-json"),
    page("snapshots/<slug:digest>/board.bib", files.snapshot_bib, "snapshot-bib"),
    page("teams/<slug:slug>/badge.svg", files.team_badge, "team-badge"),
    page(
        "teams/<slug:slug>/systems/<slug:system>/badge.svg",
        files.team_badge,
        "team-system-badge",
    ),
    *in_forms("classes", files.classes_file, "classes", files.CLASSES),
    page("classes.tex", files.classes_tex, "classes-tex"),
    page("changes/", standing.changes_of_gold, "gold-changes"),
    page("confidence/", alone("confidence"), "confidence"),
    page("costs/", alone("costs"), "costs"),
    page("over-time/", alone("over-time"), "over-time"),
    page("card.png", files.board_card, "board-card"),
    page("paper/", alone("board-paper"), "board-paper"),
    page("outside/", alone("outside"), "outside"),
    page("human-evaluation/", files.data_sheet, "human-data-sheet"),
    *in_forms(
        "human-evaluation", files.data_sheet_file, "human-data-sheet", files.FORMS
    ),
    page("battles/", battles.battles, "battles"),
    page("estimates/", alone("estimates"), "estimates"),
    page("judges/", alone("judges"), "judges"),
    page("judges/about/", judge_page.judge, "board-judge"),
    *in_forms("estimates", estimates.estimates_file, "estimates", estimates.FORMS),
    *in_forms("battles", battles.battles_file, "battles", battles.FORMS),
    page("against/", alone("pairings"), "pairings"),
    page("compare/", compare.compare, "compare"),
    page("compare/instances/", instances.compare_instances, "compare-instances"),
    page("compare/several/", compare.compare_several, "compare-several"),
    page("instances/", instances.all_instances, "instances"),
    page("differences/", alone("differences"), "differences"),
    page("discourse/", alone("discourse"), "discourse"),
    page("people/", alone("people"), "people"),
    page("transfer/", classes.transfer, "transfer"),
    page("thresholds/", classes.thresholds, "thresholds"),
    page("runs/<int:submission>/", standing.standing, "standing"),
    page("runs/<int:submission>/run/", standing.standing_run, "standing-run"),
    page("gold/<int:number>/", standing.gold, "gold"),
    page("labels.zip", standing.labels, "labels"),
    page("runs/<int:submission>/run.bib", files.run_bib, "standing-bib"),
]

urlpatterns = [
    # Django tries URLs in this order, and most requests are for boards.
    path("seasons/<slug:season>/organise/", include(organise.of_season)),
    # This URL hides no phase, because no phase can have the slug `published`.
    page("seasons/<slug:season>/<slug:task>/published/", papers.published, "published"),
    path("seasons/<slug:season>/<slug:task>/<slug:phase>/", include(of_phase)),
    page("", overview.home, "home"),
    page("seasons/<slug:season>/", overview.season, "season"),
    page("account/name/", account.name, "account-name"),
    page("account/tokens/", account.tokens, "tokens"),
    page("account/tokens/<int:pk>/revoke/", account.revoke_token, "token-revoke"),
    page("account/delete/", account.delete, "account-delete"),
    page("account/data.json", account.data, "account-data"),
    page("join/<str:secret>/", teams.join, "join"),
    page("join/<str:secret>/decline/", teams.decline, "join-decline"),
    page("teams/", teams.teams, "teams"),
    page("teams/<slug:slug>/invitation/renew/", teams.renew, "team-invitation-renew"),
    page(
        "teams/<slug:slug>/invitation/revoke/", teams.revoke, "team-invitation-revoke"
    ),
    page("teams/<slug:slug>/invitations/", teams.invite, "team-invite"),
    page(
        "teams/<slug:slug>/invitations/<int:invited>/withdraw/",
        teams.withdraw,
        "team-invite-withdraw",
    ),
    page("teams/<slug:slug>/members/<int:member>/lead/", teams.lead, "team-lead"),
    page("teams/<slug:slug>/describe/", teams.describe, "team-describe"),
    page("teams/<slug:slug>/leave/", teams.leave, "team-leave"),
    page("teams/<slug:slug>/merges/", teams.propose, "team-merge"),
    page(
        "teams/<slug:slug>/merges/<int:proposal>/",
        teams.answer_proposal,
        "team-merge-answer",
    ),
    page(
        "join-requests/<int:asked>/take-back/", teams.withdraw_request, "join-take-back"
    ),
    page(
        "teams/<slug:slug>/requests/<int:asked>/", teams.answer_request, "team-request"
    ),
    page(
        "teams/<slug:slug>/members/<int:member>/remove/",
        teams.remove_member,
        "team-member-remove",
    ),
    page("enter/<slug:season>/", teams.enter, "enter"),
    page("enter/<slug:season>/ask/", teams.ask, "ask-to-join"),
    page("enter/<slug:season>/take-back/", teams.withdraw_entry, "take-back"),
    page("announcements/<slug:season>/", messages.announcements, "announcements"),
    page("feeds/<slug:season>.atom", harvesting.of_season, "season-feed"),
    page("calendars/<slug:season>.ics", harvesting.calendar, "season-calendar"),
    page("questions/<slug:season>/", messages.questions, "questions"),
    page("overview-paper/<slug:season>/", papers.overview_paper, "overview-paper"),
    page("overview-paper/<slug:season>.zip", papers.archive, "overview-paper-zip"),
    page(
        "overview-paper/<slug:season>/files/<path:rest>",
        papers.one_file,
        "overview-paper-file",
    ),
    page("jobs/<int:pk>/", account.background_job, "background-job"),
    page(
        "jobs/<int:pk>/status/",
        account.background_job,
        "background-job-status",
        part="_status.html",
    ),
    page("report/", operate.report, "report"),
    page("terms/<slug:season>/", messages.terms, "terms"),
    # This URL hides no task, because no task can have the slug `submit`.
    page("seasons/<slug:season>/submit/", upload.season_upload, "season-upload"),
    # This URL hides no task, because no task can have the slug `overall`.
    page("seasons/<slug:season>/overall/", papers.overall, "overall"),
    *in_forms(
        "seasons/<slug:season>/overall", papers.overall_file, "overall", papers.FORMS
    ),
    page("submissions/together/<int:pk>/", upload.bundle, "bundle"),
    page("seasons/<slug:season>/<slug:task>/", overview.task, "task"),
    page("metrics", operate.metrics, "metrics"),
    page("operate/", operate.operate, "operate"),
    page("operate/mails/", operate.mails, "operate-mails"),
    page("operate/claims/", operate.claims, "operate-claims"),
    page("operate/claims/<int:claim>/", operate.decide_claim, "operate-claim-decide"),
    page("operate/measures/", operate.measures, "operate-measures"),
    page(
        "operate/measures/<int:measures>/",
        operate.decide_measures,
        "operate-measures-decide",
    ),
    page("operate/reports/", operate.reports, "operate-reports"),
    page("operate/reports/<int:report>/close/", operate.close, "operate-report-close"),
    page("first-organiser/", account.first_organiser, "first-organiser"),
    page("messages/", inbox.inbox, "messages"),
    page("messages/read/", inbox.read, "messages-read"),
    page("messages/choices/", inbox.choices, "message-choices"),
    page("unsubscribe/<str:secret>/", inbox.unsubscribe, "unsubscribe"),
    page("robots.txt", harvesting.robots, "robots"),
    page("sitemap.xml", harvesting.sitemap, "sitemap"),
    page(
        "seasons/<slug:season>/<slug:task>/croissant.json",
        harvesting.task_croissant,
        "croissant",
    ),
    page("seasons/<slug:season>/<slug:task>/trec.zip", harvesting.trec, "data-trec"),
    page(
        "seasons/<slug:season>/<slug:task>/hugging-face.zip",
        harvesting.hugging_face,
        "data-hugging-face",
    ),
    page("data-sets/<slug:season>/<slug:task>/", overview.data_sets, "data-sets"),
    page("embed/<slug:season>/<slug:task>/<slug:phase>/", board.embedded, "embed"),
    page("try/<slug:season>/<slug:task>/", trying.try_answer, "try"),
    page("archives/", guides.archives, "archives"),
    page("archives/<slug:archive>/", guides.archive, "archive"),
    page(
        "archives/<slug:archive>/boards/<slug:board>/",
        guides.archive_board,
        "archive-board",
    ),
    page(
        "archives/<slug:archive>/files/<path:file>", guides.archive_file, "archive-file"
    ),
    page("docs/", guides.guide_list, "guides"),
    page("docs/<slug:guide>/", guides.guide, "guide"),
    page("runs/", account.own_runs, "own-runs"),
    page("about/", overview.about, "about"),
    page("log/", guides.receipt_log, "receipt-log"),
    page("client/", guides.client, "client"),
    page("client/<str:file>", guides.client_file, "client-file"),
    page("seasons/<slug:season>/card.png", files.season_card, "season-card"),
    page("seasons/<slug:season>/season.bib", files.season_bib, "season-bib"),
    page("seasons/<slug:season>/<slug:task>/task.bib", files.task_bib, "task-bib"),
    page("published/", papers.papers, "papers"),
    page("published/<slug:key>/", papers.paper, "paper"),
    page("published/<slug:key>/paper.bib", files.paper_bib, "paper-bib"),
    page("published/seasons/<slug:season>/", papers.reproduced, "reproduced"),
    *in_forms(
        "seasons/<slug:season>/<slug:task>/published",
        papers.published_file,
        "published",
        papers.PUBLISHED,
    ),
    page("annotate/", annotate.own_sheets, "annotations"),
    page("annotate/<int:sheet>/", annotate.annotate, "annotate"),
    page("judge/<int:sheet>/", judging.judge, "judge"),
    page("annotate/<int:sheet>/sheet.csv", annotate.annotate_csv, "annotate-csv"),
    page("annotate/<int:sheet>/ratings/", annotate.annotate_upload, "annotate-upload"),
    page("submissions/<int:pk>/", submission.submission, "submission"),
    page("submissions/<int:pk>/claims/", submission.claims, "submission-claims"),
    page(
        "submissions/<int:pk>/instances/", instances.instances, "submission-instances"
    ),
    page("submissions/<int:pk>/status/", submission.status, "submission-status"),
    page("submissions/<int:pk>/describe/", submission.describe, "submission-describe"),
    page(
        "submissions/<int:pk>/delete-file/",
        submission.delete_run_file,
        "submission-delete-file",
    ),
    page("submissions/<int:pk>/run/", submission.run_file, "submission-run"),
    *(
        page(
            f"submissions/<int:pk>/{how}/",
            submission.change,
            f"submission-{how}",
            how=how,
        )
        for how in CHANGES
    ),
    page("submissions/<int:pk>/confirm/", submission.confirm, "submission-confirm"),
    page("submissions/<int:pk>/contest/", submission.contest, "submission-contest"),
    page("teams/<slug:slug>/", teams.team, "team"),
    page("teams/<slug:slug>/results/", teams.team_results, "team-results"),
    page("teams/<slug:slug>/results.atom", teams.team_results_feed, "team-feed"),
    page("teams/<slug:slug>/systems/<slug:system>/", teams.team_system, "team-system"),
    page(
        "teams/<slug:slug>/systems/<slug:system>/results.atom",
        teams.team_system_feed,
        "team-system-feed",
    ),
    *organise.urlpatterns,
]
