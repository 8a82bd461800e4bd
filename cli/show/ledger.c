/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/show/ledger.h"

#include <string.h>

#include "cli/ask/field.h"
#include "common/array.h"

#define NAME_COLUMN 12
#define INDENT 2

/* One number on the right side of an equation. */
struct part {
	const char *member;
	/* A number that is included in this one, and the word that is shown for it; or NULL. */
	const char *part_word;
	const char *part_member;
};

struct equation {
	const char *of; /* the member of GetStatus */
	const char *whole;
	struct part parts[9]; /* a part without a member ends them */
};

static const struct equation equations[] = {
	{.of = "drops", .whole = "calls", .parts = {{.member = "hits"}, {.member = "missed"}}},
	{.of = "drops",
	 .whole = "hits",
	 .parts = {{.member = "counted"}, {.member = "unkeyed"}, {.member = "completed"}}},
	{.of = "drops",
	 .whole = "hits",
	 .parts = {{.member = "recorded"},
		   {.member = "throttled"},
		   {.member = "ring_full"},
		   {.member = "completed"}}},
	{.of = "inflight",
	 .whole = "begun",
	 .parts = {{.member = "delivered", .part_word = "consumed", .part_member = "consumed"},
		   {.member = "transmitted"},
		   {.member = "forwarded"},
		   {.member = "dropped"},
		   {.member = "overwritten"},
		   {.member = "invalidated", .part_word = "torn", .part_member = "torn"},
		   {.member = "in_flight"},
		   {.member = "stale"}}},
	{.of = "latency",
	 .whole = "chosen",
	 .parts = {{.member = "recorded"}, {.member = "throttled"}, {.member = "ring_full"}}},
	{.of = "slots", .whole = "calls", .parts = {{.member = "hits"}, {.member = "missed"}}},
	{.of = "slots", .whole = "hits", .parts = {{.member = "counted"}, {.member = "unkeyed"}}},
	{.of = "slots",
	 .whole = "chosen",
	 .parts = {{.member = "recorded"},
		   {.member = "throttled"},
		   {.member = "ring_full"},
		   {.member = "unended"}}},
	{.of = "tcp_bytes",
	 .whole = "copied",
	 .parts = {{.member = "delivered"}, {.member = "merged"}, {.member = "untracked"}}},
};

enum balance {
	BALANCE_HOLDS,
	BALANCE_OFF,
	BALANCE_UNKNOWN, /* numbers are missing */
};

static const struct ledger_verdict balances[] = {
	[BALANCE_HOLDS] = {PAGE_GOOD, "balanced"},
	[BALANCE_OFF] = {PAGE_BAD, "NOT BALANCED"},
	[BALANCE_UNKNOWN] = {PAGE_DIM, "not known"},
};

/*
 * Check that the numbers add up; *left is the difference.  The daemon says whether packets that moved while it read
 * explain a difference.
 */
static enum balance check(const struct equation *equation, const json_t *values, int64_t *left)
{
	const json_t *balanced = json_object_get(values, "balanced");
	uint64_t whole, number;

	if (!field_count(values, equation->whole, &whole))
		return BALANCE_UNKNOWN;
	for (const struct part *part = equation->parts; part->member; part++) {
		if (!field_count(values, part->member, &number))
			return BALANCE_UNKNOWN;
		whole -= number;
	}
	*left = (int64_t)whole;
	if (json_is_false(balanced) || (whole && !json_is_true(balanced)))
		return BALANCE_OFF;
	return BALANCE_HOLDS;
}

static void write_number(FILE *out, const json_t *values, const struct part *part)
{
	fprintf(out, "%s %s", part->member, field_units_count(values, part->member).s);
	if (part->part_member && field_count_or(values, part->part_member, 0))
		fprintf(out, " (%s %s)", part->part_word,
			field_units_count(values, part->part_member).s);
}

/* The equation with its numbers; the caller frees it; NULL when out of memory. */
static char *write_equation(const struct equation *equation, const json_t *values)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s %s", equation->whole, field_units_count(values, equation->whole).s);
	for (const struct part *part = equation->parts; part->member; part++) {
		fputs(part == equation->parts ? " = " : " + ", out);
		write_number(out, values, part);
	}
	fclose(out);
	return text;
}

static void put_equation(struct page *page, const struct equation *equation, const json_t *values)
{
	OWN_FREE char *text = write_equation(equation, values);
	int64_t left = 0;
	enum balance balance = check(equation, values, &left);

	page_put(page, balances[balance].style, "%s", balances[balance].text);
	if (left)
		page_put(page, balances[balance].style, ", %s%s of %s that moved",
			 left < 0 ? "-" : "",
			 units_count(left < 0 ? 0 - (uint64_t)left : (uint64_t)left).s,
			 field_units_count(values, "moved").s);
	page_paragraph(page, PAGE_PLAIN, NAME_COLUMN + INDENT, ": %s", text ? text : "?");
}

/* Events for which no program ran. */
static void put_missed(struct page *page, const json_t *values, const char *what)
{
	if (!field_count_or(values, "missed", 0))
		return;
	page_put(page, PAGE_WARN, "  not seen");
	page_pad(page, NAME_COLUMN, 0);
	page_paragraph(page, PAGE_WARN, NAME_COLUMN + INDENT, "%s %s",
		       field_units_count(values, "missed").s, what);
}

/* What a trace lost; nothing with the backend bpf, which reads none. */
static void put_trace(struct page *page, const json_t *trace)
{
	uint64_t lost = field_count_or(trace, "losses", 0);

	if (!trace)
		return;
	page_put(page, PAGE_PLAIN, "  trace");
	page_pad(page, NAME_COLUMN, 0);
	page_paragraph(page, lost ? PAGE_WARN : PAGE_PLAIN, NAME_COLUMN + INDENT,
		       "events %s, lost %s in %s gaps, unreadable %s, out of order %s",
		       field_units_count(trace, "events").s, field_units_count(trace, "lost").s,
		       units_count(lost).s, field_units_count(trace, "unreadable").s,
		       field_units_count(trace, "disorder").s);
}

void ledger_put(struct page *page, const json_t *status)
{
	const char *before = "";

	for (size_t i = 0; i < ARRAY_SIZE(equations); i++) {
		if (strcmp(equations[i].of, before))
			page_put(page, PAGE_PLAIN, "  %s", equations[i].of);
		before = equations[i].of;
		page_pad(page, NAME_COLUMN, 0);
		put_equation(page, &equations[i], json_object_get(status, equations[i].of));
	}
	put_missed(page, json_object_get(status, "drops"),
		   "drops, because the program was running on that CPU");
	put_missed(page, json_object_get(status, "inflight"),
		   "program runs, skipped by the kernel");
	ledger_put_unseen(page, json_object_get(status, "latency"), NAME_COLUMN);
	put_trace(page, json_object_get(status, "trace"));
}

void ledger_put_unseen(struct page *page, const json_t *latency, size_t column)
{
	uint64_t unseen = field_count_or(latency, "slow_unseen", 0);

	if (!unseen)
		return;
	page_put(page, PAGE_WARN, "%s", column ? "  not seen" : "Not seen:");
	page_pad(page, column, 1);
	page_paragraph(
		page, PAGE_WARN, column + INDENT,
		"probably %s slow journeys since the daemon started, because netflowd did not follow %s packets to keep its cost within the budget",
		units_count(unseen).s, field_units_count(latency, "passed").s);
}

struct ledger_verdict ledger_verdict(const json_t *status)
{
	enum balance worst = BALANCE_HOLDS;

	for (size_t i = 0; i < ARRAY_SIZE(equations); i++) {
		int64_t left;
		enum balance balance =
			check(&equations[i], json_object_get(status, equations[i].of), &left);

		/* BALANCE_OFF is the worst state, BALANCE_HOLDS the best. */
		if (balance == BALANCE_OFF || worst == BALANCE_HOLDS)
			worst = balance;
	}
	return balances[worst];
}

bool ledger_line(const json_t *status, size_t index, struct ledger_line *line)
{
	const json_t *values;
	int64_t left = 0;

	if (index >= ARRAY_SIZE(equations))
		return false;
	values = json_object_get(status, equations[index].of);
	line->of = equations[index].of;
	line->verdict = balances[check(&equations[index], values, &left)];
	line->text = write_equation(&equations[index], values);
	return true;
}
