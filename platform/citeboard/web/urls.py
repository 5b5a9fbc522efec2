"""The URL patterns of the site's pages. The module `organise.urls` contains the URLs of
organisers' pages.
"""

from django.urls import include, path

from citeboard.acts.runs import RUN_CHANGE_ACTIONS
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

phase_url_patterns = [
    build_url_pattern("", board.show_board, "board"),
    build_url_pattern("inputs.zip", overview.download_inputs, "inputs"),
    build_url_pattern("submit/", upload.upload_run, "upload"),
    *(
        build_url_pattern(
            f"board.{suffix}",
            files.download_board,
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
    build_url_pattern("cite/", files.store_and_show_snapshot, "cite"),
    build_url_pattern("snapshots/<slug:digest>/", files.show_snapshot, "snapshot"),
    build_url_pattern(
        "snapshots/<slug:digest>/board.json",
        files.download_snapshot_json,
        "snapshot-json",
    ),
    build_url_pattern(
        "snapshots/<slug:digest>/board.bib",
        files.download_snapshot_bibtex,
        "snapshot-bib",
    ),
    build_url_pattern(
        "teams/<slug:slug>/badge.svg", files.show_team_badge, "team-badge"
    ),
    build_url_pattern(
        "teams/<slug:slug>/systems/<slug:system>/badge.svg",
        files.show_team_badge,
        "team-system-badge",
    ),
    *build_url_patterns_by_format(
        "classes", files.download_class_scores, "classes", files.CLASS_SCORE_WRITERS
    ),
    build_url_pattern("classes.tex", files.export_class_tables_as_latex, "classes-tex"),
    build_url_pattern("changes/", standing.show_gold_changes, "gold-changes"),
    build_url_pattern("confidence/", build_single_tab_view("confidence"), "confidence"),
    build_url_pattern("costs/", build_single_tab_view("costs"), "costs"),
    build_url_pattern("over-time/", build_single_tab_view("over-time"), "over-time"),
    build_url_pattern("card.png", files.show_board_preview_image, "board-card"),
    build_url_pattern("paper/", build_single_tab_view("board-paper"), "board-paper"),
    build_url_pattern("outside/", build_single_tab_view("outside"), "outside"),
    build_url_pattern("human-evaluation/", files.show_data_sheet, "human-data-sheet"),
    *build_url_patterns_by_format(
        "human-evaluation",
        files.download_data_sheet,
        "human-data-sheet",
        files.DATA_SHEET_WRITERS,
    ),
    build_url_pattern("battles/", battles.show_battle_board, "battles"),
    build_url_pattern("estimates/", build_single_tab_view("estimates"), "estimates"),
    build_url_pattern("judges/", build_single_tab_view("judges"), "judges"),
    build_url_pattern("judges/about/", judge_page.show_judge, "board-judge"),
    *build_url_patterns_by_format(
        "estimates",
        estimates.download_estimated_scores,
        "estimates",
        estimates.ESTIMATE_FILE_WRITERS,
    ),
    *build_url_patterns_by_format(
        "battles", battles.download_battle_board, "battles", battles.BATTLE_FILE_WRITERS
    ),
    build_url_pattern("against/", build_single_tab_view("pairings"), "pairings"),
    build_url_pattern("compare/", compare.compare_two_runs, "compare"),
    build_url_pattern(
        "compare/instances/",
        instances.compare_instances_of_two_runs,
        "compare-instances",
    ),
    build_url_pattern(
        "compare/several/", compare.compare_several_runs, "compare-several"
    ),
    build_url_pattern(
        "instances/", instances.show_instances_of_all_systems, "instances"
    ),
    build_url_pattern(
        "differences/", build_single_tab_view("differences"), "differences"
    ),
    build_url_pattern("discourse/", build_single_tab_view("discourse"), "discourse"),
    build_url_pattern("people/", build_single_tab_view("people"), "people"),
    build_url_pattern("transfer/", classes.show_transfer_scores, "transfer"),
    build_url_pattern("thresholds/", classes.show_threshold_curves, "thresholds"),
    build_url_pattern("runs/<int:submission>/", standing.show_run_on_board, "standing"),
    build_url_pattern(
        "runs/<int:submission>/run/", standing.download_run, "standing-run"
    ),
    build_url_pattern("gold/<int:number>/", standing.download_gold, "gold"),
    build_url_pattern("labels.zip", standing.download_entailment_labels, "labels"),
    build_url_pattern(
        "runs/<int:submission>/run.bib", files.download_run_bibtex, "standing-bib"
    ),
]

urlpatterns = [
    # Django tries URLs in this order, and most requests are for boards.
    path("seasons/<slug:season>/organise/", include(organise.season_url_patterns)),
    # This URL hides no phase, because no phase can have the slug `published`.
    build_url_pattern(
        "seasons/<slug:season>/<slug:task>/published/",
        papers.show_published_results,
        "published",
    ),
    path(
        "seasons/<slug:season>/<slug:task>/<slug:phase>/", include(phase_url_patterns)
    ),
    build_url_pattern("", overview.show_home_page, "home"),
    build_url_pattern("seasons/<slug:season>/", overview.show_season, "season"),
    build_url_pattern("account/name/", account.edit_profile, "account-name"),
    build_url_pattern("account/tokens/", account.manage_api_tokens, "tokens"),
    build_url_pattern(
        "account/tokens/<int:pk>/revoke/", account.revoke_api_token, "token-revoke"
    ),
    build_url_pattern("account/delete/", account.delete_own_account, "account-delete"),
    build_url_pattern("account/data.json", account.show_account_data, "account-data"),
    build_url_pattern("join/<str:secret>/", teams.show_invitation, "join"),
    build_url_pattern(
        "join/<str:secret>/decline/", teams.decline_invitation, "join-decline"
    ),
    build_url_pattern("teams/", teams.list_and_found_teams, "teams"),
    build_url_pattern(
        "teams/<slug:slug>/invitation/renew/",
        teams.renew_invitation_link,
        "team-invitation-renew",
    ),
    build_url_pattern(
        "teams/<slug:slug>/invitation/revoke/",
        teams.revoke_invitation_link,
        "team-invitation-revoke",
    ),
    build_url_pattern(
        "teams/<slug:slug>/invitations/", teams.invite_team_member, "team-invite"
    ),
    build_url_pattern(
        "teams/<slug:slug>/invitations/<int:invited>/withdraw/",
        teams.withdraw_mailed_invitation,
        "team-invite-withdraw",
    ),
    build_url_pattern(
        "teams/<slug:slug>/members/<int:member>/lead/",
        teams.transfer_team_lead,
        "team-lead",
    ),
    build_url_pattern(
        "teams/<slug:slug>/describe/", teams.edit_team_description, "team-describe"
    ),
    build_url_pattern("teams/<slug:slug>/leave/", teams.leave_team, "team-leave"),
    build_url_pattern(
        "teams/<slug:slug>/merges/", teams.propose_team_merge, "team-merge"
    ),
    build_url_pattern(
        "teams/<slug:slug>/merges/<int:proposal>/",
        teams.answer_merge_proposal,
        "team-merge-answer",
    ),
    build_url_pattern(
        "join-requests/<int:asked>/take-back/",
        teams.withdraw_join_request,
        "join-take-back",
    ),
    build_url_pattern(
        "teams/<slug:slug>/requests/<int:asked>/", teams.answer_request, "team-request"
    ),
    build_url_pattern(
        "teams/<slug:slug>/members/<int:member>/remove/",
        teams.remove_team_member,
        "team-member-remove",
    ),
    build_url_pattern("enter/<slug:season>/", teams.register_team_for_season, "enter"),
    build_url_pattern(
        "enter/<slug:season>/ask/", teams.ask_to_join_team, "ask-to-join"
    ),
    build_url_pattern(
        "enter/<slug:season>/take-back/", teams.withdraw_registration, "take-back"
    ),
    build_url_pattern(
        "announcements/<slug:season>/", messages.show_announcements, "announcements"
    ),
    build_url_pattern(
        "feeds/<slug:season>.atom", harvesting.show_season_feed, "season-feed"
    ),
    build_url_pattern(
        "calendars/<slug:season>.ics",
        harvesting.download_season_calendar,
        "season-calendar",
    ),
    build_url_pattern(
        "questions/<slug:season>/", messages.show_and_ask_questions, "questions"
    ),
    build_url_pattern(
        "overview-paper/<slug:season>/", papers.show_overview_paper, "overview-paper"
    ),
    build_url_pattern(
        "overview-paper/<slug:season>.zip",
        papers.download_overview_paper_archive,
        "overview-paper-zip",
    ),
    build_url_pattern(
        "overview-paper/<slug:season>/files/<path:rest>",
        papers.download_overview_paper_file,
        "overview-paper-file",
    ),
    build_url_pattern("jobs/<int:pk>/", account.show_background_job, "background-job"),
    build_url_pattern(
        "jobs/<int:pk>/status/",
        account.show_background_job,
        "background-job-status",
        part="_status.html",
    ),
    build_url_pattern("report/", operate.report_problem, "report"),
    build_url_pattern("terms/<slug:season>/", messages.show_and_accept_terms, "terms"),
    # This URL hides no task, because no task can have the slug `submit`.
    build_url_pattern(
        "seasons/<slug:season>/submit/", upload.upload_season_bundle, "season-upload"
    ),
    # This URL hides no task, because no task can have the slug `overall`.
    build_url_pattern(
        "seasons/<slug:season>/overall/", papers.show_overall_ranking, "overall"
    ),
    *build_url_patterns_by_format(
        "seasons/<slug:season>/overall",
        papers.download_overall_ranking,
        "overall",
        papers.OVERALL_FILE_WRITERS,
    ),
    build_url_pattern("submissions/together/<int:pk>/", upload.show_bundle, "bundle"),
    build_url_pattern("seasons/<slug:season>/<slug:task>/", overview.show_task, "task"),
    build_url_pattern("metrics", operate.serve_prometheus_metrics, "metrics"),
    build_url_pattern("operate/", operate.show_site_state, "operate"),
    build_url_pattern("operate/mails/", operate.retry_failed_mails, "operate-mails"),
    build_url_pattern("operate/claims/", operate.list_season_claims, "operate-claims"),
    build_url_pattern(
        "operate/claims/<int:claim>/",
        operate.decide_on_season_claim,
        "operate-claim-decide",
    ),
    build_url_pattern(
        "operate/measures/", operate.list_declared_measures, "operate-measures"
    ),
    build_url_pattern(
        "operate/measures/<int:measures>/",
        operate.decide_on_declared_measures,
        "operate-measures-decide",
    ),
    build_url_pattern(
        "operate/reports/", operate.list_problem_reports, "operate-reports"
    ),
    build_url_pattern(
        "operate/reports/<int:report>/close/",
        operate.close_problem_report,
        "operate-report-close",
    ),
    build_url_pattern(
        "first-organiser/", account.show_first_organiser_form, "first-organiser"
    ),
    build_url_pattern("messages/", inbox.show_inbox, "messages"),
    build_url_pattern("messages/read/", inbox.mark_messages_as_read, "messages-read"),
    build_url_pattern(
        "messages/choices/", inbox.edit_message_choices, "message-choices"
    ),
    build_url_pattern(
        "unsubscribe/<str:secret>/", inbox.unsubscribe_from_mails, "unsubscribe"
    ),
    build_url_pattern("robots.txt", harvesting.show_robots_txt, "robots"),
    build_url_pattern("sitemap.xml", harvesting.show_sitemap, "sitemap"),
    build_url_pattern(
        "seasons/<slug:season>/<slug:task>/croissant.json",
        harvesting.download_croissant_metadata,
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
        "data-sets/<slug:season>/<slug:task>/", overview.show_data_sets, "data-sets"
    ),
    build_url_pattern(
        "embed/<slug:season>/<slug:task>/<slug:phase>/",
        board.show_embedded_table,
        "embed",
    ),
    build_url_pattern(
        "try/<slug:season>/<slug:task>/", trying.score_trial_answer, "try"
    ),
    build_url_pattern("archives/", guides.list_archives, "archives"),
    build_url_pattern("archives/<slug:archive>/", guides.show_archive, "archive"),
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
    build_url_pattern("docs/<slug:guide>/", guides.show_guide, "guide"),
    build_url_pattern("runs/", account.list_own_runs, "own-runs"),
    build_url_pattern("about/", overview.show_about_page, "about"),
    build_url_pattern("log/", guides.show_receipt_log, "receipt-log"),
    build_url_pattern("client/", guides.show_client_page, "client"),
    build_url_pattern("client/<str:file>", guides.download_client_file, "client-file"),
    build_url_pattern(
        "seasons/<slug:season>/card.png", files.show_season_preview_image, "season-card"
    ),
    build_url_pattern(
        "seasons/<slug:season>/season.bib", files.download_season_bibtex, "season-bib"
    ),
    build_url_pattern(
        "seasons/<slug:season>/<slug:task>/task.bib",
        files.download_task_bibtex,
        "task-bib",
    ),
    build_url_pattern("published/", papers.list_papers, "papers"),
    build_url_pattern("published/<slug:key>/", papers.show_paper, "paper"),
    build_url_pattern(
        "published/<slug:key>/paper.bib", files.download_paper_bibtex, "paper-bib"
    ),
    build_url_pattern(
        "published/seasons/<slug:season>/", papers.show_reproduced_tables, "reproduced"
    ),
    *build_url_patterns_by_format(
        "seasons/<slug:season>/<slug:task>/published",
        papers.download_published_results,
        "published",
        papers.PUBLISHED_FILE_WRITERS,
    ),
    build_url_pattern("annotate/", annotate.list_sheets_to_rate, "annotations"),
    build_url_pattern(
        "annotate/<int:sheet>/", annotate.rate_sheet_instance, "annotate"
    ),
    build_url_pattern("judge/<int:sheet>/", judging.judge_pair, "judge"),
    build_url_pattern(
        "annotate/<int:sheet>/sheet.csv", annotate.download_rating_sheet, "annotate-csv"
    ),
    build_url_pattern(
        "annotate/<int:sheet>/ratings/", annotate.upload_ratings, "annotate-upload"
    ),
    build_url_pattern("submissions/<int:pk>/", submission.show_run, "submission"),
    build_url_pattern(
        "submissions/<int:pk>/claims/", submission.show_claims, "submission-claims"
    ),
    build_url_pattern(
        "submissions/<int:pk>/instances/",
        instances.show_run_instances,
        "submission-instances",
    ),
    build_url_pattern(
        "submissions/<int:pk>/status/", submission.show_run_status, "submission-status"
    ),
    build_url_pattern(
        "submissions/<int:pk>/describe/",
        submission.edit_run_description,
        "submission-describe",
    ),
    build_url_pattern(
        "submissions/<int:pk>/delete-file/",
        submission.delete_run_file,
        "submission-delete-file",
    ),
    build_url_pattern(
        "submissions/<int:pk>/run/", submission.download_own_run_file, "submission-run"
    ),
    *(
        build_url_pattern(
            f"submissions/<int:pk>/{how}/",
            submission.change_run,
            f"submission-{how}",
            how=how,
        )
        for how in RUN_CHANGE_ACTIONS
    ),
    build_url_pattern(
        "submissions/<int:pk>/confirm/",
        submission.confirm_run_result,
        "submission-confirm",
    ),
    build_url_pattern(
        "submissions/<int:pk>/contest/",
        submission.contest_run_result,
        "submission-contest",
    ),
    build_url_pattern("teams/<slug:slug>/", teams.show_own_team, "team"),
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
