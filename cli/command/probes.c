/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl probes: the table of attach points. */
#include <string.h>

#include "cli/ask/field.h"
#include "cli/ask/options.h"
#include "cli/command/command.h"
#include "cli/terminal/table.h"

#define METHOD "io.netflowd.ListProbes"
#define MEASURE_DEFAULT_MS 250
#define INDENT 2

static const struct argument arguments[] = {
	OPTION("measure", NUMBER, measure_ms, .value = "MS", .min = 1, .max = 10000,
	       .help = "measure ns/hit for MS milliseconds, 1 to 10000 (250)"),
	{},
};

static bool is_attached(const json_t *probe)
{
	return !strcmp(field_text(probe, "state"), "attached");
}

/* The kernel refused its program, and a simpler one runs. */
static bool is_degraded(const json_t *probe)
{
	return !strcmp(field_text(probe, "state"), "degraded");
}

static void put_columns(struct table *table)
{
	table_column(table, TABLE_LEFT, "probe");
	table_column(table, TABLE_LEFT, "group");
	table_column(table, TABLE_LEFT, "attached");
	table_column(table, TABLE_RIGHT, "hits");
	table_column(table, TABLE_RIGHT, "missed");
	table_column(table, TABLE_RIGHT, "ns/hit");
	table_column(table, TABLE_LEFT, "lost without it");
}

static void put_attached(struct table *table, const json_t *probe)
{
	const char *how = field_text_or(probe, "how", "yes");

	if (is_attached(probe))
		table_cell(table, PAGE_GOOD, "%s", how);
	else if (is_degraded(probe))
		table_cell(table, PAGE_WARN, "%s, simple", how);
	else
		table_cell(table, PAGE_BAD, "no");
}

static void put_probe(struct table *table, const json_t *probe)
{
	double ns;

	table_row(table);
	table_cell(table, PAGE_PLAIN, "%s", field_text(probe, "name"));
	table_cell(table, PAGE_PLAIN, "%s", field_text(probe, "group"));
	put_attached(table, probe);
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(probe, "hits").s);
	table_cell(table, PAGE_PLAIN, "%s", field_units_count(probe, "missed").s);
	if (field_real(probe, "ns_per_hit", &ns))
		table_cell(table, PAGE_PLAIN, "%.1f", ns);
	else
		table_cell(table, PAGE_PLAIN, "%s", UNITS_UNKNOWN);
	table_cell(table, is_attached(probe) ? PAGE_PLAIN : PAGE_WARN, "%s",
		   field_text(probe, "lost_without"));
}

static void put_degraded(struct page *page, const json_t *probe)
{
	page_paragraph(page, PAGE_WARN, INDENT, "simple program: %s: %s; lost with it: %s",
		       field_text(probe, "name"), field_text(probe, "reason"),
		       field_text(probe, "lost_if_degraded"));
}

static bool is_missing(const json_t *probe)
{
	return !is_attached(probe) && !is_degraded(probe);
}

/* One reason, and all probes that are not attached for it, of which `first` is the first. */
static void put_reason(struct page *page, const json_t *probes, const json_t *first)
{
	const char *reason = field_text(first, "reason");
	OWN_FREE char *names = NULL;
	const json_t *probe;
	size_t i, size, count = 0;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return;
	json_array_foreach(probes, i, probe)
	{
		if (!is_missing(probe) || strcmp(field_text(probe, "reason"), reason))
			continue;
		fprintf(out, "%s%s", count++ ? ", " : "", field_text(probe, "name"));
	}
	fclose(out);
	if (count == json_array_size(probes))
		page_paragraph(page, PAGE_BAD, INDENT, "no probe is attached: %s", reason);
	else
		page_paragraph(page, PAGE_WARN, INDENT, "not attached: %s: %s", names ? names : "",
			       reason);
}

static void put_reasons(struct page *page, const json_t *probes)
{
	const json_t *probe, *other;
	size_t i, j;

	json_array_foreach(probes, i, probe)
	{
		if (is_degraded(probe))
			put_degraded(page, probe);
		if (!is_missing(probe))
			continue;
		json_array_foreach(probes, j,
				   other) if (is_missing(other) &&
					      !strcmp(field_text(other, "reason"),
						      field_text(probe, "reason"))) break;
		if (i == j)
			put_reason(page, probes, probe);
	}
}

static void put_unmeasurable(struct page *page, const json_t *reply)
{
	const char *reason = json_string_value(json_object_get(reply, "unmeasurable"));

	if (reason)
		page_paragraph(page, PAGE_WARN, INDENT, "ns/hit is not known: %s", reason);
}

static int put_probes(struct page *page, const json_t *reply)
{
	const json_t *probes = json_object_get(reply, "probes");
	OWN_TABLE struct table *table = NULL;
	const json_t *probe;
	size_t i;
	int r = table_new(&table, page_term(page), 0);

	if (r)
		return r;
	put_columns(table);
	json_array_foreach(probes, i, probe) put_probe(table, probe);
	r = table_put(table, page);
	put_reasons(page, probes);
	put_unmeasurable(page, reply);
	return r;
}

static enum report_status print(struct session *session, struct page *page, const json_t *reply,
				void *data)
{
	(void)session;
	(void)data;
	return session_print(page, put_probes(page, reply));
}

static enum report_status run(struct session *session)
{
	int64_t measure_ms = session->arguments.measure_ms;

	if (measure_ms < 0)
		measure_ms = MEASURE_DEFAULT_MS;
	return session_show(session, METHOD,
			    session_parameters("measure_ms", session_number(measure_ms), NULL),
			    measure_ms, print, NULL);
}

const struct command command_probes = {
	.name = "probes",
	.summary = "list the probes: how each is attached, its hits and its cost",
	.arguments = arguments,
	.notes =
		"ns/hit is measured while the command waits, and does not include the kernel's own cost of calling a probe.\n"
		"\"-\" means not known: the probe was not hit during the measurement, or is not attached.\n",
	.run = run,
};
