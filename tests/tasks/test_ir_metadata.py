"""The `ir_metadata` header of a TREC run: it fills the description and the card, and changes no score."""

import json

import pytest

from tasks.gold.gold_files import load_gold
from tasks.submissions.reading import read_metadata_in_header
from tasks.submissions.refusals import RunRejected
from tasks.submissions.submit import submit_run
from tasks.types.files import InputFile, open_input_files
from tests import factories
from tests.tasks.types.rankings import write_recommendation

METADATA = """\
ir_metadata.start
schema version: 0.1
method:
  automatic: true
  indexing:
    tokenizer: StandardTokenizer
    stemmer: Porter
  retrieval:
  - name: bm25
    b: 0.4
    k1: 0.9
  - name: reranker
    reranks: bm25
implementation:
  source:
    repository: https://example.org/code
    commit: 9548cd6
research goal:
  publication:
    doi: https://doi.org/10.1000/1
ir_metadata.end
"""
DESCRIBED = """\
Automatic run.
Indexing: tokenizer StandardTokenizer, stemmer Porter.
Retrieval: bm25 (b 0.4, k1 0.9).
Retrieval: reranker (reranks bm25).
Code at 9548cd6."""
CARD = {
    "code": "https://example.org/code",
    "paper": "https://doi.org/10.1000/1",
    "human_in_the_loop": "no",
}
RUN = "q1 Q0 a 1 0.9 us\nq2 Q0 b 1 0.7 us\nq3 Q0 c 1 0.5 us\n"


def header(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())


def file(tmp_path, text: str) -> list[InputFile]:
    path = tmp_path / "run.trec"
    path.write_text(text, encoding="utf-8")
    return open_input_files(path)


@pytest.fixture
def phase(db, tmp_path):
    task = factories.make_task(type="citation-recommendation", rules=["corrected"])
    phase = factories.make_phase(task=task, with_gold=False)
    paths = [write_recommendation(tmp_path / "gold")]
    load_gold(task=task, split=phase.split, paths=paths, reason="first")
    return phase


def sent(phase, text: str, **fields):
    team = factories.make_team(season=phase.task.season)
    upload = factories.make_upload(text.encode(), filename="run.trec")
    return submit_run(
        phase=phase, team=team, user=None, upload=upload, system="BM25", **fields
    )


def test_a_run_says_itself_how_it_was_made(phase):
    submission = sent(phase, header(METADATA) + RUN)
    assert submission.description == DESCRIBED
    assert submission.card == CARD
    assert submission.warnings == []


def test_what_the_sender_writes_stands_in_its_place(phase):
    assert (
        sent(phase, header(METADATA) + RUN, description="Mine.").description == "Mine."
    )
    assert sent(phase, RUN).description == ""


@pytest.mark.parametrize(
    "text",
    [
        "ir_metadata.start\nmethod: [\nir_metadata.end\n",
        "ir_metadata.start\n- 1\nir_metadata.end\n",
        "ir_metadata.start\nmethod: !!python/object/apply:os.system [id]\nir_metadata.end\n",
        "ir_metadata.start\na: &a [x, x]\nmethod: {description: [*a, *a]}\nir_metadata.end\n",
        f"ir_metadata.start\nmethod: {'[' * 3000}\nir_metadata.end\n",
        f"ir_metadata.start\nmethod: {{description: {'x' * 70_000}}}\nir_metadata.end\n",
        f"ir_metadata.start\nmethod: {{description: 0x{'f' * 4000}}}\nir_metadata.end\n",
        f"ir_metadata.start\nmethod: {{description: {'1:' * 180}1.5}}\nir_metadata.end\n",
        "ir_metadata.start\nmethod: {automatic: true}\n",
        "ir_metadata.start\nir_metadata.end\n",
    ],
)
def test_a_header_that_cannot_be_meant_describes_nothing_and_the_run_is_taken(
    phase, tmp_path, text
):
    assert (
        read_metadata_in_header(file(tmp_path, header(text) + RUN))["description"] == ""
    )
    submission = sent(phase, header(text) + RUN)
    assert (submission.description, submission.warnings) == ("", [])


def test_lines_keep_their_numbers_behind_a_header_and_comments_elsewhere_are_faults(
    phase,
):
    with pytest.raises(RunRejected) as refused:
        sent(phase, header(METADATA) + RUN + "# one more\n")
    assert [problem.line for problem in refused.value.problems] == [
        len(METADATA.splitlines()) + 4
    ]


@pytest.mark.both_databases
def test_no_value_grows_beyond_what_a_description_holds(phase):
    stages = "".join(f"  - name: {json.dumps('x' * 300)}\n" for _ in range(100))
    text = f"ir_metadata.start\nmethod:\n  retrieval:\n{stages}ir_metadata.end\n"
    assert len(sent(phase, header(text) + RUN).description) == 4000
