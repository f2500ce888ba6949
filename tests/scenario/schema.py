"""A validator for the part of JSON Schema that /openapi.json uses; any other word is an error here."""

KNOWN = {"$ref", "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "oneOf",
         "description", "format", "minimum", "maximum", "pattern", "minLength", "maxLength", "minItems"}


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
        target = document
        for step in schema["$ref"].lstrip("#/").split("/"):
            target = target[step]
        return faults(value, target, document, at)
    found = []
    for word, wanted in (("anyOf", None), ("oneOf", 1)):
        if word in schema:
            good = sum(not faults(value, s, document, at) for s in schema[word])
            if not good or (wanted and good != wanted):
                found.append("%s: %d of %s fit" % (at, good, word))
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(is_type(value, n) for n in names):
            return found + ["%s: %r is no %s" % (at, value, "/".join(names))]
    if "enum" in schema and value not in schema["enum"]:
        found.append("%s: %r is none of %r" % (at, value, schema["enum"]))
    if isinstance(value, dict):
        found += object_faults(value, schema, document, at)
    if isinstance(value, list) and len(value) < schema.get("minItems", 0):
        found.append("%s: fewer than %d" % (at, schema["minItems"]))
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += faults(item, schema["items"], document, "%s[%d]" % (at, i))
    return found


def object_faults(value, schema, document, at):
    known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
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
