/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/slots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/tracefs/slots_layout.h"

#define FUNCTION "xennet_start_xmit"
#define MODULE "xen_netfront"

/*
 * The registers of the first two arguments, in formats of printf(3).  The kernel knows $arg1 only in functions that are
 * there, and the driver can be loaded later.
 */
#if defined(__x86_64__)
#define SKB "%%di"
#define DEV "%%si"
#elif defined(__aarch64__)
#define SKB "%%x0"
#define DEV "%%x1"
#else
#define SKB ""
#define DEV ""
#endif

/* Heads of skbs that the kernel allocates by kmalloc(): their memory is as large as a slab or some pages. */
static const int allocations[] = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
/*
 * skb->end of small heads, SKB_SMALL_HEAD_HEADROOM, if their size is not known: MAX_TCP_HEADER, or in newer kernels
 * GRO_MAX_HEAD_PAD, with wireless networks and without.
 */
static const int small_ends[] = {256, 320, 384};

#define ENDS (ARRAY_SIZE(allocations) + ARRAY_SIZE(small_ends))
/* SMP_CACHE_BYTES of both machines. */
#define CACHE_LINE 64
/* An entry of frags[]: two words of 64 bits. */
#define FRAG_WORDS 2
#define FRAG_BYTES 16

_Static_assert(ENDS < SLOTS_POINTS_MAX, "an event for each, and one for the rest");

/* ---- the host ------------------------------------------------------------------------------ */

bool slots_has_driver(void)
{
	return access("/sys/module/" MODULE, F_OK) == 0;
}

/* The bus of Xen is on other hosts, too, if the kernel can run on Xen. */
bool slots_has_xen(void)
{
	OWN_FILE FILE *type = fopen("/sys/hypervisor/type", "re");
	char text[8];

	return (type && fgets(text, sizeof(text), type) && !strcmp(text, "xen\n")) ||
	       slots_has_driver();
}

/*
 * The kernel keeps a kprobe event of a module that is not loaded, and attaches it as soon as the module is, before its
 * first function runs; so it does again after each load.  A driver that is built in is no module.
 */
static const char *symbol(void)
{
	bool built_in = slots_has_driver() && access("/sys/module/" MODULE "/initstate", F_OK) != 0;

	return built_in ? FUNCTION : MODULE ":" FUNCTION;
}

/* ---- arguments ----------------------------------------------------------------------------- */

/* The decoder finds them by these names. */
static void put_common(FILE *to, const struct slots_layout *layout)
{
	const struct {
		const char *name;
		int bit;
	} features[] = {{"sg", layout->sg_bit}, {"gso", layout->gso_bit}, {"tso", layout->tso_bit}};

	fprintf(to, "skbaddr=" SKB ":x64 dev=+%d(" DEV "):string", layout->name);
	fprintf(to, " len=+%d(" SKB "):u32 data_len=+%d(" SKB "):u32", layout->len,
		layout->data_len);
	fprintf(to, " data=+%d(" SKB "):x64 end=+%d(" SKB "):u32", layout->data, layout->end);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		fprintf(to, " %s=+%d(" DEV "):b1@%d/64", features[i].name, layout->features,
			features[i].bit);
}

/* What is at skb->head + `end`.  Each array of fragments is named after its first one. */
static void put_shared(FILE *to, const struct slots_layout *layout, int end)
{
	fprintf(to, " nr_frags=+%d(+%d(" SKB ")):u8", end + layout->nr_frags, layout->head);
	fprintf(to, " gso_size=+%d(+%d(" SKB ")):u16", end + layout->gso_size, layout->head);
	fprintf(to, " gso_segs=+%d(+%d(" SKB ")):u16", end + layout->gso_segs, layout->head);
	for (int first = 0; first < layout->frags_max; first += TRACEPOINTS_FRAGS) {
		int left = layout->frags_max - first;

		fprintf(to, " frags%d=+%d(+%d(" SKB ")):x64[%d]", first,
			end + layout->frags + first * FRAG_BYTES, layout->head,
			FRAG_WORDS * (left < TRACEPOINTS_FRAGS ? left : TRACEPOINTS_FRAGS));
	}
}

/* ---- events -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	return ORDER(*(const int *)a, *(const int *)b);
}

/* The usual values of skb->end in ascending order, each once; returns their number. */
static size_t list_ends(const struct slots_layout *layout, int ends[ENDS])
{
	int behind = (layout->shared_size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
	int all[ENDS];
	size_t found = 0, count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(allocations); i++)
		all[found++] = allocations[i] - behind;
	if (layout->small_head > 0)
		all[found++] = layout->small_head - behind;
	for (size_t i = 0; layout->small_head < 0 && i < ARRAY_SIZE(small_ends); i++)
		all[found++] = small_ends[i];
	qsort(all, found, sizeof(all[0]), by_value);
	for (size_t i = 0; i < found; i++)
		if (all[i] > 0 && (!i || all[i] != all[i - 1]))
			ends[count++] = all[i];
	return count;
}

enum text { NAME, FILTER, ARGUMENTS };

static int add(struct slots_points *points, const struct slots_layout *layout, char *name,
	       char *filter, int end)
{
	char **text = points->text[points->count];
	size_t size;
	FILE *to;

	text[NAME] = name;
	text[FILTER] = filter;
	to = open_memstream(&text[ARGUMENTS], &size);
	points->point[points->count++] = (struct tracepoint){
		.probe = NF_PROBE_XENNET_START_XMIT,
		.system = TRACEPOINTS_KPROBES,
		.name = name,
		.filter = filter,
		.function = symbol(),
		.device = "dev",
	};
	if (!to || !name || !filter) {
		if (to)
			fclose(to);
		return -ENOMEM;
	}
	put_common(to, layout);
	if (end)
		put_shared(to, layout, end);
	if (fclose(to) != 0)
		return -ENOMEM;
	points->point[points->count - 1].arguments = text[ARGUMENTS];
	return 0;
}

static int add_end(struct slots_points *points, const struct slots_layout *layout, int end)
{
	char *name, *filter;

	if (asprintf(&name, "%s_%d", TRACEPOINTS_SLOTS, end) < 0)
		name = NULL;
	if (asprintf(&filter, "end == %d && data_len != 0", end) < 0)
		filter = NULL;
	return add(points, layout, name, filter, end);
}

static int add_rest(struct slots_points *points, const struct slots_layout *layout, const int *ends,
		    size_t count)
{
	char *filter = NULL;
	size_t size;
	FILE *to = open_memstream(&filter, &size);

	if (to) {
		fprintf(to, "data_len == 0");
		for (size_t i = 0; i < count; i++)
			fprintf(to, "%send != %d", i ? " && " : " || (", ends[i]);
		fprintf(to, ")");
		fclose(to);
	}
	return add(points, layout, strdup(TRACEPOINTS_SLOTS), filter, 0);
}

int slots_points_new(struct slots_points **points, const struct slots_layout *layout)
{
	OWN_SLOTS_POINTS struct slots_points *fresh = calloc(1, sizeof(*fresh));
	int ends[ENDS], r = fresh ? 0 : -ENOMEM;
	size_t count = list_ends(layout, ends);

	if (!SKB[0])
		return -EOPNOTSUPP;
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_end(fresh, layout, ends[i]);
	if (r == 0)
		r = add_rest(fresh, layout, ends, count);
	if (r < 0)
		return r;
	*points = TAKE_PTR(fresh);
	return 0;
}

void slots_points_free(struct slots_points **points)
{
	struct slots_points *old = *points;

	for (size_t i = 0; old && i < old->count; i++)
		for (size_t j = 0; j < ARRAY_SIZE(old->text[i]); j++)
			free(old->text[i][j]);
	free(old);
	*points = NULL;
}
