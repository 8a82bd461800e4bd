/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of a rule's keys: defaults, limits and help. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/value.h"
#include "daemon/alert/keys.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	struct alert_draft *draft = calloc(1, sizeof(*draft));

	assert_non_null(draft);
	assert_int_equal(alert_draft_new(draft, "a", NULL), 0);
	*state = draft;
	return 0;
}

static int teardown(void **state)
{
	alert_draft_clear(*state);
	free(*state);
	return 0;
}

EACH_TEST(setup, teardown);

/* Set a key as if it was not given before. */
static int set(struct alert_draft *draft, const struct alert_key *key, const char *value)
{
	char error[ALERT_ERROR_MAX] = "";
	int r;

	memset(draft->line, 0, sizeof(draft->line));
	r = alert_keys_set(draft, key->name, value, 1, error);
	if (r < 0 && !error[0])
		fail_msg("%s = %s: refused without a word", key->name, value);
	return r;
}

static const struct alert_key *find(const char *name)
{
	for (size_t i = 0; i < alert_key_count; i++)
		if (!strcmp(alert_key_table[i].name, name))
			return &alert_key_table[i];
	fail_msg("there is no key %s", name);
	return NULL;
}

static bool is_duration(const struct alert_key *key)
{
	return !key->values && !key->word;
}

/* Every row has help, values, and a default or the words that say where it comes from. */
TEST(test_rows_are_whole)
{
	for (size_t i = 0; i < alert_key_count; i++) {
		const struct alert_key *key = &alert_key_table[i];
		size_t length = strlen(alert_key_values(key).s);

		assert_true(strlen(key->help) > 10);
		assert_true(length > 5 && length < ALERT_KEY_VALUES_MAX - 1);
		assert_int_equal(!key->initial, key->otherwise != NULL);
		assert_true(key->least <= key->most);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(alert_key_table[j].name, key->name);
	}
}

/* A default is accepted when it is given, and changes nothing. */
TEST(test_defaults)
{
	struct alert_draft *draft = *state;
	const struct alert_rule before = *draft->rule;

	assert_true(before.enabled);
	assert_int_equal(before.severity, ALERT_WARNING);
	assert_int_equal(before.for_ns, 0);
	assert_int_equal(before.clear_for_ns, 0);
	assert_int_equal(before.repeat_ns, UINT64_C(3600000000000));
	assert_true(before.quantile == 0.99);
	assert_int_equal(before.at_least, 20);
	assert_int_equal(before.exec_limit_ns, UINT64_C(10000000000));
	for (size_t i = 0; i < alert_key_count; i++) {
		const struct alert_key *key = &alert_key_table[i];

		if (!key->initial)
			continue;
		if (set(draft, key, key->initial) < 0)
			fail_msg("%s: its default is refused", key->name);
		assert_memory_equal(draft->rule, &before, sizeof(before));
	}
}

TEST(test_limits_of_durations)
{
	struct alert_draft *draft = *state;
	size_t durations = 0;

	for (size_t i = 0; i < alert_key_count; i++) {
		const struct alert_key *key = &alert_key_table[i];
		const uint64_t *ns = (const uint64_t *)((const char *)draft->rule + key->offset);

		if (!is_duration(key))
			continue;
		assert_true(*ns <= key->most);
		assert_true(*ns >= key->least || !key->initial);
		assert_int_equal(set(draft, key, value_duration_text(key->least).s), 0);
		assert_int_equal(*ns, key->least);
		assert_int_equal(set(draft, key, value_duration_text(key->most).s), 0);
		assert_int_equal(*ns, key->most);
		assert_int_equal(set(draft, key, value_duration_text(key->most + 1).s), -EINVAL);
		if (key->least)
			assert_int_equal(set(draft, key, value_duration_text(key->least - 1).s),
					 -EINVAL);
		assert_int_equal(*ns, key->most);
		durations++;
	}
	assert_int_equal(durations, 5);
}

TEST(test_limits_of_numbers)
{
	const struct alert_key *packets = find("at_least"), *quantile = find("quantile");
	struct alert_draft *draft = *state;

	assert_int_equal(set(draft, packets, "1"), 0);
	assert_int_equal(set(draft, packets, "1000000000"), 0);
	assert_int_equal(draft->rule->at_least, 1000000000);
	assert_int_equal(set(draft, packets, "0"), -EINVAL);
	assert_int_equal(set(draft, packets, "1.5"), -EINVAL);
	assert_int_equal(set(draft, packets, "1000000001"), -EINVAL);
	assert_int_equal(set(draft, quantile, "p0"), 0);
	assert_int_equal(set(draft, quantile, "1"), 0);
	assert_int_equal(set(draft, quantile, "p100"), 0);
	assert_int_equal(set(draft, quantile, "p100.1"), -EINVAL);
	assert_int_equal(set(draft, quantile, "1.1"), -EINVAL);
	assert_true(draft->rule->quantile == 1);
}

/* Each word that help lists is accepted. */
TEST(test_words)
{
	struct alert_draft *draft = *state;

	for (size_t i = 0; i < alert_key_count; i++) {
		const struct alert_key *key = &alert_key_table[i];

		for (int word = 0; key->word && key->word(word); word++) {
			assert_int_equal(set(draft, key, key->word(word)), 0);
			assert_non_null(strstr(alert_key_values(key).s, key->word(word)));
		}
	}
	assert_int_equal(draft->rule->kind, ALERT_KIND_COUNT - 1);
	assert_int_equal(draft->rule->segment, NF_SEGMENT_COUNT - 1);
	assert_int_equal(draft->rule->severity, ALERT_SEVERITY_COUNT - 1);
	assert_int_equal(draft->rule->actions, ALERT_TO_EXEC);
}

/* Defaults that depend on the condition are those of alert_kinds. */
TEST(test_defaults_of_conditions)
{
	assert_string_equal(
		find("over")->otherwise,
		"default 0 for slot_overflow, ledger_gap, probe_lost and paused, required for all others");
	assert_string_equal(find("window")->otherwise,
			    "default 10s for drop_rate, 1min for all others");
	for (int i = 0; i < ALERT_KIND_COUNT; i++) {
		const struct alert_kind *kind = &alert_kinds[i];
		bool has_over = i == ALERT_SLOT_OVERFLOW || i == ALERT_LEDGER_GAP ||
				i == ALERT_PROBE_LOST || i == ALERT_PAUSED;

		assert_int_equal(kind->has_over, has_over);
		assert_true(kind->over == 0);
		assert_int_equal(kind->window_ns != 0, (kind->takes & ALERT_TAKES_WINDOW) != 0);
		if (kind->window_ns)
			assert_string_equal(value_duration_text(kind->window_ns).s,
					    i == ALERT_DROP_RATE ? "10s" : "1min");
	}
}

/* Found with grep, a line says it all, and refers to no other line. */
TEST(test_help_lines_make_sense_alone)
{
	char *text = NULL, *line, *rest;
	size_t size, count = 0;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	alert_keys_help(to);
	fclose(to);
	assert_non_null(strstr(text, "(a duration from 0 to 365d; default 1h)\n"));
	assert_non_null(strstr(text, "default p99; only for latency)\n"));
	assert_non_null(strstr(text, "  drop_rate       dropped packets (number per second; over: "
				     "required; window: default 10s)\n"));
	for (rest = text; (line = strsep(&rest, "\n")) && *line; count++) {
		const struct alert_key *key = &alert_key_table[count];

		assert_true(count < alert_key_count);
		assert_int_equal(strncmp(line + 2, key->name, strlen(key->name)), 0);
		assert_non_null(strstr(line, key->help));
		assert_non_null(strstr(line, alert_key_values(key).s));
		assert_non_null(strstr(line, key->initial ? key->initial : key->otherwise));
		assert_true(strstr(line, "default ") || strstr(line, "required"));
	}
	assert_int_equal(count, alert_key_count);
	/* The conditions: a blank line, the heading, one line each. */
	for (count = 0; (line = strsep(&rest, "\n")) && *line; count++)
		;
	assert_int_equal(count, 1 + ALERT_KIND_COUNT);
	free(text);
}
