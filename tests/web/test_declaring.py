"""A task from its gold, on the site: proposed, previewed, saved with its gold, changed, and scored again."""

import io
import json
import random
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from citeboard.core import storage
from citeboard.core.models import AuditEntry
from citeboard.ops.undoing import find_entries_to_undo
from scoring.worker.score import score
from tasks.models import Gold, Job, Organiser, Phase, Season, Submission, Task
from tests import factories
from tests.api.conftest import API
from tests.background.background import work_off
from tests.declared.small_tasks import SMALL_TASKS, declare
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db
WORDS = [
    "rules",
    "help",
    "here",
    "as",
    "others",
    "have",
    "shown",
    "before",
    "in",
    "trees",
    "and",
    "forests",
]
LABELS = ("background", "method", "result")


def lines(rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def sentences(count: int = 40) -> list[dict]:
    draw = random.Random(7)
    return [
        {
            "id": f"s{place}",
            "text": " ".join(draw.choices(WORDS, k=9)),
            "label": LABELS[place % 3],
            "by": "Ada",
        }
        for place in range(count)
    ]


def worked_off() -> None:
    while job := Job.objects.filter(state="queued").first():
        score(job.pk)


@pytest.fixture
def season(client) -> Season:
    organiser = factories.make_user(name="Olga")
    client.force_login(organiser)
    return factories.make_season(
        organiser=organiser, slug="one", title="One", is_public=False
    )


def place(*task) -> str:
    name = "organise-settings-declaration" if task else "organise-settings-declare"
    return reverse(name, args=["one", *task])


def begun(client, content: bytes, form="labels", name="gold.jsonl"):
    file = SimpleUploadedFile(name, content)
    return client.post(place(), {"title": "Why cite", "form": form, "file": file})


def filled(answer, **changed) -> dict:
    """What a browser would send of the form that was shown."""
    form = answer.context["form"]
    sent = {
        name: field.prepare_value(form[name].value())
        for name, field in form.fields.items()
    }
    return {
        name: value for name, value in {**sent, **changed}.items() if value is not None
    }


def saved(client, answer, where=None, **changed):
    return client.post(where or place(), {**filled(answer, **changed), "save": ""})


def test_a_task_is_proposed_from_its_gold_previewed_and_saved_with_a_phase_and_its_baselines(
    client, season
):
    answer = begun(client, lines(sentences()))
    assert "label (in 40 of 40, 3 different, such as “background”)" in text_of(answer)
    form = answer.context["form"]
    assert (form["key"].value(), form["gold"].value(), form["shown"].value()) == (
        "id",
        "label",
        ["text"],
    )
    rows = {
        row["system"]: [*row["values"]][1]["value"] for row in answer.context["rows"]
    }
    assert rows["The gold itself"] == 1
    assert rows["The gold, each third answer changed"] == pytest.approx(26 / 40)
    assert rows["majority"] < rows["The gold, each third answer changed"]
    assert not Task.objects.exists()

    assert saved(client, answer).status_code == 302
    task = Task.objects.get()
    assert (task.slug, task.task_type.declared.form, task.gold.get().instances) == (
        "why-cite",
        "labels",
        40,
    )
    worked_off()
    scored = Submission.objects.filter(status="scored")
    assert set(scored.values_list("built_in", flat=True)) == {"majority", "prior"}
    board = client.get(boards.address("board", Phase.objects.get())).content.decode()
    assert "majority" in board


def test_a_task_of_tags_is_made_from_bio_lines_and_read_leniently_on_request(
    client, season
):
    words = "".join(
        f"{word} {'B-M' if at == place % 4 else 'I-M' if at == 5 else 'O'}\n"
        + ("\n" if at == 8 else "")
        for place in range(12)
        for at, word in enumerate(WORDS[:9])
    )
    answer = begun(client, words.encode(), form="tags", name="gold.conll")
    form = answer.context["form"]
    facts = [form[name].value() for name in ("tokens", "labels", "repair")]
    assert (facts[0], facts[2]) == ("tokens", None)
    assert form["shown"].value() == ["tokens"]
    strict = {row["system"]: [*row["values"]] for row in answer.context["rows"]}
    assert strict["The gold itself"][0]["value"] == 1
    changed = filled(answer, repair="on")
    answer = client.post(place(), {**changed, "preview": ""})
    assert saved(client, answer).status_code == 302
    kind = Task.objects.get().task_type
    assert (kind.declared.form, kind.pair.__self__.repair) == ("tags", True)
    assert kind.dimensions == ("entity_type",)


def test_a_program_makes_a_task_of_its_gold_reads_its_declaration_and_declares_it_anew(
    client, season
):
    where, gold = f"{API}/seasons/one/declared-tasks/", lines(sentences())

    def drafts() -> set[str]:
        return (
            set(storage.gold_file_storage.listdir("drafts")[1])
            if storage.gold_file_storage.exists("drafts")
            else set()
        )

    before = drafts()
    dates = {"opens": "2026-05-01 00:00", "closes": "2091-05-01 23:59 AoE"}

    def sent(content: bytes, **more):
        file = SimpleUploadedFile("gold.jsonl", content)
        given = {"title": "Why cite", "form": "labels", "file": file, **dates, **more}
        return client.post(where, given)

    refused = sent(b"nothing")
    assert (refused.status_code, bool(refused.json()["problems"])) == (422, True)
    wrong = sent(gold, declaration="title = ")
    assert (wrong.status_code, list(wrong.json()["errors"])) == (400, ["declaration"])
    assert not Task.objects.exists()
    made = sent(gold)
    assert (made.status_code, made.json()["slug"]) == (201, "why-cite")
    assert drafts() == before
    task = Task.objects.get()
    assert (task.gold.get().instances, task.phases.get().closes.year) == (40, 2091)

    address = f"{API}/tasks/{task.pk}/declaration/"
    files = client.get(address).json()["files"]
    text = files["task.toml"].replace('title = "Why cite"', 'title = "Why they cite"')
    assert client.post(address, {"declaration": text}).json() == {
        "is_scored_again": False
    }
    assert Task.objects.get().task_type.title == "Why they cite"
    other = lines(sentences(80)[40:])
    by_hand = sent(other, title="Once more", declaration=text)
    assert (by_hand.status_code, by_hand.json()["slug"]) == (201, "once-more")


HOSTILE = {
    "lists": ("a = " + "[" * 20_000, "nested 20,000 deep (limit: 50) in line 1"),
    "tables": ("a = " + "{a=" * 6_000, "nested 6,000 deep (limit: 50) in line 1"),
    "digits": (f"a = 1\nb = {'9' * 5000}", "5,000 digits (limit: 60) in line 2"),
    "hexadecimal": (f"a = 0x{'f' * 5000}", "5,000 digits (limit: 60) in line 1"),
    "parts of a key": ("a." * 5_000 + "a = 1", "more than 50 parts in line 1"),
    "no table": ("task = 1", "is not a declaration"),
}


@pytest.mark.parametrize(("text", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_declaration_of_a_new_task_is_refused_in_a_sentence(
    client, season, text, words
):
    file = SimpleUploadedFile("gold.jsonl", b"{}")
    sent = {"title": "Why", "form": "labels", "file": file, "declaration": text}
    dates = {"opens": "2026-05-01 00:00", "closes": "2091-05-01 23:59 AoE"}
    response = client.post(f"{API}/seasons/one/declared-tasks/", {**sent, **dates})
    assert response.status_code == 400
    assert words in response.json()["errors"]["declaration"][0]


@pytest.fixture
def task(client, season) -> Task:
    assert saved(client, begun(client, lines(sentences()))).status_code == 302
    worked_off()
    return Task.objects.get()


def test_what_changes_no_number_is_saved_at_once_and_what_does_is_a_version_that_runs_are_scored_against(
    client, task
):
    where, phase = place(task.pk), Phase.objects.get()
    answer = client.get(where)
    assert "The gold itself" in text_of(answer)
    assert saved(client, answer, where, title="Why they cite").status_code == 302
    task.refresh_from_db()
    assert (task.task_type.title, task.gold.count(), Job.objects.filter(state="queued").count()) == (
        "Why they cite", 1, 0,
    )  # fmt: skip

    measures = [*answer.context["form"]["measures"].value(), "balanced_accuracy"]
    changed = {"measures": measures, "first": "balanced_accuracy"}
    refused = saved(client, client.get(where), where, **changed)
    assert refused.status_code == 422
    assert "Say why numbers change" in text_of(refused)
    assert (
        saved(
            client, client.get(where), where, **changed, reason="Classes are uneven."
        ).status_code
        == 302
    )
    before = task.type
    task.refresh_from_db()
    assert task.type != before
    assert list(task.gold.order_by("number").values_list("number", "reason")) == [
        (1, "First release."), (2, "Classes are uneven."),
    ]  # fmt: skip
    assert len(set(task.gold.values_list("digest", flat=True))) == 1
    worked_off()
    told = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()
    assert told["columns"][0]["metric"] == "balanced_accuracy"
    assert {row["system"] for row in told["rows"]} == {"majority", "prior"}
    old = text_of(client.get(boards.address("board", phase) + "?gold=1"))
    assert "Macro F1" in old
    assert "Balanced accuracy" not in old


def undone(client, action: str) -> str:
    entry = AuditEntry.objects.filter(action=action).latest("pk")
    return text_of(
        client.post(reverse("organise-undo", args=["one", entry.pk]), follow=True)
    )


@pytest.mark.parametrize("has_runs", [True, False])
def test_another_declaration_is_shown_with_what_would_be_scored_and_is_taken_back(
    client, task, has_runs
):
    if not has_runs:
        Submission.objects.all().delete()
    where, before = (
        place(task.pk),
        Task.objects.values("type", "declaration", "rules").get(),
    )
    stored = Gold.objects.values("number", "digest").get()
    answer = client.get(where)
    measures = [*answer.context["form"]["measures"].value(), "balanced_accuracy"]
    sent = {
        **filled(
            answer, measures=measures, first="balanced_accuracy", reason="Uneven."
        ),
        "save": "",
    }
    asked = Client.post(client, where, sent)
    if has_runs:
        assert (asked.status_code, Task.objects.get().type) == (409, before["type"])
        rehearsal = asked.context["rehearsal"]
        assert "2 runs" in rehearsal.effects.scores.scored[0]
        assert "tasks.why-cite.type" in [
            change["key"] for change in rehearsal.effects.steps.changes
        ]
        best, _rest = work_off()
        assert {row["system"] for row in best.result["scores"]} == {"majority", "prior"}
        assert all(row["after"] and not row["why"] for row in best.result["scores"])
        assert client.post(where, sent).status_code == 302
    assert Task.objects.get().type != before["type"]
    assert Gold.objects.count() == (2 if has_runs else 1)
    worked_off()
    # The first version can be taken back by itself, that of the declaration with it.
    assert [entry.action for entry in find_entries_to_undo(task.season)].count(
        "gold-added"
    ) == 1
    assert "Taken back: declared Why cite anew" in undone(client, "declared-anew")
    assert Task.objects.values("type", "declaration", "rules").get() == before
    assert Gold.objects.values("number", "digest").get() == stored
    worked_off()
    if has_runs:
        told = client.get(f"/api/v1/phases/{task.phases.get().pk}/leaderboard/").json()
        assert told["columns"][0]["metric"] == "macro_f1"
        assert {row["system"] for row in told["rows"]} == {"majority", "prior"}


def test_a_hostile_change_of_a_declaration_is_refused_in_a_sentence(client, task):
    text, words = HOSTILE["parts of a key"]
    response = client.post(f"{API}/tasks/{task.pk}/declaration/", {"declaration": text})
    assert response.status_code == 400
    assert words in response.json()["errors"]["declaration"][0]


def test_a_program_is_told_of_another_declaration_and_takes_back_only_the_last(
    client, task
):
    address = f"{API}/tasks/{task.pk}/declaration/"
    text = client.get(address).json()["files"]["task.toml"]
    first = text.replace('"macro_f1", "accuracy"', '"accuracy", "macro_f1"')
    told = client.post(
        f"{address}?dry_run=true", {"declaration": first, "reason": "So."}
    ).json()
    assert (told["asks"], len(told["jobs"]), "2 runs" in told["scored"][0]) == (
        True,
        2,
        True,
    )
    assert Task.objects.get().declaration_id == task.declaration_id
    client.post(
        address, {"declaration": text.replace('title = "Why cite"', 'title = "Why"')}
    )
    entry = AuditEntry.objects.get(action="declared-anew")
    client.post(
        address, {"declaration": text.replace('title = "Why cite"', 'title = "Then"')}
    )
    refused = client.post(f"{API}/seasons/one/history/{entry.pk}/undo/")
    assert (refused.status_code, "declared anew since" in refused.json()["detail"]) == (
        409,
        True,
    )


def test_the_api_gives_a_declaration_to_organisers_of_its_season_alone(client, season):
    task, helper = declare(SMALL_TASKS["labels"], season), factories.make_user()
    season.organisers.create(user=helper, role=Organiser.Role.HELPER)
    Season.objects.update(is_public=True)
    answers = []
    for person in (helper, factories.make_user()):
        asking = Client()
        asking.force_login(person)
        answers.append(asking.get(f"{API}/tasks/{task.pk}/declaration/").status_code)
    assert answers == [404, 404]
    assert client.get(f"{API}/tasks/{task.pk}/declaration/").status_code == 200


def test_a_zip_with_a_pool_is_a_ranking_and_its_folder_travels(
    client, season, tmp_path
):
    documents = [
        {"doc": f"d{place}", "title": f"{word} of {place} things"}
        for place, word in enumerate(WORDS)
    ]
    asked = [
        {
            "id": f"q{place}",
            "paper_id": f"p{place // 4}",
            "query": f"who said {word} of things",
            "found": [f"d{place}"],
        }
        for place, word in enumerate(WORDS)
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("queries.jsonl", lines(asked))
        archive.writestr("pool.jsonl", lines(documents))
    answer = begun(client, packed.getvalue(), "ranking", "gold.zip")
    form = answer.context["form"]
    assert [form[name].value() for name in ("gold", "unit", "shown", "query")] == [
        "found", "paper_id", ["query"], "query",
    ]  # fmt: skip
    assert [row["system"] for row in answer.context["rows"]][-1] == "bm25"
    done = saved(client, answer)
    assert done.status_code == 302, (
        done.context["form"].errors,
        done.context["problems"],
    )
    assert Gold.objects.get().instances == len(WORDS)
    call_command("export_season", "one", "--out", str(tmp_path / "out"))
    toml = tmp_path / "out" / "season.toml"
    toml.write_text(toml.read_text().replace('slug = "one"', 'slug = "two"'))
    call_command("load_season", str(tmp_path / "out"))
    assert len({task.type for task in Task.objects.all()}) == 1


def test_what_is_no_gold_is_told_by_line_and_nothing_is_kept(client, season):
    refused = begun(client, lines(sentences()[:3]) + b"{broken\n")
    assert refused.status_code == 422
    assert "gold.jsonl" in text_of(refused)
    assert "4" in text_of(refused)
    nothing = begun(client, lines([{"id": "a", "text": "Only a text stands here."}]))
    assert (
        "no field of the instances looks like an answer of the form labels"
        in text_of(nothing)
    )
    answer = begun(client, lines(sentences()))
    shown = saved(client, answer, shown=["text", "label"])
    assert "“label” shows the answer" in text_of(shown)
    assert saved(client, answer, closes="2001-01-01 10:00").status_code == 422
    assert not Task.objects.exists()


def test_a_draft_is_of_its_organiser_s_season_alone(client, season):
    answer = begun(client, lines(sentences()))
    other = factories.make_season(organiser=factories.make_user(), slug="other")
    client.force_login(other.organisers.get().user)
    where = reverse("organise-settings-declare", args=["other"])
    assert "draft" not in client.post(where, filled(answer)).context["form"].fields
    assert not Task.objects.exists()
    assert storage.gold_file_storage.listdir("drafts")[1]


def test_files_of_other_names_become_a_task_that_is_held_against_an_official_number(
    client, season
):
    names = dict(zip(LABELS, "012", strict=True))
    rows = [{**row, "label": names[row["label"]]} for row in sentences(12)]
    answer = begun(client, lines(rows))
    # One answer of twelve is wrong.
    run = [{"key": row["id"], "pred": f"{row['label']}.0"} for row in rows]
    run[0]["pred"] = "1.0"
    given = {
        "values": "0 = background\n1 = method\n2 = result",
        "run_id": "key",
        "run_field": "pred",
        "run_values": "0.0 = background\n1.0 = method\n2.0 = result",
        "official": "91.6",
        "official_measure": "accuracy",
        "first": "macro_f1",
    }
    file = SimpleUploadedFile("official.jsonl", lines(run))
    sent = {**filled(answer, **given), "sample_run": file, "save": ""}
    answer = client.post(place(), sent)
    assert not Task.objects.exists()
    said = text_of(answer)
    assert "under corrected: official 91.6, here 91.7, difference 0.1" in said
    assert "Nothing was saved." in said
    assert "official.jsonl" in said
    assert answer.context["form"]["official"].value() == "91.6"

    answer = client.post(place(), {**filled(answer, official="91.7"), "save": ""})
    assert answer.status_code == 302, text_of(answer)
    toml = Task.objects.get().task_type.declared.files["task.toml"]
    assert 'labels = ["background", "method", "result"]' in toml
    assert 'values = { 0 = "background", 1 = "method", 2 = "result" }' in toml
    assert '{ name = "f1_background", measure = "f1", label = "background" }' in toml


def test_an_official_run_that_cannot_be_read_is_told_by_line_and_may_be_passed_over(
    client, season
):
    answer = begun(client, lines(sentences(12)))
    file = SimpleUploadedFile("official.jsonl", b'{"id": "s0", "pred_label": "x"}\n')
    given = {"values": "nothing", "official": "x"}
    answer = client.post(place(), {**filled(answer, **given), "preview": ""})
    assert "no line such as 1 = yes" in text_of(answer)
    sent = {**filled(answer, values="", official="0.9"), "preview": ""}
    assert "Give the run that has this number." in text_of(client.post(place(), sent))
    answer = client.post(place(), {**sent, "sample_run": file})
    said = text_of(answer)
    assert "The sample run cannot be read." in said
    assert "“label” is missing; found “id”, “pred_label”" in said
    answer = client.post(place(), {**filled(answer, anyway="on"), "save": ""})
    assert answer.status_code == 302
