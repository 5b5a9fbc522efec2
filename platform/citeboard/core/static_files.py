"""Scripts and styles under names with their hashes, gathered for the site and compressed once."""

from functools import partial
from typing import Any

import brotli
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class GatheredFiles(CompressedManifestStaticFilesStorage):
    def create_compressor(self, **options: Any) -> Compressor:
        compressor = super().create_compressor(**options)
        # A first start waits for it: brotli's last two steps take eight times as long for a tenth less.
        compressor.compress_brotli = partial(brotli.compress, quality=9)
        return compressor
