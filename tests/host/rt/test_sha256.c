// SPDX-License-Identifier: GPL-2.0
/* SHA-256: FIPS 180-4's examples, and NIST's of a million bytes. */
#include "test.h"
#include "sha256.h"

static bool is(const void *data, size_t size, const char *expected)
{
	char text[2 * SHA256_DIGEST + 1];
	uint8_t digest[SHA256_DIGEST];
	int i;

	sha256(data, size, digest);
	for (i = 0; i < SHA256_DIGEST; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
	return !strcmp(text, expected);
}

/* So many letters a. */
static bool letters(size_t size, const char *expected)
{
	char *all = malloc(size + 1);
	bool fine;

	memset(all, 'a', size);
	fine = is(all, size, expected);
	free(all);
	return fine;
}

void test_sha256(void)
{
	CHECK(is("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
	CHECK(is("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
	CHECK(is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
	/* what is left of a block, with and without room for the length */
	CHECK(letters(55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"));
	CHECK(letters(56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"));
	CHECK(letters(63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"));
	CHECK(letters(64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"));
	CHECK(letters(65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"));
	CHECK(letters(119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"));
	CHECK(letters(120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"));
	CHECK(letters(4096, "c93eee2d0db02f10acc7460d9576e122dcf8cd53c4bf8dfcae1b3e74ebcfff5a"));
	CHECK(letters(1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
}
