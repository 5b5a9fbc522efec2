"""Write platform/citeboard/teams/countries.txt: the codes of ISO 3166-1 with the names of Unicode's CLDR.

Needs Babel, which the site does not, and whose names it takes; the argument is `iso3166.tab` of the time zone
database. A code that has gone needs a migration of the people who have it.
"""

import sys
from pathlib import Path

from babel import Locale

TABLE = Path(__file__).resolve().parents[1] / "platform/citeboard/teams/countries.txt"
#: Those of the site, in the order of the columns.
LANGUAGES = ("en", "de")


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    codes = sorted(line.partition("\t")[0] for line in lines if not line.startswith("#"))
    names = [Locale(language).territories for language in LANGUAGES]
    rows = ["\t".join((code, *(named[code] for named in names))) for code in codes]
    head = (
        "# Names of CLDR, © Unicode, Inc., under the Unicode License v3, by scripts/write_countries.py.",
        "\t".join(("code", *LANGUAGES)),
    )
    TABLE.write_text("\n".join((*head, *rows, "")), encoding="utf-8")


if __name__ == "__main__":
    main()
