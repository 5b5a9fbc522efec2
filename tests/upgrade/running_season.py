"""Print what the people of a running season of 0.3.0 notice of secrets after the upgrade, as JSON.

Usage: python tests/upgrade/running_season.py FOLDER

`tests.upgrade.hidden_gold` has prepared the site.
"""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from read_numbers import board_of, set_up

API = "/api/v1"
BOARD = "/seasons/demo/1a/evaluation/"
#: Rows of the site: people, runs of practice and evaluation, and the phase.
ORGANISER, PARTICIPANT = 1, 2
OWN_RUN, EARLIER_RUN, EVALUATION = 14, 19, 2


def main() -> None:
    [folder] = sys.argv[1:]
    set_up(Path(folder))
    from django.conf import settings
    from django.core.management import call_command

    # Nobody gathers scripts and styles for pages that no browser shows.
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}

    from tasks.gold.content import compute_missing_gold_digests
    from tasks.gold.publishing import compare_new_publications

    call_command("migrate", verbosity=0)
    # What the first sweeps of the new release do.
    while compute_missing_gold_digests():
        pass
    compare_new_publications()
    told = {**shown(), **of_organisers(), **sent(), **added()}
    json.dump(told, sys.stdout, ensure_ascii=False)


def signed_in(user: int) -> Any:
    from django.test import Client

    from citeboard.teams.models import User

    client = Client()
    client.force_login(User.objects.get(pk=user))
    return client


def shown() -> dict[str, Any]:
    """What readers and the team see without doing anything."""
    from django.test import Client

    from tasks.models import Gold, Phase

    evaluation = Phase.objects.select_related("task__season").get(pk=EVALUATION)
    gold = Gold.objects.get(task=evaluation.task, split=evaluation.split)
    told = Client().get(f"{API}/phases/{EVALUATION}/").json()
    page = Client().get(BOARD).content.decode()
    run = signed_in(PARTICIPANT).get(f"{API}/submissions/{OWN_RUN}/").json()
    return {
        "boards": [board_of(evaluation, rules) for rules in evaluation.task.rules],
        "rows for visitors": len(Client().get(f"{BOARD}board.json").json()["rows"]),
        "own scores": bool(run["evaluations"][0]["metrics"]),
        "old key": told["gold"]["sha256"],
        "plain digest": gold.plain_digest,
        "new key": told["commitments"]["gold"],
        "new key on the board": gold.salted_digest in page,
        "old key is called guessable": "lets a reader guess them" in page,
        "draws": [phase.draw for phase in Phase.objects.all()],
    }


def of_organisers() -> dict[str, Any]:
    """What organisers read, and which typing errors they are told of."""
    from tasks.models import Claim, Notification, Phase

    organiser = signed_in(ORGANISER)
    page = organiser.get(f"/seasons/demo/organise/settings/phases/{EVALUATION}/")
    closing_phase = f"{API}/phases/{EVALUATION}/close/?dry_run=yes"
    freezing = f"{API}/phases/{EVALUATION}/freeze/"
    refused = organiser.post(freezing, {"untli": "2090-01-01"})
    return {
        "settings": " ".join(page.content.decode().split()),
        "a switch": organiser.post(closing_phase).status_code,
        "an unknown field": [refused.status_code, refused.json()["detail"]],
        "is open": Phase.objects.get(pk=EVALUATION).is_open(),
        "told of shared texts": sorted(
            Notification.objects.filter(kind="texts-shared").values_list(
                "user", flat=True
            )
        ),
        "claims": list(Claim.objects.values_list("state", flat=True)),
    }


def sent() -> dict[str, Any]:
    """What a team is answered that goes on as before, with a field that does not exist."""
    from django.core.files.uploadedfile import SimpleUploadedFile

    from citeboard.core import storage
    from scoring.worker.score import score
    from tasks.models import Job, Submission

    with storage.run_file_storage.open(Submission.objects.get(pk=OWN_RUN).file) as file:
        upload = SimpleUploadedFile("run.jsonl", file.read())
    answer = signed_in(PARTICIPANT).post(
        f"{API}/phases/{EVALUATION}/submissions/",
        {"run": upload, "system": "After the upgrade", "desciption": "Slip"},
    )
    for job in Job.objects.filter(submission=answer.json()["id"], state="queued"):
        score(job.pk)
    run = Submission.objects.get(pk=answer.json()["id"])
    return {
        "upload": answer.status_code,
        "warnings": answer.json()["warnings"],
        "run": run.status,
        "columns": columns_of(run.pk),
        "earlier columns": columns_of(EARLIER_RUN),
    }


def columns_of(run: int) -> dict[str, list[str]]:
    from scoring.models import Score

    found: dict[str, list[str]] = {}
    scores = Score.objects.filter(evaluation__submission=run)
    for score in scores.select_related("evaluation", "shared"):
        found.setdefault(score.evaluation.rules, []).append(score.column)
    return {rules: sorted(columns) for rules, columns in found.items()}


def added() -> dict[str, Any]:
    """What organisers are answered who add a later phase on the same gold."""
    from scoring.worker.release import find_part_scored_now
    from tasks.models import Phase

    organiser = signed_in(ORGANISER)
    settings = {
        "title": "Post-evaluation",
        "opens": "2026-01-01 00:00",
        "closes": "2100-01-01 00:00",
        "split": "demo",
        "public_part": 30,
        "runs_per_day": 50,
    }
    values = {f"tasks.1a.phases.post.{key}": value for key, value in settings.items()}
    form = {"settings": json.dumps(values)}
    address = f"{API}/seasons/demo/settings/"
    refused = organiser.post(address, form)
    going_on = {
        "let_out_task": refused.json()["task"],
        "let_out_reason": "The gold is old.",
    }
    done = organiser.post(f"{address}?{urlencode(going_on)}", form)
    added_phase = Phase.objects.filter(slug="post").first()
    return {
        "later phase": [refused.status_code, refused.json()],
        "with a reason": [done.status_code, done.json()],
        "its draw": added_phase
        and find_part_scored_now(added_phase).rpartition("-")[0],
        "its secret": added_phase and Phase.objects.get(slug="post").part_nonce,
    }


if __name__ == "__main__":
    main()
