/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the parser of alert rules with arbitrary text: the rules that it accepts must have unique
 * names, and every fault must have a message.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "daemon/alert/rules.h"
#include "daemon/core/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct names *reasons(void)
{
	static struct names *names;

	if (!names &&
	    (names_new(&names) < 0 || names_add_reason(names, 3, "SKB_DROP_REASON_NO_SOCKET") < 0))
		abort();
	return names;
}

static void check(const struct alert_rules *rules)
{
	char text[256];

	for (size_t i = 0; i < rules->count; i++) {
		assert(rules->rule[i]->name[0]);
		for (size_t j = 0; j < i; j++)
			assert(strcmp(rules->rule[i]->name, rules->rule[j]->name));
	}
	for (size_t i = 0; i < rules->faults; i++) {
		alert_fault_format(&rules->fault[i], text, sizeof(text));
		assert(text[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN_FREE char *text = malloc(size + 1);
	struct alert_rules *rules = NULL;

	if (!text || alert_rules_new(&rules) < 0)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	assert(alert_rules_parse(rules, "fuzz.conf", text, reasons()) == 0);
	check(rules);
	alert_rules_free(&rules);
	return 0;
}
