"""Write platform/citeboard/core/lookalikes.txt from Unicode's `confusables.txt`, whose path is the argument.

Kept are the characters that look like some of Latin, Greek or Cyrillic. Rows keep skeletons, so that another
table needs a migration which computes them anew.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "platform/citeboard/core/lookalikes.txt"
#: Greek, Cyrillic, Latin and the marks above and below them end before the Armenian letters.
END = 0x530


def main() -> None:
    text = Path(sys.argv[1]).read_text(encoding="utf-8-sig")
    found = re.search(r"^# Version: (\S+)", text, re.MULTILINE)
    assert found, "confusables.txt says its version"
    looks: defaultdict[str, str] = defaultdict(str)
    for line in text.splitlines():
        fields = line.partition("#")[0].split(";")
        if len(fields) > 1:
            character, prototype = (
                "".join(chr(int(number, 16)) for number in part.split())
                for part in fields[:2]
            )
            if all(ord(each) < END for each in prototype) and not character.isspace():
                looks[prototype] += character
    lines = [
        f"{prototype}\t{characters}" for prototype, characters in sorted(looks.items())
    ]
    head = (
        f"# From confusables.txt of Unicode {found[1]}, © Unicode, Inc., under the Unicode License v3:",
        "# a prototype, a tab, the characters that look like it. Written by scripts/write_lookalikes.py.",
    )
    TABLE.write_text("\n".join((*head, *lines, "")), encoding="utf-8")


if __name__ == "__main__":
    main()
