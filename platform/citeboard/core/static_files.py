"""Static files of the site with hashes in their names, compressed once by
`collectstatic`.
"""

from functools import partial
from typing import Any

import brotli
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class CompressedStaticFilesStorage(CompressedManifestStaticFilesStorage):
    def create_compressor(self, **options: Any) -> Compressor:
        compressor = super().create_compressor(**options)
        # Above level 9, Brotli takes eight times as long to make files a tenth smaller.
        # The first start of the site waits until all static files are compressed.
        compressor.compress_brotli = partial(brotli.compress, quality=9)
        return compressor
