/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What takes an attached program's calls away while its link stands.  No link of
 * ours can be detached by others (BPF_LINK_DETACH: EOPNOTSUPP for raw tracepoints,
 * tracing and perf events), and raw tracepoints have no switch; functions have.
 */
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/bpf/internal.h"

#define FTRACE "/proc/sys/kernel/ftrace_enabled"
#define KPROBES "/sys/kernel/debug/kprobes/enabled"

/* A file that begins with 0 silences what is attached so; one that is not there does not. */
static const struct {
	const char *how, *file, *why;
} switches[] = {
	{"fentry", FTRACE,
	 "kernel.ftrace_enabled is 0, so the kernel calls no program at functions; set it to 1"},
#ifdef __x86_64__
	/* At a function's entry they are ftrace's there (CONFIG_KPROBES_ON_FTRACE). */
	{"kprobe", FTRACE,
	 "kernel.ftrace_enabled is 0, so the kernel calls no program at functions; set it to 1"},
#endif
	{"kprobe", KPROBES, "kprobes are switched off: write 1 to " KPROBES},
};

static bool is_off(const char *path)
{
	OWN_FILE FILE *file = fopen(path, "re");

	return file && getc(file) == '0';
}

static const char *silenced(const char *how)
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

bool bpf_look_for_silence(struct backend_bpf_state *state)
{
	bool changed = false;

	for (int i = 0; i < NF_PROBE_COUNT; i++) {
		const char *how = attached_how(state, (enum nf_probe)i);
		const char *why = how ? silenced(how) : NULL;

		changed |= why != state->silenced[i];
		state->silenced[i] = why;
	}
	return changed;
}
