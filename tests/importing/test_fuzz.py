"""Damaged models of other libraries are refused with a typed error, or are whole models."""

import fuzz_foreign_models as fuzzer


def test_mutated_files_are_refused_or_whole_models(tmp_path):
    _, refused, _ = fuzzer.fuzz(300, 1, tmp_path)
    assert 0 < refused < 300
