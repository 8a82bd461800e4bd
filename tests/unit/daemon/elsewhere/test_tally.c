/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of the kernel's counters over scans: first values, restarts, moves, deletions, and scans that fail in part. */
#include <stdio.h>
#include <string.h>

#include "daemon/elsewhere/tally.h"
#include "tests/unit/test.h"

#define NETNS 1

static struct tally *tally;
static uint64_t now;

static int setup(void **state)
{
	(void)state;
	now = 0;
	return tally_new(&tally);
}

static int teardown(void **state)
{
	(void)state;
	tally_free(&tally);
	return 0;
}

EACH_TEST(setup, teardown);

static void add(const struct tally_place *place)
{
	assert_int_equal(tally_add_place(tally, place), 0);
}

static void begin(uint32_t netns)
{
	add(&(struct tally_place){.cookie = netns, .netns = netns});
}

/* A device with its counter rx_dropped. */
static void device(uint32_t netns, uint32_t ifindex, const char *kind, uint8_t mac, uint64_t value)
{
	struct tally_place place = {
		.cookie = netns, .netns = netns, .ifindex = ifindex, .mac = {2, 0, 0, 0, 0, mac}};

	snprintf(place.kind, sizeof(place.kind), "%s", kind);
	snprintf(place.name, sizeof(place.name), "d%u", ifindex);
	add(&place);
	assert_int_equal(
		tally_add_counter(tally, ELSEWHERE_LINK, ifindex, NULL, "rx_dropped", 0, value), 0);
}

static void scan_begin(void)
{
	tally_begin(tally, ++now);
	begin(NETNS);
}

static void scan_end(void)
{
	assert_int_equal(tally_end(tally, true), 0);
}

static const struct tally_counter *find(uint32_t netns, uint32_t ifindex)
{
	for (size_t i = 0; i < tally_count(tally); i++)
		if (tally_at(tally, i)->key.netns == netns &&
		    tally_at(tally, i)->key.ifindex == ifindex)
			return tally_at(tally, i);
	return NULL;
}

static uint64_t sum(uint32_t netns, uint32_t ifindex)
{
	const struct tally_counter *counter = find(netns, ifindex);

	return counter ? counter->sum : 0;
}

/* The counters of one namespace with one device, in a scan. */
static void scan(const char *kind, uint64_t value)
{
	scan_begin();
	device(NETNS, 2, kind, 7, value);
	scan_end();
}

TEST(test_begins_with_the_first_value)
{
	scan("veth", 100);
	assert_int_equal(sum(NETNS, 2), 0);
	scan("veth", 103);
	assert_int_equal(sum(NETNS, 2), 3);
	assert_int_equal(find(NETNS, 2)->moved_ns, 2);
	scan("veth", 103);
	assert_int_equal(sum(NETNS, 2), 3);
	assert_int_equal(find(NETNS, 2)->moved_ns, 2);
}

TEST(test_a_counter_that_first_moves_counts_from_0)
{
	scan("", 0);
	scan("", 5);
	assert_int_equal(sum(NETNS, 2), 5);
}

TEST(test_a_restarted_counter_counts_on)
{
	scan("veth", 10);
	scan("veth", 14);
	scan("veth", 3);
	assert_int_equal(sum(NETNS, 2), 7);
}

/* A counter that could not be read, or is 0 again, keeps its sum. */
TEST(test_an_absent_counter_keeps_its_sum)
{
	scan("veth", 10);
	scan("veth", 14);
	scan("veth", 0);
	assert_int_equal(sum(NETNS, 2), 4);
	scan("veth", 15);
	assert_int_equal(sum(NETNS, 2), 5);
}

TEST(test_new_devices)
{
	static const struct {
		const char *kind;
		uint64_t counted;
	} cases[] = {{"veth", 9}, {"", 0}};

	for (uint32_t i = 0; i < 2; i++) {
		scan("veth", 0);
		scan_begin();
		device(NETNS, 2, "veth", 7, 0);
		device(NETNS, 10 + i, cases[i].kind, (uint8_t)(20 + i), 9);
		scan_end();
		assert_int_equal(sum(NETNS, 10 + i), cases[i].counted);
	}
}

TEST(test_a_new_namespace_counts_from_0)
{
	scan("veth", 1);
	scan_begin();
	device(NETNS, 2, "veth", 7, 1);
	begin(2);
	device(2, 5, "veth", 8, 6);
	scan_end();
	assert_int_equal(sum(2, 5), 6);
}

/* If the last scan did not see all namespaces, nothing says that this one is new. */
TEST(test_a_namespace_that_may_be_old)
{
	scan_begin();
	assert_int_equal(tally_end(tally, false), 0);
	scan_begin();
	begin(2);
	device(2, 5, "veth", 8, 6);
	scan_end();
	assert_int_equal(sum(2, 5), 0);
}

TEST(test_a_moved_device_counts_once)
{
	scan("veth", 10);
	scan("veth", 30);
	scan_begin();
	begin(2);
	device(2, 9, "veth", 7, 31);
	scan_end();
	assert_int_equal(sum(2, 9), 0);
	assert_int_equal(tally_gone_count(tally), 1);
	assert_int_equal(tally_gone_at(tally, 0)->sum, 20);
}

TEST(test_a_device_that_moves_to_a_known_namespace)
{
	for (int i = 0; i < 2; i++) {
		scan_begin();
		device(NETNS, 2, "veth", 7, 10);
		begin(2);
		scan_end();
	}
	scan_begin();
	begin(2);
	device(2, 9, "veth", 7, 11);
	device(2, 10, "veth", 8, 3);
	scan_end();
	assert_int_equal(sum(2, 9), 0);
	assert_int_equal(sum(2, 10), 3);
}

TEST(test_deleted_devices_are_added_up)
{
	scan_begin();
	scan_end();
	scan_begin();
	device(NETNS, 3, "veth", 1, 4);
	device(NETNS, 4, "veth", 2, 5);
	device(NETNS, 5, "ifb", 3, 6);
	scan_end();
	scan_begin();
	scan_end();
	/* The counters of veth and of ifb mean different things. */
	assert_int_equal(tally_gone_count(tally), 2);
	assert_int_equal(tally_gone_at(tally, 0)->sum + tally_gone_at(tally, 1)->sum, 15);
	assert_int_equal(tally_count(tally), 0);
}

TEST(test_a_namespace_that_could_not_be_read)
{
	scan("veth", 10);
	scan("veth", 12);
	scan_begin();
	device(NETNS, 77, "veth", 9, 1000);
	assert_int_equal(tally_keep(tally), 0);
	scan_end();
	assert_null(find(NETNS, 77));
	assert_int_equal(sum(NETNS, 2), 2);
	assert_int_equal(tally_gone_count(tally), 0);
	scan("veth", 13);
	assert_int_equal(sum(NETNS, 2), 3);
}

/* What another namespace hides says nothing about a new one. */
TEST(test_a_new_namespace_beside_one_that_could_not_be_read)
{
	scan("veth", 10);
	scan_begin();
	assert_int_equal(tally_keep(tally), 0);
	scan_end();
	scan_begin();
	device(NETNS, 2, "veth", 7, 11);
	begin(2);
	device(2, 5, "veth", 8, 6);
	scan_end();
	assert_int_equal(sum(NETNS, 2), 1);
	assert_int_equal(sum(2, 5), 6);
}

/* It was being set up: all that is in it later is as new as it is. */
TEST(test_a_new_namespace_that_could_not_be_read)
{
	scan("veth", 10);
	scan_begin();
	device(NETNS, 2, "veth", 7, 10);
	begin(2);
	device(2, 5, "veth", 8, 6);
	assert_int_equal(tally_keep(tally), 0);
	scan_end();
	assert_null(find(2, 5));
	scan_begin();
	device(NETNS, 2, "veth", 7, 10);
	begin(2);
	device(2, 5, "veth", 8, 9);
	scan_end();
	assert_int_equal(sum(2, 5), 9);
}

/* It was there before netflowd. */
TEST(test_a_namespace_that_could_never_be_read)
{
	for (int i = 0; i < 2; i++) {
		scan_begin();
		device(NETNS, 2, "veth", 7, 50);
		assert_int_equal(tally_keep(tally), 0);
		scan_end();
	}
	scan("veth", 50);
	assert_int_equal(sum(NETNS, 2), 0);
	scan("veth", 51);
	assert_int_equal(sum(NETNS, 2), 1);
}

/* A namespace that could not be entered before: its devices can be old. */
TEST(test_a_namespace_that_opens)
{
	tally_begin(tally, ++now);
	add(&(struct tally_place){.cookie = NETNS, .netns = NETNS, .closed = true});
	scan_end();
	scan("veth", 50);
	assert_int_equal(sum(NETNS, 2), 0);
	scan("veth", 51);
	assert_int_equal(sum(NETNS, 2), 1);
}

static void driver_of(const char *kind, uint64_t value, bool unread)
{
	struct tally_place place = {.cookie = NETNS,
				    .netns = NETNS,
				    .ifindex = 2,
				    .name = "d2",
				    .unread = unread ? TALLY_SOURCE(ELSEWHERE_DRIVER) : 0};

	snprintf(place.kind, sizeof(place.kind), "%s", kind);
	scan_begin();
	add(&place);
	assert_int_equal(tally_add_counter(tally, ELSEWHERE_DRIVER, 2, NULL, "rx_drop", 0, value),
			 0);
	scan_end();
}

static void driver(uint64_t value, bool unread)
{
	driver_of("", value, unread);
}

/* When the namespace is read, the driver cannot be: what it counted is as old. */
TEST(test_a_driver_in_a_namespace_that_could_not_be_read)
{
	scan_begin();
	assert_int_equal(tally_keep(tally), 0);
	scan_end();
	driver_of("veth", 0, true);
	driver_of("veth", 1000, false);
	assert_int_equal(sum(NETNS, 2), 0);
	driver_of("veth", 1001, false);
	assert_int_equal(sum(NETNS, 2), 1);
}

TEST(test_a_driver_that_could_not_be_read)
{
	driver(0, true);
	driver(1000, false);
	assert_int_equal(sum(NETNS, 2), 0);
	driver(1001, false);
	assert_int_equal(sum(NETNS, 2), 1);
}

/* A source of a namespace, and its device, in a scan that can or cannot read the source. */
static void source(enum elsewhere_source from, uint64_t value, bool unread)
{
	scan_begin();
	device(NETNS, 2, "veth", 7, 0);
	assert_int_equal(tally_add_counter(tally, from, from == ELSEWHERE_XSK ? 2 : 0,
					   from == ELSEWHERE_TRAP ? "pci/0" : NULL, "dropped",
					   from == ELSEWHERE_XSK ? 11 : 0, value),
			 0);
	if (unread)
		tally_unread(tally, from);
	scan_end();
}

static uint64_t sum_of(enum elsewhere_source from)
{
	uint64_t total = 0;

	for (size_t i = 0; i < tally_count(tally); i++)
		if (tally_at(tally, i)->key.source == from)
			total += tally_at(tally, i)->sum;
	return total;
}

/* What a source counted before it could be read for the first time is not news. */
TEST(test_a_source_that_could_not_be_read_at_first)
{
	static const enum elsewhere_source sources[] = {ELSEWHERE_TCP, ELSEWHERE_TRAP,
							ELSEWHERE_XSK};

	for (size_t i = 0; i < 3; i++) {
		source(sources[i], 900, true);
		source(sources[i], 950, true);
		assert_int_equal(sum_of(sources[i]), 0);
		source(sources[i], 1000, false);
		assert_int_equal(sum_of(sources[i]), 0);
		source(sources[i], 1007, false);
		assert_int_equal(sum_of(sources[i]), 7);
		teardown(state);
		setup(state);
	}
}

/* A counter that was 0 when its source was read, and moved while it could not be read. */
TEST(test_a_source_that_cannot_be_read_for_a_while)
{
	static const enum elsewhere_source sources[] = {ELSEWHERE_TCP, ELSEWHERE_TRAP,
							ELSEWHERE_XSK};

	for (size_t i = 0; i < 3; i++) {
		source(sources[i], 0, false);
		source(sources[i], 2, true);
		source(sources[i], 3, false);
		assert_int_equal(sum_of(sources[i]), 3);
		source(sources[i], 0, true);
		assert_int_equal(sum_of(sources[i]), 3);
		source(sources[i], 10, false);
		assert_int_equal(sum_of(sources[i]), 10);
		teardown(state);
		setup(state);
	}
}

/* A list of sockets that a change disturbed is read again. */
TEST(test_a_source_that_is_read_again)
{
	source(ELSEWHERE_XSK, 0, false);
	scan_begin();
	device(NETNS, 2, "veth", 7, 4);
	for (int i = 0; i < 2; i++) {
		tally_add_counter(tally, ELSEWHERE_XSK, 2, NULL, "dropped", 11, 5);
		if (!i)
			tally_discard(tally, ELSEWHERE_XSK);
	}
	scan_end();
	assert_int_equal(sum_of(ELSEWHERE_XSK), 5);
	assert_int_equal(sum_of(ELSEWHERE_LINK), 4);
}

TEST(test_sockets_of_a_namespace_that_could_not_be_read)
{
	source(ELSEWHERE_XSK, 3, false);
	source(ELSEWHERE_XSK, 5, false);
	scan_begin();
	assert_int_equal(tally_keep(tally), 0);
	scan_end();
	source(ELSEWHERE_XSK, 6, false);
	assert_int_equal(sum_of(ELSEWHERE_XSK), 3);
}

static void sockets(uint64_t first, uint64_t second)
{
	scan_begin();
	device(NETNS, 2, "veth", 7, 0);
	tally_add_counter(tally, ELSEWHERE_XSK, 2, NULL, "rx_dropped", 11, first);
	tally_add_counter(tally, ELSEWHERE_XSK, 2, NULL, "rx_dropped", 12, second);
	scan_end();
}

/* The sum of closed sockets stays with their device; sockets that come later add to it. */
TEST(test_sockets_that_are_closed)
{
	uint64_t total = 0;

	sockets(0, 0);
	sockets(3, 4);
	sockets(0, 5);
	sockets(0, 0);
	sockets(0, 2);
	for (size_t i = 0; i < tally_count(tally); i++)
		total += tally_at(tally, i)->sum;
	assert_int_equal(total, 3 + 5 + 2);
	assert_int_equal(tally_count(tally), 2);
}

/* Queues of one device count under one name. */
TEST(test_values_of_one_name_are_added_up)
{
	scan("veth", 0);
	scan_begin();
	device(NETNS, 2, "veth", 7, 0);
	for (uint64_t queue = 1; queue <= 3; queue++)
		tally_add_counter(tally, ELSEWHERE_DRIVER, 2, NULL, "rx_queue_*_drops", 0, queue);
	scan_end();
	assert_int_equal(sum(NETNS, 2), 6);
}

TEST(test_limits)
{
	char name[16];

	scan_begin();
	device(NETNS, 2, "veth", 7, 0);
	for (int i = 0; i < TALLY_NAMES_MAX + 10; i++) {
		snprintf(name, sizeof(name), "drop_%d", i);
		assert_int_equal(tally_add_counter(tally, ELSEWHERE_DRIVER, 2, NULL, name, 0, 1),
				 0);
	}
	scan_end();
	assert_int_equal(tally_count(tally), TALLY_NAMES_MAX);
	assert_int_equal(tally_left_out(tally), 10);
}

TEST(test_a_limit_of_devices)
{
	scan_begin();
	for (uint32_t i = 2; i < TALLY_PLACES_MAX + 10; i++)
		device(NETNS, i, "veth", 0, 0);
	scan_end();
	assert_int_equal(tally_devices(tally), TALLY_PLACES_MAX - 1);
	assert_int_equal(tally_left_out(tally), 9);
	/* A device that finds room later can be old. */
	scan_begin();
	device(NETNS, TALLY_PLACES_MAX + 5, "veth", 0, 6);
	scan_end();
	assert_int_equal(tally_left_out(tally), 0);
	assert_int_equal(sum(NETNS, TALLY_PLACES_MAX + 5), 0);
	assert_non_null(find(NETNS, TALLY_PLACES_MAX + 5));
}

/* Sockets from `first` to `last`, each with the number of its counter. */
static void many(uint32_t first, uint32_t last, uint64_t value)
{
	scan_begin();
	device(NETNS, 2, "veth", 7, 0);
	for (uint32_t i = first; i <= last; i++)
		assert_int_equal(
			tally_add_counter(tally, ELSEWHERE_XSK, 2, NULL, "rx_dropped", i, value),
			0);
	scan_end();
}

/* New counters, which are before or after those that are known, never take more room than there is. */
TEST(test_a_limit_of_counters)
{
	many(TALLY_COUNTERS_MAX + 1, 2 * TALLY_COUNTERS_MAX - 1, 1);
	assert_int_equal(tally_count(tally), TALLY_COUNTERS_MAX - 1);
	assert_int_equal(tally_left_out(tally), 0);
	many(TALLY_COUNTERS_MAX - 9, 2 * TALLY_COUNTERS_MAX - 1, 1);
	assert_int_equal(tally_count(tally), TALLY_COUNTERS_MAX);
	assert_int_equal(tally_left_out(tally), 9);
}

/* A counter that was left out is no news when there is room for it. */
TEST(test_counters_that_were_left_out)
{
	many(1, TALLY_COUNTERS_MAX + 1, 100);
	assert_int_equal(tally_count(tally), TALLY_COUNTERS_MAX);
	assert_int_equal(tally_left_out(tally), 1);
	many(TALLY_COUNTERS_MAX, TALLY_COUNTERS_MAX + 1, 103);
	many(TALLY_COUNTERS_MAX, TALLY_COUNTERS_MAX + 1, 103);
	assert_int_equal(sum_of(ELSEWHERE_XSK), 3);
	many(TALLY_COUNTERS_MAX, TALLY_COUNTERS_MAX + 1, 104);
	assert_int_equal(sum_of(ELSEWHERE_XSK), 3 + 2);
}
