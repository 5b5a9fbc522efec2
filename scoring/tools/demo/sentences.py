"""The sentences of which the invented papers are made, with slots for the phrases of a subject."""

from __future__ import annotations

from dataclasses import dataclass

#: By section the sentences of a paper. A word before a colon names a sentence that is cited.
PAPER = {
    "": """
        need: {Task} matters to {use}, and yet most of it is done with {rival}.
        method: We present {method} that learns from few examples.
        idea: It follows the idea that {idea}.
        result: On {size} {items} it reaches an F1 of {best}, against {base} for {rival}.
        error: Most of the remaining errors are made on {hard}.
    """,
    "Introduction": """
        Whoever works with {items} soon meets the question of {task}.
        rival: The usual answer is {rival}, which are quick to write and slow to repair.
        They do well on {easy} and fail without a warning elsewhere.
        aim: The aim of this paper is to make {task} good enough for {use}.
        hypothesis: We suppose that {idea}.
        If that holds, {cue} should tell most of what there is to know.
        cost: A method that has to be written anew for each source is of little help to {use}.
        The paper describes data, method and errors in this order.
    """,
    "Data": """
        source: Our {items} come from {source}.
        We drew {size} of them at random and left out duplicates.
        readers: {Readers} marked all of them independently and then met to settle what differed.
        agreement: Before they met, they agreed on nine of ten {easy} but on six of ten {hard} only.
        split: Half of the data, {half} in all, was set aside before anything was tried.
        The other half was used for training and for choosing what the method looks at.
        Everything that we marked is free for research.
        balance: About a third of the sample are {easy}, and a tenth are {hard}.
    """,
    "Method": """
        steps: The method has two steps, one that finds {cue} and one that decides by them.
        In the first step every candidate is described by {cue} alone.
        weights: The second step is {method}, whose weights are learnt from the marked half.
        We add no dictionary and no rule of our own.
        window: What stands next to a candidate is looked at as well, up to a distance of three.
        smooth: Counts of what was seen once are smoothed, since most {cue} are rare.
        Learning takes four minutes and deciding less than a second.
        threshold: Where two decisions are almost equally likely, the method leaves the case to a person.
        The threshold for that was chosen on the training half.
    """,
    "Results": """
        Table 1 has all results on the half that was set aside.
        gain: The gain over {rival} is {gap} points, and it is significant at every size of the sample.
        ablation: Without {cue} the method loses more than half of that gain.
        easy: {Easy} are nearly solved, with an F1 above 0.9.
        hard: {Hard} stay difficult, and half of all errors are made on them.
        fewer: With a quarter of the training data the F1 falls by three points only.
        transfer: On another source without new training the method still beats {rival}.
        Errors of the readers themselves explain a few of the rest.
    """,
    "Discussion": """
        why: That {idea} seems to hold beyond our data.
        limit: What we cannot tell is how the method does where {cue} are missing.
        people: Leaving the doubtful tenth to people brings the error below that of one reader.
        apply: {Use} can take the method as it is and need to mark some hundred {items} of their own.
        We have begun to do so with two partners.
    """,
    "Conclusion": """
        {Task} can be learnt from few marked examples.
        future: Next we want to turn to {hard}, for which a second look at the source is needed.
    """,
}

#: What others say of these sentences, each in a near and in a free wording; `@` is where the marker stands.
CITED = {
    "idea hypothesis": (
        "Hypothesis",
        "The idea that {idea} is due to @.",
        "It has been supposed before that there is a simpler sign to go by @.",
    ),
    "result gain": (
        "Results",
        "On {size} {items} an F1 of {best} was reached, {gap} points above {rival} @.",
        "The best figures for {task} so far, far ahead of {rival}, are those of @.",
    ),
    "weights": ("Method", "Like @, we use {method} and learn its weights.", "We took over the learner of @."),
    "steps": (
        "Method",
        "As in @, one step finds {cue} and a second one decides by them.",
        "Our system follows the division of labour of @.",
    ),
    "rival": (
        "Aim",
        "{Rival} are quick to write and slow to repair, as @ remark.",
        "That the usual way to do {task} ages badly was noted early @.",
    ),
    "aim": (
        "Aim",
        "@ set out to make {task} good enough for {use}.",
        "To be of use to others was a goal from the start @.",
    ),
    "source": (
        "Method",
        "Our data are the {items} from {source} that were collected by @.",
        "We test on the collection of @.",
    ),
    "readers agreement": (
        "Method",
        "{Readers} marked the data independently and agreed least on {hard} @.",
        "Even trained people are of two minds in the difficult cases @.",
    ),
    "ablation": (
        "Results",
        "Without {cue} more than half of the gain is lost @.",
        "Which features matter was found by leaving each of them out @.",
    ),
    "easy": ("Results", "{Easy} are nearly solved @.", "For the plain cases little is left to do @."),
    "hard error": (
        "Results",
        "Half of all errors are made on {hard} @.",
        "The cases that remain difficult are known since @.",
    ),
    "fewer": (
        "Results",
        "With a quarter of the training data the F1 falls by three points only @.",
        "How little training material is enough was measured by @.",
    ),
    "window": (
        "Method",
        "What stands next to a candidate is looked at up to a distance of three, after @.",
        "The size of the context is that of @.",
    ),
    "threshold people": (
        "Implication",
        "Where two decisions are almost equally likely, the case is left to a person @.",
        "It pays to let people see the doubtful tenth @.",
    ),
    "apply transfer": (
        "Implication",
        "{Use} can take the method as it is and mark some hundred {items} of their own @.",
        "The approach moves well to new sources @.",
    ),
    "limit": (
        "Implication",
        "How the method does where {cue} are missing is not known @.",
        "The authors themselves name the limits of the approach @.",
    ),
}  # fmt: skip

#: Around the citations of a citing paper; the slots are those of its own subject.
CITING = {
    "": "We look at {task} from the side of {use}. | Our question is what {cue} add to it.",
    "Introduction": "{Items} are read by more programs than people. | What these get wrong is found late.",
    "Approach": "We work on {source}. | {Cue} are found as usual. | All choices were made on held-out data.",
    "Conclusion": "We have added one more source to a growing list. | {Hard} are left to later work.",
}


@dataclass(frozen=True)
class Statement:
    """A sentence of a paper; ``key`` names those that others cite."""

    section: str
    key: str
    template: str


def _statements() -> tuple[Statement, ...]:
    found = []
    for section, block in PAPER.items():
        for line in filter(None, map(str.strip, block.splitlines())):
            key, colon, text = line.partition(": ")
            is_named = bool(colon) and key.isalpha() and key.islower()
            found.append(Statement(section, key if is_named else "", text if is_named else line))
    return tuple(found)


STATEMENTS = _statements()
