"""Static files of the site with hashes in their names, compressed once by
`collectstatic`.
"""

from functools import partial
from typing import Any

import brotli
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class GatheredFiles(CompressedManifestStaticFilesStorage):
    def create_compressor(self, **options: Any) -> Compressor:
        compressor = super().create_compressor(**options)
        # Brotli's two highest levels take eight times as long as level 9 and make the
        # files a tenth smaller.
        # Speed matters, because the first start of the site waits until all static
        # files are compressed.
        compressor.compress_brotli = partial(brotli.compress, quality=9)
        return compressor
