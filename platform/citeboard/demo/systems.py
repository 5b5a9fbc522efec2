"""Descriptions of the systems with which the demo's teams take part. The script
`scripts/write_demo.py` generated the runs of these systems.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from random import Random

#: The demo's practice phases use the split DEMO_SPLIT_NAME, and other phases use other topics.
DEMO_SPLIT_NAME = "demo"


def create_seeded_random(*names: object) -> Random:
    return Random(" ".join(map(str, names)))  # noqa: S311  (nothing here is a secret)


@dataclass(frozen=True)
class DemoSystem:
    team: str
    name: str
    description: str
    quality: float
    taste: str = ""
    swing: float = 0.0

    @property
    def slug(self) -> str:
        return re.sub("[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def create_answer_random(self, *names: object) -> Random:
        """Return a random generator for the answers of this demo system.

        Demo systems with the same ``taste`` get the same random numbers.
        """
        return create_seeded_random(self.taste or self.name, *names)

    def quality_on_paper(self, paper: str) -> float:
        """Return the probability that this demo system gives a correct answer for a
        paper.
        """
        return self.quality + self.swing * create_seeded_random(
            self.name, "on", paper
        ).choice((-1, 1))

    @property
    def simulated_costs(self) -> dict[str, float]:
        seconds = round(3 * 1000**self.quality)
        return {
            "wall_seconds": seconds,
            "cpu_seconds": 2 * seconds,
            "memory_mib": round(200 + 9 * seconds),
        }

    @property
    def card(self) -> dict[str, str]:
        if self.quality > 0.75:
            return {"model": "closed", "knowledge_cutoff": "2025-01"}
        if self.quality > 0.4:
            return {"model": "open", "knowledge_cutoff": "2023-09"}
        return {"model": "none", "knowledge_cutoff": "none"}


SYSTEMS_BY_TASK = {
    task: tuple(DemoSystem(**facts) for facts in systems)
    for of_them, systems in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    )["systems"].items()
    for task in (("1a", "1b") if of_them == "spans" else (of_them,))
}
#: The runs of FIELD_TASK_SYSTEMS in the season with declared tasks are stored as files.
FIELD_TASK_SYSTEMS = (
    DemoSystem("Egret", "coinflip", "Answers drawn by lot.", 0.2),
    DemoSystem(
        "Fulmar", "cue-words", "Cue words, and else what is most frequent.", 0.55
    ),
    DemoSystem(
        "Curlew",
        "few-shot-3",
        "A general model that is asked, with three examples.",
        0.74,
    ),
    DemoSystem(
        "Avocet",
        "SciEnc-tuned",
        "An encoder that was tuned on other data of the kind.",
        0.84,
    ),
)
REPORT_WRITING_SYSTEMS = (
    DemoSystem(
        "Egret", "cut-and-paste", "Sentences of the first documents found.", 0.3
    ),
    DemoSystem(
        "Dunlin", "oneshot-8b", "A small model, one prompt, no second look.", 0.45
    ),
    DemoSystem("Fulmar", "plain-rag", "Search, then write; nothing is checked.", 0.55),
    DemoSystem("Curlew", "outline-first", "Plans questions, then answers each.", 0.7),
    DemoSystem("Bittern", "NuggetHunter", "Collects facts before it writes.", 0.85),
    DemoSystem(
        "Avocet", "write-verify", "Drops sentences that no document supports.", 0.75
    ),
)
#: Two of the demo's REPORT_JUDGING_SYSTEMS have judged teams' reports, and the third only counts words.
REPORT_JUDGING_SYSTEMS = (
    DemoSystem("Curlew", "word-counter", "Counts words and reads none.", 0.2),
    DemoSystem("Bittern", "magpie-judge", "Takes every fact that glitters.", 0.7),
    DemoSystem("Avocet", "heron-judge", "Stands still until a fact moves.", 0.9),
)
#: A sample contains SAMPLED_UNITS_PER_RUN instances of each run, and 60 judgements in total.
SAMPLED_UNITS_PER_RUN = 21
ESTIMATE_SAMPLE_SEED = "demo-178"
#: LEAD_BASELINE_SYSTEM is the baseline run in the season file, which has no team.
#: New users of the demo can submit the file of the baseline run as a trial.
LEAD_BASELINE_SYSTEM = DemoSystem(
    "", "lead", "The easiest answer that can be given.", 0.0
)


def find_task_folder(name: str, split: str) -> str:
    return name if split == DEMO_SPLIT_NAME else f"{name}-{split}"
