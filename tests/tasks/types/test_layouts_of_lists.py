"""A run that is a JSON list has the same scores in every layout as its JSON lines, also on a single line."""

import json

import pytest

from tests.scoring.offline import score

LAYOUTS = {
    "on one line": json.dumps,
    "indented": lambda records: json.dumps(records, indent=2),
    "an item a line": lambda records: "[\n{}\n]\n".format(
        ",\n".join(map(json.dumps, records))
    ),
}
TYPES = (
    "clsumm-1a",
    "clsumm-1b",
    "clsumm-2",
    "citation-recommendation",
    "citation-resolution",
    "judge-leaderboards",
)


@pytest.mark.parametrize("name", ["run", "run.json"])
@pytest.mark.parametrize("slug", TYPES)
def test_a_list_has_the_scores_of_its_lines_in_every_layout(
    root, capsys, tmp_path, slug, name
):
    sample = root / "tasks" / "types" / slug.replace("-", "_") / "sample"
    lines = (sample / "run.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    given = slug, [sample / "gold"], "--intervals", "0"

    def values(run):
        metrics = score(capsys, *given[:2], run, *given[2:])["metrics"]
        return {metric: own["value"] for metric, own in metrics.items()}

    expected = values(sample / "run.jsonl")
    assert any(expected.values())
    for layout, written in LAYOUTS.items():
        (tmp_path / name).write_text(written(records), encoding="utf-8")
        assert values(tmp_path / name) == pytest.approx(expected, nan_ok=True), layout
