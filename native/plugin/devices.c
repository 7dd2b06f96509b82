// SPDX-License-Identifier: GPL-2.0-or-later
#include "devices.h"

#include "clock.h"
#include "config_space.h"
#include "flash.h"
#include "record.h"
#include "run.h"
#include "virtio_disk.h"
#include "watch.h"

static uint64_t stored_value(qemu_plugin_meminfo_t info)
{
	qemu_plugin_mem_value v = qemu_plugin_mem_get_value(info);

	switch (v.type) {
	case QEMU_PLUGIN_MEM_VALUE_U8:
		return v.data.u8;
	case QEMU_PLUGIN_MEM_VALUE_U16:
		return v.data.u16;
	case QEMU_PLUGIN_MEM_VALUE_U32:
		return v.data.u32;
	default:
		return v.data.u64;
	}
}

/* Whether the ring of bytes last stored ends in the text looked for. */
static bool text_seen(struct bs_text *t, uint8_t byte)
{
	t->seen[t->seen_at] = byte;
	t->seen_at = (t->seen_at + 1) % t->size;
	if (++t->seen_total < t->size)
		return false;
	for (size_t i = 0; i < t->size; i++)
		if (t->seen[(t->seen_at + i) % t->size] != t->bytes[i])
			return false;
	return true;
}

static void look_for_texts(struct bs_watch *w, const struct bs_io *io, uint64_t offset, uint64_t value,
			   int64_t now_ns)
{
	for (size_t i = 0; i < w->n_text; i++) {
		struct bs_text *t = &w->text[i];
		struct bs_payload p = {.size = 0};

		if (t->io != io->id || t->offset != offset || !text_seen(t, (uint8_t)value))
			continue;
		bs_put_uint(&p, t->id);
		bs_record(BS_REC_TEXT, now_ns, &p);
		if (t->stop)
			bs_run_end(BS_END_STOP_TEXT, t->id, now_ns);
	}
}

static void record_store(struct bs_watch *w, const struct bs_io *ranges, size_t n, uint64_t at, uint8_t bytes,
			 uint64_t value, int64_t now_ns)
{
	for (size_t i = 0; i < n; i++) {
		const struct bs_io *io = &ranges[i];
		struct bs_payload p = {.size = 0};

		if (at < io->start || at >= io->end)
			continue;
		bs_put_uint(&p, io->id);
		bs_put_uint(&p, at - io->start);
		bs_put_byte(&p, bytes);
		bs_put_uint(&p, value);
		bs_record(BS_REC_IO, now_ns, &p);
		look_for_texts(w, io, at - io->start, value, now_ns);
	}
}

struct told {
	const struct bs_io *io;
	int64_t now_ns;
};

static void record_request(void *udata, uint64_t offset, uint64_t value)
{
	const struct told *t = udata;
	struct bs_payload p = {.size = 0};

	bs_put_uint(&p, t->io->id);
	bs_put_uint(&p, offset);
	bs_put_byte(&p, sizeof(value));
	bs_put_uint(&p, value);
	bs_record(BS_REC_IO, t->now_ns, &p);
}

static void do_requests(const struct bs_watch *w, uint64_t phys, uint64_t value, int64_t now_ns)
{
	for (size_t i = 0; i < w->n_io; i++) {
		const struct bs_io *io = &w->io[i];
		struct told told = {io, now_ns};

		if (io->disk && phys >= io->start && phys < io->end)
			bs_disk_stored(phys - io->start, value, io->end - io->start, record_request, &told);
	}
}

static bool is_watched(const struct bs_watch *w, uint64_t phys)
{
	for (size_t i = 0; i < w->n_io; i++)
		if (phys >= w->io[i].start && phys < w->io[i].end)
			return true;
	return false;
}

void bs_ports_output(struct bs_watch *w, uint64_t port, uint8_t bytes, uint64_t value, int64_t now_ns)
{
	record_store(w, w->port, w->n_port, port, bytes, value, now_ns);
}

static void after_sleep(const struct bs_clock_jump *jump)
{
	struct bs_payload p = {.size = 0};
	int64_t slept_ns = jump->wake_ns - jump->sleep_ns;

	if (slept_ns > 0) {
		bs_put_uint(&p, (uint64_t)slept_ns);
		bs_record(BS_REC_IDLE, jump->wake_ns, &p);
	}
	bs_record_release(slept_ns);
	bs_run_slept(slept_ns);
}

void bs_devices_sync(void)
{
	struct bs_clock_jump jump = bs_clock_sync();

	if (jump.slept)
		after_sleep(&jump);
}

void bs_devices_accessed(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata)
{
	const struct bs_watch *w = udata;
	bool store = qemu_plugin_mem_is_store(info);

	(void)vcpu;
	if (store && bs_config_page(vaddr))
		return;
	struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	if (!hw || !qemu_plugin_hwaddr_is_io(hw))
		return;
	uint64_t phys = qemu_plugin_hwaddr_phys_addr(hw);
	if (!store)
		bs_config_note(vaddr, phys >= w->config.start && phys < w->config.end);
	bs_devices_sync();
	int64_t now_ns = bs_clock_now(0);
	if (store && w->flash.has_second)
		bs_flash_stored(phys, stored_value(info));
	if (store && is_watched(w, phys)) {
		uint64_t value = stored_value(info);
		record_store(udata, w->io, w->n_io, phys, (uint8_t)(1u << qemu_plugin_mem_size_shift(info)), value,
			     now_ns);
		do_requests(w, phys, value, now_ns);
	}
	bs_run_check(now_ns);
}
