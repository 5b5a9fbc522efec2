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

from scoring.metrics.base import Requirement, looked_for
from scoring.metrics.local_models import (
    AUTO,
    chosen_device,
    is_gpu,
    longest_input,
)
from tasks.types.base import Options
from tasks.types.digests import salted_digest
from tasks.types.files import open_input
from tasks.types.ledger import KEPT, STORE
from tasks.types.positional_citations import options as declared
from tasks.types.positional_citations.parsing import LENGTH, file_digest, folder_digest
from tasks.types.positional_citations.questions import Passage
from tasks.types.problems import Problem, Unavailable, needed, refuse
from tasks.types.text import json_kind, json_lines


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis, exactly as the entailment model receives them."""

    premise: str
    hypothesis: str

    @property
    def key(self) -> tuple[str, str]:
        """Return the SHA-256 digests of premise and hypothesis, which form the key of
        stored labels.
        """
        return sha256(self.premise), sha256(self.hypothesis)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sha1(text: str) -> str:
    """Return the SHA-1 digest of a premise, which logs of released evaluations use."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def passage_text(passage: Passage) -> str:
    return f"Title: {passage.title}\n{passage.text}" if passage.title else passage.text


@dataclass(frozen=True)
class Case:
    """A claim and the passages that the claim's citation marks refer to, in the order
    of the marks.
    """

    hypothesis: str
    passages: tuple[str, ...]

    @cached_property
    def joint(self) -> Pair:
        return Pair("\n".join(self.passages), self.hypothesis)

    @property
    def has_several(self) -> bool:
        return len(self.passages) > 1

    @cached_property
    def first_places(self) -> Mapping[str, int]:
        """Return the index of the first citation mark of each distinct passage. All
        citation marks of a passage have the same verdict.
        """
        return {
            passage: self.passages.index(passage)
            for passage in dict.fromkeys(self.passages)
        }

    def alone(self, passage: str) -> Pair:
        return Pair(passage, self.hypothesis)

    def others(self, passage: str) -> Pair:
        """Return the pair of the claim with all cited passages except ``passage``. If
        several citation marks refer to ``passage``, only the first of these marks is
        left out.
        """
        first = self.first_places[passage]
        return Pair(
            "\n".join((*self.passages[:first], *self.passages[first + 1 :])),
            self.hypothesis,
        )


class Judge(Protocol):
    """A judge decides whether premises entail hypotheses. ``name`` identifies the judge
    in signatures. Two judges with the same name never give different labels.
    """

    @property
    def name(self) -> str: ...

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        """For each pair, return True if the premise entails the hypothesis, False if
        not, or None if unknown. Raises Unavailable.
        """


class Nobody:
    """An entailment judge that decides no pair of premise and hypothesis."""

    name = "none"

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        return [None] * len(pairs)


class WordOverlap:
    """A judge for tests, which calls a pair entailed if the premise contains three
    fifths of the hypothesis's distinct words.
    """

    name = "word-overlap-0.6"
    _WORD = re.compile(r"\w+")

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        texts = ((pair.premise, pair.hypothesis) for pair in pairs)
        words = [
            [set(self._WORD.findall(text.lower())) for text in both] for both in texts
        ]
        return [
            bool(claim) and len(claim & there) / len(claim) >= 0.6
            for there, claim in words
        ]


class Watched:
    """An entailment judge that asks another judge and records the answers."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name = judge.name
        self.answers: dict[Pair, bool | None] = {}

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        answers = self._judge.decide(pairs)
        self.answers.update(zip(pairs, answers, strict=True))
        return answers


@dataclass(frozen=True)
class Verdict:
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
    pending: tuple[Pair, ...] = ()
    next: tuple[Pair, ...] = ()
    alone: tuple[bool | None, ...] = ()
    others: tuple[bool | None, ...] = ()

    @property
    def credit(self) -> int:
        return sum(credit is True for credit in self.credits)


def judged(cases: Sequence[Case], judge: Judge) -> list[Verdict]:
    """Return a verdict for each case, which is a claim with cited passages. The judge
    decides only pairs that can influence a verdict, and each pair once.

    The rules are those of section 4 of the ALCE paper (Gao and others, EMNLP 2023). A
    citation mark earns credit if all cited passages together entail the claim, and the
    mark's passage suffices by itself or is necessary. If the judge returns None, the
    verdict is pending.
    """
    answers: dict[Pair, bool | None] = {}

    def ask(pairs: Iterable[Pair]) -> None:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in answers))
        answers.update(zip(new, judge.decide(new), strict=True))

    ask(case.joint for case in cases)
    supported = [
        case for case in cases if case.has_several and answers[case.joint] is not False
    ]
    by_passage = [
        (case, passage) for case in supported for passage in case.first_places
    ]
    ask(case.alone(passage) for case, passage in by_passage)
    ask(
        case.others(passage)
        for case, passage in by_passage
        if answers[case.alone(passage)] is not True
    )
    return [_decide_verdict(case, answers) for case in cases]


def _decide_verdict(case: Case, answers: Mapping[Pair, bool | None]) -> Verdict:
    entailed = answers[case.joint]
    count = len(case.passages)
    if entailed is False or (entailed and not case.has_several):
        return Verdict(entailed, (entailed,) * count)
    if not case.has_several:
        return Verdict(None, (None,), (case.joint,), (case.joint,))
    views = {
        passage: _PassageCredit(case, passage, answers) for passage in case.first_places
    }
    pairs = (case.joint, *(pair for view in views.values() for pair in view.asked))
    pending = tuple(dict.fromkeys(pair for pair in pairs if answers[pair] is None))
    if entailed is None:
        return Verdict(None, (None,) * count, pending, (case.joint,))
    of_marks = [views[passage] for passage in case.passages]
    return Verdict(
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
        self, case: Case, passage: str, answers: Mapping[Pair, bool | None]
    ) -> None:
        alone = case.alone(passage)
        self.earned = self.alone = answers[alone]
        self.others: bool | None = None
        self.asked: tuple[Pair, ...] = (alone,)
        self.waiting: tuple[Pair, ...] = (alone,) if self.earned is None else ()
        if self.earned is True:
            return
        others = case.others(passage)
        self.asked = (alone, others)
        if self.earned is False:
            self.others = answers[others]
            self.earned = None if self.others is None else not self.others
            self.waiting = (others,) if self.others is None else ()


EXAMPLE = '{"premise_sha256": "9f86…", "hypothesis": "It rains", "entailed": 1, "model": "NAME"}'
#: A label's key is the premise's SHA-256 or SHA-1 and the hypothesis's SHA-256 digest.
Key = tuple[str, str]
#: Number of hexadecimal digits of an entailment label digest in signatures.
DIGEST_LENGTH = 12
_PREMISE_DIGEST_PATTERNS = {
    "premise_sha256": re.compile("[0-9a-f]{64}"),
    "premise_sha1": re.compile("[0-9a-f]{40}"),
}


class EntailmentLabels:
    """An entailment judge that looks up the stored labels of a model. ``name`` contains
    the digest of the label file, because two label files of a model may differ. For
    labels from a site's database, ``name`` contains no digest.
    """

    def __init__(self, entailed: Mapping[Key, bool], model: str, name: str) -> None:
        self._entailed = entailed
        self.model, self.name = model or name, name
        self._has_sha1 = any(len(premise) == 40 for premise, _ in entailed)

    def __len__(self) -> int:
        return len(self._entailed)

    def __contains__(self, pair: Pair) -> bool:
        return self.decide([pair])[0] is not None

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        labels = [self._entailed.get(pair.key) for pair in pairs]
        if self._has_sha1:
            for place in (index for index, label in enumerate(labels) if label is None):
                older = sha1(pairs[place].premise)
                labels[place] = self._entailed.get((older, pairs[place].key[1]))
        return labels


def stored_labels(path: Path) -> EntailmentLabels:
    """Read a label file. Raises Unavailable if the file does not exist, or InputRefused
    with all invalid lines.
    """
    with needed(f"there is no file of labels {path}", OSError):
        return _read_named_labels(path, file_digest(path))


def labels_digest(labels: Mapping[tuple[str, ...], bool | str], nonce: str = "") -> str:
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
    digest = sha256("".join(lines))
    return (salted_digest(digest, nonce) if nonce else digest)[:DIGEST_LENGTH]


def label_line(pair: Pair, *, entailed: bool, model: str) -> dict[str, str | int]:
    """Return an entailment label as a JSON record of a label file."""
    return {
        "premise_sha256": sha256(pair.premise),
        "hypothesis": pair.hypothesis,
        "entailed": int(entailed),
        "model": model,
    }


@dataclass(frozen=True)
class LabelFile:
    """The entailment labels of a file, with the file name and the line number of each
    label. ``model`` is empty if the label file names no model. ``is_kept`` is True for
    a label file that a site exported from its database. Label files from a site's
    database contain no contradictions.
    """

    model: str
    entailed: dict[Key, bool] = field(default_factory=dict)
    places: dict[Key, tuple[str, int]] = field(default_factory=dict)
    is_kept: bool = False


def read_entailment_labels(path: Path, *, shown: str | None = None) -> LabelFile:
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
    labels = LabelFile("")
    models: dict[str, tuple[str, int]] = {}
    is_kept = False
    for file in open_input(path, shown=shown):
        default = ""
        for line, record, raw in json_lines(file, problems):
            if record.keys() - {KEPT} == {"model"} and isinstance(record["model"], str):
                default, is_kept = record["model"], record.get(KEPT) is True
                continue
            faults = [*faults_of(record)]
            if not faults:
                models.setdefault(
                    str(record.get("model") or default), (file.shown, line)
                )
                key, value = label_of(record)
                if labels.entailed.setdefault(key, value) != value:
                    faults.append(
                        (
                            "an earlier line decides this pair otherwise",
                            "one label for each pair",
                        )
                    )
                labels.places.setdefault(key, (file.shown, line))
            problems += [file.problem(*fault, line=line, raw=raw) for fault in faults]
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
    refuse(problems)
    return LabelFile(next(iter(models), ""), labels.entailed, labels.places, is_kept)


@lru_cache(maxsize=4)
def _read_named_labels(path: Path, digest: str) -> EntailmentLabels:
    labels = read_entailment_labels(path)
    name = (
        labels.model
        if labels.is_kept
        else f"{labels.model}+labels-{digest}".lstrip("+")
    )
    return EntailmentLabels(labels.entailed, labels.model, name)


def label_of(record: Mapping[str, Any]) -> tuple[Key, bool]:
    """Return the key of a valid label line, and whether the label says that the premise
    entails the hypothesis.
    """
    premise = next(
        (record[key] for key in _PREMISE_DIGEST_PATTERNS if key in record), None
    )
    hypothesis = _hypothesis_of_record(record)
    key = (
        premise or sha256(record["premise"]),
        record["hypothesis_sha256"] if hypothesis is None else sha256(hypothesis),
    )
    return key, bool(_entailed_value(record))


def faults_of(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each fault of a line in a label file, as a message with the expected form."""
    digests = [key for key in _PREMISE_DIGEST_PATTERNS if key in record]
    for key in digests:
        if not isinstance(record[key], str) or not _PREMISE_DIGEST_PATTERNS[
            key
        ].fullmatch(record[key]):
            yield f"“{key}” is no such digest", "lower-case hexadecimal digits"
    if not digests and not isinstance(record.get("premise"), str):
        yield "the premise is missing", EXAMPLE
    if not isinstance(_hypothesis_of_record(record), str):
        digest = record.get("hypothesis_sha256")
        if digest is None:
            yield "the hypothesis is missing", EXAMPLE
        elif not isinstance(digest, str) or not _PREMISE_DIGEST_PATTERNS[
            "premise_sha256"
        ].fullmatch(digest):
            yield (
                "“hypothesis_sha256” is no such digest",
                "lower-case hexadecimal digits",
            )
    value = _entailed_value(record)
    if value not in (0, 1):
        label = (
            "missing"
            if value is None
            else json_kind(value)
            if not isinstance(value, int | float)
            else value
        )
        yield f"the label is {label}", "“entailed”: 1 or 0"
    if record.get("model") is not None and not isinstance(record["model"], str):
        yield f"“model” is {json_kind(record['model'])}", "a text"


def _hypothesis_of_record(record: Mapping[str, Any]) -> Any:
    return record.get("hypothesis", record.get("claim"))


def _entailed_value(record: Mapping[str, Any]) -> Any:
    return record.get("entailed", record.get("result"))


#: This entailment model of the ALCE and ALiiCE papers has 11 billion parameters.
TRUE = "google/t5_xxl_true_nli_mixture"
ENTAILED = "1"
BATCH = 8


def judge_of(options: Options) -> Judge:
    """Return the entailment judge that the options select. Raises OptionRefused for
    invalid options, Unavailable if the judge is missing, and InputRefused if its label
    file is invalid.
    """
    source, name = declared.entailment_source(options)
    if source == declared.LABELS:
        return stored_labels(Path(name))
    if source == declared.MODEL:
        return model_judge(name)
    if source == STORE:
        raise Unavailable(
            f"the labels of {name} are kept by a site: have its organisers export them, "
            "and give the file as entailment=labels:PATH"
        )
    return WordOverlap() if source == declared.WORD_OVERLAP else Nobody()


def deciders(options: Options) -> tuple[Requirement, ...]:
    """Return the resources that the entailment judge needs, without checking labels in
    a site's database.
    """
    source, name = declared.entailment_source(options)

    def model() -> tuple[str, str]:
        folder = model_folder(name)
        return str(folder), model_name(name, folder)

    if source == declared.LABELS:
        return (
            looked_for(
                "entailment labels", name, lambda: (name, judge_of(options).name)
            ),
        )
    return (
        (looked_for("entailment model", name, model),)
        if source == declared.MODEL
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

    def __init__(self, model: str, *, batch: int = BATCH, device: str = AUTO) -> None:
        self.folder = model_folder(model)
        self.name = model_name(model, self.folder)
        self._batch, self._device = batch, device
        self._known: dict[Pair, bool] = {}

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        for done in self.decided(pairs):
            self._known.update(done)
        return [self._known[pair] for pair in pairs]

    def decided(self, pairs: Sequence[Pair]) -> Iterator[list[tuple[Pair, bool]]]:
        """Yield the model's answers to the pairs that are not cached, in batches of
        pairs with similar length.

        The same pairs must always form the same batches, because padding changes the
        last digits of the model's output.
        """
        new = sorted(
            {*pairs} - self._known.keys(),
            key=lambda pair: (len(question(pair)), question(pair)),
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


def question(pair: Pair) -> str:
    """Return the model's prompt for a pair of premise and hypothesis."""
    return f"premise: {pair.premise} hypothesis: {pair.hypothesis}"


@lru_cache(maxsize=2)
def model_judge(model: str) -> ModelJudge:
    return ModelJudge(model)


def model_folder(model: str) -> Path:
    """Return the folder of an entailment model, given by path or by its name in the
    download cache. Downloads nothing. Raises Unavailable.
    """
    folder = Path(model)
    if folder.is_dir():
        return folder
    with needed(
        f"transformers is not installed, which {model} needs: `make models` installs it"
    ):
        from huggingface_hub import snapshot_download
    message = (
        f"the model {model} is not on this machine: `huggingface-cli download {model}` fetches it; "
        "or decide on another machine: "
    )
    with needed(
        f"{message}`python -m scoring pairs`, `python -m scoring decide`",
        OSError,
        ValueError,
    ):
        return Path(snapshot_download(model, local_files_only=True))


def model_name(model: str, folder: Path) -> str:
    """Return the model's name in signatures, which has the form `NAME@REVISION`.

    The revision of a downloaded model is the name of its folder. A model in another
    folder has a digest of its files as revision, and the last component of the path as
    name.
    """
    revision = (
        folder.name[:LENGTH]
        if folder.parent.name == "snapshots"
        else folder_digest(folder)
    )
    return f"{folder.name if folder == Path(model) else model}@{revision}"


def _decide_entailment(folder: Path, device: str, pairs: Sequence[Pair]) -> list[bool]:
    if _is_classifier(folder):
        return _classify_pairs(folder, device, pairs)
    answers = _generate_answers(folder, device, [question(pair) for pair in pairs])
    return [answer == ENTAILED for answer in answers]


def _is_classifier(folder: Path) -> bool:
    with needed(f"the model in {folder} cannot be loaded: {{}}", OSError, ValueError):
        config = json.loads((folder / "config.json").read_bytes())
    kinds = config.get("architectures") or [""]
    return str(kinds[0]).endswith("ForSequenceClassification")


def _classify_pairs(folder: Path, device: str, pairs: Sequence[Pair]) -> list[bool]:
    import torch

    tokenizer, model = _load_tokenizer_and_model(folder, device)
    labels = {str(name): int(place) for place, name in model.config.id2label.items()}
    entailing = [place for name, place in labels.items() if is_entailing(name)]
    if len(entailing) != 1:
        raise Unavailable(
            f"the model in {folder} has the labels {', '.join(labels)}; "
            "expected one that begins with “entail”"
        )
    inputs = tokenizer(
        [pair.premise for pair in pairs],
        [pair.hypothesis for pair in pairs],
        truncation="only_first",
        max_length=longest_input(tokenizer, model.config),
        padding=True,
        return_tensors="pt",
    ).to(model.device)
    with torch.inference_mode():
        chosen = model(**inputs).logits.argmax(dim=-1)
    return [int(place) == entailing[0] for place in chosen]


def is_entailing(label: str) -> bool:
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
    with needed(
        "transformers and torch are not installed: `make models` installs them"
    ):
        import torch
        from transformers import (
            AutoModelForSeq2SeqLM,
            AutoModelForSequenceClassification,
            AutoTokenizer,
        )
    chosen = chosen_device(device)
    # GPUs compute in bfloat16, as in both papers.
    # CPUs compute in float32, which is faster.
    precision = torch.bfloat16 if is_gpu(chosen) else torch.float32
    with needed(f"the model in {folder} cannot be loaded: {{}}", OSError, ValueError):
        tokenizer = AutoTokenizer.from_pretrained(folder)  # type: ignore[no-untyped-call]
        kind: Any = (
            AutoModelForSequenceClassification
            if _is_classifier(folder)
            else AutoModelForSeq2SeqLM
        )
        model = kind.from_pretrained(folder, dtype=precision)
    return tokenizer, model.to(chosen).eval()
