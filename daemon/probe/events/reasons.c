/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/events/reasons.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <traceevent/event-parse.h>

#include "daemon/core/names.h"

/* "print fmt: …, __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, …)" */
static const struct tep_print_flag_sym *find_symbols(const struct tep_event *event)
{
	for (const struct tep_print_arg *arg = event->print_fmt.args; arg; arg = arg->next)
		if (arg->type == TEP_PRINT_SYMBOL)
			return arg->symbol.symbols;
	return NULL;
}

int reasons_of_format(struct names *names, struct tep_handle *tep)
{
	const struct tep_event *event = tep_find_event_by_name(tep, "skb", "kfree_skb");
	const struct tep_print_flag_sym *symbol = event ? find_symbols(event) : NULL;

	for (; symbol; symbol = symbol->next) {
		char *end;
		unsigned long number = strtoul(symbol->value, &end, 0);

		if (end == symbol->value || *end || number > UINT32_MAX)
			continue;
		if (names_add_reason(names, (uint32_t)number, symbol->str) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}
