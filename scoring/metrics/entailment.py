"""Whether passages entail a claim: who decides, labels that were made before, and what follows from them.

Plain Python: labels live in files here; a site keeps them where it keeps everything else.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

from scoring.metrics.base import Requirement, looked_for
from scoring.metrics.local_models import AUTO, chosen_device, is_gpu
from tasks.types.base import Options
from tasks.types.digests import salted_digest
from tasks.types.files import open_input
from tasks.types.positional_citations import options as declared
from tasks.types.positional_citations.parsing import LENGTH, file_digest, folder_digest
from tasks.types.positional_citations.questions import Passage
from tasks.types.problems import Problem, Unavailable, needed, refuse
from tasks.types.text import json_kind, json_lines


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis, word for word as a model is given them."""

    premise: str
    hypothesis: str

    @property
    def key(self) -> tuple[str, str]:
        """By what labels are kept: the SHA-256 of premise and hypothesis."""
        return sha256(self.premise), sha256(self.hypothesis)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def passage_text(passage: Passage) -> str:
    return f"Title: {passage.title}\n{passage.text}" if passage.title else passage.text


@dataclass(frozen=True)
class Case:
    """A claim and the passages that its marks stand for, in order, each as often as it is marked."""

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
        """Each distinct passage with the place of its first mark; all marks of a passage are judged alike."""
        return {
            passage: self.passages.index(passage)
            for passage in dict.fromkeys(self.passages)
        }

    def alone(self, passage: str) -> Pair:
        return Pair(passage, self.hypothesis)

    def others(self, passage: str) -> Pair:
        """The passages of all marks but the first of this passage."""
        first = self.first_places[passage]
        return Pair(
            "\n".join((*self.passages[:first], *self.passages[first + 1 :])),
            self.hypothesis,
        )


class Judge(Protocol):
    """Decides pairs. ``name`` is what signatures call it: two of one name never disagree."""

    @property
    def name(self) -> str: ...

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        """An answer for each pair, None where there is none. Raises Unavailable."""


class Nobody:
    """Leaves everything open."""

    name = "none"

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        return [None] * len(pairs)


class WordOverlap:
    """Entailed where three fifths of the hypothesis's distinct words are the premise's. For tests alone."""

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
    """Another's answers, which it keeps."""

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
    """``entailed`` and the credit of each mark, None where it is pending. ``pending`` are the pairs that may
    still have to be asked, ``next`` those of them that have to be in any case. Of several marks ``alone``
    says whether each one's passage is enough by itself and ``others`` whether the others are without it; None
    where that is pending or was not asked.
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
    """A verdict for each case. Nothing is asked that cannot matter, and nothing twice. After Gao et al. 2023,
    Enabling Large Language Models to Generate Text with Citations (EMNLP), section 4: a mark earns its credit
    if all passages together entail the claim and it is enough by itself or needed. A judge that leaves
    something open only looks it up, so that asking costs nothing.
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
    return [_verdict(case, answers) for case in cases]


def _verdict(case: Case, answers: Mapping[Pair, bool | None]) -> Verdict:
    entailed = answers[case.joint]
    count = len(case.passages)
    if entailed is False or (entailed and not case.has_several):
        return Verdict(entailed, (entailed,) * count)
    if not case.has_several:
        return Verdict(None, (None,), (case.joint,), (case.joint,))
    views = {passage: _View(case, passage, answers) for passage in case.first_places}
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


class _View:
    """What is known of the credit that one passage's marks earn, given that all passages entail the claim.
    ``asked`` are the pairs that it may rest on, ``waiting`` the one without which nothing can be said.
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
#: Digest of the premise, in either form, and SHA-256 of the hypothesis.
Key = tuple[str, str]
#: What a site says in files of what it keeps.
KEPT = "kept"
#: Of the digest of a run's labels, as signatures have it.
DIGEST_LENGTH = 12
_DIGESTS = {
    "premise_sha256": re.compile("[0-9a-f]{64}"),
    "premise_sha1": re.compile("[0-9a-f]{40}"),
}


class EntailmentLabels:
    """A model's labels. ``name`` has the digest of their file besides, unless a site keeps them: another file
    may decide the same pairs otherwise, whatever weights its lines name.
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
            for place in (place for place, label in enumerate(labels) if label is None):
                older = hashlib.sha1(
                    pairs[place].premise.encode(), usedforsecurity=False
                ).hexdigest()
                labels[place] = self._entailed.get((older, pairs[place].key[1]))
        return labels


def stored_labels(path: Path) -> EntailmentLabels:
    """Raises Unavailable where there is no such file, InputRefused with every line that is no label."""
    with needed(f"there is no file of labels {path}", OSError):
        return _read(path, file_digest(path))


def labels_digest(labels: Mapping[Key, bool], nonce: str = "") -> str:
    """Return a short digest of these labels alone, whatever else their file holds; “none” without labels.

    Some hypotheses are claims of the gold, which the plain digest lets a reader guess. The nonce of the gold
    makes it an HMAC.
    """
    lines = [
        f"{premise} {hypothesis} {entailed:d}\n"
        for (premise, hypothesis), entailed in sorted(labels.items())
    ]
    if not lines:
        return "none"
    digest = sha256("".join(lines))
    return (salted_digest(digest, nonce) if nonce else digest)[:DIGEST_LENGTH]


def label_line(pair: Pair, *, entailed: bool, model: str) -> dict[str, str | int]:
    """A label as its file has it."""
    return {
        "premise_sha256": sha256(pair.premise),
        "hypothesis": pair.hypothesis,
        "entailed": int(entailed),
        "model": model,
    }


@dataclass(frozen=True)
class LabelFile:
    """What a file decides, and where it says so. ``model`` is empty where it names none. ``is_kept`` of a
    file of labels that a site keeps, where no two of one model contradict each other.
    """

    model: str
    entailed: dict[Key, bool] = field(default_factory=dict)
    places: dict[Key, tuple[str, int]] = field(default_factory=dict)
    is_kept: bool = False


def read_entailment_labels(path: Path, *, shown: str | None = None) -> LabelFile:
    """Labels that were made before, one JSON object a line.

        {"premise_sha256": "9f86…", "hypothesis": "It rains", "entailed": 1, "model": "true@9d3f"}

    `premise` may stand for its digest, `hypothesis_sha256` for the hypothesis. What evaluation logs say is
    read as well: `claim` for the hypothesis, `result` for the label and the premise's SHA-1. A line with
    nothing but `model` names the model of those that name none. ``shown`` is what problems call the file.
    Raises InputRefused with every line that is no label, or contradicts one before it.
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
            faults = [*_faults(record)]
            if not faults:
                models.setdefault(
                    str(record.get("model") or default), (file.shown, line)
                )
                premise = next((record[key] for key in _DIGESTS if key in record), None)
                hypothesis, value = _hypothesis(record), bool(_value(record))
                key = (
                    premise or sha256(record["premise"]),
                    record["hypothesis_sha256"]
                    if hypothesis is None
                    else sha256(hypothesis),
                )
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
def _read(path: Path, digest: str) -> EntailmentLabels:
    labels = read_entailment_labels(path)
    name = (
        labels.model
        if labels.is_kept
        else f"{labels.model}+labels-{digest}".lstrip("+")
    )
    return EntailmentLabels(labels.entailed, labels.model, name)


def _faults(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    digests = [key for key in _DIGESTS if key in record]
    for key in digests:
        if not isinstance(record[key], str) or not _DIGESTS[key].fullmatch(record[key]):
            yield f"“{key}” is no such digest", "lower-case hexadecimal digits"
    if not digests and not isinstance(record.get("premise"), str):
        yield "the premise is missing", EXAMPLE
    if not isinstance(_hypothesis(record), str):
        digest = record.get("hypothesis_sha256")
        if digest is None:
            yield "the hypothesis is missing", EXAMPLE
        elif not isinstance(digest, str) or not _DIGESTS["premise_sha256"].fullmatch(
            digest
        ):
            yield (
                "“hypothesis_sha256” is no such digest",
                "lower-case hexadecimal digits",
            )
    value = _value(record)
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


def _hypothesis(record: Mapping[str, Any]) -> Any:
    return record.get("hypothesis", record.get("claim"))


def _value(record: Mapping[str, Any]) -> Any:
    return record.get("entailed", record.get("result"))


def stored_model(options: Mapping[str, str]) -> str | None:
    """The model whose kept labels the options ask for; None where they ask for none."""
    source, _, model = options.get(declared.ENTAILMENT.name, "").partition(":")
    return model if source == declared.STORE and model else None


def with_labels(options: Mapping[str, str], path: Path | str) -> dict[str, str]:
    """The options with a file in place of the store, as the offline scorer takes them."""
    labels = (
        {declared.ENTAILMENT.name: f"{declared.LABELS}:{path}"}
        if stored_model(options)
        else {}
    )
    return {**options, **labels}


#: The model of both papers; 11 billion parameters.
TRUE = "google/t5_xxl_true_nli_mixture"
ENTAILED = "1"
BATCH = 8


def judge_of(options: Options) -> Judge:
    """Whom the options name. Raises OptionRefused, Unavailable where it is not there, InputRefused where it
    is broken.
    """
    source, name = declared.entailment_source(options)
    if source == declared.LABELS:
        return stored_labels(Path(name))
    if source == declared.MODEL:
        return model_judge(name)
    if source == declared.STORE:
        raise Unavailable(
            f"the labels of {name} are kept by a site: have its organisers export them, "
            "and give the file as entailment=labels:PATH"
        )
    return WordOverlap() if source == declared.WORD_OVERLAP else Nobody()


def deciders(options: Options) -> tuple[Requirement, ...]:
    """What has to be on this machine for anybody to decide; what a site keeps is not looked at here."""
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
    """A model that is loaded with the first question and remembers its answers. It is asked as TRUE is
    (Honovich et al. 2022, TRUE: Re-evaluating Factual Consistency Evaluation, NAACL).
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
        """Batch by batch the answers that are not known yet. Batches are of like lengths and always the same
        for the same pairs, since padding changes the last digits of what a model computes.
        """
        new = sorted(
            {*pairs} - self._known.keys(),
            key=lambda pair: (len(question(pair)), question(pair)),
        )
        for start in range(0, len(new), self._batch):
            batch = new[start : start + self._batch]
            answers = _answers(
                self.folder, self._device, [question(pair) for pair in batch]
            )
            yield [
                (pair, answer == ENTAILED)
                for pair, answer in zip(batch, answers, strict=True)
            ]


def question(pair: Pair) -> str:
    """A pair as the model reads it."""
    return f"premise: {pair.premise} hypothesis: {pair.hypothesis}"


@lru_cache(maxsize=2)
def model_judge(model: str) -> ModelJudge:
    return ModelJudge(model)


def model_folder(model: str) -> Path:
    """Where the files of a model lie: a folder, or where a download has put it. Nothing is downloaded here.
    Raises Unavailable.
    """
    folder = Path(model)
    if folder.is_dir():
        return folder
    with needed(
        f"transformers is not installed, which {model} needs: `make models` installs it"
    ):
        from huggingface_hub import snapshot_download
    words = (
        f"the model {model} is not on this machine: `huggingface-cli download {model}` fetches it; "
        "or decide on another machine: "
    )
    with needed(
        f"{words}`python -m scoring pairs`, `python -m scoring decide`",
        OSError,
        ValueError,
    ):
        return Path(snapshot_download(model, local_files_only=True))


def model_name(model: str, folder: Path) -> str:
    """What signatures call the model: its name and its revision, or the digest of its files. A downloaded
    model lies in a folder named for its revision. A folder somewhere else is named by its last part.
    """
    revision = (
        folder.name[:LENGTH]
        if folder.parent.name == "snapshots"
        else folder_digest(folder)
    )
    return f"{folder.name if folder == Path(model) else model}@{revision}"


def _answers(folder: Path, device: str, questions: Sequence[str]) -> list[str]:
    """What the model says to each, without truncation: T5 has no longest input."""
    import torch

    tokenizer, model = _loaded(folder, device)
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
def _loaded(folder: Path, device: str) -> tuple[Any, Any]:
    with needed(
        "transformers and torch are not installed: `make models` installs them"
    ):
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    chosen = chosen_device(device)
    # As both papers do on a GPU; a CPU is slower with half the digits than with all.
    precision = torch.bfloat16 if is_gpu(chosen) else torch.float32
    with needed(f"the model in {folder} cannot be loaded: {{}}", OSError, ValueError):
        tokenizer = AutoTokenizer.from_pretrained(folder)  # type: ignore[no-untyped-call]
        model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=precision)
    return tokenizer, model.to(chosen).eval()
