// SPDX-License-Identifier: GPL-2.0
/* Kernel command lines: their words, as the kernel reads them, and what may not be among them. */
#include <linux/ctype.h>
#include <linux/string.h>

#include "kloader.h"

/* A quote that is left open would swallow what containment adds behind it. */
static bool cmdline_has_open_quote(const char *cmdline)
{
	bool open = false;

	for (; *cmdline; cmdline++)
		if (*cmdline == '"')
			open = !open;
	return open;
}

/**
 * cmdline_same_name() - is this a parameter's name?
 * @word: as the user wrote it
 * @len: of @word, bytes
 * @name: with underscores, for which the user may write dashes
 *
 * Context: any.
 */
bool cmdline_same_name(const char *word, size_t len, const char *name)
{
	size_t i;

	if (strlen(name) != len)
		return false;
	for (i = 0; i < len; i++)	/* the kernel takes - for _ */
		if ((word[i] == '-' ? '_' : word[i]) != name[i])
			return false;
	return true;
}

/**
 * cmdline_next_word() - the next word of a command line, which may have quotes in it
 * @at: where to look; moved behind the word
 * @len: gets its bytes
 *
 * Any space ends it, tabs and line feeds included, as in the kernel's next_arg().
 *
 * Context: any.
 * Return: the word; NULL: there is none.
 */
const char *cmdline_next_word(const char **at, size_t *len)
{
	const char *start = skip_spaces(*at), *end;
	bool quoted = false;

	for (end = start; *end && (quoted || !isspace(*end)); end++)
		if (*end == '"')
			quoted = !quoted;
	*at = end;
	*len = end - start;
	return *len ? start : NULL;
}

/**
 * cmdline_name_length() - how long a word's name is, before its value
 * @word: of cmdline_next_word()
 * @len: its bytes
 *
 * Context: any.
 * Return: bytes.
 */
size_t cmdline_name_length(const char *word, size_t len)
{
	const char *equals = memchr(word, '=', len);

	return equals ? equals - word : len;
}

/**
 * cmdline_check() - may the user pass this command line to a partition's kernel?
 * @cmdline: what is appended to it must have effect
 * @refused: parameters that may not be in it
 * @count: how many
 * @c: why not
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int cmdline_check(const char *cmdline, const struct cmdline_refused *refused, size_t count,
		  struct complaint *c)
{
	const char *word;
	size_t len;
	size_t i;

	if (cmdline_has_open_quote(cmdline))
		return shimos_refuse(c, -EINVAL, "the command line has a quote that is not closed");
	while ((word = cmdline_next_word(&cmdline, &len))) {
		if (len == 2 && !memcmp(word, "--", 2))
			return shimos_refuse(c, -EINVAL,
					     "the command line ends in '--', which would hide what containment adds behind it");
		if (*word == '"') {	/* "name=value" */
			word++;
			len--;
		}
		for (i = 0; i < count; i++)
			if (cmdline_same_name(word, cmdline_name_length(word, len), refused[i].name))
				return shimos_refuse(c, -EINVAL, "the command line must not set '%s': %s",
						     refused[i].name, refused[i].reason);
	}
	return 0;
}
