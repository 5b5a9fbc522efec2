"""The tokenizers that a declared task of the form text can select. sacreBLEU uses the
same names.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Tokenizer(NamedTuple):
    """A tokenizer class with the module below `sacrebleu.tokenizers`, the class name,
    and the packages that the tokenizer needs.
    """

    module: str
    kind: str
    packages: str


TOKENIZERS: Mapping[str, Tokenizer] = {
    "zh": Tokenizer("tokenizer_zh", "TokenizerZh", "sacrebleu"),
    "char": Tokenizer("tokenizer_char", "TokenizerChar", "sacrebleu"),
    "intl": Tokenizer("tokenizer_intl", "TokenizerV14International", "sacrebleu"),
    "ja-mecab": Tokenizer("tokenizer_ja_mecab", "TokenizerJaMecab", "sacrebleu[ja]"),
    "ko-mecab": Tokenizer("tokenizer_ko_mecab", "TokenizerKoMecab", "sacrebleu[ko]"),
}
