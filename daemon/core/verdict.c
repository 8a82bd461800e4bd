/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/verdict.h"

#include <stdio.h>
#include <string.h>

#include "common/array.h"

static void take(struct verdict *verdict, const struct inference *inference, const char *reason,
		 const struct infer_name *function)
{
	*verdict = (struct verdict){
		/* NOT_SPECIFIED stays the name where there is no better one. */
		.reason = inference->reason ? inference->reason : reason,
		.inferred = inference->inferred,
		.message = inference->message,
		.class = inference->class,
		.place = inference->place,
		.candidates = inference->candidate_count,
	};
	memcpy(verdict->candidate, inference->candidates, sizeof(verdict->candidate));
	if (verdict->reason)
		verdict->knowledge = knowledge_reason(verdict->reason);
	snprintf(verdict->function, sizeof(verdict->function), "%s",
		 verdict->place ? verdict->place->name : function->s);
}

void verdict_of(struct verdict *verdict, const char *location, const char *reason,
		uint64_t evidence)
{
	struct infer_name function = infer_function(location ? location : "");
	struct inference inference;

	infer(function.s[0] ? function.s : NULL, reason, evidence, &inference);
	take(verdict, &inference, reason, &function);
}

int verdict_rank(enum knowledge_class class)
{
	static const int ranks[KNOWLEDGE_CLASSES] = {
		[KNOWLEDGE_FAULT] = 0,
		[KNOWLEDGE_UNKNOWN] = 1,
		[KNOWLEDGE_POLICY] = 2,
		[KNOWLEDGE_BENIGN] = 3,
	};

	return ranks[class];
}

/* ---- comparing ------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

static int compare_candidates(const struct verdict *a, const struct verdict *b)
{
	int order = ORDER(a->candidates, b->candidates);

	for (size_t i = 0; order == 0 && i < a->candidates; i++)
		order = ORDER((uintptr_t)a->candidate[i], (uintptr_t)b->candidate[i]);
	return order;
}

int verdict_compare(const struct verdict *a, const struct verdict *b)
{
	int order = ORDER(a->message, b->message);

	if (!order)
		order = ORDER(verdict_rank(a->class), verdict_rank(b->class));
	if (!order)
		order = ORDER(a->inferred, b->inferred);
	if (!order)
		order = compare_texts(a->reason, b->reason);
	return order ? order : compare_candidates(a, b);
}
