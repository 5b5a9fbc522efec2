"""Bundles in the layouts of Codabench and CodaLab, written for tests."""

import io
import zipfile
from collections.abc import Mapping

Files = Mapping[str, str | bytes]
GOLD = ["cat", "dog", "dog", "cat", "bird", "cat", "dog", "cat"]
#: Six of the eight labels are right.
ANSWERS = ["cat", "dog", "cat", "cat", "bird", "cat", "dog", "dog"]
LATER = ["dog", "cat", "bird", "dog"]
MATRIX = ["1 0", "0 1", "0 1", "1 0"]
#: Squared differences: .04 twice, .01 twice, .25 twice, 0 twice; their mean is .075.
GUESSES = ["0.8 0.2", "0.1 0.9", "0.5 0.5", "1 0"]
PROGRAM = """
import json, os
from sklearn.metrics import accuracy_score, f1_score

gold = open(os.path.join("/app/input/ref", "labels.txt")).read().split()
answers = open(os.path.join("/app/input/res", "answers.txt")).read().split()
scores = {
    "acc": accuracy_score(gold, answers),
    "f1": 100 * f1_score(gold, answers, average="macro"),
}
json.dump(scores, open("/app/output/scores.json", "w"))
"""
CODABENCH = """
version: 2
title: Pets in pictures
description: Which pet is it?
image: logo.png
registration_auto_approve: true
terms: pages/terms.html
pages:
  - title: Overview
    file: pages/overview.md
tasks:
  - index: 0
    name: Pets
    reference_data: dev
    scoring_program: program
  - index: 1
    name: Later pets
    reference_data: final.zip
    scoring_program: program
solutions:
  - index: 0
    tasks: [0]
    path: solution
phases:
  - index: 1
    name: Final
    start: 2031-02-01 12:00:00+02:00
    tasks: [1]
    max_submissions: 1
  - index: 0
    name: Practice
    start: 1-31-2031
    tasks: [0]
    max_submissions_per_day: 4
    public_data: public
leaderboards:
  - title: Results
    key: main
    submission_rule: Force_Last
    columns:
      - {title: Macro F1, key: f1, index: 1, sorting: desc}
      - {title: Accuracy, key: acc, index: 0, sorting: desc}
"""
CODALAB = """
title: Shares
has_registration: false
force_submission_to_leaderboard: true
end_date: 2031-03-01
html: {overview: overview.html, terms: terms.html}
phases:
  1: {phasenumber: 1, label: Practice, start_date: 2031-01-01, max_submissions: 9,
      reference_data: reference.zip, scoring_program: program.zip}
  2: {phasenumber: 2, label: Final, start_date: 2031-02-01,
      reference_data: reference.zip, scoring_program: program.zip}
leaderboard:
  leaderboards: {Results: &results {label: Results, rank: 1}}
  columns:
    error: {leaderboard: *results, label: Error, rank: 1, sort: asc}
"""
SQUARES = """
import sys
import numpy as np

def squared(gold, answers):
    difference = np.mean((gold - answers) ** 2)
    return difference

gold, answers = np.loadtxt(sys.argv[1] + "/ref/gold.txt"), np.loadtxt(sys.argv[1] + "/res/a.txt")
with open(sys.argv[2] + "/scores.txt", "w") as out:
    out.write("error: %f" % squared(gold, answers))
"""


def lines(values: list[str]) -> str:
    return "".join(f"{value}\n" for value in values)


def packed(files: Files) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def codabench(**changed: str | bytes | None) -> dict[str, str | bytes]:
    """Return the files of a bundle of Codabench, with some files replaced or left out."""
    files: dict[str, str | bytes] = {
        "competition.yaml": CODABENCH,
        "pages/terms.html": "<h1>Terms</h1><p>Be <b>fair</b>.<script>alert(1)</script>",
        "pages/overview.md": "Name the *pet*.",
        "dev/labels.txt": lines(GOLD),
        "final.zip": packed({"labels.txt": lines(LATER)}),
        "program/scoring.py": PROGRAM,
        "program/metadata.yaml": "command: python3 scoring.py",
        "solution/answers.txt": lines(ANSWERS),
        "public/pictures.txt": lines([f"picture {number}" for number in range(8)]),
    }
    return with_changes(files, changed)


def codalab(**changed: str | bytes | None) -> dict[str, str | bytes]:
    """Return the files of a bundle of CodaLab: archives inside an archive, and vectors by line."""
    program = {
        "score.py": SQUARES,
        "metadata": "command: python $program/score.py $input $output",
    }
    files: dict[str, str | bytes] = {
        "competition.yaml": CODALAB,
        "overview.html": "<html><head><title>x</title></head><body><p>Give shares.</p></body>",
        "terms.html": "<p>None.</p>",
        "reference.zip": packed({"gold.txt": lines(MATRIX)}),
        "program.zip": packed(program),
        "sample_submission.zip": packed({"a.txt": lines(GUESSES)}),
    }
    return with_changes(files, changed)


def with_changes(
    files: dict[str, str | bytes], changed: Mapping[str, str | bytes | None]
) -> dict[str, str | bytes]:
    return {
        name: content
        for name, content in (files | dict(changed)).items()
        if content is not None
    }


def with_two_candidates() -> dict[str, str | bytes]:
    """Return a bundle with two files that could be gold, neither of which its program names."""
    program = PROGRAM.replace('"labels.txt"', 'os.listdir("/app/input/ref")[0]')
    return codabench(
        **{
            "program/scoring.py": program,
            "dev/other.txt": lines(list(reversed(GOLD))),
        }
    )
