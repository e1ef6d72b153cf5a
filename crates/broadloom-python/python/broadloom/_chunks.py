"""Chunks of arrays, memory maps and lists, one after the other."""

import numpy as np

from ._errors import ArgumentError, DTypeError, ShapeError


def run(chunks, out, arrays):
    """Pass all rows as often as the kernel needs them, and join the results."""
    streamed = {}
    for name in chunks.streamed:
        if name not in arrays:
            raise ArgumentError(f"`{name}` is not given: it has rows, so pass an array, or a list of chunks")
        streamed[name] = arrays.pop(name)
    if chunks.passes > 1:
        for name, rows in streamed.items():
            if iter(rows) is rows:
                raise ArgumentError(
                    f"the rows of `{name}` are needed {chunks.passes} times, and an iterator gives them once: "
                    "pass an array, or a list of chunks"
                )
    size = -(-chunks.size // chunks.multiple) * chunks.multiple
    out = _by_name(chunks, out)
    running = chunks.start(**arrays)
    pieces, filled = {}, {}
    for _ in range(chunks.passes):
        for rows in _together(streamed, size):
            for name, piece in running.push(**rows).items():
                if name in out:
                    first = filled.get(name, 0)
                    filled[name] = first + len(piece)
                    if filled[name] > len(out[name]):
                        raise ShapeError(f"`out` has {len(out[name])} rows for `{name}`, which has more")
                    if out[name].shape[1:] != piece.shape[1:]:
                        given, rows = out[name].shape[1:], piece.shape[1:]
                        raise ShapeError(f"`out` has rows of shape {given} for `{name}`, whose rows have the shape {rows}")
                    np.copyto(out[name][first : filled[name]], piece, casting="no")
                else:
                    pieces.setdefault(name, []).append(piece)
        running.end_pass()
    results = {name: _joined(piece) for name, piece in pieces.items()}
    for name, total in running.finish().items():
        if name in out:
            if out[name].shape != total.shape:
                raise ShapeError(f"`out` has the shape {out[name].shape} for `{name}`, which has {total.shape}")
            np.copyto(out[name], total, casting="no")
        else:
            results[name] = total
    for name, rows in filled.items():
        if rows != len(out[name]):
            raise ShapeError(f"`out` has {len(out[name])} rows for `{name}`, which has {rows}")
    return chunks._results(results | out)


def _cut(rows, size):
    """Chunks of ``size`` rows of an array, or of pieces of any number of rows; only the last one may have fewer."""
    if hasattr(rows, "shape"):
        yield from (rows[start : start + size] for start in range(0, max(len(rows), 1), size))
        return
    pieces, count = [], 0
    for piece in rows:
        while count + len(piece) > size:
            pieces.append(piece[: size - count])
            piece = piece[size - count :]
            yield _joined(pieces)
            pieces, count = [], 0
        pieces.append(piece)
        count += len(piece)
    if pieces:
        yield _joined(pieces)


def _joined(pieces):
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _together(streamed, size):
    names, ended = list(streamed), object()
    parts = [_cut(rows, size) for rows in streamed.values()]
    while True:
        found = [next(part, ended) for part in parts]
        missing = [name for name, chunk in zip(names, found) if chunk is ended]
        if len(missing) == len(names):
            return
        if missing:
            raise ArgumentError(f"`{missing[0]}` has fewer chunks than the others")
        yield dict(zip(names, found))


def _by_name(chunks, out):
    """Arrays for results, by the name of the output: one array for one result, or a dict by name."""
    if out is None:
        return {}
    names = chunks._outputs
    if not isinstance(out, dict):
        if len(names) != 1:
            raise ArgumentError(f"there are {len(names)} results: pass `out` as a dict by name, {', '.join(names)}")
        out = {names[0]: out}
    for name, array in out.items():
        if name not in names:
            raise ArgumentError(f"there is no result `{name}`; the results are {', '.join(names)}")
        if not isinstance(array, np.ndarray):
            raise DTypeError(f"`out` takes NumPy arrays, not {type(array).__name__}")
    return out
