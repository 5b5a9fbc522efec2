"""Pages as a person reads them."""

import re
from html import unescape


def text_of(response) -> str:
    """What a page says: without its tags, with single spaces."""
    html = re.sub(
        r"<(script|style)\b.*?</\1>", " ", response.content.decode(), flags=re.DOTALL
    )
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html))).strip()
