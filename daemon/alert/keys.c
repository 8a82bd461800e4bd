/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/keys.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/core/names.h"
#include "daemon/util/duration.h"
#include "daemon/util/nearest.h"
#include "daemon/util/time.h"

#define DAYS(n) ((n)*86400 * TIME_NS_PER_SECOND)
#define ACTIONS_ALL (ALERT_TO_JOURNAL | ALERT_TO_STREAM | ALERT_TO_EXEC)

static int refuse(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, ALERT_ERROR_MAX, format, list);
	va_end(list);
	return -EINVAL;
}

static int refuse_word(char *error, const char *what, const char *word, const char *nearest)
{
	return refuse(error, "there is no %s %.60s%s%s%s", what, word,
		      nearest ? " (did you mean " : "", nearest ? nearest : "",
		      nearest ? "?)" : "");
}

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

/* A duration with its unit; 0 needs none. */
static int read_duration(const char *value, uint64_t least, uint64_t most, uint64_t *ns,
			 char *error)
{
	uint64_t read;

	if (duration_parse(value, most, &read) == 0 && read >= least &&
	    (read == 0 || !isdigit((unsigned char)value[strlen(value) - 1]))) {
		*ns = read;
		return 0;
	}
	return refuse(error,
		      "%.60s: it takes a duration with its unit, such as 500ms, 10s, 5min or "
		      "2h, at least %llu s and at most %llu d",
		      value, (unsigned long long)(least / TIME_NS_PER_SECOND),
		      (unsigned long long)(most / DAYS(1)));
}

static int read_real(const char *value, double *number)
{
	char *end;
	double read = strtod(value, &end);

	if (end == value || *end || !(read >= 0) || !isfinite(read))
		return -EINVAL;
	*number = read;
	return 0;
}

static int set_enabled(struct alert_draft *draft, const char *value, char *error)
{
	static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false",
										    "off", "0"};

	for (size_t i = 0; i < 4; i++)
		if (!strcmp(value, yes[i]) || !strcmp(value, no[i])) {
			draft->rule->enabled = !strcmp(value, yes[i]);
			return 0;
		}
	return refuse(error, "%.60s: it takes yes or no", value);
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
	return refuse_word(error, "severity", value, nearest.best);
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
	return refuse_word(error, "condition", value, nearest.best);
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
		return refuse(error, "more than %d reasons; use another rule for the others",
			      ALERT_REASONS_MAX);
	if (names_find_reason(draft->names, word, &rule->reason[rule->reasons]) < 0)
		return refuse_word(error, "drop reason on this kernel named", word,
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
		r = refuse(error,
			   "it takes one or more drop reasons; ! before the first: all but them");
	return r;
}

static int set_device(struct alert_draft *draft, const char *value, char *error)
{
	if (!*value || strlen(value) >= sizeof(draft->rule->device) || strchr(value, '/'))
		return refuse(error, "%.60s: it takes the name of a device, 1 to %d characters",
			      value, NF_DEVICE_NAME - 1);
	strcpy(draft->rule->device, value);
	return 0;
}

static int set_netns(struct alert_draft *draft, const char *value, char *error)
{
	struct stat host;
	char *end;
	unsigned long long inode = strtoull(value, &end, 10);

	if (!strcmp(value, "host") && stat("/proc/self/ns/net", &host) == 0)
		inode = host.st_ino;
	else if (end == value || *end || !inode || inode > UINT32_MAX)
		return refuse(error,
			      "%.60s: it takes the inode number of a network namespace (stat -L "
			      "-c %%i /run/netns/NAME), or host",
			      value);
	draft->rule->netns = (uint32_t)inode;
	return 0;
}

static int set_protocol(struct alert_draft *draft, const char *value, char *error)
{
	if (!*value || strlen(value) > ALERT_PROTOCOL_MAX || strpbrk(value, " \t,"))
		return refuse(error,
			      "%.60s: it takes one protocol as netflowctl drops shows it, such as "
			      "ipv4/udp, ipv6 or arp",
			      value);
	strcpy(draft->rule->protocol, value);
	return 0;
}

/* "receive_to_copy"; "receive→copy" and "receive->copy" mean the same. */
static int set_segment(struct alert_draft *draft, const char *value, char *error)
{
	const char *arrow = strstr(value, "→"), *ascii = strstr(value, "->");
	size_t skip = arrow ? strlen("→") : 2;
	char name[ALERT_ERROR_MAX / 4];
	struct nearest nearest;

	if (!arrow)
		arrow = ascii;
	if (arrow)
		snprintf(name, sizeof(name), "%.*s_to_%s", (int)(arrow - value), value,
			 arrow + skip);
	else
		snprintf(name, sizeof(name), "%s", value);
	nearest_init(&nearest, name);
	for (int i = 0; i < NF_SEGMENT_COUNT; i++) {
		if (!strcmp(alert_segments[i].name, name)) {
			draft->rule->segment = (enum nf_segment)i;
			return 0;
		}
		nearest_consider(&nearest, alert_segments[i].name);
	}
	return refuse_word(error, "segment", value, nearest.best);
}

/* "p99", "p99.9" or "0.99". */
static int set_quantile(struct alert_draft *draft, const char *value, char *error)
{
	bool percent = *value == 'p';
	double number;

	if (read_real(value + percent, &number) < 0 || number > (percent ? 100 : 1))
		return refuse(error, "%.60s: it takes a quantile such as p99 or 0.99", value);
	draft->rule->quantile = percent ? number / 100 : number;
	draft->has_quantile = true;
	return 0;
}

static int set_at_least(struct alert_draft *draft, const char *value, char *error)
{
	double number;

	if (read_real(value, &number) < 0 || number < 1 || number > 1e9 || number != floor(number))
		return refuse(error, "%.60s: it takes a number of packets, 1 to 1000000000", value);
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
	return read_duration(value, TIME_NS_PER_SECOND, DAYS(1), &draft->rule->window_ns, error);
}

static int set_for(struct alert_draft *draft, const char *value, char *error)
{
	return read_duration(value, 0, DAYS(7), &draft->rule->for_ns, error);
}

static int set_clear_for(struct alert_draft *draft, const char *value, char *error)
{
	return read_duration(value, 0, DAYS(7), &draft->rule->clear_for_ns, error);
}

static int set_repeat(struct alert_draft *draft, const char *value, char *error)
{
	return read_duration(value, 0, DAYS(365), &draft->rule->repeat_ns, error);
}

static int set_exec_limit(struct alert_draft *draft, const char *value, char *error)
{
	return read_duration(value, TIME_NS_PER_SECOND, DAYS(1), &draft->rule->exec_limit_ns,
			     error);
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
	return refuse_word(error, "action", word, nearest.best);
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
		return refuse(error,
			      "%.60s: it takes the absolute path of a program, and its arguments",
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
	 "the condition holds above this: a count, a number per second such as 100/s, or a "
	 "duration"},
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
	 "only the network namespace of this inode number; host: the daemon's own"},
	{"protocol", set_protocol, ALERT_TAKES_PROTOCOL, "ipv4, ipv4/udp, ipv6/tcp, arp, 0x88cc"},
	{"segment", set_segment, ALERT_TAKES_SEGMENT,
	 "receive_to_copy and so on, as in the settings latency.slow_…; rx_total, forward_total, "
	 "tx_total"},
	{"quantile", set_quantile, ALERT_TAKES_SEGMENT,
	 "of each device by itself, the worst counts (p99)"},
	{"at_least", set_at_least, ALERT_TAKES_SEGMENT,
	 "packets that a device must have had in the window (20)"},
	{"actions", set_actions, 0,
	 "of journal, stream, exec (journal, stream, and exec where a program is given)"},
	{"exec", set_exec, 0,
	 "absolute path and arguments of a program; no shell; it gets the alert as JSON on its "
	 "standard input"},
	{"exec_limit", set_exec_limit, 0, "after which the program is killed (10s)"},
	{"cause", set_cause, 0, "likely cause, in your words"},
	{"remedy", set_remedy, 0, "what to do, in your words"},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))
_Static_assert(KEY_COUNT <= sizeof(((struct alert_draft *)NULL)->line) / sizeof(unsigned int),
	       "a line for each key");

void alert_draft_clear(struct alert_draft *draft)
{
	alert_rule_free(&draft->rule);
	free(draft->over);
	free(draft->clear);
	*draft = (struct alert_draft){0};
}

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
			return refuse(error, "given twice, first in line %u", draft->line[i]);
		draft->line[i] = line;
		draft->given |= keys[i].parameter;
		return keys[i].set(draft, value, error);
	}
	return refuse_word(error, "key", key, nearest.best);
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

/* ---- the end of a rule --------------------------------------------------- */

static int read_bound(enum alert_unit unit, const char *text, double *bound, char *error)
{
	uint64_t ns = 0;
	char number[64];
	size_t length = strlen(text);

	if (unit == ALERT_UNIT_DURATION) {
		int r = read_duration(text, 0, DAYS(1), &ns, error);

		if (r == 0)
			*bound = (double)ns;
		return r;
	}
	if (unit == ALERT_UNIT_RATE && length > 2 && !strcmp(text + length - 2, "/s"))
		length -= 2;
	snprintf(number, sizeof(number), "%.*s", (int)length, text);
	if (read_real(number, bound) == 0)
		return 0;
	return refuse(error, "%.60s: it takes %s", text,
		      unit == ALERT_UNIT_RATE ? "a number per second, such as 100/s" : "a number");
}

/* What is given and has no meaning for this kind. */
static int check_parameters(const struct alert_draft *draft, const struct alert_kind *kind,
			    const char **key, char *error)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (draft->line[i] && keys[i].parameter & ~kind->takes) {
			*key = keys[i].name;
			return refuse(error, "a condition %s has no %s", kind->name, keys[i].name);
		}
	return 0;
}

static int finish_bounds(struct alert_draft *draft, const struct alert_kind *kind, const char **key,
			 char *error)
{
	struct alert_rule *rule = draft->rule;
	int r = 0;

	*key = "over";
	if (!draft->over && !kind->has_over)
		return refuse(error, "a condition %s needs a bound, such as over = %s", kind->name,
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
		return refuse(error, "%.60s is more than over: it would never stop firing",
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
		return refuse(error, "exec needs a program: exec = /path/to/program");
	return 0;
}

int alert_keys_finish(struct alert_draft *draft, const char **key, char *error)
{
	struct alert_rule *rule = draft->rule;
	const struct alert_kind *kind;
	int r;

	*key = "condition";
	if (rule->kind == ALERT_KIND_COUNT)
		return refuse(error, "a rule needs one, such as condition = drop_rate");
	kind = &alert_kinds[rule->kind];
	r = check_parameters(draft, kind, key, error);
	if (r < 0)
		return r;
	if (kind->takes & ALERT_TAKES_SEGMENT && rule->segment == NF_SEGMENT_COUNT) {
		*key = "segment";
		return refuse(error, "a condition %s needs one, such as segment = receive_to_copy",
			      kind->name);
	}
	if (!rule->window_ns)
		rule->window_ns = kind->window_ns;
	r = finish_bounds(draft, kind, key, error);
	return r < 0 ? r : finish_actions(draft, key, error);
}
