"""What may stand in a season file, and how everything that may not is told: all at once, by line."""

import tomllib

import pytest
from hypothesis import given, strategies as st

from tasks.models import Phase, Season
from tasks.seasons.file.entries import _describe_invalid_judge
from tasks.types import task_type
from tasks.types.toml_lines import TomlKeyLines
from tests.tasks.seasons import edit, load, refusals, write_season
from tests.tasks.types.corpus import write_topic

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path):
    return write_season(tmp_path / "season")


# What is replaced, by what, and everything that is then said.
FAULTS = [
    (
        'title = "A small season"',
        'titel = "A small season"',
        [
            "season.toml:1: “title” is missing",
            "season.toml:3: there is no key “titel” here (did you mean “title”?); expected one of",
        ],
    ),
    (
        'slug = "small"',
        'slug = "Small season"',
        ["season.toml:2: “Small season” cannot stand in an address"],
    ),
    (
        'slug = "small"',
        "slug = 7",
        ["season.toml:2: “slug” is a number; expected a text in quotes"],
    ),
    ('slug = "small"', 'slug = " "', ["season.toml:2: “slug” is empty"]),
    (
        'slug = "small"',
        f'slug = "{"a" * 61}"',
        ["season.toml:2: “slug” has 61 characters; expected at most 60"],
    ),
    ('slug = "small"\n', "", ["season.toml:1: “slug” is missing"]),
    ("public = true", 'public = "no"', ["season.toml:5: “public” is a text"]),
    ('"ada@example.org"', '"ada"', ["season.toml:4: “ada” is not an e-mail address"]),
    (
        'type = "clsumm-1a"',
        'type = "clsum-1a"',
        ["season.toml:9: “clsum-1a” is not known here (did you mean"],
    ),
    (
        '"official-2017"',
        '"official-2071"',
        ["season.toml:10: clsumm-1a has no rules “official-2071”; expected"],
    ),
    (
        '["corrected", "official-2017"]',
        "[]",
        ["season.toml:10: “rules” is empty; expected"],
    ),
    (
        '["corrected", "official-2017"]',
        '"corrected"',
        ["season.toml:10: “rules” is not a list of texts; expected"],
    ),
    (
        '["corrected", "official-2017"]',
        '["corrected", "corrected"]',
        ["season.toml:10: “rules” names “corrected” twice"],
    ),
    (
        '["corrected", "official-2017"]',
        '["corrected", "fair"]',
        ["season.toml:10: “rules” names “corrected” twice"],
    ),
    (
        '["corrected", "official-2017"]',
        '["corrected", "corrected@support-b"]',
        [
            "season.toml:10: no further judge can decide “corrected@support-b”; expected a first judge"
        ],
    ),
    (
        '["corrected", "official-2017"]',
        '["corrected@support-b", "corrected"]',
        [
            "season.toml:10: no further judge can decide “corrected@support-b”; expected the rule sets"
        ],
    ),
    (
        '["corrected", "official-2017"]',
        '["as-published"]',
        [
            "season.toml:10: clsumm-1a has no rules “as-published”; expected some of corrected, official-2014"
        ],
    ),
    (
        'type = "clsumm-1a"',
        'type = "clsumm-1a"\noptions = { anotation = "annv3" }',
        ["season.toml:10: clsumm-1a has no option “anotation”; it has"],
    ),
    (
        'type = "clsumm-1a"',
        'type = "clsumm-1a"\noptions = { annotation = 3 }',
        ["season.toml:10: “annotation” is a number; expected a text in quotes"],
    ),
    (
        'paths = ["corpus"]',
        'paths = ["korpus"]',
        ["season.toml:13: there is no korpus; expected a file or folder"],
    ),
    ('paths = ["corpus"]', "paths = []", ["season.toml:13: “paths” is empty"]),
    (
        'paths = ["corpus"]',
        'paths = ["corpus/../../x"]',
        ["season.toml:13: corpus/../../x leads out of the fold"],
    ),
    (
        'paths = ["corpus"]',
        'paths = ["/etc/passwd"]',
        ["season.toml:13: “/etc/passwd” is not a relative path"],
    ),
    (
        'paths = ["corpus"]',
        'paths = ["a\\u0000b"]',
        ["season.toml:13: “a\ufffdb” is not a relative path"],
    ),
    (
        "opens = 2020-01-01T00:00:00Z",
        'opens = "2020-01-01"',
        [
            "season.toml:18: “2020-01-01” is not a date and time such as 2026-05-01 23:59"
        ],
    ),
    (
        "opens = 2020-01-01T00:00:00Z",
        "opens = 2020-01-01",
        ["season.toml:18: “opens” is a date without a time"],
    ),
    ("opens = 2020-01-01T00:00:00Z\n", "", ["season.toml:15: “opens” is missing"]),
    (
        "2020-01-01T00:00:00Z",
        "2091-01-01T00:00:00Z",
        ["season.toml:19: the phase closes at 1 Jan 2090, 00:00 UTC"],
    ),
    (
        "runs_per_day = 3",
        "runs_per_day = 0",
        ["season.toml:20: “runs_per_day” is 0; expected a whole number"],
    ),
    (
        'type = "clsumm-1a"',
        'type = "clsumm-1a"\nmax_seconds = 999999\nmax_memory_mb = 8\nqueue = "my gpu"',
        [
            "season.toml:10: “max_seconds” is 999999; expected a whole number from 1 to 1,800",
            "season.toml:11: “max_memory_mb” is 8; expected a whole number from 256 to 4,096",
            "season.toml:12: “my gpu” cannot stand in an address",
        ],
    ),
    (
        "runs_per_day = 3",
        "runs_per_day = true",
        ["season.toml:20: “runs_per_day” is True; expected a whole"],
    ),
    (
        "runs_per_day = 3",
        "runs_per_day = 9999999999",
        ["season.toml:20: “runs_per_day” is 9999999999"],
    ),
    (
        "runs_per_day = 3",
        "run_per_day = 3",
        ["season.toml:20: there is no key “run_per_day” here (did you mean"],
    ),
    (
        '"Europe/Rome"',
        '"Europe/Romme"',
        ["season.toml:27: “Europe/Romme” is not a time zone"],
    ),
    (
        '"Europe/Rome"',
        '"../etc/passwd"',
        ["season.toml:27: “../etc/passwd” is not a time zone"],
    ),
    (
        "2020-03-01T12:00:00",
        "2020-03-29T02:30:00",
        ["season.toml:25: the clocks of Europe/Rome skip 2020-03-29"],
    ),
    (
        "2020-03-01T12:00:00",
        "2020-10-25T02:30:00",
        ["season.toml:25: 2020-10-25 02:30:00 comes twice in"],
    ),
    ('"nobody"', '"noone"', ["season.toml:29: “noone” is not known here"]),
    ('"last"', '"first"', ["season.toml:30: “first” is not known here"]),
    (
        'slug = "final"',
        'slug = "practice"',
        ["season.toml:23: slug “practice” is given a second time"],
    ),
    (
        'run = "lead.jsonl"',
        'run = "corpus"',
        ["season.toml:34: corpus is a folder; expected one file, or a zip"],
    ),
    ('run = "lead.jsonl"', "", ["season.toml:32: “run” is missing"]),
    (
        'run = "lead.jsonl"',
        'run = "lead.jsonl"\nphases = ["practise"]',
        [
            "season.toml:35: the task has no phase “practise”; expected some of practice, final"
        ],
    ),
    (
        "[season]",
        "[saison]",
        [
            "season.toml:1: “season” is missing",
            "season.toml:1: there is no key “saison” here",
        ],
    ),
    (
        "[[tasks]]",
        "[tasks]",
        ["season.toml:6: “tasks” is a table; expected tables under [[tasks]]"],
    ),
    (
        "[[tasks]]",
        "reported_only = 1\n[[tasks]]",
        ["season.toml:6: there is no key “reported_only” here"],
    ),
    (
        'type = "clsumm-1a"',
        'type = "clsumm-1a"\nreported_only = true',
        ["season.toml:10: a task with gold is more than reported"],
    ),
    (
        "runs_in_total = 5",
        "runs_in_total = 5\ngold_from = 2031-01-02T12:00:00Z",
        [
            "season.toml:29: the gold would not be released at all; expected “gold_public = true” beside it"
        ],
    ),
    (
        'type = "clsumm-1a"',
        'type = "clsumm-1a"\nsummary = "a"\ncard = "lead.jsonl"',
        ["season.toml:11: “summary” and “card” are two texts for one place"],
    ),
]


def test_a_task_in_which_nothing_could_rank_is_refused(folder):
    edit(
        folder,
        ('type = "clsumm-1a"', 'type = "clsumm-2"'),
        ('["corrected", "official-2017"]', '["official-2018"]'),
    )
    said = "season.toml:6: rules “official-2018” rank by rouge_2_f1.abstract, which has no value without"
    assert [line for line in refusals(folder) if line.startswith(said)]


def test_a_view_without_a_first_judge_is_told_the_options_of_its_task_type(folder):
    edit(
        folder,
        ('type = "clsumm-1a"', 'type = "cited-reports"'),
        ('["corrected", "official-2017"]', '["corrected", "corrected@support-b"]'),
    )
    [line] = [line for line in refusals(folder) if "no further judge" in line]
    assert line.endswith("the site stores: assignments or supports = store:JUDGE")


@pytest.mark.parametrize(("old", "new", "said"), FAULTS)
def test_what_is_wrong_is_told_by_line_and_nothing_is_written(folder, old, new, said):
    edit(folder, (old, new))
    lines = refusals(folder)
    assert len(lines) == len(said), lines
    for line, beginning in zip(lines, said, strict=True):
        assert line.startswith(beginning)
    assert not Season.objects.exists()


def test_everything_that_is_wrong_is_told_at_once(folder):
    edit(
        folder,
        ('slug = "small"', 'slug = "SMALL"'),
        ("2020-01-01T00:00:00Z", '"soon"'),
        ("runs_in_total = 5", "runs_in_total = -1"),
    )
    annotation = folder / "corpus" / "D01-0001" / "annotation" / "D01-0001.annv3.txt"
    annotation.write_text("no annotation\n")
    (folder / "lead.jsonl").write_text("no json\n")
    lines = refusals(folder)
    assert [line.partition(": ")[0] for line in lines] == [
        "season.toml:2",
        "season.toml:18",
        "season.toml:28",
        f"{annotation}:1",
    ]


def test_a_baseline_that_cannot_be_scored_is_told_by_its_own_lines(folder):
    (folder / "lead.jsonl").write_text("no json\n")
    (line,) = refusals(folder)
    assert line.startswith(f"{folder / 'lead.jsonl'}:1: not JSON")


def test_a_baseline_of_a_phase_without_gold_is_refused(folder):
    edit(folder, ('slug = "final"', 'slug = "final"\nsplit = "later"'))
    edit(folder, ('run = "lead.jsonl"', 'run = "lead.jsonl"\nphases = ["final"]'))
    assert refusals(folder) == [
        "season.toml:36: split later has no gold that the run could be scored with"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[season\n", "season.toml:1: not TOML: "),
        (
            '[season]\nslug = "a"\nslug = "b"\n',
            "season.toml:3: not TOML: Cannot overwrite a value",
        ),
        ('a = """never closed', "season.toml: not TOML: Unterminated string"),
        pytest.param(
            f"[season]\nslug = {'9' * 5000}\n",
            "season.toml:2: not TOML: a number of 5,000 digits (limit: 60)",
            id="digits",
        ),
        pytest.param(
            f"a = 1\nb = {'[' * 5000}\n",
            "season.toml:2: not TOML: nested 5,000 deep (limit: 50)",
            id="brackets",
        ),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(folder, text, said):
    (folder / "season.toml").write_text(text)
    (line,) = refusals(folder)
    assert line.startswith(said)


def test_a_file_that_is_no_utf8_or_not_there_is_told(folder, tmp_path):
    (folder / "season.toml").write_bytes("title = 'été'".encode("latin-1"))
    assert refusals(folder) == ["season.toml: not UTF-8 text"]
    assert refusals(tmp_path) == [f"{tmp_path / 'season.toml'}: there is no such file"]
    inside = folder / "season.toml" / "more"
    assert refusals(inside) == [f"{inside / 'season.toml'}: there is no such file"]
    (tmp_path / "season.toml").mkdir()
    assert refusals(tmp_path) == [f"{tmp_path / 'season.toml'}: Is a directory"]


def test_a_link_that_leads_out_of_the_folder_is_refused(folder, tmp_path):
    write_topic(tmp_path / "elsewhere", "D01-0009")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    edit(folder, ('paths = ["corpus"]', 'paths = ["linked"]'))
    (line,) = refusals(folder)
    assert line.startswith("season.toml:13: linked leads out of the folder")


def test_times_without_an_offset_are_those_of_the_phase_s_zone(folder):
    load(folder)
    final = Phase.objects.get(slug="final")
    assert final.opens.isoformat() == "2020-03-01T11:00:00+00:00"
    assert final.closes.isoformat() == "2090-05-08T21:59:59+00:00"


def test_lines_are_found_whatever_stands_between_them():
    text = (
        '# [season]\ntitle = """\n[[tasks]]\nslug = 1 \\"""\n"""\nlist = [\n  "]", # ]\n  "b",\n]\n'
        "[\"a b\"]\n'c.d' = {e = 1, f = '}'}\ng.h = 2\n[[tasks]]\nslug = 's'\n"
        "[[tasks.phases]]\nopens = 2020-01-01T00:00:00Z\n[[tasks]]\n[tasks.options]\nk = 'v'\n"
    )
    tomllib.loads(text)
    lines = TomlKeyLines(text)
    expected = {
        ("title",): 2,
        ("list",): 6,
        ("a b",): 10,
        ("a b", "c.d"): 11,
        ("a b", "c.d", "e"): 11,
        ("a b", "g", "h"): 12,
        ("tasks", 0, "slug"): 14,
        ("tasks", 0, "phases", 0, "opens"): 16,
        ("tasks", 1): 17,
        ("tasks", 1, "options", "k"): 19,
        ("nothing",): 1,
    }
    assert {path: lines.line(path) for path in expected} == expected


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)
VALUES = st.one_of(
    TEXTS.map(lambda text: "'''" + text.replace("'", "") + "'''"),
    TEXTS.map(lambda text: '"""' + text.replace("\\", "").replace('"', "") + '"""'),
    st.integers().map(str),
    st.lists(
        st.sampled_from(["1", '"]"', "'['", "[2]", "{a = 1}", "# c\n3"]), max_size=4
    ).map(lambda values: f"[{', '.join(values)}\n]"),
)


@given(st.lists(VALUES, max_size=6))
def test_the_line_of_a_key_does_not_depend_on_the_values_before_it(values):
    text, expected = "", {}
    for number, value in enumerate(values):
        expected[(f"k{number}",)] = text.count("\n") + 1
        text += f"k{number} = {value}\n"
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # A control character that TOML does not allow.
    lines = TomlKeyLines(text)
    assert {path: lines.line(path) for path in expected} == expected


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("corrected@b@entails", "besides “nuggets-a”"),
        ("corrected@support-a@supports", "besides “support-a”"),
    ],
)
def test_a_view_that_no_judge_can_decide_is_refused_with_the_kinds_of_the_task(
    view, expected
):
    options = {"assignments": "store:nuggets-a", "supports": "store:support-a"}
    message, wanted = _describe_invalid_judge(
        view, 1, task_type("cited-reports"), options
    )
    assert message == f"no further judge can decide “{view}”"
    assert expected in wanted
    assert wanted.endswith("@ and assigns or supports at the end")
