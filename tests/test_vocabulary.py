"""Names of variables, arguments, attributes and classes are nouns; a participle is not."""

import ast
import re
from pathlib import Path

import pytest

import hedgerow

SOURCE = Path(hedgerow.__file__).parent
NATIVE = Path(__file__).parents[1] / "native"

# Callbacks are not "told", an argument is not "given": docs/glossary.md has the nouns.
PARTICIPLES = {
    *("asked", "drawn", "given", "held", "meant", "parted", "said", "shown", "sought", "told"),
    *("wanted", "watched"),
}


def words_of(identifier):
    """Return the words of snake_case or CamelCase, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)]


def is_participle(identifier):
    """Return whether a name is a participle, or ends in one, and is not a question."""
    words = words_of(identifier)
    asks = words[:1] and words[0] in ("is", "are", "was", "were", "has", "have", "if", "not")
    return bool(words) and words[-1] in PARTICIPLES and not asks


def names_in(tree):
    """Yield the names that a module gives to variables, arguments, attributes and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ClassDef):
            yield node.name


def test_python_names_are_no_participles():
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.py")
        for name in names_in(ast.parse(path.read_text(encoding="utf-8")))
        if is_participle(name)
    }
    assert not found


def test_native_names_are_no_participles():
    found = set()
    for path in NATIVE.rglob("*.?pp"):
        code = re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", path.read_text(encoding="utf-8"))
        names = {name for name in re.findall(r"[A-Za-z_]\w*", code) if is_participle(name)}
        found |= {(path.relative_to(NATIVE).as_posix(), name) for name in names}
    assert not found


@pytest.mark.parametrize("name", ["told", "_given", "rows_drawn", "Drawn", "TableGiven"])
def test_participles_are_found(name):
    assert is_participle(name)


@pytest.mark.parametrize("name", ["is_drawn", "was_given", "callbacks", "holdout", "heldout"])
def test_other_names_are_not(name):
    assert not is_participle(name)
