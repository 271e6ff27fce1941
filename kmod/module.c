// SPDX-License-Identifier: GPL-2.0-only
/*
 * lockgate_kspeed: measures drivers of the kernel's crypto API, and shows
 * what an asynchronous one can do: requests are kept in flight while a timer
 * runs, instead of one (or a batch) being waited for.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "control.h"
#include "run.h"

static char *run;
module_param(run, charp, 0444);
MODULE_PARM_DESC(run, "starts a run on load: the words after \"start\" of control");

static struct dentry *directory;

static ssize_t control_write(struct file *file, const char __user *from, size_t bytes,
			     loff_t *position)
{
	char *line;
	int err;

	if (bytes > KSPEED_LINE_BYTES_MAX)
		return kspeed_control_too_long(bytes);
	line = memdup_user_nul(from, bytes);
	if (IS_ERR(line))
		return PTR_ERR(line);
	err = strlen(line) == bytes ? kspeed_control(line) : kspeed_control_not_text();
	kfree(line);
	return err ?: bytes;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
	.llseek = noop_llseek,
};

static int status_show(struct seq_file *file, void *unused)
{
	return kspeed_show_status(file);
}
DEFINE_SHOW_ATTRIBUTE(status);

static int result_show(struct seq_file *file, void *unused)
{
	return kspeed_show_result(file);
}
DEFINE_SHOW_ATTRIBUTE(result);

static int tcrypt_show(struct seq_file *file, void *unused)
{
	return kspeed_show_tcrypt(file);
}
DEFINE_SHOW_ATTRIBUTE(tcrypt);

static void create_files(void)
{
	directory = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("control", 0200, directory, NULL, &control_fops);
	debugfs_create_file("status", 0400, directory, NULL, &status_fops);
	debugfs_create_file("result", 0400, directory, NULL, &result_fops);
	debugfs_create_file("tcrypt", 0400, directory, NULL, &tcrypt_fops);
}

/* A run that cannot start is in the result; the module stays loaded. */
static void run_on_load(void)
{
	char *words = kstrdup(run, GFP_KERNEL);

	if (words)
		kspeed_control_start(words);
	kfree(words);
}

static int __init kspeed_init(void)
{
	int err = kspeed_runs_init();

	if (err)
		return err;
	create_files();
	if (run)
		run_on_load();
	return 0;
}

static void __exit kspeed_exit(void)
{
	debugfs_remove_recursive(directory);
	kspeed_runs_exit();
}

module_init(kspeed_init);
module_exit(kspeed_exit);

MODULE_DESCRIPTION("Speed of the crypto API's drivers, asynchronous ones too");
MODULE_AUTHOR("Lockgate contributors");
MODULE_LICENSE("GPL");
