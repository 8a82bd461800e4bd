/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel's symbols are. */
#ifndef COMMON_KALLSYMS_H
#define COMMON_KALLSYMS_H

/*
 * /proc/kallsyms, or the path in $NETFLOWD_KALLSYMS: ProtectKernelTunables= hides the former, so netflowd.service
 * mounts the file at another path.  Valid as long as the environment stays.
 */
const char *kallsyms_path(void);

#endif
