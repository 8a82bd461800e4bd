/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that a command starts. */
#ifndef CLI_ASK_CHILD_H
#define CLI_ASK_CHILD_H

#include <sys/types.h>

/*
 * Start the program argv[0], a path or a name in $PATH, with no signal blocked.  `output` becomes its standard output;
 * -1: it keeps this one.  `orphaned` is the signal that it gets if this process ends first; 0: none.  Returns 0, or a
 * negative errno, also if the program cannot be executed.
 */
int child_start(pid_t *pid, char *const argv[], int output, int orphaned);

#endif
