"""Whatever is done on a page is done by a program too, or stands here with the reason why not."""

import importlib
import pkgutil

import pytest
from drf_spectacular.generators import SchemaGenerator

import citeboard.acts
from citeboard.acts.declared import UserAction
from tests.access.scene import routes
from tests.access.table import TABLE

#: Acts without an operation of their own, by the operation that does it too.
BY_ANOTHER = {
    "CHANGE_REGISTRATION_SETTING": "change_settings",
    "CHANGE_TEAM_LIMITS": "change_settings",
    "REMOVE_ORGANISER": "give_role",
}
#: Pages that are posted to and are no declared act, by the operation that does the same.
BY_OPERATION = {
    "describe_account": "account-name",
    "enter": "enter",
    "join": "join",
    "decline": "join-decline",
    "choose_messages": "message-choices",
    "read_messages": "messages-read",
    "new-season": "new-season",
    "new-season-bundle": "new-season-bundle",
    "close_report": "operate-report-close",
    "take_back_announcement": "organise-announcement-take-back",
    "repeat_delivery": "organise-delivery-repeat",
    "season-file": "organise-file",
    "publish_gold": "organise-gold organise-launch",
    "delete_settings": "organise-delete",
    "declare_task": "organise-settings-declare",
    "declare_anew": "organise-settings-declaration",
    "change_settings": (
        "organise-settings-new-phase organise-settings-new-task organise-settings-phase "
        "organise-settings-season organise-settings-task organise-team-rules"
    ),
    "add_annotator": "organise-sheet-annotator",
    "change_adjudication": "organise-sheet-adjudication",
    "answer_data_sheet": "organise-data-sheet",
    "bring_ratings": "organise-sheet-ratings",
    "rate": "annotate annotate-upload",
    "make_pairs": "organise-pairs-make",
    "bring_battles": "organise-battles-bring",
    "add_judge": "organise-judge-add",
    "make_estimates": "organise-estimates-make",
    "make_disagreements": "organise-disagreements-make",
    "agree_to_judge": "organise-judges-agree",
    "bring_labels": "organise-estimates-labels",
    "judge_pair": "judge",
    "make_sheet": "organise-sheet-make",
    "renew_secret": "organise-webhook-renew",
    "make_webhook": "organise-webhooks",
    "make_overview_paper": "overview-paper-zip",
    "report": "report",
    "bundle": "season-upload",
    "submit": "upload",
    "accept": "submission-accept",
    "cancel": "submission-cancel",
    "describe": "submission-describe",
    "disqualify": "submission-disqualify",
    "hide": "submission-hide",
    "set_priority": "submission-priority",
    "seed": "submission-seed",
    "reinstate": "submission-reinstate",
    "select": "submission-select",
    "withdraw": "submission-withdraw",
    "take_back_entry": "take-back",
    "invitation": "team-invitation-renew",
    "invite": "team-invite",
    "accept_terms": "terms",
}
#: Those that no operation does, by why.
BY_NONE = {
    "a program has a token, which neither makes others nor ends the account": (
        "account-delete account_logout account_confirm_email first-organiser tokens token-revoke unsubscribe"
    ),
    "gold is given out only to somebody who types the password again": "organise-zip-gold",
    "nothing is kept: `citeboard score` does it without a site": "try",
}


def acts() -> dict[str, UserAction]:
    modules = [
        importlib.import_module(f"citeboard.acts.{one.name}")
        for one in pkgutil.iter_modules(citeboard.acts.__path__)
    ]
    return {
        name: act
        for module in modules
        for name, act in vars(module).items()
        if isinstance(act, UserAction)
    }


def summed_up(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split()).removesuffix(".")


@pytest.fixture(scope="module")
def operations() -> dict[str, str]:
    """By name what each does."""
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"].values()
    return {
        one["operationId"]: one["summary"]
        for methods in paths
        for one in methods.values()
    }


def test_every_declared_act_is_an_operation(operations):
    lacking = {
        name
        for name, act in acts().items()
        if summed_up(act.summary) not in operations.values()
    }
    assert lacking == set(BY_ANOTHER)
    assert set(BY_ANOTHER.values()) <= set(operations)


def test_every_other_page_that_is_posted_to_has_an_operation_or_a_reason(operations):
    summaries = {act.summary for act in acts().values()}
    pages = {
        name: row
        for name, row in TABLE.items()
        if not name.startswith(("api:", "admin:"))
    }
    posted = {
        name
        for name, row in pages.items()
        if row.POST != row.PUT and routes()[name].callback.__doc__ not in summaries
    }
    told = " ".join([*BY_OPERATION.values(), *BY_NONE.values()]).split()
    assert sorted(posted) == sorted(told)
    assert set(BY_OPERATION) <= set(operations)
