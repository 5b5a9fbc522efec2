"""Find texts of the gold that contain sentences on which a tagger was trained."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from scoring.tools.baselines.tfidf import split_into_ascii_words
from tasks.types.citation_text.instances import CitationTextInstance

TokenRun = tuple[str, ...]


def count_overlaps(
    sentences: Sequence[str], instances: Sequence[CitationTextInstance], *, length: int
) -> Iterator[dict[str, Any]]:
    """For each data set, yield the number of texts that share a sequence of ``length``
    words with a training sentence.

    Texts are compared in lower case, and a word consists of letters from a to z and
    digits. The result counts texts that share a sequence with a training sentence,
    texts that contain a whole training sentence, and training sentences that share a
    sequence or occur as a whole. Duplicate training sentences are counted once, and
    sentences with fewer than ``length`` words are ignored.
    """
    runs = (tuple(split_into_ascii_words(text)) for text in sentences)
    trained = list(dict.fromkeys(run for run in runs if len(run) >= length))
    having: dict[TokenRun, list[int]] = defaultdict(list)
    for number, sentence in enumerate(trained):
        for run in set(_iterate_token_runs(sentence, length)):
            having[run].append(number)
    targets: dict[str, list[str]] = defaultdict(list)
    for instance in instances:
        targets[instance.dataset].append(instance.target)
    for dataset, texts in targets.items():
        shared, whole = set[int](), set[int]()
        sharing = holding = 0
        for text in texts:
            target = tuple(split_into_ascii_words(text))
            joined = f" {' '.join(target)} "
            sharing_now = {
                number
                for run in _iterate_token_runs(target, length)
                for number in having.get(run, ())
            }
            held_now = {
                number
                for number in sharing_now
                if f" {' '.join(trained[number])} " in joined
            }
            sharing += bool(sharing_now)
            holding += bool(held_now)
            shared |= sharing_now
            whole |= held_now
        of_texts = {
            "texts": len(texts),
            "texts_sharing": sharing,
            "texts_holding": holding,
        }
        found = {"sentences_shared": len(shared), "sentences_held": len(whole)}
        yield {"dataset": dataset, **of_texts, "sentences": len(trained), **found}


def _iterate_token_runs(text: TokenRun, length: int) -> Iterator[TokenRun]:
    return (text[start : start + length] for start in range(len(text) - length + 1))
