"""TOML, YAML and JSON from outside go through `tasks.types.guarded`; the rest is listed with a reason."""

import ast
import re

import pytest

GUARDED = "tasks/types/guarded"
READERS = (GUARDED, "tasks/submissions/yaml_reader.py")
FOLDERS = ("platform", "tasks", "scoring")
#: What reads a text without limits, by module; `.json` of a response is found by its call.
PARSERS = {
    "json": {"load", "loads", "JSONDecoder"},
    "json.scanner": {"make_scanner"},
    "tomllib": {"load", "loads"},
    "yaml": {
        *("load", "load_all", "safe_load", "safe_load_all", "full_load", "unsafe_load"),
        *("Loader", "SafeLoader", "FullLoader", "CSafeLoader", "compose", "parse", "scan"),
    },
}  # fmt: skip

OURS = "a file of the repository"
MADE = "a file that the site or a command of it made"
ROW = "a value that the site wrote to its database, queue or cache"
PROCESS = "what another process of the site says, within a number of bytes"
INSTALLED = "a file of a model or package that an operator installed"
WITHOUT_LIMITS = {
    "platform/citeboard/api/examples.py": OURS,
    "platform/citeboard/api/receipts.py": ROW,
    "platform/citeboard/core/caches.py": ROW,
    "platform/citeboard/core/confined/fork_server.py": PROCESS,
    "platform/citeboard/core/confined/pool.py": PROCESS,
    "platform/citeboard/core/confined/probe.py": PROCESS,
    "platform/citeboard/core/storage/copying.py": MADE,
    "platform/citeboard/core/writability.py": PROCESS,
    "platform/citeboard/demo/systems.py": OURS,
    "platform/citeboard/management/commands/serve.py": MADE,
    "platform/citeboard/ops/accounts.py": ROW,
    "platform/citeboard/ops/backups.py": MADE,
    "platform/citeboard/ops/bucket_backups.py": MADE,
    "platform/citeboard/ops/doctor.py": MADE,
    "platform/citeboard/ops/drill/playing.py": PROCESS,
    "platform/citeboard/ops/drill/site_copy.py": PROCESS,
    "platform/citeboard/ops/later_runs.py": MADE,
    "platform/citeboard/ops/undoing.py": ROW,
    "scoring/distribution/backend.py": OURS,
    "scoring/exchange/mounted.py": MADE,
    "scoring/human/disagreements.py": MADE,
    "scoring/human/reading.py": PROCESS,
    "scoring/metrics/discourse.py": MADE,
    "scoring/metrics/entailment.py": INSTALLED,
    "scoring/metrics/local_models.py": INSTALLED,
    "scoring/migrations/0016_manual_scores.py": ROW,
    "scoring/models/boards.py": ROW,
    "scoring/offline/arguments.py": OURS,
    "scoring/offline/commands.py": OURS,
    "scoring/offline/evaluate.py": MADE,
    "scoring/offline/ledger.py": PROCESS,
    "scoring/offline/sample.py": OURS,
    "scoring/papers/cells/__init__.py": OURS,
    "scoring/receipts/log.py": ROW,
    "scoring/results/comparison/examples.py": OURS,
    "scoring/results/publications/season_results.py": "a value that is written and read again at once",
    "scoring/tools/baselines/retrieval.py": INSTALLED,
    "scoring/tools/builders/classes.py": MADE,
    "scoring/tools/builders/diagnostic.py": MADE,
    "scoring/tools/builders/parts.py": MADE,
    "scoring/tools/builders/resolution.py": MADE,
    "scoring/tools/builders/season.py": OURS,
    "scoring/tools/builders/tagging.py": MADE,
    "scoring/worker/entailment_labels.py": MADE,
    "scoring/worker/estimating.py": MADE,
    "tasks/gold/gold_files.py": MADE,
    "tasks/gold/packing.py": MADE,
    "tasks/registration/entries.py": ROW,
    "tasks/types/cited_reports/tracks.py": OURS,
    "tasks/types/given_order.py": MADE,
    "tasks/types/positional_citations/parsing.py": INSTALLED,
    "tasks/types/ranking/candidate_order.py": MADE,
    "tasks/types/ranking/records.py": "a line that the function itself wrote",
}


def parsers_in(source: str) -> list[str]:
    """Return the parsers that a module calls, extends or imports by name."""
    tree = ast.parse(source)
    modules, names = {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {one.asname or one.name: one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in PARSERS:
            names |= {
                one.asname or one.name: (node.module, one.name) for one in node.names
            }
    used = [
        f"{module}.{name}" for module, name in names.values() if name in PARSERS[module]
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            module = modules.get(ast.unparse(node.value), "")
            if node.attr in PARSERS.get(module, ()):
                used.append(f"{module}.{node.attr}")
        is_plain_call = isinstance(node, ast.Call) and not node.args + node.keywords
        if (
            is_plain_call
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "json"
        ):
            used.append(".json")
    return used


@pytest.fixture(scope="module")
def unguarded(root) -> dict[str, list[str]]:
    """The modules that call parsers themselves."""
    found = {}
    for path in (path for folder in FOLDERS for path in (root / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        name = path.relative_to(root).as_posix()
        if name.startswith(READERS) or not re.search(
            r"\b(json|tomllib|yaml)\b", source
        ):
            continue
        if parsers := parsers_in(source):
            found[name] = parsers
    return found


def test_only_modules_with_a_reason_read_without_limits(unguarded):
    assert {
        name: used for name, used in unguarded.items() if name not in WITHOUT_LIMITS
    } == {}


def test_every_module_with_a_reason_still_needs_it(unguarded):
    assert set(WITHOUT_LIMITS) - set(unguarded) == set()


def test_the_guarded_readers_import_nothing_else_of_the_project(root):
    for path in (root / GUARDED).glob("*.py"):
        imported = re.findall(
            r"^(?:from|import) (\S+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
        ours = [
            name
            for name in imported
            if name.split(".")[0] in ("tasks", "scoring", "citeboard")
        ]
        assert [
            name for name in ours if not name.startswith("tasks.types.guarded")
        ] == [], path


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("import json\njson.loads(x)", ["json.loads"]),
        ("import json as j\nmap(j.loads, x)", ["json.loads"]),
        ("from json import loads as read\nread(x)", ["json.loads"]),
        ("import tomllib\ntomllib.load(x)", ["tomllib.load"]),
        ("import yaml\nclass Own(yaml.SafeLoader): pass", ["yaml.SafeLoader"]),
        ("requests.get(x).json()", [".json"]),
        ("import json\njson.dumps(x)", []),
    ],
)
def test_a_parser_is_found_however_it_is_named(source, used):
    assert parsers_in(source) == used
