/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The row of a drop record, from its JSON in the file. */
#ifndef DAEMON_HISTORY_DROP_NAME_H
#define DAEMON_HISTORY_DROP_NAME_H

#include <jansson.h>

#include "daemon/rows/drop_row.h"

/*
 * Read all of a row of zeros that the object has, its flow too, or its protocol as that if it has none.  Whatever the
 * object lacks, or has of another type, is not known.  The texts are those of the object and `candidates`.
 */
void drop_name_read(struct drop_row *row, const json_t *name,
		    char candidates[static DROP_CANDIDATES_MAX]);

#endif
