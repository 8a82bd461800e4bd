/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency records as trace events, groups and timelines. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/session.h"
#include "cli/file/trace.h"
#include "cli/show/groups.h"
#include "cli/show/timeline.h"
#include "tests/unit/test.h"

/* A packet received at `second`.000000 s, whose reader woke 1 µs and read 3 µs after that. */
#define RECORD(second, pid, comparable)                                                            \
	"{\"time\":\"2026-11-21T09:30:" second ".000003000Z\",\"outcome\":\"delivered\","          \
	"\"slow\":false,\"total_ns\":3000,\"comparable\":" comparable ",\"cpu\":1,"                \
	"\"stages\":[{\"stage\":\"receive\",\"time\":\"2026-11-21T09:30:" second                   \
	".000000000Z\",\"at_ns\":0},{\"stage\":\"wakeup\",\"at_ns\":1000},"                        \
	"{\"stage\":\"copy\",\"at_ns\":3000}],\"times\":[{\"from\":\"receive\",\"to\":\"wakeup\"," \
	"\"duration_ns\":1000},{\"from\":\"wakeup\",\"to\":\"copy\",\"duration_ns\":2000}],"       \
	"\"dominant\":\"wakeup_to_copy\",\"flow\":\"f\",\"devices\":[{\"device\":\"a\"}],"         \
	"\"task\":{\"pid\":" pid ",\"tid\":" pid ",\"comm\":\"reader\"},"                          \
	"\"owner\":{\"cgroup\":\"/c\"},\"missing\":[{\"stage\":\"irq\",\"reason\":\"none\"}]}"
#define SENT                                                                               \
	"{\"outcome\":\"transmitted\",\"total_ns\":500,\"comparable\":true,\"cpu\":0,"     \
	"\"stages\":[{\"stage\":\"queue\",\"time\":\"2026-11-21T09:30:01.000001000Z\","    \
	"\"at_ns\":0},{\"stage\":\"xmit\",\"at_ns\":500}],\"times\":[{\"from\":\"queue\"," \
	"\"to\":\"xmit\",\"duration_ns\":500}],\"dominant\":\"queue_to_xmit\"}"

static const char records_text[] = "[" RECORD("01", "7", "true") "," RECORD(
	"01", "7", "false") "," RECORD("02", "7", "true") "," SENT "]";

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

/* Returns the n-th event of a kind, or NULL. */
static const json_t *event(const json_t *trace, const char *ph, size_t n)
{
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(trace, "traceEvents"), i, one)
	{
		if (!strcmp(field_text(one, "ph"), ph) && !n--)
			return one;
	}
	return NULL;
}

static const char *name_of(const json_t *trace, size_t n)
{
	return field_text(json_object_get(event(trace, "M", n), "args"), "name");
}

static void assert_slice(const json_t *trace, size_t n, const char *name, double ts, double dur,
			 uint64_t tid)
{
	const json_t *slice = event(trace, "X", n);
	double value = -1;

	assert_string_equal(field_text(slice, "name"), name);
	assert_true(field_real(slice, "ts", &value) && value == ts);
	assert_true(field_real(slice, "dur", &value) && value == dur);
	assert_int_equal(field_count_or(slice, "tid", 0), tid);
}

TEST(test_trace)
{
	OWN_JSON json_t *records = parse(records_text);
	OWN_JSON json_t *trace_of = NULL;
	OWN_TRACE struct trace *trace = NULL;
	const json_t *record;
	size_t i;

	assert_int_equal(trace_new(&trace), 0);
	json_array_foreach(records, i, record) assert_int_equal(trace_add(trace, record), 0);
	assert_int_equal(trace_records(trace), 4);
	assert_int_equal(trace_json(trace, &trace_of), 0);
	assert_string_equal(field_text(json_object_get(trace_of, "otherData"), "origin"),
			    "2026-11-21T09:30:01.000000000Z");
	assert_string_equal(name_of(trace_of, 0), "reader 7");
	assert_string_equal(name_of(trace_of, 1), "reader");
	/* a second track, because both packets waited at the same time */
	assert_string_equal(name_of(trace_of, 2), "reader 7 (2)");
	assert_string_equal(name_of(trace_of, 3), "CPU 0");
	assert_string_equal(name_of(trace_of, 4), "CPUs");
	assert_null(event(trace_of, "M", 5));
	assert_slice(trace_of, 0, "receive_to_wakeup", 0, 1, 7);
	assert_slice(trace_of, 1, "wakeup_to_copy", 1, 2, 7);
	assert_slice(trace_of, 4, "queue_to_xmit", 1, 0.5, 0);
	/* the first track again, because its packet is done by then */
	assert_slice(trace_of, 6, "wakeup_to_copy", 1000001, 2, 7);
	assert_null(event(trace_of, "X", 7));
}

TEST(test_trace_of_nothing)
{
	OWN_JSON json_t *empty = json_object();
	OWN_JSON json_t *trace_of = NULL;
	OWN_TRACE struct trace *trace = NULL;

	assert_int_equal(trace_new(&trace), 0);
	assert_int_equal(trace_add(trace, empty), -EINVAL);
	assert_int_equal(trace_json(trace, &trace_of), 0);
	assert_int_equal(json_array_size(json_object_get(trace_of, "traceEvents")), 0);
}

static void assert_group(const json_t *groups, size_t n, const char *by, const char *key,
			 const char *segment, uint64_t count, uint64_t p50_ns)
{
	const json_t *group = json_array_get(groups, n);

	assert_string_equal(field_text(group, by), key);
	assert_string_equal(field_text(group, "segment"), segment);
	assert_int_equal(field_count_or(group, "count", 0), count);
	assert_int_equal(field_count_or(group, "p50_ns", 0), p50_ns);
}

TEST(test_groups)
{
	OWN_JSON json_t *records = parse(records_text);
	OWN_JSON json_t *groups = NULL;

	assert_int_equal(groups_of_records(records, "process", &groups), 0);
	assert_int_equal(json_array_size(groups), 5);
	assert_group(groups, 0, "process", "reader[7]", "receive_to_wakeup", 3, 1000);
	assert_group(groups, 1, "process", "reader[7]", "wakeup_to_copy", 3, 2000);
	/* only comparable records count for the total */
	assert_group(groups, 2, "process", "reader[7]", "rx_total", 2, 3000);
	assert_group(groups, 3, "process", "-", "queue_to_xmit", 1, 500);
	json_decref(groups);
	assert_int_equal(groups_of_records(records, "cgroup", &groups), 0);
	assert_group(groups, 0, "cgroup", "/c", "receive_to_wakeup", 3, 1000);
}

/* A sent packet's total ends when the driver has it, as in its histogram; its record goes on. */
TEST(test_group_total)
{
	OWN_JSON json_t *records =
		parse("[{\"outcome\":\"transmitted\",\"total_ns\":900,\"comparable\":true,"
		      "\"stages\":[{\"stage\":\"queue\",\"at_ns\":0},{\"stage\":\"xmit\","
		      "\"at_ns\":500},{\"stage\":\"free\",\"at_ns\":900}],\"times\":[{\"from\":"
		      "\"queue\",\"to\":\"xmit\",\"duration_ns\":500},{\"from\":\"xmit\",\"to\":"
		      "\"free\",\"duration_ns\":400}]}]");
	OWN_JSON json_t *groups = NULL;

	assert_int_equal(groups_of_records(records, "process", &groups), 0);
	assert_int_equal(json_array_size(groups), 3);
	assert_group(groups, 0, "process", "-", "queue_to_xmit", 1, 500);
	assert_group(groups, 1, "process", "-", "xmit_to_free", 1, 400);
	assert_group(groups, 2, "process", "-", "tx_total", 1, 500);
}

TEST(test_timeline)
{
	const struct term term = {.utf8 = true};
	OWN_JSON json_t *record = parse(RECORD("01", "7", "false"));
	OWN_PAGE struct page *page = NULL;
	OWN_FREE char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(page_new(&page, &term), 0);
	timeline_put(page, record, "2026-11-21");
	assert_int_equal(page_write(page, out), 0);
	fclose(out);
	assert_non_null(strstr(text, "09:30:01.000003  sample  delivered in 3.00 µs  f  a  CPU 1  "
				     "reader[7]  /c\n"));
	assert_non_null(strstr(text, "\n  wakeup "));
	assert_non_null(strstr(text, "\n* copy           "));
	assert_non_null(strstr(text, "66.7 %"));
	assert_non_null(strstr(text, "\n  total not comparable; stages not known: irq (none)\n"));
}

static int setup(void **state)
{
	(void)state;
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

ALL_TESTS(setup, NULL);
