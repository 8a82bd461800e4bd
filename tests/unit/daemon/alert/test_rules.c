/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rule files: their rules, and the messages about their mistakes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "daemon/alert/rules.h"
#include "daemon/core/names.h"
#include "daemon/core/verdict.h"
#include "tests/unit/test.h"

#define S UINT64_C(1000000000)

struct fixture {
	struct names *names;
	struct alert_rules *rules;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_int_equal(names_new(&fixture->names), 0);
	names_add_reason(fixture->names, 3, "SKB_DROP_REASON_NO_SOCKET");
	names_add_reason(fixture->names, 8, "SKB_DROP_REASON_NETFILTER_DROP");
	assert_int_equal(alert_rules_new(&fixture->rules), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	alert_rules_free(&fixture->rules);
	names_free(&fixture->names);
	free(fixture);
	return 0;
}

EACH_TEST(setup, teardown);

static void parse(struct fixture *fixture, const char *text)
{
	assert_int_equal(alert_rules_parse(fixture->rules, "x.conf", text, fixture->names), 0);
}

/* Returns the only rule of a text without mistakes. */
static const struct alert_rule *only(struct fixture *fixture, const char *text)
{
	parse(fixture, text);
	if (fixture->rules->faults)
		fail_msg("%s", fixture->rules->fault[0].text);
	assert_int_equal(fixture->rules->count, 1);
	return fixture->rules->rule[0];
}

TEST(test_defaults)
{
	const struct alert_rule *rule =
		only(*state, "[alert a]\ncondition = drop_rate\nover = 10\n");

	assert_string_equal(rule->name, "a");
	assert_string_equal(rule->file, "x.conf");
	assert_int_equal(rule->line, 1);
	assert_true(rule->enabled);
	assert_int_equal(rule->severity, ALERT_WARNING);
	assert_int_equal(rule->kind, ALERT_DROP_RATE);
	assert_true(rule->over == 10 && rule->clear == 10);
	assert_int_equal(rule->window_ns, 10 * S);
	assert_int_equal(rule->for_ns, 0);
	assert_int_equal(rule->repeat_ns, 3600 * S);
	assert_int_equal(rule->actions, ALERT_TO_JOURNAL | ALERT_TO_STREAM);
	assert_null(rule->exec);
	assert_non_null(alert_rule_cause(rule, NULL));
}

TEST(test_all_keys)
{
	const struct alert_rule *rule = only(
		*state, "# a comment\n\n; another\n"
			"[alert all.of-them_1]\r\n"
			"condition=drop_rate\r\n"
			"enabled = no\n"
			"severity : critical ; why not\n"
			"over = 1000/s\nclear = 2.5\nwindow = 30s\nfor = 1min\nclear_for = 0\n"
			"repeat = 1d\nreason = ! SKB_DROP_REASON_NO_SOCKET, netfilter_drop 77\n"
			"device = eth0\nnetns = 4026531840\nprotocol = ipv4/udp\n"
			"actions = exec, journal\nexec = /bin/page --to me\nexec_limit = 3s\n"
			"cause = somebody\nremedy = Do this,\n   then that,\n\tthen rest.\n");

	assert_string_equal(rule->name, "all.of-them_1");
	assert_false(rule->enabled);
	assert_int_equal(rule->severity, ALERT_CRITICAL);
	assert_true(rule->over == 1000 && rule->clear == 2.5);
	assert_int_equal(rule->window_ns, 30 * S);
	assert_int_equal(rule->for_ns, 60 * S);
	assert_int_equal(rule->repeat_ns, 86400 * S);
	assert_int_equal(rule->reasons, 3);
	assert_true(rule->not_reasons);
	assert_string_equal(rule->reason[0].name, "NO_SOCKET");
	assert_string_equal(rule->reason[1].name, "NETFILTER_DROP");
	assert_string_equal(rule->reason[2].name, "");
	assert_int_equal(rule->reason[2].number, 77);
	assert_int_equal(rule->classes, VERDICT_CLASSES_ALL);
	assert_string_equal(rule->device, "eth0");
	assert_string_equal(rule->netns, "4026531840");
	assert_string_equal(rule->protocol, "ipv4/udp");
	assert_int_equal(rule->actions, ALERT_TO_JOURNAL | ALERT_TO_EXEC);
	assert_string_equal(rule->exec, "/bin/page --to me");
	assert_int_equal(rule->exec_limit_ns, 3 * S);
	assert_string_equal(alert_rule_cause(rule, NULL), "somebody");
	assert_string_equal(alert_rule_remedy(rule, "NO_SOCKET"), "Do this, then that, then rest.");
}

TEST(test_latency)
{
	static const char *const names[] = {"receive_to_copy", "receive→copy", "receive->copy",
					    "rx receive→copy"};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "[alert a%zu]\ncondition = latency\nsegment = %s\nover = 5ms\n"
			 "clear = 1500us\nquantile = p99.9\nat_least = 100\n",
			 i, names[i]);
		parse(fixture, text);
		assert_int_equal(fixture->rules->faults, 0);
		assert_int_equal(fixture->rules->rule[i]->segment, NF_SEGMENT_RECEIVE_TO_COPY);
		assert_true(fixture->rules->rule[i]->over == 5e6);
		assert_true(fixture->rules->rule[i]->clear == 1.5e6);
		assert_float_equal(fixture->rules->rule[i]->quantile, 0.999, 1e-12);
		assert_int_equal(fixture->rules->rule[i]->at_least, 100);
	}
}

/* A kernel without drop reasons: no name can be checked. */
TEST(test_kernel_without_reasons)
{
	struct fixture *fixture = *state;

	assert_int_equal(alert_rules_parse(fixture->rules, "x",
					   "[alert a]\ncondition = drop_rate\n"
					   "over = 1\nreason = NO_SOCKT\n",
					   NULL),
			 0);
	assert_int_equal(fixture->rules->faults, 0);
	assert_true(fixture->rules->rule[0]->without_reasons);
}

/* ---- mistakes ------------------------------------------------------------ */

#define RULE "[alert a]\ncondition = drop_rate\nover = 1\n"

TEST(test_mistakes)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *key, *says;
	} cases[] = {
		{"[alert a]\nover = 1\n", 1, "condition", "every rule requires one"},
		{"[alert a]\n", 1, "condition", "every rule requires one"},
		{"[alert a]\ncondition = drop_rte\n", 2, "condition", "did you mean drop_rate?"},
		{"[alert a]\ncondition = drop_rate\n", 1, "over", "requires a threshold"},
		{"[alert a]\ncondition = latency\nover = 1ms\n", 1, "segment", "requires one"},
		{"[alert a]\ncondition = latency\nsegment = receve->copy\nover = 1ms\n", 3,
		 "segment", "receive_to_copy"},
		{"[alert a]\ncondition = latency\nsegment = rx_total\nover = 5\n", 4, "over",
		 "with its unit"},
		{RULE "clear = 2\n", 4, "clear", "more than over"},
		{RULE "clear = few\n", 4, "clear", "must be a number per second, such as 100/s"},
		{RULE "over = 2\n", 4, "over", "given twice, first in line 3"},
		{RULE "windw = 1s\n", 4, "windw", "did you mean window?"},
		{RULE "window = 10\n", 4, "window", "with its unit"},
		{RULE "window = 10ms\n", 4, "window", "from 1s to 1d"},
		{RULE "window = 2d\n", 4, "window", "from 1s to 1d"},
		{RULE "for = soon\n", 4, "for", "duration"},
		{RULE "severity = critcal\n", 4, "severity", "did you mean critical?"},
		{RULE "enabled = maybe\n", 4, "enabled", "yes or no"},
		{RULE "reason = NO_SOCKT\n", 4, "reason", "did you mean NO_SOCKET?"},
		{RULE "reason = NO_SOCKT\n", 4, "reason",
		 "this kernel has no drop reason NO_SOCKT"},
		{RULE "reason = !\n", 4, "reason", "one or more"},
		{RULE "device = much-too-long-a-name\n", 4, "device", "1 to 15 characters"},
		{RULE "netns = a/b\n", 4, "netns", "inode number"},
		{RULE "netns = 0\n", 4, "netns", "from 1 to 4294967295"},
		{RULE "netns = 4294967296\n", 4, "netns", "from 1 to 4294967295"},
		{RULE "protocol = udp, tcp\n", 4, "protocol", "one protocol"},
		{RULE "segment = rx_total\n", 4, "segment", "has no segment"},
		{RULE "quantile = p50\n", 4, "quantile", "has no quantile"},
		{RULE "actions = journl\n", 4, "actions", "did you mean journal?"},
		{RULE "actions = exec\n", 4, "actions", "exec = /path"},
		{RULE "exec = page\n", 4, "exec", "absolute path"},
		{RULE "what is this\n", 4, "", "neither [alert NAME] nor key = value"},
		{RULE "[alert a]\ncondition = probe_lost\n", 4, "", "already, in x.conf:1"},
		{RULE "[alert b c]\ncondition = probe_lost\n", 4, "", "1 to 63 letters"},
		{RULE "[alart b]\ncondition = probe_lost\n", 4, "", "must be [alert NAME]"},
		{"over = 1\n" RULE, 1, "over", "before the first"},
		{"[alert p]\ncondition = probe_lost\nwindow = 5s\n", 3, "window", "has no window"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture *fixture = *state;
		const struct alert_fault *fault;
		char line[512];

		alert_rules_free(&fixture->rules);
		assert_int_equal(alert_rules_new(&fixture->rules), 0);
		parse(fixture, cases[i].text);
		if (fixture->rules->faults != 1)
			fail_msg("%s: %zu faults", cases[i].text, fixture->rules->faults);
		fault = &fixture->rules->fault[0];
		if (fault->line != cases[i].line || strcmp(fault->key, cases[i].key) ||
		    !strstr(fault->text, cases[i].says))
			fail_msg("%s: line %u, key %s: %s", cases[i].text, fault->line, fault->key,
				 fault->text);
		alert_fault_format(fault, line, sizeof(line));
		assert_non_null(strstr(line, "x.conf:"));
	}
}

/* Five mistakes in four rules, and two correct rules, which stay active. */
TEST(test_others_run_on)
{
	struct fixture *fixture = *state;

	parse(fixture, "[alert one]\ncondition = probe_lost\n"
		       "[alert two]\ncondition = drop_rate\nover = many\n"
		       "[alert three]\nnonsense\nmore nonsense\n condition = probe_lost\n"
		       "[alert four]\ncondition = ledger_gap\n"
		       "[alrt five]\ncondition = nothing\n"
		       "[alert six]\n");
	assert_int_equal(fixture->rules->count, 2);
	assert_string_equal(fixture->rules->rule[0]->name, "one");
	assert_string_equal(fixture->rules->rule[1]->name, "four");
	assert_int_equal(fixture->rules->rule[1]->line, 10);
	assert_int_equal(fixture->rules->faults, 5);
	assert_int_equal(fixture->rules->fault[0].line, 5);
	assert_int_equal(fixture->rules->fault[1].line, 7);
	assert_int_equal(fixture->rules->fault[2].line, 8);
	assert_int_equal(fixture->rules->fault[3].line, 12);
	assert_int_equal(fixture->rules->fault[4].line, 14);
}

TEST(test_long_line)
{
	struct fixture *fixture = *state;
	char text[4096] = "[alert a]\ncondition = probe_lost\nremedy = ";

	memset(text + strlen(text), 'x', 2000);
	strcat(text, "\n[alert b]\ncondition = probe_lost\n");
	parse(fixture, text);
	assert_int_equal(fixture->rules->count, 1);
	assert_string_equal(fixture->rules->rule[0]->name, "b");
	assert_int_equal(fixture->rules->faults, 1);
	assert_int_equal(fixture->rules->fault[0].line, 3);
	assert_non_null(strstr(fixture->rules->fault[0].text, "too long"));
}

/* ---- directories --------------------------------------------------------- */

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

#define SHIPPED "shipped/10-slots.conf"

static const struct alert_rule *find(const struct alert_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->count; i++)
		if (!strcmp(rules->rule[i]->name, name))
			return rules->rule[i];
	return NULL;
}

static struct alert_rules *read_directory(struct fixture *fixture, const char *directory)
{
	alert_rules_free(&fixture->rules);
	assert_int_equal(alert_rules_read(&fixture->rules, directory, fixture->names), 0);
	return fixture->rules;
}

static void delete (const char *directory, const char *const name[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", directory, name[i]);
		assert_int_equal(remove(path), 0);
	}
	assert_int_equal(rmdir(directory), 0);
}

/* Without a directory, the rules are the files of config/alerts.d, and these have no mistake. */
TEST(test_shipped)
{
	struct alert_rules *rules = read_directory(*state, "/nonexistent/netflowd");

	if (rules->faults)
		fail_msg("%s", rules->fault[0].text);
	assert_string_equal(rules->rule[0]->name, "slot-overflow");
	assert_string_equal(rules->rule[0]->file, SHIPPED);
	assert_true(find(rules, "slot-overflow")->enabled);
	assert_true(find(rules, "probe-lost")->enabled);
	assert_true(find(rules, "ledger-gap")->enabled);
	assert_false(find(rules, "drops")->enabled);
}

TEST(test_directory)
{
	static const char *const made[] = {"b.conf", "15-a.conf", "c.conf.old", ".d.conf",
					   "z.conf"};
	char directory[] = "/tmp/netflowd-rules-XXXXXX", path[128];
	struct alert_rules *rules;

	assert_non_null(mkdtemp(directory));
	for (size_t i = 0; i < 4; i++) {
		char text[64];

		snprintf(text, sizeof(text), "[alert r%zu]\ncondition = probe_lost\n", i);
		write_file(directory, made[i], text);
	}
	snprintf(path, sizeof(path), "%s/z.conf", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	rules = read_directory(*state, directory);
	delete (directory, made, 5);
	/* The order is that of all file names, shipped ones included. */
	assert_non_null(find(rules, "r0"));
	assert_string_equal(rules->rule[rules->count - 1]->name, "r0");
	assert_string_equal(rules->rule[2]->name, "r1");
	assert_string_equal(rules->rule[3]->file, "shipped/20-netflowd.conf");
	assert_null(find(rules, "r2"));
	assert_null(find(rules, "r3"));
	/* A directory is not a file that can be read. */
	assert_int_equal(rules->faults, 1);
	assert_int_equal(rules->fault[0].line, 0);
	assert_non_null(strstr(rules->fault[0].file, "/z.conf"));
}

/* A file replaces the shipped one of its name, also when it is empty or has a mistake. */
TEST(test_shipped_is_replaced)
{
	static const char *const made[] = {"10-slots.conf", "20-netflowd.conf", "40-own.conf"};
	char directory[] = "/tmp/netflowd-rules-XXXXXX";
	struct alert_rules *rules;

	assert_non_null(mkdtemp(directory));
	write_file(directory, made[0],
		   "[alert slot-overflow]\ncondition = slot_overflow\nover = 7\n"
		   "[alert drops]\ncondition = ledger_gap\n");
	write_file(directory, made[1], "");
	rules = read_directory(*state, directory);
	assert_true(find(rules, "slot-overflow")->over == 7);
	assert_null(find(rules, "slot-near-miss"));
	assert_null(find(rules, "probe-lost"));
	assert_null(find(rules, "ledger-gap"));
	assert_non_null(find(rules, "time-squeeze"));
	/* A rule of the administrator replaces the shipped one of its name, whichever file is read first. */
	assert_int_equal(find(rules, "drops")->kind, ALERT_LEDGER_GAP);
	assert_int_equal(rules->faults, 0);
	write_file(directory, made[0], "[alert slot-overflow]\ncondition = slot_overflow\n");
	write_file(
		directory, made[2],
		"[alert drops]\ncondition = ledger_gap\n[alert slot-overflow]\ncondition = ledger_gap\n");
	rules = read_directory(*state, directory);
	assert_int_equal(find(rules, "drops")->kind, ALERT_LEDGER_GAP);
	/* Two rules of one name of the administrator are a mistake. */
	assert_int_equal(find(rules, "slot-overflow")->kind, ALERT_SLOT_OVERFLOW);
	assert_int_equal(rules->faults, 1);
	assert_non_null(strstr(rules->fault[0].file, "/40-own.conf"));
	assert_string_equal(rules->fault[0].rule, "slot-overflow");
	write_file(directory, made[2], "");
	write_file(directory, made[0], "[alert slot-overflow]\ncondition = slot_overflo\n");
	rules = read_directory(*state, directory);
	delete (directory, made, 3);
	assert_null(find(rules, "slot-overflow"));
	assert_int_equal(rules->faults, 1);
}

TEST(test_no_directory)
{
	struct alert_rules *rules = read_directory(*state, "/dev/null");

	assert_int_equal(rules->faults, 1);
	assert_int_equal(rules->fault[0].line, 0);
	assert_string_equal(rules->fault[0].file, "/dev/null");
	assert_non_null(strstr(rules->fault[0].text, "Not a directory"));
	assert_non_null(find(rules, "slot-overflow"));
}
