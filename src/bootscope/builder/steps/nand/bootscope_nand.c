// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A raw NAND chip whose array is memory, behind a controller that is this program.
 *
 * The array, data and spare bytes of each page one behind the other, lies in memory that nobody else uses; it
 * is kept inverted, so that what is erased is zeros. The chip answers the commands of a large page part. What
 * they take on a real one is spent here: the time that the array is busy, and a bus cycle for each command,
 * address and byte. Waits of a page's reading are spent by the CPU, as drivers do that poll the chip; those
 * of programming and erasing leave it to others, as drivers do that wait for the interrupt of its busy pin.
 * Copying and inverting count as part of these times.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mtd/mtd.h>
#include <linux/mtd/rawnand.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/sizes.h>

#define ID_BYTES 5
#define LONG_WAIT_NS 100000

enum output { OUT_PAGE, OUT_ID, OUT_STATUS };

struct ram_nand {
	struct nand_controller controller;
	struct nand_chip chip;
	struct device *dev;
	phys_addr_t array;
	u32 blocks, pages, page_bytes; /* of the chip; of a block; with the spare bytes */
	u32 block_bytes;	       /* with the spare bytes */
	u32 read_ns, program_ns, erase_ns, cycle_ns;
	u8 id[ID_BYTES];

	u8 *mapped; /* the block that is mapped; NULL: none */
	u32 mapped_block;

	u8 *reg; /* the page register */
	u32 column, row;
	u8 status, command, id_address;
	enum output output;
	u32 output_at;
	u64 busy_until;
	u32 owed_ns; /* less than a microsecond that is still to be spent */
};

static void spend(struct ram_nand *nand, u64 ns)
{
	u32 us;

	if (ns >= LONG_WAIT_NS) {
		us = (u32)ns / 1000;
		usleep_range(us, us + 1);
		return;
	}
	us = ((u32)ns + nand->owed_ns) / 1000;
	nand->owed_ns = ((u32)ns + nand->owed_ns) % 1000;
	udelay(us);
}

static void spend_until(struct ram_nand *nand, u64 end)
{
	u64 now = ktime_get_ns();

	if (now < end)
		spend(nand, end - now);
}

static u8 *page_of(struct ram_nand *nand, u32 row)
{
	u32 block = row / nand->pages;

	if (block >= nand->blocks)
		return NULL;
	if (nand->mapped && nand->mapped_block != block) {
		memunmap(nand->mapped);
		nand->mapped = NULL;
	}
	if (!nand->mapped)
		nand->mapped = memremap(nand->array + (phys_addr_t)block * nand->block_bytes, nand->block_bytes,
					MEMREMAP_WB);
	if (!nand->mapped) {
		dev_err_once(nand->dev, "block %u of the array cannot be mapped\n", block);
		return NULL;
	}
	nand->mapped_block = block;
	return nand->mapped + (row % nand->pages) * nand->page_bytes;
}

static void inverted(u8 *to, const u8 *from, u32 bytes)
{
	u32 *words = (u32 *)to;
	const u32 *source = (const u32 *)from;

	for (bytes /= sizeof(u32); bytes; bytes--)
		*words++ = ~*source++;
}

static void read_page(struct ram_nand *nand)
{
	u8 *page = page_of(nand, nand->row);

	if (page)
		inverted(nand->reg, page, nand->page_bytes);
	else
		memset(nand->reg, 0, nand->page_bytes);
}

/* Programming only clears bits. */
static void program_page(struct ram_nand *nand)
{
	u32 *page = (u32 *)page_of(nand, nand->row), *reg = (u32 *)nand->reg, i;

	nand->status = NAND_STATUS_READY | NAND_STATUS_WP | (page ? 0 : NAND_STATUS_FAIL);
	for (i = 0; page && i < nand->page_bytes / sizeof(u32); i++)
		page[i] |= ~reg[i];
}

static void erase_block(struct ram_nand *nand)
{
	u8 *page = page_of(nand, rounddown(nand->row, nand->pages));

	nand->status = NAND_STATUS_READY | NAND_STATUS_WP | (page ? 0 : NAND_STATUS_FAIL);
	if (page)
		memset(page, 0, nand->block_bytes);
}

static bool known(u8 command)
{
	switch (command) {
	case NAND_CMD_RESET:
	case NAND_CMD_READID:
	case NAND_CMD_STATUS:
	case NAND_CMD_READ0:
	case NAND_CMD_READSTART:
	case NAND_CMD_RNDOUT:
	case NAND_CMD_RNDOUTSTART:
	case NAND_CMD_SEQIN:
	case NAND_CMD_RNDIN:
	case NAND_CMD_PAGEPROG:
	case NAND_CMD_ERASE1:
	case NAND_CMD_ERASE2:
		return true;
	}
	return false;
}

static void do_command(struct ram_nand *nand, u8 command)
{
	u64 now = ktime_get_ns();

	nand->command = command;
	nand->output = OUT_PAGE;
	switch (command) {
	case NAND_CMD_RESET:
		nand->status = NAND_STATUS_READY | NAND_STATUS_WP;
		break;
	case NAND_CMD_READID:
		nand->output = OUT_ID;
		break;
	case NAND_CMD_STATUS:
		nand->output = OUT_STATUS;
		break;
	case NAND_CMD_READSTART:
		nand->busy_until = now + nand->read_ns;
		read_page(nand);
		break;
	case NAND_CMD_SEQIN:
		memset(nand->reg, 0xff, nand->page_bytes);
		break;
	case NAND_CMD_PAGEPROG:
		nand->busy_until = now + nand->program_ns;
		program_page(nand);
		break;
	case NAND_CMD_ERASE2:
		nand->busy_until = now + nand->erase_ns;
		erase_block(nand);
		break;
	}
}

static void do_address(struct ram_nand *nand, const u8 *cycles, u32 count)
{
	u32 columns = nand->command == NAND_CMD_ERASE1 ? 0 : 2, i;

	if (nand->command == NAND_CMD_READID) {
		nand->id_address = cycles[0];
		nand->output_at = 0;
		return;
	}
	if (columns)
		nand->column = cycles[0] | cycles[1] << 8;
	if (count > columns)
		nand->row = 0;
	for (i = columns; i < count; i++)
		nand->row |= (u32)cycles[i] << (8 * (i - columns));
}

static void do_output(struct ram_nand *nand, u8 *to, u32 bytes)
{
	u64 end = ktime_get_ns() + (u64)bytes * nand->cycle_ns;
	u32 there = nand->column < nand->page_bytes ? nand->page_bytes - nand->column : 0, i;

	switch (nand->output) {
	case OUT_STATUS:
		memset(to, nand->status, bytes);
		break;
	case OUT_ID:
		/* Nothing at the addresses of ONFI and JEDEC. */
		for (i = 0; i < bytes; i++)
			to[i] = nand->id_address ? 0 : nand->id[nand->output_at++ % ID_BYTES];
		break;
	case OUT_PAGE:
		memcpy(to, nand->reg + nand->column, min(bytes, there));
		nand->column += bytes;
		break;
	}
	spend_until(nand, end);
}

static void do_input(struct ram_nand *nand, const u8 *from, u32 bytes)
{
	u64 end = ktime_get_ns() + (u64)bytes * nand->cycle_ns;
	u32 there = nand->column < nand->page_bytes ? nand->page_bytes - nand->column : 0;

	memcpy(nand->reg + nand->column, from, min(bytes, there));
	nand->column += bytes;
	spend_until(nand, end);
}

static int exec_op(struct nand_chip *chip, const struct nand_operation *op, bool check_only)
{
	struct ram_nand *nand = nand_get_controller_data(chip);
	const struct nand_op_instr *one;
	u32 i;

	for (i = 0; i < op->ninstrs; i++)
		if (op->instrs[i].type == NAND_OP_CMD_INSTR && !known(op->instrs[i].ctx.cmd.opcode))
			return -EOPNOTSUPP;
	if (check_only)
		return 0;
	for (i = 0; i < op->ninstrs; i++) {
		one = &op->instrs[i];
		switch (one->type) {
		case NAND_OP_CMD_INSTR:
			spend(nand, nand->cycle_ns);
			do_command(nand, one->ctx.cmd.opcode);
			break;
		case NAND_OP_ADDR_INSTR:
			spend(nand, one->ctx.addr.naddrs * nand->cycle_ns);
			do_address(nand, one->ctx.addr.addrs, one->ctx.addr.naddrs);
			break;
		case NAND_OP_DATA_IN_INSTR:
			do_output(nand, one->ctx.data.buf.in, one->ctx.data.len);
			break;
		case NAND_OP_DATA_OUT_INSTR:
			do_input(nand, one->ctx.data.buf.out, one->ctx.data.len);
			break;
		case NAND_OP_WAITRDY_INSTR:
			spend_until(nand, nand->busy_until);
			break;
		}
	}
	return 0;
}

/* The part has one bit of ECC for 512 bytes; a Hamming code by program is what such boards have. */
static int attach_chip(struct nand_chip *chip)
{
	struct ram_nand *nand = nand_get_controller_data(chip);
	struct mtd_info *mtd = nand_to_mtd(chip);
	u32 blocks = mtd_div_by_eb(nanddev_target_size(&chip->base), mtd);

	if (mtd->writesize + mtd->oobsize != nand->page_bytes ||
	    mtd->erasesize / mtd->writesize != nand->pages || blocks != nand->blocks) {
		dev_err(nand->dev, "the chip's identity and its array have different sizes\n");
		return -EINVAL;
	}
	if (chip->ecc.engine_type == NAND_ECC_ENGINE_TYPE_INVALID)
		chip->ecc.engine_type = NAND_ECC_ENGINE_TYPE_SOFT;
	if (chip->ecc.engine_type == NAND_ECC_ENGINE_TYPE_SOFT && chip->ecc.algo == NAND_ECC_ALGO_UNKNOWN)
		chip->ecc.algo = NAND_ECC_ALGO_HAMMING;
	return 0;
}

static const struct nand_controller_ops ops = {
	.attach_chip = attach_chip,
	.exec_op = exec_op,
};

static int read_tree(struct ram_nand *nand, struct device_node *node)
{
	static const char *const names[] = { "page-bytes",     "block-pages",	 "blocks",
					     "read-ns", "program-ns", "erase-ns", "cycle-ns" };
	u32 *values[] = { &nand->page_bytes, &nand->pages, &nand->blocks,
			  &nand->read_ns,    &nand->program_ns, &nand->erase_ns, &nand->cycle_ns };
	u32 i;
	int ret = of_property_read_u8_array(node, "bootscope,identity", nand->id, ID_BYTES);

	for (i = 0; !ret && i < ARRAY_SIZE(names); i++) {
		char name[32];

		snprintf(name, sizeof(name), "bootscope,%s", names[i]);
		ret = of_property_read_u32(node, name, values[i]);
	}
	if (!ret && (!nand->page_bytes || nand->page_bytes % sizeof(u32) || !nand->pages || !nand->blocks))
		ret = -EINVAL;
	nand->block_bytes = nand->page_bytes * nand->pages;
	return ret;
}

static int probe(struct platform_device *pdev)
{
	struct device_node *child = of_get_next_available_child(pdev->dev.of_node, NULL);
	struct resource *memory = platform_get_resource(pdev, IORESOURCE_MEM, 0);
	struct ram_nand *nand = devm_kzalloc(&pdev->dev, sizeof(*nand), GFP_KERNEL);
	struct mtd_info *mtd;
	int ret;

	if (!nand)
		return -ENOMEM;
	if (!child || !memory)
		return dev_err_probe(&pdev->dev, -ENODEV, "no chip, or no memory for it\n");
	ret = read_tree(nand, pdev->dev.of_node);
	if (ret)
		return dev_err_probe(&pdev->dev, ret, "the device tree does not tell the chip's sizes and times\n");
	if ((u64)nand->block_bytes * nand->blocks > resource_size(memory))
		return dev_err_probe(&pdev->dev, -EINVAL, "the array does not fit its memory\n");
	nand->reg = devm_kzalloc(&pdev->dev, nand->page_bytes, GFP_KERNEL);
	if (!nand->reg)
		return -ENOMEM;
	nand->dev = &pdev->dev;
	nand->array = memory->start;
	nand->status = NAND_STATUS_READY | NAND_STATUS_WP;
	nand_controller_init(&nand->controller);
	nand->controller.ops = &ops;
	nand->chip.controller = &nand->controller;
	nand->chip.options = NAND_NO_SUBPAGE_WRITE;
	nand_set_controller_data(&nand->chip, nand);
	nand_set_flash_node(&nand->chip, child);
	mtd = nand_to_mtd(&nand->chip);
	mtd->dev.parent = &pdev->dev;
	mtd->name = "nand";
	platform_set_drvdata(pdev, nand);
	ret = nand_scan(&nand->chip, 1);
	if (ret)
		return ret;
	ret = mtd_device_register(mtd, NULL, 0);
	if (ret)
		nand_cleanup(&nand->chip);
	return ret;
}

static void remove(struct platform_device *pdev)
{
	struct ram_nand *nand = platform_get_drvdata(pdev);

	WARN_ON(mtd_device_unregister(nand_to_mtd(&nand->chip)));
	nand_cleanup(&nand->chip);
	if (nand->mapped)
		memunmap(nand->mapped);
}

static const struct of_device_id matches[] = { { .compatible = "bootscope,ram-nand" }, {} };
MODULE_DEVICE_TABLE(of, matches);

static struct platform_driver ram_nand_driver = {
	.probe = probe,
	.remove_new = remove,
	.driver = { .name = "bootscope-nand", .of_match_table = matches },
};
module_platform_driver(ram_nand_driver);

MODULE_DESCRIPTION("A raw NAND chip whose array is memory");
MODULE_LICENSE("GPL");
