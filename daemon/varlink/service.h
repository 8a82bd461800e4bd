/* SPDX-License-Identifier: GPL-2.0-or-later */
/* org.varlink.service, which every Varlink service has, and the interfaces it describes. */
#ifndef DAEMON_VARLINK_SERVICE_H
#define DAEMON_VARLINK_SERVICE_H

#include <stddef.h>

#include "daemon/varlink/server.h"

extern const struct method service_methods[];
extern const size_t service_method_count;

/* The text of an interface that this daemon has, or NULL.  `name` need not end after `length`. */
const char *service_interface(const char *name, size_t length);

#endif
