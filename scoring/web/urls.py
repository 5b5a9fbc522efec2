"""The pages for readers and participants; those of organisers are in `organise`."""

from django.urls import path

from scoring.web import account, annotate, guides, harvesting, joining, operate, teams
from scoring.web.boards import board, classes, files, sections, snapshots, standing
from scoring.web.runs import answers, compare, submission, upload
from scoring.web.seasons import messages, overview, papers, task

PHASE = "seasons/<slug:season>/<slug:task>/<slug:phase>/"

urlpatterns = [
    # Addresses are tried in this order, and most that are asked for are those of boards.
    # A phase cannot have this slug.
    path("seasons/<slug:season>/<slug:task>/published/", papers.published, name="published"),
    path(PHASE, board.board, name="board"),
    path("account/delete/", account.delete, name="account-delete"),
    path("account/data.json", account.data, name="account-data"),
    path("join/<str:secret>/", joining.join, name="join"),
    path("join/<str:secret>/decline/", joining.decline, name="join-decline"),
    path("teams/<slug:slug>/merges/", joining.propose, name="team-merge"),
    path("teams/<slug:slug>/merges/<int:proposal>/", joining.answer_proposal, name="team-merge-answer"),
    path("join-requests/<int:asked>/take-back/", joining.withdraw_request, name="join-take-back"),
    path("teams/<slug:slug>/requests/<int:asked>/", joining.answer_request, name="team-request"),
    path("teams/<slug:slug>/members/<int:member>/remove/", joining.remove_member, name="team-member-remove"),
    path("enter/<slug:season>/", joining.enter, name="enter"),
    path("enter/<slug:season>/ask/", joining.ask, name="ask-to-join"),
    path("enter/<slug:season>/take-back/", joining.withdraw_entry, name="take-back"),
    path("announcements/<slug:season>/", messages.announcements, name="announcements"),
    path("feeds/<slug:season>.atom", harvesting.of_season, name="season-feed"),
    path("questions/<slug:season>/", messages.questions, name="questions"),
    path("overview-paper/<slug:season>/", papers.overview_paper, name="overview-paper"),
    path("overview-paper/<slug:season>.zip", papers.archive, name="overview-paper-zip"),
    path(
        "overview-paper/<slug:season>/files/<path:rest>",
        papers.one_file,
        name="overview-paper-file",
    ),
    path("jobs/<int:pk>/", account.background_job, name="background-job"),
    path(
        "jobs/<int:pk>/status/",
        account.background_job,
        {"template": "background/_status.html"},
        name="background-job-status",
    ),
    path("report/", operate.report, name="report"),
    path("terms/<slug:season>/", messages.terms, name="terms"),
    # A task cannot have this slug.
    path("seasons/<slug:season>/submit/", upload.season_upload, name="season-upload"),
    # Nor this.
    path("seasons/<slug:season>/overall/", papers.overall, name="overall"),
    *(
        path(
            f"seasons/<slug:season>/overall.{form}",
            papers.overall_file,
            {"form": form},
            name=f"overall-{form}",
        )
        for form in papers.FORMS
    ),
    path("submissions/together/<int:pk>/", upload.bundle, name="bundle"),
    path("seasons/<slug:season>/<slug:task>/", task.task, name="task"),
    path("seasons/<slug:season>/<slug:task>/<slug:phase>/inputs.zip", task.inputs, name="inputs"),
    path("seasons/<slug:season>/<slug:task>/<slug:phase>/submit/", upload.upload, name="upload"),
    path("metrics", operate.metrics, name="metrics"),
    path("operate/", operate.operate, name="operate"),
    path("operate/mails/", operate.mails, name="operate-mails"),
    path("operate/reports/", operate.reports, name="operate-reports"),
    path("operate/reports/<int:report>/close/", operate.close, name="operate-report-close"),
    path("messages/", account.inbox, name="messages"),
    path("messages/read/", account.read, name="messages-read"),
    path("messages/choices/", account.choices, name="message-choices"),
    path("unsubscribe/<str:secret>/", account.unsubscribe, name="unsubscribe"),
    path("", overview.home, name="home"),
    path("robots.txt", harvesting.robots, name="robots"),
    path("sitemap.xml", harvesting.sitemap, name="sitemap"),
    path("seasons/<slug:season>/<slug:task>/croissant.json", harvesting.task_croissant, name="croissant"),
    path("seasons/<slug:season>/<slug:task>/trec.zip", harvesting.trec, name="data-trec"),
    path(
        "seasons/<slug:season>/<slug:task>/hugging-face.zip",
        harvesting.hugging_face,
        name="data-hugging-face",
    ),
    path("data-sets/<slug:season>/<slug:task>/", task.data_sets, name="data-sets"),
    path("archives/", guides.archives, name="archives"),
    path("archives/<slug:archive>/", guides.archive, name="archive"),
    path("archives/<slug:archive>/boards/<slug:board>/", guides.archive_board, name="archive-board"),
    path("archives/<slug:archive>/files/<path:file>", guides.archive_file, name="archive-file"),
    path("docs/", guides.guide_list, name="guides"),
    path("docs/<slug:guide>/", guides.guide, name="guide"),
    path("runs/", account.own_runs, name="own-runs"),
    path("about/", overview.about, name="about"),
    path("client/", guides.client, name="client"),
    path("client/<str:file>", guides.client_file, name="client-file"),
    path("seasons/<slug:season>/", overview.season, name="season"),
    path("seasons/<slug:season>/season.bib", snapshots.season_bib, name="season-bib"),
    path("seasons/<slug:season>/<slug:task>/task.bib", snapshots.task_bib, name="task-bib"),
    path("published/", papers.papers, name="papers"),
    path("published/<slug:key>/", papers.paper, name="paper"),
    path("published/<slug:key>/paper.bib", snapshots.paper_bib, name="paper-bib"),
    path("published/seasons/<slug:season>/", papers.reproduced, name="reproduced"),
    path("seasons/<slug:season>/<slug:task>/published.csv", papers.published_csv, name="published-csv"),
    path("seasons/<slug:season>/<slug:task>/published.json", papers.published_json, name="published-json"),
    *(
        path(f"{PHASE}board.{suffix}", view, {"name": suffix}, name=f"board-{suffix.partition('.')[0]}")
        for suffix, view in {
            "csv": files.board_export,
            "json": files.board_json,
            "tex": files.board_export,
            "bib": files.board_export,
            "every-eval-ever.zip": files.board_export,
            "ir-metadata.zip": files.board_export,
            "papers-with-code.json": files.board_json,
        }.items()
    ),
    path(f"{PHASE}board.hugging-face.zip", files.board_hugging_face, name="board-hugging-face"),
    path(f"{PHASE}board.atom", harvesting.of_board, name="board-feed"),
    path(f"{PHASE}cite/", snapshots.cite, name="cite"),
    path(f"{PHASE}snapshots/<slug:digest>/", snapshots.snapshot, name="snapshot"),
    path(f"{PHASE}snapshots/<slug:digest>/board.json", snapshots.snapshot_json, name="snapshot-json"),
    path(f"{PHASE}snapshots/<slug:digest>/board.bib", snapshots.snapshot_bib, name="snapshot-bib"),
    path(f"{PHASE}teams/<slug:slug>/badge.svg", files.team_badge, name="team-badge"),
    path(
        f"{PHASE}teams/<slug:slug>/systems/<slug:system>/badge.svg",
        files.system_badge,
        name="team-system-badge",
    ),
    path(f"{PHASE}classes.csv", files.classes_csv, name="classes-csv"),
    path(f"{PHASE}classes.json", files.classes_json, name="classes-json"),
    path(f"{PHASE}classes.tex", files.classes_tex, name="classes-tex"),
    path(f"{PHASE}changes/", standing.changes_of_gold, name="gold-changes"),
    path(f"{PHASE}costs/", sections.costs, name="costs"),
    path(f"{PHASE}outside/", sections.outside, name="outside"),
    path(f"{PHASE}human-evaluation/", files.data_sheet, name="human-data-sheet"),
    *(
        path(
            f"{PHASE}human-evaluation.{form}",
            files.data_sheet_file,
            {"form": form},
            name=f"human-data-sheet-{form}",
        )
        for form in files.FORMS
    ),
    path(f"{PHASE}against/", sections.pairings, name="pairings"),
    path(f"{PHASE}compare/", compare.compare, name="compare"),
    path(f"{PHASE}compare/instances/", compare.compare_instances, name="compare-instances"),
    path(f"{PHASE}compare/several/", compare.compare_several, name="compare-several"),
    path(f"{PHASE}differences/", classes.differences, name="differences"),
    path(f"{PHASE}discourse/", classes.discourse, name="discourse"),
    path(f"{PHASE}people/", sections.people, name="people"),
    path(f"{PHASE}transfer/", classes.transfer, name="transfer"),
    path(f"{PHASE}thresholds/", classes.thresholds, name="thresholds"),
    path(f"{PHASE}runs/<int:submission>/", standing.standing, name="standing"),
    path(f"{PHASE}runs/<int:submission>/run/", standing.standing_run, name="standing-run"),
    path(f"{PHASE}gold/<int:number>/", standing.gold, name="gold"),
    path(f"{PHASE}labels.zip", standing.labels, name="labels"),
    path(f"{PHASE}runs/<int:submission>/run.bib", snapshots.run_bib, name="standing-bib"),
    path("annotate/", annotate.own_sheets, name="annotations"),
    path("annotate/<int:sheet>/", annotate.annotate, name="annotate"),
    path("annotate/<int:sheet>/sheet.csv", annotate.annotate_csv, name="annotate-csv"),
    path("annotate/<int:sheet>/ratings/", annotate.annotate_upload, name="annotate-upload"),
    path("submissions/<int:pk>/", submission.submission, name="submission"),
    path("submissions/<int:pk>/claims/", answers.claims, name="submission-claims"),
    path("submissions/<int:pk>/instances/", answers.instances, name="submission-instances"),
    path("submissions/<int:pk>/status/", submission.status, name="submission-status"),
    path("submissions/<int:pk>/describe/", submission.describe, name="submission-describe"),
    path("submissions/<int:pk>/delete-file/", submission.delete_run_file, name="submission-delete-file"),
    path("submissions/<int:pk>/run/", submission.run_file, name="submission-run"),
    *(
        path(f"submissions/<int:pk>/{how}/", submission.change, {"how": how}, name=f"submission-{how}")
        for how in submission.CHANGES
    ),
    path("submissions/<int:pk>/confirm/", submission.answer, {"how": "confirm"}, name="submission-confirm"),
    path("submissions/<int:pk>/contest/", submission.answer, {"how": "contest"}, name="submission-contest"),
    path("teams/<slug:slug>/", teams.team, name="team"),
    path("teams/<slug:slug>/results/", teams.team_results, name="team-results"),
    path("teams/<slug:slug>/results.atom", teams.team_results_feed, name="team-feed"),
    path("teams/<slug:slug>/systems/<slug:system>/", teams.team_system, name="team-system"),
    path(
        "teams/<slug:slug>/systems/<slug:system>/results.atom",
        teams.team_system_feed,
        name="team-system-feed",
    ),
]
