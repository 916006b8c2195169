"""Whether a JSON file is as its schema says. Usage: check_json.py SCHEMA FILE; prints what is not."""

import json
import sys

import jsonschema

with open(sys.argv[1], encoding="utf-8") as schema_file, open(sys.argv[2], encoding="utf-8") as file:
    schema, value = json.load(schema_file), json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
for error in errors:
    print("/".join(map(str, error.absolute_path)), error.message)
sys.exit(1 if errors else 0)
