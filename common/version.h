/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NETFLOWD_VERSION, a string literal: the version of this build.  The Makefile writes it from git or the package. */
#ifndef COMMON_VERSION_H
#define COMMON_VERSION_H

#include "version_text.h"

#endif
