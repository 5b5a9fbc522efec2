"""Judges from a local path: a sequence-to-sequence model, a cross-encoder of random weights, and refusals."""

import pytest

from scoring.judges.declared import LocalJudge
from scoring.judges.local import load_local_model
from scoring.judges.questions import JudgeQuestion
from tasks.types.ledger import ENTAILS_KIND, NO_VALID_LABEL
from tasks.types.problems import SoftwareUnavailable
from tests.scoring.tinymodel import make_model

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "it", "rains", "dry", "oslo", "yes")
LONGEST = 16


def question(premise: str, hypothesis: str) -> JudgeQuestion:
    return JudgeQuestion(ENTAILS_KIND, (premise, hypothesis))


def make_cross_encoder(folder, labels=("contradiction", "neutral", "entailment")):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=LONGEST,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        initializer_range=1.0,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    places = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(places, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", model_max_length=LONGEST
    ).save_pretrained(folder)
    return folder


def labels_of(judge: LocalJudge, *questions: JudgeQuestion) -> dict[JudgeQuestion, str]:
    model = load_local_model(judge)
    return {asked: label for batch in model.labels(questions) for asked, label in batch}


def test_a_sequence_to_sequence_model_judges_pairs(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    judge = LocalJudge(name="tiny", model=str(make_model(tmp_path / "t5")))
    yes, no = question("yes it rains", "rain"), question("it is dry", "rain")
    assert labels_of(judge, yes, no) == {yes: "yes", no: "no"}
    assert load_local_model(judge).name.startswith("t5@")


def test_a_cross_encoder_judges_by_its_most_probable_label(tmp_path):
    folder = make_cross_encoder(tmp_path / "cross")
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    pairs = [(one, other) for one in WORDS[4:] for other in WORDS[4:]]
    questions = [question(*pair) for pair in pairs]
    long = question("it rains " * LONGEST, "dry")
    found = labels_of(
        LocalJudge(name="tiny", model=str(folder), batch=3), *questions, long
    )
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        expected = [
            "yes"
            if model(**tokenizer(*pair, return_tensors="pt")).logits.argmax() == 2
            else "no"
            for pair in pairs
        ]
    assert [found[one] for one in questions] == expected
    assert found[long] == NO_VALID_LABEL, "nothing is cut off, and nothing guessed"
    assert set(expected) == {"yes", "no"}


def test_models_that_cannot_judge_are_refused_with_a_reason(tmp_path):
    folder = make_cross_encoder(tmp_path / "other", ("negative", "positive"))
    judge = LocalJudge(name="tiny", model=str(folder))
    with pytest.raises(SoftwareUnavailable, match="no label of the model"):
        labels_of(judge, question("it", "rains"))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SoftwareUnavailable, match="neither a sequence"):
        load_local_model(LocalJudge(name="tiny", model=str(empty)))
