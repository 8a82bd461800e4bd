/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/owner.h"

#include <stdio.h>
#include <string.h>

#include "common/array.h"

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

const char *owner_unit(const char *path, char unit[static OWNER_NAME_MAX])
{
	size_t end = strlen(path);
	struct part part;

	while (last_part(path, &end, &part)) {
		/* systemd's cg_escape() adds it to a name that may be that of a kernel's file. */
		skip_prefix(&part, "_");
		if (is_unit(part))
			return copy_part(part, part.len, unit, OWNER_NAME_MAX);
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

	if (!last_part(path, &end, &part) || !is_machine(&part) || part.len >= OWNER_NAME_MAX)
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

const char *owner_container(const char *path, char container[static OWNER_NAME_MAX])
{
	size_t end = strlen(path);
	struct part part;

	while (last_part(path, &end, &part)) {
		if (skip_prefix(&part, "lxc.payload."))
			return copy_part(part, part.len, container, OWNER_NAME_MAX);
		if (is_container(&part))
			return copy_part(part, ID_SHOWN, container, OWNER_NAME_MAX);
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

const char *owner_pod(const char *path, char pod[static OWNER_POD_MAX])
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

void owner_of_cgroup(struct owner *owner, const char *path, bool by_netns,
		     struct owner_names *names)
{
	*owner = (struct owner){.cgroup = path,
				.unit = owner_unit(path, names->unit),
				.container = owner_container(path, names->container),
				.pod = owner_pod(path, names->pod),
				.by_netns = by_netns};
}
