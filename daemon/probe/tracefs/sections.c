/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/probe/tracefs/sections.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/kallsyms.h"
#include "common/version.h"
#include "daemon/kernel/module_map.h"
#include "daemon/kernel/symbols.h"
#include "daemon/probe/events/tracepoints.h"
#include "daemon/probe/tracefs/instance.h"

#define BUILTIN "ftrace"
/* TASK_COMM_LEN of the kernel, and the end of a line. */
#define COMM_MAX 18

struct sections {
	char *header_page, *header_event;
	struct dat_format *formats;
	size_t formats_count, formats_room;
	char *kallsyms, *printk_formats, *processes, *host;
};

/* ---- formats ------------------------------------------------------------------------------- */

static int add_format(struct sections *sections, const struct instance *instance,
		      const char *system, const char *name)
{
	struct dat_format format = {.system = strdup(system)};
	int r = 0;

	format.text = instance_read(instance, "events/%s/%s/format", system, name);
	if (!format.system || !format.text ||
	    ARRAY_GROW(sections->formats, sections->formats_count, sections->formats_room) < 0)
		r = format.text ? -ENOMEM : -EIO;
	if (r < 0) {
		free(format.system);
		free(format.text);
		return r;
	}
	sections->formats[sections->formats_count++] = format;
	return 0;
}

static int by_system(const void *a, const void *b)
{
	const struct dat_format *left = a, *right = b;

	return strcmp(left->system, right->system);
}

/* The kernel's own events, of which the recording has only ftrace:print, but programs look for some of the others. */
static int add_builtin(struct sections *sections, const struct instance *instance)
{
	char **names = instance_builtin_events();
	int r = names ? 0 : -EIO;

	/* A few of them have no format, on some kernels. */
	for (char **name = names; name && *name && r != -ENOMEM; name++)
		r = add_format(sections, instance, BUILTIN, *name);
	instance_free_names(names);
	return r == -ENOMEM || !names ? r : 0;
}

static int add_formats(struct sections *sections, const struct instance *instance)
{
	int r = 0;

	for (size_t i = 0; i < NF_PROBE_COUNT; i++) {
		const struct tracepoint *event;

		for (size_t j = 0; r == 0 && (event = instance_event(instance, i, j)); j++)
			r = add_format(sections, instance, event->system, event->name);
	}
	if (r == 0)
		r = add_builtin(sections, instance);
	if (sections->formats_count)
		qsort(sections->formats, sections->formats_count, sizeof(sections->formats[0]),
		      by_system);
	return r;
}

/* ---- functions ----------------------------------------------------------------------------- */

/* "ffffffff81000000 T _text\n" */
static bool names_function(const char *line, const struct module_map *map)
{
	const char *blank = strchr(line, ' ');
	uint64_t address = strtoull(line, NULL, 16);

	if (!address || !blank || !blank[1] || !strchr("tTwW", blank[1]) || blank[2] != ' ')
		return false;
	return !symbols_is_freed(map, address, blank + 3);
}

char *sections_functions(const char *path, const char *modules)
{
	OWN_MODULE_MAP struct module_map *map = NULL;
	OWN_FILE FILE *file = fopen(path, "re");
	OWN_FILE FILE *to = NULL;
	OWN_FREE char *line = NULL;
	char *text = NULL;
	size_t size = 0, room = 0;
	ssize_t len;

	/* Without the map, functions whose memory was freed are listed, too. */
	(void)module_map_read(&map, modules);
	to = file ? open_memstream(&text, &size) : NULL;
	if (!to)
		return NULL;
	while ((len = getline(&line, &room, file)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (names_function(line, map))
			fprintf(to, "%s\n", line);
	}
	if (fclose(TAKE_PTR(to))) {
		free(text);
		text = NULL;
	}
	return text;
}

/* ---- processes ----------------------------------------------------------------------------- */

struct names {
	FILE *to;
	uint8_t *
		known; /* a bit for each PID: a PID that is listed twice makes the list unreadable */
};

/* Kernels allow at most 4 Mi PIDs (PID_MAX_LIMIT). */
#define PIDS_MAX (4u << 20)

static void add_name(struct names *names, unsigned long pid, const char *name)
{
	uint8_t bit = (uint8_t)(1u << pid % 8);

	if (!pid || pid >= PIDS_MAX || !*name || names->known[pid / 8] & bit)
		return;
	names->known[pid / 8] |= bit;
	fprintf(names->to, "%lu ", pid);
	/* A process may give itself any name, but a line must stay a line. */
	for (; *name; name++)
		fputc(iscntrl((unsigned char)*name) ? '?' : *name, names->to);
	fputc('\n', names->to);
}

/* Those that the kernel saved at the events: also of processes that ended.  There is room for few. */
static void add_saved(struct names *names, char *saved)
{
	char *rest = NULL;

	for (char *line = strtok_r(saved, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *end;
		unsigned long pid = strtoul(line, &end, 10);

		if (end > line && *end == ' ')
			add_name(names, pid, end + 1);
	}
}

static void add_task(struct names *names, const char *process, const char *task)
{
	char path[64], name[COMM_MAX];
	OWN_FILE FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%.12s/task/%.12s/comm", process, task);
	file = fopen(path, "re");
	if (!file || !fgets(name, sizeof(name), file))
		return;
	name[strcspn(name, "\n")] = '\0';
	add_name(names, strtoul(task, NULL, 10), name);
}

/* Call `visit` for each entry of a directory that is a number. */
static void visit_numbers(const char *path, struct names *names, const char *process,
			  void (*visit)(struct names *, const char *, const char *))
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		if (isdigit((unsigned char)entry->d_name[0]))
			visit(names, process, entry->d_name);
	if (directory)
		closedir(directory);
}

static void add_threads(struct names *names, const char *unused, const char *process)
{
	char path[64];

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%.12s/task", process);
	visit_numbers(path, names, process, add_task);
}

static char *read_processes(const struct instance *instance)
{
	OWN_FREE char *saved = instance_read(instance, "saved_cmdlines");
	OWN_FREE uint8_t *known = calloc(PIDS_MAX / 8, 1);
	char *text = NULL;
	size_t size = 0;
	struct names names = {.known = known};

	names.to = known ? open_memstream(&text, &size) : NULL;
	if (!names.to)
		return NULL;
	if (saved)
		add_saved(&names, saved);
	visit_numbers("/proc", &names, NULL, add_threads);
	if (fclose(names.to)) {
		free(text);
		text = NULL;
	}
	return text;
}

/* ---- all of them --------------------------------------------------------------------------- */

static char *read_host(void)
{
	struct utsname name;
	char *text;

	if (uname(&name) < 0 || asprintf(&text, "%s %s %s %s %s", name.sysname, name.nodename,
					 name.release, name.version, name.machine) < 0)
		return NULL;
	return text;
}

int sections_new(struct sections **sections, const struct instance *instance)
{
	struct sections *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->header_page = instance_read(instance, "events/header_page");
	fresh->header_event = instance_read(instance, "events/header_event");
	fresh->kallsyms = sections_functions(kallsyms_path(), "/proc/modules");
	fresh->printk_formats = instance_read(instance, "printk_formats");
	fresh->processes = read_processes(instance);
	fresh->host = read_host();
	r = fresh->header_page && fresh->header_event ? add_formats(fresh, instance) : -EIO;
	if (r < 0) {
		sections_free(&fresh);
		return r;
	}
	*sections = fresh;
	return 0;
}

static const char *text_or_empty(const char *text)
{
	return text ? text : "";
}

void sections_fill(const struct sections *sections, struct dat *dat)
{
	dat->header_page = sections->header_page;
	dat->header_event = sections->header_event;
	dat->formats = sections->formats;
	dat->formats_count = sections->formats_count;
	dat->kallsyms = text_or_empty(sections->kallsyms);
	dat->printk_formats = text_or_empty(sections->printk_formats);
	dat->processes = text_or_empty(sections->processes);
	dat->host = text_or_empty(sections->host);
	dat->writer = "netflowd " NETFLOWD_VERSION;
	dat->clock = "mono";
}

void sections_free(struct sections **sections)
{
	struct sections *old = *sections;

	if (!old)
		return;
	for (size_t i = 0; i < old->formats_count; i++) {
		free(old->formats[i].system);
		free(old->formats[i].text);
	}
	free(old->formats);
	free(old->header_page);
	free(old->header_event);
	free(old->kallsyms);
	free(old->printk_formats);
	free(old->processes);
	free(old->host);
	free(old);
	*sections = NULL;
}
