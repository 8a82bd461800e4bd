/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The MESSAGE_ID of each change of state of the daemon in the journal (daemon/process/journal.h).  docs/service.md
 * lists them with their fields; those of alerts are in daemon/alert/journal.h.
 */
#ifndef DAEMON_MESSAGES_H
#define DAEMON_MESSAGES_H

#define MESSAGE_STARTED "24b76c92ea1b43a19452f373b206c951"
#define MESSAGE_COVERAGE "3a61a5055a084f0aa34933e42aea6185"
#define MESSAGE_RELOADED "a5b1f1c68e0b4e62b247cdbff554e92e"
#define MESSAGE_REFUSED "b56a548f37f44247ba04e2c513abf2bb" /* a reload */
#define MESSAGE_SILENT "eafc816cec0e47eaa9f9f08be149e260"  /* no watchdog ping */
#define MESSAGE_DELIVERS "e82b090831fd4e44a83c0a14061391e6"
#define MESSAGE_PAUSED "5f0f6f0d8f8d4c0e9a4f7be1f1f7c2a1"
#define MESSAGE_RESUMED "0c2b8a5d6f2e4e9d8b35f5d0a7e41c93"
#define MESSAGE_PAUSE_FAULT "b8e7c1d25a9346f08d1f62c3e9704ba5" /* a file of a pause */

#endif
