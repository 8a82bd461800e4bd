/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/printable.h"

void printable_ascii(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}
