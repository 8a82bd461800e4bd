/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The selection that several methods take: reason, device, netns. */
#ifndef CONTROL_FILTER_H
#define CONTROL_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/records.h"

struct call;
struct control;

/* What is not selected by matches everything. */
struct filter {
	bool by_reason, by_device, by_netns;
	uint32_t reason;
	uint32_t netns;
	char device[NF_DEVICE_NAME];
};

/*
 * Read the members reason, device and netns of `parameters`, those that are
 * there.  A reason that this kernel does not have and a device that nothing on
 * this host is called end the call with the nearest that there is; -EINVAL.
 */
int filter_read(struct filter *filter, const struct control *control, struct call *call,
		json_t *parameters);

bool filter_takes(const struct filter *filter, uint32_t reason, const char *device,
		  uint32_t netns);

#endif
