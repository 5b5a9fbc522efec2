"""Receipts: what they commit to, whom they open to, and what the log of them promises."""

import json
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from citeboard.ops.doctor import FindingState, run_health_checks
from scoring.__main__ import main
from scoring.client.connection import SiteConnection
from scoring.models import Evaluation, LogEntry, LogHead, LogNode, Receipt, SigningKey
from scoring.offline import merkle
from scoring.offline.receipts import (
    COMMITTED_FIELDS,
    check_receipt,
    find_head_faults,
    find_trusted_keys,
    is_continuation_of_log,
    is_in_log,
)
from scoring.receipts import log
from tasks.models import Phase, Season, Submission
from tasks.submissions.run_acts import withdraw_run
from tests import factories
from tests.api.conftest import API
from tests.api.sending import score

pytestmark = pytest.mark.django_db
SITE = "https://board.example.org"
EVERYONE, NOBODY = Phase.Audience.EVERYONE, Phase.Audience.NOBODY


def scored(**fields) -> Submission:
    run = factories.make_submission(**fields)
    score(run)
    log.create_or_extend_receipt_log()
    return run


def receipts(run: Submission, user=None) -> list[dict]:
    client = Client()
    if user is not None:
        client.force_login(user)
    answer = client.get(f"{API}/submissions/{run.pk}/receipts/")
    assert answer.status_code == 200, answer.content
    return answer.json()


def public_keys() -> set[str]:
    return {key["public"] for key in Client().get(f"{API}/log/").json()["keys"]}


def text_of(receipt: dict, name: str):
    return json.loads(receipt["openings"][name]["text"])


@pytest.mark.both_databases
def test_each_evaluation_has_a_receipt_that_holds_and_says_what_was_published():
    task = factories.make_task(rules=["corrected", "official-2017"])
    run = scored(phase=factories.make_phase(task=task, board=EVERYONE))
    keys = public_keys()
    for receipt, rules in zip(receipts(run), task.rules, strict=True):
        checked = check_receipt(receipt, keys)
        assert (checked.faults, checked.sealed) == ([], [])
        evaluation = Evaluation.objects.get(submission=run, rules=rules)
        assert checked.opened["task"]["rules"] == rules
        assert checked.opened["run"] == {
            "number": run.pk, "sha256": evaluation.run_sha256, "file_sha256": run.sha256
        }  # fmt: skip
        assert checked.opened["gold"]["sha256"] == evaluation.gold.digest
        for kept in evaluation.scores.all():
            said = checked.opened["scores"][kept.metric]
            assert (said["value"], said["low"], said["high"], said["n"]) == (
                kept.value, kept.low, kept.high, kept.n,
            )  # fmt: skip
            assert (said["column"], said["signature"]) == (kept.column, kept.signature)
        assert timezone.datetime.fromisoformat(checked.opened["time"]) <= timezone.now()


@pytest.mark.parametrize(
    "part", ["entry", "signature", "text", "nonce", "root", "path", "index", "key"]
)
def test_a_receipt_of_which_anything_was_changed_does_not_hold(part):
    task = factories.make_task(rules=["corrected", "official-2017"])
    run = scored(phase=factories.make_phase(task=task, board=EVERYONE))
    receipt, keys = receipts(run)[0], public_keys()
    holder, name = {
        "text": (receipt["openings"]["scores"], "text"),
        "nonce": (receipt["openings"]["scores"], "nonce"),
        "root": (receipt["log"]["head"], "root"),
        "path": (receipt["log"]["path"], 0),
        "index": (receipt["log"], "index"),
    }.get(part, (receipt, part))
    value = holder[name]
    holder[name] = (
        value + 1 if part == "index" else value.translate(str.maketrans("01", "10"))
    )
    assert holder[name] != value
    assert check_receipt(receipt, keys).faults


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"}, {"version": 2}, {"log": []}, {"log": {}}, {"openings": None}, {"entry": 3},
        {"key": "zz"}, {"signature": "00"}, {"openings": {"run": {"nonce": "", "text": "{}"}}},
    ],
)  # fmt: skip
def test_what_is_no_receipt_is_a_fault_and_no_crash(change):
    [receipt] = receipts(scored(phase=factories.make_phase(board=EVERYONE)))
    assert check_receipt({**receipt, **change}, public_keys()).faults
    assert check_receipt({}, set()).faults


def test_a_receipt_by_another_site_s_key_does_not_hold():
    [receipt] = receipts(scored(phase=factories.make_phase(board=EVERYONE)))
    [fault, of_head] = check_receipt(receipt, {"0" * 64}).faults
    assert fault == f"the key {receipt['key']} is not one of the site's"
    assert "head" in of_head


class TestSecrecy:
    def test_the_log_says_of_equal_runs_nothing_that_is_equal(self):
        phase = factories.make_phase(board=NOBODY)
        runs = [scored(phase=phase), scored(phase=phase)]
        entries = Client().get(f"{API}/log/entries/").json()["results"]
        assert [set(entry) for entry in entries] == [
            {"index", "content", "key", "signature"}
        ] * 2
        one, other = (json.loads(entry["content"]) for entry in entries)
        assert set(one) == {"receipt", *COMMITTED_FIELDS}
        assert not {one[name] for name in COMMITTED_FIELDS} & {
            other[name] for name in COMMITTED_FIELDS
        }
        said = str([entries, Client().get("/log/").content])
        for run in runs:
            for row in Receipt.objects.filter(evaluation__submission=run):
                for opening in log.read_openings(row).values():
                    assert opening["nonce"] not in said

    def test_a_team_that_is_not_told_scores_has_its_receipt_with_gold_and_scores_sealed(
        self,
    ):
        lead = factories.make_user()
        season = factories.make_season()
        phase = factories.make_phase(
            task=factories.make_task(season=season),
            board=NOBODY,
            own_scores=Phase.OwnRunDetail.SCORED,
        )
        run = scored(
            phase=phase, team=factories.make_team(season=season, lead=lead), user=lead
        )
        [receipt] = receipts(run, lead)
        checked = check_receipt(receipt, public_keys())
        assert (checked.faults, checked.sealed) == ([], ["gold", "scores"])
        whole = [receipt["openings"][name] for name in checked.opened]
        Phase.objects.update(own_scores=Phase.OwnRunDetail.SCORES)
        [later] = receipts(run, lead)
        assert check_receipt(later, public_keys()).sealed == []
        assert later["entry"] == receipt["entry"]
        assert [later["openings"][name] for name in checked.opened] == whole

    def test_a_team_that_is_told_nothing_of_its_runs_has_no_receipt(self):
        lead = factories.make_user()
        season = factories.make_season()
        phase = factories.make_phase(
            task=factories.make_task(season=season),
            board=NOBODY,
            own_scores=Phase.OwnRunDetail.NOTHING,
        )
        run = scored(
            phase=phase, team=factories.make_team(season=season, lead=lead), user=lead
        )
        client = Client()
        client.force_login(lead)
        assert client.get(f"{API}/submissions/{run.pk}/receipts/").status_code == 404
        assert b"receipts" not in client.get(f"/submissions/{run.pk}/").content.replace(
            b"log of receipts", b""
        )

    @pytest.mark.parametrize("board", [NOBODY, Phase.Audience.RANKS])
    def test_others_have_none_while_the_board_shows_no_scores(self, board):
        run = scored(phase=factories.make_phase(board=board))
        for user in (None, factories.make_user()):
            client = Client()
            if user:
                client.force_login(user)
            assert (
                client.get(f"{API}/submissions/{run.pk}/receipts/").status_code == 404
            )

    def test_of_a_hidden_team_the_file_stays_sealed(self):
        run = scored(phase=factories.make_phase(board=EVERYONE, shows_teams=False))
        [receipt] = receipts(run)
        assert check_receipt(receipt, public_keys()).sealed == ["run"]

    def test_of_a_frozen_board_receipts_that_came_later_are_not_given(self):
        phase = factories.make_phase(board=EVERYONE)
        run = scored(phase=phase)
        frozen = timezone.now()
        Phase.objects.update(frozen_from=frozen)
        assert len(receipts(run)) == 1
        again(run, change=0.125)
        assert receipts_or_none(run) in (None, [])

    def test_earlier_receipts_open_where_the_newest_holds_what_the_reader_sees(self):
        run = scored(phase=factories.make_phase(board=EVERYONE))
        again(run, change=0.125)
        first, second = receipts(run)
        assert text_of(first, "scores") != text_of(second, "scores")
        # Numbers that stand otherwise in the database than in the newest receipt open none.
        Evaluation.objects.get(submission=run).scores.all().update(value=0.5)
        assert receipts(run) == []


def receipts_or_none(run):
    answer = Client().get(f"{API}/submissions/{run.pk}/receipts/")
    return answer.json() if answer.status_code == 200 else None


def again(run: Submission, *, change: float) -> None:
    """Score a run again, with other numbers."""
    from scoring.worker.recording import record_scores

    job = run.jobs.get()
    [evaluation] = Evaluation.objects.filter(submission=run)
    metrics = {
        row.metric: {
            "value": row.value, "low": row.low, "high": row.high, "n": row.n, "scale": 1,
            "column": row.column, "signature": row.signature, "higher_is_better": True,
        }
        for row in evaluation.scores.all()
    }  # fmt: skip
    next(iter(metrics.values()))["value"] += change
    result = {
        "metrics": metrics, "breakdowns": {}, "notes": {}, "run": {"sha256": evaluation.run_sha256},
    }  # fmt: skip
    with transaction.atomic():
        record_scores(
            job=job, result=result, statistics=evaluation.statistics, seconds=0.1
        )
    log.append_waiting_receipts_to_log()


@pytest.mark.both_databases
class TestTheLog:
    def test_it_proves_every_entry_and_every_earlier_state(self):
        phase = factories.make_phase(board=EVERYONE)
        run, heads = scored(phase=phase), []
        for number in range(6):
            heads.append(Client().get(f"{API}/log/").json()["head"])
            again(run, change=number / 64)
        answer = Client().get(f"{API}/log/").json()
        keys, now = {key["public"] for key in answer["keys"]}, answer["head"]
        assert find_head_faults(now, keys) == []
        assert now["size"] == 7
        for entry in Client().get(f"{API}/log/entries/").json()["results"]:
            place = {"index": entry["index"], "size": 7}
            path = Client().get(f"{API}/log/inclusion/", place).json()["path"]
            leaf = merkle.compute_leaf_hash(entry["content"].encode())
            assert is_in_log(
                leaf, entry["index"], now, [bytes.fromhex(value) for value in path]
            )
        for before in heads:
            sizes = {"first": before["size"], "second": 7}
            path = Client().get(f"{API}/log/consistency/", sizes).json()["path"]
            assert is_continuation_of_log(before, now, path)

    @pytest.mark.parametrize(
        "address",
        [
            "inclusion/?index=1&size=1",
            "inclusion/?index=0&size=2",
            "consistency/?first=2&second=1",
        ],
    )
    def test_proofs_of_what_is_not_there_are_refused(self, address):
        scored()
        answer = Client().get(f"{API}/log/{address}")
        assert answer.status_code == 400
        assert answer.json()["errors"] == {"size": ["the log has 1 entries"]}

    def test_publishing_leaves_an_entry_without_a_place_which_the_next_sweep_gives(
        self,
    ):
        run = factories.make_submission(phase=factories.make_phase(board=EVERYONE))
        score(run)
        [receipt] = receipts(run)
        assert (receipt["log"], receipt["signature"]) == (None, "")
        assert check_receipt(receipt, set()).faults == [
            "it is not in the log yet: ask the site for it again in a minute"
        ]
        assert [
            log.create_or_extend_receipt_log(),
            log.create_or_extend_receipt_log(),
        ] == [1, 0]
        assert check_receipt(receipts(run)[0], public_keys()).faults == []

    def test_what_was_not_published_is_not_in_the_log(self):
        run = factories.make_submission()
        with transaction.atomic():
            score(run)
            transaction.set_rollback(True)
        assert not LogEntry.objects.exists()

    def test_what_is_deleted_leaves_its_commitment_alone(self):
        run = scored(phase=factories.make_phase(board=EVERYONE))
        entry = LogEntry.objects.get()
        head = log.read_signed_log_head()
        Submission.objects.get(pk=run.pk).jobs.all().delete()
        Submission.objects.filter(pk=run.pk).delete()
        assert not Receipt.objects.exists()
        assert LogEntry.objects.get().content == entry.content
        assert log.read_signed_log_head() == head

    def test_a_withdrawn_run_keeps_its_receipts_for_its_team(self):
        lead = factories.make_user()
        season = factories.make_season()
        phase = factories.make_phase(
            task=factories.make_task(season=season), board=EVERYONE
        )
        run = scored(
            phase=phase, team=factories.make_team(season=season, lead=lead), user=lead
        )
        withdraw_run(run, lead)
        assert check_receipt(receipts(run, lead)[0], public_keys()).sealed == []
        assert receipts_or_none(run) is None

    def test_the_page_shows_head_keys_and_entries(self):
        scored()
        page = Client().get("/log/").content.decode()
        head = log.read_signed_log_head()
        assert head["root"] in page
        assert head["key"] in page
        assert LogEntry.objects.get().hash in page


@pytest.fixture
def verify(monkeypatch, tmp_path, capsys):
    """`citeboard receipt verify` of receipts, where requests to the site come to this process."""

    def asked(self, path, query=None):
        answer = Client().get(f"{API}/{path}", query or {})
        assert answer.status_code == 200, answer.content
        return answer.json()

    monkeypatch.setattr(SiteConnection, "get", asked)

    def run(given: object, *more: object, code: int = 0) -> list[str]:
        path = tmp_path / "receipts.json"
        path.write_text(given if isinstance(given, str) else json.dumps(given))
        assert main(["receipt", "verify", str(path), *map(str, more)]) == code
        said = capsys.readouterr()
        return (said.out + said.err).splitlines()

    return run


class TestTheCommand:
    def test_by_the_site_it_says_what_is_signed_and_that_the_log_has_gone_on(
        self, verify
    ):
        run = scored(phase=factories.make_phase(board=EVERYONE))
        given = receipts(run)
        again(run, change=0.125)
        first, opens, place, last = verify(given, "--site", SITE)
        assert f"run {run.pk}; signed by {given[0]['key']}" in first
        assert opens == f"  opens {', '.join(COMMITTED_FIELDS)}"
        assert (
            place
            == "  entry 0 of the site's log, which has 2 and begins as it did then"
        )
        assert last == "1 of 1 receipts hold"
        [told] = json.loads(verify(given, "--site", SITE, "--json")[0])
        assert (told["holds"], told["index"], list(told["opened"])) == (
            True,
            0,
            list(COMMITTED_FIELDS),
        )

    def test_by_a_key_it_needs_no_site_and_another_key_is_a_fault(
        self, verify, tmp_path
    ):
        given = receipts(scored(phase=factories.make_phase(board=EVERYONE)))
        key = tmp_path / "key"
        key.write_text(given[0]["key"] + "\n")
        assert verify(given, "--key", key)[-1] == "1 of 1 receipts hold"
        key.write_text(json.dumps(Client().get(f"{API}/log/").json()))
        assert verify(given, "--key", key)[-1] == "1 of 1 receipts hold"
        key.write_text("0" * 64)
        *faults, last = verify(given, "--key", key, code=1)
        assert "is not one of the site's" in faults[0]
        assert last == "0 of 1 receipts hold"

    def test_with_both_the_site_s_later_keys_hold_where_the_pinned_one_signed_them(
        self, verify, tmp_path
    ):
        phase = factories.make_phase(board=EVERYONE)
        scored(phase=phase)
        key = tmp_path / "key"
        key.write_text(log.describe_signing_keys()[0]["public"])
        log.replace_signing_key()
        given = receipts(scored(phase=phase))
        assert verify(given, "--key", key, code=1)[-1] == "0 of 1 receipts hold"
        assert verify(given, "--key", key, "--site", SITE)[-1] == "1 of 1 receipts hold"
        SigningKey.objects.update(signed_by=None, endorsement="")
        assert (
            "the site's log cannot be trusted"
            in verify(given, "--key", key, "--site", SITE, code=2)[0]
        )

    def test_a_site_that_has_rewritten_its_log_is_found_out(self, verify):
        phase = factories.make_phase(board=EVERYONE)
        given = [receipts(scored(phase=phase))[0] for _ in range(3)]
        # As after a backup was restored, or by somebody who has the key.
        Receipt.objects.all().delete()
        for model in (LogEntry, LogNode):
            model.objects.all().delete()
        LogHead.objects.all().delete()
        log.create_or_extend_receipt_log()
        told = "receipt 1: the log had 1 entries and has 0 now: entries were taken out"
        assert verify(given[:1], "--site", SITE, code=1)[0] == told
        for _ in given:
            scored(phase=phase)
        *faults, last = verify(given, "--site", SITE, code=1)
        assert (
            "receipt 1: it does not stand at place 0 of the log as it is now" in faults
        )
        assert "receipt 2: the log is not the one any more that had 2 entries" in faults
        assert last == "0 of 3 receipts hold"

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ("", "cannot be read as JSON"),
            ("[" * 100_000, "cannot be read as JSON"),
            ([], "holds no receipt"),
            ([3], "holds no receipt"),
        ],
    )
    def test_what_is_no_file_of_receipts_is_refused(self, verify, given, told):
        assert told in verify(given, "--site", SITE, code=2)[0]

    def test_without_site_and_key_or_with_a_file_that_is_no_key_it_is_refused(
        self, verify, tmp_path
    ):
        assert (
            "--site URL, or a file with its public key with --key FILE"
            in verify([{}], code=2)[0]
        )
        (tmp_path / "key").write_text("no key")
        assert (
            "holds no public key" in verify([{}], "--key", tmp_path / "key", code=2)[0]
        )
        assert "no such file" in verify([{}], "--key", tmp_path / "nowhere", code=2)[0]


class TestKeys:
    def test_a_first_start_makes_the_key_and_signs_the_empty_log(self):
        assert log.read_signed_log_head() is None
        log.create_or_extend_receipt_log()
        answer = Client().get(f"{API}/log/").json()
        assert answer["head"]["size"] == 0
        assert answer["head"]["root"] == merkle.EMPTY_TREE_ROOT.hex()
        assert find_head_faults(answer["head"], {answer["keys"][0]["public"]}) == []

    def test_a_key_that_takes_another_s_place_is_signed_by_it(self, capsys):
        [before] = receipts(scored(phase=factories.make_phase(board=EVERYONE)))
        call_command("receipt_key", "--replace")
        run = scored(phase=factories.make_phase(board=EVERYONE))
        [after] = receipts(run)
        assert before["key"] != after["key"]
        assert capsys.readouterr().out.splitlines()[-1] == after["key"]
        listed = Client().get(f"{API}/log/").json()["keys"]
        keys = find_trusted_keys({before["key"]}, listed)
        assert keys == {before["key"], after["key"]}
        assert check_receipt(after, keys).faults == []
        assert find_trusted_keys({after["key"]}, listed) == {after["key"]}
        listed[1]["endorsement"] = listed[1]["endorsement"][::-1]
        assert find_trusted_keys({before["key"]}, listed) == {before["key"]}

    def test_a_lost_key_lets_receipts_wait_and_is_told_and_replaced(
        self, settings, capsys
    ):
        scored()
        settings.SECRET_KEY = "another secret key " * 4
        run = factories.make_submission(phase=factories.make_phase(board=EVERYONE))
        score(run)
        assert log.append_waiting_receipts_to_log() == 0
        [found] = run_health_checks(["receipts"])
        assert found.state == FindingState.BAD
        assert "1 receipt cannot be signed, because the key " in found.found
        assert "was made with another secret key than the site has now" in found.found
        assert "New receipts wait" in Client().get("/log/").content.decode()
        with pytest.raises(CommandError, match="--replace makes another key"):
            call_command("receipt_key")
        call_command("receipt_key", "--replace")
        said = capsys.readouterr()
        assert "could not sign it" in said.err
        assert said.out.startswith("1 receipts that waited are in the log.")
        assert check_receipt(receipts(run)[0], public_keys()).faults == []
        assert "which was lost" in Client().get("/log/").content.decode()

    def test_the_environment_s_key_takes_the_place_of_the_site_s_own_and_is_replaced_there(
        self, settings
    ):
        scored()
        settings.RECEIPT_KEY = "11" * 32
        run = scored(phase=factories.make_phase(board=EVERYONE))
        own, given = SigningKey.objects.all()
        assert (given.signed_by, given.nonce) == (own, "")
        assert own.retired_at is not None
        assert check_receipt(receipts(run)[0], {given.public}).faults == []
        with pytest.raises(CommandError, match="the environment gives the key"):
            call_command("receipt_key", "--replace")
        settings.RECEIPT_KEY = "22" * 32
        scored()
        settings.RECEIPT_KEY = "11" * 32
        [found] = run_health_checks(["receipts"])
        assert "the key in CITEBOARD_RECEIPT_KEY was replaced on " in found.found
        settings.RECEIPT_KEY = ""
        [found] = run_health_checks(["receipts"])
        assert "which does not give it now" in found.found


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_processes_that_append_at_once_leave_no_hole_and_no_double():
    entries, threads = 40, []

    def work(number: int) -> None:
        try:
            for place in range(number, entries, 4):
                LogEntry.objects.create(content=f"{place}")
                log.append_waiting_receipts_to_log()
        finally:
            connection.close()

    for number in range(4):
        threads.append(threading.Thread(target=work, args=[number]))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert list(LogEntry.objects.values_list("index", flat=True)) == list(
        range(entries)
    )
    assert LogHead.objects.get().size == entries
    assert SigningKey.objects.count() == 1
    leaves = [
        merkle.compute_leaf_hash(text.encode())
        for text in LogEntry.objects.values_list("content", flat=True)
    ]
    while len(leaves) > 1:
        pairs = range(0, len(leaves) - 1, 2)
        odd = leaves[-1:] if len(leaves) % 2 else []
        leaves = [
            merkle.compute_node_hash(leaves[at], leaves[at + 1]) for at in pairs
        ] + odd
    assert log.read_signed_log_head()["root"] == leaves[0].hex()
    assert Season.objects.count() == 0
