"""The warning that a function runs in NumPy instead of being compiled."""

import traceback
import warnings

from ._errors import FallbackWarning
from ._frames import is_own


def warn(function, error):
    """Says why a function is not compiled, and at which line."""
    name = getattr(function, "__name__", type(function).__name__)
    reason = str(error)
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_own(frame.filename)]
    # Errors in the text of the program show the line themselves.
    if lines and "-->" not in reason:
        reason = f"{lines[-1].filename}:{lines[-1].lineno}: {reason}"
    warnings.warn(f"`{name}` runs in NumPy, because it cannot be compiled: {reason}", FallbackWarning, stacklevel=2)
