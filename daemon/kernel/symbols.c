/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/kernel/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include "common/cleanup.h"
#include "common/time.h"
#include "daemon/kernel/module_map.h"

/*
 * libtraceevent cannot return a function's module.  So the name that is registered for a function is the end of its
 * line in kallsyms, "name\t[module]".  An entry with an empty name marks where kernel text ends.
 */
#define BOUNDARY ""

/* The modules of this moment. */
struct present {
	struct module_map *map; /* NULL: cannot be read */
	uint64_t read_ns;	/* CLOCK_MONOTONIC; 0: not read yet */
};

/* See symbols_want(). */
struct wanted {
	const char *const *name;
	uint64_t *address;
	size_t count;
};

struct symbols {
	struct tep_handle *tep;
	struct wanted wanted;
	size_t count;
	const char *modules;	/* the path; NULL: they never change */
	struct module_map *map; /* from before the table was read; NULL: could not be read */
	struct present *present;
};

/* The state of loading after the lines read so far. */
struct load {
	struct tep_handle *tep;
	const struct module_map *map; /* may be NULL */
	struct wanted wanted;
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

/* The length of the name in "name\t[module]", and the module or "". */
static int split(const char *text, const char **module)
{
	const char *tab = strchr(text, '\t');

	*module = tab ? tab + 1 : "";
	return (int)(tab ? (size_t)(tab - text) : strlen(text));
}

/* `module`: "[name]", as in kallsyms. */
static bool is_module(const struct module_place *place, const char *module)
{
	size_t len = strlen(place->name);

	return !strncmp(module + 1, place->name, len) && !strcmp(module + 1 + len, "]");
}

/* Names that kallsyms has of no module: "[bpf]", "[__builtin__ftrace]" and "[__builtin__kprobes]". */
static bool is_no_module(const char *module)
{
	return !strcmp(module, "[bpf]") || !strncmp(module, "[__builtin__", 12);
}

bool symbols_is_freed(const struct module_map *map, uint64_t address, const char *symbol)
{
	const struct module_place *place = module_map_at(map, address);
	const char *module;

	split(symbol, &module);
	return place && *module && !is_no_module(module) && !is_module(place, module);
}

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

/* The compiler appends ".isra.0" and the like to functions, ".12" to static variables. */
static void note_wanted(const struct wanted *wanted, uint64_t address, const char *symbol)
{
	size_t len;

	for (size_t i = 0; i < wanted->count; i++) {
		/* There are 200,000 lines. */
		if (wanted->name[i][0] != symbol[0] || wanted->address[i])
			continue;
		len = strlen(wanted->name[i]);
		if (!strncmp(symbol, wanted->name[i], len) &&
		    (!symbol[len] || symbol[len] == '.' || symbol[len] == '\t'))
			wanted->address[i] = address;
	}
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
	note_wanted(&load->wanted, address, end + 3);
	if (!text)
		return load->open && address != load->address ? add(load, address, BOUNDARY) : 0;
	/* Of several names for one address keep the first, as the kernel does. */
	if (is_noise(end + 3) || (load->open && address == load->address) ||
	    symbols_is_freed(load->map, address, end + 3))
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
	s->present = calloc(1, sizeof(*s->present));
	if (!s->present) {
		free(s);
		return -ENOMEM;
	}
	*symbols = s;
	return 0;
}

void symbols_free(struct symbols **symbols)
{
	if (!*symbols)
		return;
	tep_free((*symbols)->tep);
	module_map_free(&(*symbols)->map);
	module_map_free(&(*symbols)->present->map);
	free((*symbols)->present);
	free(*symbols);
	*symbols = NULL;
}

void symbols_want(struct symbols *symbols, const char *const name[], uint64_t address[],
		  size_t count)
{
	symbols->wanted = (struct wanted){.name = name, .address = address, .count = count};
}

int symbols_load(struct symbols *symbols, const char *path, const char *modules)
{
	OWN_MODULE_MAP struct module_map *map = NULL;
	OWN_TEP struct tep_handle *tep = NULL;
	OWN_FILE FILE *file = fopen(path, "re");
	struct load load = {.wanted = symbols->wanted};
	int r;

	for (size_t i = 0; i < load.wanted.count; i++)
		load.wanted.address[i] = 0;
	symbols->wanted.count = 0;
	if (!file)
		return -errno;
	tep = tep_alloc();
	if (!tep)
		return -ENOMEM;
	load.tep = tep;
	/* Without the map no module's function has a name. */
	if (modules && module_map_read(&map, modules) == -ENOMEM)
		return -ENOMEM;
	load.map = map;
	r = load_file(&load, file);
	if (r < 0)
		return r;
	tep_free(symbols->tep);
	symbols->tep = TAKE_PTR(tep);
	symbols->count = load.count;
	module_map_free(&symbols->map);
	symbols->map = TAKE_PTR(map);
	symbols->modules = modules;
	symbols->present->read_ns = 0;
	/* The first look-up sorts the table and frees half of its memory: do that now. */
	tep_find_function(symbols->tep, 0);
	return 0;
}

void symbols_take(struct symbols *symbols, struct tep_handle *tep)
{
	tep_free(symbols->tep);
	tep_ref(tep);
	symbols->tep = tep;
	module_map_free(&symbols->map);
	symbols->modules = NULL;
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

static const struct module_map *present_map(const struct symbols *symbols)
{
	struct present *present = symbols->present;
	uint64_t now = time_monotonic();

	if (present->read_ns && now - present->read_ns < SYMBOLS_MODULES_NS)
		return present->map;
	module_map_free(&present->map);
	(void)module_map_read(&present->map, symbols->modules);
	present->read_ns = now;
	return present->map;
}

/* Whether the address was in `module` when the table was read, and no other module has that memory now. */
static bool is_current(const struct symbols *symbols, const char *module, uint64_t address)
{
	const struct module_map *map;
	const struct module_place *now, *then;

	if (!symbols->modules)
		return true;
	map = present_map(symbols);
	now = module_map_at(map, address);
	then = module_map_at(symbols->map, address);
	if (!then)
		return !now && is_no_module(module);
	/* The size is greater while the module loads. */
	return map && is_module(then, module) &&
	       (!now || (now->base == then->base && is_module(now, module)));
}

void symbols_format(const struct symbols *symbols, uint64_t address, char *text, size_t size)
{
	const char *name = NULL, *module = "";
	uint64_t offset = 0;
	int len;

	if (symbols && symbols->tep)
		name = tep_find_function(symbols->tep, address);
	if (name)
		offset = address - tep_find_function_address(symbols->tep, address);
	len = name ? split(name, &module) : 0;
	if (!len || offset >= SYMBOLS_OFFSET_MAX ||
	    (*module && !is_current(symbols, module, address))) {
		snprintf(text, size, "0x%" PRIx64, address);
		return;
	}
	snprintf(text, size, "%.*s+0x%" PRIx64 "%s%s", len, name, offset, *module ? " " : "",
		 module);
}
