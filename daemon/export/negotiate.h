/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which format a client wants, by its header Accept (RFC 9110, 12.5.1). */
#ifndef DAEMON_EXPORT_NEGOTIATE_H
#define DAEMON_EXPORT_NEGOTIATE_H

#include "daemon/metrics/text.h"

/*
 * OpenMetrics if the client names it, with a version that netflowd writes and a weight that is not below that of
 * text/plain; otherwise Prometheus's text format, which is also for clients that accept nothing that netflowd has.
 */
enum metrics_format negotiate_format(const char *accept);

/* The media type of a format. */
const char *negotiate_type(enum metrics_format format);

#endif
