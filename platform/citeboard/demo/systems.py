"""The systems of the demo's teams, whose runs `scripts/write_demo.py` has drawn."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from random import Random

#: Split of the practice phase of all tasks. Evaluation and pilot have topics of their own.
SPLIT = "demo"


def chance(*names: object) -> Random:
    return Random(" ".join(map(str, names)))  # noqa: S311  (nothing here is a secret)


@dataclass(frozen=True)
class System:
    team: str
    name: str
    description: str
    quality: float

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")

    @property
    def costs(self) -> dict[str, float]:
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


#: By slug of the task the systems that teams send to it; tasks 1A and 1B share theirs.
SYSTEMS = {
    task: tuple(System(**facts) for facts in systems)
    for of_them, systems in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    )["systems"].items()
    for task in (("1a", "1b") if of_them == "spans" else (of_them,))
}
#: Systems of every task of the second season, whose runs are files.
FIELD_SYSTEMS = (
    System(
        "Avocet",
        "Tuned encoder",
        "An encoder that was tuned on other data of the kind.",
        0.82,
    ),
    System(
        "Curlew",
        "Prompted model",
        "A general model that is asked, with three examples.",
        0.76,
    ),
    System(
        "Fulmar", "Rules of thumb", "Cue words, and else what is most frequent.", 0.55
    ),
    System("Egret", "By lot", "Answers drawn by lot.", 0.2),
)
#: What teams send to the season of reports: judges, whose runs are files.
JUDGES = (
    System(
        "Avocet", "Strict grader", "Grades whether each sentence is supported.", 0.9
    ),
    System(
        "Bittern", "Lenient grader", "Gives half points and likes long reports.", 0.7
    ),
    System("Curlew", "Length counter", "Counts words and reads none.", 0.2),
)
#: By task a run of nobody: what the season file brings as a baseline, and what newcomers can send to try.
LEAD = System("", "Lead", "The easiest answer that can be given.", 0.0)


def of_split(name: str, split: str) -> str:
    return name if split == SPLIT else f"{name}-{split}"
