/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording that netflowd --replay serves: the program, its temporary directory and its socket. */
#ifndef CLI_ASK_RECORDED_H
#define CLI_ASK_RECORDED_H

#include "cli/ask/report.h"
#include "common/cleanup.h"

struct recorded;

/*
 * Start to read the recording `file`, which must outlive the object.  Several can be started before the first is
 * waited for; they are then read at the same time.  A failure is reported.
 */
enum report_status recorded_start(struct recorded **recorded, const char *file);

/*
 * Wait until the whole recording is read and its socket answers.  netflowd reports a file that it cannot read, and
 * this function reports that netflowd was killed.  When `signals` is readable (-1: there is none), the wait ends with
 * REPORT_FAILED.
 */
enum report_status recorded_wait(struct recorded *recorded, int signals);

/* The path of its socket; valid until recorded_free(). */
const char *recorded_socket(const struct recorded *recorded);

/* End netflowd, and remove the directory. */
void recorded_free(struct recorded **recorded);
#define OWN_RECORDED CLEANUP(recorded_free)

#endif
