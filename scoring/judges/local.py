"""Load entailment models from local paths, which are sequence-to-sequence models or
cross-encoders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from scoring.judges.declared import LocalJudge
from scoring.judges.questions import JudgeQuestion
from scoring.metrics.entailment import (
    EntailmentPair,
    ModelJudge,
    find_model_folder,
    format_model_name,
)
from scoring.metrics.local_models import choose_device
from tasks.types.ledger import (
    ENTAILED_LABEL,
    ENTAILS_KIND,
    NO_VALID_LABEL,
    NOT_ENTAILED_LABEL,
)
from tasks.types.problems import SoftwareUnavailable, convert_to_unavailable

#: The class of a cross-encoder that means entailment, in lower case.
ENTAILMENT_MODEL_CLASS_NAME = "entailment"
#: Tokenizers without a maximum length report a number above this one.
ASSUMED_LENGTH_WITHOUT_LIMIT = 1_000_000

LabelsOfQuestions = list[tuple[JudgeQuestion, str]]


class LocalEntailmentModel(Protocol):
    """A loaded entailment model. The ``name`` of a judge includes the revision of the
    model or the digest of the model's files.
    """

    name: str

    def labels(self, questions: Sequence[JudgeQuestion]) -> Iterator[LabelsOfQuestions]:
        """Yield the judge's labels of the questions in batches."""


def load_local_model(judge: LocalJudge) -> LocalEntailmentModel:
    """Load the model of a local judge. Raises Unavailable if the model is missing or
    has an unsupported architecture.
    """
    folder = find_model_folder(judge.model)
    config = _load_model_config(folder)
    if config.is_encoder_decoder:
        return SequenceToSequenceJudge(judge)
    if any(
        name.endswith("ForSequenceClassification")
        for name in config.architectures or ()
    ):
        return CrossEncoderJudge(judge, folder)
    raise SoftwareUnavailable(
        f"the model of {judge.name} is neither a sequence-to-sequence model nor a cross-encoder"
    )


def build_local_judge_signature(
    judge: LocalJudge, model: LocalEntailmentModel
) -> dict[str, Any]:
    return {"kind": judge.kind, "model": model.name, "asks": ENTAILS_KIND}


def _load_model_config(folder: Path) -> Any:
    with convert_to_unavailable(
        "transformers is not installed: `make models` installs it"
    ):
        from transformers import AutoConfig
    with convert_to_unavailable(
        f"the model in {folder} cannot be read", OSError, ValueError
    ):
        return AutoConfig.from_pretrained(folder, local_files_only=True)


class SequenceToSequenceJudge:
    """A model with the prompt of TRUE (Honovich et al., 2022), which replies with 1 for
    entailment.
    """

    def __init__(self, judge: LocalJudge) -> None:
        self._model = ModelJudge(judge.model, batch=judge.batch, device=judge.device)
        self.name = self._model.name

    def labels(self, questions: Sequence[JudgeQuestion]) -> Iterator[LabelsOfQuestions]:
        by_pair = {EntailmentPair(*question.texts): question for question in questions}
        for batch in self._model.decided(list(by_pair)):
            yield [
                (by_pair[pair], ENTAILED_LABEL if entailed else NOT_ENTAILED_LABEL)
                for pair, entailed in batch
            ]


class CrossEncoderJudge:
    """A classifier of text pairs. A pair is labelled as entailed if “entailment” is the
    most probable class.

    A pair that exceeds the model's maximum length gets no label.
    """

    def __init__(self, judge: LocalJudge, folder: Path) -> None:
        self._judge, self._folder = judge, folder
        self.name = format_model_name(judge.model, folder)

    def labels(self, questions: Sequence[JudgeQuestion]) -> Iterator[LabelsOfQuestions]:
        # Texts are sorted, because the padding of a batch changes the last digits.
        ordered = sorted(
            questions, key=lambda one: (sum(map(len, one.texts)), one.texts)
        )
        for start in range(0, len(ordered), self._judge.batch):
            yield self._compute_labels_of_batch(
                ordered[start : start + self._judge.batch]
            )

    def _compute_labels_of_batch(
        self, batch: Sequence[JudgeQuestion]
    ) -> LabelsOfQuestions:
        import torch

        tokenizer, model, entailment = _load_cross_encoder(
            self._folder, self._judge.device
        )
        longest = min(
            tokenizer.model_max_length,
            getattr(
                model.config, "max_position_embeddings", ASSUMED_LENGTH_WITHOUT_LIMIT
            ),
        )
        premises, hypotheses = zip(*(question.texts for question in batch), strict=True)
        inputs = tokenizer(
            list(premises), list(hypotheses), return_tensors="pt", padding=True
        )
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        fits = [length <= longest for length in lengths]
        labels = [NO_VALID_LABEL] * len(batch)
        if any(fits):
            rows = torch.tensor(fits)
            readable = {
                name: values[rows][:, :longest].to(model.device)
                for name, values in inputs.items()
            }
            with torch.inference_mode():
                best = model(**readable).logits.argmax(dim=1).tolist()
            places = [index for index, fit in enumerate(fits) if fit]
            for place, label in zip(places, best, strict=True):
                labels[place] = (
                    ENTAILED_LABEL if label == entailment else NOT_ENTAILED_LABEL
                )
        return list(zip(batch, labels, strict=True))


@lru_cache(maxsize=1)
def _load_cross_encoder(folder: Path, device: str) -> tuple[Any, Any, int]:
    with convert_to_unavailable(
        "transformers and torch are not installed: `make models` installs them"
    ):
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    with convert_to_unavailable(
        f"the model in {folder} cannot be loaded", OSError, ValueError
    ):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
        model = AutoModelForSequenceClassification.from_pretrained(
            folder, local_files_only=True
        )
    if tokenizer.padding_side != "right":
        tokenizer.padding_side = "right"
    labels = {
        str(name).lower(): int(place) for place, name in model.config.id2label.items()
    }
    if ENTAILMENT_MODEL_CLASS_NAME not in labels:
        raise SoftwareUnavailable(
            f"no label of the model in {folder} is called “{ENTAILMENT_MODEL_CLASS_NAME}”; "
            f"its labels are {', '.join(sorted(labels))}"
        )
    return (
        tokenizer,
        model.to(choose_device(device)).eval(),
        labels[ENTAILMENT_MODEL_CLASS_NAME],
    )
