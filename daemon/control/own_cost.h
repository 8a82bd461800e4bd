/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon itself takes, in GetStatus; the caller owns the objects.  NULL: no memory. */
#ifndef DAEMON_CONTROL_OWN_COST_H
#define DAEMON_CONTROL_OWN_COST_H

#include <stdint.h>

#include <jansson.h>

struct control;

/* An array of type Table; adds the memory of all to *bytes. */
json_t *own_tables_json(const struct control *control, uint64_t *bytes);
/* Type Cost; `tables_bytes`: the memory of all tables. */
json_t *own_cost_json(const struct control *control, uint64_t tables_bytes);
/* Members `clients`, `loop` and `readings` of GetStatus. */
json_t *own_clients_json(const struct control *control);
json_t *own_loop_json(const struct control *control);
json_t *own_readings_json(const struct control *control);

#endif
