"""Read YAML from untrusted sources with a safe loader. Aliases in the YAML text are
refused unless the caller allows short aliased values.
"""

from typing import Any

import yaml

from tasks.types.guarded.limits import (
    TextLimits,
    TextUnreadable,
    decode_within_size_limit,
    make_too_deep_error,
    make_too_long_number_error,
)

#: The parser of PyYAML looks ahead by 1,024 characters at each level of brackets.
YAML_LIMITS = TextLimits(size=1 << 18, depth=20, digits=60)


#: An aliased value has at most MAX_VALUES_IN_ANCHOR nodes, and a text MAX_YAML_ALIASES aliases.
MAX_VALUES_IN_ANCHOR, MAX_YAML_ALIASES = 50, 1_000


def read_yaml(
    text: str | bytes, limits: TextLimits = YAML_LIMITS, *, takes_aliases: bool = False
) -> Any:
    """Return the value that a YAML text describes. Raises Unreadable.

    Aliases are refused unless ``takes_aliases`` is True. If aliases are allowed, a
    small value is copied for each alias.
    """
    checked = decode_within_size_limit(text, limits)
    try:
        loader = (
            _LimitedYamlLoaderWithAliases if takes_aliases else _LimitedYamlLoader
        )(checked)
        loader.limits = limits
        return loader.get_single_data()
    except yaml.MarkedYAMLError as fault:
        line = fault.problem_mark.line + 1 if fault.problem_mark else 1
        raise TextUnreadable(fault.problem or "it breaks off", line) from fault
    except yaml.reader.ReaderError as fault:
        message = (
            f"the character U+{ord(checked[fault.position]):04X}, which is not allowed"
        )
        line = checked.count("\n", 0, fault.position) + 1
        raise TextUnreadable(message, line) from fault
    except (yaml.YAMLError, ValueError) as fault:
        raise TextUnreadable(str(fault)[:200]) from fault


class _LimitedYamlLoader(yaml.SafeLoader):
    """A YAML loader with limits on numbers and nesting, which can make a short text
    very large or slow to read. The loader refuses aliases, which can also make a short
    text very large.
    """

    limits = YAML_LIMITS
    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _make_yaml_error_at_mark(
                "an alias, which is not read", event.start_mark
            )
        if not isinstance(event, yaml.CollectionStartEvent):
            return super().compose_node(parent, index)
        self._depth += 1
        self._check_nesting_depth(self._depth, event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def fetch_flow_collection_start(self, token_class: type[yaml.Token]) -> None:
        self._check_nesting_depth(self.flow_level + 1, self.get_mark())
        super().fetch_flow_collection_start(token_class)

    def construct_finite_number(self, node: yaml.ScalarNode) -> int | float:
        if len(node.value) > self.limits.digits:
            raise _make_yaml_error_at_mark(
                make_too_long_number_error(len(node.value), self.limits).message,
                node.start_mark,
            )
        read = (
            self.construct_yaml_int
            if node.tag.endswith(":int")
            else self.construct_yaml_float
        )
        return read(node)

    def _check_nesting_depth(self, depth: int, mark: Any) -> None:
        if depth > self.limits.depth:
            raise _make_yaml_error_at_mark(
                make_too_deep_error(depth, self.limits).message, mark
            )


class _LimitedYamlLoaderWithAliases(_LimitedYamlLoader):
    """A YAML loader that allows aliases and copies the aliased values. An aliased value
    must not contain an alias, so the size of the result is limited.
    """

    _aliases = 0
    #: `_anchored` is the number of nodes below the present anchor, or None.
    _anchored: int | None = None

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            self._aliases += 1
            if self._anchored is not None:
                message = "an alias within a value that has an anchor"
                raise _make_yaml_error_at_mark(message, event.start_mark)
            if self._aliases > MAX_YAML_ALIASES:
                raise _make_yaml_error_at_mark(
                    f"over {MAX_YAML_ALIASES:,} aliases", event.start_mark
                )
            return yaml.SafeLoader.compose_node(self, parent, index)
        is_first = self._anchored is None and event.anchor is not None
        if is_first:
            self._anchored = 0
        if self._anchored is not None:
            self._anchored += 1
            if self._anchored > MAX_VALUES_IN_ANCHOR:
                message = f"an anchor around more than {MAX_VALUES_IN_ANCHOR} values"
                raise _make_yaml_error_at_mark(message, event.start_mark)
        node = super().compose_node(parent, index)
        if is_first:
            self._anchored = None
        return node


def _make_yaml_error_at_mark(message: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=message, problem_mark=mark)


for _tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
    # The derived loader comes first, as it copies its base class's table of types.
    _LimitedYamlLoaderWithAliases.add_constructor(
        _tag, _LimitedYamlLoader.construct_finite_number
    )
    _LimitedYamlLoader.add_constructor(_tag, _LimitedYamlLoader.construct_finite_number)
