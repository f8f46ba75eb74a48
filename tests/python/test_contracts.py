"""What crosses a file in kernel/ has to say how it is used.  No machine."""

from __future__ import annotations

import pytest

from lab import contracts

_HEADER = """\
/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _X_H
#define _X_H
#define X_TWICE(x) ({	\\
	x_call(x);	\\
	x_call(x); })

struct x_only_named;
extern int x_variable;

/**
 * struct x_thing - a thing
 * @size: bytes; what "x_text(" has
 */
struct x_thing {
	int size;
};

enum x_kind { X_ONE, X_TWO };

__printf(1, 2)
int x_plain(const char *fmt, ...);
void x_callback(struct x_thing *thing, int (*run)(struct x_thing *thing, void *arg),
		void *arg);
/* x_in_comment(); */
static inline struct x_thing *x_inline(void)
{
	return x_first();
}

#endif
"""

_SOURCE = """\
/**
 * x_plain() - format something
 * @fmt: as for printf()
 */
int x_plain(const char *fmt, ...)
{
	return x_other(fmt);
}

/* x_callback() - not of this form */
void x_callback(struct x_thing *thing, int (*run)(struct x_thing *thing, void *arg), void *arg)
{
}
"""


def test_a_header_shares_functions_and_structures() -> None:
    assert [(c.name, c.line, c.function) for c in contracts.shared("kernel/x/x.h", _HEADER)] == [
        ("x_thing", 15, False),
        ("x_kind", 19, False),
        ("x_plain", 21, True),
        ("x_callback", 23, True),
        ("x_inline", 26, True),
    ]


def test_only_kernel_doc_explains() -> None:
    assert contracts.documented(_HEADER) == ({"x_thing"}, set())
    assert contracts.documented(_SOURCE) == (set(), {"x_plain"})


def test_what_nobody_explains_is_told() -> None:
    words = contracts.complaints({"kernel/x/x.h": _HEADER, "kernel/x/x.c": _SOURCE}, ())
    assert [line.split(" crosses")[0] for line in words] == [
        "kernel/x/x.h:19: x_kind",
        "kernel/x/x.h:23: x_callback",
        "kernel/x/x.h:26: x_inline",
    ]


@pytest.mark.parametrize(
    ("comment", "told"), [("struct x_ring - a ring", "x.h:4: x_ring"), ("x_ring() - ring", "x.h:1: x_ring")]
)
def test_a_function_is_not_explained_by_a_structure_of_its_name(comment: str, told: str) -> None:
    files = {
        "kernel/x/x.h": "struct x_ring {\n\tint size;\n};\nint x_ring(void);\n",
        "kernel/x/x.c": f"/**\n * {comment}\n */\n",
    }
    (only,) = contracts.complaints(files, ())
    assert told in only


@pytest.mark.parametrize(("header", "told"), [("kernel/x/x.h", True), ("kernel/include/x.h", False)])
def test_another_part_explains_only_what_all_share(header: str, told: bool) -> None:
    files = {header: "int y_call(void);\n", "kernel/y/y.c": "/**\n * y_call() - call\n */\nint y_call(void)\n{\n}\n"}
    assert bool(contracts.complaints(files, ())) == told


def test_structures_can_be_excused_and_functions_cannot() -> None:
    files = {"kernel/x/x.h": "struct x {\n\tint a;\t/* the first */\n};\nint x_call(void);\n"}
    for excuse in ("kernel/x/x.h", "kernel/x/x.h:x"):
        (only,) = contracts.complaints(files, {excuse})
        assert "x_call crosses files" in only


def test_an_excuse_that_is_not_needed_any_more_is_told() -> None:
    files = {"kernel/x/x.h": "/**\n * struct x - something\n */\nstruct x {\n\tint a;\n};\n"}
    assert not contracts.complaints(files, ())
    (only,) = contracts.complaints(files, {"kernel/x/x.h:x"})
    assert "take it out" in only
