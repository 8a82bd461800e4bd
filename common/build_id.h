/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build ID of the running program, which names its debug symbols and distinguishes builds of one version. */
#ifndef COMMON_BUILD_ID_H
#define COMMON_BUILD_ID_H

/* 64 bytes in hexadecimal; the linker's own hash has 20. */
#define BUILD_ID_MAX 129

struct build_id {
	char s[BUILD_ID_MAX];
};

/*
 * The build ID from the note that the linker wrote (ld --build-id), in lower-case hexadecimal, as readelf -n and
 * /usr/lib/debug/.build-id show it; empty if the program has none.
 */
struct build_id build_id(void);

#endif
