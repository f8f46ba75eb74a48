// SPDX-License-Identifier: GPL-2.0
/*
 * The shared memory, with a log to go back and a hash that follows each write.
 *
 * Two states count as the same if their 128-bit hashes are.  With 10^7 states
 * the chance that any two different ones collide is below 10^-24; that is the
 * only way in which the search could miss something by its hashes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "world.h"

#define LOG_MAX		(1 << 20)
#define RANGES		32

static struct { volatile void *at; __u64 was; __u32 size; } undo[LOG_MAX];
static size_t undo_count;

struct range { const volatile char *from, *to; };
static struct range shared[RANGES], unread[RANGES];
static unsigned int shared_count, unread_count;

static __u64 mix(__u64 x, __u64 by)
{
	__uint128_t p = (__uint128_t)(x ^ 0x9e3779b97f4a7c15ULL) * by;

	return (__u64)p ^ (__u64)(p >> 64);
}

static void hash_word(struct hash *h, __u64 word)
{
	h->a = mix(h->a ^ word, 0xbf58476d1ce4e5b9ULL) + word * 0x2545f4914f6cdd1dULL;
	h->b = mix(h->b + word, 0x94d049bb133111ebULL) ^ (h->b << 23 | h->b >> 41);
}

struct hash hash_bytes(const void *from, size_t bytes)
{
	struct hash h = { bytes, ~bytes };
	const __u64 *word = from;

	for (; bytes; bytes -= 8)
		hash_word(&h, *word++);
	return h;
}

static void toggle(const volatile void *at, __u64 value)
{
	__u64 words[2] = { (__u64)at, value };
	struct hash h = hash_bytes(words, sizeof(words));

	world.memory.a ^= h.a;
	world.memory.b ^= h.b;
}

void memory_reset(void)
{
	undo_count = shared_count = unread_count = 0;
}

static void add_range(struct range *list, unsigned int *count, volatile void *at,
		      unsigned int size)
{
	if (*count == RANGES)
		abort();
	list[*count].from = at;
	list[(*count)++].to = (volatile char *)at + size;
}

static bool in_range(const struct range *list, unsigned int count, const volatile void *at)
{
	while (count--)
		if ((const volatile char *)at >= list[count].from &&
		    (const volatile char *)at < list[count].to)
			return true;
	return false;
}

void model_share(volatile void *at, unsigned int size)
{
	add_range(shared, &shared_count, at, size);
}

void model_unread(volatile void *at, unsigned int size)
{
	add_range(unread, &unread_count, at, size);
}

bool memory_shared(const volatile void *at)
{
	return in_range(shared, shared_count, at);
}

bool memory_unread(const volatile void *at)
{
	return in_range(unread, unread_count, at);
}

__u64 memory_read(const volatile void *at, unsigned int size)
{
	if (size == 4)
		return *(const volatile __u32 *)at;
	if (size != 8)
		abort();
	return *(const volatile __u64 *)at;
}

static void put(volatile void *at, unsigned int size, __u64 value)
{
	if (size == 4)
		*(volatile __u32 *)at = value;
	else
		*(volatile __u64 *)at = value;
}

void memory_write(volatile void *at, unsigned int size, __u64 value)
{
	__u64 was = memory_read(at, size);

	if (size == 4)
		value = (__u32)value;
	if (was == value)
		return;
	if (undo_count == LOG_MAX) {
		fprintf(stderr, "the undo log is full\n");
		abort();
	}
	undo[undo_count].at = at;
	undo[undo_count].was = was;
	undo[undo_count++].size = size;
	toggle(at, was);
	toggle(at, value);
	put(at, size, value);
}

void model_note(void *at, unsigned int size, __u64 value)
{
	memory_write(at, size, value);
}

size_t memory_mark(void)
{
	return undo_count;
}

/* The hash is the world's and comes back with it. */
void memory_undo(size_t mark)
{
	while (undo_count > mark) {
		undo_count--;
		put(undo[undo_count].at, undo[undo_count].size, undo[undo_count].was);
	}
}
