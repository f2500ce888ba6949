"""Values drawn by lot that fit a schema of /openapi.json, with a liking for its bounds."""
import json
import string
from datetime import datetime, timedelta, timezone
from re import _parser

from checks import spell
from schema import faults, look_up

CHARACTERS = string.printable.replace("\v", "") + "äß€\u2028\U0001f600\u0301\x7f\x01"
URLS = ("https://127.0.0.1:9", "http://127.0.0.1:9/cb?x=%20", "HTTP://user:pass@127.0.0.1:9/{PanelistId}",
        "http://127.0.0.1:9/cb?id={RewardId}&a={Reward}")  # where nobody listens, and never beyond this machine


def draw(dice, schema, document):
    schema = look_up(schema, document)
    for _ in range(1000):
        value = any_value(dice, schema, document)
        if faults(value, schema, document) == []:
            return value
    raise AssertionError("nothing drawn fits " + json.dumps(schema))


def any_value(dice, schema, document):
    branches = [look_up(b, document) for b in schema.get("anyOf", schema.get("oneOf", ()))]
    if [b.get("type") for b in branches] == ["number", "string"]:  # an amount: as text it has the same bounds
        amount = draw(dice, branches[0], document)
        return amount if dice.random() < 0.5 else "%.6f" % amount
    if branches:
        return draw(dice, dice.choice(branches), document)
    if "enum" in schema:
        return dice.choice(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return DRAWN[dice.choice(kinds)](dice, schema, document)


def an_object(dice, schema, document):
    required = schema.get("required", [])
    return {name: draw(dice, inner, document) for name, inner in schema.get("properties", {}).items()
            if name in required or dice.random() < 0.5}


def a_list(dice, schema, document):
    return [draw(dice, schema["items"], document) for _ in range(dice.randrange(schema.get("minItems", 0), 4))]


def an_integer(dice, schema, document):
    least, most = schema.get("minimum", -2**53), schema.get("maximum", 2**53)
    return dice.choice((least, most, dice.randint(least, most), min(most, least + dice.randrange(10))))


def a_number(dice, schema, document):
    least, most = schema.get("minimum", schema.get("exclusiveMinimum")), schema["maximum"]
    return dice.choice((schema.get("minimum", most), most, round(dice.uniform(least, most), 6),
                        round(dice.uniform(max(least, 0.000001), 1), dice.randrange(1, 7)) or most))


def a_text(dice, schema, document):
    if "contentMediaType" in schema:
        return json.dumps({some(dice, CHARACTERS, 0, 9): some(dice, CHARACTERS, 0, 9) for _ in range(3)})
    if schema.get("format") == "date-time":
        moment = datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=dice.randrange(-10**9, 10**9))
        return spell(moment, dice.choice((0, 90, -720)))
    if schema.get("format") == "date":
        return (datetime(2026, 1, 1) + timedelta(days=dice.randrange(-9999, 9999))).date().isoformat()
    if schema.get("format") == "uri":
        return dice.choice(URLS)
    if schema.get("format") == "email":
        return "%s@%s.example" % (some(dice, "aZ09.+-_'", 1, 20), some(dice, "az09", 1, 20))
    if "pattern" in schema and schema["pattern"] != "\\S":
        return of_pattern(dice, _parser.parse(schema["pattern"]))
    least, most = schema.get("minLength", 0), schema.get("maxLength", 40)
    text = some(dice, CHARACTERS, *dice.choice(((least, least), (least, min(most, 20)), (least, most), (most, most))))
    return text.encode()[:schema.get("x-max-bytes", 4 * len(text))].decode(errors="ignore")


def some(dice, characters, least, most):
    return "".join(dice.choices(characters, k=dice.randint(least, most)))


def of_pattern(dice, parsed):
    """A text for a regular expression, as far as the document's use them."""
    out = ""
    for kind, value in parsed:
        kind = str(kind)
        if kind == "LITERAL":
            out += chr(value)
        elif kind == "NOT_LITERAL":
            out += dice.choice([c for c in string.ascii_letters + "/~" if ord(c) != value])
        elif kind == "IN":
            out += dice.choice([c for c in string.printable[:95] if is_in(ord(c), value)])
        elif kind == "MAX_REPEAT":
            least, most, inner = value
            out += "".join(of_pattern(dice, inner) for _ in range(dice.randint(least, min(int(most), least + 70))))
        elif kind == "SUBPATTERN":
            out += of_pattern(dice, value[-1])
        elif kind == "BRANCH":
            out += of_pattern(dice, dice.choice(value[1]))
        else:
            assert kind == "AT", kind
    return out


def is_in(c, members):
    negated = str(members[0][0]) == "NEGATE"
    found = any(c == v if str(k) == "LITERAL" else v[0] <= c <= v[1]
                for k, v in members if str(k) in ("LITERAL", "RANGE"))
    return found != negated


DRAWN = {"object": an_object, "array": a_list, "integer": an_integer, "number": a_number, "string": a_text,
         "boolean": lambda dice, schema, document: dice.random() < 0.5, "null": lambda *_: None}
