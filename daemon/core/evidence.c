/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/evidence.h"

#include "bpf/records.h"
#include "common/array.h"

static const struct {
	const char *word;
	uint64_t bit, needs;
} list[] = {
#define X(name, word, needs, bit) {#word, bit, NF_EVIDENCE_##needs},
	NF_EVIDENCE_LIST(X)
#undef X
};

size_t evidence_words(uint64_t evidence, const char *words[], size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(list) && count < max; i++)
		if (evidence & list[i].bit)
			words[count++] = list[i].word;
	return count;
}

uint64_t evidence_readable(uint64_t evidence)
{
	uint64_t readable = evidence;

	/* Without a socket, nothing that one could say is true. */
	if ((evidence & (NF_EVIDENCE_LOOKED | NF_EVIDENCE_SOCKET)) == NF_EVIDENCE_LOOKED)
		evidence |= NF_EVIDENCE_SOCKET | NF_EVIDENCE_STREAM;
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		if ((evidence & list[i].needs) == list[i].needs)
			readable |= list[i].bit;
	return readable;
}
