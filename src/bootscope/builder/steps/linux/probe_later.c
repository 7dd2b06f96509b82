// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Drivers that wait with their probe until the system is ready for them.
 *
 *   probe_later.drivers=NAME,NAME    which ones, by their names in /sys/bus/<bus>/drivers
 *   probe_later.timeout=SECONDS      how long after the last initcall, at most (30)
 *
 * User space lets them go:
 *
 *   echo 1 > /sys/module/probe_later/parameters/release
 *
 * Until then each of their probes returns -EPROBE_DEFER. Afterwards the driver core tries their devices
 * again, in its own work item, as it does when another device has been bound. What user space does not let
 * go goes with the time-out.
 */
#include <linux/compiler.h>
#include <linux/device.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "base.h"

bool probe_is_put_off(const struct device_driver *driver);

static char *drivers;
module_param(drivers, charp, 0444);

static unsigned int timeout = 30;
module_param(timeout, uint, 0444);

static bool released;

bool probe_is_put_off(const struct device_driver *driver)
{
	size_t length = strlen(driver->name);
	const char *at;

	if (!drivers || READ_ONCE(released))
		return false;
	for (at = drivers; at; at = strchr(at, ',')) {
		if (*at == ',')
			at++;
		if (!strncmp(at, driver->name, length) && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

static void let_go(const char *why)
{
	if (!drivers || READ_ONCE(released))
		return;
	pr_info("probe_later: %s: %s\n", drivers, why);
	WRITE_ONCE(released, true);
	driver_deferred_probe_trigger();
}

static int release_set(const char *value, const struct kernel_param *parameter)
{
	let_go("released");
	return 0;
}

static const struct kernel_param_ops release_operations = {
	.set = release_set,
};
module_param_cb(release, &release_operations, NULL, 0200);

static void timed_out(struct work_struct *work)
{
	let_go("not released in time");
}

static DECLARE_DELAYED_WORK(waiting, timed_out);

static int __init wait_for_release(void)
{
	if (drivers)
		schedule_delayed_work(&waiting, msecs_to_jiffies(1000 * timeout));
	return 0;
}
late_initcall_sync(wait_for_release);
