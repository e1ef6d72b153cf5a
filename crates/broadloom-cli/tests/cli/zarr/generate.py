"""Writes stores.zip here, which has the stores v2 and v3: `python generate.py`, with zarr 3 and numpy."""
from pathlib import Path
from shutil import make_archive
from tempfile import mkdtemp

import numpy as np
import zarr
from zarr.codecs import BloscCodec, GzipCodec, TransposeCodec, ZstdCodec

FOLDER = Path(mkdtemp())
x = np.arange(7 * 5).reshape(7, 5) * 7 % 11 - 4
mask = np.arange(7) % 3 == 0

for version, name in ((2, "v2"), (3, "v3")):
    group = zarr.open_group(FOLDER / name, mode="w", zarr_format=version)
    make = lambda array, data, **options: group.create_array(array, shape=data.shape, dtype=data.dtype, **options).__setitem__(..., data)
    for dtype in ("i1", "u2", "i8", "f2", "f8"):
        make(f"plain_{dtype}", (x + 4 if dtype[0] == "u" else x).astype(dtype), chunks=(4, 3), compressors=None)
    make("bools", mask, chunks=(4,))
    make("swapped", x.astype(">i4"), chunks=(4, 3), compressors=None)
    make("fortran", x.astype("f4"), chunks=(4, 3), **({"order": "F"} if version == 2 else {"filters": [TransposeCodec(order=(1, 0))]}))
    make("scalar", np.array(2.5), chunks=())
    make("empty", np.zeros((0, 3)), chunks=(2, 2))
    make("complex", x.astype("c8"), chunks=(7, 5))
    # The last rows are not written.
    gaps = group.create_array("gaps", shape=(7, 5), dtype="f4", chunks=(3, 5), fill_value=-1.5)
    gaps[:3] = x[:3]
    if version == 3:
        for codec in (BloscCodec(shuffle="bitshuffle", typesize=4), GzipCodec(), ZstdCodec(checksum=True)):
            make(type(codec).__name__[:4].lower(), x.astype("f4"), chunks=(4, 3), compressors=[codec])
        make("sharded", x.astype("f4"), chunks=(2, 5), shards=(4, 5))
        make("inner/deep", x.astype("f4"), chunks=(7, 5))
    else:
        from numcodecs import Blosc, GZip, Zlib, Zstd
        for codec in (Blosc(cname="lz4"), GZip(), Zlib(), Zstd()):
            make(type(codec).__name__.lower(), x.astype("f4"), chunks=(4, 3), compressors=codec)
make_archive(str(Path(__file__).parent / "stores"), "zip", FOLDER)
