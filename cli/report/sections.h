/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections of the report.  Each says what it lacks in a sentence; none leaves an empty table or drawing. */
#ifndef CLI_REPORT_SECTIONS_H
#define CLI_REPORT_SECTIONS_H

#include "cli/report/html.h"
#include "cli/report/model.h"

/* What happened, in three sentences. */
void section_story(struct html *html, const struct model *model);

/* Top causes of drops, with what `netflowctl explain` knows about them. */
void section_causes(struct html *html, const struct model *model);

void section_drops(struct html *html, const struct model *model);
void section_latency(struct html *html, const struct model *model);
void section_napi(struct html *html, const struct model *model);
void section_slots(struct html *html, const struct model *model);
void section_alerts(struct html *html, const struct model *model);

/* How far the other sections can be trusted: the period, coverage, the ledger. */
void section_period(struct html *html, const struct model *model);
void section_coverage(struct html *html, const struct model *model);
void section_ledger(struct html *html, const struct model *model);

/* Say that no probe runs, if that is so: then a section has no data. */
bool section_blind(struct html *html, const struct model *model);

#endif
