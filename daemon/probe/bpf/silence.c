/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Switches that keep the kernel from calling an attached program although its link
 * exists.  The links themselves cannot be detached from outside (BPF_LINK_DETACH
 * fails with EOPNOTSUPP for raw tracepoints, tracing and perf events).  Raw
 * tracepoints have no such switch; programs attached to functions have.
 */
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/bpf/internal.h"

#define FTRACE "/proc/sys/kernel/ftrace_enabled"
#define KPROBES "/sys/kernel/debug/kprobes/enabled"
#define FTRACE_OFF \
	"kernel.ftrace_enabled is 0: the kernel does not call programs attached to functions; set it to 1"

/* If the file exists and begins with 0, the kernel does not call programs attached in this way. */
static const struct {
	const char *how, *file, *why;
} switches[] = {
	{"fentry", FTRACE, FTRACE_OFF},
#ifdef __x86_64__
	/* On x86 a kprobe at the entry of a function uses ftrace (CONFIG_KPROBES_ON_FTRACE). */
	{"kprobe", FTRACE, FTRACE_OFF},
#endif
	{"kprobe", KPROBES, "kprobes are switched off; write 1 to " KPROBES},
};

static bool is_off(const char *path)
{
	OWN_FILE FILE *file = fopen(path, "re");

	return file && getc(file) == '0';
}

const char *bpf_silenced(const char *how)
{
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		if (!strcmp(switches[i].how, how) && is_off(switches[i].file))
			return switches[i].why;
	return NULL;
}

static const char *attached_how(const struct backend_bpf_state *state, enum nf_probe probe)
{
	if (probe >= NF_PROBE_SLOTS_FIRST)
		return bpf_ring_slots_how(state, probe);
	return state->probe[probe].state == PROBE_ATTACHED ? bpf_probe_how(state, probe) : NULL;
}

bool bpf_find_silenced(struct backend_bpf_state *state)
{
	bool changed = false;

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		const char *how = attached_how(state, (enum nf_probe)i);
		const char *why = how ? bpf_silenced(how) : NULL;

		changed |= why != state->silenced[i];
		state->silenced[i] = why;
	}
	return changed;
}
