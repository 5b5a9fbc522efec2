"""Writes the fonts of the site, `static/fonts/`, from the packages of Fontsource. In a folder of its own:

    npm pack @fontsource-variable/source-serif-4@5.3.1 @fontsource-variable/source-sans-3@5.3.1
    for file in *.tgz; do mkdir ${file%.tgz}; tar xzf $file -C ${file%.tgz} --strip-components 1; done
    pip install fonttools==4.68.0 brotli && python .../scripts/subset_fonts.py .

Each keeps Latin-1, the punctuation of English and German, and weights from 400 to 600. As changed fonts they
may not be called Source (the licence reserves the name), so they are Citeboard Serif and Citeboard Sans.
"""

import sys
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

FONTS = Path(__file__).resolve().parent.parent / "static" / "fonts"
KEPT = {
    "serif": ("source-serif-4", "normal", (400, 600)),
    "serif-italic": ("source-serif-4", "italic", 400),
    "sans": ("source-sans-3", "normal", (400, 600)),
}
CHARACTERS = [chr(code) for code in (*range(0x20, 0x7F), *range(0xA0, 0x100))]
CHARACTERS += "\u2009\u202f\u2010\u2011–—‘’‚“”„†•…‹›€™↑↓−"
LEFT_OUT = "¤¦¨¬¯´¶¸¹º¼¾ªÐÞðþ"
FEATURES = ["kern", "mark", "ccmp", "liga", "tnum"]
NAMES = {
    1: "{family}",
    3: "{family} {style}",
    4: "{family} {style}",
    6: "{compact}-{style}",
    16: "{family}",
}


def main() -> None:
    packages, copyrights, licence = Path(sys.argv[1]), [], ""
    for name, (source, style, weights) in KEPT.items():
        folder = next(packages.glob(f"*{source}-[0-9]*/"))
        font = TTFont(folder / "files" / f"{source}-latin-wght-{style}.woff2")
        copyrights.append(font["name"].getDebugName(0))
        licence = (folder / "LICENSE").read_text().partition("\n\n")[2]
        kept = shortened(instanced(font, weights))
        rename(
            kept,
            f"Citeboard {name.partition('-')[0].title()}",
            style.title().replace("Normal", "Regular"),
        )
        kept.save(FONTS / f"{name}.woff2")
    (FONTS / "OFL.txt").write_text(
        "\n".join(dict.fromkeys(copyrights)) + "\n\n" + licence
    )


def instanced(font: TTFont, weights: object) -> TTFont:
    """Read again, since tables are changed where they were read."""
    font.flavor, stored = None, BytesIO()
    instancer.instantiateVariableFont(font, {"wght": weights}).save(stored)
    return TTFont(BytesIO(stored.getvalue()))


def shortened(font: TTFont) -> TTFont:
    options = subset.Options(
        layout_features=FEATURES, hinting=False, name_IDs=[0, 1, 2, 3, 4, 6, 13, 14, 16]
    )
    subsetter = subset.Subsetter(options)
    subsetter.populate(
        text="".join(char for char in CHARACTERS if char not in LEFT_OUT)
    )
    subsetter.subset(font)
    font.flavor = "woff2"
    return font


def rename(font: TTFont, family: str, style: str) -> None:
    for record in font["name"].names:
        if record.nameID in NAMES:
            record.string = NAMES[record.nameID].format(
                family=family, style=style, compact=family.replace(" ", "")
            )


if __name__ == "__main__":
    main()
