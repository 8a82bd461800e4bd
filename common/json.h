/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small helps for jansson: ownership of a local, and counters. */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <stdint.h>

#include <jansson.h>

#include "common/cleanup.h"

#define OWN_JSON CLEANUP(json_decrefp)

/* A counter for json_integer() and the "I" of json_pack(); JSON's integers end at INT64_MAX, so it stays there. */
static inline json_int_t json_count(uint64_t count)
{
	return count <= INT64_MAX ? (json_int_t)count : INT64_MAX;
}

#endif
