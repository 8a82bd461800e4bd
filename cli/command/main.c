/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl: asks netflowd and prints its replies. */
#include <locale.h>
#include <stdio.h>

#include "cli/command/command.h"

#define OUTPUT_BUFFER 65536

int main(int argc, char *argv[])
{
	/* Only the width of characters and the character set; numbers stay as in the C locale. */
	setlocale(LC_CTYPE, "");
	/* Write pages in large blocks, also to a terminal, instead of line by line. */
	setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
	return command_main(argc, argv);
}
