// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>

#define BITS 8

unsigned long lpj_fine, preset_lpj;

static int __init preset(char *text)
{
	return !kstrtoul(text, 0, &preset_lpj);
}
__setup("lpj=", preset);

static bool longer_than_a_tick(unsigned long loops)
{
	unsigned long now = jiffies;

	while (now == jiffies)
		;
	now = jiffies;
	__delay(loops);
	return now != jiffies;
}

static unsigned long calibrated(void)
{
	unsigned long bit, loops = 1 << 12;
	int left = BITS;

	do
		loops <<= 1;
	while (loops && !longer_than_a_tick(loops));
	loops >>= 1;
	for (bit = loops >> 1; left-- && bit; bit >>= 1)
		if (!longer_than_a_tick(loops | bit))
			loops |= bit;
	return loops;
}

void calibrate_delay(void)
{
	if (!preset_lpj)
		pr_info("Calibrating delay loop... ");
	else
		pr_info("Calibrating delay loop (skipped) preset value.. ");
	loops_per_jiffy = preset_lpj ? preset_lpj : calibrated();
	pr_cont("%lu.%02lu BogoMIPS (lpj=%lu)\n", loops_per_jiffy / (500000 / HZ),
		loops_per_jiffy / (5000 / HZ) % 100, loops_per_jiffy);
	calibration_delay_done();
}
