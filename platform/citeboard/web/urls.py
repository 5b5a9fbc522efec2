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
from citeboard.web.boards.tab_pages import build_single_tab_view
from citeboard.web.organise import urls as organise
from citeboard.web.pages import build_url_pattern, build_url_patterns_by_format
from citeboard.web.runs import compare, instances, submission, upload
from citeboard.web.seasons import messages, overview, papers, trying
from scoring.exchange.formats import BOARD_FILE_WRITERS

of_phase = [
    build_url_pattern("", board.show_board, "board"),
    build_url_pattern("inputs.zip", overview.download_inputs, "inputs"),
    build_url_pattern("submit/", upload.upload, "upload"),
    *(
        build_url_pattern(
            f"board.{suffix}",
            files.board_export,
            f"board-{suffix.partition('.')[0]}",
            suffix=suffix,
        )
        for suffix in BOARD_FILE_WRITERS
        if suffix != "hugging-face.zip"
    ),
    build_url_pattern(
        "board.hugging-face.zip", files.export_for_hugging_face, "board-hugging-face"
    ),
    build_url_pattern("board.atom", harvesting.show_board_feed, "board-feed"),
    build_url_pattern("cite/", files.cite, "cite"),
    build_url_pattern("snapshots/<slug:digest>/", files.snapshot, "snapshot"),
    build_url_pattern(
        "snapshots/<slug:digest>/board.json", files.snapshot_json, "snapshot-json"
    ),
    build_url_pattern(
        "snapshots/<slug:digest>/board.bib", files.snapshot_bib, "snapshot-bib"
    ),
    build_url_pattern("teams/<slug:slug>/badge.svg", files.team_badge, "team-badge"),
    build_url_pattern(
        "teams/<slug:slug>/systems/<slug:system>/badge.svg",
        files.team_badge,
        "team-system-badge",
    ),
    *build_url_patterns_by_format(
        "classes", files.classes_file, "classes", files.CLASS_SCORE_WRITERS
    ),
    build_url_pattern("classes.tex", files.export_class_tables_as_latex, "classes-tex"),
    build_url_pattern("changes/", standing.changes_of_gold, "gold-changes"),
    build_url_pattern("confidence/", build_single_tab_view("confidence"), "confidence"),
    build_url_pattern("costs/", build_single_tab_view("costs"), "costs"),
    build_url_pattern("over-time/", build_single_tab_view("over-time"), "over-time"),
    build_url_pattern("card.png", files.show_board_preview_image, "board-card"),
    build_url_pattern("paper/", build_single_tab_view("board-paper"), "board-paper"),
    build_url_pattern("outside/", build_single_tab_view("outside"), "outside"),
    build_url_pattern("human-evaluation/", files.data_sheet, "human-data-sheet"),
    *build_url_patterns_by_format(
        "human-evaluation",
        files.data_sheet_file,
        "human-data-sheet",
        files.DATA_SHEET_WRITERS,
    ),
    build_url_pattern("battles/", battles.battles, "battles"),
    build_url_pattern("estimates/", build_single_tab_view("estimates"), "estimates"),
    build_url_pattern("judges/", build_single_tab_view("judges"), "judges"),
    build_url_pattern("judges/about/", judge_page.judge, "board-judge"),
    *build_url_patterns_by_format(
        "estimates",
        estimates.estimates_file,
        "estimates",
        estimates.ESTIMATE_FILE_WRITERS,
    ),
    *build_url_patterns_by_format(
        "battles", battles.battles_file, "battles", battles.BATTLE_FILE_WRITERS
    ),
    build_url_pattern("against/", build_single_tab_view("pairings"), "pairings"),
    build_url_pattern("compare/", compare.compare, "compare"),
    build_url_pattern(
        "compare/instances/", instances.compare_instances, "compare-instances"
    ),
    build_url_pattern("compare/several/", compare.compare_several, "compare-several"),
    build_url_pattern("instances/", instances.all_instances, "instances"),
    build_url_pattern(
        "differences/", build_single_tab_view("differences"), "differences"
    ),
    build_url_pattern("discourse/", build_single_tab_view("discourse"), "discourse"),
    build_url_pattern("people/", build_single_tab_view("people"), "people"),
    build_url_pattern("transfer/", classes.transfer, "transfer"),
    build_url_pattern("thresholds/", classes.thresholds, "thresholds"),
    build_url_pattern("runs/<int:submission>/", standing.standing, "standing"),
    build_url_pattern(
        "runs/<int:submission>/run/", standing.download_run, "standing-run"
    ),
    build_url_pattern("gold/<int:number>/", standing.gold, "gold"),
    build_url_pattern("labels.zip", standing.download_entailment_labels, "labels"),
    build_url_pattern("runs/<int:submission>/run.bib", files.run_bib, "standing-bib"),
]

urlpatterns = [
    # Django tries URLs in this order, and most requests are for boards.
    path("seasons/<slug:season>/organise/", include(organise.of_season)),
    # This URL hides no phase, because no phase can have the slug `published`.
    build_url_pattern(
        "seasons/<slug:season>/<slug:task>/published/", papers.published, "published"
    ),
    path("seasons/<slug:season>/<slug:task>/<slug:phase>/", include(of_phase)),
    build_url_pattern("", overview.show_home_page, "home"),
    build_url_pattern("seasons/<slug:season>/", overview.season, "season"),
    build_url_pattern("account/name/", account.edit_profile, "account-name"),
    build_url_pattern("account/tokens/", account.tokens, "tokens"),
    build_url_pattern(
        "account/tokens/<int:pk>/revoke/", account.revoke_api_token, "token-revoke"
    ),
    build_url_pattern("account/delete/", account.delete, "account-delete"),
    build_url_pattern("account/data.json", account.data, "account-data"),
    build_url_pattern("join/<str:secret>/", teams.show_invitation, "join"),
    build_url_pattern(
        "join/<str:secret>/decline/", teams.decline_invitation, "join-decline"
    ),
    build_url_pattern("teams/", teams.teams, "teams"),
    build_url_pattern(
        "teams/<slug:slug>/invitation/renew/", teams.renew, "team-invitation-renew"
    ),
    build_url_pattern(
        "teams/<slug:slug>/invitation/revoke/", teams.revoke, "team-invitation-revoke"
    ),
    build_url_pattern("teams/<slug:slug>/invitations/", teams.invite, "team-invite"),
    build_url_pattern(
        "teams/<slug:slug>/invitations/<int:invited>/withdraw/",
        teams.withdraw,
        "team-invite-withdraw",
    ),
    build_url_pattern(
        "teams/<slug:slug>/members/<int:member>/lead/", teams.lead, "team-lead"
    ),
    build_url_pattern("teams/<slug:slug>/describe/", teams.describe, "team-describe"),
    build_url_pattern("teams/<slug:slug>/leave/", teams.leave, "team-leave"),
    build_url_pattern("teams/<slug:slug>/merges/", teams.propose, "team-merge"),
    build_url_pattern(
        "teams/<slug:slug>/merges/<int:proposal>/",
        teams.answer_proposal,
        "team-merge-answer",
    ),
    build_url_pattern(
        "join-requests/<int:asked>/take-back/", teams.withdraw_request, "join-take-back"
    ),
    build_url_pattern(
        "teams/<slug:slug>/requests/<int:asked>/", teams.answer_request, "team-request"
    ),
    build_url_pattern(
        "teams/<slug:slug>/members/<int:member>/remove/",
        teams.remove_member,
        "team-member-remove",
    ),
    build_url_pattern("enter/<slug:season>/", teams.enter, "enter"),
    build_url_pattern("enter/<slug:season>/ask/", teams.ask, "ask-to-join"),
    build_url_pattern(
        "enter/<slug:season>/take-back/", teams.withdraw_entry, "take-back"
    ),
    build_url_pattern(
        "announcements/<slug:season>/", messages.announcements, "announcements"
    ),
    build_url_pattern(
        "feeds/<slug:season>.atom", harvesting.show_season_feed, "season-feed"
    ),
    build_url_pattern(
        "calendars/<slug:season>.ics",
        harvesting.download_season_calendar,
        "season-calendar",
    ),
    build_url_pattern("questions/<slug:season>/", messages.questions, "questions"),
    build_url_pattern(
        "overview-paper/<slug:season>/", papers.overview_paper, "overview-paper"
    ),
    build_url_pattern(
        "overview-paper/<slug:season>.zip", papers.archive, "overview-paper-zip"
    ),
    build_url_pattern(
        "overview-paper/<slug:season>/files/<path:rest>",
        papers.one_file,
        "overview-paper-file",
    ),
    build_url_pattern("jobs/<int:pk>/", account.show_background_job, "background-job"),
    build_url_pattern(
        "jobs/<int:pk>/status/",
        account.show_background_job,
        "background-job-status",
        part="_status.html",
    ),
    build_url_pattern("report/", operate.report, "report"),
    build_url_pattern("terms/<slug:season>/", messages.terms, "terms"),
    # This URL hides no task, because no task can have the slug `submit`.
    build_url_pattern(
        "seasons/<slug:season>/submit/", upload.season_upload, "season-upload"
    ),
    # This URL hides no task, because no task can have the slug `overall`.
    build_url_pattern("seasons/<slug:season>/overall/", papers.overall, "overall"),
    *build_url_patterns_by_format(
        "seasons/<slug:season>/overall",
        papers.overall_file,
        "overall",
        papers.OVERALL_FILE_WRITERS,
    ),
    build_url_pattern("submissions/together/<int:pk>/", upload.bundle, "bundle"),
    build_url_pattern("seasons/<slug:season>/<slug:task>/", overview.task, "task"),
    build_url_pattern("metrics", operate.serve_prometheus_metrics, "metrics"),
    build_url_pattern("operate/", operate.operate, "operate"),
    build_url_pattern("operate/mails/", operate.mails, "operate-mails"),
    build_url_pattern("operate/claims/", operate.claims, "operate-claims"),
    build_url_pattern(
        "operate/claims/<int:claim>/", operate.decide_claim, "operate-claim-decide"
    ),
    build_url_pattern("operate/measures/", operate.measures, "operate-measures"),
    build_url_pattern(
        "operate/measures/<int:measures>/",
        operate.decide_measures,
        "operate-measures-decide",
    ),
    build_url_pattern("operate/reports/", operate.reports, "operate-reports"),
    build_url_pattern(
        "operate/reports/<int:report>/close/", operate.close, "operate-report-close"
    ),
    build_url_pattern(
        "first-organiser/", account.show_first_organiser_form, "first-organiser"
    ),
    build_url_pattern("messages/", inbox.inbox, "messages"),
    build_url_pattern("messages/read/", inbox.read, "messages-read"),
    build_url_pattern("messages/choices/", inbox.choices, "message-choices"),
    build_url_pattern(
        "unsubscribe/<str:secret>/", inbox.unsubscribe_from_mails, "unsubscribe"
    ),
    build_url_pattern("robots.txt", harvesting.show_robots_txt, "robots"),
    build_url_pattern("sitemap.xml", harvesting.list_public_pages, "sitemap"),
    build_url_pattern(
        "seasons/<slug:season>/<slug:task>/croissant.json",
        harvesting.task_croissant,
        "croissant",
    ),
    build_url_pattern(
        "seasons/<slug:season>/<slug:task>/trec.zip",
        harvesting.download_trec_archive,
        "data-trec",
    ),
    build_url_pattern(
        "seasons/<slug:season>/<slug:task>/hugging-face.zip",
        harvesting.download_hugging_face_archive,
        "data-hugging-face",
    ),
    build_url_pattern(
        "data-sets/<slug:season>/<slug:task>/", overview.data_sets, "data-sets"
    ),
    build_url_pattern(
        "embed/<slug:season>/<slug:task>/<slug:phase>/",
        board.show_embedded_table,
        "embed",
    ),
    build_url_pattern("try/<slug:season>/<slug:task>/", trying.try_answer, "try"),
    build_url_pattern("archives/", guides.list_archives, "archives"),
    build_url_pattern("archives/<slug:archive>/", guides.archive, "archive"),
    build_url_pattern(
        "archives/<slug:archive>/boards/<slug:board>/",
        guides.show_archive_board,
        "archive-board",
    ),
    build_url_pattern(
        "archives/<slug:archive>/files/<path:file>",
        guides.download_archive_file,
        "archive-file",
    ),
    build_url_pattern("docs/", guides.list_guides, "guides"),
    build_url_pattern("docs/<slug:guide>/", guides.guide, "guide"),
    build_url_pattern("runs/", account.own_runs, "own-runs"),
    build_url_pattern("about/", overview.show_about_page, "about"),
    build_url_pattern("log/", guides.show_receipt_log, "receipt-log"),
    build_url_pattern("client/", guides.show_client_page, "client"),
    build_url_pattern("client/<str:file>", guides.download_client_file, "client-file"),
    build_url_pattern(
        "seasons/<slug:season>/card.png", files.show_season_preview_image, "season-card"
    ),
    build_url_pattern(
        "seasons/<slug:season>/season.bib", files.season_bib, "season-bib"
    ),
    build_url_pattern(
        "seasons/<slug:season>/<slug:task>/task.bib", files.task_bib, "task-bib"
    ),
    build_url_pattern("published/", papers.papers, "papers"),
    build_url_pattern("published/<slug:key>/", papers.paper, "paper"),
    build_url_pattern(
        "published/<slug:key>/paper.bib", files.download_paper_bibtex, "paper-bib"
    ),
    build_url_pattern(
        "published/seasons/<slug:season>/", papers.reproduced, "reproduced"
    ),
    *build_url_patterns_by_format(
        "seasons/<slug:season>/<slug:task>/published",
        papers.published_file,
        "published",
        papers.PUBLISHED_FILE_WRITERS,
    ),
    build_url_pattern("annotate/", annotate.own_sheets, "annotations"),
    build_url_pattern("annotate/<int:sheet>/", annotate.annotate, "annotate"),
    build_url_pattern("judge/<int:sheet>/", judging.judge, "judge"),
    build_url_pattern(
        "annotate/<int:sheet>/sheet.csv", annotate.annotate_csv, "annotate-csv"
    ),
    build_url_pattern(
        "annotate/<int:sheet>/ratings/", annotate.annotate_upload, "annotate-upload"
    ),
    build_url_pattern("submissions/<int:pk>/", submission.submission, "submission"),
    build_url_pattern(
        "submissions/<int:pk>/claims/", submission.claims, "submission-claims"
    ),
    build_url_pattern(
        "submissions/<int:pk>/instances/", instances.instances, "submission-instances"
    ),
    build_url_pattern(
        "submissions/<int:pk>/status/", submission.status, "submission-status"
    ),
    build_url_pattern(
        "submissions/<int:pk>/describe/", submission.describe, "submission-describe"
    ),
    build_url_pattern(
        "submissions/<int:pk>/delete-file/",
        submission.delete_run_file,
        "submission-delete-file",
    ),
    build_url_pattern(
        "submissions/<int:pk>/run/", submission.run_file, "submission-run"
    ),
    *(
        build_url_pattern(
            f"submissions/<int:pk>/{how}/",
            submission.change,
            f"submission-{how}",
            how=how,
        )
        for how in CHANGES
    ),
    build_url_pattern(
        "submissions/<int:pk>/confirm/", submission.confirm, "submission-confirm"
    ),
    build_url_pattern(
        "submissions/<int:pk>/contest/", submission.contest, "submission-contest"
    ),
    build_url_pattern("teams/<slug:slug>/", teams.team, "team"),
    build_url_pattern(
        "teams/<slug:slug>/results/", teams.show_team_results, "team-results"
    ),
    build_url_pattern(
        "teams/<slug:slug>/results.atom", teams.show_team_results_feed, "team-feed"
    ),
    build_url_pattern(
        "teams/<slug:slug>/systems/<slug:system>/",
        teams.show_team_system,
        "team-system",
    ),
    build_url_pattern(
        "teams/<slug:slug>/systems/<slug:system>/results.atom",
        teams.show_team_system_feed,
        "team-system-feed",
    ),
    *organise.urlpatterns,
]
