/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses in kernel text to "symbol+0xoffset", by /proc/kallsyms. */
#ifndef DAEMON_KERNEL_SYMBOLS_H
#define DAEMON_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

/*
 * An address further than this behind the nearest symbol is not attributed to
 * it: no function is that long, so it is in a gap, or in a module that came
 * after the table was loaded.
 */
#define SYMBOLS_OFFSET_MAX (1 << 20)

/* Size of a buffer that symbols_format() never has to cut a text for; KSYM_NAME_LEN is 512. */
#define SYMBOLS_TEXT_MAX 640

/* A table that knows no address.  The caller frees it.  -ENOMEM. */
int symbols_new(struct symbols **symbols);
void symbols_free(struct symbols **symbols);

/*
 * Take the text symbols out of a file like /proc/kallsyms, in place of all
 * that were there before.  Where it fails the table stays as it was.
 *
 * -ENODATA: every address is 0, that is kernel.kptr_restrict hides them or the
 * process has no CAP_SYSLOG; -ENOENT: no such file, a kernel without
 * CONFIG_KALLSYMS; -EBADMSG: no text symbols in it; -ENOMEM; what open(2) and
 * read(2) give.
 */
int symbols_load(struct symbols *symbols, const char *path);

/* How many symbols there are. */
size_t symbols_count(const struct symbols *symbols);

/*
 * "udp_rcv+0x1f", "nft_do_chain+0x3c [nf_tables]"; "0xffff…" where the address
 * is not known.  `symbols` may be NULL: nothing is known.
 */
void symbols_format(const struct symbols *symbols, uint64_t address, char *text, size_t size);

#endif
