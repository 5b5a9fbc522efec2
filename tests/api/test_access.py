"""Every operation of the API for each kind of person; an operation without a row fails."""

import datetime as dt
import re
from functools import cache

import pytest
from django.db import transaction
from django.urls import get_resolver, resolve
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator

from citeboard.core import audit
from citeboard.teams.models import MailedInvitation
from tasks.models import (
    Announcement,
    Claim,
    Delivery,
    JoinRequest,
    MeasuresFile,
    MergeProposal,
    Question,
    Report,
    Submission,
    Task,
    Webhook,
)
from tests.access.table import has_row
from tests.api.conftest import ROLES, World, make_world
from tests.api.sending import content, run_file
from tests.factories import make_job, make_season, make_submission
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring.publications import PLACEMENTS, keep_publication

# In the order of ROLES: visitor, reader, stranger, member, organiser, staff.
EVERYBODY = (200,) * 6
OWN = (401, 404, 404, 200, 200, 200)
ACCESS = {
    "GET seasons": EVERYBODY,
    "GET season": EVERYBODY,
    "GET task": EVERYBODY,
    "GET phase": EVERYBODY,
    "GET leaderboard": EVERYBODY,
    "GET published": EVERYBODY,
    # Where there are two runs to read: tests/web/test_compare_instances.py.
    "GET instances": (404,) * 6,
    # The world has no scored run; where one has, tests/web/test_compare_several.py.
    # The world's season has none; where one has, tests/web/test_overall.py.
    "GET overview_paper": (200,) * 6,
    "GET overview_paper_files": (409,) * 6,
    "POST make_overview_paper": (202,) * 6,
    "GET background_job": (404,) * 6,
    # The world's runs are no texts, and none has claims; where they are, tests/background/test_background.py.
    "POST make_sheet": (401, 404, 404, 404, 400, 400),
    "POST import_labels": (401, 404, 404, 404, 400, 400),
    "POST import_ledger": (401, 404, 404, 404, 202, 202),
    "POST agree_to_judge": (401, 404, 404, 404, 400, 400),
    "POST ask_judge": (401, 404, 404, 404, 409, 409),
    "POST estimate_judge": (401, 404, 404, 404, 409, 409),
    "POST leave_pairs_out": (401, 404, 404, 404, 409, 409),
    "POST dismiss_judge": (401, 404, 404, 404, 409, 409),
    "POST withdraw_import": (401, 404, 404, 404, 400, 400),
    "POST share_labels": (401, 404, 404, 404, 400, 400),
    "POST import_judgements": (401, *(404,) * 5),
    "GET overall": (404,) * 6,
    "GET several": (404,) * 6,
    "POST submit": (401, 403, 201, 201, 403, 403),
    "POST bundle": (401, 403, 201, 201, 403, 403),
    "POST check": (401, 200, 200, 200, 200, 200),
    "GET submissions": (401, 200, 200, 200, 200, 200),
    "GET submission": OWN,
    "GET run": OWN,
    "POST cancel": (401, 404, 404, 200, 200, 200),
    "POST withdraw": (401, 404, 404, 409, 409, 409),
    "POST select": (401, 404, 404, 409, 409, 409),
    "POST set_priority": (401, 404, 404, 400, 400, 400),
    "POST seed": (401, 404, 404, 200, 200, 200),
    "POST accept": (401, 404, 404, 403, 200, 200),
    "POST disqualify": (401, 404, 404, 403, 200, 200),
    "POST hide": (401, 404, 404, 403, 200, 200),
    "POST reinstate": (401, 404, 404, 403, 200, 200),
    "GET extra_tries": (401, 404, 404, 404, 200, 200),
    "POST give_tries": (401, 404, 404, 404, 201, 201),
    "DELETE take_tries_back": (401, *(404,) * 5),
    "POST clone": (401, 404, 404, 404, 400, 400),
    "GET site": (401, 404, 404, 404, 404, 200),
    "GET site_claims": (401, 404, 404, 404, 404, 200),
    # What is sent is no decision on a claim; tests/tasks/test_claims.py has those that are.
    "POST decide_claim": (401, 404, 404, 404, 404, 400),
    "GET site_measures": (401, 404, 404, 404, 404, 200),
    "POST decide_measures": (401, 404, 404, 404, 404, 200),
    "GET teams": (401, 200, 200, 200, 200, 200),
    "POST found_team": (401, 201, 201, 201, 201, 201),
    "GET team": (401, 404, 404, 200, 404, 404),
    # The world's team is on its season's list; systems on a board are in tests/web/test_public_teams.py.
    "GET team_results": EVERYBODY,
    "GET team_system": (404,) * 6,
    "POST describe_team": (401, 404, 404, 200, 404, 404),
    "POST invitation": (401, 404, 404, 201, 404, 404),
    "DELETE end_invitation": (401, 404, 404, 204, 404, 404),
    "GET invited": (401, 404, 404, 200, 404, 404),
    "POST invite": (401, 404, 404, 400, 404, 404),
    "DELETE withdraw_invitation": (401, 404, 404, 204, 404, 404),
    "POST decline": (401, 409, 409, 409, 409, 409),
    "POST ask_to_join": (401, 201, 409, 404, 201, 201),
    "GET own_requests": (401, 200, 200, 200, 200, 200),
    "DELETE take_back_request": (401, 204, 404, 404, 404, 404),
    "GET join_requests": (401, 404, 404, 200, 404, 404),
    "POST answer_request": (401, 404, 404, 400, 404, 404),
    "GET notices": EVERYBODY,
    "GET merges": (401, 404, 404, 200, 404, 404),
    "POST propose_merge": (401, 404, 404, 400, 404, 404),
    "POST answer_merge": (401, 404, 404, 400, 404, 404),
    "POST merge_teams": (401, 404, 404, 404, 400, 400),
    "POST join": (401, 409, 409, 409, 409, 409),
    "DELETE remove_member": (401, 404, 404, 409, 404, 404),
    "POST hand_over": (401, 404, 404, 200, 404, 404),
    "POST leave": (401, 404, 404, 409, 404, 404),
    "GET failures": (401, 404, 404, 404, 200, 200),
    "POST acknowledge": (401, 404, 404, 404, 400, 400),
    "DELETE take_acknowledgement_back": (401, 404, 404, 404, 204, 204),
    "GET progress": (401, 404, 404, 404, 200, 200),
    "GET history": (401, 200, 200, 200, 200, 200),
    # Nothing was done that could be taken back, and no archive was made: tests/web/test_rehearsals.py.
    "POST undo": (401, 404, 404, 404, 409, 409),
    "POST make_archive": (401, 404, 404, 404, 202, 202),
    "GET archive_zip": (401, *(404,) * 5),
    "POST send_mails_again": (401, 404, 404, 404, 404, 200),
    "GET account": (401, 200, 200, 200, 200, 200),
    "POST describe_account": (401, 200, 200, 200, 200, 200),
    "GET messages": (401, 200, 200, 200, 200, 200),
    "POST read_messages": (401, 200, 200, 200, 200, 200),
    "GET message_choices": (401, 200, 200, 200, 200, 200),
    "POST choose_messages": (401, 400, 400, 400, 400, 400),
    "GET account_data": (401, 200, 200, 200, 200, 200),
    "GET people": (401, 404, 404, 404, 200, 200),
    "POST give_role": (401, 404, 404, 404, 400, 400),
    "GET receipt_log": EVERYBODY,
    "GET log_entries": EVERYBODY,
    # They say of which entries; tests/scoring/test_receipts.py does.
    "GET log_inclusion": (400,) * 6,
    "GET log_consistency": (400,) * 6,
    "GET receipts": (404, 404, 404, 200, 200, 200),
    "GET archives": EVERYBODY,
    "GET archive": (404,) * 6,
    "GET registrations": (401, 200, 200, 200, 200, 200),
    "POST enter": (401, 404, 404, 200, 404, 404),
    "DELETE take_back_entry": (401, 404, 404, 409, 404, 404),
    "POST decide": (401, 404, 404, 404, 200, 200),
    "GET terms": (404,) * 6,
    "POST accept_terms": (401, 400, 400, 400, 400, 400),
    "GET acceptances": (401, 404, 404, 404, 200, 200),
    "POST season-file": (401, 404, 404, 404, 422, 422),
    "GET settings": (401, 404, 404, 404, 200, 200),
    "POST change_settings": (401, 404, 404, 404, 200, 200),
    "DELETE delete_settings": (401, 404, 404, 404, 404, 404),
    "POST season_from_preset": (401, 404, 404, 404, 404, 400),
    "POST new-season": (401, 404, 404, 404, 404, 422),
    # The uploaded file is no bundle; the report says so.
    "POST new-season-bundle": (401, 404, 404, 404, 404, 200),
    "POST score_old_runs": (401, 404, 404, 404, 422, 422),
    "POST announcement": (401, 404, 404, 404, 200, 200),
    "GET announcements": EVERYBODY,
    "POST edit_announcement": (401, 404, 404, 404, 200, 200),
    "DELETE take_back_announcement": (401, 404, 404, 404, 204, 204),
    "GET questions": EVERYBODY,
    "POST ask": (401, 201, 201, 201, 201, 201),
    "POST answer": (401, 404, 404, 404, 200, 200),
    "GET reports": (401, 404, 404, 404, 404, 200),
    "POST report": (401, 201, 201, 201, 201, 201),
    "GET webhooks": (401, 404, 404, 404, 200, 200),
    "POST make_webhook": (401, 404, 404, 404, 201, 201),
    "DELETE remove_webhook": (401, 404, 404, 404, 204, 204),
    "POST renew_secret": (401, 404, 404, 404, 200, 200),
    "GET deliveries": (401, 404, 404, 404, 200, 200),
    "POST repeat_delivery": (401, 404, 404, 404, 200, 200),
    "GET gold": (401, 404, 404, 404, 200, 200),
    "POST publish_gold": (401, 404, 404, 404, 422, 422),
    "POST declare_task": (401, 404, 404, 404, 400, 400),
    # The world's task is a built-in type; others are in tests/web/test_declaring.py.
    "GET declaration": (401, *(404,) * 5),
    "POST declare_anew": (401, *(404,) * 5),
    "POST times": (401, 404, 404, 404, 200, 200),
    "GET export": EVERYBODY,
    "POST describe": (401, 404, 404, 200, 403, 403),
    # The world has no scored run; tests/web/test_changes.py has two.
    "GET run_changes": (401, *(404,) * 5),
    "GET run_history": OWN,
    "DELETE delete_run_file": (401, 404, 404, 409, 403, 403),
    "GET outside_scores": EVERYBODY,
    "POST enter_outside_scores": (401, 404, 404, 404, 400, 400),
    "GET errata": EVERYBODY,
    "POST publish_erratum": (401, 404, 404, 404, 201, 201),
    "GET season_runs": (401, 404, 404, 404, 200, 200),
    "GET counting_runs": (401, 404, 404, 404, 200, 200),
    "POST board": (401, 404, 404, 404, 200, 200),
    "POST reveal": (401, 404, 404, 404, 200, 200),
    "GET confirmation": (401, 404, 404, 404, 200, 200),
    "POST end_confirmation": (401, 404, 404, 404, 409, 409),
    "POST reopen_confirmation": (401, 404, 404, 404, 409, 409),
    "POST confirm": (401, 404, 404, 409, 404, 404),
    "POST contest": (401, 404, 404, 409, 404, 404),
    "POST freeze": (401, 404, 404, 404, 200, 200),
    "POST unfreeze": (401, 404, 404, 404, 409, 409),
    "POST seal_gold": (401, 404, 404, 404, 200, 200),
    # Runs were scored by it.
    "POST delete_gold": (401, 404, 404, 404, 409, 409),
    "GET rescoring": (401, 404, 404, 404, 200, 200),
    "POST rescore": (401, 404, 404, 404, 200, 200),
    "POST draw_again": (401, 404, 404, 404, 409, 409),
    "POST stop_rescoring": (401, 404, 404, 404, 200, 200),
    "POST rescore_season": (401, 404, 404, 404, 200, 200),
    # It waits to be scored.
    "POST rescore_run": (401, 404, 404, 404, 409, 409),
    "POST compute_baselines": (401, 404, 404, 404, 409, 409),
    "POST publish_terms": (401, 404, 404, 404, 201, 201),
    # The world has no sheet; where one is published, tests/web/test_human_evaluation.py.
    "GET battles": (404,) * 6,
    "GET battle_rows": (404,) * 6,
    "GET estimates": (404,) * 6,
    # The world has one judge; tests/judges/test_views_by_judge.py has two.
    "GET judges": (404,) * 6,
    "GET estimate_sheets": (401, 404, 404, 404, 200, 200),
    "GET estimate_sheet_rows": (401, *(404,) * 5),
    "POST make_estimates": (401, 404, 404, 404, 400, 400),
    "POST make_disagreements": (401, 404, 404, 404, 400, 400),
    "POST bring_labels": (401, *(404,) * 5),
    "POST publish_estimates": (401, *(404,) * 5),
    "POST take_estimates_back": (401, *(404,) * 5),
    "POST bring_battles": (401, 404, 404, 404, 400, 400),
    "POST make_pairs": (401, 404, 404, 404, 400, 400),
    "GET pair_sheets": (401, 404, 404, 404, 200, 200),
    "GET pair_sheet_rows": (401, *(404,) * 5),
    "POST add_judge": (401, *(404,) * 5),
    "DELETE remove_judge": (401, *(404,) * 5),
    "POST publish_pairs": (401, *(404,) * 5),
    "POST take_pairs_back": (401, *(404,) * 5),
    "POST reopen_pairs": (401, *(404,) * 5),
    "GET pairs_to_judge": (401, *(404,) * 5),
    "POST judge_pair": (401, *(404,) * 5),
    "GET sheets": (401, 404, 404, 404, 200, 200),
    "POST publish_sheet": (401, *(404,) * 5),
    "POST add_annotator": (401, *(404,) * 5),
    "DELETE remove_annotator": (401, *(404,) * 5),
    "POST change_adjudication": (401, *(404,) * 5),
    "POST show_references": (401, *(404,) * 5),
    "POST answer_data_sheet": (401, *(404,) * 5),
    "POST bring_ratings": (401, *(404,) * 5),
    "POST rate": (401, *(404,) * 5),
    "GET sheet_to_rate": (401, *(404,) * 5),
    "POST take_sheet_back": (401, *(404,) * 5),
    "POST reopen_sheet": (401, *(404,) * 5),
    "POST publish_judgements": (401, *(404,) * 5),
    "POST take_judgements_back": (401, *(404,) * 5),
    "POST close_report": (401, 404, 404, 404, 404, 204),
    # There are runs and gold, which stay.
    "DELETE delete_task": (401, 404, 404, 404, 409, 409),
    "DELETE delete_phase": (401, 404, 404, 404, 409, 409),
    "POST compute_first_baselines": (401, 404, 404, 404, 200, 200),
    "POST send_test_mail": (401, 404, 404, 404, 204, 204),
    # Nobody's group is among what is sent here; tests/web have who is told.
    "POST mail_teams": (401, 404, 404, 404, 400, 400),
    "POST open": (401, 404, 404, 404, 200, 200),
    "POST close": (401, 404, 404, 404, 200, 200),
}

#: Fields that some operation takes.
SENT = {
    "system": "S",
    "decision": "approve",
    "text": "Hello.",
    "message": "Two rows are swapped.",
    "invitation": "no-such-link",
    "reason": "Better.",
    "answer": "So.",
    "url": "https://other.example.org/",
    "is_public": "true",
    "tries": 1,
    "settings": '{"season.licence": "CC0-1.0"}',
    "dates": "{}",
}


#: A part of an address.
PART = re.compile(r"{\w+}")


@cache
def schema() -> dict:
    return SchemaGenerator().get_schema(request=None, public=True)


@cache
def operations() -> dict[str, str]:
    """The address of each operation that the API's description lists, by method and name."""
    return {
        f"{method.upper()} {operation['operationId']}": path
        for path, methods in schema()["paths"].items()
        for method, operation in methods.items()
    }


@cache
def taken_by(operation: str) -> set[str]:
    """The fields of an operation that the API's description lists."""
    method = operation.partition(" ")[0].lower()
    body = schema()["paths"][operations()[operation]][method].get("requestBody")
    if body is None:
        return set()
    name = body["content"]["multipart/form-data"]["schema"]["$ref"].rpartition("/")[2]
    return set(schema()["components"]["schemas"][name]["properties"])


def addresses() -> dict[str, str]:
    """The name of each operation's address; a 1 may stand for any part of it."""
    return {
        operation: resolve(PART.sub("1", path)).view_name
        for operation, path in operations().items()
    }


def test_every_operation_has_a_row():
    """One whose address lacks a row in `tests.access.table` fails the test of that table alone."""
    with_address = {
        operation for operation, name in addresses().items() if has_row(name)
    }
    assert with_address == set(ACCESS)


def test_every_address_of_the_api_is_described():
    """Whatever is routed stands in the description, but for the description itself and for nowhere."""
    names = {
        f"api:{name}"
        for name in get_resolver().namespace_dict["api"][1].reverse_dict
        if isinstance(name, str)
    }
    undescribed = {"api:schema", "api:nowhere", "api:root", "api:version-1"}
    assert names - undescribed == set(addresses().values())


def more(world) -> dict[str, int]:
    """What stands for the other numbers of an address."""
    announcement = world.season.announcements.first() or Announcement.objects.create(
        season=world.season
    )
    question = world.season.questions.first() or Question.objects.create(
        season=world.season, text="Why?"
    )
    webhook = Webhook.objects.get_or_create(
        season=world.season, url="https://bot.example.org/"
    )[0]
    run = world.phase.submissions.latest("pk")
    acknowledgement, _ = run.acknowledgements.get_or_create(failed_at=run.status_since)
    posted = {"payload": {}, "job": make_job("webhook")}
    delivery = Delivery.objects.get_or_create(
        webhook=webhook, event="e", defaults=posted
    )[0]
    merge = {"season": world.season, "team": world.other_team, "into": world.team}
    asked = {"team": world.team, "user": world.people["reader"], "season": world.season}
    invitation = {
        "expires_at": timezone.now() + dt.timedelta(days=1),
        "nonce": "of-one-invitation",
    }
    invited = {
        "team": world.team,
        "address": "somebody@example.org",
        "defaults": invitation,
    }
    return {
        "proposal": MergeProposal.objects.get_or_create(**merge)[0].pk,
        "asked": JoinRequest.objects.get_or_create(**asked)[0].pk,
        "invited": MailedInvitation.objects.get_or_create(**invited)[0].pk,
        "announcement": announcement.pk,
        "question": question.pk,
        "webhook": webhook.pk,
        "delivery": delivery.pk,
        "acknowledgement": acknowledgement.pk,
        "change": audit.record_action(
            "member-joined", actor=None, subject=world.season, place=world.season
        ).pk,
        "claim": Claim.objects.get_or_create(season=make_season(), later=world.season)[
            0
        ].pk,
        "measures": MeasuresFile.objects.get_or_create(
            digest="0" * 64, defaults={"text": "x = 1"}
        )[0].pk,
    }


def make_world_with_a_run() -> tuple[World, Submission]:
    world = make_world()
    keep_publication()
    Task.objects.filter(pk=world.phase.task_id).update(published=PLACEMENTS)
    world.phase.runs_in_total = 100
    world.phase.save()
    return world, make_submission(phase=world.phase, team=world.team)


@pytest.fixture(scope="module")
def kept_world(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_world_with_a_run, django_db_blocker)


def ask(world, run, role: str, operation: str, others: dict[str, int]):
    method, path = operation.split(maxsplit=1)[0], operations()[operation]
    kind = path.split("/")[3]
    ids = {
        "phases": world.phase.pk,
        "tasks": world.task.pk,
        "submissions": run.pk,
        "gold": world.phase.task.gold.latest("pk").pk,
        "reports": Report.objects.get_or_create(text="It is odd.")[0].pk,
    }
    slug = world.team.slug if kind == "teams" else world.season.slug
    address = path.format(
        id=ids.get(kind, 1), slug=slug, team=world.team.slug, member=world.people["member"].pk, name="csv",
        given=1, job=1, sheet=1, preset="open", prefix="tasks.none", system="none", **others,
    )  # fmt: skip
    if method != "POST":
        return getattr(world.ask(role), method.lower())(address)
    team = (
        world.team.slug
        if operation in ("POST enter", "POST give_tries", "POST ask_to_join")
        else ""
    )
    files = {"run": run_file(), "file": run_file()}
    sent = {**files, **SENT, "name": f"Team of {role}", "team": team}
    taken = {name: value for name, value in sent.items() if name in taken_by(operation)}
    return world.ask(role).post(address, taken)


@pytest.mark.parametrize("role", ROLES)
def test_each_kind_of_person_gets_what_is_theirs(world, role):
    world, run = world
    # With a token that none of the requests takes along.
    world.ask(role)
    others = more(world)
    answered, wanted = {}, {}
    for operation, codes in ACCESS.items():
        # Nobody's answer depends on another's: what a request changes is undone.
        with transaction.atomic():
            response = ask(world, run, role, operation, others)
            answer = content(response)
            transaction.set_rollback(True)
        answered[operation], wanted[operation] = (
            response.status_code,
            codes[ROLES.index(role)],
        )
        assert response.status_code < 400 or isinstance(
            response.json()["detail"], str
        ), (operation, answer)
    assert answered == wanted
