/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/attribution.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/kernel/cgroup_paths.h"
#include "daemon/kernel/netns_cookie.h"
#include "daemon/kernel/netns_names.h"
#include "daemon/kernel/netns_owners.h"

struct attribution {
	struct netns_names *netns;
	struct cgroup_paths *cgroups;
	struct netns_owners *owners;
};

/* On most hosts /var/run is the same directory as /run, and is then read only once. */
static const struct attribution_places host_places = {
	.netns = {"/run/netns", "/var/run/netns"},
	.init_netns = "/proc/1/ns/net",
	.mountinfo = "/proc/self/mountinfo",
	.proc = "/proc",
};

static bool names_owner(const char *path)
{
	char text[NAME_MAX + 1];

	_Static_assert(sizeof(text) >= ATTRIBUTION_UNIT_MAX &&
			       sizeof(text) >= ATTRIBUTION_CONTAINER_MAX &&
			       sizeof(text) >= ATTRIBUTION_POD_MAX,
		       "room for each");
	return attribution_unit(path, text) || attribution_container(path, text) ||
	       attribution_pod(path, text);
}

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
	r = netns_owners_new(&a->owners, places->proc, netns_cookie_enter, names_owner);
	if (r < 0)
		return r;
	*attribution = TAKE_PTR(a);
	return 0;
}

void attribution_free(struct attribution **attribution)
{
	if (!*attribution)
		return;
	netns_owners_free(&(*attribution)->owners);
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

int attribution_netns_identify(struct attribution *attribution, uint32_t id, uint32_t inode,
			       char name[static ATTRIBUTION_NETNS_MAX])
{
	return netns_names_identify(attribution->netns, id, inode, time_monotonic(), name);
}

int attribution_netns_number(const struct attribution *attribution, const char *text,
			     uint32_t *inode)
{
	return netns_names_number(attribution->netns, text, inode);
}

uint32_t attribution_netns_id(const struct attribution *attribution, const char *text)
{
	return netns_names_id(attribution->netns, text);
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

static bool cut_suffix(struct part *part, const char *suffix)
{
	if (!ends_with(*part, suffix))
		return false;
	part->len -= strlen(suffix);
	return true;
}

static bool is_text(struct part part, const char *text)
{
	return part.len == strlen(text) && memcmp(part.text, text, part.len) == 0;
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

static bool is_hex(struct part part)
{
	for (size_t i = 0; i < part.len; i++)
		if (!memchr("0123456789abcdef", part.text[i], 16))
			return false;
	return true;
}

static bool is_id(struct part part)
{
	return part.len == ID_DIGITS && is_hex(part);
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

/* "machine-web.scope" or "systemd-nspawn@web.service", as systemd escapes "web" in it. */
static bool is_machine(struct part *part)
{
	if (skip_prefix(part, "systemd-nspawn@"))
		return cut_suffix(part, ".service");
	return skip_prefix(part, "machine-") && cut_suffix(part, ".scope");
}

/* The name of a container of systemd-nspawn, whose processes are below "payload". */
static const char *machine_name(const char *path, size_t end, char *name)
{
	struct part part;
	size_t len = 0;

	if (!last_part(path, &end, &part) || !is_machine(&part) ||
	    part.len >= ATTRIBUTION_CONTAINER_MAX)
		return NULL;
	for (size_t i = 0; i < part.len; len++) {
		unsigned int byte;
		bool escaped = part.len - i >= 4 && part.text[i] == '\\' &&
			       sscanf(part.text + i, "\\x%2x", &byte) == 1;

		name[len] = escaped ? (char)byte : part.text[i];
		i += escaped ? 4 : 1;
	}
	name[len] = '\0';
	return len ? name : NULL;
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
		if (is_text(part, "payload") && machine_name(path, end, container))
			return container;
	}
	return NULL;
}

/* ---- pods ---------------------------------------------------------------- */

/* The shape of a UID; systemd's driver writes '_' for '-', which separates the levels of slices. */
static bool is_uid(struct part part)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (part.len != strlen(shape))
		return part.len == 32 && is_hex(part);
	for (size_t i = 0; i < part.len; i++)
		if (shape[i] == '-' ? part.text[i] != '-' && part.text[i] != '_'
				    : !is_hex((struct part){part.text + i, 1}))
			return false;
	return true;
}

/*
 * "pod<uid>", or the last level of "kubepods-burstable-pod<uid>.slice"; after ".slice" there can be the runtime and the
 * container: ":cri-containerd:<id>".
 */
static bool is_pod(struct part *part)
{
	const char *slice = memmem(part->text, part->len, ".slice", strlen(".slice"));
	size_t start;

	if (slice) {
		part->len = (size_t)(slice - part->text);
		start = part->len;
		while (start && part->text[start - 1] != '-')
			start--;
		part->text += start;
		part->len -= start;
	}
	return skip_prefix(part, "pod") && is_uid(*part);
}

const char *attribution_pod(const char *path, char pod[static ATTRIBUTION_POD_MAX])
{
	size_t end = strlen(path);
	struct part part;

	while (last_part(path, &end, &part)) {
		if (!is_pod(&part))
			continue;
		for (size_t i = 0; i < part.len; i++)
			pod[i] = part.text[i] == '_' ? '-' : part.text[i];
		pod[part.len] = '\0';
		return pod;
	}
	return NULL;
}

/* ---- owners of namespaces ------------------------------------------------ */

bool attribution_netns_is_host(const struct attribution *attribution, uint32_t inode)
{
	return netns_names_is_host(attribution->netns, inode);
}

int attribution_netns_owner(struct attribution *attribution, uint32_t id, uint32_t inode,
			    char path[static ATTRIBUTION_CGROUP_MAX])
{
	if (netns_names_is_host(attribution->netns, inode))
		return -ENOENT;
	return netns_owners_find(attribution->owners, id, inode, time_monotonic(), path);
}
