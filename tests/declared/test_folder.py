"""A folder declares a task: what it says is read, and everything that is wrong is told by file and line."""

# Tables of cases are read across.

import json
import shutil

import pytest

from scoring.__main__ import main
from tasks.types import InputRefused, OptionRefused, task_type
from tasks.types.files import open_files_of_all_inputs, open_input_files
from tests.declared.folders import CARD, EXAMPLES, lines, write
from tests.scoring import offline

TOML = """[task]
slug = "worth"
title = "Worth"
form = "labels"
unit = "paper"
dimensions = ["section", { name = "year", field = "facts.day", as = "year", absent = "unknown" }]

[task.gold]
field = "gold"
shown = ["text", "facts"]
hidden = ["facts.url"]

[task.answer]
field = "label"
labels = ["yes", "no"]
positive = "yes"

[[task.rules]]
name = "corrected"
measures = ["f1", { name = "f1_no", measure = "f1", label = "no" }]

[task.names]
f1 = "F1 of worthy sentences"
"""
GOLD = [
    {
        "id": "a",
        "paper": "p",
        "text": "A",
        "facts": {"day": "2020-01-02", "url": "u"},
        "section": "s",
        "gold": "yes",
    },
    {
        "id": "b",
        "paper": "p",
        "text": {"any": ["value"]},
        "facts": {},
        "section": "t",
        "gold": "no",
    },
]
RUN = [{"id": "a", "label": "yes"}, {"id": "b", "label": "yes"}]


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "worth", TOML, GOLD, RUN)


def faults(path) -> list[str]:
    with pytest.raises(InputRefused) as refused:
        task_type(str(path))
    return [str(problem).removeprefix(f"{path}/") for problem in refused.value.problems]


def test_a_folder_may_stand_wherever_a_type_is_named(folder, capsys, tmp_path):
    gold, run = folder / "sample" / "gold.jsonl", folder / "sample" / "run.jsonl"
    scores = offline.score(capsys, str(folder), [gold], run)
    assert scores["metrics"]["f1"]["value"] == pytest.approx(2 / 3)
    slug = scores["task_type"]
    digest = task_type(str(folder)).declared.digest
    assert slug == f"declared:worth@{digest[:8]}"
    assert f"|task:{digest[:12]}|" in scores["metrics"]["f1"]["column"]
    assert list(scores["breakdowns"]["year"]) == ["2020", "unknown"]
    assert scores["breakdowns"]["section"]["t"]["f1"]["value"] == 0
    assert main(["check", str(folder), "--gold", str(gold), "--run", str(run)]) == 0
    assert (
        main(
            [
                "compare",
                str(folder),
                "--gold",
                str(gold),
                "--run",
                str(run),
                "--run",
                str(run),
            ]
        )
        == 0
    )


def test_participants_get_what_is_shown_and_nothing_else(folder, tmp_path):
    kind = task_type(str(folder))
    public = dict(
        kind.public_files(open_input_files(folder / "sample" / "gold.jsonl"), {})
    )
    assert list(map(json.loads, public["inputs.jsonl"].splitlines())) == [
        {"id": "a", "text": "A", "facts": {"day": "2020-01-02"}},
        {"id": "b", "text": {"any": ["value"]}, "facts": {}},
    ]
    place = tmp_path / "public"
    place.mkdir()
    for name, content in public.items():
        (place / name).write_bytes(content)
    run = str(folder / "sample" / "run.jsonl")
    assert main(["check", str(folder), "--inputs", str(place), "--run", run]) == 0


def test_a_breakdown_by_a_secret_field_writes_it_into_no_public_file(folder, capsys):
    gold, run = folder / "sample" / "gold.jsonl", folder / "sample" / "run.jsonl"
    gold.write_text(lines([{**row, "section": f"secret-{row['id']}"} for row in GOLD]))
    assert list(
        offline.score(capsys, str(folder), [gold], run)["breakdowns"]["section"]
    ) == [
        "secret-a",
        "secret-b",
    ]
    public = dict(task_type(str(folder)).public_files(open_input_files(gold), {}))
    assert public
    assert not any(b"secret" in content for content in public.values())


def test_the_digest_is_of_what_numbers_rest_on(folder):
    digest = task_type(str(folder)).declared.digest
    toml = folder / "task.toml"
    named = (
        TOML.replace("F1 of worthy sentences", "F").replace('"Worth"', '"Other"')
        + "# Words.\n"
    )
    toml.write_text(named + '\n[[task.baselines]]\nname = "majority"\n')
    assert task_type(str(folder)).declared.digest == digest
    toml.write_text(TOML.replace('"section", ', ""))
    assert task_type(str(folder)).declared.digest != digest


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('slug = "worth"', 'slug = "Worth it"', "task.toml:2: “Worth it” cannot stand in an address"),
        ('form = "labels"', 'form = "label"', "task.toml:4: “label” is not known here (did you mean “labels”?)"),  # noqa: E501
        ('field = "gold"\n', "", "task.toml:8: “field” is missing"),
        ('unit = "paper"', 'units = "paper"', "task.toml:5: there is no key “units” here (did you mean “unit”?)"),  # noqa: E501
        ('shown = ["text", "facts"]', 'shown = ["text", "gold", "facts"]', "task.toml:10: “gold” shows the answer"),  # noqa: E501
        ('field = "gold"\n', 'field = "facts.gold"\n', "task.toml:10: “facts” shows the answer, which is “facts.gold”"),  # noqa: E501
        ('hidden = ["facts.url"]', 'hidden = ["fact.url"]', "task.toml:11: “fact.url” is in no field that is shown"),  # noqa: E501
        ('positive = "yes"', 'positive = "maybe"', "task.toml:16: “maybe” is no label; expected one of yes, no"),  # noqa: E501
        ('measures = ["f1", {', 'measures = ["f2", {', "task.toml:20: there is no measure “f2” of the form labels"),  # noqa: E501
        ('label = "no" }', 'label = "on" }', "task.toml:20: “on” is no label"),
        ('["f1", {', '["brier_score", {', "task.toml:20: “brier_score” needs probabilities"),
        ('["f1", {', '["jaccard", {', "task.toml:20: “jaccard” is of tasks in which an instance has several"),
        ('["f1", {', '["f1@5", {', "task.toml:20: “f1@5” has no such cut-off"),
        ('as = "year"', 'as = "yaer"', "task.toml:6: “yaer” is not known here"),
        ('name = "corrected"', "name = 7", "task.toml:19: “name” is a number"),
        ("[task.names]", "[task.names", "task.toml:22: not TOML"),
        ("[task.names]", 'more = 1\n[task.names]', "task.toml:22: there is no key “more” here"),
    ],
)  # fmt: skip
def test_every_fault_of_the_declaration_has_its_line(folder, before, after, told):
    assert before in TOML
    (folder / "task.toml").write_text(TOML.replace(before, after))
    assert any(line.startswith(told) for line in faults(folder)), faults(folder)


def test_several_faults_are_told_at_once_and_a_command_ends_with_2(folder, capsys):
    wrong = TOML.replace('form = "labels"', 'form = "labels"\ncolour = 1').replace(
        'positive = "yes"', 'positive = "x"'
    )
    (folder / "task.toml").write_text(wrong)
    (folder / "card.md").write_text(CARD.replace("## Data\n", ""))
    assert len(faults(folder)) == 4
    assert main(["task", "check", str(folder)]) == 2
    told = capsys.readouterr().err.splitlines()
    places = [line.partition(": ")[0].rpartition("/")[2] for line in told]
    assert places == ["card.md", "task.toml:5", "task.toml:17"]
    assert told[-1].endswith(" (and 1 more line: 21)")


def test_a_fault_of_the_card_stands_beside_one_of_a_baseline(folder):
    (folder / "task.toml").write_text(f'{TOML}\n[[task.baselines]]\nname = "best"\n')
    (folder / "card.md").write_text(CARD.replace("### `corrected`", "### `other`"))
    of_card, of_baseline = faults(folder)
    assert of_card.startswith("card.md: the rule set corrected is not described")
    assert of_baseline.startswith("task.toml:26: “best” is not known here")


def test_a_sample_that_scores_otherwise_is_refused_by_its_file_and_line(folder):
    scores = folder / "sample" / "scores.json"
    scores.write_text('{"corrected": {"f1": 0.5, "f3": 1}, "other": {}}')
    assert faults(folder) == [
        "sample/scores.json: “f1” under corrected is 0.5; computed it is 0.6666666666666666",
        "sample/scores.json: there is no measure “f3” under corrected; expected f1, f1_no",
        "sample/scores.json: there are no rules “other”; expected corrected",
    ]
    (folder / "sample" / "run.jsonl").write_text(
        lines([{"id": "a", "label": "perhaps"}])
    )
    assert faults(folder) == [
        "sample/run.jsonl:1: “perhaps” is no label; expected one of yes, no"
    ]
    scores.unlink()
    assert faults(folder) == [
        "sample: there is no scores.json; expected a sample: gold, run.jsonl and scores.json"
    ]


def test_a_folder_without_a_declaration_and_a_name_of_nothing_are_told(
    tmp_path, capsys
):
    assert faults(tmp_path) == [
        f"{tmp_path}: there is no task.toml; expected the folder of a task"
    ]
    assert main(["task", "check", str(tmp_path / "none")]) == 2
    assert "there is no task type" in capsys.readouterr().err


@pytest.mark.parametrize(
    "form", __import__("scoring.offline.commands", fromlist=["FORMS"]).FORMS
)
def test_a_new_folder_of_each_form_works(tmp_path, capsys, form):
    place = tmp_path / "my_task"
    assert main(["task", "new", form, str(place)]) == 0
    assert main(["task", "check", str(place), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["slug"], told["form"]) == ("my-task", form)
    assert main(["task", "new", form, str(place)]) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_the_examples_are_sound_and_each_of_their_baselines_is_a_run(
    name, tmp_path, capsys
):
    kind = task_type(str(EXAMPLES / name))
    sample = EXAMPLES / name / "sample"
    gold = (
        [sample / "gold"]
        if (sample / "gold").is_dir()
        else sorted(sample.glob("gold*"))
    )
    for baseline in kind.declared.baselines:
        run = tmp_path / f"{baseline.name}.jsonl"
        given = ["--gold", *map(str, gold), "--out", str(run)]
        assert main(["baseline", str(EXAMPLES / name), baseline.name, *given]) == 0
        capsys.readouterr()
        offline.score(capsys, str(EXAMPLES / name), gold, run)
        public = tmp_path / "public"
        public.mkdir(exist_ok=True)
        for file, content in kind.public_files(open_files_of_all_inputs(gold), {}):
            (public / file).write_bytes(content)
        # What learns from gold is never given the public files alone.
        if baseline.learns_from_gold:
            continue
        assert len(list(baseline.answers(open_input_files(public)))) == len(
            run.read_text().splitlines()
        )


def test_options_are_refused_and_old_names_of_rules_are_understood(folder):
    kind = task_type(str(folder))
    with pytest.raises(OptionRefused, match="has no option “k”"):
        kind.validate_options({"k": "5"})
    assert kind.validate_rule_set_name("fair") == "corrected"


def test_links_out_of_the_folder_are_not_followed(folder, tmp_path):
    outside = tmp_path / "outside.toml"
    shutil.move(folder / "task.toml", outside)
    (folder / "task.toml").symlink_to(outside)
    assert faults(folder) == [
        f"{folder}: there is no task.toml; expected the folder of a task"
    ]


def test_participants_get_the_folder_beside_the_inputs_and_nothing_secret_of_its_sample(
    folder,
):
    kind = task_type(str(folder))
    public = dict(
        kind.public_files(open_input_files(folder / "sample" / "gold.jsonl"), {})
    )
    assert {
        "task.toml",
        "card.md",
        "sample-run.jsonl",
        "sample-instances.jsonl",
    } < public.keys()
    assert public["card.md"].decode() == (folder / "card.md").read_text()
    sample = [
        json.loads(line) for line in public["sample-instances.jsonl"].splitlines()
    ]
    assert [set(line) for line in sample] == [{"id", "text", "facts"}] * 2
    assert "url" not in sample[0]["facts"]
    assert not {name for name in public if "gold" in name or "scores" in name}


def test_a_declared_ranking_is_scored_at_the_cut_offs_of_its_season_besides(capsys):
    folder = EXAMPLES / "source-retrieval"
    kind = task_type(str(folder))
    assert [metric.name for metric in kind.list_metrics_of_rule_set("corrected", {"k": "5,20"})] == [
        "mrr@5", "mrr@1", "recall@10", "mrr@20", "recall@5", "recall@20",
    ]  # fmt: skip
    assert kind.validate_options({}) == kind.validate_options({"k": ""}) == {}
    with pytest.raises(
        OptionRefused,
        match="option k=0: expected at most 10 whole numbers from 1 to 1000",
    ):
        kind.validate_options({"k": "0"})
    gold, run = folder / "sample" / "gold", folder / "sample" / "run.jsonl"
    scored = offline.score(capsys, str(folder), [gold], run, "--option", "k=2")
    assert (
        scored["metrics"]["recall@2"]["value"]
        == scored["metrics"]["recall@10"]["value"]
    )
