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

/* By address; shared if it is of this round. */
static struct place { const volatile void *at; __u32 number, round; } places[8 * MODEL_PLACES];
static unsigned int place_count, round;

struct range { const volatile char *from, *to; };
static struct range unread[RANGES];
static unsigned int unread_count;

static __u64 mix(__u64 x, __u64 y)
{
	__uint128_t p = (__uint128_t)x * y;

	return (__u64)p ^ (__u64)(p >> 64);
}

/* Two words at a time, for each half of the hash with other secrets. */
struct hash hash_bytes(const void *from, size_t bytes)
{
	struct hash h = { bytes ^ 0x2545f4914f6cdd1dULL, ~bytes };
	const __u64 *word = from;
	__u64 next;

	for (; bytes; bytes -= bytes > 8 ? 16 : 8, word += 2) {
		next = bytes > 8 ? word[1] : 0;
		h.a = mix(word[0] ^ 0x9e3779b97f4a7c15ULL ^ h.a, next ^ 0xbf58476d1ce4e5b9ULL) + h.a;
		h.b = mix(word[0] ^ 0x94d049bb133111ebULL, next ^ 0xd6e8feb86659fd93ULL ^ h.b) + h.b;
	}
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
	undo_count = unread_count = 0;
	round++;
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

static struct place *find_place(const volatile void *at)
{
	size_t i = (uintptr_t)at / 4 % (8 * MODEL_PLACES);

	while (places[i].at && places[i].at != at)
		i = (i + 1) % (8 * MODEL_PLACES);
	return &places[i];
}

/* A word has the same number in all scenarios: what is learned of it stays true. */
void model_share(volatile void *at, unsigned int size)
{
	for (; size; size -= 4, at = (volatile char *)at + 4) {
		struct place *p = find_place(at);

		if (!p->at) {
			p->at = at;
			p->number = ++place_count;
			if (place_count == MODEL_PLACES)
				abort();
		}
		p->round = round;
	}
}

void model_unread(volatile void *at, unsigned int size)
{
	add_range(unread, &unread_count, at, size);
}

unsigned int memory_place(const volatile void *at)
{
	const struct place *p = find_place(at);

	return p->round == round ? p->number : 0;
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
