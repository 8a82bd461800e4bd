/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/metrics/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/records.h"
#include "common/utf8.h"
#include "daemon/core/histogram.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define FIRST_ROOM 65536

/*
 * The upper bounds of the classic buckets are these powers of two, in ns.  Each is a bound of the kernel's log-linear
 * buckets too, so that no value has to be guessed into a bucket.
 */
#define FIRST_LOG2 8 /* 256 ns */
#define LAST_LOG2 34 /* 17.2 s */

static const struct type {
	const char *prometheus, *openmetrics;
	const char *suffix; /* of the sample */
} types[] = {
	[METRICS_COUNTER] = {"counter", "counter", "_total"},
	[METRICS_GAUGE] = {"gauge", "gauge", ""},
	[METRICS_HISTOGRAM] = {"histogram", "histogram", ""},
	[METRICS_SUMMARY] = {"summary", "summary", ""},
	[METRICS_INFO] = {"gauge", "info", "_info"},
};

/* ---- bytes ----------------------------------------------------------------- */

static char *reserve(struct metrics_text *text, size_t more)
{
	size_t room = text->room ? text->room : FIRST_ROOM;
	char *grown;

	if (text->error)
		return NULL;
	while (room - text->length < more)
		room *= 2;
	if (room != text->room) {
		grown = realloc(text->bytes, room);
		if (!grown) {
			text->error = -ENOMEM;
			return NULL;
		}
		text->bytes = grown;
		text->room = room;
	}
	return text->bytes + text->length;
}

static void put(struct metrics_text *text, const char *bytes, size_t length)
{
	char *to = reserve(text, length);

	if (!to)
		return;
	memcpy(to, bytes, length);
	text->length += length;
}

static void put_text(struct metrics_text *text, const char *string)
{
	put(text, string, strlen(string));
}

__attribute__((format(printf, 2, 3))) static void put_format(struct metrics_text *text,
							     const char *format, ...)
{
	char line[64];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	put(text, line, (size_t)length);
}

/* A backslash and a line feed are escaped in help and labels; a quote in labels, and in OpenMetrics in help, too. */
static void put_escaped(struct metrics_text *text, const char *string, bool quotes)
{
	size_t length = strlen(string);
	char *to = reserve(text, 3 * length + 1), *begin = to;

	if (!to)
		return;
	for (size_t i = 0; i < length;) {
		size_t n = utf8_bytes(string + i, length - i);
		char c = string[i];

		if (!n) {
			memcpy(to, UTF8_REPLACEMENT, 3);
			to += 3;
			i++;
			continue;
		}
		if (c == '\\' || c == '\n' || (quotes && c == '"'))
			*to++ = '\\';
		*to = c == '\n' ? 'n' : c;
		memcpy(to + 1, string + i + 1, n - 1);
		to += n;
		i += n;
	}
	text->length += (size_t)(to - begin);
}

void metrics_text_begin(struct metrics_text *text, enum metrics_format format)
{
	*text = (struct metrics_text){.format = format};
}

int metrics_text_end(struct metrics_text *text)
{
	if (text->format == METRICS_OPENMETRICS)
		put_text(text, "# EOF\n");
	return text->error;
}

void metrics_text_free(struct metrics_text *text)
{
	free(text->bytes);
	*text = (struct metrics_text){0};
}

/* ---- families ---------------------------------------------------------------- */

/* The family's name in a comment: in Prometheus's format it is that of the samples. */
static void put_comment(struct metrics_text *text, const char *what)
{
	const struct metrics_family *family = text->family;

	put_text(text, "# ");
	put_text(text, what);
	put_text(text, " ");
	put_text(text, family->name);
	if (text->format == METRICS_PROMETHEUS)
		put_text(text, types[family->type].suffix);
	put_text(text, " ");
}

void metrics_family(struct metrics_text *text, enum metrics_family_id id)
{
	const struct metrics_family *family = &metrics_families[id];
	const struct type *type = &types[family->type];
	bool open = text->format == METRICS_OPENMETRICS;

	text->family = family;
	memset(text->labels, 0, sizeof(text->labels));
	put_comment(text, "HELP");
	put_escaped(text, family->help, open);
	put_text(text, "\n");
	put_comment(text, "TYPE");
	put_text(text, open ? type->openmetrics : type->prometheus);
	put_text(text, "\n");
	if (!open || !family->unit)
		return;
	put_comment(text, "UNIT");
	put_text(text, family->unit);
	put_text(text, "\n");
}

void metrics_set_labels(struct metrics_text *text, const char *const *values)
{
	for (size_t i = 0; text->family->labels[i]; i++)
		text->labels[i] = values[i];
}

/* ---- samples ----------------------------------------------------------------- */

/* The name, and the labels with `le` as a further one, if it is not NULL. */
static void put_sample(struct metrics_text *text, const char *suffix, const char *le)
{
	const struct metrics_family *family = text->family;
	const char *joint = "{";

	put_text(text, family->name);
	put_text(text, suffix);
	for (size_t i = 0; family->labels[i]; i++) {
		if (!text->labels[i] || !text->labels[i][0])
			continue;
		put_text(text, joint);
		put_text(text, family->labels[i]);
		put_text(text, "=\"");
		put_escaped(text, text->labels[i], true);
		put_text(text, "\"");
		joint = ",";
	}
	if (le) {
		put_text(text, joint);
		put_text(text, "le=\"");
		put_text(text, le);
		put_text(text, "\"");
		joint = ",";
	}
	put_text(text, joint[0] == '{' ? " " : "} ");
}

static void put_count(struct metrics_text *text, uint64_t value)
{
	put_format(text, "%" PRIu64 "\n", value);
}

static void put_seconds(struct metrics_text *text, uint64_t ns)
{
	put_format(text, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_SECOND, ns % NS_PER_SECOND);
}

void metrics_count(struct metrics_text *text, uint64_t value)
{
	put_sample(text, types[text->family->type].suffix, NULL);
	put_count(text, value);
}

void metrics_real(struct metrics_text *text, double value)
{
	put_sample(text, types[text->family->type].suffix, NULL);
	put_format(text, "%.15g\n", value);
}

void metrics_seconds(struct metrics_text *text, uint64_t ns)
{
	put_sample(text, types[text->family->type].suffix, NULL);
	put_seconds(text, ns);
}

void metrics_one(struct metrics_text *text, enum metrics_family_id id, uint64_t value)
{
	metrics_family(text, id);
	metrics_count(text, value);
}

/* ---- histograms ---------------------------------------------------------------- */

/* The kernel's bucket that begins at 2^log2 ns. */
static unsigned int bucket_at(unsigned int log2)
{
	return (log2 - 1) * NF_HIST_STEPS;
}

/*
 * The values are whole nanoseconds, and `le` includes its bound: the largest value below 2^log2 is the bound that is
 * exact.
 */
static void put_buckets(struct metrics_text *text, const struct nf_hist *hist)
{
	uint64_t seen = 0;
	unsigned int next = 0;
	char le[32];

	for (unsigned int log2 = FIRST_LOG2; log2 <= LAST_LOG2; log2++) {
		for (; next < bucket_at(log2); next++)
			seen += hist->bucket[next];
		snprintf(le, sizeof(le), "%.15g", (double)((UINT64_C(1) << log2) - 1) / 1e9);
		put_sample(text, "_bucket", le);
		put_count(text, seen);
	}
	for (; next < NF_HIST_BUCKETS; next++)
		seen += hist->bucket[next];
	put_sample(text, "_bucket", "+Inf");
	put_count(text, seen);
}

void metrics_histogram(struct metrics_text *text, const struct nf_hist *hist)
{
	put_buckets(text, hist);
	metrics_summary(text, hist);
}

void metrics_summary(struct metrics_text *text, const struct nf_hist *hist)
{
	put_sample(text, "_sum", NULL);
	put_seconds(text, hist->sum_ns);
	put_sample(text, "_count", NULL);
	put_count(text, histogram_count(hist));
}
