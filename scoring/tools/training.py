"""Train a tagger on labelled sentences, and evaluate it on other sentences.

The usual splits leak. In the data set ACL-ARC, a third of the texts in the test set
also occur in the training set. For this reason, each figure is computed both for all
test sentences and for the test sentences whose text is not in the training set.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, f1_of_counts
from scoring.metrics.discourse import VECTORIZER_SETTINGS_BY_BLOCK, SentenceTagger
from tasks.types import InputRefused, Problem
from tasks.types.files import open_input_files
from tasks.types.problems import raise_if_any_problem_is_fatal
from tasks.types.text import iterate_json_objects

EXAMPLE_LABELLED_LINE = '{"text": "We follow the model of [1].", "label": "Uses"}'
#: Without a test file, one in this many sentences is used for testing.
HELD_OUT_FRACTION_DENOMINATOR = 10
MIN_LABELLED_SENTENCES = 20


@dataclass(frozen=True)
class LabelledSentence:
    text: str
    label: str


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of training.

    Words and n-grams that occur in fewer than ``least`` sentences are ignored. To make
    the file of the tagger smaller, its coefficients are rounded to ``decimals``
    decimals, unless ``decimals`` is None.
    """

    strength: float = 5.0
    least: int = 2
    decimals: int | None = None


def read_labelled_sentences(path: Path) -> list[LabelledSentence]:
    """Read labelled sentences from a file or folder of JSON Lines with the fields
    `text` and `label`. Raises InputRefused.
    """
    problems: list[Problem] = []
    labelled: list[LabelledSentence] = []
    for file in open_input_files(path):
        for number, value, line in iterate_json_objects(file, problems):
            text, label = value.get("text"), value.get("label")
            if (
                isinstance(text, str)
                and text.strip()
                and isinstance(label, str)
                and label.strip()
            ):
                labelled.append(LabelledSentence(text, label))
            else:
                message = "“text” or “label” is no text, or empty"
                problems.append(
                    file.make_problem(
                        message, EXAMPLE_LABELLED_LINE, line=number, raw=line
                    )
                )
    raise_if_any_problem_is_fatal(problems)
    return labelled


def train_sentence_tagger(
    sentences: Sequence[LabelledSentence], settings: TrainingSettings
) -> SentenceTagger:
    """Train a tagger. Raises InputRefused if the files have too few sentences or
    labels.
    """
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    if (
        len(sentences) < MIN_LABELLED_SENTENCES
        or len({sentence.label for sentence in sentences}) < 2
    ):
        counts = f"{len(sentences)} sentences of {len({sentence.label for sentence in sentences})} labels"
        raise InputRefused(
            [
                Problem(
                    message=counts,
                    expected=f"at least {MIN_LABELLED_SENTENCES}, of two labels",
                )
            ]
        )
    texts = [sentence.text for sentence in sentences]
    blocks = {
        name: TfidfVectorizer(min_df=settings.least, **words)
        for name, words in VECTORIZER_SETTINGS_BY_BLOCK.items()
    }
    inputs = hstack(
        [block.fit_transform(texts) for block in blocks.values()], format="csr"
    )
    model = LogisticRegression(
        C=settings.strength, class_weight="balanced", max_iter=2000
    )
    model.fit(inputs, [sentence.label for sentence in sentences])
    return SentenceTagger(
        labels=tuple(str(label) for label in model.classes_),
        terms={
            name: tuple(map(str, block.get_feature_names_out()))
            for name, block in blocks.items()
        },
        idf={
            name: _round_numbers(block.idf_, settings.decimals)
            for name, block in blocks.items()
        },
        weights=_round_numbers(model.coef_, settings.decimals),
        intercepts=_round_numbers(model.intercept_, settings.decimals),
    )


def _round_numbers(numbers: Any, decimals: int | None) -> Floats:
    exact = np.asarray(numbers, dtype=np.float64)
    # Adding 0.0 turns -0.0 into 0.0, so that equal numbers are stored as equal bytes.
    return exact if decimals is None else exact.round(decimals) + 0.0


def split_off_test_sentences(
    sentences: Sequence[LabelledSentence], seed: int
) -> tuple[list[LabelledSentence], list[LabelledSentence]]:
    """Split labelled sentences at random into nine tenths for training and one tenth
    for testing.

    The assignment of a sentence depends on a hash of the seed, the position and the
    text of the sentence. If a sentence occurs twice, the training and the test part may
    both contain it, as in the usual data sets.
    """
    draws = [
        hashlib.sha256(f"{seed} {n} {sentence.text}".encode()).digest()
        for n, sentence in enumerate(sentences)
    ]
    drawn = sorted(range(len(sentences)), key=draws.__getitem__)
    tested = set(drawn[: -(-len(sentences) // HELD_OUT_FRACTION_DENOMINATOR)])
    sides: tuple[list[LabelledSentence], list[LabelledSentence]] = ([], [])
    for index, sentence in enumerate(sentences):
        sides[index in tested].append(sentence)
    return sides


def evaluate_tagger(
    tagger: SentenceTagger,
    trained: Sequence[LabelledSentence],
    tested: Sequence[LabelledSentence],
) -> dict[str, Any]:
    """Return accuracy and F1 of the tagger over all test sentences, and over the test
    sentences whose text is not in the training set.
    """
    texts = {sentence.text for sentence in trained}
    unseen = [sentence for sentence in tested if sentence.text not in texts]
    return {
        "test": compute_accuracy_and_f1(tagger, tested),
        "test_without_training_texts": compute_accuracy_and_f1(tagger, unseen),
        "texts_in_both": len({sentence.text for sentence in tested} & texts),
    }


def compute_accuracy_and_f1(
    tagger: SentenceTagger, sentences: Sequence[LabelledSentence]
) -> dict[str, Any]:
    """Return accuracy, and macro-F1 over all labels that occur in the gold or in the
    answers, or None if there are no sentences.
    """
    gold = [sentence.label for sentence in sentences]
    answers = tagger.tag([sentence.text for sentence in sentences])
    if not gold:
        return {"sentences": 0, "accuracy": None, "macro_f1": None, "f1": {}}
    f1 = compute_f1_by_label(gold, answers, sorted({*gold, *answers}))
    right = sum(a == b for a, b in zip(gold, answers, strict=True))
    macro_f1 = sum(f1.values()) / len(f1)
    return {
        "sentences": len(gold),
        "accuracy": right / len(gold),
        "macro_f1": macro_f1,
        "f1": f1,
    }


def compute_f1_by_label(
    gold: Sequence[str], answers: Sequence[str], labels: Iterable[str]
) -> dict[str, float]:
    right = Counter(a for a, b in zip(gold, answers, strict=True) if a == b)
    wanted, chosen = Counter(gold), Counter(answers)
    return {
        label: float(f1_of_counts(right[label], chosen[label], wanted[label]))
        for label in labels
    }


def make_tagger_manifest(
    trained: Sequence[LabelledSentence],
    settings: TrainingSettings,
    source: Path,
    evaluation: Mapping[str, Any],
) -> dict[str, Any]:
    counts = Counter(sentence.label for sentence in trained)
    blocks = {name: dict(words) for name, words in VECTORIZER_SETTINGS_BY_BLOCK.items()}
    texts = "".join(f"{sentence.text}\t{sentence.label}\n" for sentence in trained)
    return {
        "trained_on": {
            "file": source.name,
            "sha256": hashlib.sha256(texts.encode()).hexdigest(),
            "sentences": len(trained),
            "labels": dict(sorted(counts.items())),
        },
        "settings": {**asdict(settings), "class_weight": "balanced", "blocks": blocks},
        "packages": {
            name: version(name) for name in ("scikit-learn", "numpy", "scipy")
        },
        "evaluation": dict(evaluation),
    }
