"""The commands about taggers: `python -m scoring train-tagger` and `tagger-overlap`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tasks.types import OptionRefused


def add_commands(commands: Any) -> None:
    training = commands.add_parser(
        "train-tagger", help="train a tagger of sentences from labelled ones", allow_abbrev=False
    )
    training.add_argument("labelled", type=Path, metavar="LABELLED", help="JSON lines with text and label")
    training.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    training.add_argument(
        "--test", type=Path, metavar="LABELLED", help="what it is tested on; else a tenth is held out"
    )
    training.add_argument("--strength", type=float, default=5.0, metavar="C", help="the less, the smoother")
    training.add_argument("--least", type=int, default=2, metavar="N", help="terms in fewer sentences go")
    training.add_argument("--seed", type=int, default=0, metavar="S", help="what is held out")
    training.add_argument("--json", action="store_true", help="print the manifest")
    training.set_defaults(command=train_tagger)
    overlap = commands.add_parser(
        "tagger-overlap", help="look for a tagger's training data in gold texts", allow_abbrev=False
    )
    overlap.add_argument("labelled", type=Path, metavar="LABELLED", help="JSON lines with text and label")
    overlap.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)
    overlap.add_argument("--words", type=int, default=8, metavar="N", help="that a shared run has; 8")
    overlap.add_argument("--json", action="store_true")
    overlap.set_defaults(command=tagger_overlap)


def train_tagger(given: argparse.Namespace) -> int:
    """What is kept was trained on all of LABELLED; where a tenth is held out, the figures are of a tagger
    that was trained on the rest.
    """
    from scoring.metrics.discourse.tagger import MANIFEST
    from scoring.tools.training.sentence_tagger import (
        Settings,
        evaluated,
        held_out,
        manifest,
        read_labelled,
        train,
    )

    if given.strength <= 0 or given.least < 1:
        raise OptionRefused(f"--strength {given.strength} --least {given.least}: expected more than 0")
    settings = Settings(strength=given.strength, least=given.least)
    sentences = read_labelled(given.labelled)
    tagger = train(sentences, settings)
    if given.test:
        evaluation = {
            "on": given.test.name,
            **evaluated(tagger, sentences, read_labelled(given.test)),
        }
    else:
        rest, tested = held_out(sentences, given.seed)
        evaluation = {
            "on": f"a tenth held out, seed {given.seed}",
            **evaluated(train(rest, settings), rest, tested),
        }
    tagger.save(given.out, manifest(sentences, settings, given.labelled, evaluation))
    if given.json:
        print((given.out / MANIFEST).read_text(), end="")
        return 0
    print(f"{given.out}: {len(sentences)} sentences, labels {', '.join(tagger.labels)}")
    print(f"sha256 {tagger.digest}")
    for name in ("test", "test_without_training_texts"):
        print(f"{name:<28} {json.dumps(_short(evaluation[name]))}")
    return 0


def tagger_overlap(given: argparse.Namespace) -> int:
    from scoring.tools.training.overlap import overlaps
    from scoring.tools.training.sentence_tagger import read_labelled
    from tasks.types.citation_text.instances import read_instances
    from tasks.types.files import open_inputs

    if given.words < 1:
        raise OptionRefused(f"--words {given.words}: expected 1 or more")
    sentences = [sentence.text for sentence in read_labelled(given.labelled)]
    instances = read_instances(open_inputs(given.gold), with_targets=True)
    found = overlaps(sentences, instances, length=given.words)
    if given.json:
        print(json.dumps({"words": given.words, "data_sets": [asdict(own) for own in found]}))
        return 0
    for own in found:
        print(
            f"{own.dataset}: {own.texts_sharing} of {own.texts} texts share {given.words} words in a row with"
            f" a training sentence, {own.texts_holding} hold one as a whole; that is {own.sentences_shared}"
            f" and {own.sentences_held} of {own.sentences} sentences of so many words"
        )
    return 0


def _short(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: figures[name] for name in ("sentences", "accuracy", "macro_f1")}
