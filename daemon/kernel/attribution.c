/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/attribution.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/kernel/cgroup_paths.h"
#include "daemon/kernel/netns_names.h"

struct attribution {
	struct netns_names *netns;
	struct cgroup_paths *cgroups;
};

/* On most hosts /var/run is the same directory as /run, and is then read only once. */
static const struct attribution_places host_places = {
	.netns = {"/run/netns", "/var/run/netns"},
	.init_netns = "/proc/1/ns/net",
	.mountinfo = "/proc/self/mountinfo",
};

int attribution_new(struct attribution **attribution, const struct attribution_places *places)
{
	OWN_ATTRIBUTION struct attribution *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	if (!places)
		places = &host_places;
	r = netns_names_new(&a->netns, places->netns, ARRAY_SIZE(places->netns),
			    places->init_netns);
	if (r < 0)
		return r;
	r = cgroup_paths_new(&a->cgroups, places->mountinfo);
	if (r < 0)
		return r;
	*attribution = TAKE_PTR(a);
	return 0;
}

void attribution_free(struct attribution **attribution)
{
	if (!*attribution)
		return;
	cgroup_paths_free(&(*attribution)->cgroups);
	netns_names_free(&(*attribution)->netns);
	free(*attribution);
	*attribution = NULL;
}

const char *attribution_netns(struct attribution *attribution, uint32_t inode,
			      char name[static ATTRIBUTION_NETNS_MAX])
{
	return netns_names_find(attribution->netns, inode, time_monotonic(), name);
}

int attribution_netns_number(const struct attribution *attribution, const char *text,
			     uint32_t *inode)
{
	return netns_names_number(attribution->netns, text, inode);
}

const char *attribution_netns_nearest(const struct attribution *attribution, const char *text,
				      char nearest[static ATTRIBUTION_NETNS_MAX])
{
	return netns_names_nearest(attribution->netns, text, nearest);
}

const char *attribution_cgroup(struct attribution *attribution, uint64_t id,
			       char path[static ATTRIBUTION_CGROUP_MAX])
{
	return cgroup_paths_find(attribution->cgroups, id, time_monotonic(), path);
}

/* ---- units and containers ------------------------------------------------ */

/* The name of one cgroup in a path. */
struct part {
	const char *text;
	size_t len;
};

/* Get the last part before `*end` and move `*end` to its beginning; false if there is none. */
static bool last_part(const char *path, size_t *end, struct part *part)
{
	size_t stop = *end, start;

	while (stop && path[stop - 1] == '/')
		stop--;
	start = stop;
	while (start && path[start - 1] != '/')
		start--;
	*end = start;
	*part = (struct part){.text = path + start, .len = stop - start};
	return part->len > 0;
}

static bool skip_prefix(struct part *part, const char *prefix)
{
	size_t len = strlen(prefix);

	if (part->len < len || memcmp(part->text, prefix, len) != 0)
		return false;
	part->text += len;
	part->len -= len;
	return true;
}

static bool ends_with(struct part part, const char *suffix)
{
	size_t len = strlen(suffix);

	return part.len > len && memcmp(part.text + part.len - len, suffix, len) == 0;
}

static const char *copy_part(struct part part, size_t max, char *text, size_t size)
{
	if (part.len > max)
		part.len = max;
	if (!part.len || part.len >= size)
		return NULL;
	memcpy(text, part.text, part.len);
	text[part.len] = '\0';
	return text;
}

/* True for the types of units that contain processes; a slice itself contains none. */
static bool is_unit(struct part part)
{
	static const char *const types[] = {".service", ".scope", ".socket", ".mount", ".swap"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (ends_with(part, types[i]))
			return true;
	return false;
}

const char *attribution_unit(const char *path, char unit[static ATTRIBUTION_UNIT_MAX])
{
	size_t end = strlen(path);
	struct part part;

	while (last_part(path, &end, &part)) {
		/* systemd's cg_escape() adds it to a name that may be that of a kernel's file. */
		skip_prefix(&part, "_");
		if (is_unit(part))
			return copy_part(part, part.len, unit, ATTRIBUTION_UNIT_MAX);
	}
	return NULL;
}

#define ID_DIGITS 64
#define ID_SHOWN 12

static bool is_id(struct part part)
{
	for (size_t i = 0; i < part.len; i++)
		if (!strchr("0123456789abcdef", part.text[i]))
			return false;
	return part.len == ID_DIGITS;
}

/* Runtimes put a prefix before the id.  Only the cgroupfs driver of docker or of a kubelet uses the id alone. */
static bool is_container(struct part *part)
{
	static const char *const runtimes[] = {"docker-", "cri-containerd-", "crio-", "libpod-",
					       "nerdctl-"};
	size_t i;

	if (ends_with(*part, ".scope"))
		part->len -= strlen(".scope");
	for (i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (skip_prefix(part, runtimes[i]))
			break;
	/* "kubelet-kubepods-….slice:cri-containerd:<id>": a path for systemd, used by cgroupfs. */
	if (i == ARRAY_SIZE(runtimes) && part->len > ID_DIGITS) {
		struct part driver = {part->text, part->len - ID_DIGITS};

		if (ends_with(driver, ":cri-containerd:") || ends_with(driver, ":crio:") ||
		    ends_with(driver, ":docker:")) {
			part->text += driver.len;
			part->len = ID_DIGITS;
		}
	}
	return is_id(*part);
}

const char *attribution_container(const char *path,
				  char container[static ATTRIBUTION_CONTAINER_MAX])
{
	size_t end = strlen(path);
	struct part part;

	while (last_part(path, &end, &part)) {
		if (skip_prefix(&part, "lxc.payload."))
			return copy_part(part, part.len, container, ATTRIBUTION_CONTAINER_MAX);
		if (is_container(&part))
			return copy_part(part, ID_SHOWN, container, ATTRIBUTION_CONTAINER_MAX);
	}
	return NULL;
}

#define POD_DIGITS 32

/* Copy a UID, hexadecimal digits with or without separators, and write each separator as a hyphen. */
static const char *copy_uid(struct part part, char pod[static ATTRIBUTION_POD_MAX])
{
	size_t digits = 0;

	if (part.len >= ATTRIBUTION_POD_MAX)
		return NULL;
	for (size_t i = 0; i < part.len; i++) {
		bool separator = part.text[i] == '_' || part.text[i] == '-';

		if (!separator && !strchr("0123456789abcdef", part.text[i]))
			return NULL;
		digits += !separator;
	}
	if (digits != POD_DIGITS)
		return NULL;
	for (size_t i = 0; i < part.len; i++)
		pod[i] = part.text[i] == '_' ? '-' : part.text[i];
	pod[part.len] = '\0';
	return pod;
}

const char *attribution_pod(const char *path, char pod[static ATTRIBUTION_POD_MAX])
{
	static const char *const prefixes[] = {"kubelet-kubepods-besteffort-",
					       "kubelet-kubepods-burstable-",
					       "kubelet-kubepods-",
					       "kubepods-besteffort-",
					       "kubepods-burstable-",
					       "kubepods-",
					       ""};
	size_t end = strlen(path);
	struct part part;

	while (last_part(path, &end, &part)) {
		if (ends_with(part, ".slice"))
			part.len -= strlen(".slice");
		for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
			if (skip_prefix(&part, prefixes[i]))
				break;
		if (skip_prefix(&part, "pod") && copy_uid(part, pod))
			return pod;
	}
	return NULL;
}
