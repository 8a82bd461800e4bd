/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/privilege.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <sys/capability.h>

#include "common/array.h"

#define ESSENTIAL "netflowd does not start"

/*
 * The capabilities that the daemon keeps.  All others only serve its start: CAP_SYS_RESOURCE, before 5.11, for the
 * limit of locked memory, which then stays; CAP_CHOWN and CAP_FOWNER for the group of the socket; CAP_SETPCAP to drop
 * these.
 *
 * CAP_SYS_ADMIN includes CAP_BPF, CAP_PERFMON and much more: the filter of system calls (confine.c)
 * leaves little of it.
 */
static const struct {
	cap_value_t value;
	const char *name;
	const char *why;
	const char *lost;
	/* Without it, or CAP_SYS_ADMIN, nothing can be traced. */
	bool essential;
} kept[] = {
	{CAP_BPF, "CAP_BPF",
	 "read the maps of the programs where kernel.unprivileged_bpf_disabled is set, and load programs when xen-netfront is loaded",
	 ESSENTIAL, true},
	{CAP_PERFMON, "CAP_PERFMON",
	 "load and attach tracing programs, also when a driver is loaded later", ESSENTIAL, true},
	{CAP_SYSLOG, "CAP_SYSLOG",
	 "read addresses in /proc/kallsyms, again when a module is loaded, and /dev/kmsg",
	 "drop locations are addresses; rockets in the kernel's log are not counted", false},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
	 "switch the statistics of BPF programs on for a measurement, read the types of modules (BTF) that are loaded later, and enter network namespaces to read their devices' counters of drops",
	 "the cost of the programs is not measured; on xen-netfront, kprobe or tracepoint instead of fentry; drops that only devices of other namespaces count are not seen",
	 false},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
	 "look up namespaces that are links to /proc/PID/ns/net, the host's through /proc/1/ns/net, and the processes in a namespace",
	 "such namespaces have no names, only numbers; drops without a socket have no owner",
	 false},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	 "open a cgroup by its id, and read files that are not for the daemon's user: the configuration on a reload, tracefs, directories of namespaces",
	 "a cgroup is searched in the directories and can be gone by then; a reload of rules in a private directory fails",
	 false},
	{CAP_KILL, "CAP_KILL",
	 "end the programs of alerts at their time limit, which run as another user",
	 "a program of an alert that hangs is not ended at its limit", false},
};

static const cap_value_t helper_kept[] = {CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL};

static const cap_value_t replay_kept[] = {CAP_DAC_READ_SEARCH};

static bool has(cap_t capabilities, cap_value_t value)
{
	cap_flag_value_t flag = CAP_CLEAR;

	return cap_get_flag(capabilities, value, CAP_EFFECTIVE, &flag) == 0 && flag == CAP_SET;
}

int privilege_check(char *error, size_t size)
{
	cap_t capabilities = cap_get_proc();
	char missing[64] = "";

	if (!capabilities) {
		int r = -errno;

		snprintf(error, size, "cannot read the capabilities of this process: %s",
			 strerror(-r));
		return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (kept[i].essential && !has(capabilities, kept[i].value) &&
		    !has(capabilities, CAP_SYS_ADMIN)) {
			if (missing[0])
				strcat(missing, " and ");
			strcat(missing, kept[i].name);
		}
	cap_free(capabilities);
	if (!missing[0])
		return 0;
	snprintf(
		error, size,
		"%s missing (running as user %d): start netflowd as root (sudo), or grant it the capabilities: setcap cap_bpf,cap_perfmon,cap_syslog+ep /path/to/netflowd, or AmbientCapabilities=CAP_BPF CAP_PERFMON CAP_SYSLOG in its systemd unit",
		missing, (int)geteuid());
	return -EPERM;
}

/* ---- giving up ------------------------------------------------------------ */

static bool contains(const cap_value_t *values, size_t count, cap_value_t value)
{
	for (size_t i = 0; i < count; i++)
		if (values[i] == value)
			return true;
	return false;
}

/* Without CAP_SETPCAP the bounding set stays: no_new_privs blocks the way to it. */
static void drop_bounding_set(const cap_value_t *values, size_t count)
{
	for (cap_value_t value = 0; cap_get_bound(value) >= 0; value++)
		if (!contains(values, count, value))
			(void)cap_drop_bound(value);
}

static int keep_only(cap_t now, cap_t wanted, const cap_value_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cap_flag_value_t flag = CAP_CLEAR;

		if (cap_get_flag(now, values[i], CAP_PERMITTED, &flag) < 0 || flag != CAP_SET)
			continue;
		if (cap_set_flag(wanted, CAP_PERMITTED, 1, &values[i], CAP_SET) < 0 ||
		    cap_set_flag(wanted, CAP_EFFECTIVE, 1, &values[i], CAP_SET) < 0)
			return -errno;
	}
	/* The kernel keeps no ambient capability that is not inheritable. */
	return cap_set_proc(wanted) < 0 ? -errno : 0;
}

static int limit(const cap_value_t *values, size_t count)
{
	cap_t now = cap_get_proc(), wanted = cap_init();
	int r = now && wanted ? 0 : -ENOMEM;

	if (r == 0) {
		drop_bounding_set(values, count);
		r = keep_only(now, wanted, values, count);
	}
	cap_free(now);
	cap_free(wanted);
	if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = -errno;
	return r;
}

int privilege_limit(void)
{
	cap_value_t values[ARRAY_SIZE(kept)];

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		values[i] = kept[i].value;
	return limit(values, ARRAY_SIZE(values));
}

int privilege_limit_helper(void)
{
	return limit(helper_kept, ARRAY_SIZE(helper_kept));
}

int privilege_limit_replay(void)
{
	return limit(replay_kept, ARRAY_SIZE(replay_kept));
}

void privilege_help(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		fprintf(to, "  %-20s  %s (without it: %s)\n", kept[i].name, kept[i].why,
			kept[i].lost);
}
