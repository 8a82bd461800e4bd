/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a rule: what concerns several keys, and the defaults of its condition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/value.h"
#include "daemon/alert/keys.h"
#include "daemon/alert/values.h"

void alert_draft_clear(struct alert_draft *draft)
{
	alert_rule_free(&draft->rule);
	free(draft->over);
	free(draft->clear);
	*draft = (struct alert_draft){0};
}

static bool is_share(const char *text)
{
	size_t length = strlen(text);

	return length && text[length - 1] == '%';
}

static int read_threshold(enum alert_unit unit, const char *text, double *threshold, char *error)
{
	uint64_t ns = 0;
	char number[64];
	size_t length = strlen(text);

	if (unit == ALERT_UNIT_DURATION) {
		int r = alert_read_duration(text, 0, ALERT_DAYS(1), &ns, error);

		if (r == 0)
			*threshold = (double)ns;
		return r;
	}
	if (unit == ALERT_UNIT_RATE && length > 2 && !strcmp(text + length - 2, "/s"))
		length -= 2;
	if (unit == ALERT_UNIT_SHARE && is_share(text))
		length--;
	snprintf(number, sizeof(number), "%.*s", (int)length, text);
	if (value_real(number, threshold) == 0 &&
	    (unit != ALERT_UNIT_SHARE || (is_share(text) && *threshold <= 100)))
		return 0;
	return alert_refuse(error, "%.60s: must be %s", text,
			    unit == ALERT_UNIT_RATE    ? "a number per second, such as 100/s"
			    : unit == ALERT_UNIT_SHARE ? "a share from 0% to 100%, as over is"
						       : "a number, 0 or more");
}

static int finish_thresholds(struct alert_draft *draft, const struct alert_kind *kind,
			     const char **key, char *error)
{
	struct alert_rule *rule = draft->rule;
	int r = 0;

	*key = "over";
	if (!draft->over && !kind->has_over)
		return alert_refuse(error, "condition %s requires a threshold, such as over = %s",
				    kind->name,
				    kind->unit == ALERT_UNIT_DURATION ? "5ms" : "100/s");
	rule->over = kind->over;
	rule->unit = kind->unit;
	if (kind->has_share && draft->over && is_share(draft->over))
		rule->unit = ALERT_UNIT_SHARE;
	if (draft->over)
		r = read_threshold(rule->unit, draft->over, &rule->over, error);
	rule->clear = rule->over;
	if (r == 0 && draft->clear) {
		*key = "clear";
		r = read_threshold(rule->unit, draft->clear, &rule->clear, error);
	}
	if (r == 0 && rule->clear > rule->over)
		return alert_refuse(error, "%.60s is more than over: must be at most over",
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
		return alert_refuse(
			error, "action exec requires a program, such as exec = /path/to/program");
	return 0;
}

int alert_keys_finish(struct alert_draft *draft, const char **key, char *error)
{
	struct alert_rule *rule = draft->rule;
	const struct alert_kind *kind;
	int r;

	*key = "condition";
	if (rule->kind == ALERT_KIND_COUNT)
		return alert_refuse(error,
				    "every rule requires one, such as condition = drop_rate");
	kind = &alert_kinds[rule->kind];
	r = alert_keys_check(draft, kind, key, error);
	if (r < 0)
		return r;
	if (kind->takes & ALERT_TAKES_SEGMENT && rule->segment == NF_SEGMENT_COUNT) {
		*key = "segment";
		return alert_refuse(error,
				    "condition %s requires one, such as segment = receive_to_copy",
				    kind->name);
	}
	if (!rule->window_ns)
		rule->window_ns = kind->window_ns;
	r = finish_thresholds(draft, kind, key, error);
	return r < 0 ? r : finish_actions(draft, key, error);
}
