/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cleanup attribute of a local that owns a value of jansson. */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <jansson.h>

#include "common/cleanup.h"

#define OWN_JSON CLEANUP(json_decrefp)

#endif
