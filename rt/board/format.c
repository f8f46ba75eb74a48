// SPDX-License-Identifier: GPL-2.0
/*
 * A printf for integers and strings: %d %i %u %x %c %s %p %%, with `-`, `0`, a width (also
 * `*`), a precision of strings, and h, hh, l, ll, z.  There is no floating point.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "text.h"

struct board_text {
	char *to;
	size_t size;
	size_t length;		/* of all of it, also of what did not fit */
	va_list args;		/* what is left of them */
};

struct board_field {
	bool left, zeros;
	int width;
	int precision;		/* -1: none */
	int size;		/* of the number, in bytes */
};

static void board_format_char(struct board_text *text, char c)
{
	if (text->length + 1 < text->size)
		text->to[text->length] = c;
	text->length++;
}

static void board_format_pad(struct board_text *text, int n, char with)
{
	for (; n > 0; n--)
		board_format_char(text, with);
}

/* A sign (or 0x), then zeros up to the width, or spaces on either side. */
static void board_format_field(struct board_text *text, const struct board_field *field,
			       const char *sign, const char *what, int length)
{
	int missing = field->width - length - strlen(sign);

	if (!field->left && !field->zeros)
		board_format_pad(text, missing, ' ');
	while (*sign)
		board_format_char(text, *sign++);
	if (!field->left && field->zeros)
		board_format_pad(text, missing, '0');
	for (; length; length--)
		board_format_char(text, *what++);
	if (field->left)
		board_format_pad(text, missing, ' ');
}

static void board_format_number(struct board_text *text, const struct board_field *field,
				const char *sign, uint64_t value, unsigned int base)
{
	char digits[20];
	int first = sizeof(digits);

	do {
		digits[--first] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	board_format_field(text, field, sign, digits + first, sizeof(digits) - first);
}

static void board_format_string(struct board_text *text, struct board_field *field, const char *s)
{
	int length = 0;

	if (!s)
		s = "(null)";
	while ((field->precision < 0 || length < field->precision) && s[length])
		length++;
	field->zeros = false;
	board_format_field(text, field, "", s, length);
}

/* h, hh, l, ll and z, by the sizes that they have on x86-64 */
static const char *board_format_size(const char *at, int *size)
{
	for (*size = sizeof(int); ; at++) {
		if (*at == 'l' || *at == 'z')
			*size = sizeof(long);
		else if (*at == 'h')
			*size /= 2;
		else
			return at;
	}
}

/* `*`, or digits */
static const char *board_format_amount(const char *at, struct board_text *text, int *value)
{
	if (*at == '*') {
		*value = va_arg(text->args, int);
		return at + 1;
	}
	for (*value = 0; *at >= '0' && *at <= '9'; at++)
		*value = *value * 10 + *at - '0';
	return at;
}

/* All that may be between the % and the letter; returns where that is. */
static const char *board_format_parse(const char *at, struct board_text *text,
				      struct board_field *field)
{
	*field = (struct board_field){ .precision = -1 };
	for (; *at == '-' || *at == '0'; at++) {
		field->left |= *at == '-';
		field->zeros |= *at == '0';
	}
	at = board_format_amount(at, text, &field->width);
	if (*at == '.')
		at = board_format_amount(at + 1, text, &field->precision);
	return board_format_size(at, &field->size);
}

/* The next argument as a number of a size, with its sign or without */
static uint64_t board_format_argument(struct board_text *text, int size, bool has_sign)
{
	int unused = 64 - 8 * size;
	uint64_t value;

	value = size == sizeof(long) ? va_arg(text->args, uint64_t) : va_arg(text->args, unsigned int);
	value <<= unused;
	return has_sign ? (uint64_t)((int64_t)value >> unused) : value >> unused;
}

static void board_format_one(struct board_text *text, struct board_field *field, char letter)
{
	uint64_t value;
	char c;

	switch (letter) {
	case 'd':
	case 'i':
		value = board_format_argument(text, field->size, true);
		if ((int64_t)value < 0)
			board_format_number(text, field, "-", -value, 10);
		else
			board_format_number(text, field, "", value, 10);
		break;
	case 'u':
		value = board_format_argument(text, field->size, false);
		board_format_number(text, field, "", value, 10);
		break;
	case 'x':
		value = board_format_argument(text, field->size, false);
		board_format_number(text, field, "", value, 16);
		break;
	case 'p':
		value = board_format_argument(text, sizeof(void *), false);
		board_format_number(text, field, "0x", value, 16);
		break;
	case 'c':
		c = va_arg(text->args, int);
		field->zeros = false;
		board_format_field(text, field, "", &c, 1);
		break;
	case 's':
		board_format_string(text, field, va_arg(text->args, const char *));
		break;
	default:		/* also a second %; others are said as they are */
		if (letter != '%')
			board_format_char(text, '%');
		board_format_char(text, letter);
	}
}

/**
 * board_format() - a text of a format and arguments
 * @to: where; it ends with a 0 byte if @size is not 0
 * @size: of @to
 *
 * Return: length of the whole text, also if it did not fit
 */
size_t board_format(char *to, size_t size, const char *format, va_list args)
{
	struct board_text text = { .to = to, .size = size };
	struct board_field field;

	va_copy(text.args, args);
	for (; *format; format++) {
		if (*format != '%') {
			board_format_char(&text, *format);
			continue;
		}
		format = board_format_parse(format + 1, &text, &field);
		if (!*format)
			break;
		board_format_one(&text, &field, *format);
	}
	va_end(text.args);
	if (size)
		to[text.length < size ? text.length : size - 1] = 0;
	return text.length;
}
