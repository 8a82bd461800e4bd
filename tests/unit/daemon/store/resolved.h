/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Raw records resolved for a test, and as JSON, as if they had just come from the ring. */
#ifndef TESTS_UNIT_DAEMON_STORE_RESOLVED_H
#define TESTS_UNIT_DAEMON_STORE_RESOLVED_H

#include <assert.h>

#include "daemon/json/json.h"
#include "daemon/store/records.h"
#include "daemon/store/resolve.h"

/* What a test checks of each. */
#ifndef RESOLVED_CHECK
#define RESOLVED_CHECK(record) ((void)(record))
#endif

/* One record of each kind at most; names, symbols and attribution may be NULL. */
static inline struct records *resolved_store(const struct names *names,
					     const struct symbols *symbols,
					     struct attribution *attribution)
{
	static const size_t capacity[RECORDS_KINDS] = {1, 1, 1};
	const struct records_sources sources = {
		.names = names, .symbols = symbols, .attribution = attribution};
	struct records *records = NULL;
	int r = records_new(&records, capacity, &sources);

	assert(r == 0);
	(void)r;
	return records;
}

static inline json_t *resolved_drop_json(const struct nf_drop_record *record,
					 const struct names *names, const struct symbols *symbols)
{
	struct record resolved = {.kind = RECORDS_DROPS};
	struct resolver *resolver = NULL;
	json_t *json;
	int r = resolver_new(&resolver, names, symbols);

	assert(r == 0);
	(void)r;
	resolve_drop(resolver, record, NULL, NULL, &resolved.drop);
	RESOLVED_CHECK(&resolved);
	json = json_drop_record(&resolved.drop);
	resolver_free(&resolver);
	return json;
}

static inline json_t *resolved_slots_json(const struct nf_slots_record *record)
{
	struct record resolved = {.kind = RECORDS_SLOTS};

	resolve_transmit(NULL, record, NULL, &resolved.transmit);
	RESOLVED_CHECK(&resolved);
	return json_slots_record(&resolved.transmit);
}

#endif
