"""Candidates of built-in rankings are given out in the order of the gold's nonce; earlier gold stays."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from citeboard.core import storage
from scoring.models import Score
from tasks.gold.gold_files import load_gold, record_gold_version, store_prepared_gold
from tasks.gold.packing import prepare_gold
from tasks.models import Gold
from tasks.types import task_type
from tasks.types.files import (
    FIRST_VERSION_ORDERING_BUILT_IN,
    open_files_of_all_inputs,
    open_input_files,
)
from tasks.types.given_order import sort_candidates_by_hmac
from tests import factories
from tests.api.sending import score as score_on_site
from tests.scoring.offline import score
from tests.tasks.types.rankings import (
    write_lines,
    write_recommendation,
    write_resolution,
)

NONCE = "1f" * 32
RECOMMENDATION, RESOLUTION = "citation-recommendation", "citation-resolution"
TYPES = (RECOMMENDATION, RESOLUTION)
NAMES = ("c", "a", "e", "b", "d")
EARLIER = FIRST_VERSION_ORDERING_BUILT_IN - 1
#: The first context of a paper, whose name tells the papers' equal lists apart.
OWNERS = {RECOMMENDATION: [""], RESOLUTION: ["p1_0", "p2_0"]}
CONTEXTS = {RECOMMENDATION: ["q1", "q2", "q3"], RESOLUTION: ["p1_0", "p1_1", "p2_0"]}


def write_gold(slug: str, folder: Path) -> Path:
    """Write gold whose answers stand first in the files, which are in no order of the ids."""
    if slug == RESOLUTION:
        contexts = [("p1_0", "p1", "c"), ("p1_1", "p1", "c"), ("p2_0", "p2", "c")]
        return write_resolution(folder, contexts, [("p1", NAMES), ("p2", NAMES)])
    gold = write_recommendation(folder, cited=(("q1", "c"), ("q2", "c"), ("q3", "c")))
    references = [{"paper_id": "p", "ref_id": name, "raw": name} for name in NAMES]
    write_lines(gold / "references.jsonl", references)
    return gold


def write_equal_scores(slug: str, path: Path) -> Path:
    scores = dict.fromkeys(sorted(NAMES), 0.5)
    return write_lines(
        path, [{"id": name, "scores": scores} for name in CONTEXTS[slug]]
    )


def places(slug: str, nonce: str) -> list[int]:
    """Return the place of the answer of each context, which is “c” everywhere."""
    found = [
        sort_candidates_by_hmac(NAMES, nonce, owner).index("c") + 1
        for owner in OWNERS[slug]
    ]
    return [found[0], found[0], found[-1]]


def mrr(slug: str, nonce: str) -> float:
    own = places(slug, nonce)
    return sum(1 / place for place in own) / len(own)


@pytest.mark.parametrize("slug", TYPES)
def test_equal_scores_keep_the_order_of_the_nonce_and_that_of_the_files_without(
    capsys, tmp_path, slug
):
    gold = write_gold(slug, tmp_path / "gold")
    run = write_equal_scores(slug, tmp_path / "run.jsonl")
    name = "mrr" if slug == RESOLUTION else "mrr@10"
    plain = score(capsys, slug, [gold], run)
    assert plain["metrics"][name]["value"] == 1
    assert plain["notes"]["tied_scores"] == 12
    keyed = score(capsys, slug, [gold], run, "--nonce", NONCE)
    assert keyed["metrics"][name]["value"] == pytest.approx(mrr(slug, NONCE))
    assert keyed["gold"]["sha256"] == plain["gold"]["sha256"]
    # What a run says by an order of its own follows from no number of a candidate.
    ranked = [{"id": name, "ranked": ["a", "c"]} for name in CONTEXTS[slug]]
    own_order = write_lines(tmp_path / "ranked.jsonl", ranked)
    values = [
        {
            metric: own["value"]
            for metric, own in score(capsys, slug, [gold], own_order, *words)[
                "metrics"
            ].items()
        }
        for words in ((), ("--nonce", NONCE), ("--nonce", NONCE, "--reading", "2"))
    ]
    assert values[0] == values[1] == values[2]
    assert values[0][name] == 0.5


@pytest.mark.parametrize("slug", TYPES)
def test_gold_of_an_earlier_version_has_the_same_order_with_and_without_its_nonce(
    capsys, tmp_path, slug
):
    gold = write_gold(slug, tmp_path / "gold")
    run = write_equal_scores(slug, tmp_path / "run.jsonl")
    words = ("--reading", str(EARLIER))
    plain = score(capsys, slug, [gold], run, *words)["metrics"]
    keyed = score(capsys, slug, [gold], run, *words, "--nonce", NONCE)["metrics"]
    name = "mrr" if slug == RESOLUTION else "mrr@10"
    # Version 2 sorts the candidates of a recommendation by their ids: “c” is the third.
    expected = 1 if slug == RESOLUTION else 1 / 3
    assert plain[name]["value"] == keyed[name]["value"] == pytest.approx(expected)


def test_grades_follow_their_candidates(capsys, tmp_path):
    gold = write_recommendation(
        tmp_path / "gold", grades=[{"a": 2, "b": 0}, {"b": 3, "e": 1}, {"c": 1, "d": 2}]
    )
    ranked = ["d", "b", "e", "a", "c"]
    run = write_lines(
        tmp_path / "run.jsonl", [{"id": f"q{n}", "ranked": ranked} for n in (1, 2, 3)]
    )
    option = ("--option", "graded=yes")
    plain = score(capsys, RECOMMENDATION, [gold], run, *option)["metrics"]
    keyed = score(capsys, RECOMMENDATION, [gold], run, *option, "--nonce", NONCE)
    assert {name: own["value"] for name, own in plain.items()} == {
        name: own["value"] for name, own in keyed["metrics"].items()
    }
    assert plain["ndcg_graded@10"]["value"] > 0


def published(
    slug: str, gold: Path, reading: int = FIRST_VERSION_ORDERING_BUILT_IN
) -> Gold:
    task = factories.make_task(type=slug)
    split = factories.make_phase(task=task, with_gold=False).split
    if reading == FIRST_VERSION_ORDERING_BUILT_IN:
        return load_gold(task=task, split=split, paths=[gold], reason="First.")[0]
    folder = gold.parent / "prepared"
    folder.mkdir()
    kind = task_type(slug)
    prepared = prepare_gold(
        kind, open_files_of_all_inputs([gold], reading=reading), {}, folder
    )
    kept = store_prepared_gold(prepared)
    return record_gold_version(task=task, split=split, kept=kept, reason="First.")[0]


def public_zip(gold: Gold) -> bytes:
    with storage.gold_file_storage.open(gold.public) as stored:
        return stored.read()


def pools_of(gold: Gold) -> list[list[str]]:
    with storage.gold_file_storage.open(gold.index) as stored:
        return json.load(stored)["pools"]


@pytest.mark.django_db
@pytest.mark.parametrize("slug", TYPES)
def test_new_gold_gives_out_inputs_and_index_in_the_order_of_its_nonce(tmp_path, slug):
    gold = published(slug, write_gold(slug, tmp_path / "gold"))
    expected = [
        sort_candidates_by_hmac(NAMES, gold.nonce, owner) for owner in OWNERS[slug]
    ]
    assert pools_of(gold) == expected
    content = zipfile.ZipFile(io.BytesIO(public_zip(gold))).read("references.jsonl")
    given = [json.loads(line)["ref_id"] for line in content.splitlines()]
    assert given == [name for pool in expected for name in pool]
    (tmp_path / "inputs.zip").write_bytes(public_zip(gold))
    read = task_type(slug).read_inputs(open_input_files(tmp_path / "inputs.zip"), {})
    assert read["pools"] == expected
    assert gold.trivial["runs"]["first"]["mrr" if slug == RESOLUTION else "mrr@10"] == 1


@pytest.mark.django_db
@pytest.mark.both_databases
@pytest.mark.parametrize("slug", TYPES)
def test_a_running_season_keeps_its_gold_its_inputs_and_its_numbers(tmp_path, slug):
    folder = write_gold(slug, tmp_path / "gold")
    gold = published(slug, folder, reading=EARLIER)
    stored = gold.index, gold.public, public_zip(gold), pools_of(gold)
    again, is_new = load_gold(
        task=gold.task, split=gold.split, paths=[folder], reason="Once more."
    )
    assert (again.pk, is_new, again.reading_version) == (gold.pk, False, EARLIER)
    assert (again.index, again.public, public_zip(again), pools_of(again)) == stored
    content = write_equal_scores(slug, tmp_path / "run.jsonl").read_bytes()
    phase = gold.task.phases.get()
    team = factories.make_team(season=gold.task.season)
    score_on_site(factories.make_submission(phase=phase, team=team, content=content))
    ranks = "mrr" if slug == RESOLUTION else "mrr@10"
    [number] = Score.objects.filter(shared__column__startswith=f"{ranks}|")
    assert number.value == pytest.approx(1 if slug == RESOLUTION else 1 / 3)
    assert f"|reading:{EARLIER}|" in number.shared.column


@pytest.mark.django_db
@pytest.mark.parametrize("slug", TYPES)
def test_a_run_on_new_gold_is_scored_by_the_order_given_out(tmp_path, slug):
    gold = published(slug, write_gold(slug, tmp_path / "gold"))
    content = write_equal_scores(slug, tmp_path / "run.jsonl").read_bytes()
    phase = gold.task.phases.get()
    team = factories.make_team(season=gold.task.season)
    score_on_site(factories.make_submission(phase=phase, team=team, content=content))
    ranks = "mrr" if slug == RESOLUTION else "mrr@10"
    [number] = Score.objects.filter(shared__column__startswith=f"{ranks}|")
    assert number.value == pytest.approx(mrr(slug, gold.nonce))
    assert f"|reading:{FIRST_VERSION_ORDERING_BUILT_IN}|" in number.shared.column
