// SPDX-License-Identifier: GPL-2.0
/*
 * SHA-256 as FIPS 180-4 has it.  Our own because none fits: Debian's static libraries want a
 * stack canary at %fs:0x28 and SSE, and the crates with one in C or assembly want SSE or thirty
 * crates to be built.
 */
#include <string.h>
#include "sha256.h"

#define SHA256_BLOCK	64
#define SHA256_ROUNDS	64
#define SHA256_LENGTH	8	/* bytes of the length, at the end of the last block */

/* The first 32 bits behind the point of the cube roots of the first 64 primes. */
static const uint32_t sha256_round[SHA256_ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* And those of the square roots of the first eight. */
static const uint32_t sha256_begin[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t sha256_turn(uint32_t word, unsigned int bits)
{
	return word >> bits | word << (32 - bits);
}

static void sha256_words(const uint8_t *block, uint32_t w[SHA256_ROUNDS])
{
	uint32_t s0, s1;
	unsigned int i;

	for (i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
		       (uint32_t)block[2] << 8 | block[3];
	for (; i < SHA256_ROUNDS; i++) {
		s0 = sha256_turn(w[i - 15], 7) ^ sha256_turn(w[i - 15], 18) ^ w[i - 15] >> 3;
		s1 = sha256_turn(w[i - 2], 17) ^ sha256_turn(w[i - 2], 19) ^ w[i - 2] >> 10;
		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void sha256_add(uint32_t state[8], const uint8_t *block)
{
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
	uint32_t w[SHA256_ROUNDS], t1, t2;
	unsigned int i;

	sha256_words(block, w);
	for (i = 0; i < SHA256_ROUNDS; i++) {
		t1 = h + (sha256_turn(e, 6) ^ sha256_turn(e, 11) ^ sha256_turn(e, 25)) +
		     ((e & f) ^ (~e & g)) + sha256_round[i] + w[i];
		t2 = (sha256_turn(a, 2) ^ sha256_turn(a, 13) ^ sha256_turn(a, 22)) +
		     ((a & b) ^ (a & c) ^ (b & c));
		h = g;
		g = f;
		f = e;
		e = d + t1;
		d = c;
		c = b;
		b = a;
		a = t1 + t2;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

/* What is left, less than a block, a bit behind it, and how many bits all of it had. */
static void sha256_end(uint32_t state[8], const uint8_t *rest, size_t left, size_t size)
{
	uint8_t last[2 * SHA256_BLOCK] = { 0 };
	size_t blocks = left + 1 + SHA256_LENGTH > SHA256_BLOCK ? 2 : 1;
	uint64_t bits = (uint64_t)size * 8;
	unsigned int i;

	memcpy(last, rest, left);
	last[left] = 0x80;
	for (i = 0; i < SHA256_LENGTH; i++)
		last[blocks * SHA256_BLOCK - 1 - i] = bits >> i * 8;
	for (i = 0; i < blocks; i++)
		sha256_add(state, last + i * SHA256_BLOCK);
}

/**
 * sha256() - the digest of some bytes
 */
void sha256(const void *data, size_t size, uint8_t digest[SHA256_DIGEST])
{
	const uint8_t *at = data;
	uint32_t state[8];
	size_t left;
	unsigned int i;

	memcpy(state, sha256_begin, sizeof(state));
	for (left = size; left >= SHA256_BLOCK; left -= SHA256_BLOCK, at += SHA256_BLOCK)
		sha256_add(state, at);
	sha256_end(state, at, left, size);
	for (i = 0; i < SHA256_DIGEST; i++)
		digest[i] = state[i / 4] >> (24 - i % 4 * 8);
}
