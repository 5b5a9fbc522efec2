"""Write platform/citeboard/teams/countries.txt: the codes of ISO 3166-1 with the names of Unicode's CLDR.

Its arguments are `iso3166.tab` of the time zone database and the folder `main` of `cldr-localenames-full`.
A code that has gone needs a migration of the people who have it.
"""

import json
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "platform/citeboard/teams/countries.txt"
#: Those of the site, in the order of the columns.
LANGUAGES = ("en", "de")


def names(path: Path, language: str) -> dict[str, str]:
    content = json.loads(path.read_text(encoding="utf-8"))["main"][language]
    found: dict[str, str] = content["localeDisplayNames"]["territories"]
    return found


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    codes = sorted(
        line.partition("\t")[0] for line in lines if not line.startswith("#")
    )
    named = [
        names(Path(sys.argv[2], language, "territories.json"), language)
        for language in LANGUAGES
    ]
    rows = [
        "\t".join((code, *(territories[code] for territories in named)))
        for code in codes
    ]
    head = (
        "# Names of CLDR, © Unicode, Inc., under the Unicode License v3, by scripts/write_countries.py.",
        "\t".join(("code", *LANGUAGES)),
    )
    TABLE.write_text("\n".join((*head, *rows, "")), encoding="utf-8")


if __name__ == "__main__":
    main()
