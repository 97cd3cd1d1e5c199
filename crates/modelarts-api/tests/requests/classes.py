"""Lists the classes that the official SDK sends and receives for each operation.

usage: classes.py DESCRIPTION > classes.json

The result has the two classes of each operation, and for each class the names of its attributes
on the wire, each with its type as the SDK spells it. An operation that the SDK lacks is null.
"""

import json
import re
import sys

import huaweicloudsdkmodelarts.v1 as sdk
import yaml


def attributes(name):
    cls = getattr(sdk, name)
    return {cls.attribute_map[own]: kind for own, kind in sorted(cls.openapi_types.items())}


def reachable(name, classes):
    """Adds a class and the classes of its attributes."""
    if name in classes or not hasattr(sdk, name):
        return
    classes[name] = attributes(name)
    for kind in classes[name].values():
        for inner in re.findall(r"\w+", kind):
            reachable(inner, classes)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        paths = yaml.safe_load(file)["paths"]
    operations, classes = {}, {}
    for item in paths.values():
        for operation in item.values():
            if not isinstance(operation, dict):
                continue
            name = operation["operationId"]
            known = hasattr(sdk, f"{name}Request")
            operations[name] = [f"{name}Request", f"{name}Response"] if known else None
            for cls in operations[name] or []:
                reachable(cls, classes)
    listed = {"operations": operations, "classes": classes}
    json.dump(listed, sys.stdout, indent=1, ensure_ascii=False, sort_keys=True)
    print()


main()
