/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The drawings of the report: drops over time, latencies over time, and one histogram.  Numbers stand beside them. */
#ifndef CLI_REPORT_DRAWING_H
#define CLI_REPORT_DRAWING_H

#include "cli/ask/field.h"
#include "cli/report/html.h"
#include "cli/report/model.h"

/* "2026-11-21 09:30:00", the host's local time, for ns since 1970. */
struct field_time drawing_time(uint64_t epoch_ns);

/* Stacked bars of drops by reason, with a legend.  Needs cells and at least one drop. */
void drawing_timeline(struct html *html, const struct model *model);

/* How many packets took how long, over time: a column for each cell, a row for each power of two.  Needs cells. */
void drawing_heat(struct html *html, const struct model *model,
		  const struct model_segment *segment);

/* The same without time: a bar for each power of two. */
void drawing_histogram(struct html *html, const struct model_segment *segment);

/* The five shades of drawing_heat(), from few to many. */
void drawing_shades(struct html *html);

#endif
