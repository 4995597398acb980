"""Just enough of JSON Schema to judge the schemas that these checks send themselves."""

from __future__ import annotations

from collections.abc import Mapping

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
}


def faults(value: object, schema: Mapping[str, object], place: str = "answer") -> list[str]:
    """Say where ``value`` breaks ``schema``; empty when it obeys.

    Knows type, enum, properties, required, additionalProperties, items, minItems and maxItems.
    """
    kind = str(schema["type"])
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        return [f"{place} is no {kind}: {value!r:.60}"]
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        return [f"{place} is none of {allowed}: {value!r:.60}"]
    if isinstance(value, dict):
        return _object_faults(value, schema, place)
    if isinstance(value, list):
        return _array_faults(value, schema, place)
    return []


def _object_faults(value: Mapping[str, object], schema: Mapping[str, object], place: str) -> list[str]:
    properties, required = schema.get("properties"), schema.get("required")
    assert isinstance(properties, dict)
    found = [
        f"{place}.{name} is missing" for name in (required if isinstance(required, list) else []) if name not in value
    ]
    for name, item in value.items():
        if name in properties:
            found += faults(item, properties[name], f"{place}.{name}")
        elif schema.get("additionalProperties") is False:
            found.append(f"{place}.{name} is not in the schema")
    return found


def _array_faults(value: list[object], schema: Mapping[str, object], place: str) -> list[str]:
    least, most, items = schema.get("minItems", 0), schema.get("maxItems"), schema.get("items")
    assert isinstance(items, dict)
    found = []
    if isinstance(least, int) and len(value) < least:
        found.append(f"{place} has fewer than {least} items")
    if isinstance(most, int) and len(value) > most:
        found.append(f"{place} has more than {most} items")
    return found + [fault for number, item in enumerate(value) for fault in faults(item, items, f"{place}[{number}]")]
