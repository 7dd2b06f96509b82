// SPDX-License-Identifier: Apache-2.0
/* The smallest program that still needs a C library: for comparing what libraries bring along. */
#include <stdio.h>

int main(void)
{
	printf("Hello, world\n");
	return 0;
}
