/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --pcap FILE: write records of one kind to a pcapng file, either held records or new ones as they happen. */
#ifndef CLI_FILE_PCAP_OPTION_H
#define CLI_FILE_PCAP_OPTION_H

#include "cli/ask/session.h"

/*
 * Write the records of `kind` ("drop" or "latency") to session->arguments.pcap.  Without --follow, these are the
 * records in the reply to `method`; with --follow, the records that Monitor streams.  `parameters` are those of
 * `method` or of Monitor, and are stolen.  A failure is reported.
 */
enum report_status pcap_option_write(struct session *session, const char *kind, const char *method,
				     json_t *parameters);

#endif
