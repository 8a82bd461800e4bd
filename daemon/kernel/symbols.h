/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From addresses in kernel text to "symbol+0xoffset", with /proc/kallsyms. */
#ifndef DAEMON_KERNEL_SYMBOLS_H
#define DAEMON_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbols;

/*
 * An address at this distance or more from the symbol before it does not belong to that symbol: no function is that
 * long.  It is in a gap, or in a module that was loaded after the table was read.
 */
#define SYMBOLS_OFFSET_MAX (1 << 20)

/* The size of a buffer for every text of symbols_format(); KSYM_NAME_LEN is 512. */
#define SYMBOLS_TEXT_MAX 640

/* Make an empty table, which the caller frees with symbols_free().  Returns 0 or -ENOMEM. */
int symbols_new(struct symbols **symbols);
void symbols_free(struct symbols **symbols);

/*
 * Let the next symbols_load() set address[i] to the address of the symbol name[i], a function or data, with or
 * without a suffix of the compiler; 0 if it is hidden or does not exist.  Of several with one name, the first: the
 * kernel's symbols precede those of modules.  Both arrays have `count` entries, stay the caller's, and stay valid.
 */
void symbols_want(struct symbols *symbols, const char *const name[], uint64_t address[],
		  size_t count);

/*
 * Replace the table by the text symbols of a file like /proc/kallsyms.  On failure the table stays as it was.
 * `modules`: a file like /proc/modules, which symbols_format() reads too, so it must stay valid.  NULL: no module is
 * ever loaded or removed.
 *
 * Returns 0; -ENODATA if every address is 0, because kernel.kptr_restrict hides them or the process has no CAP_SYSLOG;
 * -ENOENT if there is no such file, as on a kernel without CONFIG_KALLSYMS; -EBADMSG if it contains no text symbols;
 * -ENOMEM; or the negative errno of open(2) or read(2).
 */
int symbols_load(struct symbols *symbols, const char *path, const char *modules);

/*
 * Whether a symbol of kallsyms, "name\t[module]", is where another module's code is now.  The kernel lists the init
 * functions of modules also after it has freed their memory (seen on 7.3: br_nf_core_init).  `map` may be NULL.
 */
struct module_map;
bool symbols_is_freed(const struct module_map *map, uint64_t address, const char *symbol);

/* Replace the table by the functions of a recording's kernel, which are final.  The handle stays the caller's. */
struct tep_handle;
void symbols_take(struct symbols *symbols, struct tep_handle *tep);

/* Exchange two tables: one that another thread has loaded for one that is in use. */
void symbols_swap(struct symbols *a, struct symbols *b);

/* The number of symbols in the table. */
size_t symbols_count(const struct symbols *symbols);

/*
 * Write "udp_rcv+0x1f" or "nft_do_chain+0x3c [nf_tables]"; "0xffff…" if the symbol is not known.  `symbols` may be
 * NULL: no symbol is known.
 *
 * A module gets memory that another module had: its init functions, which the kernel frees when they have run, or all
 * of it.  So the name of a module's function counts only if that module had this memory when the table was read, and
 * has it now, or no module has it now: then the module was removed.  For that, the file of modules is read again, but
 * at most every SYMBOLS_MODULES_NS.  Not for several threads at once.
 */
#define SYMBOLS_MODULES_NS 20000000
void symbols_format(const struct symbols *symbols, uint64_t address, char *text, size_t size);

#endif
