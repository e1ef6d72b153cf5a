"""Containers of arrays: tuples, lists, dicts, named tuples and dataclasses, as arguments of functions that are compiled have them."""


def items(structure, path):
    """What a container holds, each with how it is written; None for what is no container."""
    if isinstance(structure, tuple) and hasattr(structure, "_make"):
        return [(f"{path}.{name}", item) for name, item in zip(structure._fields, structure, strict=True)]
    if type(structure) in (tuple, list):
        return [(f"{path}[{number}]", item) for number, item in enumerate(structure)]
    if type(structure) is dict:
        return [(f"{path}[{key!r}]", item) for key, item in structure.items()]
    if _is_record(structure):
        return [(f"{path}.{name}", getattr(structure, name)) for name in structure.__dataclass_fields__]
    return None


def filled(structure, values):
    """A container like another one, with other items."""
    kind = type(structure)
    if kind in (tuple, list):
        return kind(values)
    if kind is dict:
        return dict(zip(structure, values, strict=True))
    if isinstance(structure, tuple):
        return kind._make(values)
    # What its constructor checks, it checked before.
    made = kind.__new__(kind)
    for name, value in zip(structure.__dataclass_fields__, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def mapped(function, structure, path=""):
    """The same containers with the results of a function, which gets what they hold and how that is written."""
    held = items(structure, path)
    if held is None:
        return function(structure, path)
    return filled(structure, [mapped(function, item, place) for place, item in held])


def leaves(structure, path=""):
    """All that containers hold, in order, each with how it is written."""
    found = []
    mapped(lambda item, place: found.append((place, item)), structure, path)
    return found


def _is_record(structure):
    """An object of a dataclass that cannot be hashed holds arrays; one that can be is a constant."""
    if not hasattr(type(structure), "__dataclass_fields__") or isinstance(structure, type):
        return False
    try:
        hash(structure)
    except TypeError:
        return True
    return False
