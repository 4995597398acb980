"""Turns a matched signature into words and into a remedy, with what the line said filled in."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from shakedown.diagnose.signature import RemedyRule, Signature
from shakedown.diagnose.versions import version_matches
from shakedown.domain.base import ArgValue
from shakedown.domain.failure import Remedy
from shakedown.domain.words import EngineKind

T = TypeVar("T")

_FIELD = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
_OPTIONAL = re.compile(r"\[([^\[\]{}]*\{[a-z_][a-z0-9_]*\}[^\[\]]*)\]")
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def with_computed(signature: Signature, captures: Mapping[str, str]) -> dict[str, str]:
    """Return the captures and what the signature computes from them; what cannot be computed is left out."""
    values = dict(captures)
    for name, expression in signature.computed.items():
        result = arithmetic(expression, values)
        if result is not None:
            values[name] = result
    return values


def arithmetic(expression: str, values: Mapping[str, str]) -> str | None:
    """Evaluate ``+ - * /`` over captured numbers, rounded down to two decimals; None if a name is missing.

    Raises:
        ValueError: if the expression holds anything else.
    """
    tree = ast.parse(expression, mode="eval").body
    try:
        result = _evaluate(tree, values)
    except (KeyError, ZeroDivisionError):
        return None
    floored = math.floor(result * 100 + 1e-9) / 100
    return str(int(floored)) if floored == int(floored) else str(floored)


def fill(text: str, captures: Mapping[str, str]) -> str:
    """Put captures into ``{name}`` places.

    A part in square brackets that names a capture which the line did not have is left out; elsewhere it becomes ``?``.
    """

    def optional(part: re.Match[str]) -> str:
        return part.group(1) if all(name in captures for name in _FIELD.findall(part.group(1))) else ""

    return _FIELD.sub(lambda found: captures.get(found.group(1), "?"), _OPTIONAL.sub(optional, text))


def remedy_of(
    signature: Signature, captures: Mapping[str, str], *, engine: EngineKind | None, engine_version: str | None
) -> Remedy | None:
    """Return the signature's remedy for this engine and version; None if it has not even advice."""
    rule = _rule_for(signature, engine, engine_version)
    if rule is None and not signature.advice and not signature.retryable:
        return None
    advice = fill(signature.advice, captures)
    if rule is None:
        return Remedy(advice=advice, retry_unchanged=signature.retryable)
    return Remedy(
        advice=advice,
        set_args=_filled(rule.set, captures, _value),
        remove_args=tuple(name for name in (_text(name, captures) for name in rule.remove) if name is not None),
        set_env=_filled(rule.env, captures, _text),
        remove_env=rule.unset_env,
        avoid_args=rule.avoid,
        adjust_args=rule.adjust,
        retry_unchanged=signature.retryable,
    )


def _filled(
    table: Mapping[str, T], captures: Mapping[str, str], fill_value: Callable[[T, Mapping[str, str]], T | None]
) -> dict[str, T]:
    """Fill captures into names and values; an entry that names a capture which the line did not have is left out."""
    filled = ((_text(name, captures), fill_value(value, captures)) for name, value in table.items())
    return {name: value for name, value in filled if name is not None and value is not None}


def _rule_for(signature: Signature, engine: EngineKind | None, version: str | None) -> RemedyRule | None:
    for rule in signature.remedies:
        wanted = rule.engine or signature.engine
        if (wanted is None or engine is None or wanted is engine) and version_matches(rule.versions, version):
            return rule
    return None


def _value(value: ArgValue, captures: Mapping[str, str]) -> ArgValue | None:
    """Fill captures into an argument's value; a text that is then a number becomes one. None: a capture is missing."""
    if not isinstance(value, str):
        return value
    text = _text(value, captures)
    if text is None or text == value:
        return text
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _text(value: str, captures: Mapping[str, str]) -> str | None:
    if any(name not in captures for name in _FIELD.findall(value)):
        return None
    return fill(value, captures)


def _evaluate(node: ast.expr, values: Mapping[str, str]) -> float:
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_evaluate(node.left, values), _evaluate(node.right, values))
    if isinstance(node, ast.Name):
        return float(values[node.id].replace(",", ""))
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    raise ValueError(f"{ast.unparse(node)!r} is no arithmetic over captures")
