/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a function dropped a packet, when the kernel does not say so, or not exactly: inferred from the function and from
 * the evidence, with the places in config/knowledge.  Pure look-ups, except that infer_set_kernel() keeps a version.
 *
 * A case of a place remains unless evidence contradicts one of its conditions.  If one reason remains, it is inferred.
 * If several remain, none is: all of them are candidates.  Without evidence nothing is contradicted.
 */
#ifndef DAEMON_CORE_INFER_H
#define DAEMON_CORE_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/records.h"
#include "common/knowledge.h"

/* All pointers are static, or of the caller's `reason_name`. */
struct inference {
	const struct knowledge *place; /* of the function; NULL: it has no entry */
	const char *reason; /* the one that remains, or the kernel's own; NULL: not known */
	bool inferred;	    /* the reason is not the kernel's own */
	/*
	 * Of the cases that remain, if they agree; of the kernel's own reason, if no case is about it; of the place, if
	 * it has no cases; otherwise unknown.
	 */
	enum knowledge_class class;
	bool message; /* no packet: count it apart, it is no drop */
	/* The remaining cases, if several reasons or classes remain; of those that agree in both, the first. */
	const struct knowledge_case *candidates[KNOWLEDGE_CASES_MAX];
	size_t candidate_count;
};

/*
 * `function`: without suffixes, see infer_function(); NULL: not known.  `reason_name`: the kernel's; NULL,
 * NOT_SPECIFIED and NO_REASON: it gives none.  `evidence`: NF_EVIDENCE_* of bpf/records.h; 0: not read.
 */
void infer(const char *function, const char *reason_name, uint64_t evidence, struct inference *out);

/* How much of the evidence drops with this reason need, NULL: with none. */
enum nf_evidence_level infer_needs(const char *reason_name);

/*
 * Only cases of this kernel are used, by its release such as "6.1.0-13-amd64".  NULL, or a text that is no release: the
 * cases of all kernels, as at startup.  Call it before other threads use infer().
 */
void infer_set_kernel(const char *release);

/*
 * The name of the function in the text of a location: "udp_rcv" of "udp_rcv.isra.0+0x1f [module]".  Empty for an
 * address without a symbol, and if it does not fit.
 */
#define INFER_FUNCTION_MAX 128
struct infer_name {
	char s[INFER_FUNCTION_MAX];
};
struct infer_name infer_function(const char *location);

#endif
