/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as one HTML page: no script, nothing from outside, and each text from the daemon escaped. */
#ifndef CLI_REPORT_WRITE_H
#define CLI_REPORT_WRITE_H

#include <stdio.h>

#include "cli/report/model.h"

/* Write the page.  0 or -ENOMEM; errors of the file are found when it is closed. */
int report_write(FILE *file, const struct model *model);

#endif
