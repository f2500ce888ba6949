"""A validator for the part of JSON Schema that /openapi.json uses; any other word is an error here.
Members that a schema does not name are faults, although it is open for clients: they are to be named."""
import re
from datetime import date, datetime
from decimal import Decimal

ANNOTATIONS = {"description", "examples", "default", "deprecated", "contentMediaType"}
KNOWN = ANNOTATIONS | {
    "$ref", "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "oneOf",
    "discriminator", "format",
    "minimum", "maximum", "exclusiveMinimum", "multipleOf", "pattern", "minLength", "maxLength", "x-max-bytes",
    "minItems", "maxItems"}


def look_up(node, document):
    """What a reference names, or the node itself."""
    while "$ref" in node:
        target = document
        for step in node["$ref"].lstrip("#/").split("/"):
            target = target[step]
        node = target
    return node


def operations(document):
    """(METHOD, path, operation) of all routes, the operation's parameters and responses looked up."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, dict(
                operation, parameters=[look_up(p, document) for p in operation["parameters"]],
                responses={s: look_up(r, document) for s, r in operation["responses"].items()})


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    kinds = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
    return isinstance(value, kinds[name])


def faults(value, schema, document, at="$"):
    """Where value is not what schema says, as a list of sentences."""
    unknown = set(schema) - KNOWN
    assert not unknown, "the schema uses %s" % unknown
    if "$ref" in schema:
        return faults(value, look_up(schema, document), document, at)
    found = []
    if "anyOf" in schema and all(faults(value, s, document, at) for s in schema["anyOf"]):
        found.append("%s: %r: none of anyOf fits" % (at, value))
    if "oneOf" in schema:
        return found + choice_faults(value, schema, document, at)
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(is_type(value, n) for n in names):
            return found + ["%s: %r is no %s" % (at, value, "/".join(names))]
    if "enum" in schema and value not in schema["enum"]:
        found.append("%s: %r is none of %r" % (at, value, schema["enum"]))
    if isinstance(value, dict):
        return found + object_faults(value, schema, document, at)
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += faults(item, schema.get("items", {}), document, "%s[%d]" % (at, i))
    return found + ["%s: %r is against %s" % (at, value, word) for word in plain_faults(value, schema)]


def check_fits(value, schema, document, what=""):
    """Fails with the first faults: what was sent may be long, and pytest cuts it."""
    found = faults(value, schema, document)
    assert not found, "%s: see src/api/openapi_*.json%s" % (
        "; ".join(found[:3] + ["and %d more" % (len(found) - 3)] * (len(found) > 3)), " - %s" % (what,) if what else "")


def choice_faults(value, schema, document, at):
    """Of a oneOf: those of the branch that the discriminator names, or that not exactly one branch fits."""
    if "discriminator" in schema:
        name, mapping = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
        assert {b["$ref"] for b in schema["oneOf"]} == set(mapping.values())
        if not isinstance(value, dict) or value.get(name) not in mapping:
            return ["%s: %r has no %s of %s" % (at, value, name, "/".join(mapping))]
        return faults(value, {"$ref": mapping[value[name]]}, document, at)
    branches = [faults(value, s, document, at) for s in schema["oneOf"]]
    fitting = branches.count([])
    return [] if fitting == 1 else ["%s: %r: %d of oneOf fit: %s" % (at, value, fitting, branches)]


def object_faults(value, schema, document, at):
    known = schema.get("properties", {})
    rest = schema.get("additionalProperties", "properties" not in schema)
    found = ["%s: %s is missing" % (at, name) for name in schema.get("required", []) if name not in value]
    for name, member in value.items():
        inside = "%s.%s" % (at, name)
        if name in known:
            found += faults(member, known[name], document, inside)
        elif rest is False:
            found.append("%s is not in the schema" % inside)
        elif isinstance(rest, dict):
            found += faults(member, rest, document, inside)
    return found


def plain_faults(value, schema):
    """The words about a text, a number or a list that it is against."""
    checks = {}
    if isinstance(value, str):
        checks = {"minLength": lambda n: len(value) >= n, "maxLength": lambda n: len(value) <= n,
                  "x-max-bytes": lambda n: len(value.encode()) <= n, "pattern": lambda p: re.search(p, value),
                  "format": lambda name: is_of_format(value, name)}
    elif isinstance(value, list):
        checks = {"minItems": lambda n: len(value) >= n, "maxItems": lambda n: len(value) <= n}
    elif is_type(value, "number"):
        checks = {"minimum": lambda n: value >= n, "maximum": lambda n: value <= n,
                  "exclusiveMinimum": lambda n: value > n,
                  "multipleOf": lambda n: Decimal(repr(value)) % Decimal(repr(n)) == 0}
    return [word for word, fits in checks.items() if word in schema and not fits(schema[word])]


def is_of_format(value, name):
    try:
        if name == "date":
            return date.fromisoformat(value).isoformat() == value
        if name == "date-time":
            return datetime.fromisoformat(re.sub("[zZ]$", "+00:00", value)).tzinfo is not None
    except ValueError:
        return False
    return name in ("email", "uri", "uri-reference")  # which have a pattern or are for people
