/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which module's code is at an address now, with /proc/modules. */
#ifndef DAEMON_KERNEL_MODULE_MAP_H
#define DAEMON_KERNEL_MODULE_MAP_H

#include <stdint.h>

#include "common/cleanup.h"

struct module_map;

/* MODULE_NAME_LEN of 64-bit kernels is 56. */
#define MODULE_NAME_MAX 64

struct module_place {
	uint64_t base; /* where its code begins */
	/* Bytes of all its memory.  Since 6.4 only the code is contiguous, so its end can be earlier. */
	uint64_t size;
	char name[MODULE_NAME_MAX];
};

/*
 * Read a file like /proc/modules.  Modules whose address the kernel hides are left out.  The caller frees *map with
 * module_map_free().  Returns 0, -ENOMEM, or the negative errno of open(2) or read(2); *map is untouched on failure.
 * About 0.1 ms for 200 modules.
 */
int module_map_read(struct module_map **map, const char *path);
void module_map_free(struct module_map **map);
#define OWN_MODULE_MAP CLEANUP(module_map_free)

/* The module whose code can be at the address; NULL: none's is.  `map` may be NULL: no module.  Valid as long as it. */
const struct module_place *module_map_at(const struct module_map *map, uint64_t address);

#endif
