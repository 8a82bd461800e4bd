/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/infer.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "daemon/core/evidence.h"

static uint32_t kernel; /* KNOWLEDGE_KERNEL(), 0 = not known */

void infer_set_kernel(const char *release)
{
	unsigned int major, minor;

	kernel = 0;
	if (release && sscanf(release, "%u.%u", &major, &minor) == 2)
		kernel = KNOWLEDGE_KERNEL(major, minor);
}

struct infer_name infer_function(const char *location)
{
	struct infer_name name = {.s = ""};
	/* No function of the kernel has a dot; the compiler appends .isra.0, .constprop.0, .part.0, .cold. */
	size_t len = strcspn(location, ".+ ");

	if (!isdigit((unsigned char)location[0]) && len < sizeof(name.s))
		memcpy(name.s, location, len);
	return name;
}

/* NULL for the reasons that name no cause. */
static const char *own_reason(const char *reason_name)
{
	if (!reason_name || !strcmp(reason_name, "NOT_SPECIFIED") ||
	    !strcmp(reason_name, "NO_REASON"))
		return NULL;
	return reason_name;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Cases of all kernels count if this one is not known. */
static bool of_kernel(const struct knowledge_case *c)
{
	return !kernel || (kernel >= c->since && (!c->until || kernel < c->until));
}

static bool contradicted(const struct knowledge_case *c, uint64_t evidence)
{
	return (c->clear & evidence) || (c->set & evidence_readable(evidence) & ~evidence);
}

static bool is_candidate(const struct inference *out, const struct knowledge_case *c)
{
	for (size_t i = 0; i < out->candidate_count; i++)
		if (same(out->candidates[i]->reason, c->reason) &&
		    out->candidates[i]->class == c->class)
			return true;
	return false;
}

/* Collect the remaining cases of drops with this reason, NULL: with none; true if there were any, remaining or not. */
static bool collect(struct inference *out, const char *reason, uint64_t evidence)
{
	bool any = false;

	for (size_t i = 0; out->place && i < out->place->case_count; i++) {
		const struct knowledge_case *c = &out->place->cases[i];

		if (!of_kernel(c) || !same(c->kernel_reason, reason))
			continue;
		any = true;
		if (!contradicted(c, evidence) && !is_candidate(out, c))
			out->candidates[out->candidate_count++] = c;
	}
	return any;
}

/* Whether the only case that remains has conditions, and nothing was read that could contradict them. */
static bool is_unproven(const struct inference *out, uint64_t evidence)
{
	return !(evidence & NF_EVIDENCE_KNOWN) && out->candidate_count == 1 &&
	       (out->candidates[0]->set || out->candidates[0]->clear);
}

static bool one_reason(const struct inference *out)
{
	for (size_t i = 1; i < out->candidate_count; i++)
		if (!same(out->candidates[i]->reason, out->candidates[0]->reason))
			return false;
	return out->candidate_count;
}

/* The class of all candidates; `otherwise` if there are none, unknown if they do not agree. */
static enum knowledge_class class_of(const struct inference *out, enum knowledge_class otherwise)
{
	enum knowledge_class class = otherwise;

	for (size_t i = 0; i < out->candidate_count; i++) {
		if (i && out->candidates[i]->class != class)
			return KNOWLEDGE_UNKNOWN;
		class = out->candidates[i]->class;
	}
	return class;
}

/* Drops with a reason of the kernel: cases of the place can refine it. */
static void refine(struct inference *out, const char *reason, uint64_t evidence)
{
	const struct knowledge *entry = knowledge_reason(reason);

	out->reason = reason;
	collect(out, reason, evidence);
	if (is_unproven(out, evidence))
		out->candidate_count = 0;
	out->class = class_of(out, entry ? entry->class : KNOWLEDGE_UNKNOWN);
	if (one_reason(out) && out->candidates[0]->reason)
		out->reason = out->candidates[0]->reason;
	out->inferred = strcmp(out->reason, reason);
}

static void guess(struct inference *out, uint64_t evidence)
{
	bool any = collect(out, NULL, evidence);

	out->class = class_of(out, out->place && !any ? out->place->class : KNOWLEDGE_UNKNOWN);
	if (one_reason(out))
		out->reason = out->candidates[0]->reason;
	out->inferred = out->reason;
}

void infer(const char *function, const char *reason_name, uint64_t evidence, struct inference *out)
{
	const char *reason = own_reason(reason_name);

	*out = (struct inference){
		.place = function && function[0] ? knowledge_place(function) : NULL,
		.message = evidence & NF_EVIDENCE_MESSAGE,
	};
	if (reason)
		refine(out, reason, evidence);
	else
		guess(out, evidence);
	if (out->candidate_count == 1)
		out->candidate_count = 0;
}

/* The evidence that distinguishes the cases of a reason. */
static uint64_t evidence_of_cases(const char *reason)
{
	const struct knowledge *entry;
	uint64_t bits = 0;

	for (size_t i = 0; (entry = knowledge_at(i)); i++)
		for (size_t j = 0; j < entry->case_count; j++)
			if (same(entry->cases[j].kernel_reason, reason))
				bits |= entry->cases[j].set | entry->cases[j].clear;
	return bits;
}

enum nf_evidence_level infer_needs(const char *reason_name)
{
	const struct knowledge *entry = reason_name ? knowledge_reason(reason_name) : NULL;
	const char *reason = own_reason(reason_name);
	uint64_t bits = reason ? evidence_of_cases(reason) : 0;

	if (!reason || bits & ~(uint64_t)NF_EVIDENCE_OF_HEADERS)
		return NF_EVIDENCE_ALL;
	if (bits)
		return NF_EVIDENCE_HEADERS;
	return entry && entry->messages ? NF_EVIDENCE_ONLY_MESSAGE : NF_EVIDENCE_NONE;
}
