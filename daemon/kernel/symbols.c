/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include "common/cleanup.h"

/*
 * libtraceevent cannot return a function's module.  So the name that is registered for a function is the end of its
 * line in kallsyms, "name\t[module]".  An entry with an empty name marks where kernel text ends.
 */
#define BOUNDARY ""

struct symbols {
	struct tep_handle *tep;
	size_t count;
};

/* The state of loading after the lines read so far. */
struct load {
	struct tep_handle *tep;
	uint64_t address; /* of the newest entry */
	size_t count;
	bool open;   /* the newest entry is a function, not a boundary */
	bool hidden; /* text symbols without an address were seen */
};

static void free_tep(struct tep_handle **tep)
{
	tep_free(*tep);
}

#define OWN_TEP CLEANUP(free_tep)

static int add(struct load *load, uint64_t address, const char *name)
{
	/* The library copies the name, although its prototype has no const. */
	if (tep_register_function(load->tep, (char *)name, address, NULL) != 0)
		return -ENOMEM;
	load->address = address;
	load->open = name[0] != '\0';
	return 0;
}

/*
 * Names of text in which no packet is dropped: arm64's mapping symbols, and the padding before each function (__pfx_,
 * __cfi_), which would double the table.
 */
static bool is_noise(const char *name)
{
	return name[0] == '$' || strncmp(name, "__pfx_", 6) == 0 || strncmp(name, "__cfi_", 6) == 0;
}

/* "ffffffff81000000 T _stext" or "ffffffffc0201000 t name\t[module]". */
static int load_line(struct load *load, const char *line)
{
	uint64_t address;
	char *end;
	bool text;

	errno = 0;
	address = strtoull(line, &end, 16);
	if (errno || end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return 0;
	text = strchr("tTwW", end[1]);
	if (!address) {
		load->hidden |= text;
		return 0;
	}
	if (!text)
		return load->open && address != load->address ? add(load, address, BOUNDARY) : 0;
	/* Of several names for one address keep the first, as the kernel does. */
	if (is_noise(end + 3) || (load->open && address == load->address))
		return 0;
	load->count++;
	return add(load, address, end + 3);
}

static int load_file(struct load *load, FILE *file)
{
	OWN_FREE char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int r;

	errno = 0;
	while ((len = getline(&line, &room, file)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		r = load_line(load, line);
		if (r < 0)
			return r;
		errno = 0;
	}
	if (ferror(file))
		return errno ? -errno : -EIO;
	if (errno == ENOMEM)
		return -ENOMEM;
	if (!load->count)
		return load->hidden ? -ENODATA : -EBADMSG;
	/* The library ends each function at the next entry, so the last one needs one too. */
	return add(load, UINT64_MAX, BOUNDARY);
}

int symbols_new(struct symbols **symbols)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*symbols = s;
	return 0;
}

void symbols_free(struct symbols **symbols)
{
	if (!*symbols)
		return;
	tep_free((*symbols)->tep);
	free(*symbols);
	*symbols = NULL;
}

int symbols_load(struct symbols *symbols, const char *path)
{
	OWN_TEP struct tep_handle *tep = NULL;
	OWN_FILE FILE *file = fopen(path, "re");
	struct load load = {0};
	int r;

	if (!file)
		return -errno;
	tep = tep_alloc();
	if (!tep)
		return -ENOMEM;
	load.tep = tep;
	r = load_file(&load, file);
	if (r < 0)
		return r;
	tep_free(symbols->tep);
	symbols->tep = TAKE_PTR(tep);
	symbols->count = load.count;
	/* The first look-up sorts the table and frees half of its memory: do that now. */
	tep_find_function(symbols->tep, 0);
	return 0;
}

void symbols_swap(struct symbols *a, struct symbols *b)
{
	const struct symbols old = *a;

	*a = *b;
	*b = old;
}

size_t symbols_count(const struct symbols *symbols)
{
	return symbols->count;
}

/* The length of the name in "name\t[module]", and the module or "". */
static int split(const char *text, const char **module)
{
	const char *tab = strchr(text, '\t');

	*module = tab ? tab + 1 : "";
	return (int)(tab ? (size_t)(tab - text) : strlen(text));
}

void symbols_format(const struct symbols *symbols, uint64_t address, char *text, size_t size)
{
	const char *name = NULL, *module;
	uint64_t offset = 0;
	int len;

	if (symbols && symbols->tep)
		name = tep_find_function(symbols->tep, address);
	if (name)
		offset = address - tep_find_function_address(symbols->tep, address);
	if (!name || !*name || offset >= SYMBOLS_OFFSET_MAX) {
		snprintf(text, size, "0x%" PRIx64, address);
		return;
	}
	len = split(name, &module);
	snprintf(text, size, "%.*s+0x%" PRIx64 "%s%s", len, name, offset, *module ? " " : "",
		 module);
}
