/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/words.h"

#include <errno.h>
#include <string.h>

#include "common/nearest.h"
#include "daemon/varlink/call.h"

static int read_word(struct call *call, const char *text, unsigned int count,
		     const char *(*word)(unsigned int number), unsigned int *set)
{
	struct nearest nearest;

	nearest_init(&nearest, text);
	for (unsigned int i = 0; i < count; i++) {
		if (!strcmp(word(i), text)) {
			*set |= 1U << i;
			return 0;
		}
		nearest_consider(&nearest, word(i));
	}
	call_error(call, "io.netflowd.UnknownField",
		   json_pack("{s:s, s:s*}", "field", text, "nearest", nearest.best));
	return -EINVAL;
}

int words_read(struct call *call, const json_t *parameters, const char *key, unsigned int count,
	       const char *(*word)(unsigned int number), unsigned int *set)
{
	const json_t *list = json_object_get(parameters, key), *text;
	unsigned int read = 0;
	size_t i;

	if (!list || json_is_null(list))
		return 0;
	json_array_foreach(list, i, text)
	{
		if (!json_is_string(text)) {
			call_invalid_parameter(call, key);
			return -EINVAL;
		}
		if (read_word(call, json_string_value(text), count, word, &read) < 0)
			return -EINVAL;
	}
	if (!read) {
		call_invalid_parameter(call, key);
		return -EINVAL;
	}
	*set = read;
	return 0;
}
