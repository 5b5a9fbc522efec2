"""The pilot's systems to the letter: what differs from the plain names, by hand and on the pilot's topics."""

from pathlib import Path

import numpy as np
import pytest

from scoring.tools.baselines import baselines
from scoring.tools.baselines.clsumm_literal import of_long_sentences, summary_by_weights
from scoring.tools.baselines.clsumm_pilot import Scored
from scoring.tools.baselines.clsumm_spans import (
    above,
    paper_alone,
    tfidf_top,
    with_citances,
    with_citing_papers,
)
from tasks.types.clsumm.citances import CitanceName
from tasks.types.clsumm.documents import Sentence
from tasks.types.clsumm.inputs import InputCitance, InputTopic
from tasks.types.files import open_inputs

BELLS = "bells ring"
LONG = "bells ring in the towers of the town on every day of the year"
OTHER = "nobody has ever counted how many ships pass the harbour at night"


def topic(*sentences: str, citance: str = BELLS) -> InputTopic:
    name = CitanceName(reference="P01-0001", citing="P02-0002", marker="1", number="1")
    return InputTopic(
        name="P01-0001",
        sentences=tuple(Sentence(str(sid), text, "Main") for sid, text in enumerate(sentences)),
        citances=(InputCitance(name, citance, ("1",)),),
        papers={},
    )


def test_short_sentences_are_passed_over_however_alike_they_are():
    own = topic(BELLS, LONG, OTHER)
    assert tfidf_top(1)(own) == [[0]]
    assert of_long_sentences(with_citances)(own) == [[1, 2]]
    assert of_long_sentences(with_citing_papers, context=2)(topic(BELLS, "short")) == [[]]


def test_frequencies_are_those_of_the_paper_alone():
    """`bells` stands in one of two sentences, but in two of three texts with the citance: its IDF falls from
    ln 2 to ln 1.5, as does that of no other word of the sentence, and so does the cosine.
    """
    own = topic("bells alloy", "ships", citance="bells bells gulls")
    found = {}
    for counted in (paper_alone, with_citances):
        found[counted] = [
            place for place in (0.1, 0.5, 0.6, 0.7, 0.75) if above(place, counted)(own) == [[0]]
        ]
    two, most = np.log(1.5), np.log(3)
    with_citance = 2 * two * two / (np.hypot(2 * two, most) * np.hypot(two, most))
    assert found[paper_alone] == [0.1, 0.5, 0.6, 0.7]
    assert (
        found[with_citances] == [place for place in (0.1, 0.5, 0.6, 0.7, 0.75) if place < with_citance] != []
    )


def test_a_summary_takes_the_sentences_that_weigh_most():
    """Of eleven different words each weighs ln 3; what repeats another sentence's words weighs less."""
    words = " ".join(f"word{letter}" * 2 for letter in "abcdefghijk")
    fewer = "the same words stand here and stand there as well, thrice"
    own = topic(fewer, words, fewer)
    assert summary_by_weights(own) == [fewer, words, fewer]
    long = " ".join([words] * 12)
    assert summary_by_weights(topic(fewer, long, f"{long} more")) == [fewer, f"{long} more"]


def test_each_system_stands_beside_its_other_reading():
    names = {name for name in baselines() if name.endswith("-literal")}
    assert len(names) == 3 + 7 + 1
    assert {name.removesuffix("-literal") for name in names} <= set(baselines())


@pytest.fixture(scope="module")
def pilot(shared: Path) -> Scored:
    return Scored(open_inputs([shared / "scisumm" / "pilot"]), "annv2")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (of_long_sentences(with_citances), (0.211, 0.437, 0.253)),
        (of_long_sentences(with_citing_papers), (0.217, 0.438, 0.256)),
        (of_long_sentences(with_citing_papers, context=20), (0.161, 0.322, 0.187)),
        (above(0.1, paper_alone), (0.088, 0.704, 0.143)),
    ],
)
def test_the_literal_readings_keep_their_numbers(pilot, choose, expected):
    """The first as in an experiment by another program. Table 6 prints an F1 of .211 and .217 for two."""
    metrics = pilot.spans(choose).metrics
    found = [metrics[f"rouge_l_{part}"].value for part in ("precision", "recall", "f1")]
    assert found == pytest.approx(expected, abs=6e-4)
