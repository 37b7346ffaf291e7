"""The list of calls, and how one is run and reported."""

import asyncio
import inspect
import signal
import traceback
from contextlib import contextmanager

from .project import Project

# No call waits for anything that takes longer, even on a busy machine.
SECONDS_MAX = 60


class Call:
    def __init__(self, title, options, function):
        self.title = title
        self.options = options
        self.function = function
        self.service = function.__module__.rpartition(".")[2]


_calls = []


def call(title, *options):
    """Puts a function on the list.

    It gets a `Project` and fails by raising; it may be async. Calls of one module share a server, which they leave
    without faults; a call that names options of `tidemark serve` gets a server of its own.
    """

    def add(function):
        _calls.append(Call(title, options, function))
        return function

    return add


def run_all(program, wanted):
    """Runs the calls of the services named in `wanted` (all when empty); returns how many passed and failed."""
    passed = failed = 0
    calls = [one for one in _calls if not wanted or one.service in wanted]
    for service in dict.fromkeys(one.service for one in calls):
        with Project(program) as shared:
            for one in (one for one in calls if one.service == service):
                problem = _run(one, program, shared)
                print(f"{'FAIL' if problem else 'pass'}  {service:9} {one.title}", flush=True)
                if problem:
                    print(problem, flush=True)
                    failed += 1
                else:
                    passed += 1
    return passed, failed


def _run(one, program, shared):
    """Runs one call; returns what went wrong, or None."""
    signal.signal(signal.SIGALRM, _too_slow)
    signal.alarm(SECONDS_MAX)
    try:
        if one.options:
            with Project(program, *one.options) as own:
                _invoke(one.function, own)
        else:
            try:
                _invoke(one.function, shared)
            finally:
                shared.faults()
    except Exception:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    return None


def _invoke(function, project):
    result = function(project)
    if inspect.iscoroutine(result):
        asyncio.run(result)


def _too_slow(_signal, _frame):
    raise TimeoutError(f"not done after {SECONDS_MAX} s")


@contextmanager
def raises(kind, **attributes):
    """Expects the block to raise `kind` with these attributes."""
    try:
        yield
    except kind as error:
        if type(error) is not kind:
            raise AssertionError(f"expected {kind.__name__}, got {error!r}") from error
        for name, expected in attributes.items():
            found = getattr(error, name)
            assert found == expected, f"{name} is {found!r}, expected {expected!r}: {error!r}"
    else:
        raise AssertionError(f"{kind.__name__} was not raised")


def equal(found, expected):
    """Expects two values to be equal, and shows both when they are not."""
    assert found == expected, f"\n  found    {found!r}\n  expected {expected!r}"
