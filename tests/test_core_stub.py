"""`_core.pyi` held equal to the compiled module: the same names, parameters, kinds and defaults."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import GetSetDescriptorType
from typing import Any

import pytest

import tabiya._core as core

STUB = ast.parse((Path(__file__).resolve().parents[1] / "src/tabiya/_core.pyi").read_text())
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
# A type alias has no life at run time.
VALUES = {
    node.target.id
    for node in STUB.body
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    if ast.unparse(node.annotation) != "TypeAlias"
}

Parameter = tuple[str, str, Any]


def written(function: ast.FunctionDef, bound: bool) -> list[Parameter]:
    """Name, kind and default of each parameter in the stub; `bound` leaves out self or cls."""
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[inspect.Parameter.empty] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
    kinds = ["POSITIONAL_ONLY"] * len(arguments.posonlyargs) + ["POSITIONAL_OR_KEYWORD"] * len(arguments.args)
    found = [(a.arg, kind, _value(d)) for a, kind, d in zip(plain, kinds, defaults, strict=True)]
    if arguments.vararg:
        found.append((arguments.vararg.arg, "VAR_POSITIONAL", inspect.Parameter.empty))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((argument.arg, "KEYWORD_ONLY", _value(default or inspect.Parameter.empty)))
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, "VAR_KEYWORD", inspect.Parameter.empty))
    return found[1:] if bound else found


def _value(default: Any) -> Any:
    return ast.literal_eval(default) if isinstance(default, ast.expr) else default


def compiled(callable_: Any, bound: bool) -> list[Parameter]:
    """The same of the compiled module; a default that Rust cannot spell in Python is `...`."""
    found = [(p.name, p.kind.name, p.default) for p in inspect.signature(callable_).parameters.values()]
    return found[1:] if bound else found


def assert_equal(module: list[Parameter], stub: list[Parameter]) -> None:
    """Parameter by parameter; of a default that the module cannot spell, only that there is one."""
    assert [parameter[:2] for parameter in module] == [parameter[:2] for parameter in stub]
    for (name, _, ours), (_, _, written_down) in zip(module, stub, strict=True):
        if ours is Ellipsis:
            assert written_down is not inspect.Parameter.empty, name
        else:
            assert (type(ours), ours) == (type(written_down), written_down), name


def decorators(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in function.decorator_list}


def members(name: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}


def test_the_stub_names_what_the_module_has_and_nothing_else() -> None:
    public = {name for name in vars(core) if not name.startswith("_")} | {"__version__"}
    assert {*FUNCTIONS, *CLASSES, *VALUES} == public


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_takes_what_its_stub_says(name: str) -> None:
    assert_equal(compiled(getattr(core, name), bound=False), written(FUNCTIONS[name], bound=False))


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_has_the_bases_and_members_of_its_stub(name: str) -> None:
    class_ = getattr(core, name)
    bases = [ast.unparse(base) for base in CLASSES[name].bases] or ["object"]
    assert [base.__name__ for base in class_.__bases__] == bases
    public = {member for member in vars(class_) if not member.startswith("_")}
    assert {member for member in members(name) if not member.startswith("_")} == public


@pytest.mark.parametrize("name", sorted(name for name in CLASSES if "__new__" in members(name)))
def test_a_class_is_made_from_what_its_stub_says(name: str) -> None:
    assert_equal(compiled(getattr(core, name), bound=False), written(members(name)["__new__"], bound=True))


@pytest.mark.parametrize(
    ("class_name", "name"),
    [(c, m) for c in sorted(CLASSES) for m in sorted(members(c)) if not m.startswith("__")],
)
def test_a_member_is_what_its_stub_says(class_name: str, name: str) -> None:
    stub = members(class_name)[name]
    member = vars(getattr(core, class_name))[name]
    if "property" in decorators(stub):
        assert isinstance(member, GetSetDescriptorType)
        return
    assert isinstance(member, staticmethod) == ("staticmethod" in decorators(stub))
    static = isinstance(member, staticmethod)
    callable_ = getattr(getattr(core, class_name), name)
    assert_equal(compiled(callable_, bound=not static), written(stub, bound=not static))


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_final_class_cannot_be_derived_from(name: str) -> None:
    final = {ast.unparse(decorator) for decorator in CLASSES[name].decorator_list} == {"final"}
    if final:
        with pytest.raises(TypeError, match="not an acceptable base type"):
            type("Derived", (getattr(core, name),), {})
    else:
        assert issubclass(type("Derived", (getattr(core, name),), {}), getattr(core, name))
