/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --pcap FILE: records of one kind into a pcapng file, those that are held or as they happen. */
#ifndef CLI_FILE_PCAP_OPTION_H
#define CLI_FILE_PCAP_OPTION_H

#include "cli/ask/session.h"

/*
 * Write the records of `kind` ("drop" or "latency") to session->arguments.pcap:
 * those of an answer of `method`, or with --follow those to come.  `parameters`
 * are the method's (with --follow Monitor's) and stolen.
 */
enum report_status pcap_option_write(struct session *session, const char *kind, const char *method,
				     json_t *parameters);

#endif
