/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "common/json.h"
#include "common/time.h"
#include "daemon/json/internal.h"
#include "daemon/json/json.h"

struct fill fill_new(void)
{
	return (struct fill){json_object()};
}

void fill_put(struct fill *f, const char *key, json_t *value)
{
	if (!f->object) {
		json_decref(value);
	} else if (json_object_set_new(f->object, key, value) != 0) {
		json_decref(f->object);
		f->object = NULL;
	}
}

void fill_int(struct fill *f, const char *key, uint64_t value)
{
	fill_put(f, key, json_integer(json_count(value)));
}

void fill_known(struct fill *f, const char *key, uint64_t value)
{
	if (value)
		fill_int(f, key, value);
}

void fill_bool(struct fill *f, const char *key, bool value)
{
	fill_put(f, key, json_boolean(value));
}

void fill_text(struct fill *f, const char *key, const char *text)
{
	if (text)
		fill_put(f, key, json_string(text));
}

void fill_bytes(struct fill *f, const char *key, const char *bytes, size_t max)
{
	if (bytes && max && bytes[0])
		fill_put(f, key, json_text(bytes, max));
}

void fill_foreign(struct fill *f, const char *key, const char *text)
{
	if (text)
		fill_put(f, key, json_text(text, strlen(text)));
}

json_t *json_known(uint32_t number)
{
	return number ? json_integer(number) : NULL;
}

json_t *json_time(uint64_t monotonic_ns)
{
	char text[TIME_TEXT_MAX];

	time_format(monotonic_ns, text);
	return json_string(text);
}

void fill_time(struct fill *f, const char *key, uint64_t monotonic_ns)
{
	fill_put(f, key, json_time(monotonic_ns));
}

void fill_append(json_t **array, json_t *value)
{
	if (!*array) {
		json_decref(value);
	} else if (json_array_append_new(*array, value) != 0) {
		json_decref(*array);
		*array = NULL;
	}
}
