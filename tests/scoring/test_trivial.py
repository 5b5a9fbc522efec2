"""What runs that know nothing score, and anomalies of gold, as `python -m scoring gold` prints them."""

import json
import random

import pytest

from scoring.__main__ import main
from scoring.offline.trivial import report_on_gold
from tasks.types import task_type
from tests.tasks.types.corpus import CITANCES, write_topic

ALL = {"instances", "rows", "findings", "trivial"}
HEAD = '[task]\nslug = "t"\ntitle = "T"\nform = "%s"\n[task.gold]\nfield = "%s"\nshown = %s\n'
RULES = '[[task.rules]]\nname = "corrected"\nmeasures = %s\n'
LABELS = (
    HEAD % ("labels", "label", '["text"]') + '[task.answer]\nlabels = ["a", "b", "c"]\n'
)
LISTS = (
    HEAD % ("ranking", "answers", '["query"]')
    + '[task.answer]\ncandidates = "options"\n'
)
POOL = (
    HEAD % ("ranking", "answers", '["query"]')
    + '[task.answer]\nquery = "query"\n[task.pool]\nfile = "pool.jsonl"\nid = "id"\n'
)
TEXTS = HEAD % ("text", "answer", '["source"]') + '[task.answer]\nfield = "text"\n'
SPANS = HEAD % ("spans", "spans", '["text"]')


@pytest.fixture
def report(tmp_path, capsys):
    """What the command says of a declared task's gold, as an object."""

    def run(declared: str, measures: list[str], gold, pool=()):
        folder = tmp_path / "task"
        folder.mkdir()
        text = declared + RULES % json.dumps(measures)
        (folder / "task.toml").write_text(text, encoding="utf-8")
        paths = []
        for name, rows in (("gold.jsonl", gold), ("pool.jsonl", pool)):
            if rows:
                paths.append(tmp_path / name)
                lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
                paths[-1].write_text("".join(lines), encoding="utf-8")
        words = ["gold", str(folder), "--gold", *map(str, paths), "--json"]
        assert main(words) == 0
        return json.loads(capsys.readouterr().out)

    return run


def kinds(found) -> list[str]:
    return [finding["kind"] for finding in found["findings"]]


def test_labels_have_an_empty_a_best_constant_and_drawn_runs(report):
    gold = [{"id": f"x{n}", "text": "T.", "label": "aab"[n % 3]} for n in range(30)]
    found = report(LABELS, ["accuracy", "macro_f1"], gold)
    assert (set(found), found["instances"]) == (ALL, 30)
    trivial = found["trivial"]
    assert set(trivial) == {"empty", "constant", "random", "random_best"}
    assert trivial["empty"] == {"accuracy": 0, "macro_f1": 0}
    # Two thirds are a: its F1 is .8, and that of the other two labels 0.
    assert trivial["constant"] == {
        "accuracy": pytest.approx(2 / 3),
        "macro_f1": pytest.approx(0.8 / 3),
    }
    assert 0.2 < trivial["random"]["accuracy"] < trivial["random_best"]["accuracy"]
    [finding] = found["findings"]
    assert (finding["kind"], finding["count"]) == ("label_absent", 1)
    assert "“c”" in finding["message"]


def test_a_constant_that_nearly_always_holds_is_told(report):
    gold = [{"id": f"x{n}", "text": "T.", "label": "ab"[n == 0]} for n in range(40)]
    found = report(LABELS, ["accuracy"], gold)
    assert found["trivial"]["constant"] == {"accuracy": pytest.approx(39 / 40)}
    assert "constant_wins" in kinds(found)


def test_a_run_that_wins_by_the_order_of_candidates_is_told_with_its_lines(report):
    gold = [
        {"id": f"q{n}", "query": "?", "options": list("wxyz"), "answers": ["w"]}
        for n in range(12)
    ]
    found = report(LISTS, ["mrr@10"], gold)
    [finding] = found["findings"]
    assert (finding["kind"], finding["count"]) == ("answer_first", 12)
    assert finding["lines"] == list(range(1, 13))
    assert found["trivial"]["first"] == {"mrr@10": 1.0}
    assert found["trivial"]["random"]["mrr@10"] < 0.7


def test_shuffled_candidates_are_no_anomaly(report):
    source = random.Random(3)
    gold = [
        {
            "id": f"q{n}",
            "query": "?",
            "options": source.sample("wxyz", 4),
            "answers": [source.choice("wxyz")],
        }
        for n in range(40)
    ]
    assert kinds(report(LISTS, ["mrr@10"], gold)) == []


def test_equal_texts_and_queries_in_the_pool_are_told_by_line(report):
    pool = [
        {"id": "d1", "text": "Rain falls."},
        {"id": "d2", "text": "rain  FALLS."},
        {"id": "q1", "text": "Who knows?"},
        {"id": "d3", "text": "Sand."},
    ]
    gold = [
        {"id": "q1", "query": "Who knows?", "answers": ["d1"]},
        {"id": "q2", "query": "And now?", "answers": ["d3"]},
    ]
    found = report(POOL, ["mrr@10"], gold, pool)
    by_kind = {finding["kind"]: finding for finding in found["findings"]}
    assert by_kind["same_text_in_pool"]["lines"] == [1, 2]
    assert by_kind["query_in_pool"]["lines"] == [1]
    assert {"first", "longest", "constant"} <= set(found["trivial"])


def test_texts_are_copied_and_words_that_rouge_cannot_see_are_told(report):
    gold = [
        {"id": "1", "source": "Regen fällt.", "answer": "Дождь идёт сегодня."},
        {"id": "2", "source": "b", "answer": "Ветер дует."},
    ]
    found = report(TEXTS, ["rouge_l", "exact_match"], gold)
    assert kinds(found) == ["words_not_seen"]
    runs = {"empty", "constant", "longest", "input", "random", "random_best"}
    assert set(found["trivial"]) == runs
    assert found["trivial"]["constant"]["exact_match"] == 0.5


@pytest.mark.parametrize("last", ["Rain.", "Sand."])
def test_a_list_with_a_right_answer_in_every_instance_has_the_candidates(report, last):
    gold = [
        {"id": "1", "source": ["Rain.", "Snow."], "answer": "Rain."},
        {"id": "2", "source": ["Rain.", "Wind."], "answer": "Wind."},
        {"id": "3", "source": ["Rain.", "Hail."], "answer": last},
    ]
    trivial = report(TEXTS, ["exact_match"], gold)["trivial"]
    first = {"exact_match": pytest.approx(2 / 3)} if last == "Rain." else None
    assert trivial.get("first") == first


def test_a_copied_input_that_is_the_answer_scores_everything(report):
    gold = [
        {"id": str(n), "source": f"Text {n}.", "answer": f"Text {n}."} for n in range(4)
    ]
    found = report(TEXTS, ["rouge_l", "exact_match"], gold)
    assert found["trivial"]["input"] == {"rouge_l": 1.0, "exact_match": 1.0}
    assert kinds(found) == []


def test_spans_that_cover_another_text_than_the_gold_quotes_are_told(report):
    gold = [
        {"id": "1", "text": "Rain falls.", "spans": [[0, 4]], "quotes": ["Rain"]},
        {"id": "2", "text": "Wind blows.", "spans": [[0, 4]], "quotes": ["blows"]},
    ]
    found = report(SPANS, ["strict_f1"], gold)
    [finding] = found["findings"]
    assert (finding["kind"], finding["lines"]) == ("offset_text_mismatch", [2])


def test_runs_of_a_built_in_type_are_printed_with_their_shares(tmp_path, capsys):
    write_topic(tmp_path, "P1", CITANCES)
    assert main(["gold", "clsumm-1a", "--gold", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["trivial"]["empty"].values()) <= {0.0, None}
    assert found["trivial"]["constant"]["overlap_f1_micro"] > 0


def test_gold_that_cannot_be_read_is_refused_by_line(tmp_path, capsys):
    (tmp_path / "task.toml").write_text(LABELS + RULES % '["accuracy"]')
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"id": "1", "text": "x", "label": "z"}\n')
    assert main(["gold", str(tmp_path), "--gold", str(gold)]) == 2
    assert "gold.jsonl:1: “z” is no label" in capsys.readouterr().err


def test_built_in_rankings_have_trivial_runs_in_the_order_of_their_files(root):
    for slug, own in (
        ("citation-recommendation", {"first", "constant", "random", "random_best"}),
        ("citation-resolution", {"first", "random", "random_best"}),
    ):
        kind = task_type(slug)
        gold = root / "tasks" / "types" / slug.replace("-", "_") / "sample" / "gold"
        report = report_on_gold(kind, [gold], kind.validate_options({}))
        assert set(report.trivial) == {"empty", *own}
        measure = kind.rules[kind.default_rule_set][0].name
        shares = {run: values[measure] for run, values in report.trivial.items()}
        assert shares["empty"] == 0 < shares["first"] <= 1
        assert shares["random"] <= shares["random_best"] <= 1
