"""Read YAML from outside: the safe subset, without aliases."""

from typing import Any

import yaml

from tasks.types.guarded.limits import (
    Limits,
    Unreadable,
    too_deep,
    too_long,
    within_size,
)

#: The parser looks ahead by 1,024 characters, at each level of brackets for each of them.
YAML = Limits(size=1 << 18, depth=20, digits=60)


def read_yaml(text: str | bytes, limits: Limits = YAML) -> Any:
    """Return the value of a text. Raises Unreadable."""
    checked = within_size(text, limits)
    try:
        loader = _Loader(checked)
        loader.limits = limits
        return loader.get_single_data()
    except yaml.MarkedYAMLError as fault:
        line = fault.problem_mark.line + 1 if fault.problem_mark else 1
        raise Unreadable(fault.problem or "it breaks off", line) from fault
    except yaml.reader.ReaderError as fault:
        message = (
            f"the character U+{ord(checked[fault.position]):04X}, which is not allowed"
        )
        line = checked.count("\n", 0, fault.position) + 1
        raise Unreadable(message, line) from fault
    except (yaml.YAMLError, ValueError) as fault:
        raise Unreadable(str(fault)[:200]) from fault


class _Loader(yaml.SafeLoader):
    """A short text can stand for a very large one by aliases and long numbers, and take long by depth."""

    limits = YAML
    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _refused("an alias, which is not read", event.start_mark)
        if not isinstance(event, yaml.CollectionStartEvent):
            return super().compose_node(parent, index)
        self._depth += 1
        self._require_depth(self._depth, event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def fetch_flow_collection_start(self, token_class: type[yaml.Token]) -> None:
        self._require_depth(self.flow_level + 1, self.get_mark())
        super().fetch_flow_collection_start(token_class)

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        if len(node.value) > self.limits.digits:
            raise _refused(
                too_long(len(node.value), self.limits).message, node.start_mark
            )
        read = (
            self.construct_yaml_int
            if node.tag.endswith(":int")
            else self.construct_yaml_float
        )
        return read(node)

    def _require_depth(self, depth: int, mark: Any) -> None:
        if depth > self.limits.depth:
            raise _refused(too_deep(depth, self.limits).message, mark)


def _refused(message: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=message, problem_mark=mark)


for _tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
    _Loader.add_constructor(_tag, _Loader.construct_number)
