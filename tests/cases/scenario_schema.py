"""The JSON Schema of scenario files; it is made once in a process, by the first test that asks."""

from functools import cache

from jsonschema import Draft202012Validator

from edgefl.scenario.jsonschema import schema


@cache
def scenario_schema():
    return schema()


@cache
def validator():
    return Draft202012Validator(scenario_schema())
