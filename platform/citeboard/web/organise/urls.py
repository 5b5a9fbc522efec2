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

season_url_patterns = [
    build_url_pattern("", overview.show_organiser_overview, "organise"),
    build_url_pattern("runs/", overview.list_season_runs, "organise-runs"),
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
    build_url_pattern("progress/", overview.show_season_progress, "organise-progress"),
    build_url_pattern("runs.csv", overview.download_runs_as_csv, "organise-runs-csv"),
    build_url_pattern(
        "phases/<int:phase>/counting-runs.zip",
        overview.download_counting_runs,
        "organise-counting-zip",
    ),
    build_url_pattern("baselines/", gold.show_baselines, "organise-baselines"),
    build_url_pattern(
        "baselines/<int:phase>/compute/",
        gold.compute_baselines,
        "organise-baselines-compute",
    ),
    build_url_pattern("gold/", gold.manage_gold, "organise-gold"),
    build_url_pattern("power/", gold.show_statistical_power, "organise-power"),
    build_url_pattern("gold/rescore/", gold.rescore_season, "organise-rescore-season"),
    build_url_pattern(
        "gold/<int:phase>/rescore/", gold.rescore_phase, "organise-rescore"
    ),
    build_url_pattern(
        "gold/<int:phase>/draw/", gold.redraw_public_part, "organise-draw-again"
    ),
    build_url_pattern(
        "gold/<int:phase>/stop/", gold.cancel_phase_rescoring, "organise-rescore-stop"
    ),
    build_url_pattern("secrecy/", gold.show_secrecy_report, "organise-secrecy"),
    build_url_pattern(
        "secrecy.json", gold.download_secrecy_report, "organise-secrecy-json"
    ),
    build_url_pattern("secrecy/<int:gold>/seal/", gold.seal_gold, "organise-gold-seal"),
    build_url_pattern(
        "secrecy/<int:gold>/delete/", gold.delete_gold_version, "organise-gold-delete"
    ),
    build_url_pattern("human/", human.show_rating_sheets, "organise-human"),
    build_url_pattern(
        "human/<int:phase>/make/", human.create_rating_sheet, "organise-sheet-make"
    ),
    build_url_pattern("sheets/<int:sheet>/", human.show_rating_sheet, "organise-sheet"),
    build_url_pattern(
        "sheets/<int:sheet>/annotators/",
        human.add_annotator,
        "organise-sheet-annotator",
    ),
    build_url_pattern(
        "sheets/<int:sheet>/adjudication/",
        human.change_adjudication_distance,
        "organise-sheet-adjudication",
    ),
    build_url_pattern(
        "sheets/<int:sheet>/references/",
        human.show_gold_texts_to_annotators,
        "organise-sheet-references",
    ),
    build_url_pattern(
        "sheets/<int:sheet>/data-sheet/", human.edit_data_sheet, "organise-data-sheet"
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
        "sheets/<int:sheet>/reopen/", human.reopen_rating_sheet, "organise-sheet-reopen"
    ),
    build_url_pattern("battles/", battles.show_pair_sheets, "organise-battles"),
    build_url_pattern(
        "battles/make/<int:phase>/", battles.create_pair_sheet, "organise-pairs-make"
    ),
    build_url_pattern(
        "battles/bring/<int:phase>/",
        battles.import_pair_judgements,
        "organise-battles-bring",
    ),
    build_url_pattern(
        "battles/<int:pairs>/", battles.show_pair_sheet, "organise-pair-sheet"
    ),
    build_url_pattern(
        "battles/<int:pairs>/judges/", battles.add_judge, "organise-judge-add"
    ),
    build_url_pattern(
        "battles/<int:pairs>/judges/<int:annotator>/remove/",
        battles.remove_judge,
        "organise-judge-remove",
    ),
    build_url_pattern(
        "battles/<int:pairs>/battles.jsonl",
        battles.download_pair_judgements,
        "organise-pair-sheet-rows",
    ),
    build_url_pattern(
        "battles/<int:pairs>/publish/",
        battles.publish_pair_judgements,
        "organise-pairs-publish",
    ),
    build_url_pattern(
        "battles/<int:pairs>/take-back/",
        battles.unpublish_pair_judgements,
        "organise-pairs-take-back",
    ),
    build_url_pattern(
        "battles/<int:pairs>/reopen/",
        battles.reopen_pair_sheet,
        "organise-pairs-reopen",
    ),
    build_url_pattern(
        "estimates/", estimates.show_estimate_sheets, "organise-estimates"
    ),
    build_url_pattern(
        "estimates/make/<int:phase>/",
        estimates.create_estimate_sheet,
        "organise-estimates-make",
    ),
    build_url_pattern(
        "estimates/disagreements/<int:phase>/",
        estimates.create_disagreement_sheet,
        "organise-disagreements-make",
    ),
    build_url_pattern(
        "estimates/<int:estimates>/sheet.jsonl",
        estimates.download_unlabelled_lines,
        "organise-estimates-rows",
    ),
    build_url_pattern(
        "estimates/<int:estimates>/labels/",
        estimates.import_people_labels,
        "organise-estimates-labels",
    ),
    build_url_pattern(
        "estimates/<int:estimates>/publish/",
        estimates.publish_estimated_scores,
        "organise-estimates-publish",
    ),
    build_url_pattern(
        "estimates/<int:estimates>/take-back/",
        estimates.unpublish_estimated_scores,
        "organise-estimates-take-back",
    ),
    build_url_pattern("models/", gold.import_judge_labels, "organise-models"),
    build_url_pattern(
        "models/pairs.jsonl", gold.download_unlabelled_texts, "organise-pairs"
    ),
    build_url_pattern(
        "models/labels.jsonl", gold.download_judge_labels, "organise-labels"
    ),
    build_url_pattern(
        "models/labels/share/", gold.share_judge_labels, "organise-labels-share"
    ),
    build_url_pattern("ledger/", ledger.import_judgements_to_ledger, "organise-ledger"),
    build_url_pattern(
        "ledger/rows.jsonl", ledger.download_ledger_judgements, "organise-ledger-rows"
    ),
    build_url_pattern(
        "ledger/withdraw/", ledger.withdraw_ledger_import, "organise-ledger-withdraw"
    ),
    build_url_pattern("judges/", judges.show_llm_judges, "organise-judges"),
    build_url_pattern(
        "judges/<int:phase>/agree/", judges.consent_to_judge, "organise-judges-agree"
    ),
    build_url_pattern(
        "judges/<int:phase>/ask/", judges.queue_judge_questions, "organise-judges-ask"
    ),
    build_url_pattern(
        "judges/<int:phase>/estimate/",
        judges.estimate_judge_cost,
        "organise-judges-estimate",
    ),
    build_url_pattern(
        "judges/<int:phase>/leave-out/",
        judges.exclude_unlabelled_pairs,
        "organise-judges-leave-out",
    ),
    build_url_pattern(
        "judges/<int:phase>/dismiss/", judges.dismiss_judge, "organise-judges-dismiss"
    ),
    build_url_pattern("launch/", overview.show_launch_checklist, "organise-launch"),
    build_url_pattern(
        "launch/baselines/",
        overview.compute_first_baselines,
        "organise-launch-baselines",
    ),
    build_url_pattern("launch/mail/", overview.test_mail, "organise-launch-mail"),
    build_url_pattern("launch/open/", overview.publish_season, "organise-launch-open"),
    build_url_pattern("calendar/", overview.edit_calendar, "organise-calendar"),
    build_url_pattern("phases/", overview.show_phases, "organise-phases"),
    build_url_pattern(
        "phases/<int:phase>/", overview.edit_phase_times, "organise-times"
    ),
    build_url_pattern(
        "phases/<int:phase>/outside/", overview.enter_manual_scores, "organise-outside"
    ),
    build_url_pattern(
        "phases/<int:phase>/old-runs/", bundles.score_old_runs, "organise-old-runs"
    ),
    build_url_pattern(
        "phases/<int:phase>/errata/", overview.publish_erratum, "organise-errata"
    ),
    build_url_pattern(
        "phases/<int:phase>/suspects/",
        suspects.show_suspicious_instances,
        "organise-suspects",
    ),
    build_url_pattern(
        "phases/<int:phase>/board/", overview.edit_board_audience, "organise-board"
    ),
    build_url_pattern(
        "phases/<int:phase>/freeze/", overview.edit_board_freeze, "organise-freeze"
    ),
    build_url_pattern(
        "phases/<int:phase>/freeze/now/",
        overview.freeze_board_now,
        "organise-freeze-now",
    ),
    build_url_pattern(
        "phases/<int:phase>/unfreeze/", overview.unfreeze_board, "organise-unfreeze"
    ),
    build_url_pattern(
        "phases/<int:phase>/confirmation/",
        overview.show_result_confirmation,
        "organise-confirmation",
    ),
    build_url_pattern(
        "phases/<int:phase>/confirmation/end/",
        overview.end_result_confirmation,
        "organise-confirmation-end",
    ),
    build_url_pattern(
        "phases/<int:phase>/confirmation/reopen/",
        overview.reopen_result_confirmation,
        "organise-confirmation-reopen",
    ),
    build_url_pattern(
        "phases/<int:phase>/reveal/", overview.reveal_board_now, "organise-reveal"
    ),
    build_url_pattern(
        "phases/<int:phase>/open/", overview.open_phase_now, "organise-open"
    ),
    build_url_pattern(
        "phases/<int:phase>/close/", overview.close_phase_now, "organise-close"
    ),
    build_url_pattern("teams/", teams.show_season_teams, "organise-teams"),
    build_url_pattern(
        "teams/<int:entry>/", teams.decide_on_registration, "organise-decide"
    ),
    build_url_pattern("tries/", teams.grant_extra_tries, "organise-tries"),
    build_url_pattern(
        "tries/<int:given>/take-back/",
        teams.withdraw_extra_tries,
        "organise-tries-back",
    ),
    build_url_pattern("entry/", teams.change_registration_setting, "organise-entry"),
    build_url_pattern("people/", teams.manage_organisers, "organise-people"),
    build_url_pattern(
        "people/<int:organiser>/remove/",
        teams.remove_season_organiser,
        "organise-person-remove",
    ),
    build_url_pattern("merge/", teams.merge_season_teams, "organise-merge"),
    build_url_pattern("team-rules/", teams.edit_team_rules, "organise-team-rules"),
    build_url_pattern(
        "sheets/<int:sheet>/annotators/<int:annotator>/remove/",
        human.remove_annotator,
        "organise-annotator-remove",
    ),
    build_url_pattern("terms/", teams.edit_terms, "organise-terms"),
    build_url_pattern(
        "terms.csv", teams.download_terms_acceptances, "organise-terms-csv"
    ),
    build_url_pattern(
        "announcement/", teams.publish_announcement, "organise-announcement"
    ),
    build_url_pattern(
        "announcements/<int:announcement>/",
        teams.edit_announcement,
        "organise-announcement-edit",
    ),
    build_url_pattern(
        "announcements/<int:announcement>/take-back/",
        teams.withdraw_announcement,
        "organise-announcement-take-back",
    ),
    build_url_pattern("mails/", teams.send_mail_to_teams, "organise-mails"),
    build_url_pattern("questions/", teams.list_questions, "organise-questions"),
    build_url_pattern(
        "questions/<int:question>/", teams.answer_question, "organise-answer"
    ),
    build_url_pattern("webhooks/", teams.manage_webhooks, "organise-webhooks"),
    build_url_pattern(
        "webhooks/<int:webhook>/", teams.list_webhook_deliveries, "organise-deliveries"
    ),
    build_url_pattern(
        "webhooks/<int:webhook>/secret/",
        teams.renew_webhook_secret,
        "organise-webhook-renew",
    ),
    build_url_pattern(
        "webhooks/<int:webhook>/remove/",
        teams.remove_webhook,
        "organise-webhook-remove",
    ),
    build_url_pattern(
        "deliveries/<int:delivery>/repeat/",
        teams.repeat_webhook_delivery,
        "organise-delivery-repeat",
    ),
    build_url_pattern("file/", settings.load_season_file, "organise-file"),
    build_url_pattern("season.zip", settings.download_season_zip, "organise-zip"),
    build_url_pattern(
        "file/gold/", settings.download_season_zip_with_gold, "organise-zip-gold"
    ),
    build_url_pattern("season.toml", settings.download_season_toml, "organise-toml"),
    build_url_pattern("archive/", settings.create_archive, "organise-archive"),
    build_url_pattern(
        "archive/<int:job>.zip", settings.download_archive, "organise-archive-zip"
    ),
    build_url_pattern("clone/", settings.clone_season, "organise-clone"),
    build_url_pattern("settings/", settings.show_season_settings, "organise-settings"),
    build_url_pattern("settings/delete/", settings.delete_draft, "organise-delete"),
    build_url_pattern(
        "settings/season/",
        settings.edit_settings,
        "organise-settings-season",
        what="season",
    ),
    build_url_pattern(
        "settings/tasks/new/",
        settings.edit_settings,
        "organise-settings-new-task",
        what="new-task",
    ),
    build_url_pattern(
        "settings/tasks/declare/",
        declare.edit_declared_task,
        "organise-settings-declare",
    ),
    build_url_pattern(
        "settings/tasks/<int:task>/declare/",
        declare.edit_declared_task,
        "organise-settings-declaration",
    ),
    build_url_pattern(
        "settings/tasks/<int:task>/",
        settings.edit_settings,
        "organise-settings-task",
        what="task",
    ),
    build_url_pattern(
        "settings/tasks/<int:task>/phases/new/",
        settings.edit_settings,
        "organise-settings-new-phase",
        what="new-phase",
    ),
    build_url_pattern(
        "settings/phases/<int:phase>/",
        settings.edit_settings,
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
        "history/<int:change>/undo/", overview.undo_recent_change, "organise-undo"
    ),
    build_url_pattern("history/", overview.show_season_history, "organise-history"),
    build_url_pattern("bundle/", bundles.show_bundle_report, "organise-bundle"),
]
urlpatterns = [
    build_url_pattern(
        f"{RUN_PAGE_URL_PREFIX}judgements/",
        human.import_claim_judgements,
        "submission-judgements",
    ),
    build_url_pattern(
        f"{RUN_PAGE_URL_PREFIX}judgements/publish/",
        human.publish_claim_judgements,
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
        "new-season/bundle/", bundles.create_season_from_bundle, "new-season-bundle"
    ),
    build_url_pattern(
        "new-season/<slug:preset>/",
        settings.create_season_from_preset,
        "new-season-preset",
    ),
    build_url_pattern("new-season/", settings.create_season_from_file, "new-season"),
]
