/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/elsewhere/findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/elsewhere/tally.h"

void elsewhere_findings_free(struct elsewhere_findings **findings)
{
	if (!*findings)
		return;
	free((*findings)->row);
	free((*findings)->total);
	free(*findings);
	*findings = NULL;
}

static void name_device(const struct tally *tally, const struct tally_key *key,
			const struct tally_place *place, char device[static ELSEWHERE_LABEL_MAX])
{
	if (key->label)
		snprintf(device, ELSEWHERE_LABEL_MAX, "%s", tally_name(tally, key->label));
	else if (place)
		snprintf(device, ELSEWHERE_LABEL_MAX, "%s", place->name);
}

static void make_row(const struct tally *tally, const struct tally_counter *counter,
		     struct elsewhere_row *row)
{
	const struct tally_place *place = tally_place(tally, &counter->key);

	*row = (struct elsewhere_row){
		.source = counter->key.source,
		.ifindex = counter->key.ifindex,
		.netns = counter->key.netns,
		.packets = counter->sum,
		.moved_ns = counter->moved_ns,
		.judgement = counter->judgement,
	};
	snprintf(row->counter, sizeof(row->counter), "%s", tally_name(tally, counter->key.name));
	name_device(tally, &counter->key, place, row->device);
}

static bool same_row(const struct elsewhere_row *a, const struct elsewhere_row *b)
{
	return a->source == b->source && a->netns == b->netns && a->ifindex == b->ifindex &&
	       a->gone == b->gone && a->judgement == b->judgement &&
	       !strcmp(a->counter, b->counter) && !strcmp(a->device, b->device);
}

static int add_row(struct elsewhere_findings *findings, size_t *room,
		   const struct elsewhere_row *row)
{
	struct elsewhere_row *last = findings->rows ? &findings->row[findings->rows - 1] : NULL;

	if (last && same_row(last, row)) {
		last->packets += row->packets;
		if (row->moved_ns > last->moved_ns)
			last->moved_ns = row->moved_ns;
		return 0;
	}
	if (ARRAY_GROW(findings->row, findings->rows, *room) < 0)
		return -ENOMEM;
	findings->row[findings->rows++] = *row;
	return 0;
}

/* Whether two counters have the same labels in the metrics. */
static bool same_total(const struct elsewhere_row *a, const struct elsewhere_row *b)
{
	return a->source == b->source && a->judgement->class == b->judgement->class &&
	       a->judgement->seen == b->judgement->seen && !strcmp(a->counter, b->counter);
}

static int add_total(struct elsewhere_findings *findings, size_t *room,
		     const struct elsewhere_row *row)
{
	struct elsewhere_row *total = findings->total;
	size_t i = 0;

	while (i < findings->totals && !same_total(&total[i], row))
		i++;
	if (i < findings->totals) {
		total[i].packets += row->packets;
		if (row->moved_ns > total[i].moved_ns)
			total[i].moved_ns = row->moved_ns;
		return 0;
	}
	if (ARRAY_GROW(findings->total, findings->totals, *room) < 0)
		return -ENOMEM;
	total = &findings->total[findings->totals++];
	*total = *row;
	total->device[0] = '\0';
	total->ifindex = total->netns = 0;
	return 0;
}

/* Faults first.  Of counters with as many packets the one that elsewhere_judge() knows more precisely is first. */
static int by_weight(const void *x, const void *y)
{
	const struct elsewhere_row *a = x, *b = y;
	bool a_fault = a->judgement->class == KNOWLEDGE_FAULT;

	if (a_fault != (b->judgement->class == KNOWLEDGE_FAULT))
		return a_fault ? -1 : 1;
	if (a->packets != b->packets)
		return a->packets < b->packets ? 1 : -1;
	if (a->judgement != b->judgement)
		return a->judgement < b->judgement ? -1 : 1;
	return strcmp(a->counter, b->counter);
}

static void trim(struct elsewhere_findings *findings)
{
	struct elsewhere_row *smaller;

	if (findings->rows)
		qsort(findings->row, findings->rows, sizeof(findings->row[0]), by_weight);
	if (findings->rows > ELSEWHERE_ROWS_MAX) {
		findings->rows_left_out = findings->rows - ELSEWHERE_ROWS_MAX;
		findings->rows = ELSEWHERE_ROWS_MAX;
	}
	smaller = reallocarray(findings->row, findings->rows + 1, sizeof(*smaller));
	if (smaller)
		findings->row = smaller;
	smaller = reallocarray(findings->total, findings->totals + 1, sizeof(*smaller));
	if (smaller)
		findings->total = smaller;
}

int findings_add(struct elsewhere_findings *findings, const struct tally *tally)
{
	size_t all = tally_count(tally) + tally_gone_count(tally), rows = 0, totals = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < all; i++) {
		bool gone = i >= tally_count(tally);
		const struct tally_counter *counter =
			gone ? tally_gone_at(tally, i - tally_count(tally)) : tally_at(tally, i);
		struct elsewhere_row row;

		if (!counter->sum)
			continue;
		make_row(tally, counter, &row);
		row.gone = gone;
		r = add_row(findings, &rows, &row);
		if (r == 0)
			r = add_total(findings, &totals, &row);
	}
	trim(findings);
	return r;
}

/* ---- bypasses ------------------------------------------------------------------------ */

/* Each container can have a packet socket, of its DHCP client for example, so these leave half of the room. */
void findings_add_bypass(struct elsewhere_findings *findings, const struct elsewhere_bypass *bypass,
			 uint64_t count)
{
	size_t most = bypass->kind == ELSEWHERE_PACKET_SOCKETS ? ELSEWHERE_BYPASSES_MAX / 2
							       : ELSEWHERE_BYPASSES_MAX;

	findings->bypass_count[bypass->kind] += count;
	if (findings->bypasses < most)
		findings->bypass[findings->bypasses++] = *bypass;
	else
		findings->bypasses_left_out++;
}
