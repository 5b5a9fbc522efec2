"""The pilot's systems to the letter: what differs from the plain names, by hand and on the pilot's topics."""

from dataclasses import replace

import numpy as np

from scoring.papers.clsumm_literal import (
    compute_section_shares,
    list_whole_papers,
    make_long_sentence_ranker,
    make_weighted_selector,
    summarise_by_weights,
)
from scoring.tools.baselines import baselines
from scoring.tools.baselines.clsumm import (
    list_paper_and_citances,
    list_paper_and_citing_papers,
    list_paper_sentences,
    make_similarity_ranker,
    make_threshold_selector,
)
from tasks.types.clsumm.citances import CitanceName
from tasks.types.clsumm.topics import InputCitance, InputTopic, PaperSentence

BELLS = "bells ring"
LONG = "bells ring in the towers of the town on every day of the year"
OTHER = "nobody has ever counted how many ships pass the harbour at night"


def topic(*sentences: str, citance: str = BELLS) -> InputTopic:
    name = CitanceName(reference="P01-0001", citing="P02-0002", marker="1", number="1")
    return InputTopic(
        name="P01-0001",
        sentences=tuple(
            PaperSentence(str(sid), text, "Main") for sid, text in enumerate(sentences)
        ),
        citances=(InputCitance(name, citance, ("1",)),),
    )


def of_two_papers(*sentences: str, citance: str) -> InputTopic:
    """A second paper cites with a word of its own: words of the other two then weigh more than nothing."""
    own = topic(*sentences, citance=citance)
    name = own.citances[0].name._replace(citing="P03-0003", number="2")
    further = InputCitance(name, "gulls", ("1",))
    return replace(own, citances=(*own.citances, further))


def test_short_sentences_are_passed_over_however_alike_they_are():
    own = topic(BELLS, LONG, OTHER)
    assert make_similarity_ranker(list_paper_and_citances, count=1)(own) == [[0]]
    assert make_long_sentence_ranker(list_paper_and_citances)(own) == [[1, 2]]
    assert make_long_sentence_ranker(list_paper_and_citing_papers, context=2)(
        topic(BELLS, "short")
    ) == [[]]


def test_frequencies_are_those_of_the_paper_alone():
    """`bells` stands in one of two sentences, but in two of three texts with the citance: its IDF falls from
    ln 2 to ln 1.5, as does that of no other word of the sentence, and so does the cosine.
    """
    own = topic("bells alloy", "ships", citance="bells bells gulls")
    found = {}
    for counted in (list_paper_sentences, list_paper_and_citances):
        found[counted] = [
            place
            for place in (0.1, 0.5, 0.6, 0.7, 0.75)
            if make_threshold_selector(place, counted)(own) == [[0]]
        ]
    two, most = np.log(1.5), np.log(3)
    with_citance = 2 * two * two / (np.hypot(2 * two, most) * np.hypot(two, most))
    assert found[list_paper_sentences] == [0.1, 0.5, 0.6, 0.7]
    assert (
        found[list_paper_and_citances]
        == [place for place in (0.1, 0.5, 0.6, 0.7, 0.75) if place < with_citance]
        != []
    )


def test_a_summary_takes_the_sentences_that_weigh_most():
    """Of eleven different words each weighs ln 3; what repeats another sentence's words weighs less."""
    words = " ".join(f"word{letter}" * 2 for letter in "abcdefghijk")
    fewer = "the same words stand here and stand there as well, thrice"
    own = topic(fewer, words, fewer)
    assert summarise_by_weights(own) == [fewer, words, fewer]
    long = " ".join([words] * 12)
    assert summarise_by_weights(topic(fewer, long, f"{long} more")) == [
        fewer,
        f"{long} more",
    ]


def test_each_system_stands_beside_its_other_reading():
    names = {name for name in baselines() if name.endswith("-literal")}
    assert len(names) == 4 + 7 + 2 + 1 + 3
    assert {name.removesuffix("-literal") for name in names} <= set(baselines())


def test_a_section_weighs_its_share_of_the_gold():
    """Two of three gold sentences stand in the introduction, which then outweighs a better likeness."""
    own = of_two_papers(
        "bells alloy", "bells gulls alloy", "ships", citance="bells alloy"
    )
    first, second, third = own.sentences
    own = replace(
        own, sentences=(first, replace(second, section="Introduction"), third)
    )
    name = own.citances[0].name
    cited = {own.name: {name: {"0", "1"}, name._replace(number="2"): {"1", "none"}}}
    shares = compute_section_shares([own], cited)
    assert shares == {"Main part": 1 / 3, "Introduction": 2 / 3}
    assert make_weighted_selector({}, 1)(own)[0] == [0]
    assert make_weighted_selector(shares, 2)(own)[0] == [1, 0]


def test_document_frequencies_are_those_of_whole_papers():
    """The citances of a citing paper stand for it where the paper is not at hand."""
    own = of_two_papers("bells ships", "bells gulls", "alloy", citance="ships")
    assert list_whole_papers(own) == ["bells ships bells gulls alloy", "ships", "gulls"]
    cited = replace(own, citing=())
    cited.__dict__["papers"] = {
        "P02-0002": (PaperSentence("1", "A whole paper", "Main"),)
    }
    assert list_whole_papers(cited) == [
        "bells ships bells gulls alloy",
        "A whole paper",
        "gulls",
    ]


def test_of_equal_sentences_the_one_that_stands_first_is_taken():
    own = of_two_papers("ships", "bells alloy", "bells alloy", citance="bells alloy")
    assert make_weighted_selector({}, 2)(own)[0] == [1, 2]


def test_of_equal_sentences_the_one_in_a_section_that_is_taken_already_goes_first():
    own = of_two_papers(
        "bells alloy bells",
        "ships bells alloy",
        "ships bells alloy",
        citance="bells alloy",
    )
    first, second, third = own.sentences
    own = replace(own, sentences=(first, replace(second, section="Conclusion"), third))
    assert make_weighted_selector({}, 2)(own)[0] == [0, 2]


def test_the_numbers_of_sentences_are_one_sweep():
    own = [
        baseline
        for baseline in baselines().values()
        if baseline.sweep == "TALN.UPF to the letter"
    ]
    assert sorted(baseline.at for baseline in own) == [1, 2, 3, 4, 5]
    assert {baseline.swept for baseline in own} == {"sentences"}
    assert all(baseline.learns_from_gold for baseline in own)
