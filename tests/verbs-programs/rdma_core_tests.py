"""Runs rdma-core's own tests, which Debian installs with python3-pyverbs, over the libraries that the loader finds.

    python3 rdma_core_tests.py FOLDER [-MODULE...]     all modules but these

FOLDER gets the tests, as the package installs them, without those of the drivers mlx5 and efa and of a GPU. For each
module, a line says how many tests pass, and each reason for which tests are skipped, with their number. A test that fails
is printed with its traceback, unless it is known to fail. The exit status is 1 if one fails that is not known, and if one
passes that is known to fail.
"""

import collections
import gzip
import pathlib
import sys
import unittest

INSTALLED = pathlib.Path("/usr/share/doc/rdma-core/tests")
# Tests that fail, and why.
KNOWN = {
    "test_mr.MRTest.test_mr_rereg_pd": "the status of the sender is that of a receive that is too short",
    "test_mr.MRTest.test_mr_rereg_addr": "the status of the sender is that of a receive that is too short",
}
DRIVERS = ("test_mlx5", "test_efa", "test_cuda")


def unpack(folder):
    """Copies the tests into the folder `tests`, and makes them importable."""
    tests = folder / "tests"
    tests.mkdir(parents=True)
    for file in sorted(INSTALLED.iterdir()):
        if file.name.startswith(DRIVERS):
            continue
        is_packed = file.suffix == ".gz"
        text = gzip.decompress(file.read_bytes()) if is_packed else file.read_bytes()
        (tests / (file.stem if is_packed else file.name)).write_bytes(text)
    # The tests import each other with the name of the package, and without.
    sys.path[:0] = [str(folder), str(tests)]


class Counts(unittest.TestResult):
    """Counts the results by module."""

    def __init__(self):
        super().__init__()
        self.passed = collections.Counter()
        self.reasons = collections.defaultdict(collections.Counter)

    def addSuccess(self, test):
        self.passed[type(test).__module__] += 1

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.reasons[type(test).__module__][reason] += 1

    def failed(self):
        """The tests that fail, with their tracebacks."""
        return {test.id().removeprefix("tests."): trace for test, trace in self.failures + self.errors}


def selected(suite, without):
    """The tests of a suite, without those of some modules."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from selected(test, without)
        elif type(test).__module__.removeprefix("tests.") not in without:
            yield test


def main():
    unpack(pathlib.Path(sys.argv[1]))
    without = [name.removeprefix("-") for name in sys.argv[2:]]
    sys.argv[1:] = ["--dev", "soft0"]
    from args_parser import parser

    parser.parse_args()
    import tests

    suite = unittest.TestSuite(selected(unittest.defaultTestLoader.loadTestsFromModule(tests), without))
    result = Counts()
    suite.run(result)
    failed = result.failed()
    unexpected = 0
    for name, trace in failed.items():
        if name not in KNOWN:
            print(f"FAILED: {name}\n{trace}", file=sys.stderr)
            unexpected += 1
    ran = set(result.passed) | set(result.reasons)
    for name, reason in KNOWN.items():
        if name in failed:
            result.reasons["tests." + name.split(".")[0]][f"fails: {reason}"] += 1
        elif "tests." + name.split(".")[0] in ran:
            print(f"PASSES, but is known to fail: {name}", file=sys.stderr)
            unexpected += 1
    for module in sorted(set(result.passed) | set(result.reasons)):
        reasons = sorted(result.reasons[module].items())
        shown = "; ".join(f"{count} {reason}" for reason, count in reasons)
        print(f"{module.removeprefix('tests.')} | {result.passed[module]} | {shown}")
    print(f"total | {sum(result.passed.values())} | {len(result.skipped)} skipped, {len(failed)} fail")
    sys.exit(unexpected != 0)


if __name__ == "__main__":
    main()
