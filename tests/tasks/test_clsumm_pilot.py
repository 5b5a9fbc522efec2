"""The pilot of CL-Summ as a season, its corpus read where it stands: twelve topics, two tasks, real runs."""

import zipfile

import pytest

from tasks.gold.gold_files import load_instance_index_of_gold
from tasks.models import Phase, Season
from tasks.submissions.submit import check_run, submit_run
from tasks.submissions.uploads import UploadedRunFile
from tests.factories import make_team
from tests.tasks.pilot import CLEANED, PATHS, PILOT, season_text
from tests.tasks.seasons import load

pytestmark = [pytest.mark.django_db, pytest.mark.shared]

#: The last two have more sentences for a citance than the task allows, as the gold itself has.
RUNS = ("top1_majority", "top3_lexical", "oracle", "awkward")


@pytest.fixture
def loaded(tmp_path, shared) -> list[str]:
    (tmp_path / "season.toml").write_text(season_text())
    return load(tmp_path, data=shared / "scisumm")


@pytest.mark.slow
def test_the_twelve_topics_become_the_gold_of_both_tasks(loaded, tmp_path, shared):
    lines = [
        line
        for path in PATHS
        for file in (shared / "scisumm" / path / "annotation").iterdir()
        if file.name.endswith(".annv3.txt" if "TRAIN" in path else ".ann.txt")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    for task in ("1a", "1b"):
        assert f"gold {task}/test: version 1, {len(lines)} instances" in loaded
    for task in Season.objects.get().tasks.all():
        assert sorted(load_instance_index_of_gold(task.gold.get())["topics"]) == sorted(
            (*PILOT, *CLEANED)
        )
    assert load(tmp_path, data=shared / "scisumm") == [
        "season clsumm-pilot: nothing to change"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_published_runs_are_taken_as_they_are_distributed(
    loaded, shared, tmp_path, name
):
    folder = shared / "scisumm" / "golden" / "annv3" / name / "submission"
    packed = tmp_path / f"{name}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*.txt")):
            archive.write(path, path.relative_to(folder))
    team = make_team(season=Season.objects.get())
    for phase in Phase.objects.all():
        upload = UploadedRunFile(packed, packed.name)
        assert check_run(phase=phase, upload=upload).errors == []
        submission = submit_run(
            phase=phase, team=team, user=None, upload=upload, system=name
        )
        assert submission.jobs.count() == 2
        assert bool(submission.warnings) == (name in ("oracle", "awkward"))
