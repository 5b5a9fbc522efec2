"""Entailment labels as files: how they may look, what is open without them, and the way out and back."""

import hashlib
import json
from pathlib import Path

import pytest

from scoring.__main__ import UNAVAILABLE_EXIT_CODE, main
from scoring.metrics.entailment import (
    CitedClaim,
    RecordingJudge,
    WordOverlapJudge,
    decide_claims,
    read_entailment_labels,
)
from tests.scoring.offline import refusals, score
from tests.tasks.types.citations import RAIN, WIND, write_gold, write_parses, write_run

TYPE = "positional-citations"
OSLO, ROME = "Title: Oslo\nIt rains in Oslo.", "Title: Rome\nRome is dry."
BOTH = f"{OSLO}\n{ROME}"
CLAIM, SENTENCE = "It rains in Oslo", "It rains in Oslo."


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def task(tmp_path) -> tuple[Path, Path]:
    write_parses(tmp_path, CLAIM, "Wind is air that moves")
    return write_gold(tmp_path, RAIN), write_run(tmp_path, {"q1": f"{CLAIM} [1][2]."})


@pytest.fixture
def entailment_labels(tmp_path) -> Path:
    return tmp_path / "labels.jsonl"


def write(path: Path, *lines: dict) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def line(premise: str, entailed: int, **more) -> dict:
    return {
        "premise_sha256": sha256(premise),
        "hypothesis": CLAIM,
        "entailed": entailed,
        **more,
    }


def scored(capsys, task, entailment: str, *more: str) -> dict:
    gold, run = task
    parses = run.parent / "parses.jsonl"
    options = [
        "--intervals",
        "0",
        "--option",
        f"parser={parses}",
        "--option",
        f"entailment={entailment}",
    ]
    return score(capsys, TYPE, [gold], run, *options, *more)


def exported(capsys, task, entailment: str, *more: str) -> list[dict]:
    gold, run = task
    parses = run.parent / "parses.jsonl"
    options = ["--option", f"parser={parses}", "--option", f"entailment={entailment}"]
    assert (
        main(["pairs", TYPE, "--gold", str(gold), "--run", str(run), *options, *more])
        == 0
    )
    printed = capsys.readouterr()
    pairs = [json.loads(each) for each in printed.out.splitlines()]
    assert f"{len(pairs)} pairs are pending" in printed.err
    return pairs


def test_without_labels_what_needs_them_is_undefined_and_says_how_many_are_open(
    capsys, task
):
    scores = scored(capsys, task, "none")
    for name, metric in scores["metrics"].items():
        requirements = name.startswith(("aliice", "alce"))
        # This gold has neither long answers nor lists of answers or claims.
        lacks = name.startswith(("rouge_lsum", "qampari", "claim_recall"))
        assert (metric["value"] is None) == (requirements or lacks), name
        assert not requirements or "entailment:none" in metric["column"]
    # The claim with both passages, and with each.
    assert scores["notes"]["pending_pairs_aliice"] == 3
    assert scores["notes"]["pending_pairs_alce"] == 3


def test_recall_is_defined_as_soon_as_its_own_labels_are_there(
    capsys, task, entailment_labels
):
    write(entailment_labels, line(BOTH, 1))
    scores = scored(capsys, task, f"labels:{entailment_labels}")
    assert scores["metrics"]["aliice_recall"]["value"] == 100
    assert (
        scores["metrics"]["aliice_precision"]["value"]
        is scores["metrics"]["aliice_f1"]["value"]
        is None
    )
    assert scores["notes"]["pending_pairs_aliice"] == 2
    write(entailment_labels, line(BOTH, 1), line(OSLO, 1), line(ROME, 0))
    scores = scored(capsys, task, f"labels:{entailment_labels}")
    assert scores["metrics"]["aliice_precision"]["value"] == 50
    assert scores["notes"]["pending_pairs_aliice"] == 0
    assert scores["notes"]["pending_pairs_alce"] == 3


def test_a_claim_that_its_passages_do_not_entail_needs_no_more_labels(
    capsys, task, entailment_labels
):
    write(entailment_labels, line(BOTH, 0))
    scores = scored(capsys, task, f"labels:{entailment_labels}")
    assert (
        scores["metrics"]["aliice_recall"]["value"],
        scores["metrics"]["aliice_precision"]["value"],
    ) == (
        0,
        0,
    )
    assert scores["notes"]["pending_pairs_aliice"] == 0


def test_of_a_claim_that_its_passages_do_not_entail_nothing_more_is_asked():
    case, watched = (
        CitedClaim("rain falls", ("wind blows", "sand moves")),
        RecordingJudge(WordOverlapJudge()),
    )
    assert [verdict.entailed for verdict in decide_claims([case], watched)] == [False]
    assert watched.answers == {case.joint_pair: False}


@pytest.mark.parametrize(
    "form",
    [
        line,
        lambda premise, entailed: {
            "premise": premise,
            "hypothesis": CLAIM,
            "entailed": bool(entailed),
        },
        lambda premise, entailed: {
            **line(premise, entailed),
            "hypothesis_sha256": sha256(CLAIM),
            "hypothesis": None,
        },
        lambda premise, entailed: {
            "premise_sha1": hashlib.sha1(
                premise.encode(), usedforsecurity=False
            ).hexdigest(),
            "claim": CLAIM,
            "result": entailed,
        },
    ],
    ids=["digest", "text", "digests alone", "log of an evaluation"],
)
def test_every_form_of_a_label_is_read(capsys, task, entailment_labels, form):
    lines = [
        form(premise, entailed)
        for premise, entailed in ((BOTH, 1), (OSLO, 1), (ROME, 0))
    ]
    write(
        entailment_labels,
        *[
            {key: value for key, value in each.items() if value is not None}
            for each in lines
        ],
    )
    assert (
        scored(capsys, task, f"labels:{entailment_labels}")["metrics"][
            "aliice_precision"
        ]["value"]
        == 50
    )


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (
            {"premise_sha256": "abc", "hypothesis": "x", "entailed": 1},
            "“premise_sha256” is no such digest",
        ),
        ({"hypothesis": "x", "entailed": 1}, "the premise is missing"),
        ({"premise": "x", "entailed": 1}, "the hypothesis is missing"),
        (
            {**line(OSLO, 1), "hypothesis": None, "hypothesis_sha256": "abc"},
            "“hypothesis_sha256” is no such",
        ),
        (
            {"premise": "x", "hypothesis_sha256": 7, "entailed": 1},
            "“hypothesis_sha256” is no such digest",
        ),
        (
            {"premise": "x", "hypothesis": "x"},
            "the label is missing; expected “entailed”: 1 or 0",
        ),
        ({"premise": "x", "hypothesis": "x", "entailed": 0.7}, "the label is 0.7"),
        ({"premise": "x", "hypothesis": "x", "entailed": "yes"}, "the label is a text"),
        (
            {"premise": "x", "hypothesis": "x", "entailed": 1, "model": 7},
            "“model” is a number",
        ),
        (line(BOTH, 0), "an earlier line decides this pair otherwise"),
        (line(OSLO, 0, model="another"), "labels of “another”, before of “”"),
    ],
)
def test_broken_labels_are_refused_by_line(
    capsys, task, entailment_labels, broken, reason
):
    write(entailment_labels, line(BOTH, 1), broken)
    gold, run = task
    options = (
        "--option",
        f"parser={run.parent / 'parses.jsonl'}",
        "--option",
        f"entailment=labels:{entailment_labels}",
    )
    told = refusals(capsys, TYPE, [gold], run, *options)
    assert told[0].startswith(f"{entailment_labels}:2: ")
    assert reason in told[0]


def test_labels_that_are_not_there_are_no_fault_of_the_run(capsys, task, tmp_path):
    gold, run = task
    options = [
        "--option",
        f"parser={tmp_path / 'parses.jsonl'}",
        "--option",
        f"entailment=labels:{tmp_path}/no",
    ]
    assert (
        main(["score", TYPE, "--gold", str(gold), "--run", str(run), *options])
        == UNAVAILABLE_EXIT_CODE
    )
    assert "there is no file of labels" in capsys.readouterr().err


def test_the_signature_names_the_model_and_the_file_unless_a_site_keeps_it(
    capsys, task, tmp_path
):
    # A file may name weights that never decided it: inverted labels have another column in any case.
    for model in ("mine", "true@9d3f2b1c"):
        told = [
            write(tmp_path / f"my-{label}.jsonl", line(BOTH, label, model=model))
            for label in (0, 1)
        ]
        columns = [
            scored(capsys, task, f"labels:{path}")["metrics"]["aliice_recall"]["column"]
            for path in told
        ]
        assert [
            f"|entailment:{model}+labels-{sha256(path.read_text())[:12]}|" in own
            for path, own in zip(told, columns, strict=True)
        ] == [True, True]
        assert len(set(columns)) == 2
    kept = write(
        tmp_path / "kept.jsonl", {"model": "mine", "kept": True}, line(BOTH, 1)
    )
    assert (
        "|entailment:mine|"
        in scored(capsys, task, f"labels:{kept}")["metrics"]["aliice_recall"]["column"]
    )
    unnamed = write(tmp_path / "unnamed.jsonl", line(BOTH, 1))
    digest = sha256(unnamed.read_text())[:12]
    column = scored(capsys, task, f"labels:{unnamed}")["metrics"]["aliice_recall"][
        "column"
    ]
    assert f"|entailment:labels-{digest}|" in column


def test_the_signature_has_the_digest_of_the_labels_that_decided_the_run_and_of_no_others(
    capsys, task, tmp_path
):
    def digest(name: str, *lines) -> str:
        file = write(tmp_path / name, *lines)
        metrics = scored(capsys, task, f"labels:{file}")["metrics"]
        found = {
            part
            for metric in metrics.values()
            for part in metric["signature"].split("|")
            if part.startswith("entailment_labels:")
        }
        assert not any(
            "entailment_labels:" in metric["column"] for metric in metrics.values()
        )
        [own] = found
        return own

    used = line(BOTH, 0, model="true@abc")
    unrelated = {**line(BOTH, 1, model="true@abc"), "hypothesis": "Nobody asks this"}
    row = f"{sha256(BOTH)} {sha256(used['hypothesis'])} 0\n"
    assert digest("one.jsonl", used) == f"entailment_labels:{sha256(row)[:12]}"
    assert digest("more.jsonl", unrelated, used) == digest("one.jsonl", used)
    assert digest("other.jsonl", line(BOTH, 1, model="true@abc")) != digest(
        "one.jsonl", used
    )
    assert digest("none.jsonl", unrelated) == "entailment_labels:none"


def test_a_run_that_no_file_of_labels_decides_has_no_digest_of_labels(capsys, task):
    for source in ("none", "word-overlap"):
        assert "entailment_labels" not in json.dumps(scored(capsys, task, source))


def test_what_is_decided_elsewhere_gives_what_deciding_here_gives(
    capsys, tmp_path, entailment_labels
):
    """All open pairs go out, are decided by the stand-in's rule, and come back."""
    write_parses(tmp_path, CLAIM, "Wind is air that moves")
    task = (
        write_gold(tmp_path, RAIN, WIND),
        write_run(
            tmp_path,
            {
                "q1": f"{CLAIM} [1][2].",
                "q2": "Wind is air that moves [1]. Nobody knows [1].",
            },
        ),
    )
    write_parses(tmp_path, CLAIM, "Wind is air that moves", "Nobody knows")
    pairs = exported(capsys, task, "none")
    assert len({(pair["premise"], pair["hypothesis"]) for pair in pairs}) == len(pairs)
    write(
        entailment_labels,
        *[{**pair, "entailed": int(overlaps(pair))} for pair in pairs],
    )
    assert exported(capsys, task, f"labels:{entailment_labels}") == []
    here, there = (
        scored(capsys, task, "word-overlap"),
        scored(capsys, task, f"labels:{entailment_labels}"),
    )
    assert {name: metric["value"] for name, metric in there["metrics"].items()} == {
        name: metric["value"] for name, metric in here["metrics"].items()
    }


def overlaps(pair: dict) -> bool:
    words = [
        set(pair[part].lower().replace(".", "").split())
        for part in ("hypothesis", "premise")
    ]
    return len(words[0] & words[1]) / len(words[0]) >= 0.6


def test_only_what_must_be_asked_goes_out_where_that_is_wanted(
    capsys, task, entailment_labels
):
    first = exported(capsys, task, "none", "--next")
    assert [each["premise"] for each in first] == [BOTH, BOTH]
    assert [each["hypothesis"] for each in first] == [CLAIM, SENTENCE]
    write(entailment_labels, line(BOTH, 1), {**line(BOTH, 0), "hypothesis": SENTENCE})
    second = exported(capsys, task, f"labels:{entailment_labels}", "--next")
    assert [(each["premise"], each["hypothesis"]) for each in second] == [
        (OSLO, CLAIM),
        (ROME, CLAIM),
    ]
    write(
        entailment_labels,
        line(BOTH, 1),
        line(OSLO, 0),
        line(ROME, 0),
        {**line(BOTH, 0), "hypothesis": SENTENCE},
    )
    # With two marks the others of the one are the other alone, which has been asked.
    assert exported(capsys, task, f"labels:{entailment_labels}", "--next") == []


def test_pairs_of_several_runs_go_out_once(capsys, task, tmp_path):
    again = write_run(tmp_path, {"q1": f"{CLAIM} [1][2]. {CLAIM} [1]."}, "again.jsonl")
    one = exported(capsys, task, "none")
    both = exported(capsys, task, "none", "--run", str(again))
    assert both == one


def test_a_task_that_asks_for_no_entailment_says_so(capsys, tmp_path, root):
    sample = root / "tasks" / "types" / "clsumm_1a" / "sample"
    assert (
        main(
            [
                "pairs",
                "clsumm-1a",
                "--gold",
                str(sample / "gold"),
                "--run",
                str(sample / "run.jsonl"),
            ]
        )
        == 2
    )
    assert "no metric of clsumm-1a asks what entails what" in capsys.readouterr().err


def test_a_run_with_pending_pairs_is_not_scored_where_they_are_to_be_written(
    capsys, task, tmp_path, entailment_labels
):
    gold, run = task
    left = tmp_path / "left.jsonl"
    words = [
        "score",
        TYPE,
        "--gold",
        str(gold),
        "--run",
        str(run),
        "--pending",
        str(left),
        "--intervals",
        "0",
    ]
    words += ["--option", f"parser={run.parent / 'parses.jsonl'}"]
    write(entailment_labels, line(BOTH, 1), line(OSLO, 1))
    assert (
        main([*words, "--option", f"entailment=labels:{entailment_labels}"])
        == UNAVAILABLE_EXIT_CODE
    )
    assert "4 of 6 pairs pending" in capsys.readouterr().err
    found = [json.loads(each) for each in left.read_text().splitlines()]
    assert {(each["premise"], each["hypothesis"], each["next"]) for each in found} == {
        (ROME, CLAIM, True),
        (BOTH, SENTENCE, True),
        (OSLO, SENTENCE, False),
        (ROME, SENTENCE, False),
    }
    assert main([*words, "--option", "entailment=word-overlap"]) == 0


def test_the_labels_of_a_site_are_not_found_without_it(capsys, task):
    gold, run = task
    words = ["score", TYPE, "--gold", str(gold), "--run", str(run)]
    words += [
        "--option",
        f"parser={run.parent / 'parses.jsonl'}",
        "--option",
        "entailment=store:tiny",
    ]
    assert main(words) == UNAVAILABLE_EXIT_CODE
    assert "have its organisers export them" in capsys.readouterr().err


def test_the_model_that_a_file_names_is_that_of_lines_without_their_own(tmp_path):
    named, one = {"model": "true"}, line(OSLO, 1)
    models = [
        read_entailment_labels(write(tmp_path / "labels.jsonl", *lines)).model
        for lines in ([named], [named, one], [named, {**one, "model": "other"}], [one])
    ]
    assert models == ["true", "true", "other", ""]
