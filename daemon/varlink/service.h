/* SPDX-License-Identifier: GPL-2.0-or-later */
/* org.varlink.service, the interface that every Varlink service has. */
#ifndef DAEMON_VARLINK_SERVICE_H
#define DAEMON_VARLINK_SERVICE_H

#include <stddef.h>

#include "daemon/varlink/server.h"

/* Their userdata is the server's struct server_settings. */
extern const struct method service_methods[];
extern const size_t service_method_count;

/*
 * The definition of the interface whose name is the first `length` bytes of `name`; NULL if the server does not have
 * it.
 */
const char *service_interface(const struct server_settings *settings, const char *name,
			      size_t length);

#endif
