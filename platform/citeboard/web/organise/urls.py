"""The URL patterns of the pages for organisers."""

from citeboard.web.organise import (
    battles,
    bundles,
    declare,
    estimates,
    gold,
    human,
    judges,
    ledger,
    overview,
    settings,
    suspects,
    teams,
)
from citeboard.web.pages import build_url_pattern

RUN_PAGE_URL_PREFIX = "submissions/<int:pk>/"

of_season = [
    build_url_pattern("", overview.organise, "organise"),
    build_url_pattern("runs/", overview.runs, "organise-runs"),
    build_url_pattern(
        "failures/<int:submission>/acknowledge/",
        overview.acknowledge_failure,
        "organise-acknowledge",
    ),
    build_url_pattern(
        "acknowledgements/<int:acknowledgement>/take-back/",
        overview.revoke_acknowledgement,
        "organise-acknowledge-back",
    ),
    build_url_pattern("progress/", overview.progress, "organise-progress"),
    build_url_pattern("runs.csv", overview.runs_as_csv, "organise-runs-csv"),
    build_url_pattern(
        "phases/<int:phase>/counting-runs.zip",
        overview.counting_zip,
        "organise-counting-zip",
    ),
    build_url_pattern("baselines/", gold.listed, "organise-baselines"),
    build_url_pattern(
        "baselines/<int:phase>/compute/", gold.compute, "organise-baselines-compute"
    ),
    build_url_pattern("gold/", gold.gold, "organise-gold"),
    build_url_pattern("power/", gold.power, "organise-power"),
    build_url_pattern("gold/rescore/", gold.rescore_season, "organise-rescore-season"),
    build_url_pattern("gold/<int:phase>/rescore/", gold.rescore, "organise-rescore"),
    build_url_pattern("gold/<int:phase>/draw/", gold.draw_again, "organise-draw-again"),
    build_url_pattern(
        "gold/<int:phase>/stop/", gold.stop_rescoring, "organise-rescore-stop"
    ),
    build_url_pattern("secrecy/", gold.secrecy, "organise-secrecy"),
    build_url_pattern("secrecy.json", gold.secrecy_as_json, "organise-secrecy-json"),
    build_url_pattern("secrecy/<int:gold>/seal/", gold.seal, "organise-gold-seal"),
    build_url_pattern(
        "secrecy/<int:gold>/delete/", gold.delete_version, "organise-gold-delete"
    ),
    build_url_pattern("human/", human.sheets, "organise-human"),
    build_url_pattern("human/<int:phase>/make/", human.make, "organise-sheet-make"),
    build_url_pattern("sheets/<int:sheet>/", human.sheet, "organise-sheet"),
    build_url_pattern(
        "sheets/<int:sheet>/annotators/",
        human.add_annotator,
        "organise-sheet-annotator",
    ),
    build_url_pattern(
        "sheets/<int:sheet>/adjudication/",
        human.adjudication,
        "organise-sheet-adjudication",
    ),
    build_url_pattern(
        "sheets/<int:sheet>/references/", human.references, "organise-sheet-references"
    ),
    build_url_pattern(
        "sheets/<int:sheet>/data-sheet/", human.data_sheet, "organise-data-sheet"
    ),
    build_url_pattern(
        "sheets/<int:sheet>/ratings/", human.bring_ratings, "organise-sheet-ratings"
    ),
    build_url_pattern(
        "sheets/<int:sheet>/publish/", human.publish_sheet, "organise-sheet-publish"
    ),
    build_url_pattern(
        "sheets/<int:sheet>/take-back/",
        human.take_sheet_back,
        "organise-sheet-take-back",
    ),
    build_url_pattern(
        "sheets/<int:sheet>/reopen/", human.reopen_sheet, "organise-sheet-reopen"
    ),
    build_url_pattern("battles/", battles.sheets, "organise-battles"),
    build_url_pattern("battles/make/<int:phase>/", battles.make, "organise-pairs-make"),
    build_url_pattern(
        "battles/bring/<int:phase>/", battles.bring, "organise-battles-bring"
    ),
    build_url_pattern("battles/<int:pairs>/", battles.sheet, "organise-pair-sheet"),
    build_url_pattern(
        "battles/<int:pairs>/judges/", battles.add_judge, "organise-judge-add"
    ),
    build_url_pattern(
        "battles/<int:pairs>/judges/<int:annotator>/remove/",
        battles.remove_judge,
        "organise-judge-remove",
    ),
    build_url_pattern(
        "battles/<int:pairs>/battles.jsonl", battles.rows, "organise-pair-sheet-rows"
    ),
    build_url_pattern(
        "battles/<int:pairs>/publish/", battles.publish, "organise-pairs-publish"
    ),
    build_url_pattern(
        "battles/<int:pairs>/take-back/", battles.take_back, "organise-pairs-take-back"
    ),
    build_url_pattern(
        "battles/<int:pairs>/reopen/", battles.reopen, "organise-pairs-reopen"
    ),
    build_url_pattern("estimates/", estimates.sheets, "organise-estimates"),
    build_url_pattern(
        "estimates/make/<int:phase>/", estimates.make, "organise-estimates-make"
    ),
    build_url_pattern(
        "estimates/disagreements/<int:phase>/",
        estimates.compare,
        "organise-disagreements-make",
    ),
    build_url_pattern(
        "estimates/<int:estimates>/sheet.jsonl",
        estimates.rows,
        "organise-estimates-rows",
    ),
    build_url_pattern(
        "estimates/<int:estimates>/labels/",
        estimates.bring,
        "organise-estimates-labels",
    ),
    build_url_pattern(
        "estimates/<int:estimates>/publish/",
        estimates.publish,
        "organise-estimates-publish",
    ),
    build_url_pattern(
        "estimates/<int:estimates>/take-back/",
        estimates.take_back,
        "organise-estimates-take-back",
    ),
    build_url_pattern("models/", gold.models, "organise-models"),
    build_url_pattern("models/pairs.jsonl", gold.pairs, "organise-pairs"),
    build_url_pattern("models/labels.jsonl", gold.entailment_labels, "organise-labels"),
    build_url_pattern("models/labels/share/", gold.share, "organise-labels-share"),
    build_url_pattern("ledger/", ledger.ledger, "organise-ledger"),
    build_url_pattern("ledger/rows.jsonl", ledger.rows, "organise-ledger-rows"),
    build_url_pattern("ledger/withdraw/", ledger.withdraw, "organise-ledger-withdraw"),
    build_url_pattern("judges/", judges.judges, "organise-judges"),
    build_url_pattern(
        "judges/<int:phase>/agree/", judges.agree, "organise-judges-agree"
    ),
    build_url_pattern("judges/<int:phase>/ask/", judges.ask, "organise-judges-ask"),
    build_url_pattern(
        "judges/<int:phase>/estimate/", judges.estimate, "organise-judges-estimate"
    ),
    build_url_pattern(
        "judges/<int:phase>/leave-out/",
        judges.leave_out,
        "organise-judges-leave-out",
    ),
    build_url_pattern(
        "judges/<int:phase>/dismiss/", judges.dismiss, "organise-judges-dismiss"
    ),
    build_url_pattern("launch/", overview.launch, "organise-launch"),
    build_url_pattern(
        "launch/baselines/", overview.compute_first, "organise-launch-baselines"
    ),
    build_url_pattern("launch/mail/", overview.test_mail, "organise-launch-mail"),
    build_url_pattern("launch/open/", overview.open_season, "organise-launch-open"),
    build_url_pattern("calendar/", overview.calendar, "organise-calendar"),
    build_url_pattern("phases/", overview.phases, "organise-phases"),
    build_url_pattern("phases/<int:phase>/", overview.times, "organise-times"),
    build_url_pattern(
        "phases/<int:phase>/outside/", overview.manual_scores, "organise-outside"
    ),
    build_url_pattern(
        "phases/<int:phase>/old-runs/", bundles.old_runs, "organise-old-runs"
    ),
    build_url_pattern("phases/<int:phase>/errata/", overview.errata, "organise-errata"),
    build_url_pattern(
        "phases/<int:phase>/suspects/", suspects.suspects, "organise-suspects"
    ),
    build_url_pattern("phases/<int:phase>/board/", overview.board, "organise-board"),
    build_url_pattern("phases/<int:phase>/freeze/", overview.freeze, "organise-freeze"),
    build_url_pattern(
        "phases/<int:phase>/freeze/now/", overview.freeze_at_once, "organise-freeze-now"
    ),
    build_url_pattern(
        "phases/<int:phase>/unfreeze/", overview.unfreeze, "organise-unfreeze"
    ),
    build_url_pattern(
        "phases/<int:phase>/confirmation/",
        overview.confirmation,
        "organise-confirmation",
    ),
    build_url_pattern(
        "phases/<int:phase>/confirmation/end/",
        overview.end,
        "organise-confirmation-end",
    ),
    build_url_pattern(
        "phases/<int:phase>/confirmation/reopen/",
        overview.reopen,
        "organise-confirmation-reopen",
    ),
    build_url_pattern("phases/<int:phase>/reveal/", overview.reveal, "organise-reveal"),
    build_url_pattern("phases/<int:phase>/open/", overview.open_phase, "organise-open"),
    build_url_pattern("phases/<int:phase>/close/", overview.close, "organise-close"),
    build_url_pattern("teams/", teams.teams, "organise-teams"),
    build_url_pattern("teams/<int:entry>/", teams.decide, "organise-decide"),
    build_url_pattern("tries/", teams.extra_tries, "organise-tries"),
    build_url_pattern(
        "tries/<int:given>/take-back/", teams.revoke_tries, "organise-tries-back"
    ),
    build_url_pattern("entry/", teams.entry, "organise-entry"),
    build_url_pattern("people/", teams.people, "organise-people"),
    build_url_pattern(
        "people/<int:organiser>/remove/", teams.remove_person, "organise-person-remove"
    ),
    build_url_pattern("merge/", teams.merge, "organise-merge"),
    build_url_pattern("team-rules/", teams.rules, "organise-team-rules"),
    build_url_pattern(
        "sheets/<int:sheet>/annotators/<int:annotator>/remove/",
        human.remove,
        "organise-annotator-remove",
    ),
    build_url_pattern("terms/", teams.terms, "organise-terms"),
    build_url_pattern("terms.csv", teams.acceptances_csv, "organise-terms-csv"),
    build_url_pattern("announcement/", teams.announcement, "organise-announcement"),
    build_url_pattern(
        "announcements/<int:announcement>/", teams.edit, "organise-announcement-edit"
    ),
    build_url_pattern(
        "announcements/<int:announcement>/take-back/",
        teams.revoke,
        "organise-announcement-take-back",
    ),
    build_url_pattern("mails/", teams.mails, "organise-mails"),
    build_url_pattern("questions/", teams.questions, "organise-questions"),
    build_url_pattern(
        "questions/<int:question>/", teams.answer_page, "organise-answer"
    ),
    build_url_pattern("webhooks/", teams.webhooks, "organise-webhooks"),
    build_url_pattern(
        "webhooks/<int:webhook>/", teams.deliveries, "organise-deliveries"
    ),
    build_url_pattern(
        "webhooks/<int:webhook>/secret/", teams.renew, "organise-webhook-renew"
    ),
    build_url_pattern(
        "webhooks/<int:webhook>/remove/", teams.remove, "organise-webhook-remove"
    ),
    build_url_pattern(
        "deliveries/<int:delivery>/repeat/", teams.repeat, "organise-delivery-repeat"
    ),
    build_url_pattern("file/", settings.season_file, "organise-file"),
    build_url_pattern("season.zip", settings.season_zip, "organise-zip"),
    build_url_pattern("file/gold/", settings.season_zip_with_gold, "organise-zip-gold"),
    build_url_pattern("season.toml", settings.season_toml, "organise-toml"),
    build_url_pattern("archive/", settings.archive, "organise-archive"),
    build_url_pattern(
        "archive/<int:job>.zip", settings.archive_zip, "organise-archive-zip"
    ),
    build_url_pattern("clone/", settings.clone, "organise-clone"),
    build_url_pattern("settings/", settings.settings, "organise-settings"),
    build_url_pattern("settings/delete/", settings.delete_draft, "organise-delete"),
    build_url_pattern(
        "settings/season/", settings.edit, "organise-settings-season", what="season"
    ),
    build_url_pattern(
        "settings/tasks/new/",
        settings.edit,
        "organise-settings-new-task",
        what="new-task",
    ),
    build_url_pattern(
        "settings/tasks/declare/", declare.declare, "organise-settings-declare"
    ),
    build_url_pattern(
        "settings/tasks/<int:task>/declare/",
        declare.declare,
        "organise-settings-declaration",
    ),
    build_url_pattern(
        "settings/tasks/<int:task>/",
        settings.edit,
        "organise-settings-task",
        what="task",
    ),
    build_url_pattern(
        "settings/tasks/<int:task>/phases/new/",
        settings.edit,
        "organise-settings-new-phase",
        what="new-phase",
    ),
    build_url_pattern(
        "settings/phases/<int:phase>/",
        settings.edit,
        "organise-settings-phase",
        what="phase",
    ),
    build_url_pattern(
        "settings/tasks/<int:task>/delete/",
        settings.delete_task,
        "organise-settings-delete-task",
    ),
    build_url_pattern(
        "settings/phases/<int:phase>/delete/",
        settings.delete_phase,
        "organise-settings-delete-phase",
    ),
    build_url_pattern(
        "history/<int:change>/undo/", overview.undo_entry, "organise-undo"
    ),
    build_url_pattern("history/", overview.history_page, "organise-history"),
    build_url_pattern("bundle/", bundles.report, "organise-bundle"),
]
urlpatterns = [
    build_url_pattern(
        f"{RUN_PAGE_URL_PREFIX}judgements/", human.judgements, "submission-judgements"
    ),
    build_url_pattern(
        f"{RUN_PAGE_URL_PREFIX}judgements/publish/",
        human.publish_judgements,
        "submission-judgements-publish",
    ),
    build_url_pattern(
        f"{RUN_PAGE_URL_PREFIX}judgements/take-back/",
        human.take_judgements_back,
        "submission-judgements-take-back",
    ),
    build_url_pattern(
        f"{RUN_PAGE_URL_PREFIX}rescore/", gold.rescore_run, "submission-rescore"
    ),
    build_url_pattern(
        "new-season/bundle/", bundles.new_from_bundle, "new-season-bundle"
    ),
    build_url_pattern(
        "new-season/<slug:preset>/", settings.new_from_preset, "new-season-preset"
    ),
    build_url_pattern("new-season/", settings.new_season, "new-season"),
]
