/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a rule: what no key alone can say, and the defaults of its kind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/alert/keys.h"
#include "daemon/alert/values.h"

void alert_draft_clear(struct alert_draft *draft)
{
	alert_rule_free(&draft->rule);
	free(draft->over);
	free(draft->clear);
	*draft = (struct alert_draft){0};
}

static int read_bound(enum alert_unit unit, const char *text, double *bound, char *error)
{
	uint64_t ns = 0;
	char number[64];
	size_t length = strlen(text);

	if (unit == ALERT_UNIT_DURATION) {
		int r = alert_read_duration(text, 0, ALERT_DAYS(1), &ns, error);

		if (r == 0)
			*bound = (double)ns;
		return r;
	}
	if (unit == ALERT_UNIT_RATE && length > 2 && !strcmp(text + length - 2, "/s"))
		length -= 2;
	snprintf(number, sizeof(number), "%.*s", (int)length, text);
	if (alert_read_real(number, bound) == 0)
		return 0;
	return alert_refuse(error, "%.60s: it takes %s", text,
			    unit == ALERT_UNIT_RATE ? "a number per second, such as 100/s"
						    : "a number");
}

static int finish_bounds(struct alert_draft *draft, const struct alert_kind *kind, const char **key,
			 char *error)
{
	struct alert_rule *rule = draft->rule;
	int r = 0;

	*key = "over";
	if (!draft->over && !kind->has_over)
		return alert_refuse(error, "a condition %s needs a bound, such as over = %s",
				    kind->name,
				    kind->unit == ALERT_UNIT_DURATION ? "5ms" : "100/s");
	rule->over = kind->over;
	if (draft->over)
		r = read_bound(kind->unit, draft->over, &rule->over, error);
	rule->clear = rule->over;
	if (r == 0 && draft->clear) {
		*key = "clear";
		r = read_bound(kind->unit, draft->clear, &rule->clear, error);
	}
	if (r == 0 && rule->clear > rule->over)
		return alert_refuse(error, "%.60s is more than over: it would never stop firing",
				    draft->clear);
	return r;
}

static int finish_actions(struct alert_draft *draft, const char **key, char *error)
{
	struct alert_rule *rule = draft->rule;

	*key = "actions";
	if (!draft->has_actions)
		rule->actions =
			ALERT_TO_JOURNAL | ALERT_TO_STREAM | (rule->exec ? ALERT_TO_EXEC : 0);
	if (rule->actions & ALERT_TO_EXEC && !rule->exec)
		return alert_refuse(error, "exec needs a program: exec = /path/to/program");
	return 0;
}

int alert_keys_finish(struct alert_draft *draft, const char **key, char *error)
{
	struct alert_rule *rule = draft->rule;
	const struct alert_kind *kind;
	int r;

	*key = "condition";
	if (rule->kind == ALERT_KIND_COUNT)
		return alert_refuse(error, "a rule needs one, such as condition = drop_rate");
	kind = &alert_kinds[rule->kind];
	r = alert_keys_check(draft, kind, key, error);
	if (r < 0)
		return r;
	if (kind->takes & ALERT_TAKES_SEGMENT && rule->segment == NF_SEGMENT_COUNT) {
		*key = "segment";
		return alert_refuse(error,
				    "a condition %s needs one, such as segment = receive_to_copy",
				    kind->name);
	}
	if (!rule->window_ns)
		rule->window_ns = kind->window_ns;
	r = finish_bounds(draft, kind, key, error);
	return r < 0 ? r : finish_actions(draft, key, error);
}
