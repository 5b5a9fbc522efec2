"""Decide by a judge, or look up in stored labels, whether cited passages entail claims.

This module is plain Python and reads entailment labels from files. The website stores
entailment labels in its database.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from scoring.metrics.base import Requirement, find_requirement
from scoring.metrics.local_models import (
    AUTOMATIC_DEVICE,
    choose_device,
    find_max_input_tokens,
    is_gpu,
)
from tasks.types.base import Options
from tasks.types.digests import compute_salted_digest
from tasks.types.files import open_input_files
from tasks.types.ledger import LEDGER_FILE_KEY, LEDGER_JUDGE_PREFIX
from tasks.types.positional_citations import options as declared
from tasks.types.positional_citations.parsing import (
    DIGEST_CHARACTERS,
    compute_short_file_digest,
    compute_short_folder_digest,
)
from tasks.types.positional_citations.questions import QuestionPassage
from tasks.types.problems import (
    Problem,
    SoftwareUnavailable,
    convert_to_unavailable,
    raise_if_any_problem_is_fatal,
)
from tasks.types.text import describe_json_type, iterate_json_objects


@dataclass(frozen=True)
class EntailmentPair:
    """A premise and a hypothesis, exactly as the entailment model receives them."""

    premise: str
    hypothesis: str

    @property
    def key(self) -> tuple[str, str]:
        """Return the SHA-256 digests of premise and hypothesis, which form the key of
        stored labels.
        """
        return compute_sha256(self.premise), compute_sha256(self.hypothesis)


def compute_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def compute_sha1(text: str) -> str:
    """Return the SHA-1 digest of a premise, which logs of released evaluations use."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def format_passage(passage: QuestionPassage) -> str:
    return f"Title: {passage.title}\n{passage.text}" if passage.title else passage.text


@dataclass(frozen=True)
class CitedClaim:
    """A claim and the passages that the claim's citation marks refer to, in the order
    of the marks.
    """

    hypothesis: str
    passages: tuple[str, ...]

    @cached_property
    def joint_pair(self) -> EntailmentPair:
        return EntailmentPair("\n".join(self.passages), self.hypothesis)

    @property
    def has_several_passages(self) -> bool:
        return len(self.passages) > 1

    @cached_property
    def first_index_by_passage(self) -> Mapping[str, int]:
        """Return the index of the first citation mark of each distinct passage. All
        citation marks of a passage have the same verdict.
        """
        return {
            passage: self.passages.index(passage)
            for passage in dict.fromkeys(self.passages)
        }

    def pair_with_passage(self, passage: str) -> EntailmentPair:
        return EntailmentPair(passage, self.hypothesis)

    def others(self, passage: str) -> EntailmentPair:
        """Return the pair of the claim with all cited passages except ``passage``. If
        several citation marks refer to ``passage``, only the first of these marks is
        left out.
        """
        first = self.first_index_by_passage[passage]
        return EntailmentPair(
            "\n".join((*self.passages[:first], *self.passages[first + 1 :])),
            self.hypothesis,
        )


class EntailmentJudge(Protocol):
    """A judge decides whether premises entail hypotheses. ``name`` identifies the judge
    in signatures. Two judges with the same name never give different labels.
    """

    @property
    def name(self) -> str: ...

    def decide(self, pairs: Sequence[EntailmentPair]) -> Sequence[bool | None]:
        """For each pair, return True if the premise entails the hypothesis, False if
        not, or None if unknown. Raises Unavailable.
        """


class UndecidingJudge:
    """An entailment judge that decides no pair of premise and hypothesis."""

    name = "none"

    def decide(self, pairs: Sequence[EntailmentPair]) -> Sequence[bool | None]:
        return [None] * len(pairs)


class WordOverlapJudge:
    """A judge for tests, which calls a pair entailed if the premise contains three
    fifths of the hypothesis's distinct words.
    """

    name = "word-overlap-0.6"
    _WORD_PATTERN = re.compile(r"\w+")

    def decide(self, pairs: Sequence[EntailmentPair]) -> Sequence[bool | None]:
        texts = ((pair.premise, pair.hypothesis) for pair in pairs)
        words = [
            [set(self._WORD_PATTERN.findall(text.lower())) for text in both]
            for both in texts
        ]
        return [
            bool(claim) and len(claim & there) / len(claim) >= 0.6
            for there, claim in words
        ]


class RecordingJudge:
    """An entailment judge that asks another judge and records the answers."""

    def __init__(self, judge: EntailmentJudge) -> None:
        self._judge = judge
        self.name = judge.name
        self.answers: dict[EntailmentPair, bool | None] = {}

    def decide(self, pairs: Sequence[EntailmentPair]) -> Sequence[bool | None]:
        answers = self._judge.decide(pairs)
        self.answers.update(zip(pairs, answers, strict=True))
        return answers


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a case:

    ``entailed`` and the credit of each mark are None if the verdict is pending.
    ``pending`` contains all undecided pairs that may influence the verdict. ``next``
    contains the undecided pairs that the verdict needs in any case. If a claim has
    several citation marks, ``alone`` contains True for each mark whose passage by
    itself entails the claim. ``others`` contains True for each mark that is not
    necessary, because the remaining passages entail the claim. Entries of ``alone`` and
    ``others`` for undecided and unneeded pairs are None.
    """

    entailed: bool | None
    credits: tuple[bool | None, ...]
    pending: tuple[EntailmentPair, ...] = ()
    next: tuple[EntailmentPair, ...] = ()
    alone: tuple[bool | None, ...] = ()
    others: tuple[bool | None, ...] = ()

    @property
    def credit(self) -> int:
        return sum(credit is True for credit in self.credits)


def decide_claims(
    cases: Sequence[CitedClaim], judge: EntailmentJudge
) -> list[ClaimVerdict]:
    """Return a verdict for each case, which is a claim with cited passages. The judge
    decides only pairs that can influence a verdict, and each pair once.

    The rules are those of section 4 of the ALCE paper (Gao and others, EMNLP 2023). A
    citation mark earns credit if all cited passages together entail the claim, and the
    mark's passage suffices by itself or is necessary. If the judge returns None, the
    verdict is pending.
    """
    answers: dict[EntailmentPair, bool | None] = {}

    def decide_new_pairs(pairs: Iterable[EntailmentPair]) -> None:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in answers))
        answers.update(zip(new, judge.decide(new), strict=True))

    decide_new_pairs(case.joint_pair for case in cases)
    supported = [
        case
        for case in cases
        if case.has_several_passages and answers[case.joint_pair] is not False
    ]
    by_passage = [
        (case, passage) for case in supported for passage in case.first_index_by_passage
    ]
    decide_new_pairs(case.pair_with_passage(passage) for case, passage in by_passage)
    decide_new_pairs(
        case.others(passage)
        for case, passage in by_passage
        if answers[case.pair_with_passage(passage)] is not True
    )
    return [_decide_verdict(case, answers) for case in cases]


def _decide_verdict(
    case: CitedClaim, answers: Mapping[EntailmentPair, bool | None]
) -> ClaimVerdict:
    entailed = answers[case.joint_pair]
    count = len(case.passages)
    if entailed is False or (entailed and not case.has_several_passages):
        return ClaimVerdict(entailed, (entailed,) * count)
    if not case.has_several_passages:
        return ClaimVerdict(None, (None,), (case.joint_pair,), (case.joint_pair,))
    views = {
        passage: _PassageCredit(case, passage, answers)
        for passage in case.first_index_by_passage
    }
    pairs = (case.joint_pair, *(pair for view in views.values() for pair in view.asked))
    pending = tuple(dict.fromkeys(pair for pair in pairs if answers[pair] is None))
    if entailed is None:
        return ClaimVerdict(None, (None,) * count, pending, (case.joint_pair,))
    of_marks = [views[passage] for passage in case.passages]
    return ClaimVerdict(
        True,
        tuple(view.earned for view in of_marks),
        pending,
        tuple(dict.fromkeys(pair for view in views.values() for pair in view.waiting)),
        tuple(view.alone for view in of_marks),
        tuple(view.others for view in of_marks),
    )


class _PassageCredit:
    """The credit of all citation marks that refer to one passage, if all passages
    together entail the claim. The credit may be undecided. ``asked`` contains the pairs
    that may influence the credit, and ``waiting`` is the pair to decide next.
    """

    def __init__(
        self,
        case: CitedClaim,
        passage: str,
        answers: Mapping[EntailmentPair, bool | None],
    ) -> None:
        alone = case.pair_with_passage(passage)
        self.earned = self.alone = answers[alone]
        self.others: bool | None = None
        self.asked: tuple[EntailmentPair, ...] = (alone,)
        self.waiting: tuple[EntailmentPair, ...] = (
            (alone,) if self.earned is None else ()
        )
        if self.earned is True:
            return
        others = case.others(passage)
        self.asked = (alone, others)
        if self.earned is False:
            self.others = answers[others]
            self.earned = None if self.others is None else not self.others
            self.waiting = (others,) if self.others is None else ()


EXAMPLE_LABEL_LINE = '{"premise_sha256": "9f86…", "hypothesis": "It rains", "entailed": 1, "model": "NAME"}'
#: A label's key is the premise's SHA-256 or SHA-1 and the hypothesis's SHA-256 digest.
PairDigests = tuple[str, str]
#: Number of hexadecimal digits of an entailment label digest in signatures.
LABELS_DIGEST_LENGTH = 12
_PREMISE_DIGEST_PATTERNS = {
    "premise_sha256": re.compile("[0-9a-f]{64}"),
    "premise_sha1": re.compile("[0-9a-f]{40}"),
}


class EntailmentLabels:
    """An entailment judge that looks up the stored labels of a model. ``name`` contains
    the digest of the label file, because two label files of a model may differ. For
    labels from a site's database, ``name`` contains no digest.
    """

    def __init__(
        self, entailed: Mapping[PairDigests, bool], model: str, name: str
    ) -> None:
        self._entailed = entailed
        self.model, self.name = model or name, name
        self._has_sha1 = any(len(premise) == 40 for premise, _ in entailed)

    def __len__(self) -> int:
        return len(self._entailed)

    def __contains__(self, pair: EntailmentPair) -> bool:
        return self.decide([pair])[0] is not None

    def decide(self, pairs: Sequence[EntailmentPair]) -> Sequence[bool | None]:
        labels = [self._entailed.get(pair.key) for pair in pairs]
        if self._has_sha1:
            for place in (index for index, label in enumerate(labels) if label is None):
                older = compute_sha1(pairs[place].premise)
                labels[place] = self._entailed.get((older, pairs[place].key[1]))
        return labels


def read_stored_labels(path: Path) -> EntailmentLabels:
    """Read a label file. Raises Unavailable if the file does not exist, or InputRefused
    with all invalid lines.
    """
    with convert_to_unavailable(f"there is no file of labels {path}", OSError):
        return _read_named_labels(path, compute_short_file_digest(path))


def compute_labels_digest(
    labels: Mapping[tuple[str, ...], bool | str], nonce: str = ""
) -> str:
    """Return a short digest of the used labels, or “none” without labels.

    Labels of the label file that no score used do not influence the digest. Some
    hypotheses are secret gold claims, and a plain digest would let readers confirm a
    guessed claim. If the gold has a nonce, the digest is therefore an HMAC.
    """
    lines = [
        f"{' '.join(key)} {label if isinstance(label, str) else int(label)}\n"
        for key, label in sorted(labels.items())
    ]
    if not lines:
        return "none"
    digest = compute_sha256("".join(lines))
    return (compute_salted_digest(digest, nonce) if nonce else digest)[
        :LABELS_DIGEST_LENGTH
    ]


def build_label_record(
    pair: EntailmentPair, *, entailed: bool, model: str
) -> dict[str, str | int]:
    """Return an entailment label as a JSON record of a label file."""
    return {
        "premise_sha256": compute_sha256(pair.premise),
        "hypothesis": pair.hypothesis,
        "entailed": int(entailed),
        "model": model,
    }


@dataclass(frozen=True)
class EntailmentLabelFile:
    """The entailment labels of a file, with the file name and the line number of each
    label. ``model`` is empty if the label file names no model. ``is_kept`` is True for
    a label file that a site exported from its database. Label files from a site's
    database contain no contradictions.
    """

    model: str
    entailed: dict[PairDigests, bool] = field(default_factory=dict)
    places: dict[PairDigests, tuple[str, int]] = field(default_factory=dict)
    is_kept: bool = False


def read_entailment_labels(
    path: Path, *, shown: str | None = None
) -> EntailmentLabelFile:
    """Read stored entailment labels from a file with one JSON object per line.

    A line may contain `premise` instead of `premise_sha256`, and `hypothesis_sha256`
    instead of `hypothesis`. Lines may also use the keys of evaluation logs, which are
    `claim` for the hypothesis, `result` for the label, and the SHA-1 digest of the
    premise. A line with only `model` sets the model of the following lines that name no
    model. Error messages name the file by ``shown``. Raises InputRefused with every
    line that is invalid or contradicts an earlier line.

    {"premise_sha256": "9f86…", "hypothesis": "It rains", "entailed": 1, "model":
    "true@9d3f"}
    """
    problems: list[Problem] = []
    labels = EntailmentLabelFile("")
    models: dict[str, tuple[str, int]] = {}
    is_kept = False
    for file in open_input_files(path, shown=shown):
        default = ""
        for line, record, raw in iterate_json_objects(file, problems):
            if record.keys() - {LEDGER_FILE_KEY} == {"model"} and isinstance(
                record["model"], str
            ):
                default, is_kept = record["model"], record.get(LEDGER_FILE_KEY) is True
                continue
            faults = [*find_label_record_faults(record)]
            if not faults:
                models.setdefault(
                    str(record.get("model") or default), (file.shown, line)
                )
                key, value = parse_label_record(record)
                if labels.entailed.setdefault(key, value) != value:
                    faults.append(
                        (
                            "an earlier line decides this pair otherwise",
                            "one label for each pair",
                        )
                    )
                labels.places.setdefault(key, (file.shown, line))
            problems += [
                file.make_problem(*fault, line=line, raw=raw) for fault in faults
            ]
        if default and not models:
            models[default] = (file.shown, 1)
    if len(models) > 1:
        (first, _), (second, (name, line)), *_ = models.items()
        message = f"labels of “{second}”, before of “{first}”"
        problems.append(
            Problem(
                file=name, line=line, message=message, expected="a file for each model"
            )
        )
    raise_if_any_problem_is_fatal(problems)
    return EntailmentLabelFile(
        next(iter(models), ""), labels.entailed, labels.places, is_kept
    )


@lru_cache(maxsize=4)
def _read_named_labels(path: Path, digest: str) -> EntailmentLabels:
    labels = read_entailment_labels(path)
    name = (
        labels.model
        if labels.is_kept
        else f"{labels.model}+labels-{digest}".lstrip("+")
    )
    return EntailmentLabels(labels.entailed, labels.model, name)


def parse_label_record(record: Mapping[str, Any]) -> tuple[PairDigests, bool]:
    """Return the key of a valid label line, and whether the label says that the premise
    entails the hypothesis.
    """
    premise = next(
        (record[key] for key in _PREMISE_DIGEST_PATTERNS if key in record), None
    )
    hypothesis = _read_hypothesis(record)
    key = (
        premise or compute_sha256(record["premise"]),
        record["hypothesis_sha256"]
        if hypothesis is None
        else compute_sha256(hypothesis),
    )
    return key, bool(_read_entailed_value(record))


def find_label_record_faults(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each fault of a line in a label file, as a message with the expected form."""
    digests = [key for key in _PREMISE_DIGEST_PATTERNS if key in record]
    for key in digests:
        if not isinstance(record[key], str) or not _PREMISE_DIGEST_PATTERNS[
            key
        ].fullmatch(record[key]):
            yield f"“{key}” is no such digest", "lower-case hexadecimal digits"
    if not digests and not isinstance(record.get("premise"), str):
        yield "the premise is missing", EXAMPLE_LABEL_LINE
    if not isinstance(_read_hypothesis(record), str):
        digest = record.get("hypothesis_sha256")
        if digest is None:
            yield "the hypothesis is missing", EXAMPLE_LABEL_LINE
        elif not isinstance(digest, str) or not _PREMISE_DIGEST_PATTERNS[
            "premise_sha256"
        ].fullmatch(digest):
            yield (
                "“hypothesis_sha256” is no such digest",
                "lower-case hexadecimal digits",
            )
    value = _read_entailed_value(record)
    if value not in (0, 1):
        label = (
            "missing"
            if value is None
            else describe_json_type(value)
            if not isinstance(value, int | float)
            else value
        )
        yield f"the label is {label}", "“entailed”: 1 or 0"
    if record.get("model") is not None and not isinstance(record["model"], str):
        yield f"“model” is {describe_json_type(record['model'])}", "a text"


def _read_hypothesis(record: Mapping[str, Any]) -> Any:
    return record.get("hypothesis", record.get("claim"))


def _read_entailed_value(record: Mapping[str, Any]) -> Any:
    return record.get("entailed", record.get("result"))


#: This entailment model of the ALCE and ALiiCE papers has 11 billion parameters.
TRUE = "google/t5_xxl_true_nli_mixture"
ENTAILED_MODEL_OUTPUT = "1"
PAIRS_PER_BATCH = 8


def build_entailment_judge(options: Options) -> EntailmentJudge:
    """Return the entailment judge that the options select. Raises OptionRefused for
    invalid options, Unavailable if the judge is missing, and InputRefused if its label
    file is invalid.
    """
    source, name = declared.parse_entailment_source(options)
    if source == declared.LABEL_FILE_SOURCE:
        return read_stored_labels(Path(name))
    if source == declared.MODEL_SOURCE:
        return load_model_judge(name)
    if source == LEDGER_JUDGE_PREFIX:
        raise SoftwareUnavailable(
            f"the labels of {name} are kept by a site: have its organisers export them, "
            "and give the file as entailment=labels:PATH"
        )
    return (
        WordOverlapJudge()
        if source == declared.WORD_OVERLAP_SOURCE
        else UndecidingJudge()
    )


def list_judge_requirements(options: Options) -> tuple[Requirement, ...]:
    """Return the resources that the entailment judge needs, without checking labels in
    a site's database.
    """
    source, name = declared.parse_entailment_source(options)

    def find_model() -> tuple[str, str]:
        folder = find_model_folder(name)
        return str(folder), format_model_name(name, folder)

    if source == declared.LABEL_FILE_SOURCE:
        return (
            find_requirement(
                "entailment labels",
                name,
                lambda: (name, build_entailment_judge(options).name),
            ),
        )
    return (
        (find_requirement("entailment model", name, find_model),)
        if source == declared.MODEL_SOURCE
        else ()
    )


class ModelJudge:
    """An entailment judge that loads a language model for the first pair and caches the
    model's answers.

    A sequence-to-sequence model gets the prompt of the model TRUE (Honovich and others,
    NAACL 2022). A sequence classifier receives premise and hypothesis as a pair. A
    premise that is too long is truncated. The hypothesis counts as entailed if the most
    likely label begins with “entail”.
    """

    def __init__(
        self,
        model: str,
        *,
        batch: int = PAIRS_PER_BATCH,
        device: str = AUTOMATIC_DEVICE,
    ) -> None:
        self.folder = find_model_folder(model)
        self.name = format_model_name(model, self.folder)
        self._batch, self._device = batch, device
        self._known: dict[EntailmentPair, bool] = {}

    def decide(self, pairs: Sequence[EntailmentPair]) -> Sequence[bool | None]:
        for done in self.decided(pairs):
            self._known.update(done)
        return [self._known[pair] for pair in pairs]

    def decided(
        self, pairs: Sequence[EntailmentPair]
    ) -> Iterator[list[tuple[EntailmentPair, bool]]]:
        """Yield the model's answers to the pairs that are not cached, in batches of
        pairs with similar length.

        The same pairs must always form the same batches, because padding changes the
        last digits of the model's output.
        """
        new = sorted(
            {*pairs} - self._known.keys(),
            key=lambda pair: (
                len(format_model_prompt(pair)),
                format_model_prompt(pair),
            ),
        )
        for start in range(0, len(new), self._batch):
            batch = new[start : start + self._batch]
            yield list(
                zip(
                    batch,
                    _decide_entailment(self.folder, self._device, batch),
                    strict=True,
                )
            )


def format_model_prompt(pair: EntailmentPair) -> str:
    """Return the model's prompt for a pair of premise and hypothesis."""
    return f"premise: {pair.premise} hypothesis: {pair.hypothesis}"


@lru_cache(maxsize=2)
def load_model_judge(model: str) -> ModelJudge:
    return ModelJudge(model)


def find_model_folder(model: str) -> Path:
    """Return the folder of an entailment model, given by path or by its name in the
    download cache. Downloads nothing. Raises Unavailable.
    """
    folder = Path(model)
    if folder.is_dir():
        return folder
    with convert_to_unavailable(
        f"transformers is not installed, which {model} needs: `make models` installs it"
    ):
        from huggingface_hub import snapshot_download
    message = (
        f"the model {model} is not on this machine: `huggingface-cli download {model}` fetches it; "
        "or decide on another machine: "
    )
    with convert_to_unavailable(
        f"{message}`python -m scoring pairs`, `python -m scoring decide`",
        OSError,
        ValueError,
    ):
        return Path(snapshot_download(model, local_files_only=True))


def format_model_name(model: str, folder: Path) -> str:
    """Return the model's name in signatures, which has the form `NAME@REVISION`.

    The revision of a downloaded model is the name of its folder. A model in another
    folder has a digest of its files as revision, and the last component of the path as
    name.
    """
    revision = (
        folder.name[:DIGEST_CHARACTERS]
        if folder.parent.name == "snapshots"
        else compute_short_folder_digest(folder)
    )
    return f"{folder.name if folder == Path(model) else model}@{revision}"


def _decide_entailment(
    folder: Path, device: str, pairs: Sequence[EntailmentPair]
) -> list[bool]:
    if _is_classifier(folder):
        return _classify_pairs(folder, device, pairs)
    answers = _generate_answers(
        folder, device, [format_model_prompt(pair) for pair in pairs]
    )
    return [answer == ENTAILED_MODEL_OUTPUT for answer in answers]


def _is_classifier(folder: Path) -> bool:
    with convert_to_unavailable(
        f"the model in {folder} cannot be loaded: {{}}", OSError, ValueError
    ):
        config = json.loads((folder / "config.json").read_bytes())
    kinds = config.get("architectures") or [""]
    return str(kinds[0]).endswith("ForSequenceClassification")


def _classify_pairs(
    folder: Path, device: str, pairs: Sequence[EntailmentPair]
) -> list[bool]:
    import torch

    tokenizer, model = _load_tokenizer_and_model(folder, device)
    labels = {str(name): int(place) for place, name in model.config.id2label.items()}
    entailing = [place for name, place in labels.items() if is_entailment_label(name)]
    if len(entailing) != 1:
        raise SoftwareUnavailable(
            f"the model in {folder} has the labels {', '.join(labels)}; "
            "expected one that begins with “entail”"
        )
    inputs = tokenizer(
        [pair.premise for pair in pairs],
        [pair.hypothesis for pair in pairs],
        truncation="only_first",
        max_length=find_max_input_tokens(tokenizer, model.config),
        padding=True,
        return_tensors="pt",
    ).to(model.device)
    with torch.inference_mode():
        chosen = model(**inputs).logits.argmax(dim=-1)
    return [int(place) == entailing[0] for place in chosen]


def is_entailment_label(label: str) -> bool:
    return label.casefold().startswith("entail")


def _generate_answers(folder: Path, device: str, questions: Sequence[str]) -> list[str]:
    """Return the model's output for each prompt. No prompt is truncated, because T5 has
    no maximum input length.
    """
    import torch

    tokenizer, model = _load_tokenizer_and_model(folder, device)
    inputs = tokenizer(list(questions), return_tensors="pt", padding=True).to(
        model.device
    )
    with torch.inference_mode():
        outputs = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=10,
            do_sample=False,
            num_beams=1,
        )
    answers: list[str] = tokenizer.batch_decode(outputs, skip_special_tokens=True)
    return [answer.strip() for answer in answers]


@lru_cache(maxsize=1)
def _load_tokenizer_and_model(folder: Path, device: str) -> tuple[Any, Any]:
    with convert_to_unavailable(
        "transformers and torch are not installed: `make models` installs them"
    ):
        import torch
        from transformers import (
            AutoModelForSeq2SeqLM,
            AutoModelForSequenceClassification,
            AutoTokenizer,
        )
    chosen = choose_device(device)
    # GPUs compute in bfloat16, as in both papers.
    # CPUs compute in float32, which is faster.
    precision = torch.bfloat16 if is_gpu(chosen) else torch.float32
    with convert_to_unavailable(
        f"the model in {folder} cannot be loaded: {{}}", OSError, ValueError
    ):
        tokenizer = AutoTokenizer.from_pretrained(folder)  # type: ignore[no-untyped-call]
        kind: Any = (
            AutoModelForSequenceClassification
            if _is_classifier(folder)
            else AutoModelForSeq2SeqLM
        )
        model = kind.from_pretrained(folder, dtype=precision)
    return tokenizer, model.to(chosen).eval()
