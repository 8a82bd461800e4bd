/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/keys.h"

#include <string.h>

#include "common/array.h"
#include "common/nearest.h"
#include "common/netns.h"
#include "common/value.h"
#include "daemon/alert/setters.h"
#include "daemon/alert/values.h"

/* ---- the table ----------------------------------------------------------- */

#define STRING_(token) #token
#define STRING(token) STRING_(token)
#define AT(member) .offset = offsetof(struct alert_rule, member)

const struct alert_key alert_key_table[] = {
	{
		.name = "condition",
		.set = alert_set_condition,
		.word = alert_condition_word,
		.otherwise = "required",
		.help = "condition that the rule watches",
	},
	{
		.name = "enabled",
		.set = alert_set_enabled,
		.values = "yes or no",
		.initial = "yes",
		.help = "evaluate the rule",
	},
	{
		.name = "severity",
		.set = alert_set_severity,
		.word = alert_severity_word,
		.initial = "warning",
		.help = "severity of the alert",
	},
	{
		.name = "over",
		.set = alert_set_over,
		.values =
			"a count, a number per second such as 100/s, or a duration from 0 to 1d, as the condition requires; for ledger_gap also a share such as 0.1%",
		.otherwise =
			"default 0 for slot_overflow, ledger_gap, probe_lost and paused, required for all others",
		.help = "threshold: the condition holds while the value is above it",
	},
	{
		.name = "clear",
		.set = alert_set_clear,
		.values = "a value in the unit of over, at most over",
		.otherwise = "default the value of over",
		.help = "threshold: the condition has ended when the value is at or below it",
	},
	{
		.name = "window",
		.set = alert_set_duration,
		AT(window_ns),
		.least = TIME_NS_PER_SECOND,
		.most = ALERT_DAYS(1),
		.parameter = ALERT_TAKES_WINDOW,
		.otherwise = "default 10s for drop_rate, 1min for all others",
		.help = "time over which counts, rates and quantiles are computed",
	},
	{
		.name = "for",
		.set = alert_set_duration,
		AT(for_ns),
		.most = ALERT_DAYS(7),
		.initial = "0",
		.help = "how long the condition must hold before the alert fires",
	},
	{
		.name = "clear_for",
		.set = alert_set_duration,
		AT(clear_for_ns),
		.most = ALERT_DAYS(7),
		.initial = "0",
		.help = "how long the value must stay at or below `clear` to resolve the alert",
	},
	{
		.name = "repeat",
		.set = alert_set_duration,
		AT(repeat_ns),
		.most = ALERT_DAYS(365),
		.initial = "1h",
		.help = "while the alert fires, repeat the actions at this interval; 0: never",
	},
	{
		.name = "reason",
		.set = alert_set_reason,
		.most = ALERT_REASONS_MAX,
		.parameter = ALERT_TAKES_REASON,
		.values = "1 to " STRING(
			ALERT_REASONS_MAX) " names or numbers, separated by commas or blanks",
		.otherwise = "default all reasons",
		.help = "drop reasons, those that netflowd infers included; with ! before the first, all other reasons",
	},
	{
		.name = "class",
		.set = alert_set_class,
		.word = alert_class_word,
		.parameter = ALERT_TAKES_REASON,
		.values = "fault, policy, benign and unknown, separated by commas or blanks",
		.otherwise = "default all classes",
		.help = "count only drops of these classes",
	},
	{
		.name = "device",
		.set = alert_set_device,
		.parameter = ALERT_TAKES_DEVICE,
		.values = "a device name of 1 to 15 characters",
		.otherwise = "default all devices",
		.help = "watch only the device of this name",
	},
	{
		.name = "netns",
		.set = alert_set_netns,
		.parameter = ALERT_TAKES_NETNS,
		.values = NETNS_FORMS,
		.otherwise = "default all network namespaces",
		.help = "watch only this network namespace; a name is looked up at each evaluation",
	},
	{
		.name = "protocol",
		.set = alert_set_protocol,
		.parameter = ALERT_TAKES_PROTOCOL,
		.values = "one protocol of at most " STRING(
			ALERT_PROTOCOL_MAX) " characters as netflowctl drops shows it, such as ipv4, ipv4/udp, arp or 0x88cc",
		.otherwise = "default all protocols",
		.help = "count only drops of this protocol",
	},
	{
		.name = "segment",
		.set = alert_set_segment,
		.word = alert_segment_word,
		.parameter = ALERT_TAKES_SEGMENT,
		.otherwise = "required",
		.help = "segment whose latency is compared",
	},
	{
		.name = "quantile",
		.set = alert_set_quantile,
		.parameter = ALERT_TAKES_SEGMENT,
		.values = "a quantile from p0 to p100, or from 0 to 1",
		.initial = "p99",
		.help = "quantile of the latency, computed for each device; the highest value is compared",
	},
	{
		.name = "at_least",
		.set = alert_set_at_least,
		.least = 1,
		.most = 1000000000,
		.parameter = ALERT_TAKES_AT_LEAST,
		.values = "a whole number from 1 to 1000000000",
		.initial = "20",
		.help = "latency: packets that a device must have in the window for its quantile to count, without those that netflowd did not follow to keep its cost within the budget; ledger_gap: events that must be lost in the window for a share to count",
	},
	{
		.name = "actions",
		.set = alert_set_actions,
		.word = alert_action_word,
		.values = "journal, stream and exec, separated by commas or blanks; empty: none",
		.otherwise = "default journal and stream, and exec if a program is given",
		.help = "actions when the alert fires, repeats or is resolved",
	},
	{
		.name = "exec",
		.set = alert_set_exec,
		.values = "an absolute path and at most 63 arguments, separated by blanks",
		.otherwise = "default none",
		.help = "program to run, without a shell; it reads the alert as JSON from its standard input",
	},
	{
		.name = "exec_limit",
		.set = alert_set_duration,
		AT(exec_limit_ns),
		.least = TIME_NS_PER_SECOND,
		.most = ALERT_DAYS(1),
		.initial = "10s",
		.help = "time after which netflowd kills the program",
	},
	{
		.name = "cause",
		.set = alert_set_text,
		AT(cause),
		.values = "any text",
		.otherwise = "default the known cause of the main drop reason or of the condition",
		.help = "likely cause, in your words",
	},
	{
		.name = "remedy",
		.set = alert_set_text,
		AT(remedy),
		.values = "any text",
		.otherwise =
			"default the known remedy for the main drop reason or for the condition",
		.help = "remedy, in your words",
	},
};

const size_t alert_key_count = ARRAY_SIZE(alert_key_table);

_Static_assert(ARRAY_SIZE(alert_key_table) <= ARRAY_SIZE(((struct alert_draft *)NULL)->line),
	       "a line for each key");
_Static_assert(ALERT_KIND_COUNT < ARRAY_SIZE(((struct alert_key_words *)NULL)->word) &&
		       NF_SEGMENT_COUNT < ARRAY_SIZE(((struct alert_key_words *)NULL)->word),
	       "the words of a key, and NULL");
_Static_assert(NF_DEVICE_NAME == 16, "15 characters, as the key `device` says");

int alert_draft_new(struct alert_draft *draft, const char *name, const struct names *names)
{
	char error[ALERT_ERROR_MAX];
	int r = alert_rule_new(&draft->rule, name);

	draft->names = names;
	for (size_t i = 0; r == 0 && i < alert_key_count; i++) {
		const struct alert_key *key = &alert_key_table[i];

		if (key->initial)
			r = key->set(draft, key, key->initial, error);
	}
	return r;
}

int alert_keys_set(struct alert_draft *draft, const char *name, const char *value,
		   unsigned int line, char *error)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < alert_key_count; i++) {
		const struct alert_key *key = &alert_key_table[i];

		nearest_consider(&nearest, key->name);
		if (strcmp(key->name, name))
			continue;
		if (draft->line[i])
			return alert_refuse(error, "given twice, first in line %u", draft->line[i]);
		draft->line[i] = line;
		return key->set(draft, key, value, error);
	}
	return alert_refuse_word(error, "there is no key", name, nearest.best);
}

unsigned int alert_keys_line(const struct alert_draft *draft, const char *key)
{
	for (size_t i = 0; key && i < alert_key_count; i++)
		if (!strcmp(alert_key_table[i].name, key))
			return draft->line[i];
	return 0;
}

int alert_keys_check(const struct alert_draft *draft, const struct alert_kind *kind,
		     const char **key, char *error)
{
	for (size_t i = 0; i < alert_key_count; i++)
		if (draft->line[i] && alert_key_table[i].parameter & ~kind->takes) {
			*key = alert_key_table[i].name;
			return alert_refuse(error, "condition %s has no %s", kind->name, *key);
		}
	return 0;
}

/* ---- help ---------------------------------------------------------------- */

struct alert_key_words alert_key_words(const struct alert_key *key)
{
	struct alert_key_words words = {{NULL}};

	for (size_t i = 0; i + 1 < ARRAY_SIZE(words.word) && key->word((int)i); i++)
		words.word[i] = key->word((int)i);
	return words;
}

struct alert_key_values alert_key_values(const struct alert_key *key)
{
	struct alert_key_values text = {""};

	if (key->values)
		snprintf(text.s, sizeof(text.s), "%s", key->values);
	else if (key->word)
		value_words_text(alert_key_words(key).word, text.s, sizeof(text.s));
	else
		snprintf(text.s, sizeof(text.s), "a duration from %s to %s",
			 value_duration_text(key->least).s, value_duration_text(key->most).s);
	return text;
}

/* "; only for drop_rate, latency", if not every condition has the key. */
static void print_conditions(FILE *to, const struct alert_key *key)
{
	const char *joint = "; only for ";

	for (int i = 0; key->parameter && i < ALERT_KIND_COUNT; i++)
		if (alert_kinds[i].takes & key->parameter) {
			fprintf(to, "%s%s", joint, alert_kinds[i].name);
			joint = ", ";
		}
}

static void print_key(FILE *to, const struct alert_key *key)
{
	fprintf(to, "  %-15s %s (%s; %s%s", key->name, key->help, alert_key_values(key).s,
		key->initial ? "default " : "", key->initial ? key->initial : key->otherwise);
	print_conditions(to, key);
	fputs(")\n", to);
}

static void print_kind(FILE *to, const struct alert_kind *kind)
{
	static const char *const units[] = {
		[ALERT_UNIT_COUNT] = "count",
		[ALERT_UNIT_RATE] = "number per second",
		[ALERT_UNIT_DURATION] = "duration",
	};

	fprintf(to, "  %-15s %s (%s%s; over: ", kind->name, kind->what, units[kind->unit],
		kind->has_share ? ", or with % their share of all events" : "");
	if (kind->has_over)
		fprintf(to, "default %g", kind->over);
	else
		fputs("required", to);
	if (kind->window_ns)
		fprintf(to, "; window: default %s", value_duration_text(kind->window_ns).s);
	fputs(")\n", to);
}

void alert_keys_help(FILE *to)
{
	for (size_t i = 0; i < alert_key_count; i++)
		print_key(to, &alert_key_table[i]);
	fputs("\nConditions:\n", to);
	for (int i = 0; i < ALERT_KIND_COUNT; i++)
		print_kind(to, &alert_kinds[i]);
}
