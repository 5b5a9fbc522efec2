"""The pilot of CL-Summ as a season file over the published corpus: twelve topics, two tasks."""

import json

PILOT = (
    "C90-2039", "C94-2154", "E03-1020", "H05-1115", "H89-2014",
    "J00-3003", "J98-2005", "N01-1011", "P98-1081", "X96-1048",
)  # fmt: skip
CLEANED = ("P06-2124", "N06-2049")
PATHS = [
    *(f"pilot/{topic}_TRAIN" for topic in PILOT),
    *(f"cleaned/{topic}" for topic in CLEANED),
]


def season_text() -> str:
    """The season with both tasks, each under both rule sets."""
    tasks = [
        f"""
[[tasks]]
slug = "{slug}"
title = "Task {slug.upper()}"
type = "clsumm-{slug}"
rules = ["official-2017", "corrected"]

[[tasks.gold]]
paths = {json.dumps(PATHS)}

[[tasks.phases]]
slug = "pilot"
title = "Pilot"
opens = 2014-01-01T00:00:00Z
closes = 2090-01-01T00:00:00Z
"""
        for slug in ("1a", "1b")
    ]
    return (
        '[season]\nslug = "clsumm-pilot"\ntitle = "CL-Summ pilot"\npublic = true\n'
        + "".join(tasks)
    )
