// SPDX-License-Identifier: GPL-2.0
/* The console's ring: every byte at its place, also around the end and for more than it holds. */
#include "test.h"
#include "text.h"

static struct shimos_console_out *ring_new(__u64 head)
{
	struct shimos_console_out *ring = exact_alloc(sizeof(*ring));

	ring->head = head;
	return ring;
}

/* As a reader would: the byte of a number. */
static char ring_byte(const struct shimos_console_out *ring, __u64 number)
{
	return ring->data[number % SHIMOS_CONSOLE_OUT_LEN];
}

void test_ring(void)
{
	struct shimos_console_out *ring = ring_new(0);
	char *much = exact_alloc(3 * SHIMOS_CONSOLE_OUT_LEN);
	__u64 i, length = 3 * SHIMOS_CONSOLE_OUT_LEN - 7;

	board_ring_put(ring, "hello\n", 6);
	CHECK(ring->head == 6 && !memcmp(ring->data, "hello\n", 6));
	board_ring_put(ring, "", 0);
	CHECK(ring->head == 6 && !ring->data[6]);

	ring->head = SHIMOS_CONSOLE_OUT_LEN - 2;
	board_ring_put(ring, "abcd", 4);
	CHECK(ring->head == SHIMOS_CONSOLE_OUT_LEN + 2);
	CHECK(!memcmp(ring->data + SHIMOS_CONSOLE_OUT_LEN - 2, "ab", 2));
	CHECK(!memcmp(ring->data, "cdllo\n", 6));

	for (i = 0; i < length; i++)
		much[i] = i * 7 + i / 251;
	ring->head = 12345;
	board_ring_put(ring, much, length);
	CHECK(ring->head == 12345 + length);
	for (i = length - SHIMOS_CONSOLE_OUT_LEN; i < length; i++)
		CHECK(ring_byte(ring, 12345 + i) == much[i]);

	/* the count itself goes around, too */
	ring->head = -3ULL;
	board_ring_put(ring, "xyz12", 5);
	CHECK(ring->head == 2 && ring_byte(ring, 0) == '1' && ring_byte(ring, -1ULL) == 'z');
	free(much);
	free(ring);
}

void fuzz_ring(__u64 seed)
{
	struct shimos_console_out *ring;
	char text[300];
	__u64 head, i;
	size_t length;
	int n;

	random_seed(seed);
	head = random_u64();
	ring = ring_new(head);
	for (n = 0; n < 2000; n++) {
		length = random_below(sizeof(text) + 1);
		for (i = 0; i < length; i++)
			text[i] = random_u64();
		board_ring_put(ring, text, length);
		for (i = 0; i < length; i++)
			MUST(ring_byte(ring, head + i) == text[i]);
		head += length;
		MUST(ring->head == head);
		for (i = 0; i < ARRAY_SIZE(ring->reserved); i++)
			MUST(!ring->reserved[i]);
	}
	free(ring);
}
