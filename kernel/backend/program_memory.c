// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that a program serves: the user's memory in the program's address space, or
 * in that of another which got the file.  The offset is the physical address.
 *
 * Pages are mapped by their numbers (VM_PFNMAP): nobody can pin them, so that all are
 * let go of when the mappings are.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <shimos/compat.h>

#include "program.h"

void program_memory_init(struct program *program)
{
	address_space_init_once(&program->mapping);
}

/* The end of all.  Caller holds the mutex. */
static loff_t program_memory_end(const struct program *program)
{
	const struct user_memory *memory = &program->backend->memory;
	u64 end = 0;
	unsigned int i;

	for (i = 0; program->reachable && i < memory->ranges; i++)
		end = max(end, memory->range[i].start + memory->range[i].size);
	return end;
}

/* Who maps memory looks for the end first. */
static loff_t program_memory_llseek(struct file *file, loff_t offset, int whence)
{
	struct program *program = file->private_data;
	loff_t end;

	mutex_lock(&program->mutex);
	end = program_memory_end(program);
	mutex_unlock(&program->mutex);
	return fixed_size_llseek(file, offset, whence, end);
}

static vm_fault_t program_memory_fault(struct vm_fault *vmf)
{
	struct program *program = vmf->vma->vm_private_data;
	u64 addr = (u64)vmf->pgoff << PAGE_SHIFT;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	/* who revokes it takes it before: what is mapped here is taken away then */
	mutex_lock(&program->mutex);
	if (program->reachable && user_memory_at(&program->backend->memory, addr, PAGE_SIZE))
		ret = vmf_insert_pfn(vmf->vma, vmf->address, vmf->pgoff);
	mutex_unlock(&program->mutex);
	return ret;
}

static const struct vm_operations_struct program_memory_vm_ops = {
	.fault	= program_memory_fault,
};

static int program_memory_mmap(struct file *file, struct vm_area_struct *vma)
{
	/* a private copy would stay when the memory is another's */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	compat_vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &program_memory_vm_ops;
	vma->vm_private_data = file->private_data;
	return 0;
}

static int program_memory_release(struct inode *inode, struct file *file)
{
	program_put(file->private_data);
	return 0;
}

static const struct file_operations program_memory_fops = {
	.owner		= THIS_MODULE,
	.llseek		= program_memory_llseek,
	.mmap		= program_memory_mmap,
	.release	= program_memory_release,
};

int program_memory_open(struct program *program)
{
	struct file *file;
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		return fd;
	file = anon_inode_getfile("[shimos-program-memory]", &program_memory_fops, program, O_RDWR);
	if (IS_ERR(file)) {
		put_unused_fd(fd);
		return PTR_ERR(file);
	}
	kref_get(&program->ref);
	/* of its own, and not that of all files without an inode: so that it can be revoked */
	program->mapping.host = file_inode(file);
	file->f_mapping = &program->mapping;
	file->f_mode |= FMODE_LSEEK;
	fd_install(fd, file);
	return fd;
}

void program_memory_revoke(struct program *program)
{
	mutex_lock(&program->mutex);
	program->reachable = false;
	mutex_unlock(&program->mutex);
	unmap_mapping_range(&program->mapping, 0, 0, 1);
}
