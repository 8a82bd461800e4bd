/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/keys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/nearest.h"
#include "common/netns.h"
#include "common/segment_name.h"
#include "daemon/alert/values.h"
#include "daemon/core/names.h"
#include "daemon/core/path.h"

#define ALERT_DAYS(n) ((n)*86400 * TIME_NS_PER_SECOND)
#define ACTIONS_ALL (ALERT_TO_JOURNAL | ALERT_TO_STREAM | ALERT_TO_EXEC)

static int copy(char **to, const char *text)
{
	char *fresh = strdup(text);

	if (!fresh)
		return -ENOMEM;
	free(*to);
	*to = fresh;
	return 0;
}

/* ---- values -------------------------------------------------------------- */

static int set_enabled(struct alert_draft *draft, const char *value, char *error)
{
	static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false",
										    "off", "0"};

	for (size_t i = 0; i < 4; i++)
		if (!strcmp(value, yes[i]) || !strcmp(value, no[i])) {
			draft->rule->enabled = !strcmp(value, yes[i]);
			return 0;
		}
	return alert_refuse(error, "%.60s: it takes yes or no", value);
}

static int set_severity(struct alert_draft *draft, const char *value, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, value);
	for (int i = 0; i < ALERT_SEVERITY_COUNT; i++) {
		const char *name = alert_severity_name((enum alert_severity)i);

		if (!strcmp(name, value)) {
			draft->rule->severity = (enum alert_severity)i;
			return 0;
		}
		nearest_consider(&nearest, name);
	}
	return alert_refuse_word(error, "severity", value, nearest.best);
}

static int set_condition(struct alert_draft *draft, const char *value, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, value);
	for (int i = 0; i < ALERT_KIND_COUNT; i++) {
		if (!strcmp(alert_kinds[i].name, value)) {
			draft->rule->kind = (enum alert_kind_id)i;
			return 0;
		}
		nearest_consider(&nearest, alert_kinds[i].name);
	}
	return alert_refuse_word(error, "condition", value, nearest.best);
}

/* One reason; on a kernel without them every word may be one. */
static int add_reason(struct alert_draft *draft, const char *word, char *error)
{
	struct alert_rule *rule = draft->rule;

	if (!draft->names) {
		rule->without_reasons = true;
		return 0;
	}
	if (rule->reasons == ALERT_REASONS_MAX)
		return alert_refuse(error, "more than %d reasons; use another rule for the others",
				    ALERT_REASONS_MAX);
	if (names_find_reason(draft->names, word, &rule->reason[rule->reasons]) < 0)
		return alert_refuse_word(error, "drop reason on this kernel named", word,
					 names_nearest_reason(draft->names, word));
	rule->reasons++;
	return 0;
}

static int set_reason(struct alert_draft *draft, const char *value, char *error)
{
	bool not = *value == '!';
	char *words = strdup(value + not ), *rest = words;
	int r = words ? 0 : -ENOMEM;

	draft->rule->not_reasons = not ;
	for (char *word; r == 0 && (word = strsep(&rest, ", \t"));)
		if (*word)
			r = add_reason(draft, word, error);
	free(words);
	if (r == 0 && !draft->rule->reasons && draft->names)
		r = alert_refuse(
			error,
			"it takes one or more drop reasons; ! before the first: all but them");
	return r;
}

static int set_device(struct alert_draft *draft, const char *value, char *error)
{
	if (!*value || strlen(value) >= sizeof(draft->rule->device) || strchr(value, '/'))
		return alert_refuse(error,
				    "%.60s: it takes the name of a device, 1 to %d characters",
				    value, NF_DEVICE_NAME - 1);
	strcpy(draft->rule->device, value);
	return 0;
}

/* What a name stands for is looked up at each reading: namespaces come and go. */
static int set_netns(struct alert_draft *draft, const char *value, char *error)
{
	uint32_t inode;

	if (netns_parse(value, &inode) < 0)
		return alert_refuse(error, "%.60s: must be " NETNS_FORMS, value);
	draft->rule->netns_inode = inode;
	return copy(&draft->rule->netns, value);
}

static int set_protocol(struct alert_draft *draft, const char *value, char *error)
{
	if (!*value || strlen(value) > ALERT_PROTOCOL_MAX || strpbrk(value, " \t,"))
		return alert_refuse(
			error,
			"%.60s: it takes one protocol as netflowctl drops shows it, such as ipv4/udp, ipv6 or arp",
			value);
	strcpy(draft->rule->protocol, value);
	return 0;
}

/* The identifier of a segment with histograms; other forms as in segment_name_read(). */
static int set_segment(struct alert_draft *draft, const char *value, char *error)
{
	struct segment_text name = segment_name_read(value);
	struct nearest nearest;

	nearest_init(&nearest, name.s);
	for (int i = 0; i < NF_SEGMENT_COUNT; i++) {
		if (!strcmp(path_histograms[i].name, name.s)) {
			draft->rule->segment = (enum nf_segment)i;
			return 0;
		}
		nearest_consider(&nearest, path_histograms[i].name);
	}
	return alert_refuse_word(error, "segment", value, nearest.best);
}

/* "p99", "p99.9" or "0.99". */
static int set_quantile(struct alert_draft *draft, const char *value, char *error)
{
	bool percent = *value == 'p';
	double number;

	if (alert_read_real(value + percent, &number) < 0 || number > (percent ? 100 : 1))
		return alert_refuse(error, "%.60s: it takes a quantile such as p99 or 0.99", value);
	draft->rule->quantile = percent ? number / 100 : number;
	draft->has_quantile = true;
	return 0;
}

static int set_at_least(struct alert_draft *draft, const char *value, char *error)
{
	double number;

	if (alert_read_real(value, &number) < 0 || number < 1 || number > 1e9 ||
	    number != floor(number))
		return alert_refuse(error, "%.60s: it takes a number of packets, 1 to 1000000000",
				    value);
	draft->rule->at_least = (uint64_t)number;
	draft->has_at_least = true;
	return 0;
}

static int set_over(struct alert_draft *draft, const char *value, char *error)
{
	(void)error;
	return copy(&draft->over, value);
}

static int set_clear(struct alert_draft *draft, const char *value, char *error)
{
	(void)error;
	return copy(&draft->clear, value);
}

static int set_window(struct alert_draft *draft, const char *value, char *error)
{
	return alert_read_duration(value, TIME_NS_PER_SECOND, ALERT_DAYS(1),
				   &draft->rule->window_ns, error);
}

static int set_for(struct alert_draft *draft, const char *value, char *error)
{
	return alert_read_duration(value, 0, ALERT_DAYS(7), &draft->rule->for_ns, error);
}

static int set_clear_for(struct alert_draft *draft, const char *value, char *error)
{
	return alert_read_duration(value, 0, ALERT_DAYS(7), &draft->rule->clear_for_ns, error);
}

static int set_repeat(struct alert_draft *draft, const char *value, char *error)
{
	return alert_read_duration(value, 0, ALERT_DAYS(365), &draft->rule->repeat_ns, error);
}

static int set_exec_limit(struct alert_draft *draft, const char *value, char *error)
{
	return alert_read_duration(value, TIME_NS_PER_SECOND, ALERT_DAYS(1),
				   &draft->rule->exec_limit_ns, error);
}

static int add_action(struct alert_draft *draft, const char *word, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, word);
	for (unsigned int bit = 1; bit & ACTIONS_ALL; bit <<= 1) {
		const char *name = alert_action_name((enum alert_action)bit);

		if (!strcmp(name, word)) {
			draft->rule->actions |= bit;
			return 0;
		}
		nearest_consider(&nearest, name);
	}
	return alert_refuse_word(error, "action", word, nearest.best);
}

static int set_actions(struct alert_draft *draft, const char *value, char *error)
{
	char *words = strdup(value), *rest = words;
	int r = words ? 0 : -ENOMEM;

	draft->rule->actions = 0;
	draft->has_actions = true;
	for (char *word; r == 0 && (word = strsep(&rest, ", \t"));)
		if (*word)
			r = add_action(draft, word, error);
	free(words);
	return r;
}

static int set_exec(struct alert_draft *draft, const char *value, char *error)
{
	if (*value != '/')
		return alert_refuse(
			error, "%.60s: it takes the absolute path of a program, and its arguments",
			value);
	return copy(&draft->rule->exec, value);
}

static int set_cause(struct alert_draft *draft, const char *value, char *error)
{
	(void)error;
	return copy(&draft->rule->cause, value);
}

static int set_remedy(struct alert_draft *draft, const char *value, char *error)
{
	(void)error;
	return copy(&draft->rule->remedy, value);
}

/* ---- the table ----------------------------------------------------------- */

static const struct key {
	const char *name;
	int (*set)(struct alert_draft *draft, const char *value, char *error);
	unsigned int parameter; /* enum alert_parameter: only kinds that take it */
	const char *help;
} keys[] = {
	{"condition", set_condition, 0, "what is watched; every rule has one"},
	{"enabled", set_enabled, 0, "yes or no (yes)"},
	{"severity", set_severity, 0, "info, warning or critical (warning)"},
	{"over", set_over, 0,
	 "the condition holds above this: a count, a number per second such as 100/s, or a duration"},
	{"clear", set_clear, 0, "it has ended at or below this, at most `over` (the same as over)"},
	{"window", set_window, ALERT_TAKES_WINDOW,
	 "the time that counts, rates and quantiles are of"},
	{"for", set_for, 0, "it must hold so long before the alert fires (0)"},
	{"clear_for", set_clear_for, 0, "it must have ended for so long to be resolved (0)"},
	{"repeat", set_repeat, 0, "while it fires it is told again so often (1h); 0: once"},
	{"reason", set_reason, ALERT_TAKES_REASON,
	 "drop reasons; ! before the first: all but them"},
	{"device", set_device, ALERT_TAKES_DEVICE, "only the device of this name"},
	{"netns", set_netns, ALERT_TAKES_NETNS,
	 "only this network namespace: a name of `ip netns`, host, or an inode number"},
	{"protocol", set_protocol, ALERT_TAKES_PROTOCOL, "ipv4, ipv4/udp, ipv6/tcp, arp, 0x88cc"},
	{"segment", set_segment, ALERT_TAKES_SEGMENT,
	 "receive_to_copy and so on, as in the settings latency.slow_…; rx_total, forward_total, tx_total"},
	{"quantile", set_quantile, ALERT_TAKES_SEGMENT,
	 "of each device by itself, the worst counts (p99)"},
	{"at_least", set_at_least, ALERT_TAKES_SEGMENT,
	 "packets that a device must have had in the window (20)"},
	{"actions", set_actions, 0,
	 "of journal, stream, exec (journal, stream, and exec where a program is given)"},
	{"exec", set_exec, 0,
	 "absolute path and arguments of a program; no shell; it gets the alert as JSON on its standard input"},
	{"exec_limit", set_exec_limit, 0, "after which the program is killed (10s)"},
	{"cause", set_cause, 0, "likely cause, in your words"},
	{"remedy", set_remedy, 0, "what to do, in your words"},
};

#define KEY_COUNT (ARRAY_SIZE(keys))
_Static_assert(KEY_COUNT <= sizeof(((struct alert_draft *)NULL)->line) / sizeof(unsigned int),
	       "a line for each key");

int alert_keys_set(struct alert_draft *draft, const char *key, const char *value, unsigned int line,
		   char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, key);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		nearest_consider(&nearest, keys[i].name);
		if (strcmp(keys[i].name, key))
			continue;
		if (draft->line[i])
			return alert_refuse(error, "given twice, first in line %u", draft->line[i]);
		draft->line[i] = line;
		draft->given |= keys[i].parameter;
		return keys[i].set(draft, value, error);
	}
	return alert_refuse_word(error, "key", key, nearest.best);
}

unsigned int alert_keys_line(const struct alert_draft *draft, const char *key)
{
	for (size_t i = 0; key && i < KEY_COUNT; i++)
		if (!strcmp(keys[i].name, key))
			return draft->line[i];
	return 0;
}

void alert_keys_help(FILE *to)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		fprintf(to, "  %-11s %s\n", keys[i].name, keys[i].help);
	fputs("\nConditions:\n", to);
	for (int i = 0; i < ALERT_KIND_COUNT; i++)
		fprintf(to, "  %-15s %s\n", alert_kinds[i].name, alert_kinds[i].what);
}

int alert_keys_check(const struct alert_draft *draft, const struct alert_kind *kind,
		     const char **key, char *error)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (draft->line[i] && keys[i].parameter & ~kind->takes) {
			*key = keys[i].name;
			return alert_refuse(error, "a condition %s has no %s", kind->name,
					    keys[i].name);
		}
	return 0;
}
