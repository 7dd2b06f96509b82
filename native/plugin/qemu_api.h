/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of QEMU's TCG plugin interface that this plugin uses.
 *
 * Distributions do not package QEMU's own header, so the few functions and types needed are
 * declared here, for interface version 4 (QEMU 10.0). QEMU refuses to load the plugin when the
 * version does not fit, so a mismatch shows at start-up and not as garbage.
 */
#ifndef BOOTSCOPE_QEMU_API_H
#define BOOTSCOPE_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GLib's growing arrays, which the interface hands out; QEMU brings the library along. Declared here, the
 * plugin needs no headers of GLib to be built. */
typedef struct {
	uint8_t *data;
	unsigned int len;
} GByteArray;

typedef struct {
	char *data;
	unsigned int len;
} GArray;

GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *array, unsigned int length);
uint8_t *g_byte_array_free(GByteArray *array, int free_segment);
char *g_array_free(GArray *array, int free_segment);

#define BS_EXPORT __attribute__((visibility("default")))
#define BS_PLUGIN_API_VERSION 4

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_scoreboard;
struct qemu_plugin_register;

typedef struct {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
} qemu_info_t;

typedef struct {
	struct qemu_plugin_scoreboard *score;
	size_t offset;
} qemu_plugin_u64;

typedef struct {
	struct qemu_plugin_register *handle;
	const char *name;
	const char *feature;
} qemu_plugin_reg_descriptor;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64, QEMU_PLUGIN_INLINE_STORE_U64 };
enum qemu_plugin_cond {
	QEMU_PLUGIN_COND_NEVER,
	QEMU_PLUGIN_COND_ALWAYS,
	QEMU_PLUGIN_COND_EQ,
	QEMU_PLUGIN_COND_NE,
	QEMU_PLUGIN_COND_LT,
	QEMU_PLUGIN_COND_LE,
	QEMU_PLUGIN_COND_GT,
	QEMU_PLUGIN_COND_GE,
};

enum qemu_plugin_mem_value_type {
	QEMU_PLUGIN_MEM_VALUE_U8,
	QEMU_PLUGIN_MEM_VALUE_U16,
	QEMU_PLUGIN_MEM_VALUE_U32,
	QEMU_PLUGIN_MEM_VALUE_U64,
	QEMU_PLUGIN_MEM_VALUE_U128,
};

typedef struct {
	enum qemu_plugin_mem_value_type type;
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
		struct {
			uint64_t low;
			uint64_t high;
		} u128;
	} data;
} qemu_plugin_mem_value;

typedef void (*bs_tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*bs_vcpu_cb)(qemu_plugin_id_t id, unsigned int vcpu);
typedef void (*bs_exec_cb)(unsigned int vcpu, void *udata);
typedef void (*bs_mem_cb)(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *udata);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, bs_vcpu_cb cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, bs_tb_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, bs_exec_cb cb,
					  enum qemu_plugin_cb_flags flags, void *udata);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, bs_exec_cb cb,
					       enum qemu_plugin_cb_flags flags,
					       enum qemu_plugin_cond cond, qemu_plugin_u64 entry,
					       uint64_t imm, void *udata);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb,
						       enum qemu_plugin_op op,
						       qemu_plugin_u64 entry, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, bs_exec_cb cb,
					    enum qemu_plugin_cb_flags flags, void *udata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, bs_mem_cb cb,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *udata);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t idx);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
qemu_plugin_mem_value qemu_plugin_mem_get_value(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *haddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *haddr);
bool qemu_plugin_read_memory_vaddr(uint64_t addr, GByteArray *data, size_t len);

GArray *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct qemu_plugin_register *handle, GByteArray *buf);

struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned int vcpu);

/* Not part of the plugin interface, but exported by module-enabled builds such as Debian's. */
#define BS_QEMU_CLOCK_VIRTUAL 1
int64_t qemu_clock_get_ns(int clock);

/* Likewise, and needed on machines with several CPUs, or with the clock of a core, only. */
#define BS_WEAK __attribute__((weak))
extern __thread void *current_cpu BS_WEAK;
void *qemu_get_cpu(int index) BS_WEAK;
void *object_class_by_name(const char *name) BS_WEAK;
bool bql_locked(void) BS_WEAK;
bool cpu_thread_is_idle(void *cpu) BS_WEAK; /* asleep, and nothing to do */
bool cpu_has_work(void *cpu) BS_WEAK;	     /* it would wake up */
void cpu_exit(void *cpu) BS_WEAK;	     /* ends its turn, after a block at the latest */
int64_t icount_get(void) BS_WEAK;	     /* the virtual clock that counts instructions */
int64_t icount_get_raw(void) BS_WEAK;	     /* instructions, of all CPUs */
int64_t icount_to_ns(int64_t insns) BS_WEAK;
#define BS_QEMU_ALL_TIMERS (-1)
int64_t qemu_clock_deadline_ns_all(int clock, int attributes) BS_WEAK; /* from now on; below 0: no timer */
void icount_handle_interrupt(void *cpu, int mask) BS_WEAK;

/* Likewise, and needed to have the machine stand still only: QEMU's timers, and its word for a pause. */
#define BS_QEMU_PAUSED 4
void timer_init_full(void *timer, void *list, int clock, int unit_ns, int attributes, void (*due)(void *),
		     void *udata) BS_WEAK;
void timer_mod_ns(void *timer, int64_t at_ns) BS_WEAK;
int vm_stop(int state) BS_WEAK;

/* Likewise, and needed for devices that take their time only: regions of QEMU's memory and lines for interrupts. */
#define BS_LITTLE_ENDIAN 2
struct bs_notifier {
	void (*notify)(struct bs_notifier *notifier, void *data);
	void *links[2];
};
struct bs_region_ops {
	uint64_t (*read)(void *udata, uint64_t offset, unsigned int bytes);
	void (*write)(void *udata, uint64_t offset, uint64_t value, unsigned int bytes);
	void *with_attributes[2];
	int endianness;
	struct {
		unsigned int least, most;
		bool unaligned;
		void *accepts;
	} valid;
	struct {
		unsigned int least, most;
		bool unaligned;
	} does;
};
struct bs_region_found {
	_Alignas(16) uint64_t size[2];
	void *region, *view;
	uint64_t starts, room[16];
};
void qemu_add_machine_init_done_notifier(struct bs_notifier *notifier) BS_WEAK;
void *get_system_memory(void) BS_WEAK;
struct bs_region_found memory_region_find(void *region, uint64_t address, uint64_t size) BS_WEAK;
void *memory_region_owner(void *region) BS_WEAK;
void memory_region_init_io(void *region, void *owner, const struct bs_region_ops *ops, void *udata,
			   const char *name, uint64_t size) BS_WEAK;
void memory_region_add_subregion_overlap(void *region, uint64_t address, void *part, int priority) BS_WEAK;
unsigned int memory_region_dispatch_read(void *region, uint64_t offset, uint64_t *value, unsigned int size,
					 uint64_t attributes) BS_WEAK;
unsigned int memory_region_dispatch_write(void *region, uint64_t offset, uint64_t value, unsigned int size,
					  uint64_t attributes) BS_WEAK;
void *object_property_get_link(void *object, const char *name, void **error) BS_WEAK;
const char *object_get_typename(const void *object) BS_WEAK;
void qemu_irq_intercept_in(void **line, void (*level)(void *udata, int number, int level), int n) BS_WEAK;
void qemu_set_irq(void *line, int level) BS_WEAK;

/* Likewise, and needed for code that runs from flash only. */
void *memory_region_from_host(void *host, uint64_t *offset) BS_WEAK;
const char *memory_region_name(const void *region) BS_WEAK;

/* Likewise, and needed for disks of virtio's only. */
void bql_lock_impl(const char *file, int line) __attribute__((weak));
void bql_unlock(void) __attribute__((weak));
void bdrv_drain_all(void) __attribute__((weak));
void cpu_physical_memory_rw(uint64_t address, void *data, uint64_t bytes, bool store) __attribute__((weak));

#endif
