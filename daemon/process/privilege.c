/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/privilege.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/capability.h>

#include "common/array.h"

/*
 * Since 5.8, loading tracing programs requires CAP_BPF and CAP_PERFMON.  CAP_SYS_ADMIN, which earlier kernels require,
 * still includes both.
 */
static const struct {
	cap_value_t value;
	const char *name;
} needed[] = {
	{CAP_BPF, "CAP_BPF"},
	{CAP_PERFMON, "CAP_PERFMON"},
};

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
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!has(capabilities, needed[i].value) && !has(capabilities, CAP_SYS_ADMIN)) {
			if (missing[0])
				strcat(missing, " and ");
			strcat(missing, needed[i].name);
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
