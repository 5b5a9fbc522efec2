"""Whatever is done to a run, it is refused with problems or scored; `make fuzz` tries many more."""

import pytest

from tasks.types import task_types
from tests.fuzz.trying import Subject, tried
from tests.mass import mass

FILES = mass(700, 14_000)


@pytest.mark.mass
def test_no_mutated_run_is_more_than_refused_or_scored(tmp_path):
    subjects = [Subject(task_type, tmp_path) for task_type in task_types().values()]
    for _ in tried(subjects, FILES, seed=20):
        pass
    for subject in subjects:
        assert set(subject.counts) == {"refused", "scored"}, subject.task_type.slug
