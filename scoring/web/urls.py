"""The pages for readers and participants; those of organisers are in `organise`."""

from scoring.acts.runs import CHANGES
from scoring.web import account, annotate, guides, harvesting, joining, operate, receipts, teams
from scoring.web.boards import board, classes, files, sections, snapshots, standing
from scoring.web.pages import page
from scoring.web.runs import answers, compare, submission, upload
from scoring.web.seasons import messages, overview, papers, task

PHASE = "seasons/<slug:season>/<slug:task>/<slug:phase>/"

urlpatterns = [
    # Addresses are tried in this order, and most that are asked for are those of boards.
    # A phase cannot have this slug.
    page("seasons/<slug:season>/<slug:task>/published/", papers.published, "published"),
    page(PHASE, board.board, "board"),
    page("account/delete/", account.delete, "account-delete"),
    page("account/data.json", account.data, "account-data"),
    page("join/<str:secret>/", joining.join, "join"),
    page("join/<str:secret>/decline/", joining.decline, "join-decline"),
    page("teams/", joining.teams, "teams"),
    page("teams/<slug:slug>/invitation/renew/", joining.renew, "team-invitation-renew"),
    page("teams/<slug:slug>/invitation/revoke/", joining.revoke, "team-invitation-revoke"),
    page("teams/<slug:slug>/invitations/", joining.invite, "team-invite"),
    page("teams/<slug:slug>/invitations/<int:invited>/withdraw/", joining.withdraw, "team-invite-withdraw"),
    page("teams/<slug:slug>/members/<int:member>/lead/", joining.lead, "team-lead"),
    page("teams/<slug:slug>/describe/", joining.describe, "team-describe"),
    page("teams/<slug:slug>/leave/", joining.leave, "team-leave"),
    page("teams/<slug:slug>/merges/", joining.propose, "team-merge"),
    page("teams/<slug:slug>/merges/<int:proposal>/", joining.answer_proposal, "team-merge-answer"),
    page("join-requests/<int:asked>/take-back/", joining.withdraw_request, "join-take-back"),
    page("teams/<slug:slug>/requests/<int:asked>/", joining.answer_request, "team-request"),
    page("teams/<slug:slug>/members/<int:member>/remove/", joining.remove_member, "team-member-remove"),
    page("enter/<slug:season>/", joining.enter, "enter"),
    page("enter/<slug:season>/ask/", joining.ask, "ask-to-join"),
    page("enter/<slug:season>/take-back/", joining.withdraw_entry, "take-back"),
    page("announcements/<slug:season>/", messages.announcements, "announcements"),
    page("feeds/<slug:season>.atom", harvesting.of_season, "season-feed"),
    page("questions/<slug:season>/", messages.questions, "questions"),
    page("overview-paper/<slug:season>/", papers.overview_paper, "overview-paper"),
    page("overview-paper/<slug:season>.zip", papers.archive, "overview-paper-zip"),
    page("overview-paper/<slug:season>/files/<path:rest>", papers.one_file, "overview-paper-file"),
    page("jobs/<int:pk>/", account.background_job, "background-job"),
    page(
        "jobs/<int:pk>/status/",
        account.background_job,
        "background-job-status",
        template="background/_status.html",
    ),
    page("report/", operate.report, "report"),
    page("terms/<slug:season>/", messages.terms, "terms"),
    # A task cannot have this slug.
    page("seasons/<slug:season>/submit/", upload.season_upload, "season-upload"),
    # Nor this.
    page("seasons/<slug:season>/overall/", papers.overall, "overall"),
    *(
        page(f"seasons/<slug:season>/overall.{form}", papers.overall_file, f"overall-{form}", form=form)
        for form in papers.FORMS
    ),
    page("submissions/together/<int:pk>/", upload.bundle, "bundle"),
    page("seasons/<slug:season>/<slug:task>/", task.task, "task"),
    page("seasons/<slug:season>/<slug:task>/<slug:phase>/inputs.zip", task.inputs, "inputs"),
    page("seasons/<slug:season>/<slug:task>/<slug:phase>/submit/", upload.upload, "upload"),
    page("metrics", operate.metrics, "metrics"),
    page("operate/", operate.operate, "operate"),
    page("operate/mails/", operate.mails, "operate-mails"),
    page("operate/reports/", operate.reports, "operate-reports"),
    page("operate/reports/<int:report>/close/", operate.close, "operate-report-close"),
    page("messages/", account.inbox, "messages"),
    page("messages/read/", account.read, "messages-read"),
    page("messages/choices/", account.choices, "message-choices"),
    page("unsubscribe/<str:secret>/", account.unsubscribe, "unsubscribe"),
    page("", overview.home, "home"),
    page("robots.txt", harvesting.robots, "robots"),
    page("sitemap.xml", harvesting.sitemap, "sitemap"),
    page("seasons/<slug:season>/<slug:task>/croissant.json", harvesting.task_croissant, "croissant"),
    page("seasons/<slug:season>/<slug:task>/trec.zip", harvesting.trec, "data-trec"),
    page("seasons/<slug:season>/<slug:task>/hugging-face.zip", harvesting.hugging_face, "data-hugging-face"),
    page("data-sets/<slug:season>/<slug:task>/", task.data_sets, "data-sets"),
    page("archives/", guides.archives, "archives"),
    page("archives/<slug:archive>/", guides.archive, "archive"),
    page("archives/<slug:archive>/boards/<slug:board>/", guides.archive_board, "archive-board"),
    page("archives/<slug:archive>/files/<path:file>", guides.archive_file, "archive-file"),
    page("docs/", guides.guide_list, "guides"),
    page("docs/<slug:guide>/", guides.guide, "guide"),
    page("runs/", account.own_runs, "own-runs"),
    page("about/", overview.about, "about"),
    page("log/", receipts.receipt_log, "receipt-log"),
    page("client/", guides.client, "client"),
    page("client/<str:file>", guides.client_file, "client-file"),
    page("seasons/<slug:season>/", overview.season, "season"),
    page("seasons/<slug:season>/season.bib", snapshots.season_bib, "season-bib"),
    page("seasons/<slug:season>/<slug:task>/task.bib", snapshots.task_bib, "task-bib"),
    page("published/", papers.papers, "papers"),
    page("published/<slug:key>/", papers.paper, "paper"),
    page("published/<slug:key>/paper.bib", snapshots.paper_bib, "paper-bib"),
    page("published/seasons/<slug:season>/", papers.reproduced, "reproduced"),
    page("seasons/<slug:season>/<slug:task>/published.csv", papers.published_csv, "published-csv"),
    page("seasons/<slug:season>/<slug:task>/published.json", papers.published_json, "published-json"),
    *(
        page(f"{PHASE}board.{suffix}", files.board_export, f"board-{suffix.partition('.')[0]}", suffix=suffix)
        for suffix in (
            "csv",
            "json",
            "tex",
            "bib",
            "every-eval-ever.zip",
            "ir-metadata.zip",
            "papers-with-code.json",
        )
    ),
    page(f"{PHASE}board.hugging-face.zip", files.board_hugging_face, "board-hugging-face"),
    page(f"{PHASE}board.atom", harvesting.of_board, "board-feed"),
    page(f"{PHASE}cite/", snapshots.cite, "cite"),
    page(f"{PHASE}snapshots/<slug:digest>/", snapshots.snapshot, "snapshot"),
    page(f"{PHASE}snapshots/<slug:digest>/board.json", snapshots.snapshot_json, "snapshot-json"),
    page(f"{PHASE}snapshots/<slug:digest>/board.bib", snapshots.snapshot_bib, "snapshot-bib"),
    page(f"{PHASE}teams/<slug:slug>/badge.svg", files.team_badge, "team-badge"),
    page(
        f"{PHASE}teams/<slug:slug>/systems/<slug:system>/badge.svg", files.system_badge, "team-system-badge"
    ),
    page(f"{PHASE}classes.csv", files.classes_csv, "classes-csv"),
    page(f"{PHASE}classes.json", files.classes_json, "classes-json"),
    page(f"{PHASE}classes.tex", files.classes_tex, "classes-tex"),
    page(f"{PHASE}changes/", standing.changes_of_gold, "gold-changes"),
    page(f"{PHASE}costs/", sections.costs, "costs"),
    page(f"{PHASE}outside/", sections.outside, "outside"),
    page(f"{PHASE}human-evaluation/", files.data_sheet, "human-data-sheet"),
    *(
        page(f"{PHASE}human-evaluation.{form}", files.data_sheet_file, f"human-data-sheet-{form}", form=form)
        for form in files.FORMS
    ),
    page(f"{PHASE}against/", sections.pairings, "pairings"),
    page(f"{PHASE}compare/", compare.compare, "compare"),
    page(f"{PHASE}compare/instances/", compare.compare_instances, "compare-instances"),
    page(f"{PHASE}compare/several/", compare.compare_several, "compare-several"),
    page(f"{PHASE}differences/", classes.differences, "differences"),
    page(f"{PHASE}discourse/", classes.discourse, "discourse"),
    page(f"{PHASE}people/", sections.people, "people"),
    page(f"{PHASE}transfer/", classes.transfer, "transfer"),
    page(f"{PHASE}thresholds/", classes.thresholds, "thresholds"),
    page(f"{PHASE}runs/<int:submission>/", standing.standing, "standing"),
    page(f"{PHASE}runs/<int:submission>/run/", standing.standing_run, "standing-run"),
    page(f"{PHASE}gold/<int:number>/", standing.gold, "gold"),
    page(f"{PHASE}labels.zip", standing.labels, "labels"),
    page(f"{PHASE}runs/<int:submission>/run.bib", snapshots.run_bib, "standing-bib"),
    page("annotate/", annotate.own_sheets, "annotations"),
    page("annotate/<int:sheet>/", annotate.annotate, "annotate"),
    page("annotate/<int:sheet>/sheet.csv", annotate.annotate_csv, "annotate-csv"),
    page("annotate/<int:sheet>/ratings/", annotate.annotate_upload, "annotate-upload"),
    page("submissions/<int:pk>/", submission.submission, "submission"),
    page("submissions/<int:pk>/claims/", answers.claims, "submission-claims"),
    page("submissions/<int:pk>/instances/", answers.instances, "submission-instances"),
    page("submissions/<int:pk>/status/", submission.status, "submission-status"),
    page("submissions/<int:pk>/describe/", submission.describe, "submission-describe"),
    page("submissions/<int:pk>/delete-file/", submission.delete_run_file, "submission-delete-file"),
    page("submissions/<int:pk>/run/", submission.run_file, "submission-run"),
    *(
        page(f"submissions/<int:pk>/{how}/", submission.change, f"submission-{how}", how=how)
        for how in CHANGES
    ),
    page("submissions/<int:pk>/confirm/", submission.confirm, "submission-confirm"),
    page("submissions/<int:pk>/contest/", submission.contest, "submission-contest"),
    page("teams/<slug:slug>/", teams.team, "team"),
    page("teams/<slug:slug>/results/", teams.team_results, "team-results"),
    page("teams/<slug:slug>/results.atom", teams.team_results_feed, "team-feed"),
    page("teams/<slug:slug>/systems/<slug:system>/", teams.team_system, "team-system"),
    page("teams/<slug:slug>/systems/<slug:system>/results.atom", teams.team_system_feed, "team-system-feed"),
]
