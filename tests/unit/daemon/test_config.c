/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "daemon/config.h"

static void test_defaults_pass(void **state)
{
	struct config config;
	char error[CONFIG_ERROR_MAX];

	(void)state;
	config_init(&config);
	assert_int_equal(config_check(&config, error), 0);
	assert_int_equal(config.backend.inflight_entries, 65536);
	assert_int_equal(config.backend.drop_rate, 20);
}

static void test_set(void **state)
{
	struct config config;
	char error[CONFIG_ERROR_MAX];

	(void)state;
	config_init(&config);
	assert_int_equal(config_set(&config, "drops.keys=17", error), 0);
	assert_int_equal(config.backend.drop_keys, 17);
	assert_int_equal(config_set(&config, "inflight.entries=64", error), 0);
	assert_int_equal(config.backend.inflight_entries, 64);
	assert_int_equal(config_set(&config, "probes.disable=consume_skb, napi_poll", error), 0);
	assert_true(config.backend.disabled[NF_PROBE_CONSUME_SKB]);
	assert_true(config.backend.disabled[NF_PROBE_NAPI_POLL]);
	assert_false(config.backend.disabled[NF_PROBE_KFREE_SKB]);
}

static void test_set_slots(void **state)
{
	struct config config;
	char error[CONFIG_ERROR_MAX];

	(void)state;
	config_init(&config);
	assert_int_equal(config.backend.slots.limit, 18);
	assert_int_equal(config.backend.slots.names, 0);
	assert_string_equal(config.kmsg, "/dev/kmsg");
	assert_int_equal(config_set(&config, "slots.devices=eth0, a_name_of_15_by", error), 0);
	assert_int_equal(config.backend.slots.names, 2);
	assert_memory_equal(config.backend.slots.name[1], "a_name_of_15_by", NF_DEVICE_NAME);
	assert_false(config.backend.slots.every_device);
	assert_int_equal(config_set(&config, "slots.devices=*", error), 0);
	assert_int_equal(config.backend.slots.names, 0);
	assert_true(config.backend.slots.every_device);
	assert_int_equal(config_set(&config, "slots.attach=kprobe", error), 0);
	assert_int_equal(config.backend.slots.attach, BACKEND_SLOTS_KPROBE);
	assert_int_equal(config_set(&config, "slots.kmsg=", error), 0);
	assert_string_equal(config.kmsg, "");
}

/* The message names each invalid setting and the valid values, and the setting has no effect. */
static void test_refused(void **state)
{
	static const struct {
		const char *setting, *says;
	} cases[] = {
		{"drops.keys=0", "drops.keys = 0: it takes a whole number from 1 to 1048576"},
		{"drops.keys=-1", "whole number"},
		{"drops.keys=12x", "12x"},
		{"drops.keys=", "whole number"},
		{"drops.keys=99999999999999999999999", "whole number"},
		{"inflight.entries=100", "the nearest are 64 and 128"},
		{"drops.key=3", "did you mean drops.keys?"},
		{"inflight=3", "there is no setting inflight"},
		{"slots.limit=128", "from 2 to 127"},
		{"slots.devices=a_name_too_long_x", "at most 15 characters"},
		{"slots.devices=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "at most 16 names"},
		{"slots.attach=kprob", "did you mean kprobe?"},
		{"slots.kmsg=dev/kmsg", "begins with /"},
		{"nonsense", "SECTION.KEY=VALUE"},
		{"=3", "SECTION.KEY=VALUE"},
		{"probes.disable=kfree_skbb", "did you mean kfree_skb?"},
	};
	struct config config, before;
	char error[CONFIG_ERROR_MAX];

	(void)state;
	config_init(&config);
	before = config;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(config_set(&config, cases[i].setting, error), -EINVAL);
		if (!strstr(error, cases[i].says))
			fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].setting, error,
				 cases[i].says);
		assert_memory_equal(&config, &before, sizeof(config));
	}
}

static void write_file(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_file(void **state)
{
	char path[] = "/tmp/netflowd-config-XXXXXX", bad[] = "/tmp/netflowd-config-XXXXXX";
	struct config config, before;
	char error[CONFIG_ERROR_MAX];

	(void)state;
	config_init(&config);
	write_file(path,
		   "# drops\n[drops]\nkeys = 9 ; few\nrate=1\n[probes]\ndisable = napi_poll\n");
	assert_int_equal(config_read(&config, path, error), 0);
	assert_int_equal(config.backend.drop_keys, 9);
	assert_true(config.backend.disabled[NF_PROBE_NAPI_POLL]);
	unlink(path);

	/* A file with a mistake changes no setting, not even those before the mistake. */
	before = config;
	write_file(bad, "[drops]\nkeys = 10\nrte = 5\n");
	assert_int_equal(config_read(&config, bad, error), -EINVAL);
	assert_non_null(
		strstr(error, ":3: there is no setting drops.rte (did you mean drops.rate?)"));
	assert_memory_equal(&config, &before, sizeof(config));
	unlink(bad);

	assert_int_equal(config_read(&config, "/nonexistent/file", error), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_pass), cmocka_unit_test(test_set),
		cmocka_unit_test(test_set_slots),     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
