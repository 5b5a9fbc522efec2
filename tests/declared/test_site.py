"""A season with a declared task: loaded, scored by a worker, shown, exported, archived and verified."""

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from sklearn.metrics import precision_recall_fscore_support

from scoring.__main__ import main
from scoring.worker.score import score
from tasks.models import Declaration, Job, Phase, Submission, Task
from tests.declared.folders import CARD, EXAMPLES, lines
from tests.factories import make_user
from tests.scoring import boards
from tests.tasks.test_new_task_type import uploaded

pytestmark = pytest.mark.django_db
SEASON = """[season]
slug = "field"
title = "Field"
public = true
[[tasks]]
slug = "intent"
title = "Intent"
type = "./types/citation-intent"
min_class_size = 1

[[tasks.gold]]
paths = ["gold.jsonl"]

[[tasks.phases]]
slug = "open"
title = "Open"
opens = 2020-01-01T00:00:00Z
closes = 2090-01-01T00:00:00Z

[[tasks.baselines]]
system = "Ours"
run = "run.jsonl"
"""


def copied(source: Path, target: Path) -> None:
    for path in source.rglob("*.*"):
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(path.read_bytes())


@pytest.fixture
def folder(tmp_path):
    """Each sentence of the sample twice, since classes of a few are not shown."""
    season = tmp_path / "season"
    copied(EXAMPLES / "citation-intent", season / "types" / "citation-intent")
    for name in ("gold", "run"):
        rows = [
            json.loads(line)
            for line in (EXAMPLES / f"citation-intent/sample/{name}.jsonl")
            .read_text()
            .splitlines()
        ]
        again = [{**row, "id": f"{row['id']}-again"} for row in rows]
        (season / f"{name}.jsonl").write_text(lines([*rows, *again]))
    (season / "season.toml").write_text(SEASON)
    return season


def worked_off() -> None:
    while job := Job.objects.filter(state="queued").first():
        score(job.pk)


def test_a_season_with_a_declared_task_is_scored_shown_exported_loaded_again_archived_and_verified(
    folder, tmp_path, client, capsys
):
    call_command("load_season", str(folder))
    call_command("run_baselines", "field")
    worked_off()
    task = Task.objects.get(season__slug="field")
    slug = task.task_type.slug
    assert (task.type, task.declaration.slug) == (slug, slug)
    assert {run.system: run.status for run in Submission.objects.all()} == {
        "Ours": "scored",
        "majority": "scored",
    }
    phase = Phase.objects.get(task=task)
    told = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()
    assert [column["metric"] for column in told["columns"]][:3] == [
        "macro_f1",
        "accuracy",
        "mcc",
    ]
    assert {
        row["system"]: round(row["scores"]["accuracy"]["value"], 4)
        for row in told["rows"]
    }["Ours"] == 0.6667
    page = client.get(boards.address("board", phase)).content.decode()
    assert "Ours" in page
    assert "F1 of method" in page
    assert (
        "F1 von method"
        in client.get(
            boards.address("board", phase), headers={"accept-language": "de"}
        ).content.decode()
    )
    assert (
        "by Absicht"
        not in client.get(boards.address("differences", phase)).content.decode()
    )
    german = client.get(
        boards.address("differences", phase), headers={"accept-language": "de"}
    ).content.decode()
    assert "Absicht" in german
    assert (
        "Why does a sentence cite"
        in client.get("/seasons/field/intent/").content.decode()
    )
    refused = uploaded(client, phase, b'{"id": "s1", "label": "nothing"}\n', do="check")
    assert refused.status_code in (302, 403, 422)

    out = tmp_path / "out"
    call_command("export_season", "field", "--out", str(out))
    assert 'type = "./tasks/intent"' in (out / "season.toml").read_text()
    copied(out, tmp_path / "elsewhere")
    toml = tmp_path / "elsewhere" / "season.toml"
    toml.write_text(toml.read_text().replace('slug = "field"', 'slug = "other"'))
    call_command("load_season", str(tmp_path / "elsewhere"))
    assert Task.objects.get(season__slug="other").declaration == task.declaration
    assert Declaration.objects.count() == 1
    call_command("load_season", str(folder))

    capsys.readouterr()
    Phase.objects.update(closes=datetime(2021, 1, 1, tzinfo=UTC))
    archive = tmp_path / "archive"
    assert "[task.view]" in (out / "tasks" / "intent" / "task.toml").read_text()
    call_command(
        "export_season", "field", "--out", str(archive), "--archive", "--with-gold"
    )
    assert "view" not in (archive / "tasks" / "intent" / "task.toml").read_text()
    assert not (archive / "tasks" / "intent" / "sample").exists()
    assert main(["verify", str(archive), "--json"]) == 0
    verified = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert verified["equal"] == verified["numbers"] > 40
    for older in (archive / "scores").glob("*.json"):
        numbers = json.loads(older.read_text())
        for by_label in (evaluation["breakdowns"]["intent"] for evaluation in numbers):
            by_label.setdefault("background", {})["macro_f1"] = {"value": 0.3, "n": 4}
        older.write_text(json.dumps(numbers))
    main(["verify", str(archive)])
    assert (
        "withdrawn: such a metric means little on the instances of one gold label: 4 numbers"
        in (capsys.readouterr().out)
    )
    changed = archive / "tasks" / "intent" / "task.toml"
    changed.write_text(changed.read_text().replace('"accuracy",', ""))
    assert main(["verify", str(archive)]) != 0


def test_by_gold_label_stand_precision_recall_and_f1_of_each_class_and_what_was_confused(
    folder, client
):
    call_command("load_season", str(folder))
    call_command("run_baselines", "field")
    worked_off()
    phase = Phase.objects.get()
    by_label = (
        boards.address("differences", phase) + "?dimension=intent&metric=macro_f1"
    )
    page = client.get(by_label).content.decode()
    assert "Class F1 by intent" in page
    assert "Macro F1 by intent" not in page
    of_labels = boards.address("confidence", phase)
    assert "Gold and answers of" not in client.get(of_labels).content.decode()
    tab = "?view=confidence"
    assert tab not in client.get(boards.address("board", phase)).content.decode()
    Phase.objects.update(shows_instances=True, closes=datetime(2021, 1, 1, tzinfo=UTC))

    tables = client.get(boards.address("classes-json", phase)).json()["tables"]
    of_intent = {
        table["metric"]: table for table in tables if table["dimension"] == "intent"
    }
    assert list(of_intent) == ["class_f1", "class_recall", "class_precision"]
    by_section = {
        table["metric"] for table in tables if table["dimension"] == "section"
    }
    assert {"macro_f1", "accuracy"} <= by_section
    assert "class_f1" not in by_section
    gold, run = (
        {
            row["id"]: row["label"]
            for row in map(json.loads, (folder / name).read_text().splitlines())
        }
        for name in ("gold.jsonl", "run.jsonl")
    )
    wanted, given = [*gold.values()], [run.get(name, "none") for name in gold]
    ours = Submission.objects.get(system="Ours").pk
    for name, place in (("class_precision", 0), ("class_recall", 1), ("class_f1", 2)):
        for one in of_intent[name]["classes"]:
            found = {score["submission"]: score["value"] for score in one["scores"]}[
                ours
            ]
            own = precision_recall_fscore_support(
                wanted, given, labels=[one["class"]], zero_division=0
            )
            assert found == pytest.approx(float(own[place][0]), rel=1e-12), (
                name,
                one["class"],
            )

    assert tab in client.get(boards.address("board", phase)).content.decode()
    page = client.get(of_labels).content.decode()
    own = re.sub(r">\s+<", "><", page[page.index("Gold and answers of “Ours”") :])
    counted = Counter(zip(wanted, given, strict=True))
    for label in ("background", "method", "result"):
        cells = [
            counted[label, answer]
            for answer in ("background", "method", "result", "none")
        ]
        line = "".join(f'<td class="n">{count}</td>' for count in (sum(cells), *cells))
        assert f'<th scope="row">{label}</th>{line}' in own


def test_of_single_instances_stands_what_one_has_and_where_there_is_no_interval_the_reason_stands_for_it(
    folder, client
):
    toml = folder / "types" / "citation-intent" / "task.toml"
    auroc = '{ name = "auroc_method", measure = "auroc", label = "method" },'
    toml.write_text(
        toml.read_text().replace('"brier_score",', f'"brier_score", {auroc}')
    )
    call_command("load_season", str(folder))
    call_command("run_baselines", "field")
    worked_off()
    client.force_login(make_user(is_staff=True))
    phase, runs = Phase.objects.get(), Submission.objects.order_by("pk")
    read = client.get(
        f"/api/v1/phases/{phase.pk}/instances/", {"a": runs[0].pk, "b": runs[1].pk}
    ).json()
    assert {name for one in read["instances"] for name in one["values_a"]} == {
        "accuracy",
        "brier_score",
    }
    page = client.get(
        reverse("submission-instances", args=[runs[0].pk])
    ).content.decode()
    assert "Accuracy" in page
    assert "Macro F1" not in page

    why = "no interval: a class occurs in fewer than five units"
    row = boards.address("board", phase) + f"runs/{runs[0].pk}/"
    of_macro_f1 = runs[0].evaluations.get().scores.get(shared__metric="macro_f1").pk
    number = client.get(row, {"score": of_macro_f1}).content.decode()
    assert f'<span class="soft">{why}</span>' in number
    for address in (row, reverse("submission", args=[runs[0].pk])):
        assert why in client.get(address).content.decode()


def test_a_season_with_a_folder_that_is_wrong_is_refused_whole_with_every_fault(
    folder, capsys
):
    place = folder / "types" / "citation-intent"
    toml = place / "task.toml"
    toml.write_text(
        toml.read_text()
        .replace('"accuracy"', '"acuracy"')
        .replace('form = "labels"', 'form = "labels"\nx = 1')
    )
    (place / "card.md").write_text(CARD.replace("## Format\n", ""))
    with pytest.raises(CommandError) as refused:
        call_command("load_season", str(folder))
    told = str(refused.value) + capsys.readouterr().err
    for words in (
        "task.toml:5: there is no key “x” here", "there is no measure “acuracy”", "no section “## Format”",
    ):  # fmt: skip
        assert words in told
    assert not Task.objects.exists()


def test_a_declared_name_may_change_and_what_changes_numbers_needs_a_task_without_runs(
    folder, capsys
):
    call_command("load_season", str(folder))
    before = Task.objects.get().declaration
    toml = folder / "types" / "citation-intent" / "task.toml"
    text = toml.read_text()
    toml.write_text(text.replace("F1 of method", "F1 (method)"))
    call_command("load_season", str(folder))
    after = Task.objects.get().declaration
    assert (after.slug, after.pk != before.pk) == (before.slug, True)
    toml.write_text(text.replace('    "mcc",\n', ""))
    with pytest.raises(CommandError, match="nothing was loaded"):
        call_command("load_season", str(folder))
    assert f"the task has runs of the type {before.slug}" in capsys.readouterr().err


def test_a_drawn_instance_has_probabilities_of_labels_and_the_sentences_of_evidence(
    folder, client
):
    said = {"background": 0.125, "method": 0.5, "result": 0.375}
    run = [
        json.loads(line) | {"probabilities": said}
        for line in (folder / "run.jsonl").read_text().splitlines()
    ]
    (folder / "run.jsonl").write_text(lines(run))
    call_command("load_season", str(folder))
    worked_off()
    run, staff = Submission.objects.get(), make_user(is_staff=True)
    client.force_login(staff)
    drawn = " ".join(
        client.get(reverse("submission-instances", args=[run.pk]))
        .content.decode()
        .split()
    )
    of_labels = drawn[drawn.index("Probabilities<") :]
    assert re.search(
        r'background <span class="who">gold · 0\.125</span>',
        of_labels,
    )

    name = "claims-and-evidence"
    copied(EXAMPLES / name, folder / "types" / name)
    sample = f"types/{name}/sample"
    toml = (folder / "season.toml").read_text().replace('"field"', '"evidence"')
    toml = toml.replace("citation-intent", name).replace("gold.jsonl", f"{sample}/gold")
    (folder / "season.toml").write_text(
        toml.replace('"run.jsonl"', f'"{sample}/run.jsonl"')
    )
    call_command("load_season", str(folder))
    worked_off()
    there = reverse(
        "submission-instances",
        args=[Submission.objects.get(phase__task__season__slug="evidence").pk],
    )
    drawn = " ".join(client.get(there).content.decode().split())
    answers = drawn[drawn.index("Gold<") :]
    assert re.search(
        r'<mark class="both">Oaks grew in spring.</mark> <span class="who">sentence 2 · right</span>',
        answers,
    )
    client.logout()
    assert client.get(there).status_code == 404


def test_beside_a_board_of_labels_with_confidence_stands_how_often_systems_are_right(
    folder, client
):
    name, sample = (
        "reference-verification",
        EXAMPLES / "reference-verification" / "sample",
    )
    copied(EXAMPLES / name, folder / "types" / name)
    toml = (folder / "season.toml").read_text().replace("citation-intent", name)
    (folder / "season.toml").write_text(
        f"{toml}".replace('title = "Open"', 'title = "Open"\nshows_instances = true')
    )
    for file in ("gold.jsonl", "run.jsonl"):
        (folder / file).write_text((sample / file).read_text())
    call_command("load_season", str(folder))
    worked_off()
    page = client.get(
        boards.address("confidence", Phase.objects.get())
    ).content.decode()
    assert "Gold and answers of “Ours”" in page
    runs = [
        json.loads(line) for line in (sample / "run.jsonl").read_text().splitlines()
    ]
    sure = [
        run["confidence"]
        for run in runs
        if run["label"] != "UNCERTAIN" and 0.8 < run["confidence"] <= 0.9
    ]
    own = page[page.index("Reliability of “Ours”") :]
    assert re.search(
        rf'0.8 to 0.9</th>\s*<td class="n">{len(sure)}</td>\s*<td class="n">{sum(sure) / len(sure):.4f}',
        own,
    )
