/* SPDX-License-Identifier: GPL-2.0 */
/* The guard's image, as it was built. */
	.section .rodata
	.balign	16
	.globl	kloader_guard_image
kloader_guard_image:
	.incbin	IMAGE
	.globl	kloader_guard_image_end
kloader_guard_image_end:
