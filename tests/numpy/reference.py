"""Writes a large table of expressions and what NumPy makes of them: `reference.py DIRECTORY OP:ARITY..`.

`cargo test --test numpy` runs this with all elementwise ops and their numbers of operands, evaluates the same
expressions, and compares.
See `cases.py` for the format of the table, and `meaning.py` for where Broadloom differs from NumPy on purpose.
"""

import pathlib
import sys

import changes
import compositions
import contractions
import elementwise
import functions
import meaning
import notebook
import reduced
import sampled
import selected
import special
import structure
import suites
from cases import Cases


def main():
    directory = pathlib.Path(sys.argv[1])
    ops = {name: int(arity) for name, arity in (op.split(":") for op in sys.argv[2:])}
    missing = [op for op in ops if op not in meaning.ELEMENTWISE]
    if missing:
        sys.exit(f"no meaning in tests/numpy/meaning.py: {' '.join(missing)}")
    cases = Cases(directory, ops)
    elementwise.write(cases)
    reduced.write(cases)
    structure.write(cases)
    contractions.write(cases)
    functions.write(cases)
    sampled.write(cases)
    notebook.write(cases)
    compositions.write(cases)
    special.write(cases)
    suites.write(cases)
    changes.write(cases)
    selected.write(cases)
    cases.close()
    # A difference that decides nothing is one that is no more.
    stale = [name for name in meaning.DIFFERENCES if not meaning.applied[name]]
    if stale:
        sys.exit(f"differences from NumPy that no case shows: {' '.join(stale)}")
    for name, reason in meaning.DIFFERENCES.items():
        print(f"{meaning.applied[name]} results differ from NumPy on purpose ({name}): {reason}")


if __name__ == "__main__":
    main()
