"""Bundles of Codabench and CodaLab become drafts of seasons, with a report of what was understood."""

import datetime as dt
import io
import json
import re
from functools import partial
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from scoring.exchange.bundles import drafting, reading
from scoring.exchange.bundles.dates import InvalidBundleDate, parse_bundle_date
from scoring.exchange.bundles.files import BundleFiles
from scoring.exchange.bundles.importing import (
    create_drafted_season,
    draft_season_from_bundle,
    load_stored_import_report,
)
from scoring.exchange.bundles.pages import convert_html_to_markdown
from scoring.exchange.bundles.programs import read_scoring_program
from scoring.exchange.bundles.report import (
    VERDICT_LEFT_OUT,
    VERDICT_NEEDS_DECISION,
    VERDICT_PREVENTS_IMPORT,
    VERDICT_UNDERSTOOD,
    ImportReport,
)
from scoring.exchange.bundles.schema import (
    KEYS_BY_PLATFORM,
    report_keys_needing_attention,
)
from tasks.models import Gold, Phase, Season, Task
from tasks.submissions.yaml_reader import read_yaml
from tasks.types.declared.official_program import parse_program_json
from tasks.types.files import InputFile
from tests.exchange.bundles import (
    CODABENCH,
    CODALAB,
    GUESSES,
    PROGRAM,
    codabench,
    codalab,
    lines,
    packed,
)


@pytest.fixture
def drafting_of(tmp_path, monkeypatch):
    """Return the result of the confined program for a bundle, run in its own folder."""
    monkeypatch.chdir(tmp_path)

    def draft(files):
        (tmp_path / drafting.UPLOAD_FILE_NAME).write_bytes(packed(files))
        return drafting.draft({"filename": "bundle.zip"})

    return draft


def said(result, verdict: str) -> str:
    return "\n".join(
        f"{line['place']}: {line['message']}"
        for line in result["report"]
        if line["verdict"] == verdict
    )


def declaration(result) -> str:
    return next(
        text for name, text in result["files"].items() if name.endswith("task.toml")
    )


def changed(old: str, new: str) -> dict[str, str]:
    assert old in CODABENCH
    return {"competition.yaml": CODABENCH.replace(old, new)}


def test_codabench_becomes_a_season_with_its_phases_terms_and_board(drafting_of):
    result = drafting_of(codabench())
    season, [task] = result["values"]["season"], result["values"]["tasks"]
    assert (season["title"], season["public"]) == ("Pets in pictures", False)
    assert season["registration"] == "open"
    assert season["terms"] == "# Terms\n\nBe **fair**."
    assert "Which pet is it?\n\n## Overview\n\nName the *pet*." in season["summary"]
    practice, final = task["phases"]
    assert practice == {
        "slug": "practice",
        "title": "Practice",
        "split": "practice",
        "opens": "2031-01-31T00:00:00+00:00",
        "closes": "2031-02-01T10:00:00+00:00",
        "time_zone": "UTC",
        "runs_per_day": 4,
        "counting": "last",
    }
    assert (final["opens"], final["runs_in_total"]) == ("2031-02-01T10:00:00+00:00", 1)
    assert "closes" not in final


def test_measures_are_named_and_ordered_as_the_board_has_them(drafting_of):
    result = drafting_of(codabench())
    toml = declaration(result)
    assert 'measures = ["accuracy", "macro_f1"]' in toml
    assert 'macro_f1 = "Macro F1"' in toml
    assert 'labels = ["bird", "cat", "dog"]' in toml
    understood = said(result, VERDICT_UNDERSTOOD)
    assert (
        "sklearn.metrics.accuracy_score (scoring.py:8) is `accuracy` here" in understood
    )
    assert "`macro_f1` here, which the program shows times 100" in understood


def test_the_solution_scores_what_the_program_gives_it(drafting_of):
    sk = pytest.importorskip("sklearn.metrics")
    from tests.exchange.bundles import ANSWERS, GOLD

    accuracy = sk.accuracy_score(GOLD, ANSWERS)
    macro = sk.f1_score(GOLD, ANSWERS, average="macro")
    expected = f"scored on “practice”: accuracy {accuracy:.6f}, macro_f1 {macro:.6f}"
    assert f"solutions[0]/answers.txt: {expected}" in said(
        drafting_of(codabench()), VERDICT_UNDERSTOOD
    )


def test_the_program_itself_is_offered_in_a_rule_set_behind_ours(drafting_of):
    result = drafting_of(codabench())
    toml = declaration(result)
    task = result["values"]["tasks"][0]
    assert task["rules"] == ["corrected", "with-program"]
    assert 'gold = "labels.txt"' in toml
    assert 'answers = "answers.txt"' in toml
    assert '{ name = "official_acc", column = "acc" }' in toml
    program = next(
        text for name, text in result["files"].items() if name.endswith("program.json")
    )
    assert parse_program_json(program).command == ("scoring.py",)
    assert "once those who run the site approve its text" in said(
        result, VERDICT_NEEDS_DECISION
    )
    lower = declaration(drafting_of(codalab()))
    assert 'column = "error", lower_is_better = true' in lower
    assert "width = 2" in lower


def table(kind: str, values: list[str], more: str = "") -> str:
    """Return gold or answers as a table, with another column if ``more`` names it."""
    rows = [{"id": f"a{n}", "label": own} for n, own in enumerate(values)]
    rows = [{**row, **({more: "x"} if more else {})} for row in rows]
    if kind == "jsonl":
        return "".join(f"{json.dumps(row)}\n" for row in rows)
    sign = "\t" if kind == "tsv" else ","
    return "".join(
        f"{sign.join(own)}\n" for own in [rows[0], *(r.values() for r in rows)]
    )


def with_tables(kind: str, gold: str, answers: str, reader: str = ""):
    """Return a bundle whose program reads the gold and the answers as tables."""
    program = PROGRAM.replace("labels.txt", f"gold.{kind}").replace(
        "answers.txt", f"answers.{kind}"
    )
    return codabench(
        **{
            **changed("tasks: [1]", "tasks: [0]"),
            "dev/labels.txt": None,
            "solution/answers.txt": None,
            f"dev/gold.{kind}": gold,
            f"solution/answers.{kind}": answers,
            "program/scoring.py": f"{program}\n{reader}\n",
        }
    )


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_a_program_that_reads_tables_is_offered_with_their_columns(drafting_of, kind):
    labels = ["cat", "dog"] * 8
    files = with_tables(kind, table(kind, labels, "text"), table(kind, labels))
    toml = declaration(drafting_of(files))
    assert f'files = "{kind}"' in toml
    assert f'gold = "gold.{kind}"' in toml
    assert f'answers = "answers.{kind}"' in toml
    program = toml.split("[task.program]")[1]
    assert 'id = "id"' in program
    assert 'field = "label"' in program


LABELS = ["cat", "dog"] * 8
GOLD_TABLE = table("csv", LABELS, "weight")


@pytest.mark.parametrize(
    ("gold", "answers", "reader", "reason"),
    [
        (GOLD_TABLE, table("csv", LABELS), "row = {'weight': 1}",
         "it reads the columns weight of gold.csv, and the site gives it id and label"),
        (GOLD_TABLE, table("csv", LABELS).replace("label", "guess"), "",
         "answers.csv has no column label; name the columns of gold and answers alike"),
        (GOLD_TABLE, None, "", "no sample shows the name of the file of answers"),
        ("".join(f"{n},{n % 3}.5\n" for n in range(8)),
         "".join(f"{n},{n % 2}.5\n" for n in range(8)), "", "give the gold with names in its"),
    ],
)  # fmt: skip
def test_a_program_whose_tables_the_site_does_not_write_is_left_out_with_what_it_needs(
    drafting_of, gold, answers, reader, reason
):
    result = drafting_of(with_tables("csv", gold, answers, reader))
    assert reason in said(result, VERDICT_LEFT_OUT) + said(
        result, VERDICT_NEEDS_DECISION
    )
    assert "[task.program]" not in declaration(result)


@pytest.mark.parametrize(
    "key", ["a;b", '"acc"', "a/b", "duration", "x" * 61, "", "acc\\nf1"]
)
def test_columns_without_a_plain_name_and_durations_are_no_columns_of_the_program(
    drafting_of, key
):
    old = "      - {title: Macro F1, key: f1, index: 1, sorting: desc}\n"
    new = f"      - {{title: Other, key: {json.dumps(key)}, index: 2}}\n"
    toml = declaration(drafting_of(codabench(**changed(old, old + new))))
    assert 'columns = ["acc", "f1"]' in toml


def test_columns_that_the_program_never_names_are_left_out_if_it_names_others(
    drafting_of,
):
    old = "      - {title: Macro F1, key: f1, index: 1, sorting: desc}\n"
    new = "      - {title: Other, key: other, index: 2}\n"
    toml = declaration(drafting_of(codabench(**changed(old, old + new))))
    assert 'columns = ["acc", "f1"]' in toml


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"solution/answers.txt": None}, "no sample shows the name"),
        ({"program/scoring.py": f"{PROGRAM}\nimport no_such_package, subprocess"},
         "no_such_package is imported and not installed here"),
        ({"dev/labels.txt": None,
          "dev/labels.csv": "id,label\n" + "".join(f"{n},{'ab'[n % 2]}\n" for n in range(8))},
         "no sample shows the name of the file of answers"),
    ],
)  # fmt: skip
def test_what_keeps_a_program_from_running_here_is_reported(
    drafting_of, changed, reason
):
    result = drafting_of(codabench(**changed))
    assert reason in said(result, VERDICT_LEFT_OUT) + said(
        result, VERDICT_NEEDS_DECISION
    )


def test_participants_see_the_public_lines_of_the_instances_and_no_gold(drafting_of):
    result = drafting_of(codabench())
    assert 'shown = ["input"]' in declaration(result)
    assert "participants see the lines of pictures.txt" in said(
        result, VERDICT_NEEDS_DECISION
    )
    leaking = drafting_of(
        codabench(**{"public/labels.txt": codabench()["dev/labels.txt"]})
    )
    assert (
        "labels.txt, which participants get there, is the gold of “practice”"
        in said(leaking, VERDICT_NEEDS_DECISION)
    )


def test_codalab_becomes_a_season_whose_vectors_are_numbers_of_a_row(drafting_of):
    result = drafting_of(codalab())
    season, [task] = result["values"]["season"], result["values"]["tasks"]
    assert (season["registration"], season["terms"]) == ("open", "None.")
    assert season["summary"].endswith("Give shares.")
    assert [
        (phase["slug"], phase["opens"][:10], phase["closes"][:10], phase["counting"])
        for phase in task["phases"]
    ] == [
        ("practice", "2031-01-01", "2031-02-01", "last"),
        ("final", "2031-02-01", "2031-03-01", "last"),
    ]
    toml = declaration(result)
    assert 'form = "numbers"' in toml
    assert 'unit = "row"' in toml
    assert 'measures = ["mse"]' in toml
    assert "scored on “practice”: mse 0.075000" in said(result, VERDICT_UNDERSTOOD)


@pytest.mark.parametrize(
    ("written", "counting"),
    [
        ("Force_Latest_Multiple", "all"),
        ("Force_Best", "best"),
        ("Add", "selected"),
        ("Add_And_Delete_Multiple", "all"),
    ],
)
def test_each_rule_of_the_board_is_a_way_of_counting(drafting_of, written, counting):
    result = drafting_of(codabench(**changed("Force_Last", written)))
    [task] = result["values"]["tasks"]
    assert {phase["counting"] for phase in task["phases"]} == {counting}


def test_several_tasks_of_a_phase_are_tasks_with_their_phases(drafting_of):
    result = drafting_of(codabench(**changed("tasks: [1]", "tasks: [0, 1]")))
    first, second = result["values"]["tasks"]
    assert [phase["slug"] for phase in first["phases"]] == ["practice", "final"]
    assert {phase["split"] for phase in first["phases"]} == {"practice"}
    assert [phase["slug"] for phase in second["phases"]] == ["final"]


BY_ID = changed(
    "reference_data: dev", "reference_data: 412ea3a9-c87e-4044-a479-3105d49a0ef4"
)
PROGRAMS_ALONE = {
    **changed("name: Pets\n", "name: Pets\n    ingestion_program: program\n"),
    "solution/answers.txt": None,
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (BY_ID, "data by id"),
        ({"program/scoring.py": "print 'no'\n"}, "Python 2"),
        ({"program/metadata.yaml": "command: python2 scoring.py"}, "Python 2"),
        ({"program/metadata.yaml": "command: java -jar score.jar"}, "an executable"),
        (PROGRAMS_ALONE, "code submission"),
        ({"competition.yaml": "a: [1"}, "not readable"),
        ({"competition.yaml": "a: &a [1]\nb: &b [*a, *a]"}, "an alias within a value"),
        ({"competition.yaml": None}, "there is no competition.yaml"),
        ({"competition.yaml": "title: x\ntasks: []"}, "there are no phases"),
        ({"../evil": "x"}, "leads out of the archive"),
        ({"final.zip": b"PK\x03\x04 not a zip"}, "not a readable zip"),
    ],
)
def test_a_bundle_that_cannot_be_imported_names_the_one_thing_that_prevents_it(
    drafting_of, files, expected
):
    result = drafting_of(codabench(**files))
    assert result["values"] is None
    prevents = said(result, VERDICT_PREVENTS_IMPORT)
    assert expected in prevents
    assert prevents.count("\n") == 0


def test_a_program_that_is_not_recognised_leaves_a_draft_that_says_so(drafting_of):
    program = "import mystery\nprint(mystery.score())\n"
    result = drafting_of(codabench(**{"program/scoring.py": program}))
    assert [task["slug"] for task in result["values"]["tasks"]] == ["pets"]
    assert "the scoring program is not recognised" in said(
        result, VERDICT_NEEDS_DECISION
    )
    assert "column “Accuracy” is no measure that was recognised" in said(
        result, VERDICT_LEFT_OUT
    )


def test_nothing_of_a_program_is_run(drafting_of, tmp_path):
    program = f"open({str(tmp_path / 'ran')!r}, 'w').write('x')\n{PROGRAM}"
    assert drafting_of(codabench(**{"program/scoring.py": program}))["values"]
    assert not (tmp_path / "ran").exists()


def test_a_date_that_is_none_closes_the_phase_until_somebody_sets_one(drafting_of):
    result = drafting_of(codabench(**changed("start: 1-31-2031", "start: soon")))
    [task] = result["values"]["tasks"]
    opens = {phase["slug"]: phase["opens"][:4] for phase in task["phases"]}
    assert opens == {"practice": "2097", "final": "2031"}
    assert "phases[1].start: “soon” is no date; set the date" in said(
        result, VERDICT_NEEDS_DECISION
    )


def test_a_sample_with_other_lines_is_no_run_and_the_next_one_is_tried(drafting_of):
    more = {
        "solution/answers.txt": lines(["cat"]),
        "starting_kit/sample.zip": packed(
            {"mine.txt": codabench()["solution/answers.txt"]}
        ),
    }
    result = drafting_of(codabench(**more))
    assert "has not the 8 lines of “practice”: the next sample" in said(
        result, VERDICT_LEFT_OUT
    )
    assert "sample.zip/mine.txt: scored on “practice”: accuracy 0.750000" in said(
        result, VERDICT_UNDERSTOOD
    )


def test_a_bundle_that_takes_programs_and_results_is_imported_for_its_sample(
    drafting_of,
):
    old = "phasenumber: 2, label: Final,"
    assert old in CODALAB
    files = codalab(
        **{
            "competition.yaml": CODALAB.replace(
                old,
                f"{old} ingestion_program: run.zip, starting_kit: starting_kit.zip,",
            ),
            "sample_submission.zip": None,
            "starting_kit.zip": packed(
                {"sample_result/a.txt": lines(GUESSES), "b.py": ""}
            ),
        }
    )
    result = drafting_of(files)
    assert "participants may send programs there" in said(
        result, VERDICT_NEEDS_DECISION
    )
    scored = "starting kit: sample_result/a.txt: scored on “final”: mse 0.075000"
    assert scored in said(result, VERDICT_UNDERSTOOD)


@pytest.fixture
def bundle(tmp_path):
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(codabench()))
    return path


@pytest.mark.django_db
def test_signs_that_no_database_holds_are_replaced(bundle):
    files = codabench()
    title, spelt = "title: Pets in pictures", 'title: "Pets\\0 in \\ud800pictures"'
    strange = '"re\\0d\\ud800": 1\n'
    changed = files["competition.yaml"].replace(title, spelt) + strange
    bundle.write_bytes(packed({**files, "competition.yaml": changed}))
    with draft_season_from_bundle(
        bundle, "pets.zip", by=None, slug="pets-2031"
    ) as draft:
        create_drafted_season(draft, filename="pets.zip", by=None)
    season = Season.objects.get()
    assert season.title == "Pets\ufffd in ?pictures"
    assert any("re\ufffdd?" in line.place for line in load_stored_import_report(season))


@pytest.mark.django_db
def test_a_draft_is_loaded_as_a_season_file_is_and_keeps_its_report(bundle):
    with draft_season_from_bundle(
        bundle, "pets.zip", by=None, slug="pets-2031"
    ) as draft:
        create_drafted_season(draft, filename="pets.zip", by=None)
    season = Season.objects.get()
    assert (season.slug, season.is_public) == ("pets-2031", False)
    task = Task.objects.get()
    assert task.type.startswith("declared:pets@")
    golds = Gold.objects.order_by("split").values_list("split", "instances")
    assert list(golds) == [("final", 4), ("practice", 8)]
    final = Phase.objects.get(slug="final")
    assert final.opens == dt.datetime(2031, 2, 1, 10, tzinfo=dt.UTC)
    assert list(load_stored_import_report(season)) == list(draft.report)
    assert load_stored_import_report(season)[0].verdict == VERDICT_NEEDS_DECISION


@pytest.mark.django_db
def test_the_command_makes_the_draft_of_a_folder_or_says_why_not(tmp_path):
    folder = tmp_path / "bundle"
    for name, content in codalab().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    out = io.StringIO()
    call_command("import_bundle", folder, "--dry-run", stdout=out)
    assert not Season.objects.exists()
    assert "scored on “final”: mse 0.075000" in out.getvalue()
    call_command("import_bundle", folder, "--slug", "mine", stdout=out)
    assert "season mine: a draft with 1 task" in out.getvalue()
    (folder / "competition.yaml").write_text("title: none")
    with pytest.raises(CommandError, match="not imported, for phases: there are no"):
        call_command("import_bundle", folder, stdout=out)


ROOT = Path(__file__).resolve().parents[2]
VERDICT = {
    VERDICT_UNDERSTOOD: "taken",
    VERDICT_LEFT_OUT: "dropped, with a message",
    VERDICT_NEEDS_DECISION: "asked of you",
}


@pytest.mark.parametrize("layout", list(KEYS_BY_PLATFORM))
def test_the_guide_lists_each_key_as_the_importer_treats_it(layout):
    guide = (ROOT / "docs" / "bundles.md").read_text()
    part = guide.split(f"\n### {layout}\n")[1].split("\n### ")[0]
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{key.path}` | {VERDICT[key.verdict]} | {key.words} |"
        for key in KEYS_BY_PLATFORM[layout]
    ]


def of_path(path: str):
    """Return a description with one value at a path of the schema."""
    name, _dot, rest = path.partition(".")
    inner = of_path(rest) if rest else "a value"
    own = name.removesuffix("[]")
    return {("any" if own == "*" else own): [inner] if own != name else inner}


@pytest.mark.parametrize("layout", list(KEYS_BY_PLATFORM))
def test_a_key_is_noted_as_the_guide_says_and_an_unknown_one_too(layout):
    for key in KEYS_BY_PLATFORM[layout]:
        report = ImportReport()
        report_keys_needing_attention(of_path(key.path), layout, report)
        noted = [(line.place, line.verdict) for line in report]
        taken = key.verdict == VERDICT_UNDERSTOOD
        assert noted == ([] if taken else [(key.path, key.verdict)])
    report = ImportReport()
    report_keys_needing_attention({"colour": "red"}, layout, report)
    assert [line.message for line in report] == ["no key that the importer knows “red”"]


SEVERAL = """
from sklearn.metrics import precision_recall_fscore_support as prf
p, r, f, _ = prf(g, a, average='macro')
s = {'P': p, 'R': r, 'F': f}
"""
LIBRARY = """
import numpy as np

def other(a, b):
    return np.mean(a == b)

def mine(a, b):
    return np.mean(np.abs(a - b))
"""


def recognised(program: str, **files: str):
    own = {"score.py": program, "metadata": "command: python score.py", **files}
    inputs = [
        InputFile(name, name, partial(io.BytesIO, text.encode()))
        for name, text in own.items()
    ]
    found = read_scoring_program(inputs, "program", ImportReport())
    return {key: own.name for key, own in found.by_key.items()}, [
        own.name for own in found.others
    ]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("from sklearn import metrics as m\nx = {'a': m.f1_score(g, p)}", {"a": "f1"}),
        (
            "import sklearn.metrics as m\nr['k'] = m.cohen_kappa_score(g, p, weights='quadratic')",
            {"k": "kappa_quadratic"},
        ),
        (
            SEVERAL,
            {"P": "macro_precision", "R": "macro_recall", "F": "macro_f1"},
        ),
        (
            "import numpy as np\nout.write('acc: %f' % np.mean(gold == answers))",
            {"acc": "accuracy"},
        ),
        (
            "import numpy as np\nout.write('err: {:.3f}'.format(np.sqrt(np.mean((g - p) ** 2))))",
            {"err": "rmse"},
        ),
        (
            "n = sum(1 for a, b in zip(g, p) if a == b) / len(g)\nprint(f'score:{n}')",
            {"score": "accuracy"},
        ),
        (
            "from scipy.stats import spearmanr\nx = {'rho': round(spearmanr(g, p)[0], 3)}",
            {"rho": "spearman"},
        ),
        ("def mrr(r):\n    return r\nx = {'m': mrr(2)}", {"m": "mrr"}),
        ("def unused():\n    from sklearn.metrics import accuracy_score\n", {}),
        ("x = {'a': accuracy_score(g, p)}", {}),
        ("import numpy as np\nx = {'a': np.mean(gold > answers)}", {}),
    ],
)
def test_calls_and_formulas_are_measures_under_the_keys_they_are_written_under(
    program, expected
):
    assert recognised(program)[0] == expected


def test_a_list_of_measures_is_recognised_by_its_library_and_lists_by_their_names():
    program = "import pytrec_eval\nx = pytrec_eval.RelevanceEvaluator(q, {'map', 'ndcg_cut_10'})"
    assert sorted(recognised(program)[1]) == ["map", "ndcg@10"]
    rouge = "from rouge_score import rouge_scorer\ns = rouge_scorer.RougeScorer(['rouge1', 'rougeL'])"
    assert recognised(rouge)[1] == ["rouge_1", "rouge_l"]


def test_a_file_beside_the_program_may_name_its_function():
    program = "name = open('metric.txt').read()\nfrom lib import *\n"
    assert recognised(program, **{"lib.py": LIBRARY, "metric.txt": "mine\n"})[1] == [
        "mae"
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("12-31-2026", "2026-12-31T00:00:00"),
        ("1/2/2026 5:30 pm", "2026-01-02T17:30:00"),
        ("2026-1-2", "2026-01-02T00:00:00"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05"),
        (dt.date(2026, 1, 2), "2026-01-02T00:00:00"),
        (dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), "2026-01-02T03:00:00"),
    ],
)
def test_dates_have_the_month_first_or_are_iso_and_in_utc(written, expected):
    assert parse_bundle_date(written).isoformat() == f"{expected}+00:00"


@pytest.mark.parametrize(
    "written", ["31-12-2026", "2-30-2026", "tomorrow", "1-1-2026 25:00"]
)
def test_what_is_no_date_is_refused(written):
    with pytest.raises(InvalidBundleDate):
        parse_bundle_date(written)


def test_pages_of_html_become_markdown_without_scripts_and_odd_links():
    html = (
        "<head><style>a{}</style><body><h2>Rules</h2><ol><li>One<li>Two</ol><p>See "
        "<a href='https://example.org/x'>there</a>, <a href='javascript:alert(1)'>not</a>."
        "<img src=x onerror=alert(1)></p><pre>a  b</pre>"
    )
    assert convert_html_to_markdown(html) == (
        "## Rules\n\n1. One\n2. Two\n\nSee [there](https://example.org/x), not.\n\n```\na  b\n```"
    )


class Recorded(dict):
    """A description that notes the path of each key that is asked for."""

    def __init__(self, values, noted, path=""):
        super().__init__(
            {key: self._inner(key, one, noted, path) for key, one in values.items()}
        )
        self._noted, self._path = noted, path

    def _inner(self, key, value, noted, path):
        own = _path_of(path, key)
        if isinstance(value, dict):
            return Recorded(value, noted, own)
        if isinstance(value, list):
            return [
                Recorded(one, noted, f"{own}[]") if isinstance(one, dict) else one
                for one in value
            ]
        return value

    def get(self, key, default=None):
        self._noted.add(_path_of(self._path, key))
        return super().get(key, default)

    def __getitem__(self, key):
        self._noted.add(_path_of(self._path, key))
        return super().__getitem__(key)


def _path_of(path, key):
    return f"{path}.{key}".strip(".")


#: Keys that are taken without being read: the site does as they say, or takes whole tables.
UNREAD = {
    "version",
    "html.*",
    "phases[].accepts_only_result_submissions",
    "solutions[].index",
    "leaderboard.leaderboards.*.rank",
}


@pytest.mark.parametrize(
    ("layout", "files"), [("Codabench", codabench()), ("CodaLab", codalab())]
)
def test_each_key_that_the_readers_ask_for_is_in_the_guide_and_the_other_way_round(
    tmp_path, monkeypatch, layout, files
):
    noted: set[str] = set()
    monkeypatch.setattr(
        reading, "read_yaml", lambda *a, **k: Recorded(read_yaml(*a, **k), noted)
    )
    path = tmp_path / "bundle.zip"
    path.write_bytes(packed(files))
    monkeypatch.chdir(tmp_path)
    reading.read_competition(BundleFiles(path, "bundle.zip"), ImportReport())
    chosen = r"^(html|phases|leaderboard\.(?:leaderboards|columns))\.(?!terms$)\w+"
    paths = {
        re.sub(chosen, r"\1.*", path) if layout == "CodaLab" else path for path in noted
    }
    known = {key.path for key in KEYS_BY_PLATFORM[layout]}
    parts = {part for key in known for part in _parts_of(key)}
    within = {path for path in paths if path.rpartition(".")[0] in known}
    assert paths - known - parts - within == set()
    taken = {
        key.path
        for key in KEYS_BY_PLATFORM[layout]
        if key.verdict == VERDICT_UNDERSTOOD
    }
    assert {path.removesuffix("[]") for path in taken - UNREAD} - paths == set()


def _parts_of(path):
    """Return the paths of the tables that a key is in, with and without the mark of lists."""
    heads = [path[: found.start()] for found in re.finditer(r"\.|$", path)]
    return [*heads, *(head.removesuffix("[]") for head in heads)]
