"""Gold in the shapes of public tasks of the field: recognised, read, and scored as scikit-learn scores it."""

import json
import math
import random
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from scoring.__main__ import main
from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from scoring.offline.proposing import propose
from tasks.types import InputRefused
from tasks.types.declared.folder import read_declaration
from tasks.types.declared.proposals import propose_declaration
from tasks.types.files import InputFile, open_input_files
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run
from tests.declared import shapes_of_tasks as shapes
from tests.declared.folders import lines

Edit = Callable[[dict[str, Any]], None]


class Made:
    """A task that is proposed for gold, perhaps with an edit, as the site's confined process makes it."""

    def __init__(self, tmp_path, monkeypatch, form, name, content, edit=None):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "upload").write_bytes(content)
        given = {"filename": name, "encoding": "", "form": form, "slug": "t"}
        given |= {"title": "T", "delimiter": "", "files": {}, "task": None}
        self.proposal = propose(given)
        self.told = self.proposal
        if edit:
            task = json.loads(json.dumps(self.proposal["task"]))
            edit(task)
            self.told = propose({**given, "task": task})
        assert self.told["problems"] == []
        self.files = self.told["files"]
        self.type = read_declaration(self.files)
        self.gold = self.type.gold_of(
            open_input_files(tmp_path / "upload", shown=name), {}
        )

    @property
    def guesses(self) -> dict[str, dict[str, str]]:
        return {guess["part"]: guess for guess in self.proposal["guesses"]}

    def scores(self, run: bytes, name: str = "run.jsonl") -> Mapping[str, float]:
        from io import BytesIO

        file = InputFile(name, name, lambda: BytesIO(run))
        answers, problems = read_run(self.type, [file], self.gold.index, {})
        assert not select_fatal_problems(problems)
        rules = self.type.default_rule_set
        pairs = self.type.pair(self.gold, answers, rules, {})
        found = evaluate_pairs(
            self.type,
            pairs,
            rules=rules,
            options={},
            gold=self.gold.digest,
            resampling=IntervalSettings(),
        )
        return {name: own.value for name, own in found.metrics.items()}


@pytest.fixture
def made(tmp_path, monkeypatch):
    def make(form, name, content, edit=None) -> Made:
        return Made(tmp_path, monkeypatch, form, name, content, edit)

    return make


def flipped(signs, draw):
    return [own if draw.random() < 0.7 else 1 - own for own in signs]


SIGNS = {name: own for name, _, own in shapes.tweets()}
DRAW = random.Random("runs")
GUESSED = {name: flipped(own, DRAW) for name, own in SIGNS.items()}


def of_names(signs):
    return [name for name, on in zip(shapes.CATEGORIES, signs, strict=True) if on]


CHECKTHAT = {
    "vectors": (
        "gold.tsv",
        shapes.checkthat_vectors,
        {"vector": True},
        "run.tsv",
        shapes.table(
            [{"index": name, "labels": str(own)} for name, own in GUESSED.items()], "\t"
        ),
    ),
    "columns": (
        "gold.tsv",
        shapes.checkthat_columns,
        {"columns": ["cat1", "cat2", "cat3"]},
        "run.csv",
        shapes.table(
            [
                {"tweet_id": name, **{f"cat{n}": own[n - 1] for n in (1, 2, 3)}}
                for name, own in GUESSED.items()
            ]
        ),
    ),
    "lists": (
        "gold.jsonl",
        shapes.checkthat_lists,
        {},
        "run.jsonl",
        shapes.lines(
            [{"id": name, "labels": of_names(own)} for name, own in GUESSED.items()]
        ),
    ),
}


@pytest.mark.parametrize("shape", CHECKTHAT)
def test_several_labels_as_vectors_columns_and_lists_score_as_scikit_learn_does(
    made, shape
):
    from sklearn.metrics import accuracy_score, f1_score

    name, content, keys, run_name, run = CHECKTHAT[shape]
    task = made("labels", name, content())
    gold = task.told["task"]["gold"]
    assert {key: gold.get(key) for key in keys} == keys
    assert gold["shown"] == ["text"]
    pairs = task.type.pair(task.gold, {}, task.type.default_rule_set, {})
    [by_label] = pairs.features.values()
    assert {label for labels in by_label for label in labels} == set(
        task.told["task"]["answer"]["labels"]
    )
    true, guessed = list(SIGNS.values()), list(GUESSED.values())
    found = task.scores(run, run_name)
    assert found["macro_f1"] == pytest.approx(f1_score(true, guessed, average="macro"))
    assert found["exact_match"] == pytest.approx(accuracy_score(true, guessed))


def test_labels_in_one_text_are_read_in_any_order_and_scored_as_scikit_learn_does(made):
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    task = made("labels", "gold.jsonl", shapes.multicite())
    assert task.told["task"]["gold"]["separator"] == " "
    draw = random.Random("multicite")
    gold = {name: own for name, _, own in shapes.contexts()}
    guessed = {
        name: own if draw.random() < 0.6 else [draw.choice(shapes.INTENTS)]
        for name, own in gold.items()
    }
    run = [{"id": name, "y": " ".join(reversed(own))} for name, own in guessed.items()]
    found = task.scores(shapes.lines(run))
    binary = MultiLabelBinarizer(classes=shapes.INTENTS)
    true = binary.fit_transform(gold.values())
    answers = binary.transform(guessed.values())
    assert found["macro_f1"] == pytest.approx(f1_score(true, answers, average="macro"))
    assert found["exact_match"] == pytest.approx(accuracy_score(true, answers))


def separator(texts):
    rows = [
        {"id": f"i{n}", "text": f"a b c d {n}", "label": own}
        for n, own in enumerate(texts)
    ]
    return proposed("labels", lines(rows).encode())["gold"].get("separator")


def test_a_label_that_never_stands_alone_stands_in_three_combinations():
    combinations = ["a;b", "a;c", "a;d"]
    assert separator(["b", "c", *combinations[:2]]) is None
    assert separator(["b", "c", "d", *combinations]) == ";"


@pytest.mark.parametrize("sign", [";", "|", ", "])
def test_separators_are_told_from_labels_of_several_words(sign):
    assert separator(["a", "b", f"a{sign}b", "b", f"b{sign}a", "a"]) == sign.strip()
    assert separator(["not enough info", "supports", "refutes", "supports"]) is None
    assert separator(["very good", "good", "very bad", "bad"]) is None


def test_texts_with_a_repeated_part_are_labels_as_a_whole():
    assert separator(["a", "b", "a;b"]) == ";"
    assert separator(["a", "b", "a;b", "b;b"]) is None


def proposed(form, content, name="gold.jsonl"):
    from io import BytesIO

    return propose_declaration(
        form, "t", "T", [InputFile(name, name, lambda: BytesIO(content))]
    ).task


@pytest.mark.parametrize(
    ("values", "labels", "answers"),
    [
        ([0, 1], {"0", "1"}, [0, 1]),
        ([True, False], {"true", "false"}, ["true", False]),
        ([1.0, 2.0], {"1", "2"}, [1, "2"]),
    ],
)
def test_numbers_and_booleans_are_labels_in_gold_and_runs(
    made, values, labels, answers
):
    rows = [
        {"id": f"i{n}", "text": f"a b c d {n}", "label": values[n % 2]}
        for n in range(8)
    ]
    task = made("labels", "gold.jsonl", lines(rows).encode())
    assert set(task.told["task"]["answer"]["labels"]) == labels
    run = [{"id": f"i{n}", "label": answers[n % 2]} for n in range(8)]
    assert task.scores(lines(run).encode())["accuracy"] == 1


def test_rows_of_documents_are_a_ranking_and_their_pairs_are_instances_with_two_ids(
    made,
):
    from sklearn.metrics import accuracy_score, f1_score

    pairs = shapes.climate_pairs()
    draw = random.Random("climate runs")
    ranking = made("ranking", "gold.zip", shapes.climatecheck_1())
    gold = ranking.told["task"]["gold"]
    assert (gold["document"], gold["relevant"]) == (
        "abstract_id",
        ["Supports", "Refutes"],
    )
    assert ranking.guesses["answer"]["confidence"] == "unsure"
    documents = sorted({row["abstract_id"] for row in pairs})
    lists = {claim: draw.sample(documents, k=len(documents)) for claim in range(12)}
    rows = [
        {"claim_id": claim, "document": own, "rank": rank}
        for claim, ranked in lists.items()
        for rank, own in enumerate(ranked, 1)
    ]
    recalls = []
    for claim, ranked in lists.items():
        right = {
            row["abstract_id"]
            for row in pairs
            if row["claim_id"] == claim
            and row["annotation"] != "Not Enough Information"
        }
        recalls.append(len(right.intersection(ranked[:10])) / len(right))
    found = ranking.scores(shapes.table(rows), "run.csv")
    assert found["recall@10"] == pytest.approx(math.fsum(recalls) / len(recalls))

    labels = made("labels", "gold.csv", shapes.climatecheck_2())
    assert labels.told["task"]["gold"]["ids"] == ["abstract_id", "claim_id"]
    guessed = [draw.choice(shapes.VERDICTS) for _ in pairs]
    run = [
        {"id": f"{row['abstract_id']}:{row['claim_id']}", "annotation": own}
        for row, own in zip(pairs, guessed, strict=True)
    ]
    true = [row["annotation"] for row in pairs]
    found = labels.scores(lines(run).encode())
    assert found["accuracy"] == pytest.approx(accuracy_score(true, guessed))
    assert found["macro_f1"] == pytest.approx(f1_score(true, guessed, average="macro"))


def test_what_is_named_like_the_query_is_shown_where_each_document_has_one_query(made):
    draw = random.Random("texts of claims")
    claims = [shapes.sentence(draw) for _ in range(4)]
    pairs = [
        {"claim_id": n % 4, "claim_text": claims[n % 4], "doc_id": f"d{n}"}
        for n in range(12)
    ]
    corpus = lines({"doc_id": f"d{n}", "text": f"Paper {n}."} for n in range(12))
    gold = shapes.packed(pairs_csv=shapes.table(pairs), corpus_jsonl=corpus)
    ranking = made("ranking", "gold.zip", gold)
    assert ranking.told["task"]["gold"]["shown"] == ["claim_text"]


def test_candidates_are_shown_only_when_they_are_chosen_and_records_name_the_answers(
    tmp_path, monkeypatch, made
):
    from sklearn.metrics import average_precision_score

    with pytest.raises(AssertionError, match="nothing to rank"):
        made("ranking", "gold.json", shapes.pst())

    def edit(task):
        assert "references" not in task["gold"]["shown"]
        assert (task["gold"]["field"], task["gold"]["item"]) == ("refs_trace", "_id")
        task["answer"]["candidates"] = "references"
        task["rules"][0]["measures"] = ["map"]

    task = made("ranking", "gold.json", shapes.pst(), edit)
    draw = random.Random("pst")
    run, precisions = [], []
    for paper in shapes.pst_papers():
        own = {name: draw.random() for name in paper["references"]}
        traced = {record["_id"] for record in paper["refs_trace"]}
        run.append({"_id": paper["_id"], "scores": own})
        precisions.append(
            average_precision_score(
                [name in traced for name in own], list(own.values())
            )
        )
    found = task.scores(lines(run).encode())
    assert found["map"] == pytest.approx(math.fsum(precisions) / len(precisions))
    inputs = dict(
        task.type.public_files(
            open_input_files(tmp_path / "upload", shown="gold.json"), {}
        )
    )
    assert b"refs_trace" not in inputs["inputs.jsonl"]


def test_rows_without_ids_are_numbered_and_their_order_is_part_of_the_gold(
    tmp_path, made
):
    from sklearn.metrics import accuracy_score

    task = made("labels", "gold.json", shapes.sciclaimeval())
    assert task.told["task"]["gold"]["numbered"] is True
    assert "order of the rows is part of the gold" in task.guesses["id"]["reason"]
    rows = shapes.sciclaimeval_rows()
    draw = random.Random("claims")
    guessed = [draw.choice(("Supports", "Refutes")) for _ in rows]
    run = [{"id": str(n), "label": own} for n, own in enumerate(guessed, 1)]
    true = [row["label"] for row in rows]
    assert task.scores(lines(run).encode())["accuracy"] == pytest.approx(
        accuracy_score(true, guessed)
    )
    again = json.dumps(rows[1:] + rows[:1]).encode()
    (tmp_path / "upload").write_bytes(again)
    other = task.type.gold_of(
        open_input_files(tmp_path / "upload", shown="gold.json"), {}
    )
    assert other.digest != task.gold.digest


def gains(ranked, grades):
    return math.fsum(
        grades.get(own, 0) / math.log2(place + 2)
        for place, own in enumerate(ranked[:10])
    )


def test_ids_in_one_text_and_ids_in_lists_are_found_in_their_pools(made):
    draw = random.Random("pools")
    claims = made("ranking", "gold.zip", shapes.context24())
    gold = claims.told["task"]["gold"]
    assert (gold["field"], gold["separator"]) == ("findings", ",")
    assert "findings" not in gold["shown"]
    names = [own["figure"] for own in shapes.figures()]
    run = {row["id"]: draw.sample(names, k=20) for row in shapes.context24_rows()}
    values = []
    for row in shapes.context24_rows():
        grades = dict.fromkeys(row["findings"], 1)
        values.append(gains(run[row["id"]], grades) / gains([*grades], grades))
    sent = [{"id": name, "ranking": own} for name, own in run.items()]
    found = claims.scores(lines(sent).encode())
    assert found["ndcg@10"] == pytest.approx(math.fsum(values) / len(values))

    queries = made("ranking", "gold.zip", shapes.litsearch())
    gold = queries.told["task"]["gold"]
    assert (gold["field"], gold["numbered"]) == ("corpusids", True)
    assert gold["shown"] == ["query"]
    sent, values = [], []
    for number, row in enumerate(shapes.litsearch_rows(), 1):
        ranked = draw.sample(range(1000, 1050), k=20)
        sent.append({"id": str(number), "ranking": list(map(str, ranked))})
        values.append(
            len(set(ranked[:10]) & set(row["corpusids"])) / len(row["corpusids"])
        )
    found = queries.scores(lines(sent).encode())
    assert found["recall@10"] == pytest.approx(math.fsum(values) / len(values))


def test_qrels_with_a_file_of_queries_are_a_ranking(tmp_path, made):
    from sklearn.metrics import ndcg_score

    task = made("ranking", "gold.zip", shapes.longeval())
    gold = task.told["task"]["gold"]
    assert (gold["files"], gold["queries"]) == ("trec", "queries.tsv")
    draw = random.Random("longeval run")
    sent, values = [], []
    for topic, grades in shapes.longeval_qrels().items():
        scores = {f"d{n}": draw.random() for n in range(40)}
        sent.append({"id": topic, "scores": scores})
        true = [grades.get(name, 0) for name in scores]
        values.append(ndcg_score([true], [[*scores.values()]], k=10))
    found = task.scores(lines(sent).encode())
    assert found["ndcg@10"] == pytest.approx(math.fsum(values) / len(values))
    inputs = dict(
        task.type.public_files(
            open_input_files(tmp_path / "upload", shown="gold.zip"), {}
        )
    )
    first = json.loads(inputs["inputs.jsonl"].splitlines()[0])
    assert (first["id"], first.keys()) == ("q0", {"id", "query"})


KEYED = {
    "labels": {f"k{n}": "ab"[n % 2] for n in range(8)},
    "lists": {f"k{n}": ["a"] * (n % 2) + ["b"] for n in range(8)},
    "records": {
        f"k{n}": {"text": f"a b c d {n}", "label": "ab"[n % 2]} for n in range(8)
    },
}


@pytest.mark.parametrize("kind", KEYED)
def test_an_object_with_an_instance_under_each_id_is_one_instance_each(made, kind):
    task = made("labels", "gold.json", json.dumps(KEYED[kind]).encode())
    assert task.gold.instances == 8
    assert task.told["task"]["gold"]["field"] == "label"
    answers = [
        {"id": name, "label": own["label"] if kind == "records" else own}
        for name, own in KEYED[kind].items()
    ]
    first = next(iter(task.scores(lines(answers).encode()).values()))
    assert first == 1


@pytest.mark.parametrize(
    ("gold", "forms", "words"),
    [
        (
            "sota",
            ("labels", "ranking", "text", "evidence", "spans", "numbers"),
            "records of 4 slots (Task, Dataset, Metric, Score)",
        ),
        (
            "biogen_answers",
            ("labels", "ranking", "text", "evidence", "spans", "numbers"),
            "texts with the documents that they cite",
        ),
        ("biogen_references", ("text",), "“references” has ids, not texts"),
        ("biogen_references", ("ranking",), "no file has all documents"),
        ("somd", ("labels",), "a tag for each token"),
    ],
)
def test_answers_that_no_form_scores_are_refused_with_the_reason(gold, forms, words):
    for form in forms:
        with pytest.raises(InputRefused) as refused:
            proposed(form, getattr(shapes, gold)())
        assert words in refused.value.problems[0].message


#: Fields that could be the answer of some form, each beside a label.
SECRETS = {
    "number": lambda n: n % 5,
    "boolean": lambda n: n % 3 == 0,
    "class": lambda n: "xyz"[n % 3],
    "id": lambda n: f"D{n}",
    "list of ids": lambda n: [f"D{n}", f"D{n + 1}"],
    "vector": lambda n: [n % 2, 1, 0],
    "records": lambda n: [{"_id": f"D{n}", "title": "One of the cited papers here"}],
    "grades": lambda n: {f"D{n}": 1},
    "spans": lambda n: [[0, n + 1]],
    "spelt out class": lambda n: ("it is supported by them", "it is not that sure")[
        n % 2
    ],
}


@pytest.mark.parametrize("kind", SECRETS)
def test_what_could_be_an_answer_is_not_shown_before_or_behind_the_answer(kind):
    def rows(*, is_first):
        own = [{"other": SECRETS[kind](n)} for n in range(30)]
        texts = [
            {"id": f"i{n}", "text": f"Of tree {n} and its leaves"} for n in range(30)
        ]
        labels = [{"label": "abc"[n * n % 3]} for n in range(30)]
        parts = zip(texts, own, labels, strict=True)
        return [
            text | other | label if is_first else text | label | other
            for text, other, label in parts
        ]

    for is_first in (True, False):
        task = proposed("labels", lines(rows(is_first=is_first)).encode())
        assert task["gold"]["shown"] == ["text"]


def test_a_text_that_is_named_like_an_answer_is_not_shown_and_of_texts_only_named_inputs():
    rows = [
        {
            "id": f"i{n}",
            "explanation": f"Since {n} of them are so",
            "text": f"Of tree {n} and leaves",
            "label": "ab"[n % 2],
        }
        for n in range(8)
    ]
    assert proposed("labels", lines(rows).encode())["gold"]["shown"] == ["text"]
    rows = [
        {
            "id": f"i{n}",
            "article": f"Of tree {n} and leaves",
            "short": f"It is of {n} trees",
            "summary": f"Trees {n} have leaves",
        }
        for n in range(8)
    ]
    task = proposed("text", lines(rows).encode())
    assert (task["gold"]["field"], task["gold"]["shown"]) == ("summary", ["article"])


def test_a_number_that_differs_in_all_rows_is_the_answer_and_not_the_id():
    rows = [{"text": f"Of tree {n} and leaves", "score": n / 7} for n in range(9)]
    gold = proposed("numbers", lines(rows).encode())["gold"]
    assert (gold["id"], gold["numbered"], gold["field"]) == ("id", True, "score")


def test_an_id_that_stands_twice_is_still_the_id_so_that_its_lines_are_named(tmp_path):
    rows = [
        {"id": f"i{n % 19}", "text": f"Of tree {n} and leaves", "label": "ab"[n % 2]}
        for n in range(20)
    ]
    path = tmp_path / "gold.jsonl"
    path.write_text(lines(rows))
    found = propose_declaration("labels", "t", "T", open_input_files(path))
    assert (found.task["gold"]["id"], found.guesses[0].confidence) == ("id", "unsure")


WRONG = {
    "an unknown key": (
        "labels",
        'seperator = ";"',
        "there is no key “seperator” here (did you mean “separator”?)",
    ),
    "a key of another form": (
        "labels",
        'item = "_id"',
        "“item” says nothing of the form labels",
    ),
    "two ways to an id": (
        "labels",
        'numbered = true\nids = ["a", "b"]',
        "“ids” and “numbered” exclude each other",
    ),
    "one field of an id": ("labels", 'ids = ["a"]', "“ids” names one field"),
    "an object of lines": ("labels", "keyed = true", "“keyed” says nothing of jsonl"),
    "relevance of no documents": (
        "ranking",
        'relevant = ["yes"]',
        "“relevant” needs “document”",
    ),
    "a shown column": (
        "labels",
        'columns = ["a", "b"]\nshown = ["a"]',
        "“a” shows the answer, which is “a”",
    ),
    "a path to queries": (
        "ranking",
        'queries = "in/queries.tsv"',
        "“in/queries.tsv” is no name of a file",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_keys_of_shapes_that_do_not_fit_are_refused(kind):
    form, keys, words = WRONG[kind]
    more = {"labels": 'labels = ["x", "y"]', "ranking": 'candidates = "c"'}[form]
    measure = {"labels": "accuracy", "ranking": "map"}[form]
    toml = (
        f'[task]\nslug = "t"\ntitle = "T"\nform = "{form}"\n[task.gold]\nfield = "f"\n{keys}\n'
        f'[task.answer]\n{more}\n[[task.rules]]\nname = "corrected"\nmeasures = ["{measure}"]\n'
    )
    with pytest.raises(InputRefused) as refused:
        read_declaration({"task.toml": toml})
    assert words in [problem.message for problem in refused.value.problems]


BAD = {
    "a vector of another length": (
        "vector = true",
        {"id": "a", "f": [1, 0, 1]},
        "“f” has 3 values",
    ),
    "a vector of other numbers": (
        "vector = true",
        {"id": "a", "f": [1, 2]},
        "“f” is not 0 or 1",
    ),
    "an empty column": (
        'columns = ["p", "q"]',
        {"id": "a", "p": 1},
        "“q” is not 0 or 1",
    ),
    "an unknown part": ('separator = ";"', {"id": "a", "f": "x; z"}, "“z” is no label"),
    "a part twice": ('separator = ";"', {"id": "a", "f": "x;x"}, "“f” names x twice"),
    "half of an id": ('ids = ["p", "q"]', {"p": "a", "f": ["x"]}, "“q” is missing"),
    "an id besides": (
        "numbered = true",
        {"id": "a", "f": ["x"]},
        "“id” is a field of the gold, and the name of the id that is made",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_gold_that_does_not_have_its_shape_is_refused_by_line(kind):
    from io import BytesIO

    keys, row, words = BAD[kind]
    toml = (
        f'[task]\nslug = "t"\ntitle = "T"\nform = "labels"\n[task.gold]\nfield = "f"\n{keys}\n'
        '[task.answer]\nlabels = ["x", "y"]\nseveral = true\n[[task.rules]]\n'
        'name = "corrected"\nmeasures = ["micro_f1"]\n'
    )
    task_type = read_declaration({"task.toml": toml})
    content = lines([row]).encode()
    with pytest.raises(InputRefused) as refused:
        task_type.gold_of(
            [InputFile("g.jsonl", "g.jsonl", lambda: BytesIO(content))], {}
        )
    assert (refused.value.problems[0].line, refused.value.problems[0].message) == (
        1,
        words,
    )


def test_the_command_prints_each_guess_with_its_confidence_and_reason(tmp_path, capsys):
    path = tmp_path / "gold.tsv"
    path.write_bytes(shapes.checkthat_vectors())
    folder = tmp_path / "task"
    assert main(["task", "new", "labels", str(folder), "--gold", str(path)]) == 0
    out = capsys.readouterr().out
    assert "answer: labels (sure: “labels” holds 3 values of 0 and 1" in out
    assert main(["task", "check", str(folder)]) == 0
    assert tomllib.loads((folder / "task.toml").read_text())["task"]["gold"]["vector"]
