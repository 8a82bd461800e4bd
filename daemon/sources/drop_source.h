/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes rows of the counters of one reading: each cause, owner and location is resolved once. */
#ifndef DAEMON_SOURCES_DROP_SOURCE_H
#define DAEMON_SOURCES_DROP_SOURCE_H

#include <stdbool.h>

#include "common/cleanup.h"

struct backend_drops;
struct cause;
struct sources;
struct drop_row;
struct drop_source;
struct texts;

/* The sources and the texts, which the rows have, must outlive the source.  -ENOMEM. */
int drop_source_new(struct drop_source **source, const struct sources *sources,
		    struct texts *texts);
void drop_source_free(struct drop_source **source);
#define OWN_DROP_SOURCE CLEANUP(drop_source_free)

/* The cause of a counter; NULL: no memory.  It lasts as long as the source. */
const struct cause *drop_source_cause(struct drop_source *source,
				      const struct backend_drops *drops);

/* Fill the row of a counter of this cause; `owned`: with its owner, which takes longer.  -ENOMEM. */
int drop_source_row(struct drop_source *source, const struct backend_drops *drops,
		    const struct cause *cause, bool owned, struct drop_row *row);

#endif
